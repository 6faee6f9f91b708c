//! Decoding through the public API, on images made here: formats, conversions, orientation, regions.

use gpufeed::ErrorKind;
use gpufeed::decode::{DecodeOptions, ImageFormat, Orientation, Rect, Scratch, Truncated, decode, probe};
use gpufeed_testing::encoded::{all_of, encode, options, picture, region_of, whole, with_exif};
use image::{DynamicImage, ImageEncoder, ImageFormat as Codec};
use proptest::prelude::*;

#[test]
fn formats_are_recognised_and_lossless_ones_are_exact() {
    let expected = picture(23, 17);
    for (codec, format) in [
        (Codec::Png, ImageFormat::Png),
        (Codec::WebP, ImageFormat::WebP),
        (Codec::Bmp, ImageFormat::Bmp),
        (Codec::Tiff, ImageFormat::Tiff),
        (Codec::Pnm, ImageFormat::Pnm),
        (Codec::Gif, ImageFormat::Gif),
        (Codec::Jpeg, ImageFormat::Jpeg),
    ] {
        let bytes = encode(expected.clone(), codec);
        let found = probe(&bytes, &DecodeOptions::default()).unwrap();
        assert_eq!((found.format, found.width, found.height), (format, 23, 17));
        let rgb = all_of(&bytes, &DecodeOptions::default()).unwrap();
        match codec {
            Codec::Gif | Codec::Jpeg => {
                let off: u64 = rgb.iter().zip(expected.as_raw()).map(|(a, b)| u64::from(a.abs_diff(*b))).sum();
                assert!(off / (rgb.len() as u64) < 20, "{format:?} is off by {off} in all");
            }
            _ => assert_eq!(&rgb, expected.as_raw(), "{format:?}"),
        }
    }
}

#[test]
fn pixels_convert_as_pillow_converts() {
    let first =
        |image: DynamicImage, codec| all_of(&encode(image, codec), &DecodeOptions::default()).unwrap()[..3].to_vec();
    let rgba = image::RgbaImage::from_pixel(3, 2, image::Rgba([200, 100, 50, 0]));
    assert_eq!(first(rgba.into(), Codec::Png), [200, 100, 50], "alpha is dropped, not blended");
    let gray = image::GrayAlphaImage::from_pixel(3, 2, image::LumaA([77, 1]));
    assert_eq!(first(gray.into(), Codec::Png), [77; 3]);
    let deep = image::ImageBuffer::from_pixel(3, 2, image::Rgb([0xABFF_u16, 0x01FF, 0xFFFF]));
    assert_eq!(first(DynamicImage::ImageRgb16(deep.clone()), Codec::Png), [0xAB, 0x01, 0xFF]);
    assert_eq!(first(DynamicImage::ImageRgb16(deep), Codec::Tiff), [0xAB, 0x01, 0xFF]);
    let gray = image::ImageBuffer::from_pixel(3, 2, image::Luma([0x80FF_u16]));
    assert_eq!(first(DynamicImage::ImageLuma16(gray), Codec::Png), [0x80; 3]);
    let float = image::ImageBuffer::from_pixel(3, 2, image::Rgb([-1.0_f32, 0.5, 7.0]));
    assert_eq!(first(DynamicImage::ImageRgb32F(float), Codec::Tiff), [0, 128, 255]);
    let gray = image::GrayImage::from_pixel(9, 9, image::Luma([140]));
    assert_eq!(first(gray.into(), Codec::Jpeg), [140; 3]);
}

/// Pillow 13 wrote the file: two halves of one CMYK colour each, with Adobe's transform 0. The expected colours are
/// Pillow's.
#[test]
fn four_component_jpegs_convert_as_pillow_converts() {
    let cmyk = include_bytes!("../data/cmyk.jpg").to_vec();
    let mut ycck = cmyk.clone();
    let adobe = cmyk.windows(5).position(|bytes| bytes == b"Adobe").unwrap();
    ycck[adobe + 11] = 2;
    for (bytes, left, right) in [(cmyk, CMYK_LEFT, CMYK_RIGHT), (ycck, YCCK_LEFT, YCCK_RIGHT)] {
        let rgb = all_of(&bytes, &DecodeOptions::default()).unwrap();
        for (x, expected) in [(2, left), (13, right)] {
            for (&got, want) in rgb[x * 3..][..3].iter().zip(expected) {
                assert!(got.abs_diff(want) <= 1, "column {x}: {got} is not {want} of {expected:?}");
            }
        }
    }
}
const CMYK_LEFT: [u8; 3] = [51, 207, 180];
const CMYK_RIGHT: [u8; 3] = [149, 46, 100];
const YCCK_LEFT: [u8; 3] = [98, 235, 26];
const YCCK_RIGHT: [u8; 3] = [0, 11, 63];

#[test]
fn orientation_turns_jpeg_png_and_only_on_request() {
    let jpeg = encode(picture(40, 24), Codec::Jpeg);
    let upright = image::RgbImage::from_raw(40, 24, all_of(&jpeg, &DecodeOptions::default()).unwrap()).unwrap();
    let upright = DynamicImage::from(upright);
    for value in 1..=8 {
        let mut expected = upright.clone();
        expected.apply_orientation(image::metadata::Orientation::from_exif(value).unwrap());
        let turned = with_exif(&jpeg, value);
        let found = probe(&turned, &DecodeOptions::default()).unwrap();
        assert_eq!((found.width, found.height), (expected.width(), expected.height()));
        assert_eq!(
            all_of(&turned, &DecodeOptions::default()).unwrap(),
            expected.into_rgb8().into_raw(),
            "EXIF {value}"
        );
        let ignore = options(|o| o.exif = Orientation::Ignore);
        assert_eq!(all_of(&turned, &ignore).unwrap(), upright.to_rgb8().into_raw());
    }
    let mut png = Vec::new();
    let mut encoder = image::codecs::png::PngEncoder::new(&mut png);
    encoder.set_exif_metadata(with_exif(&jpeg, 6)[12..40].to_vec()).unwrap();
    encoder.write_image(picture(5, 3).as_raw(), 5, 3, image::ColorType::Rgb8.into()).unwrap();
    let expected = image::imageops::rotate90(&picture(5, 3)).into_raw();
    assert_eq!(all_of(&png, &DecodeOptions::default()).unwrap(), expected);
}

/// A BMP of run lengths whose palette has the colour (n, 2n, 3n) at index n.
fn run_lengths((width, height): (u32, u32), bits: u16, data: &[u8]) -> Vec<u8> {
    let palette: Vec<u8> = (0..1_u32 << bits).flat_map(|n| [3 * n, 2 * n, n, 0].map(|level| level as u8)).collect();
    let offset = 54 + palette.len() as u32;
    let compression: u32 = if bits == 8 { 1 } else { 2 };
    let longs = |longs: &[u32]| longs.iter().flat_map(|long| long.to_le_bytes()).collect::<Vec<u8>>();
    let (file, image) = (longs(&[offset + data.len() as u32, 0, offset]), longs(&[40, width, height]));
    let form = [1_u16.to_le_bytes(), bits.to_le_bytes()].concat();
    let rest = longs(&[compression, data.len() as u32, 0, 0, 0, 0]);
    [&b"BM"[..], &file, &image, &form, &rest, &palette, data].concat()
}

/// Pillow refuses files with a row of which no pixel is stored; such a row has colour 0. The lowest row is the first.
#[test]
fn rows_of_run_lengths_lie_where_they_are_stored() {
    type Case<'a> = (u16, &'a [u8], [[u8; 3]; 3]);
    let cases: [Case<'_>; 8] = [
        (8, &[3, 5, 0, 0, 0, 0, 3, 6, 0, 1], [[5; 3], [0; 3], [6; 3]]),
        (4, &[3, 0x55, 0, 0, 0, 0, 3, 0x66, 0, 1], [[5; 3], [0; 3], [6; 3]]),
        (8, &[0, 0, 0, 0, 3, 6, 0, 1], [[0; 3], [0; 3], [6; 3]]),
        // Without codes for the ends of rows, whose pixels beyond the first row are cut off, and with them.
        (8, &[3, 5, 3, 6, 3, 7, 0, 1], [[5; 3], [0; 3], [0; 3]]),
        (8, &[3, 5, 0, 0, 1, 6, 0, 0, 0, 3, 7, 8, 9, 0, 0, 0, 0, 1], [[5; 3], [6, 0, 0], [7, 8, 9]]),
        // A jump to the begin of a row, whose end comes next; one within a row; one to the end of a row.
        (8, &[0, 2, 0, 1, 0, 0, 3, 7, 0, 1], [[0; 3], [0; 3], [7; 3]]),
        (8, &[0, 2, 1, 0, 1, 5, 0, 0, 0, 0, 1, 7, 0, 1], [[0, 5, 0], [0; 3], [7, 0, 0]]),
        (8, &[1, 4, 0, 2, 2, 0, 0, 0, 3, 6, 0, 0, 3, 7, 0, 1], [[4, 0, 0], [6; 3], [7; 3]]),
    ];
    for (bits, data, rows) in cases {
        let colors = rows.iter().rev().flatten().flat_map(|&n| [n, 2 * n, 3 * n]);
        let found = all_of(&run_lengths((3, 3), bits, data), &DecodeOptions::default());
        assert_eq!(found.unwrap(), colors.collect::<Vec<u8>>(), "{data:?}");
    }
}

#[test]
fn missing_pixels_of_run_lengths_have_colour_0() {
    let mut cut = run_lengths((2, 2), 8, &[2, 5, 0, 0]);
    cut[54..57].copy_from_slice(&[30, 20, 10]);
    assert!(matches!(
        all_of(&cut, &DecodeOptions::default()).unwrap_err().kind(),
        ErrorKind::TruncatedImage { format: "BMP", .. }
    ));
    let filled = all_of(&cut, &options(|options| options.truncated = Truncated::Fill)).unwrap();
    assert_eq!(filled, [10, 20, 30, 10, 20, 30, 5, 10, 15, 5, 10, 15]);
}

#[test]
fn a_region_outside_the_image_is_an_argument_error() {
    let bytes = encode(picture(20, 10), Codec::Jpeg);
    let found = probe(&bytes, &DecodeOptions::default()).unwrap();
    for (left, top, width, height) in
        [(0, 0, 21, 10), (0, 0, 20, 11), (20, 0, 1, 1), (0, 0, 0, 1), (0, 0, 1, 0), (u32::MAX, 0, 2, 1)]
    {
        let region = Rect { left, top, width, height };
        let error = decode(&bytes, &found, region, &DecodeOptions::default(), &mut Scratch::default()).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Argument { setting: "region", .. }), "{region:?}: {error}");
    }
}

#[test]
fn options_travel_as_toml() {
    let options: DecodeOptions = toml::from_str("max_pixels = 5\nexif = 'ignore'\ntruncated = 'fill'").unwrap();
    assert_eq!((options.max_pixels, options.exif, options.truncated), (5, Orientation::Ignore, Truncated::Fill));
    assert_eq!(toml::from_str::<DecodeOptions>("").unwrap(), DecodeOptions::default());
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(48) })]

    #[test]
    fn a_region_equals_that_part_of_the_whole(
        (width, height) in (1_u32..60, 1_u32..60),
        corner in (0.0_f64..1.0, 0.0_f64..1.0),
        extent in (0.0_f64..1.0, 0.0_f64..1.0),
        jpeg in any::<bool>(),
    ) {
        let plain = encode(picture(width, height), if jpeg { Codec::Jpeg } else { Codec::Bmp });
        let mut scratch = Scratch::default();
        for orientation in 1..=(if jpeg { 8 } else { 1 }) {
            let bytes = if jpeg { with_exif(&plain, orientation) } else { plain.clone() };
            let options = DecodeOptions::default();
            let found = probe(&bytes, &options).unwrap();
            let pick = |all: u32, start: f64, part: f64| {
                let start = (f64::from(all) * start) as u32;
                (start, 1 + (f64::from(all - start - 1) * part) as u32)
            };
            let (left, columns) = pick(found.width, corner.0, extent.0);
            let (top, rows) = pick(found.height, corner.1, extent.1);
            let region = Rect { left, top, width: columns, height: rows };
            let part = region_of(&bytes, &found, region, &options, &mut scratch).unwrap();
            let all = region_of(&bytes, &found, whole(&found), &options, &mut scratch).unwrap();
            let expected: Vec<u8> = (top..top + rows)
                .flat_map(|y| all[((y * found.width + left) * 3) as usize..][..(columns * 3) as usize].to_vec())
                .collect();
            prop_assert_eq!(part, expected, "orientation {} {:?}", orientation, region);
        }
    }
}
