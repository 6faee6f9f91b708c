//! One image's share of the plan: its ops, composed into one sampling and a list of colour steps per stage.

use super::Plan;
use super::composer::Composer;
use super::fuse::Place;
use super::gather::{Gather, GatherKind};
use super::sampling::{Border, Filter, Sampling};
use crate::color::{Step, opcode};
use crate::error::{Error, Result};
use crate::geometry::{Rect, Scale, Scaled};
use crate::transforms::{Effect, Interpolation, Op, Params, ParamsOp, fill_u8, repeated, resolve_policy};
use crate::warp::{Map, Warp};

/// One stage of one image.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct StageProgram {
    /// The operator that the stage begins with; the sampling reads its result.
    pub(crate) gather: Option<Gather>,
    pub(crate) sampling: Sampling,
    pub(crate) steps: Vec<Step>,
    /// True if the result holds 8-bit numbers: a later stage reads them as bytes.
    pub(crate) is_uint8: bool,
}

impl StageProgram {
    /// True if the stage passes its image on as it is.
    pub(crate) fn is_unchanged(&self) -> bool {
        self.gather.is_none() && self.steps.is_empty() && self.sampling == Sampling::identity(self.sampling.size())
    }

    /// The region of the image before that the stage reads.
    pub(crate) fn read_region(&self) -> Rect {
        let window = self.sampling.read_region();
        self.gather.as_ref().map_or(window, |gather| gather.read_region(window))
    }

    /// The stage that passes an image of `size` on unchanged.
    pub(super) fn unchanged(size: (u32, u32)) -> StageProgram {
        StageProgram { gather: None, sampling: Sampling::identity(size), steps: Vec::new(), is_uint8: false }
    }

    /// The rectangle of the stage's result.
    pub(crate) fn whole(&self) -> Rect {
        let (width, height) = self.sampling.size();
        Rect { left: 0, top: 0, width, height }
    }

    /// True if what the stage begins with computes on 8-bit numbers.
    pub(crate) fn begins_in_bytes(&self) -> bool {
        self.gather.as_ref().is_some_and(|gather| gather.is_uint8)
            || self.sampling.resized_u8.is_some()
            || self.steps.iter().any(Step::is_uint8)
    }

    /// The number of colour steps, from the first one on, whose result is 8-bit numbers if their source is.
    pub(crate) fn byte_steps(&self) -> usize {
        self.steps.iter().take_while(|step| step.facts().keeps_levels).count()
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
        let (mut gather, mut steps) = (None, Vec::new());
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
                let is_uint8 = plan.is_uint8(slot);
                let (sampling, steps) = (composer.finish(), std::mem::take(&mut steps));
                stages.push(StageProgram { gather: gather.take(), sampling, steps, is_uint8 });
                composer = next;
            }
            op.check(composer.size()).map_err(|reason| bad(format!("op {i} ({op:?}): {reason}")))?;
            let is_uint8 = plan.is_uint8(slot);
            let resolved = resolve(op, is_uint8);
            let op = match &resolved {
                // Its ratio is a number of f64, which the op does not hold.
                Some(Op::Saturation { .. } | Op::Contrast { .. }) if is_uint8 => op,
                Some(resolved) => resolved,
                None => op,
            };
            if op.effect() == Effect::Gather {
                gather = gather_of(op, (composer.size(), channels), is_uint8, &mut composer).map_err(bad)?;
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
        }
        while stages.len() < plan.stages.len() {
            let next = Composer::new(composer.size());
            let (sampling, steps) = (composer.finish(), std::mem::take(&mut steps));
            stages.push(StageProgram { gather: gather.take(), sampling, steps, is_uint8: false });
            composer = next;
        }
        Ok(Program { stages })
    }

    /// The smallest scale at which the image may be decoded without being enlarged by the first stage.
    pub(crate) fn scale(&self) -> Scale {
        let first = self.stages.first().filter(|stage| stage.gather.is_none());
        first.map_or(Scale::Full, |stage| Scale::within(stage.sampling.reduction()))
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
        Program { stages: vec![StageProgram::unchanged(size); stages] }
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
        self.stages[0].read_region()
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

/// Applies an op to the stage under way as [`apply`] does, in torchvision's arithmetic on 8-bit numbers.
fn apply_u8(op: &Op, place: Place, channels: u32, composer: &mut Composer, steps: &mut Vec<Step>) {
    match *op {
        Op::Pad { left, top, right, bottom, mode, fill } => {
            let fill = repeated(fill_u8(fill), channels);
            composer.pad(place.on_grid, [left, top, right, bottom], Border { mode, fill });
        }
        Op::Resize { height, width, interpolation, antialias } => {
            composer.resize_u8((width, height), Filter::new(interpolation, antialias));
        }
        Op::Crop { .. } | Op::HorizontalFlip | Op::VerticalFlip => apply(op, 0, place, channels, composer, steps),
        _ => op.color_steps_u8(channels, steps),
    }
}

/// The op that an operation of a policy stands for.
fn resolve(op: &Op, is_uint8: bool) -> Option<Op> {
    let Op::Policy { id, magnitude, interpolation, fill } = *op else { return None };
    resolve_policy(id, magnitude, (interpolation, fill), if is_uint8 { 255.0 } else { 1.0 })
}

/// The operator that begins a stage; `None` if the op only mirrors the image, or leaves it as it is.
///
/// # Errors
/// The reason, if the op's points have no perspective.
fn gather_of(
    op: &Op,
    (source, channels): ((u32, u32), u32),
    is_uint8: bool,
    composer: &mut Composer,
) -> Result<Option<Gather>, String> {
    let middle = |center: Option<[f64; 2]>| {
        let [x, y] = center.unwrap_or([f64::from(source.0) * 0.5, f64::from(source.1) * 0.5]);
        [x - f64::from(source.0) * 0.5, y - f64::from(source.1) * 0.5]
    };
    let warp = |map: Map, size: (u32, u32), interpolation: Interpolation, fill: Option<[f32; 3]>| {
        let in_floats = |number: f32| if is_uint8 { number * (1.0 / 255.0) } else { number };
        let fill = fill.map(|fill| repeated(fill.map(in_floats), channels));
        GatherKind::Warp(Warp { map, size, nearest: interpolation == Interpolation::Nearest, fill })
    };
    let kind = match *op {
        Op::Affine { angle, translate, scale, shear, center, interpolation, fill } => {
            let map = Map::affine((source, source), angle, translate, scale, shear, middle(center));
            warp(map, source, interpolation, fill)
        }
        Op::Rotate { angle, center, interpolation, fill, .. } => {
            let size = op.size_after(source);
            let turn = angle.rem_euclid(360.0);
            let (width, height) = (f64::from(source.0), f64::from(source.1));
            let quarter = center.is_none() && size == (source.1, source.0);
            if center.is_none() && turn == 0.0 {
                return Ok(None);
            } else if center.is_none() && turn == 180.0 {
                composer.flip(false, 0);
                composer.flip(false, 1);
                return Ok(None);
            } else if quarter && turn == 90.0 {
                warp(Map::Affine([0.0, -1.0, width - 1.0, 1.0, 0.0, 0.0]), size, Interpolation::Nearest, None)
            } else if quarter && turn == 270.0 {
                warp(Map::Affine([0.0, 1.0, 0.0, -1.0, 0.0, height - 1.0]), size, Interpolation::Nearest, None)
            } else {
                let map = Map::affine((source, size), -turn, [0.0; 2], 1.0, [0.0; 2], middle(center));
                warp(map, size, interpolation, fill)
            }
        }
        Op::Perspective { startpoints, endpoints, interpolation, fill } => {
            let map = Map::perspective(startpoints, endpoints);
            let map = map.ok_or("its points lie on a line: there is no such perspective".to_owned())?;
            warp(map, source, interpolation, fill)
        }
        Op::GaussianBlur { kernel_size, sigma } => GatherKind::Blur { kernel_size, sigma },
        Op::Sharpness { factor } => GatherKind::Sharpen { ratio: factor },
        Op::Autocontrast => GatherKind::Autocontrast,
        _ => GatherKind::Equalize,
    };
    Ok(Some(Gather { kind, source, is_uint8 }))
}
