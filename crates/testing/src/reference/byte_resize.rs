//! Resizing in both semantics (`resize_image` in torchvision's `functional/_geometry.py`). Floats are computed by
//! `resample.rs`; bytes as torch's kernels for uint8 do on the CPU (`aten/src/ATen/native/cpu/UpSampleKernel.cpp`):
//! with weights of 16 bits, and a rounding to bytes between the axes.

use super::picture::{Picture, Semantics};
use super::resample;
use gpufeed::transforms::Interpolation;
use std::collections::BTreeMap;

/// Resizes to `size`, height and width: first across, then down, each only if its length changes.
pub fn resize(picture: &Picture, size: (usize, usize), interpolation: Interpolation, antialias: bool) -> Picture {
    let nearest = matches!(interpolation, Interpolation::Nearest | Interpolation::NearestExact);
    if picture.semantics == Semantics::Float || nearest {
        return picture.with_image(resample::resize(&picture.image, size, interpolation, antialias));
    }
    let [resized, _] = resize_bound([picture, picture], size, interpolation, antialias);
    resized
}

/// Resizes two pictures of bytes by a filter that is not nearest, as [`resample::resize_bound`] does.
pub(super) fn resize_bound(
    pictures: [&Picture; 2],
    (height, width): (usize, usize),
    interpolation: Interpolation,
    antialias: bool,
) -> [Picture; 2] {
    let (channels, rows, columns) = pictures[0].shape();
    let across = Axis::new(columns, width, interpolation, antialias);
    let wide = [0, 1].map(|bound| {
        pictures[0].build((channels, rows, width), |c, y, x| {
            across.value(x, |from, negative| pictures[if negative { 1 - bound } else { bound }].at(c, y, from))
        })
    });
    let down = Axis::new(rows, height, interpolation, antialias);
    [0, 1].map(|bound| {
        pictures[0].build((channels, height, width), |c, y, x| {
            down.value(y, |from, negative| wide[if negative { 1 - bound } else { bound }].at(c, from, x))
        })
    })
}

/// The taps of each output pixel with weights of 16 bits, which are multiples of 2^-precision.
struct Axis {
    precision: u32,
    taps: Vec<BTreeMap<usize, i64>>,
}

impl Axis {
    fn new(input: usize, output: usize, interpolation: Interpolation, antialias: bool) -> Axis {
        if input == output {
            return Axis { precision: 0, taps: (0..output).map(|i| BTreeMap::from([(i, 1)])).collect() };
        }
        let mut taps: Vec<BTreeMap<usize, f64>> = Vec::new();
        for i in 0..output {
            // At the edge several taps fall on one pixel; their weights are added before they are rounded.
            let mut weights = BTreeMap::new();
            for (from, weight) in resample::taps(i, (input, output), interpolation, antialias, 0.0) {
                *weights.entry(from).or_insert(0.0) += weight;
            }
            taps.push(weights);
        }
        let largest = taps.iter().flat_map(BTreeMap::values).fold(0.0, |most: f64, &weight| most.max(weight));
        let fits = |precision: &u32| ((0.5 + largest * f64::from(1u32 << precision)) as i64) < 1 << 15;
        let precision = (0..=22).take_while(fits).last().expect("weights are below 2^15");
        let scale = f64::from(1u32 << precision);
        let rounded = |weight: f64| (weight * scale + 0.5f64.copysign(weight)) as i64;
        let taps = taps.into_iter().map(|taps| taps.into_iter().map(|(from, w)| (from, rounded(w))).collect());
        Axis { precision, taps: taps.collect() }
    }

    /// Returns the byte of output pixel `i`: the weighted sum, rounded half up and clamped. `byte` is told whether the
    /// weight is negative.
    fn value(&self, i: usize, byte: impl Fn(usize, bool) -> f64) -> f64 {
        let sum: i64 = self.taps[i].iter().map(|(&from, &weight)| weight * byte(from, weight < 0) as i64).sum();
        let half = (1i64 << self.precision) / 2;
        ((sum + half) >> self.precision).clamp(0, 255) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_rounded_between_the_axes() {
        let picture = Picture::from_planes((1, 2, 2), &[0, 1, 0, 0], Semantics::Uint8);
        let resized = resize(&picture, (1, 1), Interpolation::Bilinear, true);
        // Across (0.5, 0) becomes (1, 0), down 0.5 becomes 1; the mean 0.25 would be 0.
        assert_eq!(resized.image.planes, [1.0]);
    }

    #[test]
    fn the_largest_weight_decides_the_precision() {
        assert_eq!(Axis::new(4, 2, Interpolation::Bilinear, true).precision, 16);
        assert_eq!(Axis::new(100, 1, Interpolation::Bilinear, true).precision, 21);
        assert_eq!(Axis::new(2, 4, Interpolation::Bilinear, false).precision, 14);
    }
}
