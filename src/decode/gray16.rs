//! Reads gray of 16 bits: `ReadMode::Gray16`.

use super::format::ImageFormat;
use super::{DecodeOptions, Decoded, Probe, ReadMode, ScaledRegion, Scratch, Seek, broken, decode_as};
use crate::geometry::{Rect, Scale};
use crate::{ErrorKind, Result};

/// Bytes of a pixel as executors read it: four floats.
const FLOATS: u64 = 16;

/// Decodes `region` of a PNG of 16-bit gray. The first two bytes of a pixel are the number, the lower one first.
///
/// # Errors
///
/// Those of [`decode`](super::decode); [`ErrorKind::Decode`] for an image of another kind; [`ErrorKind::TooMuchMemory`]
/// also where the pixels as floats take more than the limit.
pub(super) fn decode_gray16<'a>(
    bytes: &[u8],
    probe: &Probe,
    region: Rect,
    options: &DecodeOptions,
    scratch: &'a mut Scratch,
) -> Result<Decoded<'a>> {
    if probe.format != ImageFormat::Png {
        return Err(broken(probe.format, "ReadMode::Gray16 reads gray of 16 bits from PNG alone"));
    }
    let pixels = u64::from(probe.width) * u64::from(probe.height);
    let needed = probe.decode_bytes().saturating_add(pixels.saturating_mul(FLOATS));
    let (max_decode_bytes, (width, height)) = (options.max_decode_bytes, probe.stored);
    if needed > max_decode_bytes {
        let format = probe.format.name();
        return Err(ErrorKind::TooMuchMemory { format, width, height, needed, max_decode_bytes }.into());
    }
    let wanted = ScaledRegion { region, scale: Scale::Full };
    let (decoded, _) = decode_as(ReadMode::Gray16, bytes, probe, wanted, options, Seek::default(), scratch)?;
    Ok(decoded)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::probe;
    use crate::pixels::widen_gray16;
    use image::{DynamicImage, ImageBuffer, Luma};
    use std::io::Cursor;

    fn png(image: impl Into<DynamicImage>) -> Vec<u8> {
        let mut file = Cursor::new(Vec::new());
        image.into().write_to(&mut file, image::ImageFormat::Png).unwrap();
        file.into_inner()
    }

    fn depth(x: u32, y: u32) -> u16 {
        (x * 4099 + y * 257) as u16
    }

    #[test]
    fn numbers_of_16_bits_are_whole() {
        let image = ImageBuffer::from_fn(17, 9, |x, y| Luma([depth(x, y)]));
        let file = png(DynamicImage::ImageLuma16(image));
        let (options, mut scratch) = (DecodeOptions::default(), Scratch::default());
        let probe = probe(&file, &options).unwrap();
        let region = Rect { left: 3, top: 2, width: 11, height: 5 };
        let Decoded { pixels, stride } = decode_gray16(&file, &probe, region, &options, &mut scratch).unwrap();
        let mut floats = Vec::new();
        widen_gray16(pixels, stride, (11, 5), &mut floats);
        let expected = (2..7).flat_map(|y| (3..14).map(move |x| f32::from(depth(x, y))));
        assert!(floats.chunks(4).map(|pixel| pixel[0]).eq(expected));
        assert!(floats.chunks(4).all(|pixel| pixel[0] == pixel[1] && pixel[0] == pixel[2] && pixel[3] == 1.0));
        let few = DecodeOptions { max_decode_bytes: probe.decode_bytes() + 16 * 17 * 9 - 1, ..options };
        let error = decode_gray16(&file, &probe, region, &few, &mut scratch).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::TooMuchMemory { .. }), "{error}");
    }

    #[test]
    fn other_images_are_refused_by_what_they_are() {
        let (options, mut scratch) = (DecodeOptions::default(), Scratch::default());
        let region = Rect { left: 0, top: 0, width: 2, height: 2 };
        let mut refused = |file: &[u8]| {
            let probe = probe(file, &options).unwrap();
            decode_gray16(file, &probe, region, &options, &mut scratch).unwrap_err().to_string()
        };
        let gray = refused(&png(image::GrayImage::new(2, 2)));
        assert!(gray.contains("reads gray of 16 bits, but this is Grayscale of 8 bits"), "{gray}");
        let color = refused(&png(image::RgbImage::new(2, 2)));
        assert!(color.contains("this is Rgb of 8 bits"), "{color}");
        let netpbm = refused(b"P6 2 2 255\n............");
        assert!(netpbm.contains("from PNG alone"), "{netpbm}");
    }
}
