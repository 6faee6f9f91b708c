//! Decodes WebP, BMP and PNM with the `image` crate. Decodes the whole image, and converts only the region. Reads the
//! header of PNG files too.
//!
//! Conversions are those of Pillow's `convert("RGB")`: gray is replicated, alpha is dropped (no blending), palettes are
//! looked up. 16-bit samples become 8-bit by `>> 8`. Pillow differs in one thing: it clips gray of 16 bits to 0..=255
//! instead of scaling it.

use std::io::{Cursor, ErrorKind as Io};

use image::codecs::pnm::PnmDecoder;
use image::{ColorType, ImageDecoder, ImageReader, Limits};

use super::format::ImageFormat;
use super::header::ImageHeader;
use super::memory::{Cost, METADATA, try_grow};
use super::{DecodeOptions, PIXEL, Placed, Scratch, Truncated, broken, check_declared, metadata, png, truncated, webp};
use crate::geometry::Rect;
use crate::pixels::convert_row;
use crate::{Error, Result};

/// Bytes of the widest pixel: four samples of 16 bits.
const WIDEST: u64 = 8;

fn open(bytes: &[u8], format: ImageFormat, max_alloc: u64) -> Result<impl ImageDecoder> {
    let codec = match format {
        ImageFormat::Png => image::ImageFormat::Png,
        ImageFormat::WebP => image::ImageFormat::WebP,
        ImageFormat::Bmp => image::ImageFormat::Bmp,
        ImageFormat::Pnm => image::ImageFormat::Pnm,
        ImageFormat::Jpeg | ImageFormat::Gif | ImageFormat::Tiff => {
            return Err(broken(format, "another decoder reads this format"));
        }
    };
    let mut limits = Limits::no_limits();
    limits.max_alloc = Some(max_alloc);
    let mut reader = ImageReader::with_format(Cursor::new(bytes), codec);
    reader.limits(limits);
    reader.into_decoder().map_err(|error| refused(format, &error))
}

/// Reads size and orientation from the image's header.
pub(super) fn header(bytes: &[u8], format: ImageFormat) -> Result<ImageHeader> {
    let decoder = open(bytes, format, METADATA as u64)?;
    let size = decoder.dimensions();
    let orientation = match format {
        ImageFormat::Png => metadata::of_png(bytes),
        ImageFormat::WebP => metadata::of_webp(bytes),
        _ => 1,
    };
    Ok(ImageHeader { size, orientation, cost: cost(&decoder, bytes, format) })
}

/// Returns the memory that decoding the image takes; `memory.rs` has the table.
fn cost(decoder: &impl ImageDecoder, bytes: &[u8], format: ImageFormat) -> Cost {
    let (width, height) = decoder.dimensions();
    let pixels = u64::from(width) * u64::from(height);
    let whole = decoder.total_bytes();
    match format {
        ImageFormat::Png => png::cost(bytes, (width, height), decoder.color_type().bytes_per_pixel()),
        // Lossy WebP is decoded in whole blocks, which can reach beyond the image.
        ImageFormat::WebP => {
            let blocks = u64::from(width).next_multiple_of(16) * u64::from(height).next_multiple_of(16);
            let own = match (bytes.get(12..16), bytes.get(20)) {
                (Some(b"VP8 "), _) => blocks * 3 / 2,
                (Some(b"VP8X"), Some(flags)) if flags & 2 != 0 => blocks * 15,
                (Some(b"VP8X"), _) => blocks * 7,
                _ => pixels * 5,
            };
            Cost { resident: whole, transient: own.saturating_add(bytes.len() as u64) }
        }
        _ => Cost { resident: whole, transient: 0 },
    }
}

/// Decodes `stored`, a region of the `size` = (columns, rows) of the stored image, into `scratch.stored`.
pub(super) fn decode(
    bytes: &[u8],
    format: ImageFormat,
    size: (u32, u32),
    stored: Rect,
    options: &DecodeOptions,
    scratch: &mut Scratch,
) -> Result<Placed> {
    let first_frame = if format == ImageFormat::WebP { webp::first_frame(bytes) } else { None };
    let bytes = first_frame.as_deref().unwrap_or(bytes);
    let pixels = u64::from(size.0) * u64::from(size.1);
    let decoder = open(bytes, format, pixels.saturating_mul(WIDEST).saturating_add(METADATA as u64))?;
    check_declared(format, decoder.dimensions(), size)?;
    let color = decoder.color_type();
    let length =
        usize::try_from(decoder.total_bytes()).map_err(|_| broken(format, "does not fit this machine's memory"))?;
    try_grow(&mut scratch.raw, length)?;
    // Grown to the whole image, since the next region may be larger.
    try_grow(&mut scratch.stored, PIXEL * size.0 as usize * size.1 as usize)?;
    cost(&decoder, bytes, format).try_transient()?;
    let raw = &mut scratch.raw[..length];
    let fill = options.truncated == Truncated::Fill;
    if fill {
        raw.fill(0); // missing pixels are black
    }
    if let Err(error) = decoder.read_image(raw) {
        // After an error, samples wider than a byte may still be in file order, so only bytes are used.
        let bytewise = color.bytes_per_pixel() == color.channel_count();
        if !(fill && bytewise && ends_early(&error)) {
            return Err(refused(format, &error));
        }
    }

    let levels = match format {
        ImageFormat::Pnm => Some(Levels::of_pnm(bytes)?),
        _ => None,
    };
    if let Some(levels) = levels.filter(|levels| levels.most < 255) {
        let table: [u8; 256] = std::array::from_fn(|value| levels.of(value as f64, 255.0));
        raw.iter_mut().for_each(|value| *value = table[usize::from(*value)]);
    }
    let deep = |sample: [u8; 2]| match levels {
        Some(levels) => levels.of(u16::from_ne_bytes(sample).into(), 65535.0),
        None => high(sample),
    };

    let row = stored.width as usize * PIXEL;
    let target = &mut scratch.stored[..row * stored.height as usize];
    let source = DecodedImage { raw: &scratch.raw[..length], width: size.0 as usize, region: stored };
    match color {
        ColorType::L8 => source.convert(target, |&[l]| [l, l, l]),
        ColorType::La8 => source.convert(target, |&[l, _]| [l, l, l]),
        ColorType::Rgb8 => source.convert(target, |&rgb: &[u8; 3]| rgb),
        ColorType::Rgba8 => source.convert(target, |&[r, g, b, _]| [r, g, b]),
        ColorType::L16 => source.convert(target, |&[l0, l1]| [high([l0, l1]); 3]),
        ColorType::La16 => source.convert(target, |&[l0, l1, _, _]| [high([l0, l1]); 3]),
        ColorType::Rgb16 => source.convert(target, |p: &[u8; 6]| [0, 2, 4].map(|i| deep([p[i], p[i + 1]]))),
        ColorType::Rgba16 => source.convert(target, |p: &[u8; 8]| [0, 2, 4].map(|i| deep([p[i], p[i + 1]]))),
        other => {
            return Err(broken(format, format!("pixels of type {other:?} are not supported")));
        }
    }
    Ok(Placed { offset: 0, stride: row })
}

/// A decoded image and the region to convert.
struct DecodedImage<'a> {
    raw: &'a [u8],
    width: usize,
    region: Rect,
}

impl DecodedImage<'_> {
    /// Converts the region, pixels of `N` bytes, to RGBA without gaps.
    fn convert<const N: usize>(&self, target: &mut [u8], pixel: impl Fn(&[u8; N]) -> [u8; 3]) {
        let columns = self.region.width as usize;
        let (left, top) = (self.region.left as usize, self.region.top as usize);
        for (y, target) in target.chunks_exact_mut(columns * PIXEL).enumerate() {
            let source = &self.raw[((top + y) * self.width + left) * N..][..columns * N];
            convert_row(source, target, &pixel);
        }
    }
}

/// The levels of PNM, whose header says which number is white.
#[derive(Clone, Copy)]
struct Levels {
    /// The number for white, in the file.
    most: u32,
}

impl Levels {
    fn of_pnm(bytes: &[u8]) -> Result<Levels> {
        let decoder = PnmDecoder::new(bytes).map_err(|error| refused(ImageFormat::Pnm, &error))?;
        Ok(Levels { most: decoder.into_inner().1.maximal_sample() })
    }

    /// Returns the level of a sample that the `image` crate has scaled from `most` to `scaled_to`, as Pillow rounds it. The
    /// crate's rounding is another, but the number in the file follows from its result.
    fn of(self, scaled: f64, scaled_to: f64) -> u8 {
        let most = f64::from(self.most);
        let stored = (scaled * most / scaled_to).round();
        (stored / most * 255.0).round_ties_even().min(255.0) as u8
    }
}

/// Returns the high byte of a 16-bit sample in this machine's byte order.
fn high(sample: [u8; 2]) -> u8 {
    (u16::from_ne_bytes(sample) >> 8) as u8
}

fn refused(format: ImageFormat, error: &image::ImageError) -> Error {
    if ends_early(error) { truncated(format, error.to_string()) } else { broken(format, error.to_string()) }
}

/// Returns true if the error means that the bytes ended too early.
fn ends_early(error: &image::ImageError) -> bool {
    // An I/O error is not its own source, so the first step is separate.
    let mut cause: Option<&(dyn std::error::Error + 'static)> = match error {
        image::ImageError::IoError(io) => Some(io),
        other => Some(other),
    };
    while let Some(error) = cause {
        if error.downcast_ref::<std::io::Error>().is_some_and(|io| io.kind() == Io::UnexpectedEof) {
            return true;
        }
        cause = error.source();
    }
    false
}
