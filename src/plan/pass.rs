//! The passes of a plan, and the variant of each.

use super::fuse::{PlanStage, SlotPlace};
use super::gather::{Gather, GatherKind};
use super::program::StageProgram;
use super::sampling::Filter;
use super::variant::{ColorFacts, Kernel, KernelFacts, PassSource, PassTarget, SamplingFacts, Variant};
use super::wgsl::{GROUP, PARTIALS};
use super::{Layout, Plan};
use crate::color::Facts;
use crate::transforms::{Effect, GatherClass, Interpolation, Slot};
use serde::Serialize;

/// One dispatch of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Pass {
    /// The tables of the images that begin a stage with autocontrast or equalize.
    Tables { stage: usize },
    /// The partial sums of a stage's statistic, of the images that this kernel samples.
    Statistic { stage: usize, statistic: u32, kernel: Kernel },
    /// A stage: sample, colour, store; of the images that this kernel samples.
    Stage { stage: usize, kernel: Kernel },
    /// The whole batch from f32 to its type.
    Pack,
}

impl std::fmt::Display for Pass {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Pass::Tables { stage } => write!(f, "stage {stage}, tables"),
            Pass::Statistic { stage, statistic, kernel } => write!(f, "stage {stage}{kernel}, mean {statistic}"),
            Pass::Stage { stage, kernel } => write!(f, "stage {stage}{kernel}"),
            Pass::Pack => f.write_str("pack"),
        }
    }
}

impl Kernel {
    /// True if it samples this stage of an image.
    pub(crate) fn takes(self, program: &StageProgram) -> bool {
        let kind = program.gather.as_ref().map(|gather: &Gather| &gather.kind);
        match self {
            Kernel::Sample | Kernel::SampleUint8 => true,
            Kernel::Point => matches!(kind, None | Some(GatherKind::Autocontrast | GatherKind::Equalize)),
            Kernel::Warp => matches!(kind, Some(GatherKind::Warp(_))),
            Kernel::Sharpen => matches!(kind, Some(GatherKind::Sharpen { .. })),
            Kernel::Blur => matches!(kind, Some(GatherKind::Blur { .. })),
            Kernel::PillowAffine => matches!(kind, Some(GatherKind::PillowAffine(_))),
            Kernel::PillowBlur => matches!(kind, Some(GatherKind::PillowBlur(_))),
        }
    }
}

impl Pass {
    /// The pass's stage; `None` for the conversion of the batch.
    pub(crate) fn stage(&self) -> Option<usize> {
        match *self {
            Pass::Tables { stage } | Pass::Statistic { stage, .. } | Pass::Stage { stage, .. } => Some(stage),
            Pass::Pack => None,
        }
    }

    /// True if this stage of an image takes part in the pass.
    pub(crate) fn takes(&self, program: &StageProgram) -> bool {
        match self {
            Pass::Tables { .. } => program.gather.as_ref().is_some_and(Gather::has_tables),
            Pass::Statistic { kernel: kernel @ (Kernel::Sample | Kernel::SampleUint8), .. }
            | Pass::Stage { kernel, .. } => kernel.takes(program),
            Pass::Statistic { kernel, .. } => program.needs_mean() && kernel.takes(program),
            Pass::Pack => true,
        }
    }
}

/// How many workgroups a pass has for one image, or for the whole batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Workgroups {
    /// This many along x; an image each along z.
    Groups(u32),
    /// One for each rectangle of outputs, columns and rows; an image each along z.
    Outputs([u32; 2]),
    /// One for this many words of the packed batch.
    Words(u32),
}

/// The shader of one dispatch; [`Plan::shaders`] returns them.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Shader {
    /// The pass, by its name in [`PassTime`](crate::PassTime): `stage 0`, `stage 0, mean 0`, `pack`.
    pub pass: String,
    /// The whole text, in WGSL. The entry point is `main`.
    pub wgsl: String,
}

impl Plan {
    /// The shaders of the plan's passes, in the order in which a GPU runs them.
    ///
    /// ```
    /// use gpufeed::transforms::{CenterCrop, ColorJitter};
    /// use gpufeed::{DType, Output, Plan};
    ///
    /// let list = [CenterCrop::new(32).into(), ColorJitter::new(0.0, 0.4, 0.0, 0.0).into()];
    /// let plan = Plan::compile(&list, &Output { dtype: DType::F16, ..Output::default() })?;
    /// let shaders = plan.shaders();
    /// let passes: Vec<&str> = shaders.iter().map(|shader| shader.pass.as_str()).collect();
    /// assert_eq!(passes, ["stage 0, mean 0", "stage 0", "pack"]); // contrast needs the image's mean
    /// assert!(shaders.iter().all(|shader| shader.wgsl.contains("fn main(")));
    /// # Ok::<(), gpufeed::Error>(())
    /// ```
    pub fn shaders(&self) -> Vec<Shader> {
        self.pass_list().into_iter().map(|pass| Shader { pass: pass.to_string(), wgsl: self.shader(pass) }).collect()
    }

    /// The dispatches of a chunk, in order; `Pack` runs once for each batch.
    pub(crate) fn pass_list(&self) -> Vec<Pass> {
        let mut passes = Vec::new();
        for (stage, facts) in self.stages().iter().enumerate() {
            let kernels = self.kernels(stage);
            if self.has_tables(stage) {
                passes.push(Pass::Tables { stage });
            }
            // A policy's contrast begins the stage, in place of another operator.
            let of_policy = usize::from(self.effects(stage).any(Effect::is_policy));
            for statistic in 0..u32::from(facts.statistics) {
                let with_mean = if of_policy == 1 && statistic == 0 { &kernels[..1] } else { &kernels };
                passes.extend(with_mean.iter().map(|&kernel| Pass::Statistic { stage, statistic, kernel }));
            }
            passes.extend(kernels.into_iter().map(|kernel| Pass::Stage { stage, kernel }));
        }
        if self.packs() {
            passes.push(Pass::Pack);
        }
        passes
    }

    /// The workgroups of a pass.
    pub(crate) fn workgroups(&self, pass: Pass) -> Workgroups {
        match pass {
            Pass::Tables { .. } => Workgroups::Groups(1),
            Pass::Statistic { .. } => Workgroups::Groups(PARTIALS),
            Pass::Stage { .. } => Workgroups::Outputs([GROUP.0, GROUP.1 * self.rows(pass)]),
            Pass::Pack => Workgroups::Words(256),
        }
    }

    /// The slots of `stage`, with their numbers.
    fn slots_of(&self, stage: usize) -> impl Iterator<Item = (usize, &Slot)> {
        let placed = self.slots.iter().enumerate().zip(&self.places);
        placed.filter(move |(_, place)| usize::from(place.stage) == stage).map(|(slot, _)| slot)
    }

    fn effects(&self, stage: usize) -> impl Iterator<Item = Effect> {
        self.slots_of(stage).map(|(_, slot)| slot.effect)
    }

    /// True if an op of `stage` computes on 8-bit numbers.
    fn computes_uint8(&self, stage: usize) -> bool {
        self.slots_of(stage).any(|(number, _)| self.is_uint8(number))
    }

    /// True if the result of `stage` is stored in bytes, as a later stage computes on 8-bit numbers.
    pub(crate) fn stores_bytes(&self, stage: usize) -> bool {
        let later =
            |(_, place): &(usize, &SlotPlace)| place.stage != SlotPlace::NO_STAGE && usize::from(place.stage) > stage;
        self.places.iter().enumerate().filter(later).any(|(number, _)| self.is_uint8(number))
    }

    /// True if the shaders of `stage` read RGBA8, as those of the first stage do; they also read images of four floats a
    /// pixel.
    pub(crate) fn reads_bytes(&self, stage: usize) -> bool {
        stage == 0 || self.stores_bytes(stage - 1)
    }

    /// The stage at which an image enters that the CPU has finished: intermediates in bytes would clamp and round its
    /// floats.
    pub(crate) fn stage_for_finished(&self) -> usize {
        (0..self.stages().len()).rev().find(|&stage| self.reads_bytes(stage)).unwrap_or(0)
    }

    /// True if an image may begin `stage` with autocontrast or equalize.
    pub(crate) fn has_tables(&self, stage: usize) -> bool {
        self.effects(stage).any(|effect| effect.is_policy() || effect == Effect::Gather(GatherClass::Tables))
    }

    /// True if an image may have a resize on 8-bit numbers.
    pub(crate) fn resizes_uint8(&self) -> bool {
        self.slots.iter().enumerate().any(|(i, slot)| self.is_uint8(i) && matches!(slot.effect, Effect::Resize { .. }))
    }

    /// The most weights of a blur that begins `stage`.
    pub(crate) fn blur_weights(&self, stage: usize) -> u32 {
        let weights = |effect| match effect {
            Effect::Gather(GatherClass::Blur([columns, rows])) => columns + rows,
            _ => 0,
        };
        self.effects(stage).map(weights).max().unwrap_or(0).next_multiple_of(4)
    }

    /// The kernels of `stage`; the one for images without an operator comes first.
    pub(super) fn kernels(&self, stage: usize) -> Vec<Kernel> {
        if !self.stages()[stage].gathers {
            return vec![if self.computes_uint8(stage) { Kernel::SampleUint8 } else { Kernel::Sample }];
        }
        let mut kernels = vec![Kernel::Point];
        for effect in self.effects(stage) {
            match effect {
                Effect::Policy => kernels.extend([Kernel::Warp, Kernel::Sharpen]),
                Effect::BicubicPolicy => kernels.extend([Kernel::PillowAffine, Kernel::Sharpen]),
                Effect::Gather(GatherClass::Warp | GatherClass::PillowAffine(Interpolation::Nearest)) => {
                    kernels.push(Kernel::Warp);
                }
                Effect::Gather(GatherClass::PillowAffine(_)) => kernels.push(Kernel::PillowAffine),
                Effect::Gather(GatherClass::PillowBlur) => kernels.push(Kernel::PillowBlur),
                Effect::Gather(GatherClass::Sharpen) => kernels.push(Kernel::Sharpen),
                Effect::Gather(GatherClass::Blur(_)) => kernels.push(Kernel::Blur),
                _ => {}
            }
        }
        kernels
    }

    /// The colour steps that a pass of `stage` may run. The pass of a statistic runs those before a contrast, and no
    /// contrast where it computes the first mean.
    fn colors(&self, stage: usize, statistic: Option<u32>) -> ColorFacts {
        let PlanStage { steps, positions, .. } = &self.stages()[stage];
        let needs_mean = |opcode: u32| Facts::of(opcode).needs_mean;
        let are_distinguished = !positions.distinguished().is_empty();
        let mut positions = positions.clone();
        if statistic.is_some() {
            positions.end_before_last(needs_mean);
        }
        if statistic == Some(0) {
            positions.remove(needs_mean);
        }
        let opcodes = positions.opcodes();
        // Images have their steps at the same places for all passes of a stage, so what is left of many positions is not
        // distinguished either.
        let positions = if are_distinguished { positions.distinguished().to_vec() } else { Vec::new() };
        ColorFacts { opcodes, positions, functions: self.custom_functions(stage), steps: *steps }
    }

    /// The filters that images of `stage` may need, in the order of `wgsl::FILTERS`.
    fn filters(&self, stage: usize) -> [bool; 5] {
        let has = |filter: Filter| {
            self.slots_of(stage).any(|(number, slot)| match slot.effect {
                Effect::Resize { interpolation, antialias } => {
                    !self.is_uint8(number) && Filter::new(interpolation, antialias) == filter
                }
                _ => false,
            })
        };
        let borders = self.effects(stage).any(|effect| matches!(effect, Effect::Pad { .. }));
        [borders, has(Filter::Linear), has(Filter::Cubic), has(Filter::LinearAntialias), has(Filter::CubicAntialias)]
    }

    /// The facts that determine the text of a pass.
    pub(crate) fn variant(&self, pass: Pass) -> Variant {
        let source = |stage| if self.reads_bytes(stage) { PassSource::Bytes } else { PassSource::Floats };
        let (stage, known, kernel, statistic) = match pass {
            Pass::Pack => return Variant::Pack(self.output.dtype),
            Pass::Tables { stage } => {
                let facts = self.kernel_facts(stage, Kernel::Point);
                return Variant::Tables(source(stage), facts, self.stages()[stage].steps);
            }
            Pass::Statistic { stage, statistic, kernel } => (stage, statistic, kernel, true),
            Pass::Stage { stage, kernel } => (stage, u32::from(self.stages()[stage].statistics), kernel, false),
        };
        let facts = &self.stages()[stage];
        let last = stage + 1 == self.stages().len();
        let frame = SamplingFacts {
            source: source(stage),
            target: match (statistic, last, self.output.layout) {
                (true, ..) => PassTarget::Statistic,
                (false, false, _) if self.stores_bytes(stage) => PassTarget::IntermediateBytes,
                (false, false, _) => PassTarget::Intermediate,
                (false, true, layout) if self.stores_halves() => PassTarget::of_16_bits(layout, self.output.dtype),
                (false, true, Layout::Nchw) => PassTarget::Nchw,
                (false, true, Layout::Nhwc) => PassTarget::Nhwc,
            },
            channels: self.channels,
            rows: self.rows(pass),
            statistics: facts.statistics.into(),
            known_statistics: known,
            filters: self.filters(stage),
            padded_to: self.padded_to().filter(|_| last && !statistic),
        };
        let colors = self.colors(stage, statistic.then_some(known));
        match kernel {
            Kernel::Sample => Variant::Sample(frame, colors),
            kernel => Variant::Kernel(self.kernel_facts(stage, kernel), frame, colors),
        }
    }

    fn kernel_facts(&self, stage: usize, kernel: Kernel) -> KernelFacts {
        let gathers = |slot: &Slot| slot.effect.is_policy() || matches!(slot.effect, Effect::Gather(_));
        KernelFacts {
            kernel,
            is_uint8: self.slots_of(stage).any(|(number, slot)| self.is_uint8(number) && gathers(slot)),
            statistics_are_uint8: self.stages()[stage].uint8_statistics == Some(true),
            weights: self.blur_weights(stage),
        }
    }

    /// The whole text of the shader of a pass.
    pub(crate) fn shader(&self, pass: Pass) -> String {
        self.variant(pass).text()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transforms::{ColorJitter, Normalize, RandomResizedCrop};
    use crate::{DType, Output};

    #[test]
    fn shaders_are_whole_and_in_the_order_of_the_passes() {
        let contrast = ColorJitter::new(0.0, 0.4, 0.0, 0.0);
        let list = [RandomResizedCrop::new(32).into(), contrast.into(), Normalize::IMAGENET.into()];
        let plan = Plan::compile(&list, &Output { dtype: DType::F16, ..Output::default() }).unwrap();
        let shaders = plan.shaders();
        assert_eq!(shaders.len(), plan.passes());
        assert_eq!(
            shaders.iter().map(|shader| &shader.pass[..]).collect::<Vec<_>>(),
            ["stage 0, mean 0", "stage 0", "pack"]
        );
        for (shader, pass) in shaders.iter().zip(plan.pass_list()) {
            assert_eq!(shader.wgsl, plan.shader(pass));
            let module = naga::front::wgsl::parse_str(&shader.wgsl).unwrap();
            assert_eq!(module.entry_points.iter().map(|point| &point.name[..]).collect::<Vec<_>>(), ["main"]);
        }
    }
}
