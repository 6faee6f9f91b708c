//! Divides a plan for a cache.
//!
//! The *prefix* of a list is the transforms before the first random one: every epoch computes the same result for a
//! sample. A cache stores that result once, and later epochs run the *suffix* alone.
//!
//! Crops, flips and borders only move pixels. If the prefix has nothing else, the cache stores the pixels of the source
//! that any epoch can read, and the whole plan runs on them. The result of a resize is worth storing: the plan is then
//! divided into stages after the last crop or resize of the prefix, and [`Stored`] is the form in which the result at
//! that boundary is stored.
//!
//! [`CacheSplit::route`] (`route.rs`) decides for one sample what runs where.

use super::cpu_fallback::INTERMEDIATE_BYTES;
use super::program::{Program, StageProgram};
use super::sampling::Filter;
use super::{Plan, fuse};
use crate::color::Facts;
use crate::error::Result;
use crate::geometry::Rect;
use crate::transforms::{Effect, PaddingMode, Params, Slot};

/// The executor that augments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Executor {
    /// The workers, in native code.
    Cpu,
    /// The GPU, by shaders.
    Gpu,
}

/// The memory of a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CacheMemory {
    Host,
    Device,
}

/// The form in which the result of the prefix is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stored {
    /// In the type of the source: bytes, or floats of float pixels. The result has only levels of the source, as after
    /// a nearest-neighbour resize, so nothing is lost. Samples that are not cached run the undivided plan.
    Exact,
    /// In f32, as the executor computed it. Samples that are not cached run the undivided plan.
    Floats,
    /// In bytes, to which the result is rounded for every sample, cached or not: the workers run the prefix.
    Rounded,
}

/// A plan, and its division for a cache.
#[derive(Clone, Debug)]
pub(crate) struct CacheSplit {
    /// The plan as it was compiled, undivided.
    plan: Plan,
    executor: Executor,
    /// `None` without a cache.
    pub(super) cache: Option<CacheMemory>,
    /// The number of slots of the prefix.
    prefix_slots: u16,
    /// `None` if a cache stores pixels of the source.
    pub(super) boundary: Option<Boundary>,
}

/// The boundary of a divided plan.
#[derive(Clone, Debug)]
pub(super) struct Boundary {
    pub(super) stored: Stored,
    /// The plan with a stage that begins at the boundary.
    pub(super) plan: Plan,
    /// The number of that stage, at least 1.
    pub(super) stage: usize,
    /// The number of transforms before the boundary.
    transforms: usize,
}

impl CacheSplit {
    /// Divides `plan` for a loader that augments on `executor`. `in_bytes` asks for [`Stored::Rounded`].
    pub(crate) fn new(plan: Plan, executor: Executor, cache: Option<CacheMemory>, in_bytes: bool) -> CacheSplit {
        let fixed = plan.transforms.iter().take_while(|transform| transform.is_fixed()).count();
        let prefix_slots = plan.first_slots.get(fixed).map_or(plan.slots.len(), |&slot| usize::from(slot));
        // An image of the output's size also becomes an intermediate.
        let fits = plan.output_size().is_none_or(|(w, h)| 16 * u64::from(w) * u64::from(h) <= INTERMEDIATE_BYTES);
        let stored = match (cache, executor) {
            (None, _) => None,
            (Some(_), _) if in_bytes => Some(Stored::Rounded),
            // The executor that runs the suffix stores floats, because the two executors differ in the last bits.
            (Some(_), Executor::Cpu) => Some(Stored::Floats),
            (Some(CacheMemory::Device), Executor::Gpu) if fits => Some(Stored::Floats),
            (Some(CacheMemory::Host), Executor::Gpu) if fits => Some(Stored::Exact),
            (Some(_), Executor::Gpu) => None,
        };
        let boundary = stored.and_then(|stored| Boundary::new(&plan, prefix_slots, stored));
        CacheSplit { plan, executor, cache, prefix_slots: prefix_slots as u16, boundary }
    }

    /// The same plan with a cache of the source's pixels: groups of views with lists of their own share these.
    pub(crate) fn storing_sources(self) -> CacheSplit {
        CacheSplit { boundary: None, ..self }
    }

    pub(crate) fn executor(&self) -> Executor {
        self.executor
    }

    /// The plan as it was compiled: it has the output and the parameters of samples.
    pub(crate) fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The plan that the executor runs, and the first of its stages that runs on cached pixels. The GPU's kernels are
    /// compiled from it.
    pub(crate) fn plan_for_kernels(&self) -> (Plan, usize) {
        match (&self.boundary, self.executor) {
            (Some(Boundary { stored: Stored::Floats, plan, stage, .. }), _) => (plan.clone(), *stage),
            (Some(Boundary { stored: Stored::Rounded, plan, stage, .. }), Executor::Gpu) => {
                (plan.after_stage(*stage), 0)
            }
            (Some(Boundary { stored: Stored::Rounded, plan, .. }), Executor::Cpu) => (plan.clone(), 0),
            (Some(Boundary { stored: Stored::Exact, .. }) | None, _) => (self.plan.clone(), 0),
        }
    }

    /// True if a cache stores the decoded pixels.
    pub(crate) fn stores_source(&self) -> bool {
        self.boundary.is_none()
    }

    /// The form in which a cache stores samples, for people.
    pub(crate) fn stored_as(&self) -> String {
        let Some(Boundary { stored, transforms, .. }) = &self.boundary else {
            return "decoded pixels in bytes".to_owned();
        };
        let form = match stored {
            Stored::Exact => "bytes, exact,",
            Stored::Floats => "f32",
            Stored::Rounded => "bytes, rounded,",
        };
        let names: Vec<_> = self.plan.transforms[..*transforms].iter().map(|transform| transform.name()).collect();
        format!("{form} after {}", names.join(" + "))
    }

    /// The pixels of the source that any epoch can read from an image with these parameters.
    pub(super) fn prefix_region(&self, params: &Params) -> Result<Rect> {
        let ops = params.ops.partition_point(|op| op.slot < self.prefix_slots);
        let program = Program::compose_ops(&self.plan, (params.width, params.height), &params.ops[..ops])?;
        Ok(program.region())
    }
}

impl Boundary {
    /// The boundary of a plan whose first `prefix_slots` slots are the prefix; `None` if no result can be stored in
    /// this form.
    ///
    /// Every image has the same bits as without a boundary, unless it is rounded: a boundary between two stages is
    /// exact, and none is made if the stage after it would be sampled in another way.
    fn new(plan: &Plan, prefix_slots: usize, stored: Stored) -> Option<Boundary> {
        let slots = plan.slots[..prefix_slots].iter();
        let end = match stored {
            // Bytes hold no values below 0 or above 1.
            Stored::Rounded => {
                let leaves = |(i, slot): (usize, &Slot)| !plan.is_uint8(i) && leaves_range(slot.effect);
                slots.enumerate().position(leaves).unwrap_or(prefix_slots)
            }
            Stored::Floats | Stored::Exact => prefix_slots,
        };
        let effects = || plan.slots[..end].iter().map(|slot| slot.effect);
        if !effects().any(|effect| matches!(effect, Effect::Resize { .. })) {
            return None;
        }
        let last = effects().rposition(|effect| matches!(effect, Effect::Crop | Effect::Resize { .. }))?;
        let exact = |(i, slot): (usize, &Slot)| plan.is_uint8(i) || keeps_levels(slot.effect);
        let is_exact = plan.slots[..=last].iter().enumerate().all(exact);
        let stored = match stored {
            Stored::Rounded => stored,
            _ if borders_and_resizes_around(plan, last) => return None,
            Stored::Exact if !is_exact => return None,
            _ if is_exact => Stored::Exact,
            stored => stored,
        };
        let mut divided = plan.clone();
        (divided.stages, divided.places) = fuse::divide(&plan.slots, plan.first_float_slot, &plan.places, last + 1);
        let stage = divided.places.get(last + 1).map_or(divided.stages.len() - 1, |place| usize::from(place.stage));
        let transforms = plan.first_slots.partition_point(|&first| usize::from(first) <= last);
        Some(Boundary { stored, plan: divided, stage, transforms })
    }

    /// The program of the prefix, which all views share, and the suffix of each view.
    pub(super) fn programs(&self, params: &[Params]) -> Result<(Program, Vec<Program>)> {
        let (mut prefix, mut suffixes) = (None, Vec::with_capacity(params.len()));
        for params in params {
            let (before, after) = self.plan.program(params)?.divided(self.stage);
            prefix.get_or_insert(before);
            suffixes.push(after);
        }
        Ok((prefix.unwrap_or(Program { stages: Vec::new() }), suffixes))
    }
}

/// True if dividing the stage of slot `last` after it would change last bits: a border excludes an image from the strip
/// kernel, whose sums are in another order, and taps of a resize outside a border add up its colour one by one.
fn borders_and_resizes_around(plan: &Plan, last: usize) -> bool {
    let stage = plan.places[last].stage;
    let has = |slots: std::ops::Range<usize>, wanted: fn(Effect) -> bool| {
        slots.into_iter().any(|i| plan.places[i].stage == stage && wanted(plan.slots[i].effect))
    };
    let pads: fn(Effect) -> bool = |effect| matches!(effect, Effect::Pad { .. });
    let resizes: fn(Effect) -> bool = |effect| matches!(effect, Effect::Resize { .. });
    let (before, after) = (0..last + 1, last + 1..plan.slots.len());
    has(after.clone(), pads) || (has(before, pads) && has(after, resizes))
}

/// True if an input of byte levels gives an output of byte levels.
fn keeps_levels(effect: Effect) -> bool {
    match effect {
        Effect::Never | Effect::Crop | Effect::Flip | Effect::ToFloat | Effect::Objects => true,
        Effect::Resize { interpolation, antialias } => {
            matches!(Filter::new(interpolation, antialias), Filter::Nearest | Filter::NearestExact)
        }
        Effect::Pad { mode: PaddingMode::Constant, fill } => fill.into_iter().all(is_level),
        Effect::Pad { .. } => true,
        Effect::Gather(_) | Effect::Policy | Effect::BicubicPolicy | Effect::Mixture | Effect::HostCode => false,
        Effect::Color(_) | Effect::Custom | Effect::Channels(_) | Effect::Normalize => {
            effect.opcodes().all(|opcode| Facts::of(opcode).keeps_levels)
        }
    }
}

/// True if both executors convert some byte to exactly this float.
fn is_level(value: f32) -> bool {
    let byte = (value.clamp(0.0, 1.0) * 255.0 + 0.5) as u8;
    (f32::from(byte) * (1.0 / 255.0)).to_bits() == value.to_bits()
}

/// True if the output may have values below 0 or above 1 although the input has none.
fn leaves_range(effect: Effect) -> bool {
    match effect {
        Effect::Pad { fill, .. } => fill.iter().any(|value| !(0.0..=1.0).contains(value)),
        _ => effect.opcodes().any(|opcode| Facts::of(opcode).leaves_range),
    }
}

impl Program {
    /// The program of the stages before `stage`, and that of the others.
    pub(super) fn divided(mut self, stage: usize) -> (Program, Program) {
        let after = self.stages.split_off(stage);
        (self, Program { stages: after })
    }

    /// This suffix with `stages` stages, those of the undivided plan, so that its kernels can run it: stages that
    /// belong to the prefix alone pass pixels on unchanged.
    pub(super) fn padded_to_stages(self, prefix: &Program, stages: usize) -> Program {
        let idle = stages - self.stages.len();
        let mut all = vec![StageProgram::unchanged(prefix.size()); idle];
        all.extend(self.stages);
        Program { stages: all }.with_crop_before(idle)
    }

    /// Moves a crop at the start of `stage` in front of the earlier stages, so that these compute only the pixels that
    /// it reads.
    ///
    /// The result is exact, as for a crop of a resize: the earlier steps are pointwise, or else the crop would have
    /// opened a stage.
    pub(super) fn with_crop_before(mut self, stage: usize) -> Program {
        let (before, after) = self.stages.split_at_mut(stage);
        if let (Some(last), Some(first)) = (before.last_mut(), after.first_mut())
            && first.is_only_sampled()
        {
            let read = first.sampling.read_region();
            last.sampling = last.sampling.cropped(read);
            first.sampling = first.sampling.relative_to(read);
        }
        self
    }
}

#[cfg(test)]
mod tests;
