//! The passes of a plan, and the facts that determine the text of each.

use super::sampling::Filter;
use super::{DType, Layout, Plan};
use crate::color::opcode;
use crate::transforms::Effect;

/// One dispatch of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Pass {
    /// The partial sums of a stage's statistic.
    Statistic { stage: usize, statistic: u32 },
    /// A stage: sample, colour, store.
    Stage { stage: usize },
    /// The whole batch from f32 to its type.
    Pack,
}

impl std::fmt::Display for Pass {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Pass::Statistic { stage, statistic } => write!(f, "stage {stage}, mean {statistic}"),
            Pass::Stage { stage } => write!(f, "stage {stage}"),
            Pass::Pack => f.write_str("pack"),
        }
    }
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
            passes.extend((0..u32::from(facts.statistics)).map(|statistic| Pass::Statistic { stage, statistic }));
            passes.push(Pass::Stage { stage });
        }
        if self.output.dtype != DType::F32 {
            passes.push(Pass::Pack);
        }
        passes
    }

    /// The opcodes that any image may have in `stage`.
    fn opcodes(&self, stage: usize) -> Vec<u32> {
        let mut found = Vec::new();
        for (slot, _) in self.slots.iter().zip(&self.places).filter(|(_, place)| usize::from(place.stage) == stage) {
            found.extend(slot.effect.opcodes().filter(|&opcode| opcode != opcode::CUSTOM));
        }
        found.extend(self.custom_opcodes(stage));
        found.sort_unstable();
        found.dedup();
        found
    }

    /// The filters that images of `stage` may need, in the order of `wgsl::FILTERS`.
    fn filters(&self, stage: usize) -> [bool; 5] {
        let effects = || {
            let of_stage =
                self.slots.iter().zip(&self.places).filter(move |(_, place)| usize::from(place.stage) == stage);
            of_stage.map(|(slot, _)| slot.effect)
        };
        let has = |filter: Filter| {
            effects().any(|effect| match effect {
                Effect::Resize { interpolation, antialias } => Filter::new(interpolation, antialias) == filter,
                _ => false,
            })
        };
        let borders = effects().any(|effect| matches!(effect, Effect::Pad { .. }));
        [borders, has(Filter::Linear), has(Filter::Cubic), has(Filter::LinearAntialias), has(Filter::CubicAntialias)]
    }

    /// The facts that determine the text of a pass.
    pub(crate) fn variant(&self, pass: Pass) -> Variant {
        let (stage, known, statistic) = match pass {
            Pass::Pack => return Variant::Pack(self.output.dtype),
            Pass::Statistic { stage, statistic } => (stage, statistic, true),
            Pass::Stage { stage } => (stage, u32::from(self.stages()[stage].statistics), false),
        };
        let facts = &self.stages()[stage];
        let last = stage + 1 == self.stages().len();
        let frame = SamplingFacts {
            source: if stage == 0 { PassSource::Bytes } else { PassSource::Floats },
            target: match (statistic, last, self.output.layout) {
                (true, ..) => PassTarget::Statistic,
                (false, false, _) => PassTarget::Intermediate,
                (false, true, Layout::Nchw) => PassTarget::Nchw,
                (false, true, Layout::Nhwc) => PassTarget::Nhwc,
            },
            channels: self.channels,
            statistics: facts.statistics.into(),
            known_statistics: known,
            filters: self.filters(stage),
        };
        Variant::Sample(
            frame,
            ColorFacts { opcodes: self.opcodes(stage), functions: self.custom_functions(stage), steps: facts.steps },
        )
    }

    /// The whole text of the shader of a pass.
    pub(crate) fn shader(&self, pass: Pass) -> String {
        self.variant(pass).text()
    }
}

/// All facts that determine the text of a pass; `tests/shaders/` enumerates them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Variant {
    /// A stage or one of its statistics.
    Sample(SamplingFacts, ColorFacts),
    /// The conversion from f32 to this type.
    Pack(DType),
    /// The mixing of a batch.
    Mix,
}

impl Variant {
    /// The name of the pass that mixes batches, which is no part of a plan.
    pub(crate) const MIX: &str = "mix";
}

/// The source and target of a sampling pass, and the filters that it needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SamplingFacts {
    /// The type of the source.
    pub source: PassSource,
    /// The target.
    pub target: PassTarget,
    /// Channels of the output: 1 or 3.
    pub channels: u32,
    /// Statistics of the stage.
    pub statistics: u32,
    /// Statistics that earlier passes have computed.
    pub known_statistics: u32,
    /// The entries of `wgsl::FILTERS` that an image may need.
    pub filters: [bool; 5],
}

/// The type of a sampling pass's source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PassSource {
    /// RGBA8, in the first stage.
    Bytes,
    /// Four f32 a pixel, in later stages.
    Floats,
}

/// The target of a sampling pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PassTarget {
    /// Partial sums of a statistic.
    Statistic,
    /// Four f32 a pixel for the next stage.
    Intermediate,
    /// The batch, channel by channel.
    Nchw,
    /// The batch, pixel by pixel.
    Nhwc,
}

/// The colour steps that an image may have.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ColorFacts {
    /// The opcodes of the steps, sorted.
    pub opcodes: Vec<u32>,
    /// The functions of the custom steps.
    pub functions: String,
    /// The most steps of one image.
    pub steps: u32,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Output;
    use crate::transforms::{ColorJitter, Normalize, RandomResizedCrop};

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
