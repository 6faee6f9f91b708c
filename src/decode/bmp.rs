//! Decodes three kinds of BMP as Pillow does: run lengths, whose gaps have colour 0; 16 bits a pixel, whose levels are
//! `value * 255 / 31` (or 63) rounded down; and palettes of files which say that the pixels begin where the palette does. The
//! `image` crate, which reads all others, leaves gaps black, rounds to the nearest, and takes the palette for pixels.

use super::format::ImageFormat;
use super::memory::try_grow;
use super::{DecodeOptions, PIXEL, Placed, Scratch, Truncated, check_declared, truncated};
use crate::Result;
use crate::geometry::Rect;

/// A file of one of these kinds.
pub(super) struct Bitmap<'a> {
    size: (u32, u32),
    /// Rows are stored from the bottom up, unless the height is negative.
    top_down: bool,
    kind: Kind<'a>,
    data: &'a [u8],
}

enum Kind<'a> {
    /// Palette of 4 bytes a colour, bits of an index.
    RunLengths(&'a [u8], u32),
    /// The same, without compression.
    Indices(&'a [u8], u32),
    /// True for 6 bits of green and 5 of the others, false for 5 of each.
    Words(bool),
}

impl<'a> Bitmap<'a> {
    /// Reads the header; `None` for other kinds of BMP, and other formats.
    pub(super) fn read(bytes: &'a [u8]) -> Option<Bitmap<'a>> {
        if !bytes.starts_with(b"BM") {
            return None;
        }
        let word = |at: usize| Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?));
        let long = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
        let header = long(14)?;
        if !matches!(header, 40 | 52 | 56 | 64 | 108 | 124) {
            return None;
        }
        let height = long(22)? as i32;
        let (bits, compression) = (word(28)?, long(30)?);
        let mut offset = long(10)? as usize;
        let palette_at = 14 + header as usize;
        let kind = match (bits, compression) {
            (8, 1) | (4, 2) | (1 | 4 | 8, 0) => {
                if compression == 0 && offset != palette_at {
                    return None;
                }
                let colors = match long(46)? as usize {
                    0 => 1 << bits,
                    colors => colors.min(256),
                };
                if offset == palette_at {
                    offset += 4 * colors;
                }
                let end = (palette_at + 4 * colors).min(bytes.len());
                let palette = bytes.get(palette_at..end)?;
                if compression == 0 {
                    Kind::Indices(palette, bits.into())
                } else {
                    Kind::RunLengths(palette, bits.into())
                }
            }
            (16, 0) => Kind::Words(false),
            (16, 3) => match (long(54)?, long(58)?, long(62)?) {
                (0xF800, 0x7E0, 0x1F) => Kind::Words(true),
                (0x7C00, 0x3E0, 0x1F) => Kind::Words(false),
                _ => return None,
            },
            _ => return None,
        };
        let size = (long(18)?, height.unsigned_abs());
        Some(Bitmap { size, top_down: height < 0, kind, data: bytes.get(offset..)? })
    }

    /// Decodes `stored`, a region of the `size` = (columns, rows) of the image, into `scratch.stored`.
    pub(super) fn decode(
        &self,
        size: (u32, u32),
        stored: Rect,
        options: &DecodeOptions,
        scratch: &mut Scratch,
    ) -> Result<Placed> {
        check_declared(ImageFormat::Bmp, self.size, size)?;
        let (width, height) = (size.0 as usize, size.1 as usize);
        let fill = options.truncated == Truncated::Fill;
        let cut = || Err(truncated(ImageFormat::Bmp, "the file ends before its pixels do"));
        // Grown to the whole image, since the next region may be larger.
        try_grow(&mut scratch.stored, PIXEL * width * height)?;
        let stride = stored.width as usize * PIXEL;
        let target = &mut scratch.stored[..stride * stored.height as usize];
        let row_of = |y: usize| if self.top_down { y } else { height - 1 - y };
        let columns = stored.left as usize..(stored.left + stored.width) as usize;
        let rows = (stored.top as usize..).zip(target.chunks_exact_mut(stride));
        match self.kind {
            Kind::Indices(palette, bits) => {
                let row_bytes = (width * bits as usize).div_ceil(32) * 4;
                if self.data.len() < row_bytes * (height - 1) + (width * bits as usize).div_ceil(8) && !fill {
                    return cut();
                }
                for (y, target) in rows {
                    let row = self.data.get(row_of(y) * row_bytes..).unwrap_or_default();
                    for (x, pixel) in columns.clone().zip(target.as_chunks_mut::<PIXEL>().0) {
                        let bit = x * bits as usize;
                        // Missing pixels are black.
                        *pixel = row.get(bit / 8).map_or([0, 0, 0, 255], |&byte| {
                            color_of(palette, byte >> (8 - bits - bit as u32 % 8) & (0xFF >> (8 - bits)))
                        });
                    }
                }
            }
            Kind::RunLengths(palette, bits) => {
                try_grow(&mut scratch.raw, width * height)?;
                let indices = &mut scratch.raw[..width * height];
                if !run_lengths(self.data, bits, width, indices) && !fill {
                    return cut();
                }
                for (y, target) in rows {
                    let row = &indices[row_of(y) * width..][columns.clone()];
                    let pixels = target.as_chunks_mut::<PIXEL>().0.iter_mut().zip(row);
                    pixels.for_each(|(pixel, &index)| *pixel = color_of(palette, index));
                }
            }
            Kind::Words(green_has_six) => {
                let row_bytes = (2 * width).next_multiple_of(4);
                // The last row may come without its padding.
                if self.data.len() < row_bytes * (height - 1) + 2 * width && !fill {
                    return cut();
                }
                for (y, target) in rows {
                    let row = self.data.get(row_of(y) * row_bytes + 2 * columns.start..).unwrap_or_default();
                    let mut words = row.as_chunks::<2>().0.iter();
                    for pixel in target.as_chunks_mut::<PIXEL>().0 {
                        // Missing pixels are black.
                        let word = words.next().map_or(0, |&word| u32::from(u16::from_le_bytes(word)));
                        let five = |shift: u32| (((word >> shift) & 31) * 255 / 31) as u8;
                        let [r, g, b] = match green_has_six {
                            true => [five(11), (((word >> 5) & 63) * 255 / 63) as u8, five(0)],
                            false => [five(10), five(5), five(0)],
                        };
                        *pixel = [r, g, b, 255];
                    }
                }
            }
        }
        Ok(Placed { offset: 0, stride })
    }
}

/// A colour of a palette; black beyond its end.
fn color_of(palette: &[u8], index: u8) -> [u8; PIXEL] {
    match palette.get(4 * usize::from(index)..) {
        Some(&[b, g, r, ..]) => [r, g, b, 255],
        _ => [0, 0, 0, 255],
    }
}

/// Unpacks indices, the lowest row first, in the order and with the clipping of Pillow, which refuses files with a row without
/// pixels. Returns false if the data end before the image and before the code for its end.
fn run_lengths(mut data: &[u8], bits: u32, width: usize, indices: &mut [u8]) -> bool {
    indices.fill(0);
    let (mut done, mut x) = (0, 0);
    // True before the first pixel of a row. The code for a row's end also comes after its last pixel, and ends no other row.
    let mut at_start = true;
    let start = data.len();
    while done < indices.len() {
        let &[count, value, ref rest @ ..] = data else { return false };
        data = rest;
        match (count, value) {
            (0, 0) => {
                done = if at_start { done + width } else { done.next_multiple_of(width) }.min(indices.len());
                (x, at_start) = (0, true);
            }
            (0, 1) => return true,
            (0, 2) => {
                let &[right, up, ref rest @ ..] = data else { return false };
                data = rest;
                done = (done + usize::from(right) + usize::from(up) * width).min(indices.len());
                x = done % width;
                at_start &= right == 0;
            }
            (0, count) => {
                let pixels = usize::from(count).min(indices.len() - done);
                let stored = if bits == 4 { pixels.div_ceil(2) } else { pixels };
                let there = stored.min(data.len());
                for (at, index) in indices[done..done + pixels].iter_mut().enumerate() {
                    *index = match bits {
                        4 => data.get(at / 2).map_or(0, |&byte| if at % 2 == 0 { byte >> 4 } else { byte & 15 }),
                        _ => data.get(at).copied().unwrap_or(0),
                    };
                }
                if there < stored {
                    return false;
                }
                data = &data[stored..];
                done += pixels;
                x += usize::from(count);
                at_start = false;
                // Codes begin at even places.
                if (start - data.len()) % 2 == 1 {
                    data = data.get(1..).unwrap_or_default();
                }
            }
            (count, value) => {
                let pixels = usize::from(count).min(width.saturating_sub(x)).min(indices.len() - done);
                for (at, index) in indices[done..done + pixels].iter_mut().enumerate() {
                    *index = match bits {
                        4 if at % 2 == 0 => value >> 4,
                        4 => value & 15,
                        _ => value,
                    };
                }
                done += pixels;
                x += pixels;
                at_start = false;
            }
        }
    }
    true
}
