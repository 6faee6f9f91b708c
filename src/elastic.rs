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
    /// Half the side of the kernel that blurs the displacement along `axis`: its side is int(8 sigma + 1), or one more
    /// if that is even.
    pub(crate) fn radius(&self, axis: usize) -> u32 {
        if self.sigma[axis] > 0.0 { (8.0 * self.sigma[axis] + 1.0) as u32 / 2 } else { 0 }
    }

    /// The weights of the blur of the displacement along `axis`, across and down: the middle one, then those at each
    /// distance.
    pub(crate) fn weights(&self, axis: usize) -> [Vec<f32>; 2] {
        self.sigma.map(|sigma| {
            let at = |i: u32| if i == 0 { 1.0 } else { libm::exp(-f64::from(i).powi(2) / (2.0 * sigma * sigma)) };
            let radius = self.radius(axis);
            let sum = 1.0 + 2.0 * (1..=radius).map(at).sum::<f64>();
            (0..=radius).map(|i| (at(i) / sum) as f32).collect()
        })
    }

    /// The most pixels by which a pixel moves along x and along y, rounded up.
    pub(crate) fn reach(&self) -> (u32, u32) {
        // One more for rounding, and one for the interpolation.
        let [x, y] = self.alpha.map(|alpha| (alpha.abs() / 2.0).ceil() as u32 + 2);
        (x, y)
    }
}
