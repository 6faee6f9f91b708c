//! The facts from an image file's header, in any format.

use super::memory::Cost;

/// Size and orientation as stored, and the cost of decoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ImageHeader {
    /// Columns and rows, unchecked.
    pub(super) size: (u32, u32),
    /// EXIF orientation, 1..=8.
    pub(super) orientation: u8,
    /// Memory for decoding, without the decoded pixels.
    pub(super) cost: Cost,
}
