//! Reads an image's header: format, size, orientation. Decodes no pixels.

use super::format::ImageFormat;
use super::header::ImageHeader;
use super::memory::{self, Cost};
use super::{DecodeOptions, Orientation, broken, gif, guarded, image_crate, metadata, tiff, truncated};
use crate::geometry::{Scale, Scaled, backwards, swaps_axes};
use crate::{ErrorKind, Result};

/// Result of [`probe`].
///
/// ```
/// use gpufeed::decode::{self, DecodeOptions};
///
/// let bitmap = [b"P6 2 1 255\n".as_slice(), &[255, 0, 0, 0, 0, 255]].concat();
/// let probe = decode::probe(&bitmap, &DecodeOptions::default())?;
/// assert_eq!((probe.width, probe.height), (2, 1));
/// # Ok::<(), gpufeed::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probe {
    /// The format, detected by content.
    pub format: ImageFormat,
    /// Columns of the oriented image, at least 1.
    pub width: u32,
    /// Rows of the oriented image, at least 1.
    pub height: u32,
    /// EXIF orientation to apply, 1..=8.
    pub(super) orientation: u8,
    /// Columns and rows as stored.
    pub(super) stored: (u32, u32),
    /// Memory for decoding, without the decoded pixels.
    pub(super) cost: Cost,
}

impl Probe {
    /// Returns the EXIF orientation that [`decode`](super::decode) applies, 1..=8; 1 is as stored, and always with
    /// [`Orientation::Ignore`].
    ///
    /// ```
    /// use gpufeed::decode::{self, DecodeOptions};
    ///
    /// let bitmap = [b"P6 2 1 255\n".as_slice(), &[255, 0, 0, 0, 0, 255]].concat();
    /// assert_eq!(decode::probe(&bitmap, &DecodeOptions::default())?.orientation(), 1);
    /// # Ok::<(), gpufeed::Error>(())
    /// ```
    pub fn orientation(&self) -> u8 {
        self.orientation
    }

    /// Returns the peak bytes of memory for decoding the whole image, computed from the header: its pixels in RGBA,
    /// again if EXIF turns them, and the decoder's own memory. Metadata may take up to 64 MiB more.
    ///
    /// ```
    /// use gpufeed::decode::{self, DecodeOptions};
    ///
    /// let bitmap = [b"P6 2 1 255\n".as_slice(), &[255, 0, 0, 0, 0, 255]].concat();
    /// // Two pixels, as stored and as RGBA.
    /// assert_eq!(decode::probe(&bitmap, &DecodeOptions::default())?.decode_bytes(), 2 * 3 + 2 * 4);
    /// # Ok::<(), gpufeed::Error>(())
    /// ```
    pub fn decode_bytes(&self) -> u64 {
        self.cost.all(self.stored, self.orientation != 1)
    }

    /// # Errors
    /// [`ErrorKind::TooMuchMemory`].
    pub(super) fn check_memory(&self, options: &DecodeOptions) -> Result<()> {
        self.cost.check(self.format, self.stored, self.orientation != 1, options)
    }

    /// Returns true if the image can be decoded at another scale than [`Scale::Full`]: if it is a JPEG.
    pub(crate) fn can_scale(&self) -> bool {
        self.format == ImageFormat::Jpeg
    }

    /// Returns the image's size when decoded at `scale`.
    pub(crate) fn scaled(&self, scale: Scale) -> Scaled {
        Scaled::new((self.width, self.height), backwards(self.orientation), scale)
    }
}

/// Reads the header of an encoded image. Allocates nothing of the image's size, and nothing at all for a JPEG.
///
/// # Errors
///
/// [`ErrorKind::Decode`] for unknown or broken bytes, [`ErrorKind::TruncatedImage`] if they end within the header,
/// [`ErrorKind::TooManyPixels`] beyond [`DecodeOptions::max_pixels`], [`ErrorKind::TooMuchMemory`] beyond
/// [`DecodeOptions::max_decode_bytes`].
pub fn probe(bytes: &[u8], options: &DecodeOptions) -> Result<Probe> {
    let Some(format) = ImageFormat::recognise(bytes) else {
        let reason = match bytes {
            [] => "no bytes".to_owned(),
            _ => {
                let formats = ImageFormat::ALL.map(ImageFormat::name).join(", ");
                format!("none of {formats}; begins with {:02x?}", &bytes[..bytes.len().min(8)])
            }
        };
        return Err(ErrorKind::Decode { format: "image", reason }.into());
    };
    let header = match format {
        ImageFormat::Jpeg => jpeg_header(bytes)?,
        ImageFormat::Gif => gif::header(bytes)?,
        ImageFormat::Tiff => tiff::header(bytes)?,
        _ => guarded(format, || image_crate::header(bytes, format))?,
    };
    let (width, height) = header.size;
    options.check_size(format, width, height)?;
    let orientation = match options.exif {
        Orientation::Apply => header.orientation,
        Orientation::Ignore => 1,
    };
    let (width, height) = if swaps_axes(orientation) { (height, width) } else { (width, height) };
    let probe = Probe { format, width, height, orientation, stored: header.size, cost: header.cost };
    probe.check_memory(options)?;
    Ok(probe)
}

fn jpeg_header(bytes: &[u8]) -> Result<ImageHeader> {
    let header = gpufeed_jpeg::Header::read(bytes).map_err(|error| match error {
        gpufeed_jpeg::Error::Damaged(reason) => truncated(ImageFormat::Jpeg, reason),
        error => broken(ImageFormat::Jpeg, error.reason()),
    })?;
    let orientation = metadata::of_jpeg(bytes, &header);
    Ok(ImageHeader { size: header.size(), orientation, cost: memory::jpeg(&header) })
}
