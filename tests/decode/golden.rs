//! Compares the pixels of every decoder with libjpeg-turbo's: for damaged and cut files, for progressive and
//! four-component files, and, with GPUFEED_SHARED set as for `tests/pixels/shared_golden.rs`, for every JPEG of the
//! shared data.

#![allow(clippy::print_stdout)] // a skipped test says so

use gpufeed::ErrorKind;
use gpufeed::decode::{DecodeOptions, ImageFormat, Orientation, Rect, Scratch, Truncated, probe};
use gpufeed_testing::damaged::{damaged_files, golden};
use gpufeed_testing::dice::Dice;
use gpufeed_testing::encoded::{all_of, options, region_of, whole};

fn filled() -> DecodeOptions {
    options(|o| o.truncated = Truncated::Fill)
}

fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xCBF2_9CE4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01B3))
}

#[test]
fn damaged_files_are_filled_as_libjpeg_turbo_fills_them() {
    let list = std::fs::read_to_string(golden().join("jpeg_damaged.txt")).unwrap();
    let mut compared = 0;
    for (number, (bytes, hash)) in damaged_files().iter().zip(list.lines()).enumerate() {
        // The list has no hash for a file that libjpeg-turbo refuses; gpufeed may fill such a file.
        let Ok(hash) = u64::from_str_radix(hash, 16) else { continue };
        let pixels = all_of(bytes, &filled()).unwrap();
        assert_eq!(fnv(&pixels), hash, "{number}");
        compared += 1;
    }
    assert!(compared > 950, "{compared}");
}

#[test]
fn a_region_of_a_damaged_file_is_that_part_of_the_whole() {
    let (mut dice, mut scratch) = (Dice(3), Scratch::default());
    let (mut served, mut refused, mut beside) = (0, 0, 0);
    for (number, bytes) in damaged_files().iter().enumerate() {
        let found = probe(bytes, &filled()).unwrap();
        let Ok(all) = region_of(bytes, &found, whole(&found), &filled(), &mut scratch) else { continue };
        let strict = region_of(bytes, &found, whole(&found), &DecodeOptions::default(), &mut scratch);
        if let Ok(strict) = &strict {
            assert!(*strict == all, "{number}: both policies decode it, to different pixels");
        }
        for _ in 0..4 {
            let mut span = |all: u32| {
                let start = dice.below(all as usize) as u32;
                (start, 1 + dice.below((all - start) as usize) as u32)
            };
            let ((left, width), (top, height)) = (span(found.width), span(found.height));
            let region = Rect { left, top, width, height };
            let row = |y: u32| &all[3 * (y * found.width + left) as usize..][..3 * width as usize];
            let expected: Vec<u8> = (top..top + height).flat_map(row).copied().collect();
            let part = region_of(bytes, &found, region, &filled(), &mut scratch).unwrap();
            assert!(part == expected, "{number}: {region:?}, filled");
            match region_of(bytes, &found, region, &DecodeOptions::default(), &mut scratch) {
                Ok(part) => {
                    assert!(part == expected, "{number}: {region:?}");
                    served += 1;
                    beside += usize::from(strict.is_err());
                }
                Err(error) => {
                    let kind = error.kind();
                    assert!(matches!(kind, ErrorKind::TruncatedImage { .. } | ErrorKind::Decode { .. }), "{number}");
                    assert!(strict.is_err(), "{number}: {region:?} is refused, the whole is not");
                    refused += 1;
                }
            }
        }
    }
    println!("{served} regions decoded, {beside} of them of files that are refused as a whole; {refused} refused");
    assert!(served > 500 && beside > 50 && refused > 500);
}

#[test]
fn other_jpegs_are_within_four_levels() {
    let packed = std::fs::read(golden().join("jpeg_others.bin")).unwrap();
    let list = std::fs::read_to_string(golden().join("jpeg_others.txt")).unwrap();
    let mut rest = packed.as_slice();
    for line in list.lines() {
        let [jpeg, png, name]: [&str; 3] = line.splitn(3, ' ').collect::<Vec<_>>().try_into().unwrap();
        let (file, pixels);
        (file, rest) = rest.split_at(jpeg.parse().unwrap());
        (pixels, rest) = rest.split_at(png.parse().unwrap());
        let expected = all_of(pixels, &DecodeOptions::default()).unwrap();
        for options in [DecodeOptions::default(), filled()] {
            let pixels = all_of(file, &options).unwrap();
            let most = pixels.iter().zip(&expected).map(|(a, b)| a.abs_diff(*b)).max();
            assert!(pixels.len() == expected.len() && most <= Some(4), "{name}: {most:?} levels off");
        }
    }
    assert!(rest.is_empty() && list.lines().count() > 30);
}

/// Returns whether the first frame header declares a progressive or four-component JPEG, which our own engine does not
/// decode.
fn is_other(bytes: &[u8]) -> bool {
    let mut at = 2;
    loop {
        while bytes[at] != 0xFF || matches!(bytes[at + 1], 0 | 0xFF) {
            at += 1;
        }
        match bytes[at + 1] {
            0xC2 => return true,
            0xC0 | 0xC1 => return bytes[at + 9] == 4,
            _ => at += 2 + usize::from(u16::from_be_bytes([bytes[at + 2], bytes[at + 3]])),
        }
    }
}

/// Names of files that libjpeg-turbo decodes, and that another decoder than our own decodes to other pixels.
const DIFFERENT: [&str; 1] = [
    // A progressive file of 16x16 pixels whose scans end before their data do: libjpeg-turbo warns of extraneous bytes,
    // zune-jpeg does not notice them.
    "10cb2d32138629cece3e062a8aea2f52518f21ef",
];

#[test]
fn every_decoder_gives_what_libjpeg_turbo_gives() {
    use sha2::{Digest, Sha256};
    let Some(public) = gpufeed_testing::golden::folder("GPUFEED_SHARED") else { return };
    let shared = public.parent().unwrap().to_owned();
    let list: serde_json::Value = serde_json::from_slice(&std::fs::read(shared.join("decode.json")).unwrap()).unwrap();
    for (policy, truncated) in [("error", Truncated::Error), ("fill", Truncated::Fill)] {
        let options = options(|o| (o.truncated, o.exif) = (truncated, Orientation::Ignore));
        let (mut equal, mut near, mut different, mut refused) = (0, 0, Vec::new(), Vec::new());
        for (path, facts) in list["files"].as_object().unwrap().iter().filter(|(_, facts)| facts["ok"] == true) {
            let bytes = std::fs::read(shared.parent().unwrap().join(path)).unwrap();
            if ImageFormat::recognise(&bytes) != Some(ImageFormat::Jpeg) {
                continue;
            }
            let pixels = match all_of(&bytes, &options) {
                Ok(pixels) => pixels,
                Err(error) => {
                    refused.push((path, error));
                    continue;
                }
            };
            let hash: String = Sha256::digest(&pixels).iter().map(|byte| format!("{byte:02x}")).collect();
            let means = [0, 1, 2].map(|channel| {
                let sum: u64 = pixels.iter().skip(channel).step_by(3).map(|&value| u64::from(value)).sum();
                (sum as f64 / (pixels.len() / 3) as f64 - facts["mean"][channel].as_f64().unwrap()).abs()
            });
            if facts["sha256"] == hash.as_str() {
                equal += 1;
            } else if is_other(&bytes) && means.iter().all(|mean| *mean < 0.5) {
                near += 1;
            } else {
                different.push(path);
            }
        }
        println!("{policy}: {equal} equal, {near} near, {} refused, different: {different:?}", refused.len());
        assert!(different.iter().all(|path| DIFFERENT.iter().any(|name| path.ends_with(name))), "{different:?}");
        // Only files with arithmetic coding or damage are refused; where cut files are filled, only those of too few
        // bytes are refused for a cut.
        for (path, error) in &refused {
            let reason = error.to_string();
            let known = match error.kind() {
                ErrorKind::TruncatedImage { .. } => truncated == Truncated::Error || reason.contains("too few bytes"),
                _ => reason.contains("DAC") || reason.contains("a component without a scan"),
            };
            assert!(known, "{policy} {path}: {error}");
            assert!(!path.contains("imagenet"), "{path}: {error}");
        }
        let counts = (equal, near, different.len(), refused.len());
        assert_eq!(counts, if truncated == Truncated::Error { (288, 8, 1, 73) } else { (358, 8, 1, 3) }, "{policy}");
    }
}
