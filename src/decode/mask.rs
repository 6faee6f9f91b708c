//! Reads the numbers of palettes and of gray: `ReadMode::Mask`.

use super::format::ImageFormat;
use super::{DecodeOptions, Decoded, Probe, ReadMode, ScaledRegion, Scratch, Seek, broken, decode_as};
use crate::Result;
use crate::geometry::{Rect, Scale};

/// Decodes `region` of a PNG of a palette or of gray. Each of the first three bytes of a pixel is the number.
///
/// # Errors
///
/// Those of [`decode`](super::decode); [`ErrorKind::Decode`](crate::ErrorKind::Decode) for an image of another kind.
pub(super) fn decode_mask<'a>(
    bytes: &[u8],
    probe: &Probe,
    region: Rect,
    options: &DecodeOptions,
    scratch: &'a mut Scratch,
) -> Result<Decoded<'a>> {
    if probe.format != ImageFormat::Png {
        return Err(broken(probe.format, "masks are palettes and gray from PNG alone"));
    }
    let wanted = ScaledRegion { region, scale: Scale::Full };
    let (decoded, _) = decode_as(ReadMode::Mask, bytes, probe, wanted, options, Seek::default(), scratch)?;
    Ok(decoded)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::{Truncated, probe};
    use ::png::{BitDepth, ColorType};

    const SIZE: (u32, u32) = (13, 6);

    fn number(x: u32, y: u32, depth: BitDepth) -> u8 {
        ((x * 7 + y * 5) % (1 << depth as u32)) as u8
    }

    /// A PNG of `number`s, with a palette of as many colours as there are numbers where it has one.
    fn file(color: ColorType, depth: BitDepth) -> Vec<u8> {
        let bits = depth as u32;
        let mut rows = Vec::new();
        for y in 0..SIZE.1 {
            let mut row = vec![0; (SIZE.0 * bits).div_ceil(8) as usize];
            for x in 0..SIZE.0 {
                let shift = 8 - bits - x * bits % 8;
                row[(x * bits / 8) as usize] |= number(x, y, depth) << shift;
            }
            rows.extend(row);
        }
        let mut file = Vec::new();
        let mut encoder = ::png::Encoder::new(&mut file, SIZE.0, SIZE.1);
        encoder.set_color(color);
        encoder.set_depth(depth);
        if color == ColorType::Indexed {
            encoder.set_palette((0..3 << bits).map(|value| (value % 251) as u8).collect::<Vec<_>>());
            encoder.set_trns(vec![0, 9]);
        }
        encoder.write_header().and_then(|mut writer| writer.write_image_data(&rows)).unwrap();
        file
    }

    fn numbers(file: &[u8], region: Rect, options: &DecodeOptions) -> Result<Vec<u8>> {
        let mut scratch = Scratch::default();
        let Decoded { pixels, stride } = decode_mask(file, &probe(file, options)?, region, options, &mut scratch)?;
        let rows = pixels.chunks(stride).take(region.height as usize);
        let pixels = rows.flat_map(|row| row.chunks(4).take(region.width as usize));
        Ok(pixels
            .inspect(|pixel| assert!(pixel[0] == pixel[1] && pixel[0] == pixel[2]))
            .map(|pixel| pixel[0])
            .collect())
    }

    #[test]
    fn numbers_of_palettes_and_gray_are_those_of_pillow() {
        use BitDepth::{Eight, Four, One, Two};
        let region = Rect { left: 3, top: 1, width: 9, height: 4 };
        for depth in [One, Two, Four, Eight] {
            for color in [ColorType::Indexed, ColorType::Grayscale] {
                let found = numbers(&file(color, depth), region, &DecodeOptions::default()).unwrap();
                let factor = match (color, depth) {
                    (ColorType::Grayscale, Two) => 85,
                    (ColorType::Grayscale, Four) => 17,
                    _ => 1,
                };
                let expected = (1..5).flat_map(|y| (3..12).map(move |x| number(x, y, depth) * factor));
                assert!(found.into_iter().eq(expected), "{color:?} {depth:?}");
            }
        }
    }

    #[test]
    fn what_a_cut_mask_lacks_is_0_where_that_is_asked_for() {
        let file = file(ColorType::Indexed, BitDepth::Four);
        let cut = &file[..file.len() - 30];
        let region = Rect { left: 0, top: 0, width: SIZE.0, height: SIZE.1 };
        assert!(numbers(cut, region, &DecodeOptions::default()).is_err());
        let options = DecodeOptions { truncated: Truncated::Fill, ..DecodeOptions::default() };
        assert_eq!(numbers(cut, region, &options).unwrap().last(), Some(&0));
    }

    #[test]
    fn other_images_are_refused_by_what_they_are() {
        let region = Rect { left: 0, top: 0, width: 2, height: 2 };
        let refused = |file: &[u8]| numbers(file, region, &DecodeOptions::default()).unwrap_err().to_string();
        let mut color = std::io::Cursor::new(Vec::new());
        image::RgbImage::new(2, 2).write_to(&mut color, image::ImageFormat::Png).unwrap();
        let error = refused(&color.into_inner());
        assert!(error.contains("has a palette or gray of up to 8 bits, but this is Rgb of 8 bits"), "{error}");
        let mut wide = std::io::Cursor::new(Vec::new());
        let gray: image::ImageBuffer<image::Luma<u16>, _> = image::ImageBuffer::new(2, 2);
        image::DynamicImage::from(gray).write_to(&mut wide, image::ImageFormat::Png).unwrap();
        let error = refused(&wide.into_inner());
        assert!(error.contains("but this is Grayscale of 16 bits"), "{error}");
        assert!(refused(b"P5 2 2 255\n....").contains("from PNG alone"));
    }
}
