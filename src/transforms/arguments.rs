//! Values that the arguments of several operators take (filters, borders, erased values), and checks of arguments.

use crate::advice::{self, Reason};
use crate::error::{Error, Result};
use crate::random::Numbers;
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
    /// Float semantics. Of a warp: Pillow's, with a = -1 and on 8-bit numbers ([`Op::PillowAffine`](super::Op::PillowAffine)).
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
    /// The border has the `fill` colour.
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
    /// One number for each channel; a one-channel image uses the first, and `RandomErasing` gives it three equal ones.
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

/// The colour outside a warped image: torchvision's `fill`.
///
/// ```
/// use gpufeed::transforms::{Fill, RandomRotation};
///
/// assert_eq!(RandomRotation::new(30.0).fill, Fill::from(0.0));
/// let gray = RandomRotation::new(30.0).fill([0.5; 3]);
/// let faded = RandomRotation::new(30.0).fill(Fill::None);
/// # let _ = (gray, faded);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "FillRepr", into = "FillRepr")]
pub enum Fill {
    /// torchvision's `None`: zeros surround the image, and interpolation mixes its edge with them once.
    None,
    /// A colour, in \[0, 1\], or in 0 to 255 on 8-bit numbers. Interpolation weights the edge twice, as torchvision does,
    /// so 0 differs from `None`. On one channel three different
    /// numbers are an error, when a plan is made.
    Color([f32; 3]),
}

/// As data: a number, three of them, or `"None"`; written in the shortest form.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum FillRepr {
    Number(f32),
    Color([f32; 3]),
    Name(FillName),
}

#[derive(Serialize, Deserialize)]
enum FillName {
    None,
}

impl From<FillRepr> for Fill {
    fn from(repr: FillRepr) -> Self {
        match repr {
            FillRepr::Number(number) => number.into(),
            FillRepr::Color(color) => color.into(),
            FillRepr::Name(FillName::None) => Fill::None,
        }
    }
}

impl From<Fill> for FillRepr {
    fn from(fill: Fill) -> Self {
        match fill {
            Fill::None => FillRepr::Name(FillName::None),
            Fill::Color([r, g, b]) if r == g && g == b => FillRepr::Number(r),
            Fill::Color(color) => FillRepr::Color(color),
        }
    }
}

impl Default for Fill {
    /// torchvision's default of its transforms: 0.
    fn default() -> Self {
        Fill::Color([0.0; 3])
    }
}

impl From<f32> for Fill {
    fn from(number: f32) -> Self {
        Fill::Color([number; 3])
    }
}

impl From<[f32; 3]> for Fill {
    fn from(color: [f32; 3]) -> Self {
        Fill::Color(color)
    }
}

impl Fill {
    /// The colour, if there is one.
    pub(crate) fn color(self) -> Option<[f32; 3]> {
        match self {
            Fill::None => None,
            Fill::Color(color) => Some(color),
        }
    }
}

/// A range of degrees: `30.0.into()` is -30 to 30, `(10.0, 20.0).into()` is 10 to 20.
///
/// ```
/// use gpufeed::transforms::Degrees;
///
/// assert_eq!(Degrees::from(30.0), Degrees::from((-30.0, 30.0)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "DegreesRepr", into = "DegreesRepr")]
pub struct Degrees {
    /// The least angle, in degrees.
    pub least: f64,
    /// The greatest angle, in degrees.
    pub greatest: f64,
}

/// As data: a number, or `[least, greatest]`; written in the shortest form.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum DegreesRepr {
    Within(f64),
    Range([f64; 2]),
}

impl From<DegreesRepr> for Degrees {
    fn from(repr: DegreesRepr) -> Self {
        match repr {
            DegreesRepr::Within(most) => most.into(),
            DegreesRepr::Range([least, greatest]) => (least, greatest).into(),
        }
    }
}

impl From<Degrees> for DegreesRepr {
    fn from(degrees: Degrees) -> Self {
        let Degrees { least, greatest } = degrees;
        if least == -greatest { DegreesRepr::Within(greatest) } else { DegreesRepr::Range([least, greatest]) }
    }
}

impl From<f64> for Degrees {
    fn from(most: f64) -> Self {
        Degrees { least: -most, greatest: most }
    }
}

impl From<(f64, f64)> for Degrees {
    fn from((least, greatest): (f64, f64)) -> Self {
        Degrees { least, greatest }
    }
}

impl Degrees {
    pub(crate) fn validate(self, setting: &'static str) -> Result<()> {
        let Degrees { least, greatest } = self;
        if least <= greatest && least.is_finite() && greatest.is_finite() {
            return Ok(());
        }
        let works = "a number >= 0 or [least, greatest] with least <= greatest works";
        Err(Error::argument(setting, format!("({least}, {greatest}); {works}")))
    }

    pub(crate) fn draw(self, numbers: &mut Numbers) -> f64 {
        numbers.uniform(self.least, self.greatest)
    }
}

pub(crate) fn check_warp(interpolation: Interpolation, fill: Fill) -> Result<()> {
    if !matches!(interpolation, Interpolation::Nearest | Interpolation::Bilinear) {
        let reason = format!("{interpolation:?}; Nearest and Bilinear work for a warp");
        return Err(Error::argument("interpolation", reason));
    }
    check_fill(fill.color().unwrap_or_default())
}

/// Checks a warp that may be Pillow's: with `Bicubic`.
pub(crate) fn check_warp_or_pillow(interpolation: Interpolation, fill: Fill) -> Result<()> {
    if interpolation == Interpolation::NearestExact {
        let reason = format!("{interpolation:?}; Nearest, Bilinear and Bicubic work for this warp");
        return Err(Error::argument("interpolation", reason));
    }
    check_fill(fill.color().unwrap_or_default())
}

/// Checks that a bicubic warp gets 8-bit numbers.
pub(crate) fn check_bicubic(interpolation: Interpolation, uint8: bool) -> Result<()> {
    if uint8 || interpolation != Interpolation::Bicubic {
        return Ok(());
    }
    let reason =
        "Bicubic warps are Pillow's and need 8-bit numbers, but get floats; put them before ToDtype and Normalize";
    Err(Error::argument("interpolation", Reason::new(reason).advise(advice::UINT8)))
}

/// Checks the numbers of `ElasticTransform` and of its op; errors are a key and a reason.
pub(crate) fn check_elastic(alpha: [f64; 2], sigma: [f64; 2]) -> Result<(), (&'static str, String)> {
    if alpha.iter().any(|alpha| !(-1e6..=1e6).contains(alpha)) {
        return Err(("alpha", format!("{alpha:?}; -1,000,000 to 1,000,000 work")));
    }
    // More would be wider than any image. torchvision refuses to blur with one of them alone.
    let positive = sigma.iter().all(|sigma| *sigma > 0.0 && *sigma <= 1e5);
    if positive || sigma == [0.0; 2] {
        return Ok(());
    }
    Err(("sigma", format!("{sigma:?}; more than 0 to 100,000 work, or 0 for both axes")))
}

/// An operation of a policy.
///
/// ```
/// use gpufeed::transforms::PolicyOp;
///
/// assert_eq!(serde_json::to_string(&PolicyOp::AutoContrast).unwrap(), "\"AutoContrast\"");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum PolicyOp {
    /// Leaves the image as it is.
    Identity,
    /// Shears along x, about the upper left corner: the magnitude is the tangent of the angle.
    ShearX,
    /// Shears along y, by the same rule.
    ShearY,
    /// Moves to the right by the magnitude in pixels, truncated.
    TranslateX,
    /// Moves down by the magnitude in pixels, truncated.
    TranslateY,
    /// Turns counter-clockwise by the magnitude in degrees.
    Rotate,
    /// Changes the brightness by the factor 1 + magnitude.
    Brightness,
    /// Changes the saturation by the factor 1 + magnitude.
    Color,
    /// Changes the contrast by the factor 1 + magnitude.
    Contrast,
    /// Changes the sharpness by the factor 1 + magnitude.
    Sharpness,
    /// Keeps as many bits as the magnitude says.
    Posterize,
    /// Inverts numbers from the magnitude on, as a share of the greatest number.
    Solarize,
    /// Stretches each channel to the whole range.
    AutoContrast,
    /// Equalises the histogram of each channel.
    Equalize,
    /// Inverts the numbers of each channel.
    Invert,
}

/// Longest side of an image between two transforms: coordinates remain exact in f32 (2^24), with room for half pixels.
pub(crate) const MAX_SIDE: u32 = 1 << 22;

/// The greatest radius of a blur of Pillow; more is wider than any image that a device holds.
pub(crate) const MAX_RADIUS: f64 = 1e6;

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
