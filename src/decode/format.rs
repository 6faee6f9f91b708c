//! Image formats, detected by the first bytes of a file.

/// The format of an image file.
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
    /// PNG, interlaced or not.
    Png,
    /// WebP; the first frame of an animation.
    WebP,
    /// GIF; the first frame of an animation.
    Gif,
    /// BMP, the bitmap of Windows.
    Bmp,
    /// TIFF; the first of several images.
    Tiff,
    /// Portable anymap: PBM, PGM, PPM, in text or binary, and PAM.
    Pnm,
}

impl ImageFormat {
    /// All formats, in the order in which errors list them.
    pub(super) const ALL: [ImageFormat; 7] = [
        ImageFormat::Jpeg,
        ImageFormat::Png,
        ImageFormat::WebP,
        ImageFormat::Gif,
        ImageFormat::Bmp,
        ImageFormat::Tiff,
        ImageFormat::Pnm,
    ];

    /// Returns the format's name in messages.
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

    /// Detects the format by the first 12 bytes or fewer; `None` for formats that are not supported.
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
