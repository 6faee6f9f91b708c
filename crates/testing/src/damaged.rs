//! The JPEGs of `tests/golden`, and damaged files made from them, the same in every run; `tests/golden/jpeg_files.py` makes the
//! thousand of [`damaged_files`], too, and decodes them with libjpeg-turbo.

use std::path::{Path, PathBuf};

use crate::dice::Dice;

pub fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden")
}

/// Returns the undamaged files: sequential JPEGs of one or three components.
pub fn whole_files() -> Vec<Vec<u8>> {
    let packed = std::fs::read(golden().join("jpeg_files.bin")).unwrap();
    let list = std::fs::read_to_string(golden().join("jpeg_files.txt")).unwrap();
    let mut rest = packed.as_slice();
    let mut file = |line: &str| {
        let bytes;
        (bytes, rest) = rest.split_at(line.split_once(' ').unwrap().0.parse().unwrap());
        bytes.to_vec()
    };
    list.lines().map(&mut file).collect()
}

/// A progressive or four-component JPEG.
pub struct OtherFile {
    pub name: String,
    pub jpeg: Vec<u8>,
    /// A PNG of what Pillow decodes it to.
    pub png: Vec<u8>,
}

/// Returns undamaged files: progressive JPEGs of one and three components, and JPEGs of four.
pub fn other_files() -> Vec<OtherFile> {
    let packed = std::fs::read(golden().join("jpeg_others.bin")).unwrap();
    let list = std::fs::read_to_string(golden().join("jpeg_others.txt")).unwrap();
    let mut rest = packed.as_slice();
    let mut next = |length: &str| {
        let bytes;
        (bytes, rest) = rest.split_at(length.parse().unwrap());
        bytes.to_vec()
    };
    let mut files = Vec::new();
    for line in list.lines() {
        let [jpeg, png, name]: [&str; 3] = line.splitn(3, ' ').collect::<Vec<_>>().try_into().unwrap();
        files.push(OtherFile { name: name.to_owned(), jpeg: next(jpeg), png: next(png) });
    }
    assert!(rest.is_empty() && files.len() > 30);
    files
}

/// Returns the file with one to three bits flipped after the last scan's header, or cut there, or both.
fn damaged(file: &[u8], dice: &mut Dice) -> Vec<u8> {
    let last = file.windows(2).rposition(|pair| pair == [0xFF, 0xDA]).unwrap();
    damaged_behind(last, file, dice)
}

/// The same behind the header of the scan at offset `scan`.
fn damaged_behind(scan: usize, file: &[u8], dice: &mut Dice) -> Vec<u8> {
    let header = scan + 2;
    let start = header + usize::from(u16::from_be_bytes([file[header], file[header + 1]]));
    let mut bytes = file.to_vec();
    let kind = dice.below(3);
    if kind != 1 {
        for _ in 0..1 + dice.below(3) {
            let at = start + dice.below(bytes.len() - start);
            bytes[at] ^= 1 << dice.below(8);
        }
    }
    if kind != 0 {
        bytes.truncate(start + dice.below(bytes.len() - start));
    }
    bytes
}

/// Returns 500 files that are made of [`other_files`], damaged in any of their scans; half of them have an end-of-image marker.
pub fn damaged_other_files() -> Vec<Vec<u8>> {
    let (files, mut dice) = (other_files(), Dice(15));
    let mut damaged = |number: usize| {
        let file = &files[number % files.len()].jpeg;
        let first = file.windows(2).position(|pair| pair == [0xFF, 0xDA]).unwrap();
        let mut bytes = damaged_behind(first, file, &mut dice);
        if dice.below(2) == 0 {
            bytes.extend([0xFF, 0xD9]);
        }
        bytes
    };
    (0..500).map(&mut damaged).collect()
}

/// Returns a thousand damaged files.
pub fn damaged_files() -> Vec<Vec<u8>> {
    let (files, mut dice) = (whole_files(), Dice(14));
    (0..1000).map(|number| damaged(&files[number % files.len()], &mut dice)).collect()
}
