//! Pixels in host memory: a checked view with its format, the pixels that executors read, and conversions between them.

use crate::error::{Error, Result};
use crate::geometry::Rect;

/// The format of [`Pixels`]: rows from the top, no gap between rows, channels interleaved.
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

    /// Channels of an image after loading: 1 or 3 (alpha is dropped).
    pub const fn channels(self) -> u32 {
        match self {
            PixelFormat::R8 => 1,
            PixelFormat::Rgb8 | PixelFormat::Rgba8 => 3,
            PixelFormat::F32 { channels } => channels,
        }
    }
}

/// A view of an image's pixels; its length is checked against its size and format.
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
            return Err(Error::argument("channels", format!("{channels}; F32 has 1 or 3")));
        }
        if width == 0 || height == 0 {
            return Err(Error::argument(
                if width == 0 { "width" } else { "height" },
                format!("an image of {width}x{height} has no pixels"),
            ));
        }
        // The product may exceed 64 bits: 2^32 * 2^32 * 12.
        let needed = u128::from(width) * u128::from(height) * format.bytes_per_pixel() as u128;
        if needed != bytes.len() as u128 {
            return Err(Error::argument(
                "bytes",
                format!("{width}x{height} {format:?} needs {needed} bytes, but there are {}", bytes.len()),
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

    /// The format of the bytes.
    pub fn format(&self) -> PixelFormat {
        self.format
    }

    /// All rows: `width * height * format.bytes_per_pixel()` bytes.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }
}

/// Pixels in host memory, the form that decoders, caches and executors share: channels interleaved.
#[derive(Clone, Copy, Debug)]
pub(crate) enum PixelsRef<'a> {
    /// RGBA8 (`size` 4 bytes), RGB8 (3) or gray (1), rows `stride` bytes apart.
    Bytes { data: &'a [u8], stride: usize, size: usize },
    /// Four f32 a pixel, rows `stride` floats apart.
    Floats { data: &'a [f32], stride: usize },
}

impl<'a> PixelsRef<'a> {
    /// The pixels of `inner`, if these are the pixels of `outer`.
    ///
    /// A view that shows only a border reads no pixel, and its region may be anywhere.
    pub(crate) fn region(self, outer: Rect, inner: Rect) -> Self {
        self.part(inner.left.saturating_sub(outer.left) as usize, inner.top.saturating_sub(outer.top) as usize)
    }

    /// Without the first `top` rows and `left` columns.
    fn part(self, left: usize, top: usize) -> Self {
        match self {
            PixelsRef::Bytes { data, stride, size } => {
                PixelsRef::Bytes { data: &data[top * stride + left * size..], stride, size }
            }
            PixelsRef::Floats { data, stride } => PixelsRef::Floats { data: &data[top * stride + 4 * left..], stride },
        }
    }
}

impl<'a> Pixels<'a> {
    /// The 8-bit pixels of `region`, without a copy.
    pub(crate) fn in_place(&self, region: Rect) -> PixelsRef<'a> {
        let size = self.format.bytes_per_pixel();
        let stride = size * self.width as usize;
        PixelsRef::Bytes { data: self.bytes, stride, size }.part(region.left as usize, region.top as usize)
    }
}

/// The rows of `region`, as slices of the pixels' bytes.
fn rows<'a>(pixels: Pixels<'a>, region: Rect) -> impl Iterator<Item = &'a [u8]> {
    let size = pixels.format().bytes_per_pixel();
    let stride = pixels.width() as usize * size;
    let rows = pixels.bytes().chunks_exact(stride).skip(region.top as usize).take(region.height as usize);
    rows.map(move |row| &row[region.left as usize * size..][..region.width as usize * size])
}

/// Appends `region` of 8-bit pixels as RGBA8; gray is repeated, alpha dropped.
pub(crate) fn widen_bytes(pixels: Pixels<'_>, region: Rect, out: &mut Vec<u8>) {
    for row in rows(pixels, region) {
        match pixels.format() {
            PixelFormat::R8 => widen_gray(row, out),
            PixelFormat::Rgb8 => out.extend(row.as_chunks::<3>().0.iter().flat_map(|&[r, g, b]| [r, g, b, 255])),
            PixelFormat::Rgba8 => out.extend(row.as_chunks::<4>().0.iter().flat_map(|&[r, g, b, _]| [r, g, b, 255])),
            PixelFormat::F32 { .. } => unreachable!("float pixels are widened as floats"),
        }
    }
}

/// Appends a row of gray pixels as RGBA8. Files have their own conversions: `decode/png.rs`, `decode/image_crate.rs` and
/// `color.rs` of the JPEG crate.
pub(crate) fn widen_gray(row: &[u8], out: &mut Vec<u8>) {
    out.extend(row.iter().flat_map(|&v| [v, v, v, 255]));
}

/// Appends `width` × `height` pixels of 16-bit gray as four floats each. The number stands in the first two of a pixel's
/// four bytes, the lower one first; rows are `stride` bytes apart.
pub(crate) fn widen_gray16(data: &[u8], stride: usize, (width, height): (u32, u32), out: &mut Vec<f32>) {
    let float = |&[low, high, ..]: &[u8; 4]| f32::from(u16::from_le_bytes([low, high]));
    for row in data.chunks(stride.max(1)).take(height as usize) {
        let pixels = row.as_chunks::<4>().0.iter().take(width as usize);
        out.extend(pixels.map(float).flat_map(|v| [v, v, v, 1.0]));
    }
}

/// Appends `region` of float pixels as four floats each; gray is repeated.
pub(crate) fn widen_floats(pixels: Pixels<'_>, region: Rect, out: &mut Vec<f32>) {
    let float = |bytes: &[u8; 4]| f32::from_ne_bytes(*bytes);
    for row in rows(pixels, region) {
        let values = row.as_chunks::<4>().0.iter().map(float);
        if pixels.format().channels() == 1 {
            out.extend(values.flat_map(|v| [v, v, v, 1.0]));
        } else {
            // Three values a pixel; the fourth follows each third.
            for (i, value) in values.enumerate() {
                out.push(value);
                if i % 3 == 2 {
                    out.push(1.0);
                }
            }
        }
    }
}

/// Converts pixels of `N` bytes to RGBA.
pub(crate) fn convert_row<const N: usize>(source: &[u8], target: &mut [u8], pixel: impl Fn(&[u8; N]) -> [u8; 3]) {
    for (target, source) in target.as_chunks_mut::<4>().0.iter_mut().zip(source.as_chunks::<N>().0) {
        let [r, g, b] = pixel(source);
        *target = [r, g, b, 255];
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
