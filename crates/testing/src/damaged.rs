//! The JPEGs of `tests/golden`, and a thousand damaged files made from them, the same in every run;
//! `tests/golden/jpeg_files.py` makes the same files and decodes them with libjpeg-turbo.

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

/// Returns the file with one to three bits flipped after the last scan's header, or cut there, or both.
fn damaged(file: &[u8], dice: &mut Dice) -> Vec<u8> {
    let header = file.windows(2).rposition(|pair| pair == [0xFF, 0xDA]).unwrap() + 2;
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

/// Returns a thousand damaged files.
pub fn damaged_files() -> Vec<Vec<u8>> {
    let (files, mut dice) = (whole_files(), Dice(14));
    (0..1000).map(|number| damaged(&files[number % files.len()], &mut dice)).collect()
}
