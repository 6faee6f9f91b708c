//! The form of a batch in memory.

use serde::{Deserialize, Serialize};

/// The order of an output's elements.
///
/// ```
/// assert_eq!(gpufeed::Layout::default(), gpufeed::Layout::Nchw);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Layout {
    /// Image, channel, row, column: PyTorch's and Burn's.
    #[default]
    Nchw,
    /// Image, row, column, channel.
    Nhwc,
}

/// The type of an output's elements.
///
/// ```
/// assert_eq!(gpufeed::DType::F16.bytes(), 2);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum DType {
    /// Floats of 32 bits.
    #[default]
    F32,
    /// 16-bit IEEE floats, rounded to nearest, ties to even, as torch's `.half()`: values from 65520 on become
    /// infinite, below 2^-14 (6.1e-5) steps are 2^-24. The same bits as the f32 output converted on the host.
    F16,
    /// 16-bit brain floats: the upper half of an f32, rounded to nearest, ties to even, as torch's `.bfloat16()`:
    /// f32's range with 8 bits of precision, so steps of 2^-8 from 0.5 to 1. The same bits as the f32 output converted
    /// on the host. A NaN stays one, with its sign; torch's have bits that depend on the device and the tensor's
    /// length.
    BF16,
    /// `trunc(clamp(x, 0, 1) · (256 - 0.001))` in f32, torchvision's conversion: 0/255, 1/255, …, 255/255 become 0 to
    /// 255. Cannot follow `Normalize`; the value of a NaN is unspecified. The levels of
    /// [`RandomPosterize`](crate::transforms::RandomPosterize) are not 255ths: after it, every value except black is
    /// one below that of torchvision's `uint8` path.
    U8,
}

impl DType {
    /// Bytes of an element.
    pub fn bytes(self) -> usize {
        match self {
            DType::F32 => 4,
            DType::F16 | DType::BF16 => 2,
            DType::U8 => 1,
        }
    }
}

/// The layout and type of a batch in memory.
///
/// ```
/// use gpufeed::{DType, Layout, Output};
///
/// let half = Output { dtype: DType::F16, ..Output::default() };
/// assert_eq!(half.layout, Layout::Nchw);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Output {
    /// The order of the elements.
    pub layout: Layout,
    /// The type of their numbers.
    pub dtype: DType,
}
