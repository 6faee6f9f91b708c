//! JPEGs whose scans ask for more work than their bytes can be worth are refused, and the work on others is bounded.

use std::time::{Duration, Instant};

use gpufeed::ErrorKind;
use gpufeed::decode::{DecodeOptions, Rect, Scratch, Truncated, decode, probe};
use gpufeed_testing::encoded::{all_of, options, region_of};

const POLICIES: [Truncated; 2] = [Truncated::Error, Truncated::Fill];

fn segment(marker: u8, payload: &[u8]) -> Vec<u8> {
    [&[0xFF, marker, 0, payload.len() as u8 + 2], payload].concat()
}

/// Makes a progressive file of three components that are scanned in turns, with `data` bytes in each scan: every two of them
/// are a run of 2^14 empty blocks.
fn file(side: u16, scans: usize, data: usize) -> Vec<u8> {
    let [high, low] = side.to_be_bytes();
    let mut file = vec![0xFF, 0xD8];
    file.extend(segment(0xDB, &[&[0][..], &[1; 64]].concat()));
    file.extend(segment(0xC2, &[8, high, low, high, low, 3, 1, 0x11, 0, 2, 0x11, 0, 3, 0x11, 0]));
    // DC's code of no bits, AC's code of a run of 2^14 blocks and more.
    file.extend(segment(0xC4, &[&[0, 1][..], &[0; 15], &[0]].concat()));
    file.extend(segment(0xC4, &[&[0x10, 1][..], &[0; 15], &[0xE0]].concat()));
    for scan in 0..scans {
        file.extend(segment(0xDA, &[1, 1 + (scan % 3) as u8, 0, 1, 63, 0]));
        file.extend(vec![0; data]);
    }
    file.extend([0xFF, 0xD9]);
    file
}

/// Returns the error for a corner of the file, which must be the same with each policy.
fn refused(file: &[u8]) -> String {
    let errors = POLICIES.map(|truncated| {
        let options = options(|options| options.truncated = truncated);
        let found = probe(file, &options).unwrap();
        let corner = Rect { left: 0, top: 0, width: 1, height: 1 };
        decode(file, &found, corner, &options, &mut Scratch::default()).map(drop).unwrap_err()
    });
    assert!(matches!(errors[0].kind(), ErrorKind::Decode { .. }), "{}", errors[0]);
    assert_eq!(errors[0].to_string(), errors[1].to_string());
    errors[0].to_string()
}

#[test]
fn scans_by_the_thousand_are_refused() {
    // A run that goes on behind the last block is no damage.
    for scans in [501, 20_000] {
        let error = refused(&file(64, scans, 2));
        assert!(error.contains("it has more than 500 scans"), "{error}");
    }
    // Scans without any data are damage as well as too many.
    let empty = file(64, 20_000, 0);
    let error = all_of(&empty, &DecodeOptions::default()).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::TruncatedImage { .. }), "{error}");
    let error = all_of(&empty, &options(|options| options.truncated = Truncated::Fill)).unwrap_err();
    assert!(error.to_string().contains("it has more than 500 scans"), "{error}");
    // A file of 500 scans is accepted. All of its coefficients are 0.
    for truncated in POLICIES {
        let options = options(|options| options.truncated = truncated);
        assert!(all_of(&file(64, 500, 2), &options).unwrap().iter().all(|&value| value == 128));
    }
}

#[test]
fn a_few_bytes_for_a_scan_of_a_large_image_are_refused() {
    // A million blocks a component, 62 runs in 124 bytes.
    let bomb = file(8000, 300, 124);
    let error = refused(&bomb);
    assert!(error.contains("its scans cover more than 256 blocks of 8x8 samples for each of its bytes"), "{error}");
    // 40 million blocks, for 152,600 and for 160,600 bytes; 256 for each are 39 million and 41 million.
    assert_eq!(refused(&file(8000, 40, 3800)), error);
    let accepted = file(8000, 40, 4000);
    for truncated in POLICIES {
        let options = options(|options| options.truncated = truncated);
        let found = probe(&accepted, &options).unwrap();
        let corner = Rect { left: 0, top: 0, width: 8, height: 8 };
        let start = Instant::now();
        let pixels = region_of(&accepted, &found, corner, &options, &mut Scratch::default()).unwrap();
        assert!(pixels.iter().all(|&value| value == 128));
        // A scan is left behind the last row of the corner.
        assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
    }
}
