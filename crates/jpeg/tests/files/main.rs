//! Decodes whole files: compares them with libjpeg-turbo's hashes and regions with whole images, with and without
//! indexes, and damages files and indexes.
//!
//! `tests/golden/jpeg_files.py` writes the files and the hashes. If GPUFEED_CORPUS is set to a folder, regions of every
//! supported file in it are compared with the whole images. If GPUFEED_SHARED is set as for
//! `tests/pixels/shared_golden.rs`, every photograph is compared with Pillow's pixels.

#![allow(clippy::print_stdout)] // tests print that they are skipped

use std::path::Path;

use proptest::prelude::*;

mod forged;
mod public;

use gpufeed_jpeg::internals::first_scan;
use gpufeed_jpeg::{Decoder, Error, Header, Rect, Request, Scale, SeekIndex};
use gpufeed_testing::golden;

/// A golden file.
struct File {
    bytes: Vec<u8>,
    /// The hash of Pillow's pixels at each of [`SCALES`]; `None` for scales that Pillow lacks.
    hashes: [Option<u64>; 4],
    /// A description.
    name: String,
}

const SCALES: [Scale; 4] = [Scale::Full, Scale::Half, Scale::Quarter, Scale::Eighth];

fn files() -> Vec<File> {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden");
    let packed = std::fs::read(golden.join("jpeg_files.bin")).unwrap();
    let mut rest = packed.as_slice();
    let mut file = |line: &str| {
        let [length, hashes @ .., name]: [&str; 6] = line.splitn(6, ' ').collect::<Vec<_>>().try_into().unwrap();
        let bytes;
        (bytes, rest) = rest.split_at(length.parse().unwrap());
        let hashes = hashes.map(|hash| (hash != "-").then(|| u64::from_str_radix(hash, 16).unwrap()));
        File { bytes: bytes.to_vec(), hashes, name: name.to_owned() }
    };
    let files = std::fs::read_to_string(golden.join("jpeg_files.txt")).unwrap().lines().map(&mut file).collect();
    assert!(rest.is_empty());
    files
}

fn size_of(bytes: &[u8]) -> (u32, u32) {
    Header::read(bytes).unwrap().size()
}

fn whole(bytes: &[u8]) -> Rect {
    whole_at(bytes, Scale::Full)
}

fn whole_at(bytes: &[u8], scale: Scale) -> Rect {
    Rect::whole(scale.size(size_of(bytes)))
}

/// The index to decode with, and whether to build one.
#[derive(Clone, Copy, Default)]
struct Seek<'a> {
    index: Option<&'a SeekIndex>,
    build: bool,
}

const BUILD: Seek<'_> = Seek { index: None, build: true };

/// Decodes a region. Returns its pixels and the index.
fn region(bytes: &[u8], requested: Rect, seek: Seek<'_>) -> Result<(Vec<u8>, Option<SeekIndex>), Error> {
    region_at(bytes, requested, Scale::Full, seek)
}

fn region_at(bytes: &[u8], region: Rect, scale: Scale, seek: Seek<'_>) -> Result<(Vec<u8>, Option<SeekIndex>), Error> {
    let request = Request::new(size_of(bytes)).scale(scale).region(region);
    let mut decoder = Decoder::default();
    let decoded = decoder.decode(bytes, &request.index(seek.index).build_index(seek.build))?;
    assert_eq!((decoded.width, decoded.height), (region.width, region.height));
    assert_eq!(decoded.pixels.len(), 4 * region.width as usize * region.height as usize);
    Ok((decoded.pixels.to_vec(), decoded.outcome.index))
}

/// Cuts a region out of the pixels of a whole image.
fn part(pixels: &[u8], width: u32, region: Rect) -> Vec<u8> {
    let row = |y: u32| &pixels[4 * (y * width + region.left) as usize..][..4 * region.width as usize];
    (region.top..region.top + region.height).flat_map(row).copied().collect()
}

#[test]
fn golden_files_equal_libjpeg_turbo() {
    let files = files();
    assert!(files.len() > 100);
    let mut compared = [0; 4];
    for File { bytes, hashes, name } in files {
        for (i, (scale, hash)) in SCALES.into_iter().zip(hashes).enumerate() {
            let (pixels, _) = region_at(&bytes, whole_at(&bytes, scale), scale, Seek::default()).unwrap();
            let (pixels, _) = pixels.as_chunks::<4>();
            assert!(pixels.iter().all(|pixel| pixel[3] == 255), "{name}");
            let fnv = pixels
                .iter()
                .flat_map(|pixel| &pixel[..3])
                .fold(0xCBF2_9CE4_8422_2325_u64, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01B3));
            if let Some(hash) = hash {
                assert_eq!(fnv, hash, "{name} {scale:?}");
                compared[i] += 1;
            }
        }
    }
    assert!(compared.iter().all(|count| *count > 80), "{compared:?}");
}

/// Returns true if the file can have an index, which is the case for images in one scan.
fn has_index(bytes: &[u8]) -> bool {
    !Header::read(bytes).unwrap().several_scans
}

/// Checks that a region has the whole image's pixels when it is decoded without an index, while building one and by
/// one, and that the built index does not depend on the region.
fn check_regions(bytes: &[u8], name: &str, scale: Scale, regions: impl IntoIterator<Item = Rect>) {
    let name = format!("{name} {scale:?}");
    let (pixels, index) = region_at(bytes, whole_at(bytes, scale), scale, BUILD).unwrap();
    assert_eq!(index.is_some(), has_index(bytes), "{name}");
    assert_eq!(index.as_ref().and_then(|index| SeekIndex::from_bytes(&index.to_bytes())), index, "{name}");
    let Rect { width, .. } = whole_at(bytes, scale);
    for requested in regions {
        let expected = part(&pixels, width, requested);
        assert!(region_at(bytes, requested, scale, Seek::default()).unwrap().0 == expected, "{name}: {requested:?}");
        let (built, again) = region_at(bytes, requested, scale, BUILD).unwrap();
        assert!(built == expected && again == index, "{name}: {requested:?}, while building an index");
        let seek = Seek { index: index.as_ref(), build: false };
        assert!(region_at(bytes, requested, scale, seek).unwrap().0 == expected, "{name}: {requested:?} by the index");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(40) })]

    #[test]
    fn a_region_of_a_file_equals_its_part_of_the_whole_image(
        which in any::<prop::sample::Index>(),
        scale in prop::sample::select(&SCALES[..]),
        places in prop::collection::vec((0.0_f64..1.0, 0.0_f64..1.0, 0.0_f64..1.0, 0.0_f64..1.0), 12),
    ) {
        let files = files();
        let File { bytes, name, .. } = which.get(&files);
        let Rect { width, height, .. } = whole_at(bytes, scale);
        let span = |all: u32, start: f64, part: f64| {
            let start = (f64::from(all) * start) as u32;
            (start, 1 + (f64::from(all - start - 1) * part) as u32)
        };
        let regions = places.into_iter().map(|(x, y, columns, rows)| {
            let ((left, width), (top, height)) = (span(width, x, columns), span(height, y, rows));
            Rect { left, top, width, height }
        });
        check_regions(bytes, name, scale, regions);
    }

    #[test]
    fn damaged_files_and_indexes_never_panic(
        which in any::<prop::sample::Index>(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..12),
        in_index in any::<bool>(),
        scale in prop::sample::select(&SCALES[..]),
        corner in (0.0_f64..1.0, 0.0_f64..1.0),
    ) {
        let files = files();
        let File { mut bytes, .. } = files.into_iter().nth(which.index(100)).unwrap();
        let size = size_of(&bytes);
        let Rect { width, height, .. } = whole_at(&bytes, scale);
        let (left, top) = ((f64::from(width) * corner.0) as u32, (f64::from(height) * corner.1) as u32);
        let requested = Rect { left, top, width: width - left, height: height - top };
        let mut index = region(&bytes, whole(&bytes), BUILD).unwrap().1.unwrap().to_bytes();
        let target = if in_index { &mut index } else { &mut bytes };
        for (at, value) in damage {
            let at = at.index(target.len());
            target[at] = value;
        }
        let index = SeekIndex::from_bytes(&index);
        if Header::read(&bytes).is_ok_and(|header| header.size() == size) {
            let _ = region_at(&bytes, requested, scale, Seek { index: index.as_ref(), build: true });
        }
    }
}

#[test]
fn data_before_the_index_entry_are_not_read() {
    // The first half of the scan is overwritten, and the last rows of the image are decoded by the index.
    let mut used = 0;
    for File { mut bytes, name, .. } in files() {
        let (width, height) = size_of(&bytes);
        if height < 100 || !has_index(&bytes) {
            continue;
        }
        let (pixels, index) = region(&bytes, whole(&bytes), BUILD).unwrap();
        let index = index.unwrap();
        let requested = Rect { left: width / 2, top: height - 9, width: width - width / 2, height: 9 };
        let scan = first_scan(&bytes).unwrap().data_offset;
        let half = scan + (bytes.len() - scan) / 2;
        bytes[scan..half].fill(0x55);
        let seek = Seek { index: Some(&index), build: false };
        assert!(region(&bytes, requested, seek).unwrap().0 == part(&pixels, width, requested), "{name}");
        used += 1;
    }
    assert!(used >= 15, "{used}");
}

#[test]
fn damage_after_the_region_costs_only_the_index() {
    let File { mut bytes, .. } = files().into_iter().find(|file| file.name.starts_with("4:2:0 67x129")).unwrap();
    let (width, _) = size_of(&bytes);
    let (pixels, _) = region(&bytes, whole(&bytes), BUILD).unwrap();
    let end = bytes.len();
    bytes.splice(end - 60..end - 2, [0xFF, 0xD9]);
    let top = Rect { left: 5, top: 3, width: 40, height: 20 };
    let (again, index) = region(&bytes, top, BUILD).unwrap();
    assert_eq!((again, index), (part(&pixels, width, top), None));
    assert_eq!(region(&bytes, whole(&bytes), BUILD).unwrap_err(), Error::Damaged("the scan is damaged or cut"));
}

#[test]
fn damage_right_of_the_region_costs_only_the_index() {
    // The image has three rows of MCUs, and the end of the last row is cut off. The region left of the cut must not
    // depend on whether an index is built.
    let File { mut bytes, .. } = files().into_iter().find(|file| file.name.starts_with("4:4:4 16x16")).unwrap();
    let (width, height) = size_of(&bytes);
    let (pixels, _) = region(&bytes, whole(&bytes), BUILD).unwrap();
    let left = Rect { left: 0, top: 0, width: 8, height };
    let mut decoded = 0;
    while region(&bytes, left, Seek::default()).is_ok() {
        let end = bytes.len();
        bytes.splice(end - 3..end - 2, []);
        let (plain, built) = (region(&bytes, left, Seek::default()), region(&bytes, left, BUILD));
        if let Ok((plain, _)) = plain {
            assert_eq!(built.unwrap(), (plain.clone(), None));
            assert_eq!(plain, part(&pixels, width, left));
            decoded += 1;
        }
    }
    assert!(decoded > 3, "{decoded}");
}

#[test]
fn indexes_of_other_images_are_not_used() {
    let files = files();
    let index_of = |file: &File| region(&file.bytes, whole(&file.bytes), BUILD).unwrap().1.unwrap();
    let large = files.iter().find(|file| file.name.starts_with("4:4:4 67x129")).unwrap();
    let (pixels, _) = region(&large.bytes, whole(&large.bytes), Seek::default()).unwrap();
    for other in files.iter().filter(|file| !file.name.contains("67x129") && has_index(&file.bytes)) {
        let index = index_of(other);
        let seek = Seek { index: Some(&index), build: false };
        assert!(region(&large.bytes, whole(&large.bytes), seek).unwrap().0 == pixels, "{}", other.name);
    }
}

#[test]
fn a_truncated_index_is_rejected() {
    let File { bytes, .. } = files().into_iter().find(|file| file.name.starts_with("4:2:0 67x129")).unwrap();
    let packed = region(&bytes, whole(&bytes), BUILD).unwrap().1.unwrap().to_bytes();
    for length in 0..packed.len() {
        assert_eq!(SeekIndex::from_bytes(&packed[..length]), None, "{length}");
    }
    assert_eq!(SeekIndex::from_bytes(&[&packed[..], &[0]].concat()), None);
    // A large declared size is rejected before memory is allocated for it.
    assert_eq!(SeekIndex::from_bytes(&[0x80, 0x40, 0x80, 0x40, 3, 0, 0xFF, 0xFF, 0xFF, 0x7F]), None);
}

#[test]
fn unsupported_kinds_are_rejected() {
    let File { bytes, .. } = files().into_iter().find(|file| file.name.starts_with("4:2:0 16x16")).unwrap();
    let sof = bytes.windows(2).position(|pair| pair == [0xFF, 0xC0]).unwrap();
    let changed = |at: usize, value: u8| {
        let mut bytes = bytes.clone();
        bytes[at] = value;
        region(&bytes, whole(&bytes), Seek::default()).unwrap_err().reason()
    };
    assert_eq!(changed(sof + 1, 0xC2), "a scan header (SOS) with a band or bits that no progressive file may have");
    assert_eq!(changed(sof + 1, 0xC3), "lossless coding is not supported");
    assert_eq!(changed(sof + 1, 0xC6), "hierarchical coding is not supported");
    assert_eq!(changed(sof + 1, 0xC9), "arithmetic coding is not supported");
    assert_eq!(changed(sof + 4, 12), "samples of 12 bits are not supported");
    assert_eq!(changed(sof + 9, 2), "an image has one, three or four components; others are not supported");
    assert_eq!(changed(sof + 9, 4), "a frame header (SOF) of the wrong length");
    assert_eq!(changed(sof + 14, 0x31), "sampling factors whose ratio is not an integer are not supported");
    assert_eq!(changed(sof + 11, 0x44), "an MCU of more than ten blocks");
    assert_eq!(changed(sof + 12, 3), "a quantization table of the scan is missing");
    let scan = bytes.windows(2).position(|pair| pair == [0xFF, 0xDA]).unwrap();
    assert_eq!(changed(scan + 4, 1), "a scan header (SOS) of the wrong length");
    assert!(region(&bytes[..bytes.len() - 2], whole(&bytes), Seek::default()).is_err());
}

#[test]
fn components_in_separate_scans() {
    let with = |name: &str| files().into_iter().find(|file| file.name.starts_with(name)).unwrap().bytes;
    let bytes = with("scans 0; 1; 2; 2x2,1x1,1x1 67x129");
    let (pixels, _) = region(&bytes, whole(&bytes), Seek::default()).unwrap();
    let starts: Vec<usize> = (0..bytes.len() - 1).filter(|&at| bytes[at..at + 2] == [0xFF, 0xDA]).collect();
    let [first, second, third] = starts.try_into().unwrap();
    let of = |bytes: &[u8]| region(bytes, whole(bytes), Seek::default()).map(|(pixels, _)| pixels);
    // A repeated scan changes nothing, and a missing one leaves 128, as libjpeg has it without a warning.
    assert!(of(&[&bytes[..third], &bytes[second..]].concat()).unwrap() == pixels);
    let without_third = of(&[&bytes[..third], &[0xFF, 0xD9]].concat()).unwrap();
    assert!(without_third != pixels);
    assert!(of(&[&bytes[..second], &bytes[first..third]].concat()).is_err(), "the file has no end");
    let cut = of(&[&bytes[..third - 40], &bytes[third..]].concat()).unwrap_err();
    assert_eq!(cut.reason(), "a scan is damaged or cut");
    // The data after the region are not read in any of the scans.
    let top = Rect { left: 9, top: 0, width: 30, height: 17 };
    let cut = [&bytes[..third - 40], &bytes[third..]].concat();
    assert!(region(&cut, top, Seek::default()).unwrap().0 == part(&pixels, size_of(&bytes).0, top));
    // An index of another file of the same size is not used.
    let other = with("4:2:0 67x129");
    let index = region(&other, whole(&other), BUILD).unwrap().1.unwrap();
    let seek = Seek { index: Some(&index), build: true };
    assert!(region(&bytes, top, seek).unwrap() == (part(&pixels, size_of(&bytes).0, top), None));
}

/// libjpeg-turbo takes missing coefficients for 0, so a file without its chroma scans is a gray image.
#[test]
fn missing_chroma_scans_decode_to_gray() {
    let File { bytes, .. } =
        files().into_iter().find(|file| file.name.starts_with("scans 0; 1; 2; 2x2,1x1,1x1 67x129")).unwrap();
    let second = (0..bytes.len() - 1).filter(|&at| bytes[at..at + 2] == [0xFF, 0xDA]).nth(1).unwrap();
    let cut = [&bytes[..second], &[0xFF, 0xD9]].concat();
    let mut decoder = Decoder::default();
    // Fills the decoder's planes with samples of the whole file.
    decoder.decode(&bytes, &Request::new(size_of(&bytes))).unwrap();
    let decoded = decoder.decode(&cut, &Request::new(size_of(&bytes)).fill(true)).unwrap();
    let (pixels, _) = decoded.pixels.as_chunks::<4>();
    assert!(pixels.iter().all(|&[r, g, b, _]| r == g && g == b));
    assert!(pixels.iter().any(|pixel| pixel[0] != pixels[0][0]), "the luma scan is decoded");
}

#[test]
fn regions_of_the_corpus() {
    let Some(root) = golden::folder("GPUFEED_CORPUS") else { return };
    let (mut decoded, mut folders) = (0, vec![root]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let bytes = std::fs::read(&path).unwrap();
            if !bytes.starts_with(b"\xFF\xD8\xFF") {
                continue;
            }
            let Ok(header) = Header::read(&bytes) else { continue };
            let (width, height) = header.size();
            if region(&bytes, whole(&bytes), BUILD).is_ok() {
                decoded += 1;
                let (left, top) = (width / 3, height / 3);
                let middle = Rect { left, top, width: (width - left).div_ceil(2), height: (height - top).div_ceil(2) };
                check_regions(&bytes, &path.display().to_string(), Scale::Full, [middle]);
            }
        }
    }
    println!("{decoded} files");
    assert!(decoded > 0);
}

/// The top of a cut file is no picture of its own: other scans may lie behind the cut.
#[test]
fn regions_of_cut_files_with_several_scans_are_refused() {
    let apart = files().into_iter().find(|file| file.name.starts_with("scans 0; 1; 2; 2x2,1x1,1x1 67x129")).unwrap();
    let (mut checked, mut cut_later) = (0, 0);
    for bytes in std::iter::once(apart.bytes).chain(others()) {
        let scans: Vec<usize> = (0..bytes.len() - 1).filter(|&at| bytes[at..at + 2] == [0xFF, 0xDA]).collect();
        let top = Rect { left: 0, top: 0, width: 1, height: 1 };
        for (i, start) in scans.iter().enumerate() {
            let end = scans.get(i + 1).copied().unwrap_or(bytes.len() - 2);
            let mut cut = start + (end - start) * 2 / 3;
            while bytes[cut - 1] == 0xFF {
                cut -= 1;
            }
            let file = [&bytes[..cut], &[0xFF, 0xD9]].concat();
            if region(&file, whole(&bytes), Seek::default()).is_ok() {
                continue; // the cut took nothing that the image needs
            }
            checked += 1;
            if i + 1 == scans.len() {
                // Only this scan was cut, below the region.
                continue;
            }
            assert!(matches!(region(&file, top, Seek::default()), Err(Error::Damaged(_))), "{cut} of {}", bytes.len());
            cut_later += 1;
        }
    }
    assert!(cut_later > 50 && checked > cut_later, "{cut_later} {checked}");
}

/// The JPEGs of jpeg_others.bin: progressive ones, and those of four components.
fn others() -> Vec<Vec<u8>> {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden");
    let packed = std::fs::read(golden.join("jpeg_others.bin")).unwrap();
    let (mut rest, mut files) = (packed.as_slice(), Vec::new());
    for line in std::fs::read_to_string(golden.join("jpeg_others.txt")).unwrap().lines() {
        let mut lengths = line.split(' ').take(2).map(|length| length.parse::<usize>().unwrap());
        let file;
        (file, rest) = rest.split_at(lengths.next().unwrap());
        rest = &rest[lengths.next().unwrap()..];
        files.push(file.to_vec());
    }
    files
}
