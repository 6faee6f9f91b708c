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
    /// The file is of a kind that this crate does not decode: lossless, hierarchical or coded arithmetically; with samples of other than
    /// 8 bits, with two or more than four components, with sampling factors whose ratio is not an integer, or without its height in the
    /// frame header. Or its scans ask for more work than a file of its length may.
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

/// A result with the crate's error.
pub(crate) type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// The error for content after the first scan: invalid content is damage there, as the image can be shown without it.
    pub(crate) fn as_damage(self) -> Self {
        match self {
            Error::Invalid(reason) => Error::Damaged(reason),
            other => other,
        }
    }

    /// The reason without the kind of the error. It is empty for [`Region`](Self::Region) and
    /// [`NoMemory`](Self::NoMemory).
    ///
    /// ```
    /// assert_eq!(gpufeed_jpeg::Error::Damaged("a scan is cut").reason(), "a scan is cut");
    /// ```
    pub fn reason(self) -> &'static str {
        match self {
            Error::Unsupported(reason) | Error::Invalid(reason) | Error::Damaged(reason) => reason,
            Error::Region { .. } | Error::NoMemory { .. } => "",
        }
    }
}
