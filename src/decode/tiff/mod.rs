//! Decodes the first image of a TIFF file, strip by strip or tile by tile. The pixels are Pillow's, with the exceptions of
//! `pixels.rs`; what is not read is refused by name.
//!
//! | step | file |
//! |---|---|
//! | the tags of the first directory, and what they mean together | `tags.rs`, `layout.rs` |
//! | the bytes of a strip or tile, unpacked | `unpack.rs`, `fax.rs`, `jpeg.rs` |
//! | the differences that predictors store | `predictor.rs` |
//! | samples to RGBA | `pixels.rs`, `ycbcr.rs` |
//!
//! The crate `tiff` reads fewer files: it has no palettes, no gray with alpha, no bits in reversed order, no planes in tiles,
//! and JPEG inside only by another decoder, whose pixels are not libjpeg's.

mod fax;
mod jpeg;
mod layout;
mod pixels;
mod predictor;
mod tags;
mod unpack;
mod ycbcr;

use super::format::ImageFormat;
use super::header::ImageHeader;
use super::memory::{Cost, try_grow};
use super::{DecodeOptions, PIXEL, Placed, Scratch, Truncated, broken, check_declared, truncated};
use crate::geometry::Rect;
use crate::{Error, Result};
use layout::{Color, Compression, Kind, Layout};
use pixels::Converter;

/// Bytes of the tables of the decoders of LZW and deflate.
const TABLES: u64 = 96 << 10;

fn refused(reason: impl Into<String>) -> Error {
    broken(ImageFormat::Tiff, reason)
}

fn ended(reason: impl Into<String>) -> Error {
    truncated(ImageFormat::Tiff, reason)
}

/// Reads size and orientation.
pub(super) fn header(bytes: &[u8]) -> Result<ImageHeader> {
    let layout = tags::read(bytes)?;
    Ok(ImageHeader { size: layout.size, orientation: layout.orientation, cost: cost(&layout) })
}

/// How the pixels of a file are stored, for `gpufeed doctor`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TiffPixels {
    /// `l`, `palette`, `rgb`, `cmyk` or `ycbcr`.
    pub color: &'static str,
    /// Bits of a sample.
    pub bits: u32,
    /// True if the samples are floats.
    pub float: bool,
    /// True if there is alpha.
    pub alpha: bool,
}

impl TiffPixels {
    /// Reads the header; `None` for files that are not read.
    pub fn read(bytes: &[u8]) -> Option<TiffPixels> {
        let layout = tags::read(bytes).ok()?;
        let color = match layout.color {
            Color::Gray { .. } => "l",
            Color::Palette(_) => "palette",
            Color::Rgb if layout.converted_by_jpeg => "ycbcr",
            Color::Rgb => "rgb",
            Color::Cmyk => "cmyk",
            Color::YCbCr(_) => "ycbcr",
        };
        let alpha = layout.samples > layout.color.samples();
        Some(TiffPixels { color, bits: layout.bits, float: layout.kind == Kind::Float, alpha })
    }
}

/// A strip or tile of all planes stays in memory. JPEG or WebP inside also takes its own pixels, bits in reversed order a copy.
fn cost(layout: &Layout<'_>) -> Cost {
    let chunk = layout.chunk_bytes();
    let pixels = u64::from(layout.chunk.0).saturating_mul(layout.chunk.1.into());
    let file = layout.tiff.bytes().len() as u64;
    let transient = match layout.compression {
        // RGBA, and the planes of three components with their coefficients.
        Compression::Jpeg => pixels.saturating_mul(PIXEL as u64 + 10).saturating_add(file),
        Compression::WebP => pixels.saturating_mul(PIXEL as u64 + 11).saturating_add(file),
        _ => TABLES.saturating_add(if layout.reversed { file } else { 0 }).saturating_add(layout.predictor_bytes()),
    };
    Cost { resident: chunk.saturating_mul(layout.planes_needed() as u64), transient }
}

/// Decodes `stored`, a region of the `size` = (columns, rows) of the stored image, into `scratch.stored`.
pub(super) fn decode(
    bytes: &[u8],
    size: (u32, u32),
    stored: Rect,
    options: &DecodeOptions,
    scratch: &mut Scratch,
) -> Result<Placed> {
    let layout = tags::read(bytes)?;
    check_declared(ImageFormat::Tiff, layout.size, size)?;
    cost(&layout).try_transient()?;
    let plane = usize::try_from(layout.chunk_bytes()).map_err(|_| refused("does not fit this machine's memory"))?;
    let length =
        plane.checked_mul(layout.planes_needed()).ok_or_else(|| refused("does not fit this machine's memory"))?;
    let Scratch { raw, stored: pixels, jpeg, .. } = scratch;
    try_grow(raw, length)?;
    // Grown to the whole image, since the next region may be larger.
    try_grow(pixels, PIXEL * size.0 as usize * size.1 as usize)?;
    let fill = options.truncated == Truncated::Fill;
    let stride = stored.width as usize * PIXEL;
    let target = &mut pixels[..stride * stored.height as usize];
    let converter = Converter::new(&layout);
    let mut unpacker = unpack::Unpacker::new(&layout, fill, jpeg);

    // All of the file is read, because damage outside of the region counts too.
    for (place, index) in layout.places().zip(0..) {
        let rows = place.rows(&layout);
        let mut whole_rows = rows;
        for number in 0..layout.planes_needed() {
            let buffer = &mut raw[number * plane..][..plane];
            let wanted = layout.bytes_of_rows(rows);
            let there = unpacker.unpack(number * layout.chunks_per_plane() + index, rows, &mut buffer[..wanted])?;
            if there < wanted {
                if !fill {
                    return Err(ended("the file ends before its pixels do"));
                }
                whole_rows = whole_rows.min(layout.whole_rows(there));
            }
            predictor::undo(&layout, &mut buffer[..wanted]);
        }
        let Some(part) = place.within(&layout, rows, stored) else { continue };
        for y in part.top..part.top + part.height {
            let row = &mut target[(y - stored.top) as usize * stride..][..stride];
            let row = &mut row[(part.left - stored.left) as usize * PIXEL..][..part.width as usize * PIXEL];
            let (x, y) = ((part.left - place.left) as usize, (y - place.top) as usize);
            if y < whole_rows {
                converter.row(&raw[..length], x, y, row);
            } else {
                // Missing pixels are black.
                row.as_chunks_mut::<PIXEL>().0.fill([0, 0, 0, 255]);
            }
        }
    }
    Ok(Placed { offset: 0, stride })
}
