//! The box that Pillow's Gaussian blur moves over a line three times (Gwosdek, Grewenig, Bruhn and Weickert,
//! "Theoretical Foundations of Gaussian Convolution by Extended Box Filtering", 2011).

use crate::geometry::Rect;

/// How often a line is averaged.
const PASSES: u32 = 3;

/// A mean of `2 radius + 1` pixels of equal weight, and of the next one on either side, which weighs less. Weights are
/// multiples of 2^-24; a line goes on with its last pixels at both ends. Each result is a whole number again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BoxBlur {
    pub(crate) radius: u32,
    /// The weight of a pixel.
    pub(crate) weight: u32,
    /// The weight of the two pixels at the ends.
    pub(crate) end_weight: u32,
}

impl BoxBlur {
    /// The box that stands for a Gaussian with this standard deviation in pixels, 0 to 1,000,000; `None` if it changes
    /// nothing. Roundings to f32 are those of Pillow's C.
    pub(crate) fn of_gaussian(sigma: f64) -> Option<BoxBlur> {
        let sigma = sigma as f32;
        let variance = sigma * sigma / PASSES as f32;
        let length = (12.0 * f64::from(variance) + 1.0).sqrt() as f32;
        let whole = ((f64::from(length) - 1.0) / 2.0).floor() as f32;
        let part = (2.0 * whole + 1.0) * (whole * (whole + 1.0) - 3.0 * variance);
        let radius = whole + part / (6.0 * (variance - (whole + 1.0) * (whole + 1.0)));
        (radius > 0.0).then(|| BoxBlur::new(radius))
    }

    /// The box of this radius, whose fraction the pixels at the ends stand for.
    fn new(radius: f32) -> BoxBlur {
        const ONE: u32 = 1 << 24;
        let weight = (ONE as f32 / (radius * 2.0 + 1.0)) as u32;
        let radius = radius as u32;
        let end_weight = ONE.wrapping_sub((radius * 2 + 1).wrapping_mul(weight)) / 2;
        BoxBlur { radius, weight, end_weight }
    }

    /// How many pixels away the pixels lie that a result depends on, in all passes together.
    pub(crate) fn reach(self) -> u32 {
        PASSES * (self.radius + 1)
    }

    /// The mean: `sum` is that of the pixels of equal weight, `ends` that of the two others.
    #[inline(always)]
    pub(crate) fn mean(self, sum: u32, ends: u32) -> u8 {
        let weighted = sum.wrapping_mul(self.weight).wrapping_add(ends.wrapping_mul(self.end_weight));
        (weighted.wrapping_add(1 << 23) >> 24) as u8
    }
}

/// The boxes across and down that `window` of a blurred image of a size depends on: the window, grown by their reach.
pub(crate) fn reached(boxes: [Option<BoxBlur>; 2], window: Rect, (width, height): (u32, u32)) -> Rect {
    let [across, down] = boxes.map(|one| one.map_or(0, BoxBlur::reach));
    let axis = |start: u32, len: u32, by: u32, side: u32| {
        let first = start.saturating_sub(by);
        (first, (start + len).saturating_add(by).min(side) - first)
    };
    let ((left, width), (top, height)) =
        (axis(window.left, window.width, across, width), axis(window.top, window.height, down, height));
    Rect { left, top, width, height }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_boxes_have_the_variance_of_the_gaussian() {
        assert_eq!(BoxBlur::of_gaussian(0.0), None);
        let of = |sigma| BoxBlur::of_gaussian(sigma).map(|b| (b.radius, b.weight, b.end_weight)).unwrap();
        assert_eq!(of(1e-5), (0, 1 << 24, 0));
        for sigma in [0.1, 0.5, 1.0, 1.7, 2.0, 3.3, 10.0, 250.0] {
            let (radius, weight, end) = of(sigma);
            let total = (2 * radius + 1) * weight + 2 * end;
            assert!(((1 << 24) - 1..=1 << 24).contains(&total), "{sigma}: {total}");
            // The variance of three such boxes is that of the Gaussian.
            let squares = |i: u32| 2.0 * f64::from(i) * f64::from(i);
            let of_box: f64 = (1..=radius).map(|i| squares(i) * f64::from(weight)).sum();
            let variance = 3.0 * (of_box + squares(radius + 1) * f64::from(end)) / f64::from(1 << 24);
            assert!((variance / (sigma * sigma) - 1.0).abs() < 1e-4, "{sigma}: {variance}");
        }
    }
}
