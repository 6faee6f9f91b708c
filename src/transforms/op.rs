//! The concrete operations that transforms emit, with all their numbers. Whatever else must be known of an op stands
//! here too: its effect on a plan, the check of its numbers, its colour steps and its words.

use super::arguments::MAX_SIDE;
use super::arguments::{Erased, Interpolation, PaddingMode, PolicyOp, check_elastic};
use super::{Effect, GatherClass};
use crate::color::{Facts, Step, opcode};
use serde::{Deserialize, Serialize};
use std::fmt;

/// One operation with its numbers: the element of a batch's parameters, and the input of [`Plan`](crate::Plan)'s
/// replay.
///
/// Sizes and offsets are pixels of the image before the operation; colours are floats in \[0, 1\].
///
/// ```
/// use gpufeed::transforms::Op;
///
/// let op: Op = serde_json::from_str(r#"{"Crop":{"top":1,"left":2,"height":3,"width":4}}"#).unwrap();
/// assert_eq!(op, Op::Crop { top: 1, left: 2, height: 3, width: 4 });
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Op {
    /// Crops to a rectangle inside the image.
    Crop {
        /// First row.
        top: u32,
        /// First column.
        left: u32,
        /// Rows.
        height: u32,
        /// Columns.
        width: u32,
    },
    /// Adds a border.
    Pad {
        /// Columns on the left.
        left: u32,
        /// Rows above.
        top: u32,
        /// Columns on the right.
        right: u32,
        /// Rows below.
        bottom: u32,
        /// The pixels of the border.
        mode: PaddingMode,
        /// The colour for [`PaddingMode::Constant`].
        fill: [f32; 3],
    },
    /// Resamples to a size.
    Resize {
        /// New height.
        height: u32,
        /// New width.
        width: u32,
        /// The filter.
        interpolation: Interpolation,
        /// True if the filter grows with the reduction; the nearest modes ignore it.
        antialias: bool,
    },
    /// Mirrors left and right.
    HorizontalFlip,
    /// Mirrors top and bottom.
    VerticalFlip,
    /// `clamp(x · factor)`.
    Brightness {
        /// ≥ 0; 1 changes nothing.
        factor: f32,
    },
    /// `clamp(x · factor + mean(gray) · (1 - factor))`.
    Contrast {
        /// ≥ 0; 1 changes nothing.
        factor: f32,
    },
    /// `clamp(x · factor + gray(x) · (1 - factor))`.
    Saturation {
        /// ≥ 0; 1 changes nothing.
        factor: f32,
    },
    /// Turns the hue.
    Hue {
        /// In \[-0.5, 0.5\] turns.
        factor: f32,
    },
    /// `0.2989 R + 0.587 G + 0.114 B`, in 1 or 3 channels.
    Grayscale {
        /// 1 or 3.
        channels: u32,
    },
    /// `1 - x`.
    Invert,
    /// `1 - x` where `x ≥ threshold`, else `x`.
    Solarize {
        /// Usually in \[0, 1\].
        threshold: f32,
    },
    /// `gain · max(x, 0) ^ gamma`, clamped unless the gain is 1.
    AdjustGamma {
        /// ≥ 0; 1 changes nothing.
        gamma: f32,
        /// 1 changes nothing.
        gain: f32,
    },
    /// `clamp(floor(x · L), 0, L - 1) / L` with L = 2^bits.
    Posterize {
        /// 0 to 8.
        bits: u32,
    },
    /// Output channel `c` is input channel `permutation[c]`, as torchvision's `permute_channels` computes it. One
    /// channel stays unchanged.
    PermuteChannels {
        /// 0, 1 and 2 in any order.
        permutation: [u32; 3],
    },
    /// The function of the [`CustomColor`](super::CustomColor) in the op's slot.
    Custom {
        /// The parameters from its closure; finite.
        parameters: [f32; 4],
    },
    /// Adds a normal number to every value: `x + (mean + sigma · n)`, clamped to \[0, 1\] if `clip`. 8-bit numbers get
    /// `trunc(255 mean + n · 255 sigma)`, and always are clamped.
    ///
    /// The standard normal numbers n are those of [`Erased::Noise`] under this key, in a rectangle that is the image.
    GaussianNoise {
        /// The mean of the noise, as a share of the whole range; -1,000,000 to 1,000,000.
        mean: f64,
        /// Its standard deviation, as a share of the whole range; 0 to 1,000,000.
        sigma: f64,
        /// True if results are clamped.
        clip: bool,
        /// The generator's key.
        key: [u32; 2],
    },
    /// Overwrites a rectangle inside the image.
    Erase {
        /// First row.
        top: u32,
        /// First column.
        left: u32,
        /// Rows.
        height: u32,
        /// Columns.
        width: u32,
        /// The values.
        value: Erased,
    },
    /// Turns, moves, scales and shears about a centre: torchvision's function `affine`.
    Affine {
        /// Degrees, clockwise.
        angle: f64,
        /// Pixels to the right and down.
        translate: [f64; 2],
        /// > 0; 1 changes nothing.
        scale: f64,
        /// Degrees, along x and along y.
        shear: [f64; 2],
        /// Pixels from the left and from above; `None` is the image's middle.
        center: Option<[f64; 2]>,
        /// `Nearest` or `Bilinear`.
        interpolation: Interpolation,
        /// The colour outside the image. `None` differs from zeros: the edge is mixed with them but once.
        fill: Option<[f32; 3]>,
    },
    /// Turns: torchvision's function `rotate`.
    Rotate {
        /// Degrees, counter-clockwise.
        angle: f64,
        /// True if the result is large enough for the whole turned image.
        expand: bool,
        /// Pixels from the left and from above; `None` is the image's middle.
        center: Option<[f64; 2]>,
        /// `Nearest` or `Bilinear`.
        interpolation: Interpolation,
        /// As in [`Op::Affine`].
        fill: Option<[f32; 3]>,
    },
    /// Moves four points of the image: torchvision's function `perspective`. Points are \[column, row\].
    Perspective {
        /// Where the points are.
        startpoints: [[i32; 2]; 4],
        /// Where they go to.
        endpoints: [[i32; 2]; 4],
        /// `Nearest` or `Bilinear`.
        interpolation: Interpolation,
        /// As in [`Op::Affine`].
        fill: Option<[f32; 3]>,
    },
    /// Moves each pixel by a smooth random displacement: torchvision's `ElasticTransform`.
    ///
    /// The displacement along x is a blur of numbers uniform in \[-1, 1), times half of `alpha[0]`, in pixels: pixel (x, y)
    /// shows the image at (x + dx, y + dy). The blur is a Gaussian of `sigma[0]` across and `sigma[1]` down with a square
    /// kernel of int(8 `sigma[0]` + 1) pixels a side, or one more if that is even; numbers are reflected at the image's
    /// edges. That along y has numbers of its own, half of `alpha[1]`, and a kernel by `sigma[1]`. With 0 and 0 nothing is
    /// blurred.
    ///
    /// The numbers are those of Philox4x32-10 ([`Erased::Noise`]) under `key`, with the counter (x / 2 rounded down, y, 0,
    /// 0): the first two of an even column, the last two of an odd one, along x and along y. The upper 24 bits k of each
    /// stand for k / 2^23 - 1.
    Elastic {
        /// Sizes along x and along y; no pixel moves by more than half of them.
        alpha: [f64; 2],
        /// Standard deviations across and down, in pixels: both > 0, or both 0.
        sigma: [f64; 2],
        /// The generator's key.
        key: [u32; 2],
        /// `Nearest` or `Bilinear`.
        interpolation: Interpolation,
        /// As in [`Op::Affine`].
        fill: Option<[f32; 3]>,
    },
    /// Blurs with a Gaussian kernel; the image is reflected at its edges.
    GaussianBlur {
        /// Columns and rows of the kernel, odd.
        kernel_size: [u32; 2],
        /// Standard deviations across and down, in pixels; > 0.
        sigma: [f64; 2],
    },
    /// Blends with the smoothed image: torchvision's function `adjust_sharpness`.
    Sharpness {
        /// >= 0: 0 smooths, 1 changes nothing, 2 sharpens.
        factor: f64,
    },
    /// Encodes and decodes as libjpeg-turbo does, in 4:2:0. It works on 8-bit numbers alone.
    Jpeg {
        /// 1 to 100.
        quality: u32,
    },
    /// Stretches each channel to the whole range.
    Autocontrast,
    /// Equalises the histogram of each channel.
    Equalize,
    /// An operation of an augmentation policy: torchvision's `_apply_image_or_video_transform`.
    Policy {
        /// The operation.
        id: PolicyOp,
        /// Its magnitude; [`PolicyOp`] says in which unit.
        magnitude: f32,
        /// Of warps: `Nearest` or `Bilinear`.
        interpolation: Interpolation,
        /// Of warps, as in [`Op::Affine`].
        fill: Option<[f32; 3]>,
    },
    /// Adds the image and what chains of operations make of it: `m[0] · x + Σ (weights[i] · m[1]) · chains[i](x)`, in
    /// this order, as [`AugMix`](super::AugMix).
    Mixture {
        /// The shares of the image and of all chains together.
        m: [f32; 2],
        /// The share of each chain.
        weights: Vec<f32>,
        /// The operations of each chain, which begins with the image: [`Op::Policy`] alone.
        chains: Vec<Vec<Op>>,
    },
    /// `(x - mean) / std`.
    Normalize {
        /// Per channel.
        mean: [f32; 3],
        /// Per channel, not 0.
        std: [f32; 3],
    },
}

/// The most pixels of an image that an op makes: 16 GiB of four floats.
const MAX_PIXELS: u64 = 1 << 30;

impl Op {
    /// Appends the colour steps of an op on 8-bit numbers: those of torchvision's arithmetic on `uint8`.
    pub(crate) fn color_steps_u8(&self, statistic: u16, channels: u32, steps: &mut Vec<Step>) {
        let gray = u32::from(channels == 1);
        let mut step = |opcode: u32, [a, b]: [f32; 2]| {
            let statistic = if Facts::of(opcode).needs_mean { statistic.into() } else { 0 };
            steps.push(Step { opcode, integers: [statistic, 0, gray], value: [a, b, 0.0, 0.0] });
        };
        let ratios = |ratio: f32| [ratio, one_minus(ratio)];
        let of_policy = |magnitude: f32| {
            let ratio = 1.0 + f64::from(magnitude);
            [ratio as f32, (1.0 - ratio) as f32]
        };
        match *self {
            Op::Saturation { .. } | Op::Hue { .. } | Op::Grayscale { .. } if channels == 1 => {}
            Op::Policy { id: PolicyOp::Color, .. } if channels == 1 => {}
            Op::Policy { id: PolicyOp::Color, magnitude, .. } => step(opcode::SATURATION_U8, of_policy(magnitude)),
            Op::Policy { id: PolicyOp::Contrast, magnitude, .. } => step(opcode::CONTRAST_U8, of_policy(magnitude)),
            Op::Brightness { factor } => step(opcode::BRIGHTNESS_U8, [factor, 0.0]),
            Op::Contrast { factor } => step(opcode::CONTRAST_U8, ratios(factor)),
            Op::Saturation { factor } => step(opcode::SATURATION_U8, ratios(factor)),
            Op::Hue { factor } => step(opcode::HUE_U8, [factor, 0.0]),
            Op::Grayscale { .. } => step(opcode::GRAYSCALE_U8, [0.0; 2]),
            Op::Invert => step(opcode::INVERT_U8, [0.0; 2]),
            Op::Solarize { threshold } => step(opcode::SOLARIZE_U8, [threshold, 0.0]),
            Op::AdjustGamma { gamma, gain } => {
                let most = if gain == 1.0 { f32::MAX } else { 1.0 };
                let value = [gamma, gain, most, 0.0];
                steps.push(Step { opcode: opcode::ADJUST_GAMMA_U8, integers: [0, 0, gray], value });
            }
            Op::Posterize { bits } => {
                let size = (1u32 << (8 - bits)) as f32;
                step(opcode::POSTERIZE_U8, [size, 1.0 / size]);
            }
            Op::GaussianNoise { mean, sigma, key: [first, second], .. } => {
                let value = [(255.0 * mean) as f32, (255.0 * sigma) as f32, 1.0, 0.0];
                steps.push(Step { opcode: opcode::GAUSSIAN_NOISE_U8, integers: [first, second, gray], value });
            }
            Op::Erase { top, left, height, width, value: Erased::Color(color) } => {
                let value = Erased::Color(fill_u8(color));
                Op::Erase { top, left, height, width, value }.color_steps(0, 0, channels, steps);
            }
            _ => self.color_steps(0, 0, channels, steps),
        }
    }

    /// Returns its effect, as far as the planner must know it.
    pub(crate) fn effect(&self) -> Effect {
        match *self {
            Op::Crop { .. } => Effect::Crop,
            Op::Pad { mode, fill, .. } => Effect::Pad { mode, fill },
            Op::Resize { interpolation, antialias, .. } => Effect::Resize { interpolation, antialias },
            Op::HorizontalFlip | Op::VerticalFlip => Effect::Flip,
            Op::Brightness { .. } => Effect::Color(opcode::BRIGHTNESS),
            Op::Contrast { .. } => Effect::Color(opcode::CONTRAST),
            Op::Saturation { .. } => Effect::Color(opcode::SATURATION),
            Op::Hue { .. } => Effect::Color(opcode::HUE),
            Op::Invert => Effect::Color(opcode::INVERT),
            Op::Solarize { .. } => Effect::Color(opcode::SOLARIZE),
            Op::AdjustGamma { .. } => Effect::Color(opcode::ADJUST_GAMMA),
            Op::Posterize { .. } => Effect::Color(opcode::POSTERIZE),
            Op::PermuteChannels { .. } => Effect::Color(opcode::PERMUTE_CHANNELS),
            Op::Custom { .. } => Effect::Custom,
            Op::GaussianNoise { .. } => Effect::Color(opcode::GAUSSIAN_NOISE),
            Op::Erase { value: Erased::Color(_), .. } => Effect::Color(opcode::ERASE),
            Op::Erase { value: Erased::Noise { .. }, .. } => Effect::Color(opcode::NOISE),
            Op::Grayscale { channels } => Effect::Channels(channels),
            Op::Affine { .. } | Op::Rotate { .. } | Op::Perspective { .. } => Effect::Gather(GatherClass::Warp),
            Op::GaussianBlur { kernel_size, .. } => Effect::Gather(GatherClass::Blur(kernel_size)),
            Op::Sharpness { .. } => Effect::Gather(GatherClass::Sharpen),
            Op::Autocontrast | Op::Equalize => Effect::Gather(GatherClass::Tables),
            Op::Elastic { .. } | Op::Jpeg { .. } => Effect::Gather(GatherClass::Native),
            Op::Policy { .. } => Effect::Policy,
            Op::Mixture { .. } => Effect::Mixture,
            Op::Normalize { .. } => Effect::Normalize,
        }
    }

    /// Returns (width, height) after this op.
    pub(crate) fn size_after(&self, (w, h): (u32, u32)) -> (u32, u32) {
        match *self {
            Op::Crop { height, width, .. } | Op::Resize { height, width, .. } => (width, height),
            Op::Pad { left, top, right, bottom, .. } => {
                (w.saturating_add(left).saturating_add(right), h.saturating_add(top).saturating_add(bottom))
            }
            // A quarter turn is exact; so is the size.
            Op::Rotate { angle, expand: true, center: None, .. } if angle.rem_euclid(180.0) == 90.0 => (h, w),
            Op::Rotate { angle, expand: true, center: None, .. } if angle.rem_euclid(180.0) == 0.0 => (w, h),
            Op::Rotate { angle, expand: true, center, .. } => {
                let [x, y] = center.unwrap_or([f64::from(w) * 0.5, f64::from(h) * 0.5]);
                crate::warp::expanded_size(angle, [x - f64::from(w) * 0.5, y - f64::from(h) * 0.5], (w, h))
            }
            _ => (w, h),
        }
    }

    /// Checks the numbers for an image of this (width, height).
    ///
    /// # Errors
    /// The reason, as the end of a sentence about the op.
    pub(crate) fn check(&self, (w, h): (u32, u32)) -> Result<(), String> {
        let inside =
            |offset: u32, len: u32, side: u32| len > 0 && offset.checked_add(len).is_some_and(|end| end <= side);
        let side = |side: u64| side > 0 && side <= u64::from(MAX_SIDE);
        let fits = |w: u64, h: u64| side(w) && side(h) && w * h <= MAX_PIXELS;
        let sum = |a: u32, b: u32, c: u32| u64::from(a) + u64::from(b) + u64::from(c);
        match *self {
            Op::Crop { top, left, height, width } | Op::Erase { top, left, height, width, .. }
                if !inside(left, width, w) || !inside(top, height, h) =>
            {
                Err(format!("reaches outside an image of {w}x{h}"))
            }
            Op::Resize { height, width, .. } if !side(width.into()) || !side(height.into()) => impossible_size(),
            Op::Pad { left, top, right, bottom, .. } if !side(sum(w, left, right)) || !side(sum(h, top, bottom)) => {
                impossible_size()
            }
            Op::Brightness { factor } | Op::Contrast { factor } | Op::Saturation { factor } | Op::Hue { factor } => {
                finite(&[factor])
            }
            Op::Solarize { threshold } => finite(&[threshold]),
            Op::AdjustGamma { gamma, .. } if gamma < 0.0 => Err("a gamma >= 0 works".to_owned()),
            Op::AdjustGamma { gamma, gain } => finite(&[gamma, gain]),
            Op::Posterize { bits: 9.. } => Err("0 to 8 bits work".to_owned()),
            Op::PermuteChannels { permutation } if !(0..3).all(|c| permutation.contains(&c)) => {
                Err("the permutation needs each of 0, 1 and 2".to_owned())
            }
            Op::Custom { parameters } => finite(&parameters),
            Op::GaussianNoise { mean, .. } if !(-1e6..=1e6).contains(&mean) => {
                Err(format!("a mean of {mean}; -1,000,000 to 1,000,000 work"))
            }
            Op::GaussianNoise { sigma, .. } if !(0.0..=1e6).contains(&sigma) => {
                Err(format!("a sigma of {sigma}; 0 to 1,000,000 work"))
            }
            Op::Affine { angle, translate, scale, shear, center, interpolation, fill } => {
                let [x, y] = center.unwrap_or_default();
                let numbers = [angle, translate[0], translate[1], shear[0], shear[1], x, y];
                if !(scale > 0.0 && scale.is_finite()) {
                    return Err(format!("a scale of {scale}; more than 0 works"));
                }
                finite_f64(&numbers).and(warps(interpolation, fill))
            }
            Op::Rotate { angle, center, interpolation, fill, .. } => {
                let [x, y] = center.unwrap_or_default();
                finite_f64(&[angle, x, y]).and(warps(interpolation, fill))?;
                let (w, h) = self.size_after((w, h));
                if fits(w.into(), h.into()) { Ok(()) } else { impossible_size() }
            }
            Op::Perspective { interpolation, fill, .. } => warps(interpolation, fill),
            Op::GaussianBlur { kernel_size, sigma } => {
                if kernel_size.iter().any(|size| size % 2 == 0 || *size > MAX_SIDE) {
                    return Err(format!("a kernel of {kernel_size:?}; odd sizes work"));
                }
                if sigma.iter().all(|sigma| *sigma > 0.0 && sigma.is_finite()) {
                    Ok(())
                } else {
                    Err(format!("a sigma of {sigma:?}; more than 0 works"))
                }
            }
            // Factors are 1 + magnitude.
            Op::Policy { magnitude, .. } if !(-1e6..=1e6).contains(&magnitude) => {
                Err(format!("a magnitude of {magnitude}; -1,000,000 to 1,000,000 work"))
            }
            Op::Policy { id: PolicyOp::Posterize, magnitude, .. } if !(0.0..9.0).contains(&magnitude) => {
                Err("0 to 8 bits work".to_owned())
            }
            Op::Policy { interpolation, fill, .. } => warps(interpolation, fill),
            Op::Mixture { m, ref weights, ref chains } => check_mixture(m, weights, chains),
            Op::Sharpness { factor } if factor >= 0.0 && factor.is_finite() => Ok(()),
            Op::Sharpness { factor } => Err(format!("a factor of {factor}; 0 or more works")),
            Op::Elastic { alpha, sigma, interpolation, fill, .. } => check_elastic(alpha, sigma)
                .map_err(|(key, reason)| format!("{key}: {reason}"))
                .and(warps(interpolation, fill)),
            Op::Jpeg { quality } if !(1..=100).contains(&quality) => {
                Err(format!("a quality of {quality}; 1 to 100 work"))
            }
            Op::Normalize { mean, std } => finite(&mean).and(finite(&std)),
            Op::Erase { value: Erased::Color(color), .. } => finite(&color),
            _ => Ok(()),
        }
    }

    /// Appends the colour steps of an op that moves no pixels. `statistic` is the number of the mean that contrast
    /// uses; `channels` is the image's number before the op.
    pub(crate) fn color_steps(&self, slot: u16, statistic: u16, channels: u32, steps: &mut Vec<Step>) {
        let gray = u32::from(channels == 1);
        let mut step = |opcode: u32, [a, b, c]: [f32; 3]| {
            let statistic = if Facts::of(opcode).needs_mean { statistic.into() } else { 0 };
            steps.push(Step { opcode, integers: [statistic, 0, gray], value: [a, b, c, 0.0] });
        };
        match *self {
            Op::Crop { .. } | Op::Pad { .. } | Op::Resize { .. } | Op::HorizontalFlip | Op::VerticalFlip => {}
            Op::Affine { .. }
            | Op::Rotate { .. }
            | Op::Perspective { .. }
            | Op::GaussianBlur { .. }
            | Op::Sharpness { .. }
            | Op::Elastic { .. }
            | Op::Jpeg { .. }
            | Op::Autocontrast
            | Op::Equalize
            | Op::Policy { .. }
            | Op::Mixture { .. } => {}
            // A single channel has neither saturation nor hue, is gray already, and has only one order of channels.
            Op::Saturation { .. } | Op::Hue { .. } | Op::Grayscale { .. } | Op::PermuteChannels { .. }
                if channels == 1 => {}
            Op::Brightness { factor } => step(opcode::BRIGHTNESS, [factor; 3]),
            Op::Contrast { factor } => step(opcode::CONTRAST, [factor; 3]),
            Op::Saturation { factor } => step(opcode::SATURATION, [factor; 3]),
            Op::Hue { factor } => step(opcode::HUE, [factor; 3]),
            Op::Grayscale { .. } => step(opcode::GRAYSCALE, [0.0; 3]),
            Op::Invert => step(opcode::INVERT, [0.0; 3]),
            Op::Solarize { threshold } => step(opcode::SOLARIZE, [threshold; 3]),
            Op::AdjustGamma { gamma, gain } => {
                // torchvision clamps only if it multiplies.
                let most = if gain == 1.0 { f32::MAX } else { 1.0 };
                step(opcode::ADJUST_GAMMA, [gamma, gain, most]);
            }
            Op::Posterize { bits } => {
                let levels = (1u32 << bits) as f32;
                step(opcode::POSTERIZE, [levels, levels - 1.0, 1.0 / levels]);
            }
            Op::PermuteChannels { permutation } => step(opcode::PERMUTE_CHANNELS, permutation.map(|c| c as f32)),
            Op::Custom { parameters: value } => {
                let opcode = opcode::CUSTOM + u32::from(slot);
                steps.push(Step { opcode, integers: [0, 0, gray], value });
            }
            Op::GaussianNoise { mean, sigma, clip, key: [first, second] } => {
                let value = [mean as f32, sigma as f32, f32::from(clip), 0.0];
                steps.push(Step { opcode: opcode::GAUSSIAN_NOISE, integers: [first, second, gray], value });
            }
            Op::Erase { top, left, height, width, value } => {
                let (opcode, integers) = match value {
                    Erased::Color(color) => (opcode::ERASE, repeated(color, channels).map(f32::to_bits)),
                    Erased::Noise { key: [first, second] } => (opcode::NOISE, [first, second, gray]),
                };
                // Sides are at most MAX_SIDE: exact in f32.
                let value = [left, top, left + width, top + height].map(|edge| edge as f32);
                steps.push(Step { opcode, integers, value });
            }
            Op::Normalize { mean, std } => {
                step(opcode::SUBTRACT, repeated(mean, channels));
                step(opcode::DIVIDE, repeated(std, channels));
            }
        }
    }
}

/// A few words, as `gpufeed preview` prints them below a picture: `crop 3x4 at 2,1`. A user's own step is `custom`.
impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Op::Crop { top, left, height, width } => write!(f, "crop {width}x{height} at {left},{top}"),
            Op::Pad { left, top, right, bottom, .. } if [top, right, bottom] == [left; 3] => write!(f, "pad {left}"),
            Op::Pad { left, top, right, bottom, .. } => {
                write!(f, "pad left {left}, top {top}, right {right}, bottom {bottom}")
            }
            Op::Resize { height, width, .. } => write!(f, "resize {width}x{height}"),
            Op::HorizontalFlip => f.write_str("flip left-right"),
            Op::VerticalFlip => f.write_str("flip top-bottom"),
            Op::Brightness { factor } => write!(f, "brightness {factor:.2}"),
            Op::Contrast { factor } => write!(f, "contrast {factor:.2}"),
            Op::Saturation { factor } => write!(f, "saturation {factor:.2}"),
            Op::Hue { factor } => write!(f, "hue {factor:+.3}"),
            Op::Grayscale { .. } => f.write_str("gray"),
            Op::Invert => f.write_str("invert"),
            Op::Solarize { threshold } => write!(f, "solarize {threshold:.2}"),
            Op::AdjustGamma { gamma, gain: 1.0 } => write!(f, "gamma {gamma:.2}"),
            Op::AdjustGamma { gamma, gain } => write!(f, "gamma {gamma:.2}, gain {gain:.2}"),
            Op::Posterize { bits } => write!(f, "posterize {bits} bits"),
            Op::PermuteChannels { permutation } => {
                let names = permutation.map(|channel| ["R", "G", "B"].get(channel as usize).copied().unwrap_or("?"));
                write!(f, "channels {}", names.concat())
            }
            Op::Custom { parameters } => write!(f, "custom {parameters:?}"),
            Op::GaussianNoise { mean: 0.0, sigma, .. } => write!(f, "noise {sigma:.2}"),
            Op::GaussianNoise { mean, sigma, .. } => write!(f, "noise {sigma:.2}, mean {mean:.2}"),
            Op::Erase { top, left, height, width, value } => {
                let noise = if matches!(value, Erased::Noise { .. }) { " (noise)" } else { "" };
                write!(f, "erase {width}x{height} at {left},{top}{noise}")
            }
            Op::Affine { angle, translate: [x, y], scale, shear: [a, b], .. } => {
                write!(f, "affine {angle:.1} deg")?;
                if [x, y] != [0.0; 2] {
                    write!(f, ", by {x},{y}")?;
                }
                if scale != 1.0 {
                    write!(f, ", scale {scale:.2}")?;
                }
                if [a, b] != [0.0; 2] {
                    write!(f, ", shear {a:.1},{b:.1} deg")?;
                }
                Ok(())
            }
            Op::Rotate { angle, .. } => write!(f, "rotate {angle:.1} deg"),
            // How far each corner goes, in pixels.
            Op::Perspective { startpoints, endpoints, .. } => {
                f.write_str("perspective")?;
                let mut moved = startpoints.iter().zip(&endpoints);
                moved.try_for_each(|([x, y], [to_x, to_y])| {
                    write!(f, " {},{}", i64::from(*to_x) - i64::from(*x), i64::from(*to_y) - i64::from(*y))
                })
            }
            Op::GaussianBlur { kernel_size: [x, y], sigma: [sigma, _] } => write!(f, "blur {x}x{y}, sigma {sigma:.2}"),
            Op::Sharpness { factor } => write!(f, "sharpness {factor:.2}"),
            Op::Elastic { alpha: [x, y], sigma: [sigma, _], .. } => {
                write!(f, "elastic {x:.1},{y:.1}, smooth {sigma:.1}")
            }
            Op::Jpeg { quality } => write!(f, "JPEG {quality}"),
            Op::Autocontrast => f.write_str("autocontrast"),
            Op::Equalize => f.write_str("equalize"),
            // A sum with 0 is never -0.
            Op::Policy { id, magnitude, .. } => match (id, magnitude + 0.0) {
                (PolicyOp::Identity | PolicyOp::AutoContrast | PolicyOp::Equalize | PolicyOp::Invert, _) => {
                    write!(f, "{id:?}")
                }
                (PolicyOp::TranslateX | PolicyOp::TranslateY, m) => write!(f, "{id:?} {} pixels", m.trunc() + 0.0),
                (PolicyOp::Rotate, m) => write!(f, "{id:?} {m:.1} deg"),
                (PolicyOp::Posterize, m) => write!(f, "{id:?} {} bits", m.trunc()),
                (PolicyOp::Solarize, m) => write!(f, "{id:?} {m:.2}"),
                (_, m) => write!(f, "{id:?} {m:+.2}"),
            },
            Op::Mixture { m: [own, mixed], ref weights, ref chains } => {
                write!(f, "mix {own:.2}")?;
                weights.iter().zip(chains).try_for_each(|(weight, chain)| {
                    let words: Vec<String> = chain.iter().map(Op::to_string).collect();
                    write!(f, " + {:.2} {}", weight * mixed, words.join(", "))
                })
            }
            Op::Normalize { .. } => f.write_str("normalize"),
        }
    }
}

/// The numbers of an image's channels in three registers: a single channel is repeated in all of them, so its number
/// is repeated as well.
pub(crate) fn repeated(numbers: [f32; 3], channels: u32) -> [f32; 3] {
    if channels == 1 { [numbers[0]; 3] } else { numbers }
}

/// `1 - ratio` as torch computes it: in f64, then rounded to f32. The ratio is the number that prints as this one
/// (1.3, not 1.2999999523), so the pixels are those of torchvision's function called with the printed number.
fn one_minus(ratio: f32) -> f32 {
    let printed: f64 = ratio.to_string().parse().unwrap_or(f64::from(ratio));
    (1.0 - printed) as f32
}

/// The colour of 8-bit numbers, truncated as a cast to `uint8` does, as floats.
pub(crate) fn fill_u8(fill: [f32; 3]) -> [f32; 3] {
    fill.map(|number| number.trunc().clamp(0.0, 255.0) * (1.0 / 255.0))
}

fn finite(numbers: &[f32]) -> Result<(), String> {
    if numbers.iter().all(|n| n.is_finite()) { Ok(()) } else { Err("not finite".to_owned()) }
}

fn finite_f64(numbers: &[f64]) -> Result<(), String> {
    if numbers.iter().all(|n| n.is_finite()) { Ok(()) } else { Err("not finite".to_owned()) }
}

/// Checks the arguments of a warp.
fn warps(interpolation: Interpolation, fill: Option<[f32; 3]>) -> Result<(), String> {
    if !matches!(interpolation, Interpolation::Nearest | Interpolation::Bilinear) {
        return Err(format!("{interpolation:?}; Nearest and Bilinear work"));
    }
    finite(&fill.unwrap_or_default())
}

/// Checks the numbers of a mixture; operations of a policy change no sizes.
fn check_mixture(m: [f32; 2], weights: &[f32], chains: &[Vec<Op>]) -> Result<(), String> {
    if weights.len() != chains.len() {
        return Err(format!("{} weights for {} chains; one each works", weights.len(), chains.len()));
    }
    finite(&m).and(finite(weights))?;
    chains.iter().flatten().try_for_each(|op| match op {
        Op::Policy { .. } => op.check((1, 1)),
        _ => Err("operations of policies work".to_owned()),
    })
}

fn impossible_size() -> Result<(), String> {
    Err("an impossible size".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(id: PolicyOp, magnitude: f32) -> Op {
        Op::Policy { id, magnitude, interpolation: Interpolation::Nearest, fill: None }
    }

    #[test]
    fn each_op_is_a_short_line_in_basic_letters() {
        let (interpolation, fill) = (Interpolation::Bilinear, None);
        let turned = Op::Rotate { angle: -7.25, expand: false, center: None, interpolation, fill };
        let affine = |translate, scale, shear| Op::Affine {
            angle: 3.0,
            translate,
            scale,
            shear,
            center: None,
            interpolation,
            fill,
        };
        let startpoints = [[0, 0], [9, 0], [9, 9], [0, 9]];
        let endpoints = [[1, 2], [8, 0], [9, 7], [0, 9]];
        let chains = vec![vec![policy(PolicyOp::Equalize, 0.0), policy(PolicyOp::Color, -0.1)], vec![turned.clone()]];
        for (op, text) in [
            (policy(PolicyOp::TranslateX, -12.6), "TranslateX -12 pixels"),
            (policy(PolicyOp::TranslateY, -0.9), "TranslateY 0 pixels"),
            (policy(PolicyOp::ShearY, 0.09), "ShearY +0.09"),
            (policy(PolicyOp::ShearX, -0.0), "ShearX +0.00"),
            (policy(PolicyOp::Rotate, -9.0), "Rotate -9.0 deg"),
            (policy(PolicyOp::Posterize, 7.0), "Posterize 7 bits"),
            (policy(PolicyOp::Solarize, 0.7), "Solarize 0.70"),
            (policy(PolicyOp::AutoContrast, 0.0), "AutoContrast"),
            (turned, "rotate -7.2 deg"),
            (affine([0.0; 2], 1.0, [0.0; 2]), "affine 3.0 deg"),
            (affine([4.0, -1.0], 1.5, [2.0, 0.0]), "affine 3.0 deg, by 4,-1, scale 1.50, shear 2.0,0.0 deg"),
            (Op::Perspective { startpoints, endpoints, interpolation, fill }, "perspective 1,2 -1,0 0,-2 0,0"),
            (Op::GaussianBlur { kernel_size: [23, 23], sigma: [1.234; 2] }, "blur 23x23, sigma 1.23"),
            (
                Op::Mixture { m: [0.6, 0.4], weights: vec![0.75, 0.25], chains },
                "mix 0.60 + 0.30 Equalize, Color -0.10 + 0.10 rotate -7.2 deg",
            ),
        ] {
            assert_eq!(op.to_string(), text);
            assert!(text.is_ascii(), "the sheet's font has basic Latin alone");
        }
    }

    #[test]
    fn a_mixture_of_other_ops_or_numbers_is_refused() {
        let chain = || vec![policy(PolicyOp::Rotate, 3.0)];
        let mixture = |m, weights: &[f32], chains| Op::Mixture { m, weights: weights.to_vec(), chains };
        assert_eq!(mixture([0.5; 2], &[1.0], vec![chain()]).check((3, 4)), Ok(()));
        for wrong in [
            mixture([0.5; 2], &[1.0], vec![]),
            mixture([0.5; 2], &[0.5, 0.5], vec![chain()]),
            mixture([f32::NAN, 0.5], &[1.0], vec![chain()]),
            mixture([0.5; 2], &[f32::INFINITY], vec![chain()]),
            mixture([0.5; 2], &[1.0], vec![vec![Op::HorizontalFlip]]),
            mixture([0.5; 2], &[1.0], vec![vec![policy(PolicyOp::Posterize, 9.0)]]),
            mixture([0.5; 2], &[1.0], vec![vec![mixture([0.5; 2], &[], vec![])]]),
        ] {
            assert!(wrong.check((3, 4)).is_err(), "{wrong:?}");
        }
    }
}
