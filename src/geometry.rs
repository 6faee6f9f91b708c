//! Rectangles, the scales at which an image is decoded, and what EXIF orientations do to its axes.

pub use gpufeed_jpeg::{Rect, Scale};

/// Returns true if the width of an image that is turned by this EXIF orientation is the stored image's height.
pub(crate) fn swaps_axes(orientation: u8) -> bool {
    orientation >= 5
}

/// Returns true for each axis, (columns, rows), along which an image that is turned by this EXIF orientation runs backwards in the
/// stored image.
pub(crate) fn backwards(orientation: u8) -> (bool, bool) {
    (matches!(orientation, 2 | 3 | 6 | 7), matches!(orientation, 3 | 4 | 7 | 8))
}

/// The size and position of an image decoded at a [`Scale`], relative to the full image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Scaled {
    /// Side of a decoded pixel in full pixels: 1, 2, 4 or 8.
    pub(crate) divisor: u32,
    /// Columns and rows of the oriented result.
    pub(crate) size: (u32, u32),
    /// Columns and rows by which its first pixel reaches beyond the full image, 0 to 7. In the file only the last pixel
    /// can reach beyond, but orientation can reverse an axis.
    pub(crate) before: (u32, u32),
}

impl Scaled {
    /// Makes it for an oriented image of `size`; `backwards` is true for each axis that is stored in reverse.
    pub(crate) fn new(size: (u32, u32), backwards: (bool, bool), scale: Scale) -> Self {
        let divisor = scale.divisor();
        let beyond = |back: bool, scaled: u32, full: u32| if back { scaled * divisor - full } else { 0 };
        let scaled = scale.size(size);
        let before = (beyond(backwards.0, scaled.0, size.0), beyond(backwards.1, scaled.1, size.1));
        Scaled { divisor, size: scaled, before }
    }
}
