//! One operator after the other on an image of which rounding decides some values: next to the reference's value, each
//! value has a lower and an upper bound, between which an exact implementation in other arithmetic lies.
//!
//! Bounds are apart where a warp reads close to a tie or a border, where an 8-bit number is close to the next one, and
//! by the rounding of f32. Each op makes the bounds of its result from those of its input, so what is doubtful grows
//! through later ops as far as these can carry it, and no further.

mod color;
mod statistics;
mod warps;

use super::byte_resize;
use super::erase;
use super::moved;
use super::neighborhood::{adjust_sharpness, gaussian_blur};
use super::picture::{Picture, Semantics};
use super::pointwise::{adjust_brightness, apply, invert, posterize, rgb_to_grayscale};
use super::resample;
use gpufeed::transforms::{Erased, Interpolation, Op, PaddingMode, PolicyOp};

/// An image with the bounds of its values.
#[derive(Clone, Debug)]
pub struct Bounds {
    /// The reference's values.
    pub middle: Picture,
    pub low: Picture,
    pub high: Picture,
}

/// The error of f32 in a few operations on numbers up to 1.
const ROUNDING: f64 = 4e-7;

impl Bounds {
    /// An exact image.
    pub fn new(picture: Picture) -> Bounds {
        Bounds { middle: picture.clone(), low: picture.clone(), high: picture }
    }

    /// Converts bytes to floats, as `ToDtype` does.
    pub fn to_float(&self) -> Bounds {
        self.each(Picture::to_float)
    }

    pub fn is_float(&self) -> bool {
        self.middle.semantics == Semantics::Float
    }

    /// The height and width.
    pub fn size(&self) -> (usize, usize) {
        let (_, height, width) = self.middle.shape();
        (height, width)
    }

    /// Applies a function that never makes a value less because another one is greater.
    fn each(&self, change: impl Fn(&Picture) -> Picture) -> Bounds {
        Bounds { middle: change(&self.middle), low: change(&self.low), high: change(&self.high) }
    }

    /// Moves the bounds of floats apart, by the same number on both sides.
    fn widened(self, by: f64) -> Bounds {
        if !self.is_float() {
            return self;
        }
        Bounds { low: self.low.map(|value| value - by), high: self.high.map(|value| value + by), ..self }
    }

    /// Makes each value and its bounds from those of the same pixel: `value(low, middle, high)`, by channel, row and
    /// column.
    fn build(
        &self,
        shape: (usize, usize, usize),
        middle: Picture,
        bounds: impl Fn(usize, usize, usize) -> [f64; 2],
    ) -> Bounds {
        let low = self.low.build(shape, |c, y, x| bounds(c, y, x)[0]);
        let high = self.high.build(shape, |c, y, x| bounds(c, y, x)[1]);
        Bounds { middle, low, high }
    }

    /// Applies an op.
    ///
    /// # Panics
    /// If the reference does not know it.
    pub fn apply(&self, op: &Op) -> Bounds {
        let (_, rows, columns) = self.middle.shape();
        match *op {
            Op::Crop { top, left, height, width } => {
                let (corner, size) = ((top.into(), left.into()), (height as usize, width as usize));
                assert!(top as usize + size.0 <= rows && left as usize + size.1 <= columns, "a crop inside the image");
                self.each(|picture| moved::crop(picture, corner, size))
            }
            Op::Pad { left, top, right, bottom, mode, fill } => self.pad([left, top, right, bottom], mode, fill),
            Op::Resize { height, width, interpolation, antialias } => {
                self.resize((height as usize, width as usize), interpolation, antialias)
            }
            Op::HorizontalFlip => self.each(moved::horizontal_flip),
            Op::VerticalFlip => self.each(moved::vertical_flip),
            Op::Brightness { factor } => self.brightness(factor.into()),
            Op::Contrast { factor } => self.contrast(self.ratio(factor)),
            Op::Saturation { factor } => self.saturation(self.ratio(factor)),
            Op::Hue { factor } => self.hue(factor.into()),
            Op::Grayscale { channels } => {
                self.each(|picture| rgb_to_grayscale(picture, channels as usize)).widened(ROUNDING)
            }
            Op::Erase { top, left, height, width, value } => self.erase([top, left, height, width], value),
            Op::Invert => self.inverted(),
            Op::Solarize { threshold } => self.solarize(threshold.into()),
            Op::Posterize { bits } => self.each(|picture| posterize(picture, bits)),
            Op::Objects(_) => self.clone(),
            Op::PermuteChannels { .. } => self.each(|picture| apply(picture, op).expect("an op on colours")),
            Op::Normalize { mean, std } => self.normalize(mean, std),
            Op::GaussianBlur { kernel_size, sigma } => self.blur(kernel_size, sigma),
            Op::Sharpness { factor } => self.sharpness(factor),
            Op::Autocontrast => self.autocontrast(),
            Op::Equalize => self.equalize(),
            Op::Policy { id, magnitude, interpolation, fill } => {
                self.policy(id, magnitude.into(), (interpolation, fill))
            }
            ref other if apply(&self.middle, other).is_some() => self.in_floats(other),
            ref other => self.warp(other),
        }
    }

    /// The factor of a blend. That of bytes is the number that prints as the f32.
    fn ratio(&self, factor: f32) -> f64 {
        if self.is_float() { factor.into() } else { factor.to_string().parse().expect("a number") }
    }

    fn policy(&self, id: PolicyOp, m: f64, (interpolation, fill): (Interpolation, Option<[f32; 3]>)) -> Bounds {
        let moved = |translate: [f64; 2], shear: [f64; 2], center: Option<[f64; 2]>| {
            self.warp(&Op::Affine { angle: 0.0, translate, scale: 1.0, shear, center, interpolation, fill })
        };
        let (corner, degrees) = (Some([0.0; 2]), m.atan().to_degrees());
        match id {
            PolicyOp::Identity => self.clone(),
            PolicyOp::ShearX => moved([0.0; 2], [degrees, 0.0], corner),
            PolicyOp::ShearY => moved([0.0; 2], [0.0, degrees], corner),
            PolicyOp::TranslateX => moved([m.trunc(), 0.0], [0.0; 2], None),
            PolicyOp::TranslateY => moved([0.0, m.trunc()], [0.0; 2], None),
            PolicyOp::Rotate => self.warp(&Op::Rotate { angle: m, expand: false, center: None, interpolation, fill }),
            PolicyOp::Brightness => self.brightness(1.0 + m),
            PolicyOp::Color => self.saturation(1.0 + m),
            PolicyOp::Contrast => self.contrast(1.0 + m),
            PolicyOp::Sharpness => self.sharpness(1.0 + m),
            PolicyOp::Posterize => self.each(|picture| posterize(picture, m as u32)),
            PolicyOp::Solarize => self.solarize(self.middle.semantics.bound() * m),
            PolicyOp::AutoContrast => self.autocontrast(),
            PolicyOp::Equalize => self.equalize(),
            PolicyOp::Invert => self.inverted(),
            other => panic!("the reference does not know {other:?}"),
        }
    }

    fn pad(&self, borders: [u32; 4], mode: PaddingMode, fill: [f32; 3]) -> Bounds {
        let borders = borders.map(|border| border as usize);
        self.each(|picture| moved::pad(picture, borders, mode, &fill.map(f64::from)))
    }

    fn resize(&self, size: (usize, usize), interpolation: Interpolation, antialias: bool) -> Bounds {
        let nearest = matches!(interpolation, Interpolation::Nearest | Interpolation::NearestExact);
        let middle = byte_resize::resize(&self.middle, size, interpolation, antialias);
        if !self.is_float() && !nearest {
            let [low, high] = byte_resize::resize_bound([&self.low, &self.high], size, interpolation, antialias);
            return Bounds { middle, low, high };
        }
        // The place of an output pixel is f32, as in torch: the ratio of the sizes, its product with the pixel's number and
        // the difference from the pixel before are rounded, each by a 2^-24th of the axis at the most. torch's own f32
        // resize of 947 rows to 1,018 is 4e-5 from its f64 one, between black and white.
        let exact = |old: usize, new: usize| nearest || old == new;
        let error = |old: usize, new: usize| if exact(old, new) { 0.0 } else { 3.0 * old as f64 * 0.5f64.powi(24) };
        let (rows, columns) = self.size();
        let errors = [error(rows, size.0), error(columns, size.1)];
        let images = [&self.low.image, &self.high.image];
        let [low, high] = resample::resize_bound(images, size, interpolation, antialias, errors);
        let resized = Bounds { middle, low: self.low.with_image(low), high: self.high.with_image(high) };
        if errors == [0.0; 2] { resized } else { resized.widened(2e-6) }
    }

    fn brightness(&self, factor: f64) -> Bounds {
        self.each(|picture| adjust_brightness(picture, factor)).widened(ROUNDING)
    }

    fn inverted(&self) -> Bounds {
        Bounds { middle: invert(&self.middle), low: invert(&self.high), high: invert(&self.low) }.widened(ROUNDING)
    }

    fn erase(&self, rectangle: [u32; 4], value: Erased) -> Bounds {
        let [top, left, height, width] = rectangle.map(|number| number as usize);
        if let Erased::Color(color) = value {
            let color = color.map(f64::from);
            return self.each(|picture| moved::erase(picture, (top, left), (height, width), &color));
        }
        let erased = |picture: &Picture| picture.with_image(erase::erase(&picture.image, rectangle, value));
        let middle = erased(&self.middle);
        // The quantile of a normal number in f32.
        let bounds = [(&self.low, -2e-5), (&self.high, 2e-5)].map(|(picture, by)| {
            let erased = erased(picture);
            let inside = |y: usize, x: usize| (top..top + height).contains(&y) && (left..left + width).contains(&x);
            picture.build(picture.shape(), |c, y, x| erased.at(c, y, x) + if inside(y, x) { by } else { 0.0 })
        });
        let [low, high] = bounds;
        Bounds { middle, low, high }
    }

    fn normalize(&self, mean: [f32; 3], std: [f32; 3]) -> Bounds {
        let (mean, std) = (mean.map(f64::from), std.map(f64::from));
        let [low, middle, high] = [&self.low, &self.middle, &self.high].map(|picture| picture.normalize(&mean, &std));
        let value = |c: usize, y: usize, x: usize| {
            let (a, b) = (low.at(c, y, x), high.at(c, y, x));
            // The difference is rounded before it is divided.
            let by = ROUNDING * (1.0 + middle.at(c, y, x).abs() + 1.0 / std[c].abs());
            [a.min(b) - by, a.max(b) + by]
        };
        self.build(self.middle.shape(), middle.clone(), value)
    }

    fn blur(&self, kernel_size: [u32; 2], sigma: [f64; 2]) -> Bounds {
        let size = kernel_size.map(|size| size as usize);
        if self.is_float() {
            return self.each(|picture| gaussian_blur(picture, size, Some(sigma))).widened(2e-6);
        }
        self.rounded(|picture| gaussian_blur(picture, size, Some(sigma)), 3e-4)
    }

    /// Applies a function to bytes whose result is rounded half to even, with an error before it is.
    fn rounded(&self, change: impl Fn(&Picture) -> Picture, error: f64) -> Bounds {
        let unrounded = |picture: &Picture| change(&Picture { semantics: Semantics::Float, ..picture.clone() });
        let middle = change(&self.middle);
        let [low, high] = [(&self.low, -error), (&self.high, error)].map(|(picture, by)| {
            let exact = unrounded(picture);
            picture.build(exact.shape(), |c, y, x| (exact.at(c, y, x) + by).round_ties_even().clamp(0.0, 255.0))
        });
        Bounds { middle, low, high }
    }

    /// The result falls with the neighbours where it sharpens: their other bound counts.
    fn sharpness(&self, factor: f64) -> Bounds {
        let middle = adjust_sharpness(&self.middle, factor);
        let (channels, height, width) = self.middle.shape();
        if height <= 2 || width <= 2 {
            return self.clone();
        }
        let smooth = |picture: &Picture, c: usize, y: usize, x: usize| {
            let around: f64 = (0..9).map(|i| picture.at(c, y + i / 3 - 1, x + i % 3 - 1)).sum();
            (around + 4.0 * picture.at(c, y, x)) / 13.0
        };
        let bound = self.middle.semantics.bound();
        let value = |c: usize, y: usize, x: usize| {
            let ends = [&self.low, &self.high];
            if y == 0 || x == 0 || y == height - 1 || x == width - 1 {
                return ends.map(|picture| picture.at(c, y, x).clamp(0.0, bound));
            }
            [0, 1].map(|end| {
                let own = ends[end].at(c, y, x);
                let smooth = smooth(ends[if factor <= 1.0 { end } else { 1 - end }], c, y, x);
                if self.is_float() {
                    return (factor * own + (1.0 - factor) * smooth).clamp(0.0, 1.0);
                }
                let blend =
                    f64::from(((1.0 - factor) as f32).mul_add((smooth.round_ties_even() - own) as f32, own as f32));
                blend.clamp(0.0, 255.0).trunc()
            })
        };
        self.build((channels, height, width), middle, value).widened(ROUNDING * (1.0 + factor))
    }
}
