//! An image as a data set returns it: a file, or pixels.

use super::Pixels;

/// The image of a [`Sample`](super::Sample).
///
/// ```
/// use gpufeed::{PixelFormat, Pixels, SampleData};
///
/// let data = SampleData::Pixels(Pixels::new(2, 1, PixelFormat::R8, &[0, 255])?);
/// assert!(!matches!(data, SampleData::Encoded(_)));
/// # Ok::<(), gpufeed::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub enum SampleData<'a> {
    /// A whole image file; its format is detected from the bytes.
    Encoded(&'a [u8]),
    /// Pixels that need no decoding.
    Pixels(Pixels<'a>),
}

impl SampleData<'_> {
    /// Returns the length of the file or of the pixels in bytes.
    pub(crate) fn len(&self) -> usize {
        match self {
            SampleData::Encoded(bytes) => bytes.len(),
            SampleData::Pixels(pixels) => pixels.bytes().len(),
        }
    }
}
