//! One image's share of the plan: its ops, composed into one sampling and a list of colour steps per stage.

use super::Plan;
use super::composer::Composer;
use super::fuse::SlotPlace;
use super::gather::{Gather, gather_of};
use super::sampling::{Border, Filter, Sampling};
use super::timm::{blended_shares, gather_of_timm};
use crate::color::{Step, opcode};
use crate::error::{Error, Result};
use crate::geometry::{Rect, Scale, Scaled};
use crate::transforms::arguments::MAX_SIDE;
use crate::transforms::{Effect, Key, Op, Params, ParamsOp, fill_u8, repeated, resolve_policy};

/// One stage of one image.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct StageProgram {
    /// The operator that the stage begins with; the sampling reads its result.
    pub(crate) gather: Option<Gather>,
    /// The mixture that the stage begins with instead.
    pub(crate) mixture: Option<Box<Mixture>>,
    pub(crate) sampling: Sampling,
    pub(crate) steps: Vec<Step>,
    /// True if the result holds 8-bit numbers: a later stage reads them as bytes.
    pub(crate) is_uint8: bool,
    /// The key of the user's code that gets the result of the last stage.
    pub(crate) host_code: Option<Box<Key>>,
}

/// The result of AugMix for an image, made of the parts' results one after the other.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Mixture {
    /// What makes an image of the same size of the image before, with its weight and what is done with the result.
    pub(crate) parts: Vec<(Mixing, f32, Program)>,
    /// Width and height.
    pub(crate) size: (u32, u32),
    /// True if it computes on 8-bit numbers.
    pub(crate) is_uint8: bool,
}

/// What is done with a part of a mixture, of the weight w.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mixing {
    /// Its numbers times w are added.
    Add,
    /// Pillow blends what is there with it: w is its share. 8-bit numbers.
    BlendOnto,
    /// Pillow blends it with what is there, cut to whole numbers: w is the share of that. 8-bit numbers.
    BlendUnder,
}

impl StageProgram {
    /// True if the stage passes its image on as it is.
    pub(crate) fn is_unchanged(&self) -> bool {
        self.is_only_sampled() && self.steps.is_empty() && self.sampling == Sampling::identity(self.sampling.size())
    }

    /// True if its sampling reads the image before.
    pub(crate) fn is_only_sampled(&self) -> bool {
        self.gather.is_none() && self.mixture.is_none()
    }

    /// The region of the image before that the stage reads.
    pub(crate) fn read_region(&self) -> Rect {
        let window = self.sampling.read_region();
        if let Some(mixture) = &self.mixture {
            // Most of its operations need all of the image, or warp it.
            let (width, height) = mixture.size;
            return Rect { left: 0, top: 0, width, height };
        }
        self.gather.as_ref().map_or(window, |gather| gather.read_region(window))
    }

    /// The stage that passes an image of `size` on unchanged.
    pub(super) fn unchanged(size: (u32, u32)) -> StageProgram {
        let (sampling, steps) = (Sampling::identity(size), Vec::new());
        StageProgram { gather: None, mixture: None, sampling, steps, is_uint8: false, host_code: None }
    }

    /// The rectangle of the stage's result.
    pub(crate) fn whole(&self) -> Rect {
        let (width, height) = self.sampling.size();
        Rect { left: 0, top: 0, width, height }
    }

    /// True if what the stage begins with computes on 8-bit numbers, or all of the stage does.
    pub(crate) fn begins_in_bytes(&self) -> bool {
        self.is_uint8
            || self.gather.as_ref().is_some_and(|gather| gather.is_uint8)
            || self.sampling.resized_u8.is_some()
            || self.steps.iter().any(Step::is_uint8)
    }

    /// The number of colour steps, from the first one on, whose result is 8-bit numbers if their source is.
    pub(crate) fn byte_steps(&self) -> usize {
        // A placed step must know its row, which an image of bytes goes through without.
        self.steps.iter().take_while(|step| step.facts().keeps_levels && !step.facts().placed).count()
    }

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
        if plan.code().is_some() && program.code_key().is_none() {
            return Err(Error::argument("params", "they lack the op of the plan's own code"));
        }
        let size = program.size();
        if let Some(expected) = plan.before_code().size.filter(|&expected| expected != size) {
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
        if width > MAX_SIDE || height > MAX_SIDE {
            return Err(bad(format!("an image of {width}x{height}; sides of up to {MAX_SIDE} pixels work")));
        }
        let mut stages = Vec::with_capacity(plan.stages.len());
        let mut composer = Composer::new((width, height));
        let (mut gather, mut mixture, mut steps) = (None, None, Vec::new());
        // True if the stage under way has an op.
        let mut begun = false;
        let (mut channels, mut host_code) = (plan.input_channels, None);
        for (i, params_op) in ops.iter().enumerate() {
            let slot = usize::from(params_op.slot);
            let (Some(place), Some(allowed)) = (plan.places.get(slot), plan.slots.get(slot)) else {
                return Err(bad(format!("op {i} names slot {slot}, but the plan has {} slots", plan.places.len())));
            };
            let op = &params_op.op;
            if !belongs(op, allowed.effect) || usize::from(place.stage) < stages.len() {
                return Err(bad(format!("op {i} ({op:?}) does not belong to slot {slot} of this plan")));
            }
            if matches!(op, Op::Objects(_)) {
                continue;
            }
            while stages.len() < usize::from(place.stage) {
                let next = Composer::new(composer.size());
                let is_uint8 = plan.is_uint8(slot);
                let (sampling, steps) = (composer.finish(), std::mem::take(&mut steps));
                let (gather, mixture) = (gather.take(), mixture.take());
                stages.push(StageProgram { gather, mixture, sampling, steps, is_uint8, host_code: None });
                (composer, begun) = (next, false);
            }
            op.check(composer.size()).map_err(|reason| bad(format!("op {i} ({op:?}): {reason}")))?;
            let is_uint8 = plan.is_uint8(slot);
            let resolved = resolve(op, composer.size(), is_uint8);
            let op = resolved.as_ref().unwrap_or(op);
            if begun && matches!(op.effect(), Effect::Gather(_) | Effect::Mixture) {
                return Err(bad(format!("op {i} ({op:?}) comes after another one of its stage")));
            }
            if let Op::HostCode { key } = op {
                host_code = Some(Box::new(*key));
            } else if matches!(op.effect(), Effect::Mixture) {
                let made = Mixture::of(op, composer.size(), channels, is_uint8);
                mixture = Some(Box::new(made.map_err(bad)?));
            } else if matches!(op.effect(), Effect::Gather(_)) {
                gather = beginning(op, composer.size(), channels, is_uint8, &mut composer).map_err(bad)?;
                if let Some(gather) = &gather {
                    composer = Composer::new(gather.size());
                }
            } else if is_uint8 {
                apply_u8(op, *place, channels, &mut composer, &mut steps);
            } else {
                apply(op, params_op.slot, *place, channels, &mut composer, &mut steps);
            }
            if let Op::Grayscale { channels: n } = op {
                channels = *n;
            }
            begun = true;
        }
        while stages.len() < plan.stages.len() {
            let next = Composer::new(composer.size());
            let (sampling, steps) = (composer.finish(), std::mem::take(&mut steps));
            let (gather, mixture) = (gather.take(), mixture.take());
            let host_code = host_code.take_if(|_| stages.len() + 1 == plan.stages.len());
            stages.push(StageProgram { gather, mixture, sampling, steps, is_uint8: false, host_code });
            composer = next;
        }
        for (number, (stage, facts)) in stages.iter().zip(&plan.stages).enumerate() {
            if let Some(at) = facts.positions.of(&stage.steps).position(|position| position.is_none()) {
                let reason =
                    format!("colour step {at} of stage {number} comes in an order that the plan's list cannot emit");
                return Err(bad(reason));
            }
        }
        Ok(Program { stages })
    }

    /// Composes a chain of operations of policies: a stage begins with each that reads more pixels than one.
    fn of_chain(chain: &[Op], size: (u32, u32), channels: u32, is_uint8: bool) -> Result<Program, String> {
        let fresh = || StageProgram { is_uint8, ..StageProgram::unchanged(size) };
        let place = SlotPlace { stage: 0, on_grid: false, statistic: 0 };
        let (mut stages, mut stage) = (Vec::new(), fresh());
        for op in chain {
            let resolved = resolve(op, size, is_uint8);
            let op = resolved.as_ref().unwrap_or(op);
            let mut composer = Composer::new(size);
            if matches!(op.effect(), Effect::Gather(_)) {
                let before = std::mem::replace(&mut stage, fresh());
                stages.extend((!before.is_unchanged()).then_some(before));
                stage.gather = beginning(op, size, channels, is_uint8, &mut composer)?;
                stage.sampling = composer.finish();
            } else if is_uint8 {
                apply_u8(op, place, channels, &mut composer, &mut stage.steps);
            } else {
                apply(op, 0, place, channels, &mut composer, &mut stage.steps);
            }
        }
        stages.push(stage);
        Ok(Program { stages })
    }

    /// The smallest scale at which the image may be decoded without being enlarged by the first stage.
    pub(crate) fn scale(&self) -> Scale {
        let first = self.stages.first().filter(|stage| stage.is_only_sampled());
        first.map_or(Scale::Full, |stage| Scale::within(stage.sampling.reduction()))
    }

    /// The program for an image that was decoded at a scale: only the first stage changes, which reads other pixels.
    pub(crate) fn scaled_down(mut self, to: &Scaled) -> Self {
        if let Some(first) = self.stages.first_mut() {
            first.sampling = first.sampling.scaled_down(to);
        }
        self
    }

    /// The program for an image of `size` that the CPU has finished: each of `stages` stages that it
    /// goes through passes it on unchanged.
    pub(crate) fn finished(size: (u32, u32), stages: usize) -> Program {
        Program { stages: vec![StageProgram::unchanged(size); stages] }
    }

    /// The program for an image of which only `region` is present.
    pub(crate) fn relative_to(mut self, region: Rect) -> Self {
        if let Some(first) = self.stages.first_mut() {
            match &mut first.gather {
                Some(gather) => gather.origin = (region.left, region.top),
                None => first.sampling = first.sampling.relative_to(region),
            }
        }
        self
    }

    /// The region of the source that the first stage reads.
    pub(crate) fn region(&self) -> Rect {
        self.stages[0].read_region()
    }

    /// The key of the user's code that gets the result, if there is some.
    pub(crate) fn code_key(&self) -> Option<&Key> {
        self.stages.last()?.host_code.as_deref()
    }

    /// Width and height of the result; with code, of what it gets.
    pub(crate) fn size(&self) -> (u32, u32) {
        self.stages.last().map_or((0, 0), |stage| stage.sampling.size())
    }
}

impl Mixture {
    /// Composes the chains of an op for an image of a size and a number of channels.
    ///
    /// # Errors
    /// The reason, if the op is no mixture or an operation of a chain cannot be.
    fn of(op: &Op, size: (u32, u32), channels: u32, is_uint8: bool) -> Result<Mixture, String> {
        let image = |mixing: Mixing, weight: f32| (mixing, weight, Program::finished(size, 1));
        let add = |chains: &[Vec<Op>], mixing: Mixing, weights: Vec<f32>| {
            let of_chain = |(weight, chain): (f32, &Vec<Op>)| {
                Ok::<_, String>((mixing, weight, Program::of_chain(chain, size, channels, is_uint8)?))
            };
            weights.into_iter().zip(chains).map(of_chain).collect::<Result<Vec<_>, String>>()
        };
        let parts = match op {
            Op::Mixture { m: [own, mixed], weights, chains } => {
                let chains = add(chains, Mixing::Add, weights.iter().map(|weight| weight * mixed).collect())?;
                [vec![image(Mixing::Add, *own)], chains].concat()
            }
            Op::TimmMixture { .. } if !is_uint8 => return Err("it needs 8-bit numbers, but gets floats".to_owned()),
            Op::TimmMixture { m, weights, chains, blended: true } => {
                let chains = add(chains, Mixing::BlendOnto, blended_shares(weights, *m))?;
                [vec![image(Mixing::Add, 1.0)], chains].concat()
            }
            Op::TimmMixture { m, weights, chains, blended: false } => {
                let mut parts = add(chains, Mixing::Add, weights.clone())?;
                parts.push(image(Mixing::BlendUnder, *m));
                parts
            }
            _ => return Err("it is no mixture".to_owned()),
        };
        Ok(Mixture { parts, size, is_uint8 })
    }
}

fn belongs(op: &Op, effect: Effect) -> bool {
    // RandomGrayscale outputs three channels, so its slot is one of a colour step.
    op.effect() == effect || (matches!(op, Op::Grayscale { channels: 3 }) && effect == Effect::Color(opcode::GRAYSCALE))
}

/// The operator that begins a stage for an op; `None` if the op only mirrors the image, or leaves it as it is.
///
/// # Errors
/// Those of [`gather_of`], and the reason if an operation of timm gets floats.
fn beginning(
    op: &Op,
    size: (u32, u32),
    channels: u32,
    is_uint8: bool,
    composer: &mut Composer,
) -> Result<Option<Gather>, String> {
    match *op {
        Op::Timm { .. } if !is_uint8 => Err("it needs 8-bit numbers, but gets floats".to_owned()),
        Op::Timm { id, argument, interpolation, fill } => {
            gather_of_timm((id, argument), (interpolation, fill), size, channels, composer)
        }
        _ => gather_of(op, size, channels, is_uint8, composer),
    }
}

/// Applies an op to the stage under way: its geometry to the composer, or its colour steps to the list.
fn apply(op: &Op, slot: u16, place: SlotPlace, channels: u32, composer: &mut Composer, steps: &mut Vec<Step>) {
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

/// Applies an op to the stage under way as [`apply`] does, in torchvision's arithmetic on 8-bit numbers.
fn apply_u8(op: &Op, place: SlotPlace, channels: u32, composer: &mut Composer, steps: &mut Vec<Step>) {
    match *op {
        Op::Pad { left, top, right, bottom, mode, fill } => {
            let fill = repeated(fill_u8(fill), channels);
            composer.pad(place.on_grid, [left, top, right, bottom], Border { mode, fill });
        }
        Op::Resize { height, width, interpolation, antialias } => {
            composer.resize_u8((width, height), Filter::new(interpolation, antialias));
        }
        Op::Crop { .. } | Op::HorizontalFlip | Op::VerticalFlip => apply(op, 0, place, channels, composer, steps),
        _ => op.color_steps_u8(place.statistic, channels, steps),
    }
}

/// The op that an operation of a policy stands for in an image of a size; `None` for any other op, and for operations that
/// are ops themselves.
fn resolve(op: &Op, size: (u32, u32), is_uint8: bool) -> Option<Op> {
    let Op::Policy { id, magnitude, interpolation, fill } = *op else { return None };
    match resolve_policy(id, magnitude, interpolation, fill, size, if is_uint8 { 255.0 } else { 1.0 }) {
        // Its ratio is a number of f64, which the op does not hold.
        Some(Op::Saturation { .. } | Op::Contrast { .. }) if is_uint8 => None,
        resolved => resolved,
    }
}
