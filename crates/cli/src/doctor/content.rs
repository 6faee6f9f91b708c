//! The kind of a file by its first bytes, and the kind of its samples.

use std::io::Cursor;

use gpufeed::decode::ImageFormat;
use image::{ExtendedColorType, ImageDecoder};

use super::kind::{Kind, Verdict};
use super::report::Report;

/// Samples and animation of a format other than JPEG, as far as its header can be read.
pub(super) fn samples(bytes: &[u8], format: ImageFormat, report: &mut Report) {
    use image::codecs::{bmp, gif, png, pnm, tiff, webp};
    let cursor = || Cursor::new(bytes);
    let (color, animated) = match format {
        ImageFormat::Png => match png::PngDecoder::new(cursor()) {
            Ok(decoder) => (decoder.original_color_type(), decoder.is_apng().unwrap_or(false)),
            Err(_) => return,
        },
        ImageFormat::WebP => match webp::WebPDecoder::new(cursor()) {
            Ok(decoder) => (decoder.original_color_type(), decoder.has_animation()),
            Err(_) => return,
        },
        ImageFormat::Gif => match gif::GifDecoder::new(cursor()) {
            Ok(decoder) => (decoder.original_color_type(), false),
            Err(_) => return,
        },
        ImageFormat::Bmp => match bmp::BmpDecoder::new(cursor()) {
            Ok(decoder) => (decoder.original_color_type(), false),
            Err(_) => return,
        },
        ImageFormat::Tiff => match tiff::TiffDecoder::new(cursor()) {
            Ok(decoder) => (decoder.original_color_type(), false),
            Err(_) => return,
        },
        ImageFormat::Pnm => match pnm::PnmDecoder::new(cursor()) {
            Ok(decoder) => (decoder.original_color_type(), false),
            Err(_) => return,
        },
        ImageFormat::Jpeg => return,
    };
    use ExtendedColorType as Color;
    report.pixels = Some(format!("{color:?}").to_lowercase());
    // A GIF's pixels are said to be RGBA whether or not a colour of its palette is transparent.
    let alpha = format != ImageFormat::Gif
        && matches!(
            color,
            Color::La1
                | Color::La2
                | Color::La4
                | Color::La8
                | Color::La16
                | Color::Rgba1
                | Color::Rgba2
                | Color::Rgba4
                | Color::Rgba8
                | Color::Rgba16
                | Color::Rgba32F
        );
    let gray = matches!(
        color,
        Color::L1
            | Color::L2
            | Color::L4
            | Color::L8
            | Color::L16
            | Color::La1
            | Color::La2
            | Color::La4
            | Color::La8
            | Color::La16
    );
    let channels = u16::from(color.channel_count()).max(1);
    let odd = [
        (animated, Kind::Animated),
        (alpha, Kind::Alpha),
        (gray, Kind::Gray),
        (matches!(color, Color::Cmyk8 | Color::Cmyk16), Kind::Cmyk),
        (color.bits_per_pixel() / channels > 8, Kind::Deep),
    ];
    report.notes.extend(odd.iter().filter(|(is, _)| *is).map(|(_, kind)| *kind));
}

/// What a file that no decoder here takes is, by its first bytes.
pub(super) fn content(bytes: &[u8]) -> (Verdict, &'static str) {
    match bytes {
        [_, _, _, _, b'f', b't', b'y', b'p', brand @ ..] => match brand.get(..4) {
            Some(b"avif" | b"avis") => (Verdict::Unsupported, "an AVIF image"),
            Some(b"heic" | b"heix" | b"mif1" | b"msf1" | b"hevc") => (Verdict::Unsupported, "a HEIF image"),
            _ => (Verdict::NoImage, "a film (MP4)"),
        },
        [0xFF, 0x0A, ..] | [0, 0, 0, 0x0C, b'J', b'X', b'L', b' ', ..] => (Verdict::Unsupported, "a JPEG XL image"),
        [0xFF, 0x4F, 0xFF, 0x51, ..] | [0, 0, 0, 0x0C, b'j', b'P', ..] => (Verdict::Unsupported, "a JPEG 2000 image"),
        [b'8', b'B', b'P', b'S', ..] => (Verdict::Unsupported, "a Photoshop document"),
        [b'q', b'o', b'i', b'f', ..] => (Verdict::Unsupported, "a QOI image"),
        [0x76, 0x2F, 0x31, 0x01, ..] => (Verdict::Unsupported, "an OpenEXR image"),
        [b'%', b'P', b'D', b'F', ..] => (Verdict::NoImage, "a PDF document"),
        [b'P', b'K', 3, 4, ..] => (Verdict::NoImage, "a ZIP archive"),
        [0x1F, 0x8B, ..] => (Verdict::NoImage, "gzip data"),
        _ if bytes.iter().all(|&byte| byte == 0) => (Verdict::NoImage, "begins with zeros"),
        _ => {
            // The last character may be cut.
            let text = bytes.utf8_chunks().next().map_or("", |chunk| chunk.valid());
            let printable = !text.is_empty()
                && text.len() + 4 > bytes.len()
                && !text.contains(|c: char| c.is_control() && !c.is_whitespace());
            let text = text.trim_start().to_ascii_lowercase();
            match () {
                () if !printable => (Verdict::NoImage, "bytes of no known kind"),
                () if text.starts_with("<!doctype html") || text.starts_with("<html") => {
                    (Verdict::NoImage, "an HTML page")
                }
                () if text.starts_with("<svg") || text.starts_with("<?xml") => (Verdict::NoImage, "SVG or other XML"),
                () => (Verdict::NoImage, "text"),
            }
        }
    }
}
