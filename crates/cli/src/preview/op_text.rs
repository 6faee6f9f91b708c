//! Describes an operator's effect on one image in a few words.

use gpufeed::transforms::{Erased, Op};

/// Describes an op; `None` if the sheet's head mentions it.
pub(super) fn describe(op: &Op) -> Option<String> {
    let text = match op {
        Op::Normalize { .. } => return None,
        Op::Crop { top, left, height, width } => format!("crop {width}x{height} at {left},{top}"),
        Op::Pad { left, top, right, bottom, .. } => match [top, right, bottom].iter().all(|side| *side == left) {
            true => format!("pad {left}"),
            false => format!("pad left {left}, top {top}, right {right}, bottom {bottom}"),
        },
        Op::Resize { height, width, .. } => format!("resize {width}x{height}"),
        Op::HorizontalFlip => "flip left-right".to_owned(),
        Op::VerticalFlip => "flip top-bottom".to_owned(),
        Op::Brightness { factor } => format!("brightness {factor:.2}"),
        Op::Contrast { factor } => format!("contrast {factor:.2}"),
        Op::Saturation { factor } => format!("saturation {factor:.2}"),
        Op::Hue { factor } => format!("hue {factor:+.3}"),
        Op::Grayscale { .. } => "gray".to_owned(),
        Op::Invert => "invert".to_owned(),
        Op::AdjustGamma { gamma, gain: 1.0 } => format!("gamma {gamma:.2}"),
        Op::AdjustGamma { gamma, gain } => format!("gamma {gamma:.2}, gain {gain:.2}"),
        Op::Solarize { threshold } => format!("solarize {threshold:.2}"),
        Op::Posterize { bits } => format!("posterize {bits} bits"),
        Op::PermuteChannels { permutation } => {
            let names = permutation.map(|channel| ["R", "G", "B"].get(channel as usize).copied().unwrap_or("?"));
            format!("channels {}", names.concat())
        }
        Op::Erase { top, left, height, width, value } => {
            let noise = if matches!(value, Erased::Noise { .. }) { " (noise)" } else { "" };
            format!("erase {width}x{height} at {left},{top}{noise}")
        }
        // A user's own step, or an op that is newer than this function.
        other => format!("{other:?}"),
    };
    Some(text)
}
