//! Fuzzes `SeekIndexes::build` with an existing file of seek indexes for two JPEGs.
//!
//! An input is a byte of flags, which says which checksums the target corrects, and the file of seek indexes.

#![no_main]

use gpufeed::decode::SeekIndexes;
use gpufeed::{InMemory, Label};
use gpufeed_fuzz::readers::{Folder, bounded, control, refused};
use gpufeed_testing::counting::Counting;
use libfuzzer_sys::{Corpus, fuzz_target};
use std::fs;
use std::sync::LazyLock;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

#[global_allocator]
static COUNTING: Counting<1> = Counting;
static FOLDER: LazyLock<Folder> = LazyLock::new(Folder::new);

/// The first two JPEGs of tests/golden/jpeg_files.bin.
static JPEGS: LazyLock<InMemory> = LazyLock::new(|| {
    let mut rest = include_bytes!("../../tests/golden/jpeg_files.bin").as_slice();
    let lengths = include_str!("../../tests/golden/jpeg_files.txt").lines();
    let lengths = lengths.map(|line| line.split(' ').next().and_then(|length| length.parse().ok()).expect("a length"));
    let files = lengths.take(2).map(|length: usize| {
        let (file, behind) = rest.split_at(length);
        rest = behind;
        (file.to_vec(), Label::None)
    });
    files.collect()
});

/// The flags in the first byte of an input.
const HEADER_SUMMED: u8 = 1;
const RECORDS_SUMMED: u8 = 2;
const LENGTH_SET: u8 = 4;

const HEADER: usize = 64;
const PLACE: usize = 32;
/// The bytes of the header of a segment, which a later save appends to the file.
const SEGMENT: usize = 40;

fuzz_target!(|input: &[u8]| -> Corpus {
    let Some((how, file)) = control(input) else { return Corpus::Reject };
    let mut file = file.to_vec();
    sum(how, &mut file);
    let path = FOLDER.write("index", &file);
    let place = SeekIndexes::File(path.clone());
    // The 16 KiB are for decoding.
    let build = || bounded(file.len() + (16 << 10), || place.build(&*JPEGS, 1, |_| true));
    match build() {
        Ok(first) => {
            // Each of the two JPEGs has a seek index, or a record that says that it can have none. Forged records may
            // be accepted.
            assert_eq!((first.present + first.built + first.without, first.failed.len()), (2, 0));
            let second = build().expect("the file that was written");
            assert_eq!((second.built, second.without), (0, first.without), "what was written is found");
        }
        // A file that is not one of seek indexes is not changed.
        Err(error) => assert!(fs::read(path).is_ok_and(|now| now == file), "{}", refused(&error)),
    }
    Corpus::Keep
});

/// Reads the little-endian number of 8 bytes at offset `at`; 0 if the file ends before it does.
fn number(file: &[u8], at: usize) -> usize {
    file.get(at..at + 8).and_then(|bytes| bytes.first_chunk()).map_or(0, |bytes| u64::from_le_bytes(*bytes) as usize)
}

/// Corrects the values that the flags in `how` name: the file's length, the checksums of the records that the table and
/// the segments point to, and the checksums of the header and of the segments.
fn sum(how: u8, file: &mut [u8]) {
    let length = file.len();
    if length < HEADER {
        return;
    }
    if how & LENGTH_SET != 0 {
        file[32..40].copy_from_slice(&(length as u64).to_le_bytes());
    }
    let places = number(file, 24).min((length - HEADER) / PLACE);
    let mut at = number(file, 32);
    if how & RECORDS_SUMMED != 0 {
        records(file, HEADER, places);
    }
    while let Some(left) = length.checked_sub(at.saturating_add(SEGMENT)).filter(|_| how & HEADER_SUMMED != 0) {
        let list = number(file, at + 8).min(left / PLACE);
        records(file, at + SEGMENT, list);
        let sum = xxh3_64(&file[at + SEGMENT..][..PLACE * list]);
        file[at + 24..at + 32].copy_from_slice(&sum.to_le_bytes());
        let sum = xxh3_64(&file[at..at + 32]);
        file[at + 32..at + 40].copy_from_slice(&sum.to_le_bytes());
        at = at.saturating_add(number(file, at + 16).max(SEGMENT));
    }
    if how & HEADER_SUMMED != 0 {
        let sum = xxh3_64(&file[..HEADER - 8]);
        file[HEADER - 8..HEADER].copy_from_slice(&sum.to_le_bytes());
    }
}

/// Corrects the checksums of the records that the `count` table entries at offset `at` point to.
fn records(file: &mut [u8], at: usize, count: usize) {
    for at in (0..count).map(|place| at + place * PLACE) {
        let (offset, bytes) = (number(file, at + 16), number(file, at + 24) & 0xFFFF_FFFF);
        let seed = number(file, at) as u64 ^ number(file, at + 8) as u64;
        let from = offset.checked_add(8).filter(|_| offset > 0);
        let record = from.and_then(|from| file.get(from..from.checked_add(bytes)?));
        if let Some(sum) = record.map(|record| xxh3_64_with_seed(record, seed)) {
            file[offset..offset + 8].copy_from_slice(&sum.to_le_bytes());
        }
    }
}
