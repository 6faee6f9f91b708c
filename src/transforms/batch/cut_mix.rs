use super::{Partner, one};
use crate::random::Numbers;
use crate::transforms::mix::Mix;
use serde::{Deserialize, Serialize};

/// Shows the partner of each image in a rectangle, one a batch: torchvision's `CutMix`.
///
/// λ is drawn from Beta(alpha, alpha); the rectangle has the share 1 - λ of the area, before it is cut at the image's
/// edges. Labels get the share of the pixels that are left. Works with any output.
///
/// ```
/// use gpufeed::transforms::CutMix;
///
/// assert_eq!(CutMix::default(), CutMix::new(1.0));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CutMix {
    /// The distribution's parameter, greater than 0; 1 by default, which makes λ uniform.
    #[serde(default = "one")]
    pub alpha: f64,
    /// The image with which each is mixed; that of the sample before by default.
    #[serde(default)]
    pub partner: Partner,
}

impl CutMix {
    /// Shows the sample before.
    pub fn new(alpha: f64) -> Self {
        CutMix { alpha, partner: Partner::Previous }
    }

    /// Changes which image of the batch is the partner.
    #[must_use]
    pub fn partner(self, partner: Partner) -> Self {
        CutMix { partner, ..self }
    }
}

impl Default for CutMix {
    fn default() -> Self {
        CutMix::new(one())
    }
}

/// torchvision's rectangle for λ: its centre is uniform over the pixels, its half sides are rounded down.
pub(super) fn rectangle(lambda: f64, (columns, rows): (u32, u32), numbers: &mut Numbers) -> Mix {
    let x = numbers.below(u64::from(columns)) as u32;
    let y = numbers.below(u64::from(rows)) as u32;
    let ratio = 0.5 * libm::sqrt(1.0 - lambda);
    let range = |centre: u32, side: u32| {
        let half = (ratio * f64::from(side)) as u32;
        (centre.saturating_sub(half), (centre + half).min(side))
    };
    let ((left, right), (top, bottom)) = (range(x, columns), range(y, rows));
    let (width, height) = (right - left, bottom - top);
    let (area, all) = (f64::from(width) * f64::from(height), f64::from(columns) * f64::from(rows));
    Mix::CutMix { top, left, height, width, lambda: 1.0 - area / all }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rectangles_keep_to_the_image_and_their_share() {
        let mut numbers = Numbers::new([2; 32], 0);
        for _ in 0..2000 {
            let drawn = numbers.unit();
            let Mix::CutMix { top, left, height, width, lambda } = rectangle(drawn, (31, 17), &mut numbers) else {
                panic!("a rectangle")
            };
            assert!(left + width <= 31 && top + height <= 17);
            assert_eq!(lambda, 1.0 - f64::from(width * height) / 527.0);
            // The rectangle is at most as large as λ says.
            assert!(lambda >= drawn - 1e-12, "{lambda} of {drawn}");
        }
        // The sides of one pixel are cut to nothing.
        assert_eq!(
            rectangle(0.5, (1, 1), &mut numbers),
            Mix::CutMix { top: 0, left: 0, height: 0, width: 0, lambda: 1.0 }
        );
    }
}
