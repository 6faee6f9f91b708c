//! Why a file was not decoded.

use crate::Rect;

/// Why a file was not decoded.
///
/// ```
/// use gpufeed_jpeg::{Error, Header};
///
/// assert!(matches!(Header::read(b"\xFF\xD8\xFF\xE0"), Err(Error::Damaged(_))));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file is of a kind that this crate leaves to other decoders: progressive, of four components, of 12 bits, or with
    /// headers that are unusual.
    #[error("not supported: {0}")]
    Unsupported(&'static str),
    /// The bytes are not a JPEG, or its headers are invalid.
    #[error("invalid: {0}")]
    Invalid(&'static str),
    /// The file is cut, or a part of it that the region needs cannot be decoded.
    #[error("damaged or cut: {0}")]
    Damaged(&'static str),
    /// The region is empty or reaches outside the image.
    #[error("{region:?} is not a part of the image's {width}x{height} pixels")]
    Region {
        /// The region that was asked for.
        region: Rect,
        /// Columns of the image at the scale.
        width: u32,
        /// Rows of the image at the scale.
        height: u32,
    },
    /// The system has less memory.
    #[error("no memory for {bytes} bytes")]
    NoMemory {
        /// Bytes of the allocation.
        bytes: usize,
    },
}

/// The reason of an [`Error::Unsupported`].
pub(crate) type Unsupported = &'static str;

impl Error {
    /// The reason as text without its kind; empty for [`Region`](Self::Region) and [`NoMemory`](Self::NoMemory).
    ///
    /// ```
    /// assert_eq!(gpufeed_jpeg::Error::Unsupported("progressive").reason(), "progressive");
    /// ```
    pub fn reason(self) -> &'static str {
        match self {
            Error::Unsupported(reason) | Error::Invalid(reason) | Error::Damaged(reason) => reason,
            Error::Region { .. } | Error::NoMemory { .. } => "",
        }
    }
}
