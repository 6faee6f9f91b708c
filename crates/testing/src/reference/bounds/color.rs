//! Bounds of the colour ops that are not monotonous, or that cut to whole numbers.

use super::{Bounds, ROUNDING};
use crate::reference::color;
use crate::reference::picture::to_byte;
use crate::reference::pointwise::{
    adjust_contrast, adjust_hue, adjust_saturation, apply, blended, gray_byte, solarize,
};
use crate::reference::{Picture, Semantics};
use gpufeed::transforms::Op;

/// The error of f32 in a hue or a power of a number up to 1.
const COLOR: f64 = 2e-6;

/// The gray level of a pixel.
fn gray(picture: &Picture, y: usize, x: usize) -> f64 {
    match picture.shape().0 {
        _ if picture.semantics == Semantics::Uint8 => gray_byte(picture, y, x),
        1 => picture.at(0, y, x),
        _ => 0.2989 * picture.at(0, y, x) + 0.587 * picture.at(1, y, x) + 0.114 * picture.at(2, y, x),
    }
}

/// The mean of the gray levels.
fn mean(picture: &Picture) -> f64 {
    let (_, height, width) = picture.shape();
    let sum: f64 = (0..height * width).map(|i| gray(picture, i / width, i % width)).sum();
    sum / (height * width) as f64
}

impl Bounds {
    /// Blends `value` with `other`, cut as the semantics ask.
    fn blend(&self, value: f64, other: f64, ratio: f64) -> f64 {
        if self.is_float() {
            return (value * ratio + other * (1.0 - ratio)).clamp(0.0, 1.0);
        }
        blended(value, other, ratio).clamp(0.0, 255.0).trunc()
    }

    /// The bounds of a blend of a pixel with a number between `others`. It rises with the pixel.
    fn blends(&self, (c, y, x): (usize, usize, usize), others: [f64; 2], ratio: f64) -> [f64; 2] {
        let [low, high] = [&self.low, &self.high].map(|picture| {
            let value = picture.at(c, y, x);
            others.map(|other| self.blend(value, other, ratio))
        });
        [low[0].min(low[1]), high[0].max(high[1])]
    }

    pub(super) fn contrast(&self, ratio: f64) -> Bounds {
        let middle = adjust_contrast(&self.middle, ratio);
        let by = if self.is_float() { 1e-6 } else { 0.0 };
        let means = [mean(&self.low) - by, mean(&self.high) + by];
        let bounds = self.build(self.middle.shape(), middle, |c, y, x| self.blends((c, y, x), means, ratio));
        bounds.widened(ROUNDING * (1.0 + ratio))
    }

    pub(super) fn saturation(&self, ratio: f64) -> Bounds {
        let middle = adjust_saturation(&self.middle, ratio);
        if self.middle.shape().0 == 1 {
            return self.clone();
        }
        let bounds = self.build(self.middle.shape(), middle, |c, y, x| {
            self.blends((c, y, x), [gray(&self.low, y, x), gray(&self.high, y, x)], ratio)
        });
        bounds.widened(ROUNDING * (1.0 + ratio))
    }

    /// A hue is a piecewise linear function of the channels: its slopes add up to at most 5. Where the greatest channel is
    /// no colour, the result jumps.
    pub(super) fn hue(&self, factor: f64) -> Bounds {
        let middle = adjust_hue(&self.middle, factor);
        if self.middle.shape().0 == 1 {
            return self.clone();
        }
        let (is_float, bound) = (self.is_float(), self.middle.semantics.bound());
        let exact = match is_float {
            true => middle.clone(),
            false => self.middle.with_image(color::hue(&self.middle.map(|byte| byte / 255.0).image, factor)),
        };
        let bounds = |c: usize, y: usize, x: usize| {
            let [low, high] = [&self.low, &self.high].map(|picture| [0, 1, 2].map(|c| picture.at(c, y, x) / bound));
            let (least, greatest) =
                (low.into_iter().fold(f64::MAX, f64::min), high.into_iter().fold(f64::MIN, f64::max));
            let width = low.into_iter().zip(high).map(|(low, high)| high - low).fold(0.0, f64::max);
            let by = 5.0 * width + COLOR;
            let value = exact.at(c, y, x);
            let [mut a, mut b] = [value - by, value + by];
            if !(0.0..=1.0).contains(&greatest) {
                [a, b] = [least.min(0.0), greatest.max(1.0)];
            }
            if is_float { [a, b] } else { [a, b].map(|value| to_byte(value.clamp(0.0, 1.0))) }
        };
        self.build(self.middle.shape(), middle.clone(), bounds)
    }

    pub(super) fn solarize(&self, threshold: f64) -> Bounds {
        let (white, step) = (self.middle.semantics.bound(), threshold as f32);
        let bounds = |c: usize, y: usize, x: usize| {
            let (a, b) = (self.low.at(c, y, x), self.high.at(c, y, x));
            match (a as f32 >= step, b as f32 >= step) {
                (_, false) => [a, b],
                (true, _) => [white - b, white - a],
                _ => [a.min(white - b), b.min(threshold).max(white - a.max(threshold))],
            }
        };
        self.build(self.middle.shape(), solarize(&self.middle, threshold), bounds).widened(ROUNDING)
    }

    /// Bounds of an op that computes bytes in floats, too, and whose result does not fall where a value rises.
    pub(super) fn in_floats(&self, op: &Op) -> Bounds {
        let changed = |picture: &Picture| apply(picture, op).expect("an op on colours");
        if self.is_float() {
            return self.each(changed).widened(COLOR);
        }
        let floats = |picture: &Picture| Picture { semantics: Semantics::Float, ..picture.map(|byte| byte / 255.0) };
        let [low, high] = [&self.low, &self.high].map(|picture| changed(&floats(picture)));
        self.build(self.middle.shape(), changed(&self.middle), |c, y, x| {
            let ends = [low.at(c, y, x) - COLOR, high.at(c, y, x) + COLOR];
            ends.map(|value| to_byte(value.clamp(0.0, 1.0)))
        })
    }
}
