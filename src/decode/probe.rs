//! What an encoded image declares about itself: format, size, orientation. No pixel is decoded.

use super::memory::{self, Cost};
use super::{DecodeOptions, Orientation, Scale, Scaled, broken, fallback, guarded, orientation, truncated};
use crate::{ErrorKind, Result};

/// A recognised format.
///
/// ```
/// use gpufeed::decode::{self, DecodeOptions, ImageFormat};
///
/// let bitmap = [b"P6 2 1 255\n".as_slice(), &[255, 0, 0, 0, 0, 255]].concat();
/// assert_eq!(decode::probe(&bitmap, &DecodeOptions::default())?.format, ImageFormat::Pnm);
/// # Ok::<(), gpufeed::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageFormat {
    /// JPEG (JFIF, EXIF, Adobe).
    Jpeg,
    /// PNG.
    Png,
    /// WebP; of an animation the first frame.
    WebP,
    /// GIF; of an animation the first frame.
    Gif,
    /// Windows bitmap.
    Bmp,
    /// TIFF; of several images the first.
    Tiff,
    /// Portable anymap: PBM, PGM, PPM, in text or binary, and PAM.
    Pnm,
}

impl ImageFormat {
    /// The format's name in messages.
    ///
    /// ```
    /// assert_eq!(gpufeed::decode::ImageFormat::Jpeg.name(), "JPEG");
    /// ```
    pub fn name(self) -> &'static str {
        match self {
            ImageFormat::Jpeg => "JPEG",
            ImageFormat::Png => "PNG",
            ImageFormat::WebP => "WebP",
            ImageFormat::Gif => "GIF",
            ImageFormat::Bmp => "BMP",
            ImageFormat::Tiff => "TIFF",
            ImageFormat::Pnm => "PNM",
        }
    }

    /// The format by its first bytes, 12 at the most; `None` for all that is not decoded here.
    ///
    /// ```
    /// use gpufeed::decode::ImageFormat;
    ///
    /// assert_eq!(ImageFormat::recognise(b"GIF89a"), Some(ImageFormat::Gif));
    /// assert_eq!(ImageFormat::recognise(b"%PDF-1.7"), None);
    /// ```
    pub fn recognise(bytes: &[u8]) -> Option<Self> {
        match bytes {
            [0xFF, 0xD8, 0xFF, ..] => Some(ImageFormat::Jpeg),
            [0x89, b'P', b'N', b'G', 0x0D, 0x0A, 0x1A, 0x0A, ..] => Some(ImageFormat::Png),
            [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some(ImageFormat::WebP),
            [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some(ImageFormat::Gif),
            [b'B', b'M', ..] => Some(ImageFormat::Bmp),
            // 42 is TIFF, 43 BigTIFF.
            [b'I', b'I', 42 | 43, 0, ..] | [b'M', b'M', 0, 42 | 43, ..] => Some(ImageFormat::Tiff),
            [b'P', b'1'..=b'7', b'\t' | b'\n' | b'\r' | b' ' | b'#', ..] => Some(ImageFormat::Pnm),
            _ => None,
        }
    }
}

/// What [`probe`] found.
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
    /// The format, recognised by content.
    pub format: ImageFormat,
    /// Columns of the oriented image, at least 1.
    pub width: u32,
    /// Rows of the oriented image, at least 1.
    pub height: u32,
    /// EXIF orientation to apply, 1..=8.
    pub(super) orientation: u8,
    /// Columns and rows as stored.
    pub(super) stored: (u32, u32),
    /// Memory that decoding takes beside its pixels.
    pub(super) cost: Cost,
}

impl Probe {
    /// The EXIF orientation that [`decode`](super::decode) applies, 1..=8; 1 is as stored, and what
    /// [`Orientation::Ignore`] makes of every image.
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

    /// Bytes of memory that decoding all of the image takes at its busiest: its pixels in RGBA, again where EXIF turns
    /// them, and what the decoder holds of it; worked out from the header. Metadata may take up to 64 MiB more.
    ///
    /// ```
    /// use gpufeed::decode::{self, DecodeOptions};
    ///
    /// let bitmap = [b"P6 2 1 255\n".as_slice(), &[255, 0, 0, 0, 0, 255]].concat();
    /// // Two pixels, as they are stored and as RGBA.
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

    /// The image as it is when decoded at `scale`.
    pub(crate) fn scaled(&self, scale: Scale) -> Scaled {
        Scaled::new(self, scale)
    }
}

/// Reads the header of an encoded image. Nothing of the image's size is allocated, for a JPEG nothing at all.
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
                format!("neither JPEG, PNG, WebP, GIF, BMP nor TIFF; begins with {:02x?}", &bytes[..bytes.len().min(8)])
            }
        };
        return Err(ErrorKind::Decode { format: "image", reason }.into());
    };
    let header = match format {
        ImageFormat::Jpeg => jpeg_header(bytes)?,
        _ => guarded(format, || fallback::header(bytes, format))?,
    };
    let (width, height) = header.size;
    options.check_size(format, width, height)?;
    let orientation = match options.exif {
        Orientation::Apply => header.orientation,
        Orientation::Ignore => 1,
    };
    let (width, height) = if orientation::swaps_axes(orientation) { (height, width) } else { (width, height) };
    let probe = Probe { format, width, height, orientation, stored: header.size, cost: header.cost };
    probe.check_memory(options)?;
    Ok(probe)
}

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

/// The marker and the payload of the segments of a JPEG (ITU-T T.81, annex B), from `at` up to and including the next
/// SOS or EOI.
///
/// Fill bytes (any number of 0xFF) before a marker and stray bytes between segments are skipped, as every decoder does.
pub(super) struct Segments<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Segments<'a> {
    /// Begins after the marker of the image's start.
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Segments { bytes, at: 2 }
    }
}

/// SOS: entropy-coded data follows its segment.
const SOS: u8 = 0xDA;
/// EOI: end of the image.
pub(super) const EOI: u8 = 0xD9;

impl<'a> Iterator for Segments<'a> {
    type Item = (u8, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            // In entropy-coded data 0xFF is followed by 0 (stuffing) or a restart marker; both are stepped over here.
            self.at += self.bytes.get(self.at..)?.iter().position(|&byte| byte == 0xFF)?;
            self.at += self.bytes[self.at..].iter().position(|&byte| byte != 0xFF)?;
            let marker = self.bytes[self.at];
            self.at += 1;
            match marker {
                // Stuffing, TEM, RST0..7, SOI: no segment follows.
                0x00 | 0x01 | 0xD0..=0xD8 => continue,
                EOI => return Some((EOI, &[])),
                _ => {}
            }
            let length = self.bytes.get(self.at..self.at + 2)?;
            // The length counts its own two bytes; less is nonsense and skips just those.
            let length = usize::from(u16::from_be_bytes([length[0], length[1]])).max(2);
            let payload = self.bytes.get(self.at + 2..self.at + length)?;
            self.at += length;
            return Some((marker, payload));
        }
    }
}

fn jpeg_header(bytes: &[u8]) -> Result<Header> {
    let mut frame = None;
    let mut orientation = None;
    for (marker, payload) in Segments::new(bytes) {
        match marker {
            // SOF0..15; C4, C8 and CC in their midst are DHT, JPG and DAC.
            0xC0..=0xCF if !matches!(marker, 0xC4 | 0xC8 | 0xCC) => {
                let &[_, h1, h0, w1, w0, ..] = payload else {
                    return Err(broken(ImageFormat::Jpeg, "the frame header (SOF) is too short"));
                };
                let size = (u32::from(u16::from_be_bytes([w1, w0])), u32::from(u16::from_be_bytes([h1, h0])));
                // SOF2, 6, 10 and 14 are progressive.
                frame = frame.or(Some((size, payload, marker & 3 == 2)));
            }
            0xE1 if orientation.is_none() => {
                orientation = payload.strip_prefix(b"Exif\0\0").map(orientation::from_tiff);
            }
            SOS | EOI if frame.is_none() => {
                return Err(broken(ImageFormat::Jpeg, "no frame header (SOF) before the first scan"));
            }
            SOS | EOI => break,
            _ => {}
        }
    }
    let (size, payload, progressive) =
        frame.ok_or_else(|| truncated(ImageFormat::Jpeg, "the bytes end before the frame header (SOF)"))?;
    let cost = memory::jpeg(payload, size, progressive);
    Ok(Header { size, orientation: orientation.unwrap_or(1), cost })
}

/// Whether a JPEG's end-of-image marker is there.
///
/// 0xFF 0xD9 cannot occur inside entropy-coded data, so finding it last in the file (padding aside) settles the matter at
/// no cost. Otherwise there is garbage behind the image, or the image was cut: walking its segments tells.
/// A JPEG that only lacks the marker counts as cut; libjpeg, through Pillow, refuses it as well.
pub fn jpeg_has_end(bytes: &[u8]) -> bool {
    let padding = bytes.iter().rev().take_while(|byte| matches!(byte, 0 | b'\n' | b'\r' | b' ')).count();
    bytes[..bytes.len() - padding].ends_with(&[0xFF, EOI]) || Segments::new(bytes).any(|(marker, _)| marker == EOI)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOF: [u8; 13] = [0xFF, 0xC2, 0, 11, 8, 0, 20, 0, 30, 1, 1, 0x11, 0];
    const SCAN: [u8; 12] = [0xFF, SOS, 0, 8, 1, 1, 0, 0, 63, 0, 0x12, 0x34];

    fn size_of(parts: &[&[u8]]) -> Result<Header> {
        jpeg_header(&parts.concat())
    }

    #[test]
    fn walks_fill_bytes_stray_bytes_and_tables() {
        let header =
            size_of(&[b"\xFF\xD8\xFF\xFF\xFF\xE0\0\x04ab", b"stray", b"\xFF\xC4\0\x03x", &SOF, &SCAN]).unwrap();
        assert_eq!((header.size, header.orientation), ((30, 20), 1));
    }

    #[test]
    fn a_header_cut_anywhere_is_an_error() {
        let whole = [b"\xFF\xD8".as_slice(), &SOF].concat();
        assert!(jpeg_header(&whole).is_ok());
        for length in 2..whole.len() {
            assert!(matches!(jpeg_header(&whole[..length]).unwrap_err().kind(), ErrorKind::TruncatedImage { .. }));
        }
        assert!(matches!(size_of(&[b"\xFF\xD8", &SCAN]).unwrap_err().kind(), ErrorKind::Decode { .. }));
    }

    #[test]
    fn finds_the_end_before_garbage() {
        let whole = [b"\xFF\xD8".as_slice(), &SOF, &SCAN, b"\xFF\x00\xFF\xD0z\xFF\xD9"].concat();
        assert!(jpeg_has_end(&whole));
        assert!(jpeg_has_end(&[&whole[..], b"\0\0\n"].concat()));
        assert!(jpeg_has_end(&[&whole[..], b"trailing garbage"].concat()));
        for cut in 1..whole.len() - 2 {
            assert!(!jpeg_has_end(&whole[..whole.len() - cut]), "{cut} bytes cut");
        }
    }
}
