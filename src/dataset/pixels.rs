//! Pixels that need no decoding: their format and a checked view of them.

use crate::error::{Error, Result};

/// How [`Pixels`] are stored: rows from the top, no gap between rows, channels interleaved.
///
/// ```
/// use gpufeed::PixelFormat;
///
/// assert_eq!(PixelFormat::Rgba8.bytes_per_pixel(), 4);
/// assert_eq!(PixelFormat::Rgba8.channels(), 3);
/// assert_eq!(PixelFormat::F32 { channels: 1 }.bytes_per_pixel(), 4);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PixelFormat {
    /// One byte a pixel: gray.
    R8,
    /// Three bytes a pixel.
    Rgb8,
    /// Four bytes a pixel; alpha is dropped.
    Rgba8,
    /// `f32` in the machine's byte order, 0 for black to 1 for white. The bytes need no alignment.
    F32 {
        /// Floats a pixel: 1 or 3.
        channels: u32,
    },
}

impl PixelFormat {
    /// Bytes from one pixel to the next.
    pub const fn bytes_per_pixel(self) -> usize {
        match self {
            PixelFormat::R8 => 1,
            PixelFormat::Rgb8 => 3,
            PixelFormat::Rgba8 => 4,
            PixelFormat::F32 { channels } => 4 * channels as usize,
        }
    }

    /// Channels an image has after loading: 1 or 3 (alpha is not one).
    pub const fn channels(self) -> u32 {
        match self {
            PixelFormat::R8 => 1,
            PixelFormat::Rgb8 | PixelFormat::Rgba8 => 3,
            PixelFormat::F32 { channels } => channels,
        }
    }
}

/// A view of an image's pixels whose length fits its size and format.
///
/// ```
/// use gpufeed::{PixelFormat, Pixels};
///
/// let bytes = vec![128; 4 * 3 * 3];
/// let pixels = Pixels::new(4, 3, PixelFormat::Rgb8, &bytes)?;
/// assert_eq!((pixels.width(), pixels.height()), (4, 3));
/// assert!(Pixels::new(4, 4, PixelFormat::Rgb8, &bytes).is_err());
/// # Ok::<(), gpufeed::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pixels<'a> {
    width: u32,
    height: u32,
    format: PixelFormat,
    bytes: &'a [u8],
}

impl<'a> Pixels<'a> {
    /// Views `bytes` as `height` rows of `width` pixels.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Argument`](crate::ErrorKind::Argument) if `width` or `height` is 0, if `format`
    /// is [`PixelFormat::F32`] with other than 1 or 3 channels, or if there are not exactly
    /// `width * height * format.bytes_per_pixel()` bytes.
    pub fn new(width: u32, height: u32, format: PixelFormat, bytes: &'a [u8]) -> Result<Self> {
        if let PixelFormat::F32 { channels } = format
            && channels != 1
            && channels != 3
        {
            return Err(Error::argument("channels", format!("{channels}, but F32 has 1 or 3")));
        }
        if width == 0 || height == 0 {
            return Err(Error::argument(
                if width == 0 { "width" } else { "height" },
                format!("an image of {width}x{height} has no pixels"),
            ));
        }
        // 2^32 * 2^32 * 12 does not fit 64 bits.
        let needed = u128::from(width) * u128::from(height) * format.bytes_per_pixel() as u128;
        if needed != bytes.len() as u128 {
            return Err(Error::argument(
                "bytes",
                format!("{width}x{height} {format:?} takes {needed} bytes, not {}", bytes.len()),
            ));
        }
        Ok(Pixels { width, height, format, bytes })
    }

    /// Pixels in a row, at least 1.
    pub fn width(&self) -> u32 {
        self.width
    }

    /// Rows, at least 1.
    pub fn height(&self) -> u32 {
        self.height
    }

    /// How the bytes are to be read.
    pub fn format(&self) -> PixelFormat {
        self.format
    }

    /// All rows: `width * height * format.bytes_per_pixel()` bytes.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepts_exact_lengths_of_every_format() {
        for (format, bytes) in [
            (PixelFormat::R8, 6),
            (PixelFormat::Rgb8, 18),
            (PixelFormat::Rgba8, 24),
            (PixelFormat::F32 { channels: 1 }, 24),
            (PixelFormat::F32 { channels: 3 }, 72),
        ] {
            let data = vec![7; bytes];
            let pixels = Pixels::new(3, 2, format, &data).unwrap();
            assert_eq!(pixels.bytes().len(), bytes);
            assert_eq!(pixels.format(), format);
            assert!(Pixels::new(3, 2, format, &data[1..]).is_err(), "{format:?}");
            assert!(Pixels::new(2, 2, format, &data).is_err(), "{format:?}");
        }
    }

    #[test]
    fn rejects_what_is_no_image() {
        let refused = |width, height, format| Pixels::new(width, height, format, &[]).unwrap_err().to_string();
        assert!(refused(0, 4, PixelFormat::R8).starts_with("width: "));
        assert!(refused(4, 0, PixelFormat::R8).starts_with("height: "));
        assert!(refused(1, 1, PixelFormat::F32 { channels: 2 }).starts_with("channels: "));
        let huge = refused(u32::MAX, u32::MAX, PixelFormat::F32 { channels: 3 });
        assert!(huge.contains("221360928781435404300 bytes"), "{huge}");
    }
}
