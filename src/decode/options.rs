//! Settings of decoding.

use super::broken;
use super::format::ImageFormat;
use crate::{ErrorKind, Result};
use serde::{Deserialize, Serialize};

/// The use made of the orientation that EXIF data declares.
///
/// ```
/// use gpufeed::decode::Orientation;
///
/// assert_eq!(Orientation::default(), Orientation::Apply);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Orientation {
    /// Turn and mirror the image as its EXIF data says.
    #[default]
    Apply,
    /// Leave the image as it is stored, as torchvision's default loader does.
    Ignore,
}

/// The fate of an image whose data ends, or becomes undecodable, before its last pixel.
///
/// With either, a region of a JPEG has the pixels that the whole image has there, whatever the region, and with a seek
/// index or without. A JPEG is damaged for [`Error`](Self::Error) if its end is missing or if what the *region* needs of
/// its data cannot be decoded: damage after the region is not noticed, nor is damage that leaves valid codes.
///
/// ```
/// use gpufeed::decode::Truncated;
///
/// assert_eq!(Truncated::default(), Truncated::Error);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Truncated {
    /// Refuse it: [`ErrorKind::TruncatedImage`].
    #[default]
    Error,
    /// Keep what there is. The rest is gray (128) in a JPEG and black in other formats; a file whose header is cut is
    /// still refused, and so is a JPEG of more than 2,048 pixels for each of its bytes.
    ///
    /// An 8-bit sequential JPEG of one or three components has libjpeg-turbo's pixels, bit for bit: what comes after an
    /// undecodable code is read on as far as it can be. Of progressive and four-component JPEGs there is what was decoded
    /// before the damage.
    Fill,
}

/// Settings of [`probe`](super::probe) and [`decode`](super::decode).
///
/// ```
/// use gpufeed::decode::{DecodeOptions, Truncated};
///
/// let mut options = DecodeOptions::default();
/// options.max_pixels = 50_000_000;
/// options.truncated = Truncated::Fill;
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct DecodeOptions {
    /// Most pixels (width × height) a header may declare; 2²⁸ by default, 1 GiB when decoded.
    pub max_pixels: u64,
    /// Most bytes of memory that the decoding of one image may take, for its pixels in RGBA and all that its decoder holds
    /// beside them; 3 GiB by default: 12 bytes for each of the default `max_pixels`, which is enough for images of 8 bits
    /// a sample. [`Probe::decode_bytes`](super::Probe::decode_bytes) has an image's number. Each worker decodes one image at a time.
    pub max_decode_bytes: u64,
    /// The use made of EXIF orientation.
    pub exif: Orientation,
    /// The fate of incomplete images.
    pub truncated: Truncated,
}

impl Default for DecodeOptions {
    fn default() -> Self {
        DecodeOptions {
            max_pixels: 1 << 28,
            max_decode_bytes: 3 << 30,
            exif: Orientation::Apply,
            truncated: Truncated::Error,
        }
    }
}

impl DecodeOptions {
    /// Refuses a declared size of zero or of more than `max_pixels`.
    pub(super) fn check_size(&self, format: ImageFormat, width: u32, height: u32) -> Result<()> {
        if width == 0 || height == 0 {
            return Err(broken(format, format!("declares {width}x{height} pixels")));
        }
        let (width, height) = (u64::from(width), u64::from(height));
        if width * height > self.max_pixels {
            return Err(ErrorKind::TooManyPixels { width, height, max_pixels: self.max_pixels }.into());
        }
        Ok(())
    }
}
