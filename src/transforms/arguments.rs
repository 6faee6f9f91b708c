//! Values that the arguments of several operators take (filters, borders, erased values), and checks of arguments.

use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// The filter of a resize: torchvision's `InterpolationMode`.
///
/// ```
/// use gpufeed::transforms::{Interpolation, Resize};
///
/// assert_eq!(Resize::new(256).interpolation, Interpolation::Bilinear);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Interpolation {
    /// Source pixel `floor(i · in/out)`, torch's (and OpenCV's) "nearest".
    Nearest,
    /// Source pixel `floor((i + 0.5) · in/out)` in f32, torch's "nearest-exact". Pillow's nearest is this in f64,
    /// summed up from pixel to pixel. Where the middle of a new pixel is on the border of two old ones, as for every
    /// third pixel of a resize from 64 to 48, Pillow may take the other neighbour.
    NearestExact,
    /// Two taps, or a triangle filter when antialiasing.
    #[default]
    Bilinear,
    /// Four taps with a = -0.75, or Pillow's cubic with a = -0.5 when antialiasing. Not clamped, as in torchvision's
    /// Float semantics.
    Bicubic,
}

/// The pixels outside an image: torchvision's `padding_mode`.
///
/// ```
/// use gpufeed::transforms::{Pad, PaddingMode};
///
/// assert_eq!(Pad::new(4).padding_mode(PaddingMode::Reflect).padding_mode, PaddingMode::Reflect);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum PaddingMode {
    /// The `fill` colour.
    #[default]
    Constant,
    /// The nearest pixel of the edge.
    Edge,
    /// Mirrored about the edge pixel, which is not repeated: `d c b | a b c d | c b a`. Wider pads than the image
    /// reflect again (as Pillow's and NumPy's do; torch's tensor path refuses them).
    Reflect,
    /// Mirrored about the edge, with the edge pixel repeated: `b a | a b c d | d c`.
    Symmetric,
}

/// The values that [`Op::Erase`](super::Op::Erase) writes.
///
/// ```
/// use gpufeed::transforms::Erased;
///
/// let gray = Erased::Color([0.5; 3]);
/// let noise: Erased = serde_json::from_str(r#"{"Noise":{"key":[1,2]}}"#).unwrap();
/// assert_eq!(noise, Erased::Noise { key: [1, 2] });
/// # let _ = gray;
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Erased {
    /// One number for each channel; a one-channel image uses the first.
    Color([f32; 3]),
    /// A standard normal number for every pixel and channel, up to ±5.3.
    ///
    /// The bits are those of Philox4x32-10 (Salmon, Moraes, Dror and Shaw, "Parallel Random Numbers: As Easy as 1, 2,
    /// 3", SC 2011) under this key, with the counter (column, row, 0, 0) relative to the rectangle's corner; the first
    /// three numbers belong to the three channels. The upper 23 bits k of each number stand for the probability (k +
    /// 1/2) / 2^23, whose normal quantile is the value (M. Giles, "Approximating the erfinv function", GPU Computing
    /// Gems 2, 2012).
    Noise {
        /// The generator's key.
        key: [u32; 2],
    },
}

/// Longest side of an image between two transforms: coordinates remain exact in f32 (2^24), with room for half pixels.
pub(crate) const MAX_SIDE: u32 = 1 << 22;

pub(crate) fn check_side(setting: &'static str, side: u32) -> Result<()> {
    if side == 0 || side > MAX_SIDE {
        return Err(Error::argument(setting, format!("{side} pixels; 1 to {MAX_SIDE} work")));
    }
    Ok(())
}

pub(crate) fn check_probability(p: f64) -> Result<()> {
    if (0.0..=1.0).contains(&p) {
        Ok(())
    } else {
        Err(Error::argument("p", format!("{p} is not a probability; 0 to 1 work")))
    }
}

/// Checks that a range is finite and in order, and begins at `least` or above; `least` itself works if `closed`.
pub(crate) fn check_range(name: &'static str, (low, high): (f64, f64), least: f64, closed: bool) -> Result<()> {
    let begins = if closed { low >= least } else { low > least };
    if begins && low <= high && high.is_finite() {
        return Ok(());
    }
    let sign = if closed { "<=" } else { "<" };
    Err(Error::argument(name, format!("({low}, {high}); {least} {sign} least <= greatest works")))
}

pub(crate) fn check_fill(fill: [f32; 3]) -> Result<()> {
    if fill.iter().all(|f| f.is_finite()) {
        Ok(())
    } else {
        Err(Error::argument("fill", format!("{fill:?}; finite numbers work, usually in [0, 1]")))
    }
}
