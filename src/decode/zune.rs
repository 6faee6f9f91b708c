//! Decodes JPEGs that our own engine does not support with `zune-jpeg`: progressive files and those of four components.
//! Decodes the whole image. Where the conversion to RGBA is ours, converts only the region.
//!
//! Damaged files of kinds that the engine supports do not come here, nor do sequential ones with separate scans for
//! their components: zune-jpeg decodes those to other colours than libjpeg-turbo.
//!
//! | components | as stored | route |
//! |---|---|---|
//! | 1, 3 | gray, YCbCr | zune writes RGBA |
//! | 3 | RGB | zune writes RGB, the region is widened |
//! | 4 | CMYK, YCCK | zune writes the four planes interleaved, the region is converted by [`cmyk_to_rgba`] |
//!
//! zune's own conversion of four components cannot write RGBA rows (it steps by three bytes), hence the third route.

use zune_core::bytestream::ZCursor;
use zune_core::colorspace::ColorSpace;
use zune_core::options::DecoderOptions;
use zune_jpeg::JpegDecoder;
use zune_jpeg::errors::DecodeErrors;

use super::format::ImageFormat;
use super::memory::try_grow;
use super::{DecodeOptions, PIXEL, Placed, Scratch, Truncated, broken, scans, truncated};
use crate::geometry::Rect;
use crate::{Error, Result};

/// Decodes `stored`, a region of the `size` = (columns, rows) of the stored image, into `scratch.stored`. `declined` is
/// the reason why our own engine does not decode the file.
pub(super) fn decode(
    bytes: &[u8],
    declined: &str,
    size: (u32, u32),
    stored: Rect,
    options: &DecodeOptions,
    scratch: &mut Scratch,
) -> Result<Placed> {
    let fill = options.truncated == Truncated::Fill;
    scans::check(bytes).map_err(|reason| {
        let reason = if reason == declined { reason } else { format!("{reason} ({declined})") };
        broken(ImageFormat::Jpeg, reason)
    })?;
    let size = (size.0 as usize, size.1 as usize);
    let mut decoder = open(bytes, size)?;
    let planes = Planes::of(&decoder)?;
    decoder.set_options(lenient().set_strict_mode(!fill).jpeg_set_out_colorspace(planes.as_written()));
    if planes == Planes::Rgba {
        decode_rgba(&mut decoder, size, stored, fill, scratch)
    } else {
        decode_planes(&mut decoder, planes, size, stored, scratch)
    }
}

type Decoder<'a> = JpegDecoder<ZCursor<&'a [u8]>>;

/// Options for headers, which are read leniently because stray bytes between segments are common. Scans are read
/// strictly unless they may be filled: in strict mode zune reports errors that it would otherwise paint gray.
/// `max_pixels` is checked by our own probe.
fn lenient() -> DecoderOptions {
    DecoderOptions::default()
        .set_strict_mode(false)
        .set_max_width(usize::from(u16::MAX))
        .set_max_height(usize::from(u16::MAX))
        .jpeg_set_max_scans(scans::MAX_SCANS)
        .jpeg_set_out_colorspace(ColorSpace::RGBA)
}

/// Reads the headers, and checks them against the probe's `size` = (columns, rows).
fn open(bytes: &[u8], size: (usize, usize)) -> Result<Decoder<'_>> {
    let mut decoder = JpegDecoder::new_with_options(ZCursor::new(bytes), lenient());
    decoder.decode_headers().map_err(|error| refused(&error))?;
    if decoder.dimensions() != Some(size) {
        let (width, height) = size;
        let reason = format!("declares another size than the {width}x{height} of its probe");
        return Err(broken(ImageFormat::Jpeg, reason));
    }
    Ok(decoder)
}

/// Decodes an image that zune can convert to RGBA. The region stays where zune has written it.
fn decode_rgba(
    decoder: &mut Decoder<'_>,
    (width, height): (usize, usize),
    stored: Rect,
    fill: bool,
    scratch: &mut Scratch,
) -> Result<Placed> {
    let written = width * height * PIXEL;
    try_grow(&mut scratch.stored, written)?;
    let target = &mut scratch.stored[..written];
    if fill {
        target.fill(128); // rows that zune leaves out must not show the previous image
    }
    // zune writes rows in order, and 128 in every byte of missing ones, alpha included: the last alpha shows whether
    // the image is complete.
    target[written - 1] = 0;
    decoder.decode_into(target).map_err(|error| scan_refused(&error))?;
    let placed = Placed { offset: (stored.top as usize * width + stored.left as usize) * PIXEL, stride: width * PIXEL };
    if target[written - 1] != 255 {
        if !fill {
            return Err(truncated(ImageFormat::Jpeg, "the scan ends before the image"));
        }
        for row in target[placed.offset..].chunks_mut(placed.stride).take(stored.height as usize) {
            let row = &mut row[..stored.width as usize * PIXEL];
            row.as_chunks_mut::<PIXEL>().0.iter_mut().for_each(|pixel| pixel[3] = 255);
        }
    }
    Ok(placed)
}

/// Decodes an image whose planes zune cannot convert to RGBA, then converts the region.
fn decode_planes(
    decoder: &mut Decoder<'_>,
    planes: Planes,
    (width, height): (usize, usize),
    stored: Rect,
    scratch: &mut Scratch,
) -> Result<Placed> {
    let written = width * height * planes.as_written().num_components();
    try_grow(&mut scratch.raw, written)?;
    let raw = &mut scratch.raw[..written];
    raw.fill(128); // rows that zune leaves out must not show the previous image
    decoder.decode_into(raw).map_err(|error| scan_refused(&error))?;
    let row = stored.width as usize * PIXEL;
    try_grow(&mut scratch.stored, PIXEL * width * height)?;
    convert(planes, raw, width, stored, &mut scratch.stored[..row * stored.height as usize]);
    Ok(Placed { offset: 0, stride: row })
}

/// Converts zune's error about headers.
fn refused(error: &DecodeErrors) -> Error {
    match error {
        DecodeErrors::ExhaustedData | DecodeErrors::IoErrors(_) => truncated(ImageFormat::Jpeg, error.to_string()),
        _ => broken(ImageFormat::Jpeg, error.to_string()),
    }
}

/// Converts zune's error about a scan: errors that `Truncated::Fill` tolerates are truncations. For zune, a code that
/// is in no Huffman table is a format error.
fn scan_refused(error: &DecodeErrors) -> Error {
    match error {
        DecodeErrors::Format(reason) => truncated(ImageFormat::Jpeg, reason.as_str()),
        DecodeErrors::HuffmanDecode(_) | DecodeErrors::MCUError(_) => truncated(ImageFormat::Jpeg, error.to_string()),
        error => refused(error),
    }
}

/// The planes that zune writes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Planes {
    Rgba,
    Rgb,
    Cmyk,
    Ycck,
}

impl Planes {
    fn of(decoder: &Decoder<'_>) -> Result<Planes> {
        let components = decoder.info().map_or(0, |info| info.components);
        match (components, decoder.input_colorspace()) {
            (1, _) => Ok(Planes::Rgba),
            // For Adobe's transform 0 zune reports "CMYK", which means RGB if there are three components.
            (3, Some(ColorSpace::RGB | ColorSpace::CMYK)) => Ok(Planes::Rgb),
            (3, _) => Ok(Planes::Rgba),
            (4, Some(ColorSpace::YCCK)) => Ok(Planes::Ycck),
            (4, Some(ColorSpace::CMYK)) => Ok(Planes::Cmyk),
            (n, _) => Err(broken(ImageFormat::Jpeg, format!("{n} components in an unknown colour space"))),
        }
    }

    fn as_written(self) -> ColorSpace {
        match self {
            Planes::Rgba => ColorSpace::RGBA,
            Planes::Rgb => ColorSpace::RGB,
            Planes::Cmyk => ColorSpace::CMYK,
            Planes::Ycck => ColorSpace::YCCK,
        }
    }
}

/// Converts `region` of `raw`, an image of `width` columns, to RGBA without gaps.
fn convert(planes: Planes, raw: &[u8], width: usize, region: Rect, target: &mut [u8]) {
    let bytes = planes.as_written().num_components();
    let columns = region.width as usize;
    let rows = target.chunks_exact_mut(columns * PIXEL).enumerate();
    for (y, target) in rows {
        let at = ((region.top as usize + y) * width + region.left as usize) * bytes;
        let source = raw[at..at + columns * bytes].chunks_exact(bytes);
        for (target, source) in target.as_chunks_mut::<PIXEL>().0.iter_mut().zip(source) {
            *target = match (planes, source) {
                (Planes::Rgb, &[r, g, b]) => [r, g, b, 255],
                (Planes::Cmyk, &[c, m, y, k]) => cmyk_to_rgba(c, m, y, k),
                (Planes::Ycck, &[y, cb, cr, k]) => {
                    let [r, g, b] = ycc_to_rgb(y, cb, cr);
                    cmyk_to_rgba(255 - r, 255 - g, 255 - b, k)
                }
                _ => [0, 0, 0, 255],
            };
        }
    }
}

/// Converts a pixel of a four-component JPEG to RGB like Pillow, and so like torchvision's default loader. It assumes
/// inverted samples, as Adobe writes them (with or without Adobe's marker): r = k − (255 − c)·k / 255, with a rounded
/// division; g and b likewise.
fn cmyk_to_rgba(c: u8, m: u8, y: u8, k: u8) -> [u8; 4] {
    let one = |ink: u8| {
        let product = u32::from(255 - ink) * u32::from(k) + 128;
        k - ((product + (product >> 8)) >> 8) as u8 // round(product / 255), never above k
    };
    [one(c), one(m), one(y), 255]
}

/// Converts a pixel from YCbCr to RGB with JFIF's formula: r = y + 1.402 cr, g = y − 0.344136 cb − 0.714136 cr, b = y +
/// 1.772 cb, with cb and cr around 128, in 16-bit fixed point, rounded and clamped.
fn ycc_to_rgb(y: u8, cb: u8, cr: u8) -> [u8; 3] {
    let (y, cb, cr) = (i32::from(y) << 16, i32::from(cb) - 128, i32::from(cr) - 128);
    let byte = |value: i32| ((value + (1 << 15)) >> 16).clamp(0, 255) as u8;
    [byte(y + 91_881 * cr), byte(y - 22_554 * cb - 46_802 * cr), byte(y + 116_130 * cb)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cmyk_is_the_rounded_product() {
        for ink in 0..=255_u8 {
            for k in 0..=255_u8 {
                let exact = f64::from(k) - (f64::from(255 - ink) * f64::from(k) / 255.0).round();
                assert_eq!(f64::from(cmyk_to_rgba(ink, 0, 0, k)[0]), exact, "{ink} {k}");
            }
        }
    }

    #[test]
    fn ycc_known_colours() {
        assert_eq!(ycc_to_rgb(128, 128, 128), [128, 128, 128]);
        assert_eq!(ycc_to_rgb(76, 85, 255), [254, 0, 0]);
        assert_eq!(ycc_to_rgb(255, 0, 128), [255, 255, 28]);
    }
}
