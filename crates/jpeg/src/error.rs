//! The crate's error type.

use crate::Rect;

/// The reason why a file was not decoded.
///
/// ```
/// use gpufeed_jpeg::{Error, Header};
///
/// assert!(matches!(Header::read(b"\xFF\xD8\xFF\xE0"), Err(Error::Damaged(_))));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file is of a kind that this crate leaves to other decoders: progressive, with four components, with 12-bit
    /// samples, or with unusual headers.
    #[error("unsupported JPEG: {0}")]
    Unsupported(&'static str),
    /// The bytes are not a JPEG, or its headers are invalid.
    #[error("invalid JPEG: {0}")]
    Invalid(&'static str),
    /// The file is truncated, or data that the region needs cannot be decoded.
    #[error("damaged or truncated JPEG: {0}; Request::fill may still decode it")]
    Damaged(&'static str),
    /// The region is empty or reaches outside the image.
    #[error("the region of the request is empty or reaches outside the image: {region:?} of {width}x{height} pixels")]
    Region {
        /// The requested region.
        region: Rect,
        /// Columns of the image at the requested scale.
        width: u32,
        /// Rows of the image at the requested scale.
        height: u32,
    },
    /// An allocation of the decoder failed.
    #[error("out of memory: an allocation of {bytes} bytes failed")]
    NoMemory {
        /// Bytes of the allocation.
        bytes: usize,
    },
}

/// The reason of an [`Error::Unsupported`].
pub(crate) type Unsupported = &'static str;

impl Error {
    /// The reason without the kind of the error. It is empty for [`Region`](Self::Region) and
    /// [`NoMemory`](Self::NoMemory).
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
