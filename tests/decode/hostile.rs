//! Cut, damaged and forged images give errors or filled pixels, never a panic.
//!
//! With GPUFEED_CORPUS set to a folder, every file beneath it is decoded too; none may cause a panic or take long.

#![allow(clippy::print_stdout)] // a skipped test says so

use std::time::{Duration, Instant};

use gpufeed::ErrorKind;
use gpufeed::decode::{DecodeOptions, Scratch, Truncated, probe};
use gpufeed_testing::encoded::{all_of, encode, options, picture, region_of, whole};
use gpufeed_testing::golden;
use image::ImageFormat as Codec;
use proptest::prelude::*;

#[test]
fn a_cut_jpeg_is_refused_or_filled() {
    for bytes in [encode(picture(160, 120), Codec::Jpeg), encode(image::GrayImage::new(64, 64), Codec::Jpeg)] {
        let garbage = [&bytes[..], b"trailing \xFF garbage"].concat();
        assert_eq!(
            all_of(&garbage, &DecodeOptions::default()).unwrap(),
            all_of(&bytes, &DecodeOptions::default()).unwrap()
        );
        let scan = bytes.windows(2).rposition(|pair| pair == [0xFF, 0xDA]).unwrap() + 20;
        for cut in scan..bytes.len() {
            let error = all_of(&bytes[..cut], &DecodeOptions::default()).unwrap_err();
            assert!(matches!(error.kind(), ErrorKind::TruncatedImage { .. }), "{cut} of {}: {error}", bytes.len());
            let fill = options(|o| o.truncated = Truncated::Fill);
            assert!(all_of(&bytes[..cut], &fill).is_ok(), "{cut} of {}", bytes.len());
        }
    }
}

#[test]
fn a_cut_png_is_refused_or_filled() {
    let bytes = encode(picture(160, 120), Codec::Png);
    let half = &bytes[..bytes.len() / 2];
    let error = all_of(half, &DecodeOptions::default()).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::TruncatedImage { .. }), "{error}");
    let filled = all_of(half, &options(|o| o.truncated = Truncated::Fill)).unwrap();
    assert_eq!(filled[..300], picture(160, 120).as_raw()[..300]);
    assert_eq!(filled.last(), Some(&0));
}

#[test]
fn hostile_headers_are_errors() {
    let kind = |bytes: &[u8]| all_of(bytes, &DecodeOptions::default()).unwrap_err().into_kind();
    assert!(matches!(kind(b""), ErrorKind::Decode { format: "image", .. }));
    assert!(matches!(kind(b"no image at all"), ErrorKind::Decode { format: "image", .. }));
    let jpeg = encode(picture(20, 20), Codec::Jpeg);
    let sof = jpeg.windows(2).position(|pair| pair == [0xFF, 0xC0]).unwrap();
    let sized = |height: u16, width: u16| {
        let mut bytes = jpeg.clone();
        bytes[sof + 5..sof + 7].copy_from_slice(&height.to_be_bytes());
        bytes[sof + 7..sof + 9].copy_from_slice(&width.to_be_bytes());
        bytes
    };
    assert!(matches!(kind(&sized(65535, 65535)), ErrorKind::TooManyPixels { width: 65535, .. }));
    assert!(matches!(kind(&sized(16000, 16000)), ErrorKind::TruncatedImage { .. }));
    assert!(matches!(kind(&sized(0, 20)), ErrorKind::Decode { .. }));
    assert!(matches!(kind(&sized(20, 0)), ErrorKind::Decode { .. }));
    let small = options(|o| o.max_pixels = 399);
    for codec in [Codec::Jpeg, Codec::Png, Codec::WebP, Codec::Gif, Codec::Bmp, Codec::Tiff] {
        let bytes = encode(picture(20, 20), codec);
        assert!(matches!(probe(&bytes, &small).unwrap_err().kind(), ErrorKind::TooManyPixels { max_pixels: 399, .. }));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(48) })]

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
    let Some(root) = golden::folder("GPUFEED_CORPUS") else { return };
    let mut scratch = Scratch::default();
    let (mut good, mut bad) = (0, 0);
    let mut folders = vec![root];
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
                let result = probe(&bytes, &options)
                    .and_then(|found| region_of(&bytes, &found, whole(&found), &options, &mut scratch));
                let took = start.elapsed();
                assert!(took < Duration::from_secs(10), "{} took {took:?}", path.display());
                match result {
                    Ok(_) => good += 1,
                    Err(error) => {
                        bad += 1;
                        // A decoder's panic becomes an error with this word; no file may cause one.
                        assert!(!error.to_string().contains("panicked"), "{}: {error}", path.display());
                    }
                }
            }
        }
    }
    println!("{} checked: {good} decoded, {bad} refused", good + bad);
    assert!(good > 0 && bad > 0);
}
