//! Elastic deformation: a smooth random displacement of each pixel, as torchvision's `ElasticTransform` makes it. The
//! numbers under the blur are those of our own generator.

/// A deformation with its numbers.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Elastic {
    /// The sizes of the displacement along x and along y: twice the pixels that the blur of ones would move.
    pub(crate) alpha: [f64; 2],
    /// Standard deviations of the blur across and down, in pixels; 0 and 0 for none.
    pub(crate) sigma: [f64; 2],
    /// The key of the numbers.
    pub(crate) key: [u32; 2],
    /// Takes the nearest pixel; otherwise interpolates bilinearly.
    pub(crate) nearest: bool,
    /// The colour outside the image. Without one, the image is surrounded by zeros, with which its edge is mixed.
    pub(crate) fill: Option<[f32; 3]>,
}

impl Elastic {
    /// The weights of the blur of the displacement along `axis` in an image of (width, height), across and down: the
    /// middle one, then those at each distance to either side.
    ///
    /// The kernel's side is int(8 sigma + 1) pixels, or one more if that is even. Where it reaches beyond an image's
    /// reflection, which begins again there, its weights are added up: no distance exceeds the image's last pixel.
    pub(crate) fn weights(&self, axis: usize, (width, height): (u32, u32)) -> [Vec<f32>; 2] {
        let radius = if self.sigma[axis] > 0.0 { (8.0 * self.sigma[axis] + 1.0) as usize / 2 } else { 0 };
        let along = |sigma: f64, side: u32| {
            let at = |i: usize| if i == 0 { 1.0 } else { libm::exp(-(i as f64).powi(2) / (2.0 * sigma * sigma)) };
            let sum = 1.0 + 2.0 * (1..=radius).map(at).sum::<f64>();
            let (last, period) = (side as usize - 1, 2 * (side as usize - 1).max(1));
            let mut weights = vec![0.0; radius.min(last) + 1];
            for i in 0..=radius {
                // Reflection maps a tap at a multiple of the period back to the pixel itself; with one pixel, every tap.
                let distance = if last == 0 { 0 } else { (i % period).min(period - i % period) };
                weights[distance] += if distance == 0 && i > 0 { 2.0 * at(i) } else { at(i) } / sum;
            }
            weights.into_iter().map(|weight| weight as f32).collect()
        };
        [along(self.sigma[0], width), along(self.sigma[1], height)]
    }

    /// The most pixels by which a pixel moves along x and along y, rounded up.
    pub(crate) fn reach(&self) -> (u32, u32) {
        // One more for rounding, and one for the interpolation.
        let [x, y] = self.alpha.map(|alpha| (alpha.abs() / 2.0).ceil() as u32 + 2);
        (x, y)
    }
}
