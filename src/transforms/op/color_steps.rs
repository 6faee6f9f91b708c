//! The colour steps of an op.

use super::Op;
use crate::color::{Facts, Step, opcode};
use crate::transforms::arguments::{Erased, PolicyOp};

impl Op {
    /// Appends the colour steps of an op that moves no pixels. `statistic` is the number of the mean that contrast
    /// uses; `channels` is the image's number before the op.
    pub(crate) fn color_steps(&self, slot: u16, statistic: u16, channels: u32, steps: &mut Vec<Step>) {
        let gray = u32::from(channels == 1);
        let mut step = |opcode: u32, [a, b, c]: [f32; 3]| {
            let statistic = if Facts::of(opcode).needs_mean { statistic.into() } else { 0 };
            steps.push(Step { opcode, integers: [statistic, 0, gray], value: [a, b, c, 0.0] });
        };
        match *self {
            Op::Crop { .. } | Op::Pad { .. } | Op::Resize { .. } | Op::HorizontalFlip | Op::VerticalFlip => {}
            Op::Affine { .. }
            | Op::Rotate { .. }
            | Op::Perspective { .. }
            | Op::GaussianBlur { .. }
            | Op::Sharpness { .. }
            | Op::Elastic { .. }
            | Op::Jpeg { .. }
            | Op::Autocontrast
            | Op::Equalize
            | Op::Policy { .. }
            | Op::Mixture { .. } => {}
            // A single channel has neither saturation nor hue, is gray already, and has only one order of channels.
            Op::Saturation { .. } | Op::Hue { .. } | Op::Grayscale { .. } | Op::PermuteChannels { .. }
                if channels == 1 => {}
            Op::Brightness { factor } => step(opcode::BRIGHTNESS, [factor; 3]),
            Op::Contrast { factor } => step(opcode::CONTRAST, [factor; 3]),
            Op::Saturation { factor } => step(opcode::SATURATION, [factor; 3]),
            Op::Hue { factor } => step(opcode::HUE, [factor; 3]),
            Op::Grayscale { .. } => step(opcode::GRAYSCALE, [0.0; 3]),
            Op::Invert => step(opcode::INVERT, [0.0; 3]),
            Op::Solarize { threshold } => step(opcode::SOLARIZE, [threshold; 3]),
            Op::AdjustGamma { gamma, gain } => {
                // torchvision clamps only if it multiplies.
                let most = if gain == 1.0 { f32::MAX } else { 1.0 };
                step(opcode::ADJUST_GAMMA, [gamma, gain, most]);
            }
            Op::Posterize { bits } => {
                let levels = (1u32 << bits) as f32;
                step(opcode::POSTERIZE, [levels, levels - 1.0, 1.0 / levels]);
            }
            Op::PermuteChannels { permutation } => step(opcode::PERMUTE_CHANNELS, permutation.map(|c| c as f32)),
            Op::Custom { parameters: value } => {
                let opcode = opcode::CUSTOM + u32::from(slot);
                steps.push(Step { opcode, integers: [0, 0, gray], value });
            }
            Op::GaussianNoise { mean, sigma, clip, key: [first, second] } => {
                let value = [mean as f32, sigma as f32, f32::from(clip), 0.0];
                steps.push(Step { opcode: opcode::GAUSSIAN_NOISE, integers: [first, second, gray], value });
            }
            Op::Erase { top, left, height, width, value } => {
                let (opcode, integers) = match value {
                    Erased::Color(color) => (opcode::ERASE, repeated(color, channels).map(f32::to_bits)),
                    Erased::Noise { key: [first, second] } => (opcode::NOISE, [first, second, gray]),
                };
                // Sides are at most MAX_SIDE: exact in f32.
                let value = [left, top, left + width, top + height].map(|edge| edge as f32);
                steps.push(Step { opcode, integers, value });
            }
            Op::Normalize { mean, std } => {
                step(opcode::SUBTRACT, repeated(mean, channels));
                step(opcode::DIVIDE, repeated(std, channels));
            }
        }
    }

    /// Appends the colour steps of an op on 8-bit numbers: those of torchvision's arithmetic on `uint8`.
    pub(crate) fn color_steps_u8(&self, statistic: u16, channels: u32, steps: &mut Vec<Step>) {
        let gray = u32::from(channels == 1);
        let mut step = |opcode: u32, [a, b]: [f32; 2]| {
            let statistic = if Facts::of(opcode).needs_mean { statistic.into() } else { 0 };
            steps.push(Step { opcode, integers: [statistic, 0, gray], value: [a, b, 0.0, 0.0] });
        };
        let ratios = |ratio: f32| [ratio, one_minus(ratio)];
        let of_policy = |magnitude: f32| {
            let ratio = 1.0 + f64::from(magnitude);
            [ratio as f32, (1.0 - ratio) as f32]
        };
        match *self {
            Op::Saturation { .. } | Op::Hue { .. } | Op::Grayscale { .. } if channels == 1 => {}
            Op::Policy { id: PolicyOp::Color, .. } if channels == 1 => {}
            Op::Policy { id: PolicyOp::Color, magnitude, .. } => step(opcode::SATURATION_U8, of_policy(magnitude)),
            Op::Policy { id: PolicyOp::Contrast, magnitude, .. } => step(opcode::CONTRAST_U8, of_policy(magnitude)),
            Op::Brightness { factor } => step(opcode::BRIGHTNESS_U8, [factor, 0.0]),
            Op::Contrast { factor } => step(opcode::CONTRAST_U8, ratios(factor)),
            Op::Saturation { factor } => step(opcode::SATURATION_U8, ratios(factor)),
            Op::Hue { factor } => step(opcode::HUE_U8, [factor, 0.0]),
            Op::Grayscale { .. } => step(opcode::GRAYSCALE_U8, [0.0; 2]),
            Op::Invert => step(opcode::INVERT_U8, [0.0; 2]),
            Op::Solarize { threshold } => step(opcode::SOLARIZE_U8, [threshold, 0.0]),
            Op::AdjustGamma { gamma, gain } => {
                let most = if gain == 1.0 { f32::MAX } else { 1.0 };
                let value = [gamma, gain, most, 0.0];
                steps.push(Step { opcode: opcode::ADJUST_GAMMA_U8, integers: [0, 0, gray], value });
            }
            Op::Posterize { bits } => {
                let size = (1u32 << (8 - bits)) as f32;
                step(opcode::POSTERIZE_U8, [size, 1.0 / size]);
            }
            Op::GaussianNoise { mean, sigma, key: [first, second], .. } => {
                let value = [(255.0 * mean) as f32, (255.0 * sigma) as f32, 1.0, 0.0];
                steps.push(Step { opcode: opcode::GAUSSIAN_NOISE_U8, integers: [first, second, gray], value });
            }
            Op::Erase { top, left, height, width, value: Erased::Color(color) } => {
                let value = Erased::Color(fill_u8(color));
                Op::Erase { top, left, height, width, value }.color_steps(0, 0, channels, steps);
            }
            _ => self.color_steps(0, 0, channels, steps),
        }
    }
}

/// The numbers of an image's channels in three registers: a single channel is repeated in all of them, so its number
/// is repeated as well.
pub(crate) fn repeated(numbers: [f32; 3], channels: u32) -> [f32; 3] {
    if channels == 1 { [numbers[0]; 3] } else { numbers }
}

/// `1 - ratio` as torch computes it: in f64, then rounded to f32. The ratio is the number that prints as this one
/// (1.3, not 1.2999999523), so the pixels are those of torchvision's function called with the printed number.
fn one_minus(ratio: f32) -> f32 {
    let printed: f64 = ratio.to_string().parse().unwrap_or(f64::from(ratio));
    (1.0 - printed) as f32
}

/// The colour of 8-bit numbers, truncated as a cast to `uint8` does, as floats.
pub(crate) fn fill_u8(fill: [f32; 3]) -> [f32; 3] {
    fill.map(|number| number.trunc().clamp(0.0, 255.0) * (1.0 / 255.0))
}
