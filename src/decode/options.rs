//! Settings of decoding.

use super::broken;
use super::format::ImageFormat;
use crate::{ErrorKind, Result};
use serde::{Deserialize, Serialize};

/// Use of the orientation in a file's metadata: EXIF, or XMP where EXIF has none.
///
/// ```
/// use gpufeed::decode::Orientation;
///
/// assert_eq!(Orientation::default(), Orientation::Apply);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Orientation {
    /// Turns and mirrors the image as its metadata say.
    #[default]
    Apply,
    /// Leaves the image as stored, like torchvision's default loader.
    Ignore,
}

/// Handling of an image whose data ends, or becomes undecodable, before its last pixel.
///
/// With either setting, every region of a JPEG has the pixels that the whole image has there, with and without a seek
/// index. With [`Error`](Self::Error) a JPEG is refused if its end is missing or if the data that the *region* needs
/// cannot be decoded. Damage after the region is not noticed, nor is damage that leaves valid codes.
///
/// ```
/// use gpufeed::decode::Truncated;
///
/// assert_eq!(Truncated::default(), Truncated::Error);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Truncated {
    /// Refuses the truncated file with [`ErrorKind::TruncatedImage`].
    #[default]
    Error,
    /// Uses the pixels that can be decoded. The rest is gray (128) in a JPEG, the palette's colour 0 in a BMP of run
    /// lengths, and black in other files. A file with an incomplete header is still refused, and so is a JPEG of more
    /// than 2,048 pixels for each of its bytes.
    ///
    /// A JPEG has libjpeg-turbo's pixels, bit for bit: after an undecodable code, reading continues as far as it can, and
    /// what a progressive file lacks is smoothed.
    Fill,
}

/// The numbers that are read from an image.
///
/// A loader reads the images of a group of views in this way
/// ([`Views::read_mode`](crate::Views::read_mode)); [`decode`](super::decode) reads colour.
///
/// ```
/// use gpufeed::decode::ReadMode;
///
/// assert_eq!(ReadMode::default(), ReadMode::Color);
/// assert_eq!(ReadMode::Gray16.channels(), 1);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ReadMode {
    /// Red, green and blue of 8 bits each. Wider numbers lose their lower bits.
    #[default]
    Color,
    /// One channel of 16 bits, such as a depth in millimetres: the number of the file as `f32`, 0 to 65,535. It is not
    /// divided by anything. A PNG of 16-bit gray has it; other files are refused.
    Gray16,
    /// One channel of 8 bits, such as the classes of a segmentation: the number of the palette's colour, or of gray, as Pillow
    /// and torchvision's `PILToTensor` read it: black and white of 1 bit are 0 and 1, gray of 2 and 4 bits is 0 to 255. A
    /// PNG has it; other files, colour, and gray of 16 bits are refused.
    Mask,
}

impl ReadMode {
    /// Channels of an image that is read so: 3, or 1 for gray and masks.
    pub const fn channels(self) -> u32 {
        match self {
            ReadMode::Color => 3,
            ReadMode::Gray16 | ReadMode::Mask => 1,
        }
    }
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
    /// Most pixels (width × height) that a header may declare. Default: 2²⁸, which take 1 GiB when decoded.
    pub max_pixels: u64,
    /// Most bytes of memory for decoding one image: its pixels in RGBA and the decoder's own memory. Default: 3 GiB, 12
    /// bytes for each of the default `max_pixels`, which suffices for most images of 8 bits a sample; a progressive JPEG
    /// takes 7 to 17. [`Probe::decode_bytes`](super::Probe::decode_bytes) returns an image's number. Each worker decodes
    /// one image at a time.
    pub max_decode_bytes: u64,
    /// Use of the EXIF orientation. Default: [`Orientation::Apply`].
    pub exif: Orientation,
    /// Handling of incomplete images. Default: [`Truncated::Error`].
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
