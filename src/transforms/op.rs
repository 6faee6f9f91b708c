//! `Op`: one concrete operation that a transform emits, with all its numbers. This file also gives the image's size
//! after an op, and the colour step of an op that is exactly one. In `op/`: `effect.rs` says what an op does to a plan,
//! `check.rs` checks its numbers, `color_steps.rs` makes its colour steps, `words.rs` describes it in words.

mod check;
mod color_steps;
mod effect;
mod words;

use super::arguments::{Erased, Interpolation, PaddingMode, PolicyOp};
use super::timm_ops::TimmOp;
use crate::color::{ColorStep, opcode};
use crate::objects::ObjectOp;
use crate::random::key::Key;
use color_steps::one_minus;
pub(crate) use color_steps::{fill_u8, repeated};
use serde::{Deserialize, Serialize};

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
    /// Adds a border of pixels.
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
    /// Turns the hue of each pixel.
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
    /// Moves pixels as Pillow's `Image.transform(size, AFFINE, matrix, interpolation, fillcolor=fill)` does on 8-bit
    /// images, in the same size, to the byte. It works on 8-bit numbers alone.
    PillowAffine {
        /// Pillow's `data`, each entry up to 1e15: pixel (x, y) of the result shows the place (a X + b Y + c, d X + e Y + f) of the image, with
        /// X = x + 1/2, Y = y + 1/2 and `[a, b, c, d, e, f]`.
        matrix: [f64; 6],
        /// `Nearest`, `Bilinear` or `Bicubic` (a = -1). Nothing is smoothed where the image shrinks.
        interpolation: Interpolation,
        /// The colour outside the image, 0 to 255, cut to whole numbers. It is never mixed with the image's edge.
        fill: [f32; 3],
    },
    /// Blurs as Pillow's `ImageFilter.GaussianBlur` does on 8-bit images, to the byte: three means of rows, then three of
    /// columns, whose edge pixels count for a part. It works on 8-bit numbers alone.
    PillowBlur {
        /// Pillow's radius across and down: the standard deviation in pixels, 0 to 1,000,000. Shaders have one axis at a
        /// time: an op with both runs on the CPU, and two ops, across and then down, do the same.
        radius: [f64; 2],
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
        /// Its magnitude; [`PolicyOp`] says in which unit. The f32 counts, as of `torch.linspace`, not the decimal number
        /// that it prints as: 1 plus the f32 -0.99 is a little less than 0.01, and level 100 of 8 bits times it less than 1.
        magnitude: f32,
        /// The interpolation of warps: `Nearest` or `Bilinear`.
        interpolation: Interpolation,
        /// The colour that warps leave outside the image, as in [`Op::Affine`]; other operations have none.
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
    /// An operation of timm's policies: timm's function of that name, whose arithmetic is Pillow's, on 8-bit numbers alone.
    Timm {
        /// The operation.
        id: TimmOp,
        /// The function's number; [`TimmOp`] says in which unit. 0 for operations that take none.
        argument: f64,
        /// The interpolation of warps: `Nearest`, `Bilinear` or `Bicubic`.
        interpolation: Interpolation,
        /// The colour that warps leave outside the image.
        fill: [f32; 3],
    },
    /// Mixes the image with what chains of operations make of it, as [`TimmAugMix`](super::TimmAugMix): Pillow's
    /// `Image.blend(x, Σ weights[i] · chains[i](x), m)`, or one blend after the other if `blended`.
    TimmMixture {
        /// The share of all chains together.
        m: f32,
        /// The share of each chain among them.
        weights: Vec<f32>,
        /// The operations of each chain, which begins with the image: [`Op::Timm`] alone.
        chains: Vec<Vec<Op>>,
        /// True if Pillow blends after each chain.
        blended: bool,
    },
    /// Calls the [`HostCode`](super::HostCode) in the op's slot. What comes after it in the list is drawn from this key
    /// when the code has returned.
    HostCode {
        /// The key of the image's view.
        key: Key,
    },
    /// Changes the objects of the image alone: its boxes and keypoints.
    Objects(ObjectOp),
    /// `(x - mean) / std`.
    Normalize {
        /// Per channel.
        mean: [f32; 3],
        /// Per channel, not 0.
        std: [f32; 3],
    },
}

/// An op that is one colour step, whatever the image.
struct ColorOp {
    opcode: u32,
    /// The first numbers of the step; the others are the same in all steps.
    numbers: [f32; 3],
    /// Says what works, where the op's numbers are finite and still do not.
    wrong: Option<&'static str>,
}

impl Op {
    /// Returns the step of an op that is one colour step, on floats or on 8-bit numbers; `None` for other ops.
    fn color(&self, uint8: bool) -> Option<ColorOp> {
        let number = |factor: f32| if uint8 { [factor, 0.0, 0.0] } else { [factor; 3] };
        let blend = |factor: f32| if uint8 { [factor, one_minus(factor), 0.0] } else { [factor; 3] };
        let mut wrong = None;
        let (opcode, numbers) = match *self {
            Op::Brightness { factor } => (opcode::BRIGHTNESS, number(factor)),
            Op::Contrast { factor } => (opcode::CONTRAST, blend(factor)),
            Op::Saturation { factor } => (opcode::SATURATION, blend(factor)),
            Op::Hue { factor } => (opcode::HUE, number(factor)),
            Op::Grayscale { .. } => (opcode::GRAYSCALE, [0.0; 3]),
            Op::Invert => (opcode::INVERT, [0.0; 3]),
            Op::Solarize { threshold } => (opcode::SOLARIZE, number(threshold)),
            Op::AdjustGamma { gamma, gain } => {
                wrong = (gamma < 0.0).then_some("a gamma >= 0 works");
                // torchvision clamps only if it multiplies.
                (opcode::ADJUST_GAMMA, [gamma, gain, if gain == 1.0 { f32::MAX } else { 1.0 }])
            }
            Op::Posterize { bits } => {
                wrong = (bits > 8).then_some("0 to 8 bits work");
                let levels = (1u32 << bits.min(8)) as f32;
                let size = 256.0 / levels;
                let numbers = if uint8 { [size, 1.0 / size, 0.0] } else { [levels, levels - 1.0, 1.0 / levels] };
                (opcode::POSTERIZE, numbers)
            }
            Op::PermuteChannels { permutation } => {
                wrong =
                    (!(0..3).all(|c| permutation.contains(&c))).then_some("the permutation needs each of 0, 1 and 2");
                (opcode::PERMUTE_CHANNELS, permutation.map(|c| c as f32))
            }
            Op::Crop { .. } | Op::Pad { .. } | Op::Resize { .. } | Op::HorizontalFlip | Op::VerticalFlip => {
                return None;
            }
            Op::Custom { .. } | Op::GaussianNoise { .. } | Op::Erase { .. } | Op::Normalize { .. } => return None,
            Op::Affine { .. } | Op::Rotate { .. } | Op::Perspective { .. } | Op::Elastic { .. } => return None,
            Op::GaussianBlur { .. } | Op::Sharpness { .. } | Op::Jpeg { .. } => return None,
            Op::PillowAffine { .. } | Op::PillowBlur { .. } => return None,
            Op::Timm { .. } | Op::TimmMixture { .. } => return None,
            Op::Autocontrast | Op::Equalize | Op::Policy { .. } | Op::Mixture { .. } => return None,
            Op::HostCode { .. } | Op::Objects(_) => return None,
        };
        let opcode = if uint8 { ColorStep::on_uint8(opcode) } else { opcode };
        Some(ColorOp { opcode, numbers, wrong })
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
}
