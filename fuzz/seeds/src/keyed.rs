//! Makes seeds for the targets of files with keys: LMDB environments, and files of seek indexes.

use super::Seed;
use gpufeed_fuzz_seeds::environment;

const JPEG: &[u8] = b"\xff\xd8\xff\xe0\0\x10JFIF";

type Entries = Vec<(Vec<u8>, Vec<u8>)>;

/// Makes an input from which the target writes a data file: no changes, then the keys and values after their lengths.
fn listed(entries: &Entries) -> Vec<u8> {
    let entry = |(key, value): &(Vec<u8>, Vec<u8>)| {
        let [low, high] = (value.len() as u16).to_le_bytes();
        [&[key.len() as u8, low, high], &key[..], value].concat()
    };
    std::iter::once(0).chain(entries.iter().flat_map(entry)).collect()
}

pub fn lmdb() -> Vec<Seed> {
    let entry = |key: &str, value: &[u8]| (key.as_bytes().to_vec(), value.to_vec());
    let numbered = vec![
        entry("classes", b"[\"cat\",\"dog\"]"),
        entry("image-000000001", JPEG),
        entry("image-000000002", JPEG),
        entry("label-000000001", b"1"),
        entry("label-000000002", b"0"),
        entry("num-samples", b"2"),
    ];
    let several = vec![
        entry("image-000000001", JPEG),
        entry("label-000000001", b"[0.5, 1]"),
        entry("num-samples", b"1"),
        entry("__len__", b"x"),
    ];
    let with_class: Entries = (0..5).map(|i| (vec![b'a' + i], [&[i, 0, 0, 0], JPEG].concat())).collect();
    let plain = vec![entry("a", JPEG), entry("b", &[JPEG, &[7; 3000]].concat())];
    let many: Entries = (0..60).map(|i| (format!("{i:03}").into_bytes(), [JPEG, &[i; 150]].concat())).collect();
    let mut seeds = Vec::new();
    for (name, entries) in
        [("numbered", numbered), ("several", several), ("class", with_class), ("plain", plain), ("many", many)]
    {
        // Flags of the target: the two lowest bits are the layout, 4 allows samples without labels, 8 says that the
        // target makes the file from keys and values.
        seeds.push((format!("{name}-made"), [vec![12], listed(&entries)].concat()));
        seeds.push((format!("{name}-file"), [vec![4], environment::pages(entries)].concat()));
    }
    seeds
}

/// Makes a file of seek indexes without checksums: a header, a hash table with more entries than keys, and the records.
fn seek(keys: &[u128]) -> Vec<u8> {
    let places = (keys.len() * 4 / 3 + 1).next_power_of_two();
    let mut table = vec![[0; 32]; places];
    let mut records = Vec::new();
    for &key in keys {
        let at = (0..places).map(|step| (key as usize + step) % places).find(|&at| table[at] == [0; 32]);
        let Some(place) = at.and_then(|at| table.get_mut(at)) else { continue };
        place[..16].copy_from_slice(&key.to_le_bytes());
        place[16..24].copy_from_slice(&((64 + 32 * places + records.len()) as u64).to_le_bytes());
        place[24] = 20;
        records.extend([0; 28]);
    }
    let length = 64 + 32 * places + records.len();
    let numbers = [1, keys.len(), places, length, 0, 0, 0].map(|number| (number as u64).to_le_bytes());
    [&b"gpufeed\x01"[..], numbers.as_flattened(), table.as_flattened(), &records].concat()
}

/// Makes the segment that a later save appends to the file: one record for `key`, with the segment's start at offset
/// `at`.
fn segment(at: usize, key: u128) -> Vec<u8> {
    let numbers = [1, 40 + 32 + 28, 0, 0].map(|number: u64| number.to_le_bytes());
    let offset = (at as u64 + 72).to_le_bytes();
    [&b"segment\x01"[..], numbers.as_flattened(), &key.to_le_bytes(), &offset, &20_u64.to_le_bytes(), &[0; 28]].concat()
}

pub fn seek_file() -> Vec<Seed> {
    let mut seeds = vec![("empty".to_owned(), vec![0]), ("foreign".to_owned(), b"\0my thesis".to_vec())];
    for (name, keys) in [("none", &[][..]), ("one", &[7]), ("three", &[1, 5, 9])] {
        // Flags of the target: 1 corrects the checksums of header and segments, 2 those of the records, 4 the file's
        // length.
        seeds.push((format!("{name}-summed"), [vec![7], seek(keys)].concat()));
        seeds.push((format!("{name}-damaged"), [vec![1], seek(keys)].concat()));
        let table = seek(keys);
        let first = segment(table.len(), 7);
        let second = segment(table.len() + first.len(), 11);
        seeds.push((format!("{name}-longer"), [vec![3], table, first, second].concat()));
    }
    seeds
}
