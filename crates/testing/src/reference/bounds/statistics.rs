//! Bounds of the operators that need a statistic of each channel.

use super::{Bounds, ROUNDING};
use crate::reference::Picture;
use crate::reference::picture::to_byte;
use crate::reference::statistics::{autocontrast, equalize};

fn values(picture: &Picture, c: usize) -> impl Iterator<Item = f64> + '_ {
    let (_, height, width) = picture.shape();
    (0..height * width).map(move |i| picture.at(c, i / width, i % width))
}

/// The least and the greatest value of a channel.
pub(super) fn ends(picture: &Picture, c: usize) -> (f64, f64) {
    values(picture, c).fold((f64::MAX, f64::MIN), |(low, high), value| (low.min(value), high.max(value)))
}

impl Bounds {
    /// The result falls as the channel's least or greatest value rises.
    pub(super) fn autocontrast(&self) -> Bounds {
        let (is_float, bound) = (self.is_float(), self.middle.semantics.bound());
        let channels = self.middle.shape().0;
        let ranges: Vec<_> = (0..channels).map(|c| (ends(&self.low, c), ends(&self.high, c))).collect();
        let stretched = |value: f64, (low, high): (f64, f64)| match is_float {
            true => (value - low) / (high - low),
            false => f64::from((value - low) as f32 / ((high - low) as f32 * (1.0 / 255.0) as f32)),
        };
        let cut = |value: f64| if is_float { value.clamp(0.0, 1.0) } else { value.clamp(0.0, 255.0).trunc() };
        let bounds = |c: usize, y: usize, x: usize| {
            let ((least_low, greatest_low), (least_high, greatest_high)) = ranges[c];
            let [a, b] = [self.low.at(c, y, x), self.high.at(c, y, x)];
            if least_low == greatest_high {
                // One value.
                return [cut(a), cut(b)];
            }
            // Of nearly equal values the differences are rounding errors.
            if greatest_low - least_high <= if is_float { 1e-3 } else { 0.0 } {
                return [0.0, bound];
            }
            // The quotient of bytes is rounded before it is cut, which does not rise or fall with the range.
            let certain = least_low == least_high && greatest_low == greatest_high;
            let by = match is_float {
                true => ROUNDING / (greatest_low - least_high),
                false if certain => 0.0,
                false => 1e-3,
            };
            let low = stretched(a, (least_high.min(a), greatest_high));
            let high = stretched(b, (least_low, greatest_low.max(b)));
            [cut(low - by), cut(high + by)]
        };
        self.build(self.middle.shape(), autocontrast(&self.middle), bounds)
    }

    /// The new level of a level is certain if no doubtful pixel can change it.
    pub(super) fn equalize(&self) -> Bounds {
        let level = |value: f64| match self.is_float() {
            true => to_byte(value.clamp(0.0, 1.0)) as usize,
            false => value as usize,
        };
        let channels = self.middle.shape().0;
        let tables: Vec<[[f64; 2]; 256]> = (0..channels)
            .map(|c| table(values(&self.low, c).map(level).zip(values(&self.high, c).map(level)).collect()))
            .collect();
        let unit = if self.is_float() { 1.0 / 255.0 } else { 1.0 };
        let bounds = |c: usize, y: usize, x: usize| {
            let [low, high] = [&self.low, &self.high].map(|picture| level(picture.at(c, y, x)));
            [tables[c][low][0] * unit, tables[c][high][1] * unit]
        };
        let middle = match self.is_float() {
            true => equalize(&self.middle.map(|value| value.clamp(0.0, 1.0))),
            false => equalize(&self.middle),
        };
        self.build(self.middle.shape(), middle, bounds).widened(ROUNDING)
    }
}

/// The least and the greatest new level of each level, from the least and the greatest level of each pixel.
fn table(levels: Vec<(usize, usize)>) -> [[f64; 2]; 256] {
    let count = |wanted: &dyn Fn(&(usize, usize)) -> bool| levels.iter().filter(|pixel| wanted(pixel)).count() as u64;
    let pixels = levels.len() as u64;
    // The last level that has a pixel in any case, and in the best one.
    let surely = levels.iter().map(|pixel| pixel.0).max().unwrap_or(0);
    let perhaps = levels.iter().map(|pixel| pixel.1).max().unwrap_or(0);
    let (least, greatest) = match surely == perhaps {
        true => (count(&|pixel| pixel.0 == surely).max(1), count(&|pixel| pixel.1 == surely)),
        false => (1, count(&|pixel| pixel.1 >= surely)),
    };
    let steps = [(pixels - greatest) / 255, (pixels - least) / 255];
    let mut below = ([0u64; 257], [0u64; 257]);
    for &(low, high) in &levels {
        below.0[high + 1] += 1;
        below.1[low + 1] += 1;
    }
    for k in 1..257 {
        below.0[k] += below.0[k - 1];
        below.1[k] += below.1[k - 1];
    }
    std::array::from_fn(|k| {
        let mut ends = [f64::MAX, f64::MIN];
        for step in steps[0]..=steps[1] {
            for sum in [below.0[k], below.1[k]] {
                let new = match step {
                    0 => k as u64,
                    _ if k == 0 => 0,
                    _ => ((sum + step / 2) / step).min(255),
                } as f64;
                ends = [ends[0].min(new), ends[1].max(new)];
            }
        }
        ends
    })
}
