//! Compares the pixels of JPEGs with libjpeg-turbo's: of damaged and cut files, of progressive and four-component files,
//! and, with GPUFEED_SHARED set as for `tests/pixels/shared_golden.rs`, of every JPEG of the shared data.

#![allow(clippy::print_stdout)] // a skipped test says so

use gpufeed::ErrorKind;
use gpufeed::decode::{DecodeOptions, ImageFormat, Orientation, Rect, Scratch, Truncated, probe};
use gpufeed_testing::damaged::{OtherFile, damaged_files, damaged_other_files, golden, other_files};
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
    for (number, bytes) in damaged_files().iter().chain(&damaged_other_files()).enumerate() {
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
fn progressive_and_four_component_files_are_equal() {
    for OtherFile { name, jpeg, png } in other_files() {
        let expected = all_of(&png, &DecodeOptions::default()).unwrap();
        for options in [DecodeOptions::default(), filled()] {
            assert!(all_of(&jpeg, &options).unwrap() == expected, "{name}");
        }
    }
}

#[test]
fn every_jpeg_has_the_pixels_of_libjpeg_turbo() {
    use sha2::{Digest, Sha256};
    let Some(public) = gpufeed_testing::golden::folder("GPUFEED_SHARED") else { return };
    let shared = public.parent().unwrap().to_owned();
    let list: serde_json::Value = serde_json::from_slice(&std::fs::read(shared.join("decode.json")).unwrap()).unwrap();
    for (policy, truncated) in [("error", Truncated::Error), ("fill", Truncated::Fill)] {
        let options = options(|o| (o.truncated, o.exif) = (truncated, Orientation::Ignore));
        let (mut equal, mut refused) = (0, 0);
        for (path, facts) in list["files"].as_object().unwrap().iter().filter(|(_, facts)| facts["ok"] == true) {
            let bytes = std::fs::read(shared.parent().unwrap().join(path)).unwrap();
            if ImageFormat::recognise(&bytes) != Some(ImageFormat::Jpeg) {
                continue;
            }
            match all_of(&bytes, &options) {
                Ok(pixels) => {
                    let hash: String = Sha256::digest(&pixels).iter().map(|byte| format!("{byte:02x}")).collect();
                    assert_eq!(facts["sha256"], hash.as_str(), "{policy} {path}");
                    equal += 1;
                }
                // Only files with arithmetic coding or damage are refused; where cut files are filled, only those of too
                // few bytes are refused for a cut.
                Err(error) => {
                    let reason = error.to_string();
                    let known = match error.kind() {
                        ErrorKind::TruncatedImage { .. } => {
                            truncated == Truncated::Error || reason.contains("too few bytes")
                        }
                        _ => reason.contains("arithmetic coding is not supported"),
                    };
                    assert!(known && !path.contains("imagenet"), "{policy} {path}: {error}");
                    refused += 1;
                }
            }
        }
        println!("{policy}: {equal} equal, {refused} refused");
        assert_eq!((equal, refused), if truncated == Truncated::Error { (297, 73) } else { (367, 3) }, "{policy}");
    }
}
