//! The concrete operations that transforms emit, with all their numbers.

use super::Effect;
use crate::color::opcode;
use serde::{Deserialize, Serialize};

/// The filter of a resize: torchvision's `InterpolationMode`.
///
/// ```
/// use gpufeed::transforms::{Interpolation, Resize};
///
/// assert_eq!(Resize::new(256).interpolation, Interpolation::Bilinear);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Interpolation {
    /// Source pixel `floor(i · in/out)`, torch's (and OpenCV's) "nearest".
    Nearest,
    /// Source pixel `floor((i + 0.5) · in/out)` in f32, torch's "nearest-exact". Pillow's nearest is this in f64,
    /// summed up from pixel to pixel. Where the middle of a new pixel is on the border of two old ones, as for every
    /// third pixel of a resize from 64 to 48, Pillow may take the other neighbour.
    NearestExact,
    /// Two taps, or a triangle filter when antialiasing.
    #[default]
    Bilinear,
    /// Four taps with a = -0.75, or Pillow's cubic with a = -0.5 when antialiasing. Not clamped, as in torchvision's
    /// Float semantics.
    Bicubic,
}

/// The pixels outside an image: torchvision's `padding_mode`.
///
/// ```
/// use gpufeed::transforms::{Pad, PaddingMode};
///
/// assert_eq!(Pad::new(4).padding_mode(PaddingMode::Reflect).padding_mode, PaddingMode::Reflect);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum PaddingMode {
    /// The `fill` colour.
    #[default]
    Constant,
    /// The nearest pixel of the edge.
    Edge,
    /// Mirrored about the edge pixel, which is not repeated: `d c b | a b c d | c b a`. Wider pads than the image
    /// reflect again (as Pillow's and NumPy's do; torch's tensor path refuses them).
    Reflect,
    /// Mirrored about the edge, with the edge pixel repeated: `b a | a b c d | d c`.
    Symmetric,
}

/// The values that [`Op::Erase`] writes.
///
/// ```
/// use gpufeed::transforms::Erased;
///
/// let gray = Erased::Color([0.5; 3]);
/// let noise: Erased = serde_json::from_str(r#"{"Noise":{"key":[1,2]}}"#).unwrap();
/// assert_eq!(noise, Erased::Noise { key: [1, 2] });
/// # let _ = gray;
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Erased {
    /// One number for each channel; a one-channel image uses the first.
    Color([f32; 3]),
    /// A standard normal number for every pixel and channel, up to ±5.3.
    ///
    /// The bits are those of Philox4x32-10 (Salmon, Moraes, Dror and Shaw, "Parallel Random Numbers: As Easy as 1, 2,
    /// 3", SC 2011) under this key, with the counter (column, row, 0, 0) relative to the rectangle's corner; the first
    /// three numbers belong to the three channels. The upper 23 bits k of each number stand for the probability (k +
    /// 1/2) / 2^23, whose normal quantile is the value (M. Giles, "Approximating the erfinv function", GPU Computing
    /// Gems 2, 2012).
    Noise {
        /// The generator's key.
        key: [u32; 2],
    },
}

/// One operation with its numbers: the element of a batch's parameters, and the input of [`Plan`](crate::Plan)'s
/// replay.
///
/// Sizes and offsets are pixels of the image before the operation; colours are floats in \[0, 1\].
///
/// ```
/// use gpufeed::transforms::Op;
///
/// let op: Op = serde_json::from_str(r#"{"Crop":{"top":1,"left":2,"height":3,"width":4}}"#).unwrap();
/// assert_eq!(op, Op::Crop { top: 1, left: 2, height: 3, width: 4 });
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Op {
    /// Crops to a rectangle inside the image.
    Crop {
        /// First row.
        top: u32,
        /// First column.
        left: u32,
        /// Rows.
        height: u32,
        /// Columns.
        width: u32,
    },
    /// Adds a border.
    Pad {
        /// Columns on the left.
        left: u32,
        /// Rows above.
        top: u32,
        /// Columns on the right.
        right: u32,
        /// Rows below.
        bottom: u32,
        /// The pixels of the border.
        mode: PaddingMode,
        /// The colour for [`PaddingMode::Constant`].
        fill: [f32; 3],
    },
    /// Resamples to a size.
    Resize {
        /// New height.
        height: u32,
        /// New width.
        width: u32,
        /// The filter.
        interpolation: Interpolation,
        /// True if the filter grows with the reduction; the nearest modes ignore it.
        antialias: bool,
    },
    /// Mirrors left and right.
    HorizontalFlip,
    /// Mirrors top and bottom.
    VerticalFlip,
    /// `clamp(x · factor)`.
    Brightness {
        /// ≥ 0; 1 changes nothing.
        factor: f32,
    },
    /// `clamp(x · factor + mean(gray) · (1 - factor))`.
    Contrast {
        /// ≥ 0; 1 changes nothing.
        factor: f32,
    },
    /// `clamp(x · factor + gray(x) · (1 - factor))`.
    Saturation {
        /// ≥ 0; 1 changes nothing.
        factor: f32,
    },
    /// Turns the hue.
    Hue {
        /// In \[-0.5, 0.5\] turns.
        factor: f32,
    },
    /// `0.2989 R + 0.587 G + 0.114 B`, in 1 or 3 channels.
    Grayscale {
        /// 1 or 3.
        channels: u32,
    },
    /// `1 - x`.
    Invert,
    /// `1 - x` where `x ≥ threshold`, else `x`.
    Solarize {
        /// Usually in \[0, 1\].
        threshold: f32,
    },
    /// `gain · max(x, 0) ^ gamma`, clamped unless the gain is 1.
    AdjustGamma {
        /// ≥ 0; 1 changes nothing.
        gamma: f32,
        /// 1 changes nothing.
        gain: f32,
    },
    /// `clamp(floor(x · L), 0, L - 1) / L` with L = 2^bits.
    Posterize {
        /// 0 to 8.
        bits: u32,
    },
    /// Output channel `c` is input channel `permutation[c]`, as torchvision's `permute_channels` computes it. One
    /// channel stays unchanged.
    PermuteChannels {
        /// 0, 1 and 2 in any order.
        permutation: [u32; 3],
    },
    /// The function of the [`CustomColor`](super::CustomColor) in the op's slot.
    Custom {
        /// The parameters from its closure; finite.
        parameters: [f32; 4],
    },
    /// Overwrites a rectangle inside the image.
    Erase {
        /// First row.
        top: u32,
        /// First column.
        left: u32,
        /// Rows.
        height: u32,
        /// Columns.
        width: u32,
        /// The values.
        value: Erased,
    },
    /// `(x - mean) / std`.
    Normalize {
        /// Per channel.
        mean: [f32; 3],
        /// Per channel, not 0.
        std: [f32; 3],
    },
}

impl Op {
    /// Returns its effect, as far as the planner must know it.
    pub(crate) fn effect(&self) -> Effect {
        match *self {
            Op::Crop { .. } => Effect::Crop,
            Op::Pad { mode, fill, .. } => Effect::Pad { mode, fill },
            Op::Resize { interpolation, antialias, .. } => Effect::Resize { interpolation, antialias },
            Op::HorizontalFlip | Op::VerticalFlip => Effect::Flip,
            Op::Brightness { .. } => Effect::Color(opcode::BRIGHTNESS),
            Op::Contrast { .. } => Effect::Color(opcode::CONTRAST),
            Op::Saturation { .. } => Effect::Color(opcode::SATURATION),
            Op::Hue { .. } => Effect::Color(opcode::HUE),
            Op::Invert => Effect::Color(opcode::INVERT),
            Op::Solarize { .. } => Effect::Color(opcode::SOLARIZE),
            Op::AdjustGamma { .. } => Effect::Color(opcode::ADJUST_GAMMA),
            Op::Posterize { .. } => Effect::Color(opcode::POSTERIZE),
            Op::PermuteChannels { .. } => Effect::Color(opcode::PERMUTE_CHANNELS),
            Op::Custom { .. } => Effect::Custom,
            Op::Erase { value: Erased::Color(_), .. } => Effect::Color(opcode::ERASE),
            Op::Erase { value: Erased::Noise { .. }, .. } => Effect::Color(opcode::NOISE),
            Op::Grayscale { channels } => Effect::Channels(channels),
            Op::Normalize { .. } => Effect::Normalize,
        }
    }

    /// Returns (width, height) after this op.
    pub(crate) fn size_after(&self, (w, h): (u32, u32)) -> (u32, u32) {
        match *self {
            Op::Crop { height, width, .. } | Op::Resize { height, width, .. } => (width, height),
            Op::Pad { left, top, right, bottom, .. } => {
                (w.saturating_add(left).saturating_add(right), h.saturating_add(top).saturating_add(bottom))
            }
            _ => (w, h),
        }
    }
}
