//! Tests of seek index files: written, extended, merged, cut, grown and damaged.

use super::file::{HEADER, IndexFile, Stamp};
use super::write;
use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};
use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

type Records = HashMap<u128, Box<[u8]>>;

fn records(range: std::ops::Range<u64>, salt: u8) -> Records {
    let record = |i: u64| vec![i as u8 ^ salt; 3 + (i % 50) as usize].into_boxed_slice();
    range.map(|i| (xxh3_128(&i.to_le_bytes()), record(i))).collect()
}

fn found(file: &IndexFile, records: &Records) -> usize {
    let mut buffer = Vec::new();
    let mut count = 0;
    for (key, record) in records {
        let found = file.get(*key, &mut buffer);
        assert!(!found || buffer[..] == **record, "a wrong record");
        count += usize::from(found);
    }
    count
}

fn slices(records: &Records) -> Vec<(u128, &[u8])> {
    records.iter().map(|(key, record)| (*key, &**record)).collect()
}

fn open(path: &Path) -> IndexFile {
    IndexFile::open(path).unwrap().unwrap()
}

fn rewrite(path: &Path, old: Option<&IndexFile>, new: &Records) {
    write::rewrite(path, old, |_| true, &slices(new)).unwrap();
}

fn append(path: &Path, new: &Records) {
    let end = open(path).grows_at(new.len() as u64).unwrap();
    write::append(path, end, &slices(new)).unwrap();
}

#[test]
fn what_was_written_is_found_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index");
    assert!(IndexFile::open(&path).unwrap().is_none());
    for count in [0, 1, 2, 1000] {
        let new = records(0..count, 0);
        rewrite(&path, None, &new);
        let file = open(&path);
        assert_eq!((file.len(), found(&file, &new)), (count, count as usize));
        assert!(!file.get(12345, &mut Vec::new()));
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "temporary files are left");
}

#[test]
fn segments_are_found_and_those_who_read_before_find_what_they_found() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index");
    let all = records(0..500, 0);
    rewrite(&path, None, &records(0..100, 0));
    let before = open(&path);
    for from in [100, 200, 300, 400] {
        append(&path, &records(from..from + 100, 0));
        let file = open(&path);
        assert_eq!((file.len(), found(&file, &all)), (from + 100, from as usize + 100));
        assert!(Stamp::at(&path) == Some(file.stamp()) && file.stamp() != before.stamp());
    }
    assert_eq!(found(&before, &all), 100);
    // The file is rewritten as a whole before its segments become too many or too large.
    assert!(open(&path).grows_at(5000).is_none());
    for i in 0.. {
        let Some(end) = open(&path).grows_at(1) else { break };
        assert!(i < 100);
        write::append(&path, end, &slices(&records(500 + i..501 + i, 0))).unwrap();
    }
    let old = open(&path);
    rewrite(&path, Some(&old), &records(1000..1010, 0));
    let file = open(&path);
    assert!(file.grows_at(1).is_some());
    assert_eq!(found(&file, &all) + found(&file, &records(1000..1010, 0)), 510);
}

#[test]
fn records_are_merged_and_new_ones_win() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index");
    rewrite(&path, None, &records(0..500, 0));
    append(&path, &records(500..600, 0));
    let old = open(&path);
    let mut new = records(0..1000, 1);
    new.retain(|_, record| record.len() > 20);
    rewrite(&path, Some(&old), &new);
    let file = open(&path);
    assert_eq!(found(&file, &new), new.len());
    let mut expected = records(0..600, 0);
    expected.retain(|key, _| !new.contains_key(key));
    assert!(!expected.is_empty());
    assert_eq!(found(&file, &expected), expected.len());
    assert_eq!(file.len() as usize, new.len() + expected.len());
}

#[test]
fn what_is_cut_off_costs_the_records_that_are_not_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index");
    let all = records(0..300, 0);
    rewrite(&path, None, &records(0..200, 0));
    append(&path, &records(200..300, 0));
    let whole = fs::read(&path).unwrap();
    // Cut bytes, and the least number of records that are still whole, of at least 11 bytes each.
    for (cut, least) in [(1, 299), (100, 289), (1000, 208), (10_000, 50)] {
        fs::write(&path, &whole[..whole.len() - cut]).unwrap();
        let file = open(&path);
        let count = found(&file, &all);
        assert!((least..300).contains(&count), "{cut} bytes are cut, {count} records found");
        // The next save rewrites the file, and loses none of them.
        assert!(file.grows_at(1).is_none());
        rewrite(&path, Some(&file), &Records::new());
        assert_eq!(found(&open(&path), &all), count);
    }
    // Appends junk after the file's end: a byte, zeros, and half a segment.
    let half = &whole[whole.len() - 3000..];
    for more in [&b"x"[..], &[0; 5000], half] {
        fs::write(&path, [&whole, more].concat()).unwrap();
        let file = open(&path);
        assert_eq!(found(&file, &all), 300);
        assert!(file.grows_at(1).is_none());
        rewrite(&path, Some(&file), &Records::new());
        assert!(found(&open(&path), &all) == 300 && open(&path).grows_at(1).is_some());
    }
}

#[test]
fn damage_never_gives_a_wrong_record() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index");
    let new = records(0..200, 0);
    rewrite(&path, None, &records(0..120, 0));
    append(&path, &records(120..160, 0));
    append(&path, &records(160..200, 0));
    let whole = fs::read(&path).unwrap();
    let (mut refused, mut lost) = (0, 0);
    for turn in 0..1000_u64 {
        let mut bytes = whole.clone();
        let random = xxh3_64(&turn.to_le_bytes());
        match turn % 4 {
            0 => bytes.truncate(random as usize % bytes.len()),
            1 => bytes[random as usize % HEADER] ^= 1 << (random >> 60 & 7),
            _ => {
                for i in 0..1 + random % 8 {
                    let at = xxh3_64(&(turn ^ i << 32).to_le_bytes()) as usize % bytes.len();
                    bytes[at] ^= 1 << (random >> 56 & 7);
                }
            }
        }
        fs::write(&path, &bytes).unwrap();
        match IndexFile::open(&path) {
            Ok(Some(file)) => lost += usize::from(found(&file, &new) < new.len()),
            Ok(None) => panic!("the file is there"),
            Err(_) => refused += 1,
        }
    }
    assert!(refused > 250 && lost > 400, "{refused} {lost}");
}

/// Found by fuzzing: the rewritten file's table had as many entries as the header said, and a search in a full table
/// never ended.
#[test]
fn a_file_with_more_records_than_its_header_says_is_rewritten() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index");
    rewrite(&path, None, &records(0..100, 0));
    let mut bytes = fs::read(&path).unwrap();
    bytes[16..24].copy_from_slice(&0u64.to_le_bytes());
    let sum = xxh3_64(&bytes[..HEADER - 8]);
    bytes[HEADER - 8..HEADER].copy_from_slice(&sum.to_le_bytes());
    fs::write(&path, bytes).unwrap();
    let (old, new) = (open(&path), records(100..103, 0));
    assert_eq!((old.len(), found(&old, &records(0..100, 0))), (0, 100));
    rewrite(&path, Some(&old), &new);
    let file = open(&path);
    assert_eq!(found(&file, &new), 3, "the new records are found, even if others are lost");
    found(&file, &records(0..100, 0));
}

#[test]
fn what_killed_processes_have_left_is_removed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index");
    let hours = |age: u64| SystemTime::now() - Duration::from_secs(3600 * age);
    for (name, age) in [(".gpufeed-Ab12.part", 2), (".gpufeed-Cd34.part", 0), ("thesis.part", 2)] {
        let file = fs::File::create(folder.path().join(name)).unwrap();
        file.set_modified(hours(age)).unwrap();
    }
    rewrite(&path, None, &records(0..10, 0));
    let left = |name: &str| folder.path().join(name).exists();
    assert!(!left(".gpufeed-Ab12.part") && left(".gpufeed-Cd34.part") && left("thesis.part"));
}
