//! Decodes PNG row by row: only the region's RGBA is in memory, at any bit depth. The rows of interlaced files come in
//! seven passes, so these are decoded whole.

use std::io::{Cursor, ErrorKind as Io};

use png::{BitDepth, ColorType, Decoder, DecodingError, Limits, Reader, Transformations};

use super::format::ImageFormat;
use super::memory::{Cost, METADATA, try_grow};
use super::{DecodeOptions, PIXEL, Placed, ReadMode, Scratch, Truncated, broken, check_declared, truncated};
use crate::geometry::Rect;
use crate::pixels::convert_row;
use crate::{Error, Result};

/// The most rows that the `png` crate holds at a time: unpacked, but not returned yet.
const ROWS: u64 = 8;
/// The bytes of the `png` crate's windows and its state.
const WINDOWS: u64 = 512 << 10;

/// Returns the memory for the file by its header (IHDR), with `pixel` bytes for an unpacked pixel.
pub(super) fn cost(bytes: &[u8], size: (u32, u32), pixel: u8) -> Cost {
    let row = u64::from(size.0) * u64::from(pixel);
    // The interlace method is the last byte of the header, which follows the signature and the chunk's length and name.
    let interlaced = bytes.get(28).is_some_and(|&method| method != 0);
    let rows = if interlaced { u64::from(size.1) } else { 1 };
    Cost { resident: row.saturating_mul(rows), transient: ROWS * (row + 1) + WINDOWS }
}

/// Decodes `stored`, a region of the `size` = (columns, rows) of the stored image, into `scratch.stored`. A number of
/// [`ReadMode::Gray16`] stands in the first two bytes of a pixel, the lower one first; one of [`ReadMode::Mask`] in each of the
/// first three.
pub(super) fn decode(
    mode: ReadMode,
    bytes: &[u8],
    size: (u32, u32),
    stored: Rect,
    options: &DecodeOptions,
    scratch: &mut Scratch,
) -> Result<Placed> {
    let mut decoder = Decoder::new_with_limits(Cursor::new(bytes), Limits { bytes: METADATA });
    let is_mask = mode == ReadMode::Mask;
    // A mask is the numbers of a palette, not its colours.
    decoder.set_transformations(if is_mask { Transformations::IDENTITY } else { Transformations::EXPAND });
    // gpufeed does not use the text and colour profile chunks.
    decoder.set_ignore_text_chunk(true);
    decoder.set_ignore_iccp_chunk(true);
    let mut reader = decoder.read_info().map_err(|error| refused(&error))?;
    let info = reader.info();
    check_declared(ImageFormat::Png, info.size(), size)?;
    if info.frame_control.is_some_and(|frame| (frame.width, frame.height) != size) {
        return Err(broken(ImageFormat::Png, "its first frame is not the whole image"));
    }
    let (color, depth) = reader.output_color_type();
    // Samples of 16 bits are big-endian.
    let convert: fn(&[u8], &mut [u8]) = match (color, depth) {
        (ColorType::Grayscale, BitDepth::Sixteen) if mode == ReadMode::Gray16 => {
            |row, to| convert_row(row, to, |&[high, low]| [low, high, 0])
        }
        (ColorType::GrayscaleAlpha, BitDepth::Sixteen) if mode == ReadMode::Gray16 => {
            |row, to| convert_row(row, to, |&[high, low, _, _]| [low, high, 0])
        }
        _ if mode == ReadMode::Gray16 => {
            let found = format!("{color:?} of {} bits", depth as usize);
            return Err(broken(
                ImageFormat::Png,
                format!("ReadMode::Gray16 reads gray of 16 bits, but this is {found}"),
            ));
        }
        (ColorType::Indexed | ColorType::Grayscale, depth) if is_mask && depth != BitDepth::Sixteen => {
            |row, to| convert_row(row, to, |&[number]| [number, number, number])
        }
        _ if is_mask => {
            let found = format!("{color:?} of {} bits", depth as usize);
            let reason = format!("a mask has a palette or gray of up to 8 bits, but this is {found}");
            return Err(broken(ImageFormat::Png, reason));
        }
        (ColorType::Grayscale, BitDepth::Eight) => |row, to| convert_row(row, to, |&[l]| [l, l, l]),
        (ColorType::Grayscale, BitDepth::Sixteen) => |row, to| convert_row(row, to, |&[l, _]| [l, l, l]),
        (ColorType::GrayscaleAlpha, BitDepth::Eight) => |row, to| convert_row(row, to, |&[l, _]| [l, l, l]),
        (ColorType::GrayscaleAlpha, BitDepth::Sixteen) => |row, to| convert_row(row, to, |&[l, _, _, _]| [l, l, l]),
        (ColorType::Rgb, BitDepth::Eight) => |row, to| convert_row(row, to, |&rgb: &[u8; 3]| rgb),
        (ColorType::Rgb, BitDepth::Sixteen) => |row, to| convert_row(row, to, |&[r, _, g, _, b, _]| [r, g, b]),
        (ColorType::Rgba, BitDepth::Eight) => |row, to| convert_row(row, to, |&[r, g, b, _]| [r, g, b]),
        (ColorType::Rgba, BitDepth::Sixteen) => |row, to| convert_row(row, to, |&[r, _, g, _, b, _, _, _]| [r, g, b]),
        _ => {
            return Err(broken(ImageFormat::Png, format!("samples of {depth:?} bits of {color:?} are not supported")));
        }
    };
    let packed = Packed::of(color, depth);
    let pixel = (color.samples() * depth as usize).div_ceil(8);
    let row = size.0 as usize * pixel;
    // The rows of the file, and after them room for one row that is unpacked.
    let (coming, unpacked) = packed.map_or((row, 0), |packed| ((row * packed.bits as usize).div_ceil(8), row));
    // Grown to the whole image, since the next region may be larger.
    try_grow(&mut scratch.stored, PIXEL * size.0 as usize * size.1 as usize)?;
    let wanted = stored.left as usize * pixel..(stored.left + stored.width) as usize * pixel;
    let stride = stored.width as usize * PIXEL;
    let target = &mut scratch.stored[..stride * stored.height as usize];
    let fill = options.truncated == Truncated::Fill;
    let ended = |error: DecodingError| if fill && ends_early(&error) { Ok(()) } else { Err(refused(&error)) };

    let region = Region { top: stored.top as usize, wanted, stride, packed, convert };
    if reader.info().interlaced {
        let length = coming * size.1 as usize;
        try_grow(&mut scratch.raw, length + unpacked)?;
        let (raw, unpacked) = scratch.raw[..length + unpacked].split_at_mut(length);
        if fill {
            raw.fill(0); // missing pixels are black
        }
        reader.next_frame(raw).map(drop).or_else(ended)?;
        let rows = raw.chunks_exact(coming).skip(stored.top as usize);
        rows.zip(target.chunks_exact_mut(stride)).for_each(|(row, to)| region.convert(row, unpacked, to));
    } else {
        try_grow(&mut scratch.raw, coming + unpacked)?;
        let (raw, unpacked) = scratch.raw[..coming + unpacked].split_at_mut(coming);
        let done = region.rows(&mut reader, raw, unpacked, target);
        if let Err((error, row)) = done {
            ended(error)?;
            let black = target.chunks_exact_mut(stride).skip(row.saturating_sub(region.top));
            black.for_each(|row| row.as_chunks_mut::<PIXEL>().0.fill([0, 0, 0, 255]));
        }
    }
    Ok(Placed { offset: 0, stride })
}

/// The wanted columns of each row, and the first wanted row.
struct Region {
    top: usize,
    /// Bytes of a row.
    wanted: std::ops::Range<usize>,
    stride: usize,
    packed: Option<Packed>,
    convert: fn(&[u8], &mut [u8]),
}

impl Region {
    /// Converts the wanted part of a row as it comes; `unpacked` has room for a row of numbers, where they are packed.
    fn convert(&self, row: &[u8], unpacked: &mut [u8], to: &mut [u8]) {
        let row = match self.packed {
            None => row,
            Some(packed) => {
                packed.unpack(row, unpacked);
                unpacked
            }
        };
        (self.convert)(&row[self.wanted.clone()], to);
    }

    /// Reads all rows, because damage after the region counts too, and converts those of the region.
    ///
    /// # Errors
    /// The decoder's error, and the number of the row.
    fn rows(
        &self,
        reader: &mut Reader<Cursor<&[u8]>>,
        row: &mut [u8],
        unpacked: &mut [u8],
        target: &mut [u8],
    ) -> Result<(), (DecodingError, usize)> {
        let mut number = 0;
        // After the last row this checks the end of the data.
        while reader.read_row(row).map_err(|error| (error, number))?.is_some() {
            let to = number.checked_sub(self.top).and_then(|row| target.chunks_exact_mut(self.stride).nth(row));
            if let Some(to) = to {
                self.convert(row, unpacked, to);
            }
            number += 1;
        }
        Ok(())
    }
}

/// Numbers of fewer than 8 bits, of which a byte has several, the first one in its upper bits.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Packed {
    bits: u32,
    /// Each number is multiplied by this.
    factor: u8,
}

impl Packed {
    /// Returns `None` for numbers of 8 bits and more.
    fn of(color: ColorType, depth: BitDepth) -> Option<Packed> {
        let bits = depth as u32;
        // Pillow, too, scales gray of 2 and 4 bits, and reads 1 bit as false and true.
        let factor = match (color, bits) {
            (ColorType::Grayscale, 2) => 85,
            (ColorType::Grayscale, 4) => 17,
            _ => 1,
        };
        (bits < 8).then_some(Packed { bits, factor })
    }

    fn unpack(self, row: &[u8], to: &mut [u8]) {
        let most = (1 << self.bits) - 1;
        for (byte, to) in row.iter().zip(to.chunks_mut(8 / self.bits as usize)) {
            let shifts = (0..8).step_by(self.bits as usize).rev();
            to.iter_mut().zip(shifts).for_each(|(to, shift)| *to = (byte >> shift & most) * self.factor);
        }
    }
}

fn refused(error: &DecodingError) -> Error {
    let reason = error.to_string();
    if ends_early(error) { truncated(ImageFormat::Png, reason) } else { broken(ImageFormat::Png, reason) }
}

/// Returns true if the error means that the bytes ended too early.
fn ends_early(error: &DecodingError) -> bool {
    matches!(error, DecodingError::IoError(io) if io.kind() == Io::UnexpectedEof)
}
