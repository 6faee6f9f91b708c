//! The stored pixel format of images other than JPEG: channels, depth, transparency, animation.

use std::io::Cursor;

use gpufeed::decode::ImageFormat;
use gpufeed::internals::TiffPixels;
use image::{ExtendedColorType as Color, ImageDecoder};

use super::file_report::FileReport;
use super::finding::Finding;

/// Adds an image's pixel format, and the notes that follow from it, to its report, if its header can be read.
pub(super) fn inspect(bytes: &[u8], format: ImageFormat, report: &mut FileReport) {
    if format == ImageFormat::Tiff {
        if let Some(pixels) = TiffPixels::read(bytes) {
            inspect_tiff(pixels, report);
        }
        return;
    }
    let Some((color, animated)) = read_header(bytes, format) else { return };
    report.pixels = Some(format!("{color:?}").to_lowercase());
    // The GIF decoder reports RGBA even if no colour of the palette is transparent.
    let alpha = format != ImageFormat::Gif && has_alpha(color);
    let channels = u16::from(color.channel_count()).max(1);
    let notes = [
        (animated, Finding::Animated),
        (alpha, Finding::Alpha),
        (is_gray(color), Finding::Gray),
        (matches!(color, Color::Cmyk8 | Color::Cmyk16), Finding::Cmyk),
        (color.bits_per_pixel() / channels > 8, Finding::Deep),
    ];
    report.notes.extend(notes.iter().filter(|(applies, _)| *applies).map(|(_, note)| *note));
}

/// Does the same for a TIFF, which has more colour types than the `image` crate.
fn inspect_tiff(pixels: TiffPixels, report: &mut FileReport) {
    let TiffPixels { color, bits, float, alpha } = pixels;
    report.pixels = Some(format!("{color}{}{bits}{}", if alpha { "a" } else { "" }, if float { "f" } else { "" }));
    let notes = [
        (alpha, Finding::Alpha),
        (color == "l", Finding::Gray),
        (color == "cmyk", Finding::Cmyk),
        (bits > 8, Finding::Deep),
    ];
    report.notes.extend(notes.iter().filter(|(applies, _)| *applies).map(|(_, note)| *note));
}

/// Reads the colour type, and true for an animation. `None` for a JPEG and for a damaged header.
fn read_header(bytes: &[u8], format: ImageFormat) -> Option<(Color, bool)> {
    use image::codecs::{bmp, gif, png, pnm, webp};
    let cursor = Cursor::new(bytes);
    Some(match format {
        ImageFormat::Png => {
            let decoder = png::PngDecoder::new(cursor).ok()?;
            (decoder.original_color_type(), decoder.is_apng().unwrap_or(false))
        }
        ImageFormat::WebP => {
            let decoder = webp::WebPDecoder::new(cursor).ok()?;
            (decoder.original_color_type(), decoder.has_animation())
        }
        ImageFormat::Gif => (gif::GifDecoder::new(cursor).ok()?.original_color_type(), false),
        ImageFormat::Bmp => (bmp::BmpDecoder::new(cursor).ok()?.original_color_type(), false),
        ImageFormat::Pnm => (pnm::PnmDecoder::new(cursor).ok()?.original_color_type(), false),
        ImageFormat::Jpeg | ImageFormat::Tiff => return None,
    })
}

fn has_alpha(color: Color) -> bool {
    use Color::{La1, La2, La4, La8, La16, Rgba1, Rgba2, Rgba4, Rgba8, Rgba16, Rgba32F};
    matches!(color, La1 | La2 | La4 | La8 | La16 | Rgba1 | Rgba2 | Rgba4 | Rgba8 | Rgba16 | Rgba32F)
}

fn is_gray(color: Color) -> bool {
    use Color::{L1, L2, L4, L8, L16, La1, La2, La4, La8, La16};
    matches!(color, L1 | L2 | L4 | L8 | L16 | La1 | La2 | La4 | La8 | La16)
}
