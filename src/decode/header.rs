//! The facts that the header of a file of any format gives.

use super::memory::Cost;

/// Size and orientation as stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    /// Columns and rows, unchecked.
    pub(super) size: (u32, u32),
    /// EXIF orientation, 1..=8.
    pub(super) orientation: u8,
    /// Memory that decoding takes beside its pixels.
    pub(super) cost: Cost,
}
