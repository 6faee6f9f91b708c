//! JPEGs decoded to a half, a quarter or an eighth of their size: the inverse DCT of each block gives 4, 2 or 1 samples
//! a side instead of 8.

use super::Probe;
use serde::{Deserialize, Serialize};

/// The size at which a JPEG is decoded; anything else than [`Full`](Self::Full) comes from
/// [`DataLoaderBuilder::scaled_decode`](crate::DataLoaderBuilder::scaled_decode) alone.
///
/// ```
/// use gpufeed::decode::Scale;
///
/// assert_eq!(Scale::default().divisor(), 1);
/// assert_eq!(Scale::Quarter.divisor(), 4);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scale {
    /// As it is.
    #[default]
    Full,
    /// Half as many columns and rows, rounded up.
    Half,
    /// A quarter as many.
    Quarter,
    /// An eighth as many.
    Eighth,
}

impl Scale {
    /// Pixels of the full image on the side of one pixel: 1, 2, 4 or 8.
    pub fn divisor(self) -> u32 {
        match self {
            Scale::Full => 1,
            Scale::Half => 2,
            Scale::Quarter => 4,
            Scale::Eighth => 8,
        }
    }

    /// The smallest size that an image to be reduced `times` can be decoded at, so that it is still not enlarged.
    pub(crate) fn within(times: f32) -> Self {
        match times {
            8.0.. => Scale::Eighth,
            4.0.. => Scale::Quarter,
            2.0.. => Scale::Half,
            _ => Scale::Full,
        }
    }

    /// Whether it is the default; such drawn parameters are written without it.
    pub(crate) fn is_full(&self) -> bool {
        *self == Scale::Full
    }

    pub(super) fn size(self, (width, height): (u32, u32)) -> (u32, u32) {
        (width.div_ceil(self.divisor()), height.div_ceil(self.divisor()))
    }
}

/// Where the pixels of an image decoded at a [`Scale`] lie in the full image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Scaled {
    /// Full pixels on the side of one: 1, 2, 4 or 8.
    pub(crate) divisor: u32,
    /// Columns and rows of the oriented result.
    pub(crate) size: (u32, u32),
    /// Columns and rows by which its first pixel reaches beyond the full image, 0 to 7. In the file it is always the
    /// last one that may do so, but orientation can turn an axis.
    pub(crate) before: (u32, u32),
}

impl Scaled {
    pub(super) fn new(probe: &Probe, scale: Scale) -> Self {
        let divisor = scale.divisor();
        let size = scale.size((probe.width, probe.height));
        let (columns_back, rows_back) = super::orientation::backwards(probe.orientation);
        let beyond = |back: bool, scaled: u32, full: u32| if back { scaled * divisor - full } else { 0 };
        let before = (beyond(columns_back, size.0, probe.width), beyond(rows_back, size.1, probe.height));
        Scaled { divisor, size, before }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_divisor_that_does_not_enlarge() {
        for (times, divisor) in
            [(0.3, 1), (1.0, 1), (1.99, 1), (2.0, 2), (3.9, 2), (4.0, 4), (7.9, 4), (8.0, 8), (99.0, 8)]
        {
            assert_eq!(Scale::within(times).divisor(), divisor, "{times}");
        }
        assert_eq!(Scale::within(f32::NAN), Scale::Full);
    }
}
