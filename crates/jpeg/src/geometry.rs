//! Rectangles, and the scales at which a JPEG can be decoded.

#[cfg(feature = "serde")]
use serde::{Deserialize, Serialize};

/// A rectangle in pixels.
///
/// ```
/// use gpufeed_jpeg::Rect;
///
/// let middle = Rect { left: 10, top: 20, width: 100, height: 50 };
/// assert_eq!(middle.left + middle.width, 110);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize))]
pub struct Rect {
    /// Columns before the rectangle, from 0.
    pub left: u32,
    /// Rows above the rectangle, from 0.
    pub top: u32,
    /// Columns of the rectangle, at least 1.
    pub width: u32,
    /// Rows of the rectangle, at least 1.
    pub height: u32,
}

impl Rect {
    /// The rectangle of a whole image of `(columns, rows)`.
    ///
    /// ```
    /// use gpufeed_jpeg::Rect;
    ///
    /// assert_eq!(Rect::whole((640, 480)), Rect { left: 0, top: 0, width: 640, height: 480 });
    /// ```
    pub const fn whole((width, height): (u32, u32)) -> Self {
        Rect { left: 0, top: 0, width, height }
    }

    /// Returns true if the rectangle has pixels and all of them belong to an image of `(columns, rows)`.
    ///
    /// ```
    /// use gpufeed_jpeg::Rect;
    ///
    /// let corner = Rect { left: 600, top: 400, width: 40, height: 80 };
    /// assert!(corner.is_inside((640, 480)));
    /// assert!(!corner.is_inside((639, 480)));
    /// assert!(!Rect { width: 0, ..corner }.is_inside((640, 480)));
    /// ```
    pub const fn is_inside(&self, (width, height): (u32, u32)) -> bool {
        const fn fits(start: u32, length: u32, all: u32) -> bool {
            length > 0 && start <= all && length <= all - start
        }
        fits(self.left, self.width, width) && fits(self.top, self.height, height)
    }
}

/// The size at which a JPEG is decoded. The inverse DCT turns each block into 8 × 8, 4 × 4, 2 × 2 or 1 × 1 samples.
///
/// ```
/// use gpufeed_jpeg::Scale;
///
/// assert_eq!(Scale::default().divisor(), 1);
/// assert_eq!(Scale::Quarter.divisor(), 4);
/// assert_eq!(Scale::Quarter.size((101, 100)), (26, 25));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize), serde(rename_all = "snake_case"))]
pub enum Scale {
    /// The size that the file has.
    #[default]
    Full,
    /// Half as many columns and rows, rounded up.
    Half,
    /// A quarter as many columns and rows, rounded up.
    Quarter,
    /// An eighth as many columns and rows, rounded up.
    Eighth,
}

impl Scale {
    /// The number by which columns and rows are divided: 1, 2, 4 or 8.
    pub const fn divisor(self) -> u32 {
        match self {
            Scale::Full => 1,
            Scale::Half => 2,
            Scale::Quarter => 4,
            Scale::Eighth => 8,
        }
    }

    /// The smallest scale for an image that is reduced by the factor `times` in all. The scale's divisor is at most
    /// `times`, so the caller never has to enlarge the decoded image.
    ///
    /// ```
    /// use gpufeed_jpeg::Scale;
    ///
    /// assert_eq!(Scale::within(3.9), Scale::Half);
    /// ```
    pub const fn within(times: f32) -> Self {
        match times {
            8.0.. => Scale::Eighth,
            4.0.. => Scale::Quarter,
            2.0.. => Scale::Half,
            _ => Scale::Full,
        }
    }

    /// Returns true for [`Scale::Full`].
    pub fn is_full(&self) -> bool {
        *self == Scale::Full
    }

    /// The size of an image of `(columns, rows)` at this scale, rounded up.
    pub const fn size(self, (width, height): (u32, u32)) -> (u32, u32) {
        (width.div_ceil(self.divisor()), height.div_ceil(self.divisor()))
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

    #[test]
    fn a_rectangle_that_wraps_around_is_outside() {
        let wide = Rect { left: u32::MAX, top: 0, width: 2, height: 1 };
        assert!(!wide.is_inside((u32::MAX, 1)));
        assert!(Rect::whole((u32::MAX, 1)).is_inside((u32::MAX, 1)));
    }
}
