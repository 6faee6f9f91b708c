//! Compares with Pillow: files of `scripts/pillow_files.py`, which makes random ones of all formats, with metadata, depths, alpha
//! and compressions of all kinds. `tests/golden/pillow_files.bin` has 160 of them; with GPUFEED_PILLOW_FILES set to a folder, as
//! `scripts/test-pillow.sh` sets it, those in the folder are compared too.

use std::path::{Path, PathBuf};

use gpufeed::decode::{DecodeOptions, Rect, Scratch, Truncated, probe};
use gpufeed_testing::dice::Dice;
use gpufeed_testing::encoded::{all_of, options, region_of, whole};
use sha2::{Digest, Sha256};

struct File {
    name: String,
    bytes: Vec<u8>,
    size: (u32, u32),
    hash: String,
    /// Why Pillow's pixels are others.
    differs: Option<String>,
    /// Pillow's pixels, of files in a folder.
    pixels: Option<Vec<u8>>,
}

fn of_lines(list: &str, mut bytes: impl FnMut(&str, usize) -> (Vec<u8>, Option<Vec<u8>>)) -> Vec<File> {
    let file = |line: &str| {
        let [name, width, height, hash, differs, length] = *line.split('\t').collect::<Vec<_>>() else {
            panic!("{line}")
        };
        let (bytes, pixels) = bytes(name, length.parse().unwrap());
        let differs = (differs != "-").then(|| differs.to_owned());
        let size = (width.parse().unwrap(), height.parse().unwrap());
        File { name: name.to_owned(), bytes, size, hash: hash.to_owned(), differs, pixels }
    };
    list.lines().map(file).collect()
}

fn files() -> Vec<File> {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/pillow_files");
    let packed = std::fs::read(golden.with_extension("bin")).unwrap();
    let mut rest = packed.as_slice();
    let mut files = of_lines(&std::fs::read_to_string(golden.with_extension("txt")).unwrap(), |_, length| {
        let (file, after) = rest.split_at(length);
        rest = after;
        (file.to_vec(), None)
    });
    if let Some(folder) = std::env::var_os("GPUFEED_PILLOW_FILES").map(PathBuf::from) {
        let list = std::fs::read_to_string(folder.join("list.txt")).unwrap();
        files.extend(of_lines(&list, |name, _| {
            let read = |name: &str| std::fs::read(folder.join(name)).unwrap();
            (read(name), Some(read(&format!("{name}.rgb"))))
        }));
    }
    // Without the feature `parquet` there is no Zstandard.
    files.retain(|file| cfg!(feature = "parquet") || !needs_zstandard(&file.bytes));
    files
}

fn needs_zstandard(bytes: &[u8]) -> bool {
    probe(bytes, &DecodeOptions::default()).is_err_and(|error| error.to_string().contains("Zstandard"))
}

/// How far the pixels of a file are from Pillow's; `None` if they are the same.
fn difference(file: &File) -> Option<String> {
    let found = match probe(&file.bytes, &DecodeOptions::default()) {
        Ok(found) => found,
        Err(error) => return Some(error.to_string()),
    };
    if (found.width, found.height) != file.size {
        return Some(format!("{}x{} instead of {:?}", found.width, found.height, file.size));
    }
    match all_of(&file.bytes, &DecodeOptions::default()) {
        Err(error) => Some(error.to_string()),
        Ok(pixels)
            if Sha256::digest(&pixels).iter().map(|byte| format!("{byte:02x}")).collect::<String>() == file.hash =>
        {
            None
        }
        Ok(pixels) => Some(match &file.pixels {
            None => "other pixels".to_owned(),
            Some(right) => {
                let off = pixels.iter().zip(right).map(|(a, b)| a.abs_diff(*b));
                let (most, count) = (off.clone().max().unwrap_or(0), off.filter(|&off| off > 0).count());
                format!("{count} of {} values are off, by up to {most}", pixels.len())
            }
        }),
    }
}

#[test]
fn random_files_have_the_pixels_of_pillow() {
    let (mut wrong, mut same) = (Vec::new(), 0);
    for file in files() {
        match difference(&file) {
            None => same += 1,
            // A difference on purpose is one of pixels: the file is read.
            Some(_) if file.differs.is_some() && all_of(&file.bytes, &DecodeOptions::default()).is_ok() => {}
            Some(difference) => wrong.push(format!("{}: {difference}", file.name)),
        }
    }
    assert!(wrong.is_empty(), "{} files are not as Pillow reads them:\n{}", wrong.len(), wrong.join("\n"));
    assert!(same > 120, "{same}");
}

#[test]
fn a_region_of_a_random_file_is_that_part_of_the_whole() {
    let (mut dice, mut scratch) = (Dice(7), Scratch::default());
    for file in files() {
        let found = probe(&file.bytes, &DecodeOptions::default()).unwrap();
        let all = region_of(&file.bytes, &found, whole(&found), &DecodeOptions::default(), &mut scratch).unwrap();
        for _ in 0..3 {
            let mut span = |all: u32| {
                let start = dice.below(all as usize) as u32;
                (start, 1 + dice.below((all - start) as usize) as u32)
            };
            let ((left, width), (top, height)) = (span(found.width), span(found.height));
            let region = Rect { left, top, width, height };
            let row = |y: u32| &all[3 * (y * found.width + left) as usize..][..3 * width as usize];
            let expected: Vec<u8> = (top..top + height).flat_map(row).copied().collect();
            let part = region_of(&file.bytes, &found, region, &DecodeOptions::default(), &mut scratch).unwrap();
            assert!(part == expected, "{}: {region:?}", file.name);
        }
    }
}

#[test]
fn damaged_random_files_are_pixels_or_errors() {
    let mut dice = Dice(8);
    for file in files() {
        for number in 0..24 {
            let mut bytes = file.bytes.clone();
            match number % 4 {
                0 => bytes.truncate(dice.below(bytes.len())),
                _ => (0..1 + dice.below(3)).for_each(|_| {
                    // Headers are where damage matters most.
                    let among = if dice.below(2) == 0 { bytes.len() } else { bytes.len().min(64) };
                    let at = dice.below(among);
                    bytes[at] = dice.byte();
                }),
            }
            let options = options(|options| {
                options.max_pixels = 1 << 20;
                options.max_decode_bytes = 64 << 20;
                options.truncated = if dice.below(2) == 0 { Truncated::Error } else { Truncated::Fill };
            });
            if let Err(error) = all_of(&bytes, &options) {
                // Panics of the crates that read these two formats no longer reach a file.
                let ours = file.name.ends_with("tif") || file.name.ends_with("gif");
                assert!(!ours || !error.to_string().contains("panicked"), "{}, {number}: {error}", file.name);
            }
        }
    }
}
