//! One image's share of the plan: its ops, composed into one sampling and a list of colour steps per stage.

use super::Plan;
use super::composer::Composer;
use super::fuse::Place;
use super::sampling::{Border, Filter, Sampling};
use crate::color::{Step, opcode};
use crate::error::{Error, Result};
use crate::geometry::{Rect, Scale, Scaled};
use crate::transforms::{Effect, Op, Params, ParamsOp, repeated};

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
            op.check(composer.size()).map_err(|reason| bad(format!("op {i} ({op:?}): {reason}")))?;
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
        self.stages[0].sampling.read_region()
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

/// Applies an op to the stage under way: its geometry to the composer, or its colour steps to the list.
fn apply(op: &Op, slot: u16, place: Place, channels: u32, composer: &mut Composer, steps: &mut Vec<Step>) {
    match *op {
        Op::Crop { top, left, height, width } => composer.crop(place.on_grid, (left, top), (width, height)),
        Op::Pad { left, top, right, bottom, mode, fill } => {
            let fill = repeated(fill, channels);
            composer.pad(place.on_grid, [left, top, right, bottom], Border { mode, fill });
        }
        Op::Resize { height, width, interpolation, antialias } => {
            composer.resize((width, height), Filter::new(interpolation, antialias));
        }
        Op::HorizontalFlip => composer.flip(place.on_grid, 0),
        Op::VerticalFlip => composer.flip(place.on_grid, 1),
        _ => op.color_steps(slot, place.statistic, channels, steps),
    }
}
