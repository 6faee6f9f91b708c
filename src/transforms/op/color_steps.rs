//! The colour steps of an op.

use super::{ColorOp, Op};
use crate::color::{Facts, Step, opcode};
use crate::transforms::arguments::{Erased, PolicyOp};

impl ColorOp {
    /// The step on an image with so many channels: none where it would mix the channels of an image of one, which has
    /// neither saturation nor hue, is gray already, and has only one order of channels.
    fn step(&self, statistic: u16, channels: u32) -> Option<Step> {
        let (facts, [a, b, c]) = (Facts::of(self.opcode), self.numbers);
        let statistic = if facts.needs_mean { statistic.into() } else { 0 };
        let step =
            Step { opcode: self.opcode, integers: [statistic, 0, u32::from(channels == 1)], value: [a, b, c, 0.0] };
        (channels > 1 || facts.per_channel).then_some(step)
    }
}

impl Op {
    /// Appends the colour steps of an op that moves no pixels. `statistic` is the number of the mean that contrast
    /// uses; `channels` is the image's number before the op.
    pub(crate) fn color_steps(&self, slot: u16, statistic: u16, channels: u32, steps: &mut Vec<Step>) {
        let gray = u32::from(channels == 1);
        let mut step = |opcode, [a, b, c]: [f32; 3]| {
            steps.push(Step { opcode, integers: [0, 0, gray], value: [a, b, c, 0.0] });
        };
        match *self {
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
            ref other => steps.extend(other.color(false).and_then(|color| color.step(statistic, channels))),
        }
    }

    /// Appends the colour steps of an op on 8-bit numbers: those of torchvision's arithmetic on `uint8`.
    pub(crate) fn color_steps_u8(&self, statistic: u16, channels: u32, steps: &mut Vec<Step>) {
        let of_policy = |opcode, magnitude: f32| {
            let ratio = 1.0 + f64::from(magnitude);
            ColorOp { opcode, numbers: [ratio as f32, (1.0 - ratio) as f32, 0.0], wrong: None }
        };
        let color = match *self {
            Op::Policy { id: PolicyOp::Color, magnitude, .. } => Some(of_policy(opcode::SATURATION_U8, magnitude)),
            Op::Policy { id: PolicyOp::Contrast, magnitude, .. } => Some(of_policy(opcode::CONTRAST_U8, magnitude)),
            _ => self.color(true),
        };
        if let Some(color) = color {
            steps.extend(color.step(statistic, channels));
            return;
        }
        let gray = u32::from(channels == 1);
        match *self {
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
pub(super) fn one_minus(ratio: f32) -> f32 {
    let printed: f64 = ratio.to_string().parse().unwrap_or(f64::from(ratio));
    (1.0 - printed) as f32
}

/// The colour of 8-bit numbers, truncated as a cast to `uint8` does, as floats.
pub(crate) fn fill_u8(fill: [f32; 3]) -> [f32; 3] {
    fill.map(|number| number.trunc().clamp(0.0, 255.0) * (1.0 / 255.0))
}
