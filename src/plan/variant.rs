//! The facts that determine the text of a pass.

use super::output::{DType, Layout};

/// How a stage gets its pixels. A stage that may begin with an operator of `gather.rs` has several kernels, and each
/// image takes one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kernel {
    /// Resamples images in floats.
    Sample,
    /// Resizes images of 8-bit numbers.
    SampleUint8,
    /// No operator, or one that reads a table of the image.
    Point,
    /// Warps: affine, rotated, in perspective.
    Warp,
    /// Blends with the eight neighbours.
    Sharpen,
    /// Blurs along one axis or both.
    Blur,
    /// Interpolates as Pillow's affine transform does.
    PillowAffine,
    /// Moves a box over a line three times, as Pillow's Gaussian blur does.
    PillowBlur,
}

impl std::fmt::Display for Kernel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Kernel::Sample | Kernel::SampleUint8 => "",
            Kernel::Point => ", point",
            Kernel::Warp => ", warp",
            Kernel::Sharpen => ", sharpen",
            Kernel::Blur => ", blur",
            Kernel::PillowAffine => ", Pillow affine",
            Kernel::PillowBlur => ", Pillow blur",
        })
    }
}

/// All facts that determine the text of a pass; `tests/shaders/` enumerates them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Variant {
    /// A stage or one of its statistics.
    Sample(SamplingFacts, ColorFacts),
    /// That result by another kernel.
    Kernel(KernelFacts, SamplingFacts, ColorFacts),
    /// The tables of autocontrast and equalize, in a stage with this most of colour steps.
    Tables(PassSource, KernelFacts, u32),
    /// The conversion from f32 to this type.
    Pack(DType),
    /// The mixing of a batch.
    Mix,
    /// The mixing of a batch that becomes bytes: blends are whole numbers of bytes.
    MixBytes,
}

impl Variant {
    /// The name of the pass that mixes batches, which is no part of a plan.
    pub(crate) const MIX: &str = "mix";
}

/// The facts about a kernel other than [`Kernel::Sample`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct KernelFacts {
    /// The kernel that the pass begins with.
    pub kernel: Kernel,
    /// True if the operator that begins the stage computes on 8-bit numbers.
    pub is_uint8: bool,
    /// True if statistics are integers, of 8-bit numbers.
    pub statistics_are_uint8: bool,
    /// The most weights of a blur.
    pub weights: u32,
}

/// The source and target of a sampling pass, and the filters that it needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SamplingFacts {
    /// The type of the source.
    pub source: PassSource,
    /// The place that the pass writes to.
    pub target: PassTarget,
    /// Channels of the output: 1 or 3.
    pub channels: u32,
    /// Rows of outputs of a thread: 4, 8 or 16, by the rule of `rows.rs`.
    pub rows: u32,
    /// Statistics of the stage.
    pub statistics: u32,
    /// Statistics that earlier passes have computed.
    pub known_statistics: u32,
    /// The entries of `wgsl::FILTERS` that an image may need.
    pub filters: [bool; 5],
    /// Width and height of the padded image by which rows and planes of the batch are spaced; `None` where they lie one
    /// after the other.
    pub padded_to: Option<(u32, u32)>,
}

/// The type of a sampling pass's source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PassSource {
    /// RGBA8, in the first stage and after one that computes on 8-bit numbers.
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
    /// RGBA8 for the next stage.
    IntermediateBytes,
    /// The batch, channel by channel.
    Nchw,
    /// The batch, pixel by pixel.
    Nhwc,
    /// The batch, channel by channel, in IEEE's numbers of 16 bits.
    NchwF16,
    /// The batch, pixel by pixel, in IEEE's numbers of 16 bits.
    NhwcF16,
    /// The batch, channel by channel, in bfloat16.
    NchwBf16,
    /// The batch, pixel by pixel, in bfloat16.
    NhwcBf16,
}

impl PassTarget {
    /// The batch in this layout and in this type, one of 16 bits.
    pub(crate) fn of_16_bits(layout: Layout, dtype: DType) -> Self {
        match (layout, dtype) {
            (Layout::Nchw, DType::BF16) => PassTarget::NchwBf16,
            (Layout::Nhwc, DType::BF16) => PassTarget::NhwcBf16,
            (Layout::Nchw, _) => PassTarget::NchwF16,
            (Layout::Nhwc, _) => PassTarget::NhwcF16,
        }
    }

    /// True if the pass stores numbers of 16 bits, for which its text asks.
    pub(crate) fn is_of_16_bits(self) -> bool {
        use PassTarget::{NchwBf16, NchwF16, NhwcBf16, NhwcF16};
        matches!(self, NchwF16 | NhwcF16 | NchwBf16 | NhwcBf16)
    }
}

/// The colour steps that an image may have.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ColorFacts {
    /// The opcodes of the steps, sorted.
    pub opcodes: Vec<u32>,
    /// The opcodes that the step at each position may have; empty if each may have all.
    pub positions: Vec<Vec<u32>>,
    /// The functions of the custom steps.
    pub functions: String,
    /// The most steps of one image.
    pub steps: u32,
}
