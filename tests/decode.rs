//! Decoding through the public API, on images made here: no file outside the repository is needed.
//!
//! With GPUFEED_CORPUS set to a folder, every file beneath it is decoded too; nothing may panic or take long.

#![allow(clippy::print_stdout)] // a skipped test says so

use std::io::Cursor;
use std::path::Path;
use std::time::{Duration, Instant};

use gpufeed::ErrorKind;
use gpufeed::decode::{
    DecodeOptions, ImageFormat, Orientation, Probe, Rect, Scratch, Truncated, decode, probe,
};
use image::{DynamicImage, ImageEncoder, ImageFormat as Codec};
use proptest::prelude::*;

/// A smooth image with a gradient along both axes, so that no turn or mirror maps it to itself.
fn picture(width: u32, height: u32) -> image::RgbImage {
    image::RgbImage::from_fn(width, height, |x, y| {
        image::Rgb([
            (x * 255 / width) as u8,
            (y * 255 / height) as u8,
            ((x + 2 * y) % 97) as u8,
        ])
    })
}

fn encode(image: impl Into<DynamicImage>, codec: Codec) -> Vec<u8> {
    let mut bytes = Cursor::new(Vec::new());
    image.into().write_to(&mut bytes, codec).unwrap();
    bytes.into_inner()
}

/// Puts an APP1 segment that declares an orientation behind a JPEG's SOI.
fn with_exif(jpeg: &[u8], orientation: u8) -> Vec<u8> {
    let app1 = b"\xFF\xE1\0\x22Exif\0\0MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0";
    [
        &jpeg[..2],
        app1,
        &[orientation, 0, 0, 0, 0, 0, 0],
        &jpeg[2..],
    ]
    .concat()
}

/// The region's pixels without gaps, as RGB; alpha is checked here.
fn region_of(
    bytes: &[u8],
    probe: &Probe,
    region: Rect,
    options: &DecodeOptions,
    scratch: &mut Scratch,
) -> gpufeed::Result<Vec<u8>> {
    let decoded = decode(bytes, probe, region, options, scratch)?;
    let row = region.width as usize * 4;
    assert!(decoded.stride >= row);
    assert_eq!(
        decoded.pixels.len(),
        decoded.stride * (region.height as usize - 1) + row
    );
    let mut rgb = Vec::new();
    for line in decoded.pixels.chunks(decoded.stride) {
        for pixel in line[..row].chunks(4) {
            assert_eq!(pixel[3], 255, "alpha");
            rgb.extend_from_slice(&pixel[..3]);
        }
    }
    Ok(rgb)
}

fn whole(probe: &Probe) -> Rect {
    Rect {
        left: 0,
        top: 0,
        width: probe.width,
        height: probe.height,
    }
}

fn all_of(bytes: &[u8], options: &DecodeOptions) -> gpufeed::Result<Vec<u8>> {
    let found = probe(bytes, options)?;
    region_of(
        bytes,
        &found,
        whole(&found),
        options,
        &mut Scratch::default(),
    )
}

fn options(change: impl FnOnce(&mut DecodeOptions)) -> DecodeOptions {
    let mut options = DecodeOptions::default();
    change(&mut options);
    options
}

#[test]
fn formats_are_recognised_and_lossless_ones_are_exact() {
    let expected = picture(23, 17);
    for (codec, format) in [
        (Codec::Png, ImageFormat::Png),
        (Codec::WebP, ImageFormat::WebP),
        (Codec::Bmp, ImageFormat::Bmp),
        (Codec::Tiff, ImageFormat::Tiff),
        (Codec::Gif, ImageFormat::Gif),
        (Codec::Jpeg, ImageFormat::Jpeg),
    ] {
        let bytes = encode(expected.clone(), codec);
        let found = probe(&bytes, &DecodeOptions::default()).unwrap();
        assert_eq!((found.format, found.width, found.height), (format, 23, 17));
        let rgb = all_of(&bytes, &DecodeOptions::default()).unwrap();
        match codec {
            Codec::Gif | Codec::Jpeg => {
                let off: u64 = rgb
                    .iter()
                    .zip(expected.as_raw())
                    .map(|(a, b)| u64::from(a.abs_diff(*b)))
                    .sum();
                assert!(
                    off / (rgb.len() as u64) < 20,
                    "{format:?} is off by {off} in all"
                );
            }
            _ => assert_eq!(&rgb, expected.as_raw(), "{format:?}"),
        }
    }
}

#[test]
fn pixels_convert_as_pillow_converts() {
    let first = |image: DynamicImage, codec| {
        all_of(&encode(image, codec), &DecodeOptions::default()).unwrap()[..3].to_vec()
    };
    let rgba = image::RgbaImage::from_pixel(3, 2, image::Rgba([200, 100, 50, 0]));
    assert_eq!(
        first(rgba.into(), Codec::Png),
        [200, 100, 50],
        "alpha is dropped, not blended"
    );
    let gray = image::GrayAlphaImage::from_pixel(3, 2, image::LumaA([77, 1]));
    assert_eq!(first(gray.into(), Codec::Png), [77; 3]);
    let deep = image::ImageBuffer::from_pixel(3, 2, image::Rgb([0xABFF_u16, 0x01FF, 0xFFFF]));
    assert_eq!(
        first(DynamicImage::ImageRgb16(deep.clone()), Codec::Png),
        [0xAB, 0x01, 0xFF]
    );
    assert_eq!(
        first(DynamicImage::ImageRgb16(deep), Codec::Tiff),
        [0xAB, 0x01, 0xFF]
    );
    let gray = image::ImageBuffer::from_pixel(3, 2, image::Luma([0x80FF_u16]));
    assert_eq!(
        first(DynamicImage::ImageLuma16(gray), Codec::Png),
        [0x80; 3]
    );
    let float = image::ImageBuffer::from_pixel(3, 2, image::Rgb([-1.0_f32, 0.5, 7.0]));
    assert_eq!(
        first(DynamicImage::ImageRgb32F(float), Codec::Tiff),
        [0, 128, 255]
    );
    let gray = image::GrayImage::from_pixel(9, 9, image::Luma([140]));
    assert_eq!(first(gray.into(), Codec::Jpeg), [140; 3]);
}

/// Made with Pillow 13: two flat halves in CMYK, Adobe's transform 0. The expected colours are Pillow's.
#[test]
fn four_component_jpegs_convert_as_pillow_converts() {
    let cmyk = include_bytes!("data/cmyk.jpg").to_vec();
    let mut ycck = cmyk.clone();
    let adobe = cmyk.windows(5).position(|bytes| bytes == b"Adobe").unwrap();
    ycck[adobe + 11] = 2;
    for (bytes, left, right) in [(cmyk, CMYK_LEFT, CMYK_RIGHT), (ycck, YCCK_LEFT, YCCK_RIGHT)] {
        let rgb = all_of(&bytes, &DecodeOptions::default()).unwrap();
        for (x, expected) in [(2, left), (13, right)] {
            for (&got, want) in rgb[x * 3..][..3].iter().zip(expected) {
                assert!(
                    got.abs_diff(want) <= 1,
                    "column {x}: {got} is not {want} of {expected:?}"
                );
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
    let upright = image::load_from_memory(&jpeg).unwrap();
    for value in 1..=8 {
        let mut expected = upright.clone();
        expected.apply_orientation(image::metadata::Orientation::from_exif(value).unwrap());
        let turned = with_exif(&jpeg, value);
        let found = probe(&turned, &DecodeOptions::default()).unwrap();
        assert_eq!(
            (found.width, found.height),
            (expected.width(), expected.height())
        );
        assert_eq!(
            all_of(&turned, &DecodeOptions::default()).unwrap(),
            expected.into_rgb8().into_raw(),
            "EXIF {value}"
        );
        let ignore = options(|o| o.exif = Orientation::Ignore);
        assert_eq!(
            all_of(&turned, &ignore).unwrap(),
            upright.to_rgb8().into_raw()
        );
    }
    let mut png = Vec::new();
    let mut encoder = image::codecs::png::PngEncoder::new(&mut png);
    encoder
        .set_exif_metadata(with_exif(&jpeg, 6)[12..40].to_vec())
        .unwrap();
    encoder
        .write_image(picture(5, 3).as_raw(), 5, 3, image::ColorType::Rgb8.into())
        .unwrap();
    let expected = image::imageops::rotate90(&picture(5, 3)).into_raw();
    assert_eq!(all_of(&png, &DecodeOptions::default()).unwrap(), expected);
}

#[test]
fn a_cut_jpeg_is_refused_or_filled() {
    for bytes in [
        encode(picture(160, 120), Codec::Jpeg),
        encode(image::GrayImage::new(64, 64), Codec::Jpeg),
    ] {
        let garbage = [&bytes[..], b"trailing \xFF garbage"].concat();
        assert_eq!(
            all_of(&garbage, &DecodeOptions::default()).unwrap(),
            all_of(&bytes, &DecodeOptions::default()).unwrap()
        );
        let scan = bytes
            .windows(2)
            .rposition(|pair| pair == [0xFF, 0xDA])
            .unwrap()
            + 20;
        for cut in scan..bytes.len() {
            let error = all_of(&bytes[..cut], &DecodeOptions::default()).unwrap_err();
            assert!(
                matches!(error.kind(), ErrorKind::TruncatedImage { .. }),
                "{cut} of {}: {error}",
                bytes.len()
            );
            let fill = options(|o| o.truncated = Truncated::Fill);
            assert!(
                all_of(&bytes[..cut], &fill).is_ok(),
                "{cut} of {}",
                bytes.len()
            );
        }
    }
}

#[test]
fn a_cut_png_is_refused_or_filled() {
    let bytes = encode(picture(160, 120), Codec::Png);
    let half = &bytes[..bytes.len() / 2];
    let error = all_of(half, &DecodeOptions::default()).unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::TruncatedImage { .. }),
        "{error}"
    );
    let filled = all_of(half, &options(|o| o.truncated = Truncated::Fill)).unwrap();
    assert_eq!(filled[..300], picture(160, 120).as_raw()[..300]);
    assert_eq!(filled.last(), Some(&0));
}

#[test]
fn hostile_headers_are_errors() {
    let kind = |bytes: &[u8]| {
        all_of(bytes, &DecodeOptions::default())
            .unwrap_err()
            .into_kind()
    };
    assert!(matches!(
        kind(b""),
        ErrorKind::Decode {
            format: "image",
            ..
        }
    ));
    assert!(matches!(
        kind(b"no image at all"),
        ErrorKind::Decode {
            format: "image",
            ..
        }
    ));
    let jpeg = encode(picture(20, 20), Codec::Jpeg);
    let sof = jpeg
        .windows(2)
        .position(|pair| pair == [0xFF, 0xC0])
        .unwrap();
    let sized = |height: u16, width: u16| {
        let mut bytes = jpeg.clone();
        bytes[sof + 5..sof + 7].copy_from_slice(&height.to_be_bytes());
        bytes[sof + 7..sof + 9].copy_from_slice(&width.to_be_bytes());
        bytes
    };
    assert!(matches!(
        kind(&sized(65535, 65535)),
        ErrorKind::TooManyPixels { width: 65535, .. }
    ));
    assert!(matches!(
        kind(&sized(16000, 16000)),
        ErrorKind::TruncatedImage { .. }
    ));
    assert!(matches!(kind(&sized(0, 20)), ErrorKind::Decode { .. }));
    assert!(matches!(kind(&sized(20, 0)), ErrorKind::Decode { .. }));
    let small = options(|o| o.max_pixels = 399);
    for codec in [
        Codec::Jpeg,
        Codec::Png,
        Codec::WebP,
        Codec::Gif,
        Codec::Bmp,
        Codec::Tiff,
    ] {
        let bytes = encode(picture(20, 20), codec);
        assert!(matches!(
            probe(&bytes, &small).unwrap_err().kind(),
            ErrorKind::TooManyPixels {
                max_pixels: 399,
                ..
            }
        ));
    }
}

#[test]
fn a_region_outside_the_image_is_an_argument_error() {
    let bytes = encode(picture(20, 10), Codec::Jpeg);
    let found = probe(&bytes, &DecodeOptions::default()).unwrap();
    for (left, top, width, height) in [
        (0, 0, 21, 10),
        (0, 0, 20, 11),
        (20, 0, 1, 1),
        (0, 0, 0, 1),
        (0, 0, 1, 0),
        (u32::MAX, 0, 2, 1),
    ] {
        let region = Rect {
            left,
            top,
            width,
            height,
        };
        let error = decode(
            &bytes,
            &found,
            region,
            &DecodeOptions::default(),
            &mut Scratch::default(),
        )
        .unwrap_err();
        assert!(
            matches!(
                error.kind(),
                ErrorKind::Argument {
                    setting: "region",
                    ..
                }
            ),
            "{region:?}: {error}"
        );
    }
}

#[test]
fn options_travel_as_toml() {
    let options: DecodeOptions =
        toml::from_str("max_pixels = 5\nexif = 'ignore'\ntruncated = 'fill'").unwrap();
    assert_eq!(
        (options.max_pixels, options.exif, options.truncated),
        (5, Orientation::Ignore, Truncated::Fill)
    );
    assert_eq!(
        toml::from_str::<DecodeOptions>("").unwrap(),
        DecodeOptions::default()
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

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

    #[test]
    fn damaged_bytes_never_panic(
        which in 0_usize..6,
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..12),
        fill in any::<bool>(),
    ) {
        let codec = [Codec::Jpeg, Codec::Png, Codec::WebP, Codec::Gif, Codec::Bmp, Codec::Tiff][which];
        let mut bytes = encode(picture(33, 29), codec);
        for (at, value) in damage {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        let options = options(|o| {
            o.max_pixels = 1 << 20;
            o.truncated = if fill { Truncated::Fill } else { Truncated::Error };
        });
        let _ = all_of(&bytes, &options);
    }
}

#[test]
fn the_corpus_neither_panics_nor_hangs() {
    let Some(root) = std::env::var_os("GPUFEED_CORPUS") else {
        println!("skipped: GPUFEED_CORPUS not set");
        return;
    };
    let mut scratch = Scratch::default();
    let (mut good, mut bad) = (0, 0);
    let mut folders = vec![Path::new(&root).to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let bytes = std::fs::read(&path).unwrap();
            for truncated in [Truncated::Error, Truncated::Fill] {
                let options = options(|o| o.truncated = truncated);
                let start = Instant::now();
                let result = probe(&bytes, &options).and_then(|found| {
                    region_of(&bytes, &found, whole(&found), &options, &mut scratch)
                });
                let took = start.elapsed();
                assert!(
                    took < Duration::from_secs(10),
                    "{} took {took:?}",
                    path.display()
                );
                match result {
                    Ok(_) => good += 1,
                    Err(error) => {
                        bad += 1;
                        // A decoder's panic is caught and worded so; none is known in these files.
                        assert!(
                            !error.to_string().contains("panicked"),
                            "{}: {error}",
                            path.display()
                        );
                    }
                }
            }
        }
    }
    println!("{good} decoded, {bad} refused");
}
