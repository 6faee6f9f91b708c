//! The weights of a resize on 8-bit numbers: torch's CPU kernels for `uint8` (ATen's
//! `UpSampleKernelAVXAntialias.h` and `_compute_index_ranges_int16_weights` in `UpSampleKernel.cpp`).
//!
//! Weights are computed in f64 and rounded to 16 bits; sums are integers. The columns are resized first and rounded to
//! 8 bits, then the rows.

use super::sampling::Filter;
use crate::allocate::{AUGMENTING, product, reserve_like};
use crate::error::Result;

/// The weights of every output of one axis.
#[derive(Clone, Debug, Default)]
pub(crate) struct WeightsU8 {
    /// The first source pixel of each output.
    pub(crate) first: Vec<u32>,
    /// The source pixel after the last of each output.
    pub(crate) end: Vec<u32>,
    /// Weights of an output; those after its last source pixel are 0.
    pub(crate) taps: usize,
    /// The weights of the first output, of the second, and so on.
    pub(crate) weights: Vec<i16>,
    /// Fractional bits of the weights.
    pub(crate) bits: u32,
    exact: Vec<f64>,
}

/// Half the width of a filter at scale 1, in pixels.
fn half_width(filter: Filter) -> f64 {
    if matches!(filter, Filter::Cubic | Filter::CubicAntialias) { 2.0 } else { 1.0 }
}

fn is_antialiased(filter: Filter) -> bool {
    matches!(filter, Filter::LinearAntialias | Filter::CubicAntialias)
}

/// The filter at a distance of `x` pixels.
fn filter_at(filter: Filter, x: f64) -> f64 {
    let x = x.abs();
    let a = match filter {
        Filter::Cubic => -0.75,
        Filter::CubicAntialias => -0.5,
        _ => return (1.0 - x).max(0.0),
    };
    if x < 1.0 {
        ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0
    } else if x < 2.0 {
        ((x - 5.0) * x + 8.0) * x * a - 4.0 * a
    } else {
        0.0
    }
}

/// The centre of output `i` in a source of `len` pixels, and the number of source pixels for an output.
fn centre(len: u32, outputs: u32, filter: Filter, i: u32) -> (f64, f64) {
    let scale = f64::from(len) / f64::from(outputs);
    let centre = scale * (f64::from(i) + 0.5);
    match filter {
        _ if is_antialiased(filter) => (centre, scale.max(1.0)),
        Filter::Linear => ((centre - 0.5).max(0.0), 1.0),
        _ => (centre - 0.5, 1.0),
    }
}

/// The first and the last of `len` source pixels that output `i` of `outputs` reads.
pub(super) fn range(len: u32, outputs: u32, filter: Filter, i: u32) -> (i32, i32) {
    if len == outputs {
        return (i as i32, i as i32);
    }
    let (centre, scale) = centre(len, outputs, filter, i);
    let half = half_width(filter);
    let last = len as i32 - 1;
    if is_antialiased(filter) {
        // Conversion to an integer truncates, as ATen's does.
        let first = ((centre - half * scale + 0.5) as i32).max(0);
        return (first, ((centre + half * scale + 0.5) as i32 - 1).min(last));
    }
    let (floor, half) = (centre.floor() as i32, half as i32);
    ((floor + 1 - half).clamp(0, last), (floor + half).clamp(0, last))
}

/// The most source pixels that an output reads.
pub(crate) fn most_taps(len: u32, outputs: u32, filter: Filter) -> u64 {
    // One more than the filter's width for the pixels that it cuts, and one for rounding.
    let width = 2.0 * half_width(filter) * (f64::from(len) / f64::from(outputs.max(1))).max(1.0);
    (width as u64 + 2).min(len.into())
}

impl WeightsU8 {
    /// Makes room for the weights that [`build`](Self::build) computes.
    ///
    /// # Errors
    /// Those of [`Use::reserve`](crate::allocate::Use::reserve).
    pub(crate) fn reserve(&mut self, len: u32, outputs: u32, filter: Filter) -> Result<()> {
        let taps = most_taps(len, outputs, filter) as usize;
        AUGMENTING.reserve(&mut self.first, outputs as usize)?;
        AUGMENTING.reserve(&mut self.end, outputs as usize)?;
        AUGMENTING.reserve(&mut self.weights, product(taps, outputs as usize))?;
        AUGMENTING.reserve(&mut self.exact, product(taps, outputs as usize))
    }

    /// Computes the weights of a resize from `len` to `outputs` pixels.
    pub(crate) fn build(&mut self, len: u32, outputs: u32, filter: Filter) {
        let WeightsU8 { first, end: ends, taps, weights, bits, exact } = self;
        first.clear();
        ends.clear();
        for i in 0..outputs {
            let (begin, end) = range(len, outputs, filter, i);
            first.push(begin as u32);
            ends.push(end as u32 + 1);
        }
        *taps = first.iter().zip(&*ends).map(|(first, end)| (end - first) as usize).max().unwrap_or(1);
        exact.clear();
        exact.resize(*taps * outputs as usize, 0.0);
        for (i, row) in (0..outputs).zip(exact.chunks_exact_mut(*taps)) {
            let (begin, end) = (first[i as usize] as i32, ends[i as usize] as i32 - 1);
            if len == outputs {
                row[0] = 1.0;
                continue;
            }
            let (centre, scale) = centre(len, outputs, filter, i);
            if is_antialiased(filter) {
                let row = &mut row[..(end - begin + 1) as usize];
                for (weight, pixel) in row.iter_mut().zip(begin..) {
                    *weight = filter_at(filter, (f64::from(pixel) - centre + 0.5) / scale);
                }
                let sum: f64 = row.iter().sum();
                row.iter_mut().for_each(|weight| *weight /= sum);
            } else {
                let (floor, half) = (centre.floor(), half_width(filter) as i32);
                for tap in 1 - half..=half {
                    // Pixels outside the image are those of its edge.
                    let pixel = (floor as i32 + tap).clamp(0, len as i32 - 1);
                    row[(pixel - begin) as usize] += filter_at(filter, f64::from(tap) - (centre - floor));
                }
            }
        }
        // As many bits as fit the largest weight in 16 with its sign.
        let most = exact.iter().fold(0.0, |most: f64, weight| most.max(*weight));
        *bits =
            (0..22).take_while(|bits| ((0.5 + most * f64::from(1u32 << (bits + 1))) as i32) < 1 << 15).count() as u32;
        let scale = f64::from(1u32 << *bits);
        weights.clear();
        weights.extend(exact.iter().map(|weight| (weight * scale + 0.5f64.copysign(*weight)) as i16));
    }

    /// The weights of output `i`.
    pub(crate) fn of(&self, i: usize) -> &[i16] {
        &self.weights[i * self.taps..][..self.taps]
    }

    /// Makes room for as much as `other` has room for.
    pub(crate) fn reserve_like(&mut self, other: &WeightsU8) {
        reserve_like(&mut self.first, &other.first);
        reserve_like(&mut self.end, &other.end);
        reserve_like(&mut self.weights, &other.weights);
        reserve_like(&mut self.exact, &other.exact);
    }

    /// Allocated bytes.
    pub(crate) fn bytes(&self) -> usize {
        4 * (self.first.capacity() + self.end.capacity()) + 2 * self.weights.capacity() + 8 * self.exact.capacity()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_sum_to_one_and_stay_in_the_image() {
        let filters = [Filter::Linear, Filter::Cubic, Filter::LinearAntialias, Filter::CubicAntialias];
        for filter in filters {
            for (len, outputs) in [(1, 5), (5, 1), (7, 7), (64, 48), (48, 64), (300, 7), (2, 255)] {
                let mut weights = WeightsU8::default();
                weights.build(len, outputs, filter);
                assert!(weights.taps as u64 <= most_taps(len, outputs, filter), "{filter:?} {len} {outputs}");
                assert!((14..=22).contains(&weights.bits) || weights.bits == 22, "{filter:?} {len} {outputs}");
                for i in 0..outputs as usize {
                    let sum: i32 = weights.of(i).iter().map(|&weight| i32::from(weight)).sum();
                    let one = 1 << weights.bits;
                    assert!((sum - one).abs() <= weights.taps as i32, "{filter:?} {len} {outputs}: {sum} {one}");
                    let (first, last) = range(len, outputs, filter, i as u32);
                    assert_eq!(weights.first[i] as i32, first);
                    assert!(first >= 0 && last < len as i32 && last - first < weights.taps as i32);
                }
            }
        }
    }
}
