//! One image's share of the plan: its ops, composed into one sampling and a list of colour steps per stage.

use super::Plan;
use super::fuse::Place;
use super::sampling::{Border, Composer, Filter, Sampling};
use crate::color::{Step, opcode};
use crate::error::{Error, Result};
use crate::geometry::{Rect, Scale, Scaled};
use crate::transforms::{Effect, Erased, Op, Params, ParamsOp};

/// One stage of one image.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct StageProgram {
    pub(crate) sampling: Sampling,
    pub(crate) steps: Vec<Step>,
}

impl StageProgram {
    /// Tells whether a step of this image needs a mean.
    pub(crate) fn needs_mean(&self) -> bool {
        self.steps.iter().any(|step| step.facts().needs_mean)
    }
}

/// The stages that one image goes through.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Program {
    pub(crate) stages: Vec<StageProgram>,
}

impl Program {
    /// Composes the ops of `params` along the plan's stages.
    ///
    /// # Errors
    /// `ErrorKind::Argument` if `params` does not belong to this plan or an op reaches outside its image.
    pub(crate) fn compose(plan: &Plan, params: &Params) -> Result<Program> {
        let program = Program::compose_ops(plan, (params.width, params.height), &params.ops)?;
        let size = program.size();
        if let Some(expected) = plan.size.filter(|&expected| expected != size) {
            let reason = format!("the result has {size:?} pixels, but the plan's output has {expected:?}");
            return Err(Error::argument("params", reason));
        }
        Ok(program)
    }

    /// Composes the first ops of a list, whatever the size of the result.
    pub(super) fn compose_ops(plan: &Plan, (width, height): (u32, u32), ops: &[ParamsOp]) -> Result<Program> {
        let bad = |reason: String| Error::argument("params", reason);
        if width == 0 || height == 0 {
            return Err(bad(format!("an image of {width}x{height} has no pixels")));
        }
        let mut stages = Vec::with_capacity(plan.stages.len());
        let mut composer = Composer::new((width, height));
        let mut steps = Vec::new();
        let mut channels = plan.input_channels;
        for (i, params_op) in ops.iter().enumerate() {
            let slot = usize::from(params_op.slot);
            let (Some(place), Some(allowed)) = (plan.places.get(slot), plan.slots.get(slot)) else {
                return Err(bad(format!("op {i} names slot {slot}, but the plan has {} slots", plan.places.len())));
            };
            let op = &params_op.op;
            if !belongs(op, allowed.effect) || usize::from(place.stage) < stages.len() {
                return Err(bad(format!("op {i} ({op:?}) does not belong to slot {slot} of this plan")));
            }
            while stages.len() < usize::from(place.stage) {
                let next = Composer::new(composer.size());
                stages.push(StageProgram { sampling: composer.finish(), steps: std::mem::take(&mut steps) });
                composer = next;
            }
            check(op, composer.size()).map_err(|reason| bad(format!("op {i} ({op:?}): {reason}")))?;
            apply(op, params_op.slot, *place, channels, &mut composer, &mut steps);
            if let Op::Grayscale { channels: n } = op {
                channels = *n;
            }
        }
        while stages.len() < plan.stages.len() {
            let next = Composer::new(composer.size());
            stages.push(StageProgram { sampling: composer.finish(), steps: std::mem::take(&mut steps) });
            composer = next;
        }
        Ok(Program { stages })
    }

    /// The smallest scale at which the image may be decoded without being enlarged by the first stage.
    pub(crate) fn scale(&self) -> Scale {
        self.stages.first().map_or(Scale::Full, |stage| Scale::within(stage.sampling.reduction()))
    }

    /// The program for an image that was decoded at a scale: only the first stage changes, which reads other pixels.
    pub(crate) fn scaled_down(mut self, to: &Scaled) -> Self {
        if let Some(first) = self.stages.first_mut() {
            first.sampling = first.sampling.scaled_down(to);
        }
        self
    }

    /// The program for an image of `size` that the CPU has finished: each of `stages` stages passes it on unchanged.
    pub(crate) fn finished(size: (u32, u32), stages: usize) -> Program {
        let stage = StageProgram { sampling: Sampling::identity(size), steps: Vec::new() };
        Program { stages: vec![stage; stages] }
    }

    /// The program for an image of which only `region` is present.
    pub(crate) fn relative_to(mut self, region: Rect) -> Self {
        if let Some(first) = self.stages.first_mut() {
            first.sampling = first.sampling.relative_to(region);
        }
        self
    }

    /// The region of the source that the first stage reads.
    pub(crate) fn region(&self) -> Rect {
        self.stages[0].sampling.hull()
    }

    /// Width and height of the result.
    pub(crate) fn size(&self) -> (u32, u32) {
        self.stages.last().map_or((0, 0), |stage| stage.sampling.size())
    }
}

fn belongs(op: &Op, effect: Effect) -> bool {
    // RandomGrayscale outputs three channels, so its slot is one of a colour step.
    op.effect() == effect || (matches!(op, Op::Grayscale { channels: 3 }) && effect == Effect::Color(opcode::GRAYSCALE))
}

fn check(op: &Op, (w, h): (u32, u32)) -> Result<(), String> {
    let inside = |offset: u32, len: u32, side: u32| len > 0 && offset.checked_add(len).is_some_and(|end| end <= side);
    let finite =
        |numbers: &[f32]| if numbers.iter().all(|n| n.is_finite()) { Ok(()) } else { Err("not finite".to_owned()) };
    let side = |side: u64| side > 0 && side <= u64::from(crate::transforms::params::MAX_SIDE);
    match *op {
        Op::Crop { top, left, height, width } if inside(left, width, w) && inside(top, height, h) => Ok(()),
        Op::Erase { top, left, height, width, value } if inside(left, width, w) && inside(top, height, h) => {
            match value {
                Erased::Color(color) => finite(&color),
                Erased::Noise { .. } => Ok(()),
            }
        }
        Op::Crop { .. } | Op::Erase { .. } => Err(format!("reaches outside an image of {w}x{h}")),
        Op::Resize { height, width, .. } if side(width.into()) && side(height.into()) => Ok(()),
        Op::Resize { .. } => Err("an impossible size".to_owned()),
        Op::Pad { left, top, right, bottom, .. } => {
            let sum = |a: u32, b: u32, c: u32| u64::from(a) + u64::from(b) + u64::from(c);
            if side(sum(w, left, right)) && side(sum(h, top, bottom)) {
                Ok(())
            } else {
                Err("an impossible size".to_owned())
            }
        }
        Op::Brightness { factor } | Op::Contrast { factor } | Op::Saturation { factor } | Op::Hue { factor } => {
            finite(&[factor])
        }
        Op::Solarize { threshold } => finite(&[threshold]),
        Op::AdjustGamma { gamma, .. } if gamma < 0.0 => Err("a gamma >= 0 works".to_owned()),
        Op::AdjustGamma { gamma, gain } => finite(&[gamma, gain]),
        Op::Posterize { bits: 0..=8 } => Ok(()),
        Op::Posterize { .. } => Err("0 to 8 bits work".to_owned()),
        Op::PermuteChannels { permutation } if (0..3).all(|c| permutation.contains(&c)) => Ok(()),
        Op::PermuteChannels { .. } => Err("the permutation needs each of 0, 1 and 2".to_owned()),
        Op::Custom { parameters } => finite(&parameters),
        Op::Normalize { mean, std } => finite(&mean).and(finite(&std)),
        Op::HorizontalFlip | Op::VerticalFlip | Op::Grayscale { .. } | Op::Invert => Ok(()),
    }
}

fn apply(op: &Op, slot: u16, place: Place, channels: u32, composer: &mut Composer, steps: &mut Vec<Step>) {
    let gray = u32::from(channels == 1);
    // A single channel is repeated in all three registers, so its number is repeated as well.
    let repeated = |numbers: [f32; 3]| if channels == 1 { [numbers[0]; 3] } else { numbers };
    let mut step = |opcode: u32, statistic: u16, [a, b, c]: [f32; 3]| {
        steps.push(Step { opcode, integers: [statistic.into(), 0, gray], value: [a, b, c, 0.0] });
    };
    match *op {
        Op::Crop { top, left, height, width } => composer.crop(place.on_grid, (left, top), (width, height)),
        Op::Pad { left, top, right, bottom, mode, fill } => {
            composer.pad(place.on_grid, [left, top, right, bottom], Border { mode, fill: repeated(fill) });
        }
        Op::Resize { height, width, interpolation, antialias } => {
            composer.resize((width, height), Filter::new(interpolation, antialias));
        }
        Op::HorizontalFlip => composer.flip(place.on_grid, 0),
        Op::VerticalFlip => composer.flip(place.on_grid, 1),
        Op::Brightness { factor } => step(opcode::BRIGHTNESS, 0, [factor; 3]),
        Op::Contrast { factor } => step(opcode::CONTRAST, place.statistic, [factor; 3]),
        // A single channel has neither saturation nor hue; torchvision returns it unchanged.
        Op::Saturation { .. } | Op::Hue { .. } if channels == 1 => {}
        Op::Saturation { factor } => step(opcode::SATURATION, 0, [factor; 3]),
        Op::Hue { factor } => step(opcode::HUE, 0, [factor; 3]),
        // A single channel is gray already and repeated in all three registers, so no step is needed.
        Op::Grayscale { .. } if channels == 1 => {}
        Op::Grayscale { .. } => step(opcode::GRAYSCALE, 0, [0.0; 3]),
        Op::Invert => step(opcode::INVERT, 0, [0.0; 3]),
        Op::Solarize { threshold } => step(opcode::SOLARIZE, 0, [threshold; 3]),
        Op::AdjustGamma { gamma, gain } => {
            // torchvision clamps only if it multiplies.
            let most = if gain == 1.0 { f32::MAX } else { 1.0 };
            step(opcode::ADJUST_GAMMA, 0, [gamma, gain, most]);
        }
        Op::Posterize { bits } => {
            let levels = (1u32 << bits) as f32;
            step(opcode::POSTERIZE, 0, [levels, levels - 1.0, 1.0 / levels]);
        }
        // A single channel has only one order.
        Op::PermuteChannels { .. } if channels == 1 => {}
        Op::PermuteChannels { permutation } => step(opcode::PERMUTE_CHANNELS, 0, permutation.map(|c| c as f32)),
        Op::Custom { parameters: value } => {
            let opcode = opcode::CUSTOM + u32::from(slot);
            steps.push(Step { opcode, integers: [0, 0, gray], value });
        }
        Op::Erase { top, left, height, width, value } => {
            let (opcode, integers) = match value {
                Erased::Color(color) => (opcode::ERASE, repeated(color).map(f32::to_bits)),
                Erased::Noise { key: [first, second] } => (opcode::NOISE, [first, second, gray]),
            };
            // Sides are at most MAX_SIDE: exact in f32.
            let value = [left, top, left + width, top + height].map(|edge| edge as f32);
            steps.push(Step { opcode, integers, value });
        }
        Op::Normalize { mean, std } => {
            step(opcode::SUBTRACT, 0, repeated(mean));
            step(opcode::DIVIDE, 0, repeated(std));
        }
    }
}
