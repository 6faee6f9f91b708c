//! A file of seek indexes: found by content, read where it lies.
//!
//! | part | bytes |
//! |---|---|
//! | header | 64: magic, version, records, places of the table, length of the file, checksum of all that |
//! | table | 32 a place: a record's key (16), offset (8), length (4), four zeros; a key's place is its lower bits, or the next free one |
//! | records | as they were written, each behind a checksum of its key and content (8) |
//!
//! All numbers are little-endian. Nothing is read when the file is opened but its header, and nothing is mapped: a file
//! that another process cuts short gives an error, where a mapping would end the process. A lookup reads a place and a
//! record, about 2 µs.

use crate::{positioned, replace};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

const MAGIC: [u8; 8] = *b"gpufeed\x01";
/// Changes with the layout, and with what the records hold.
const VERSION: u64 = 1;
const HEADER: usize = 64;
const PLACE: usize = 32;
const CHECKSUM: usize = 8;
/// Records are a hundredth of a file; a length beyond this is damage.
const LONGEST: u32 = 1 << 28;

/// The kind of error for a file that is something else, and must not be overwritten.
pub(super) const FOREIGN: io::ErrorKind = io::ErrorKind::AlreadyExists;

/// A file that was opened and whose header is as it should be.
#[derive(Debug)]
pub(super) struct IndexFile {
    file: File,
    records: u64,
    places: u64,
}

/// A place of the table.
struct Place {
    key: u128,
    offset: u64,
    length: u32,
}

impl Place {
    fn read(bytes: &[u8; PLACE]) -> Place {
        Place {
            key: u128::from_le_bytes(*bytes.first_chunk().unwrap_or(&[0; 16])),
            offset: number(bytes, 16),
            length: number(bytes, 24) as u32,
        }
    }

    fn write(&self) -> [u8; PLACE] {
        let mut bytes = [0; PLACE];
        bytes[..16].copy_from_slice(&self.key.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.offset.to_le_bytes());
        bytes[24..28].copy_from_slice(&self.length.to_le_bytes());
        bytes
    }

    fn is_free(&self) -> bool {
        self.offset == 0
    }
}

/// The little-endian number at `at`; 0 behind the end.
fn number(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..at + 8).and_then(|bytes| bytes.first_chunk()).map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

/// Of a record: bound to its key, so that a place that points at another record finds nothing.
fn checksum(key: u128, record: &[u8]) -> u64 {
    xxh3_64_with_seed(record, (key as u64) ^ (key >> 64) as u64)
}

fn header(records: u64, places: u64, length: u64) -> [u8; HEADER] {
    let mut bytes = [0; HEADER];
    bytes[..8].copy_from_slice(&MAGIC);
    for (i, value) in [VERSION, records, places, length].into_iter().enumerate() {
        bytes[8 * (i + 1)..][..8].copy_from_slice(&value.to_le_bytes());
    }
    let sum = xxh3_64(&bytes[..HEADER - 8]);
    bytes[HEADER - 8..].copy_from_slice(&sum.to_le_bytes());
    bytes
}

impl IndexFile {
    /// `None` if there is no such file.
    ///
    /// # Errors
    /// [`FOREIGN`] for another kind of file; else if it cannot be read, is of another version, cut, damaged.
    pub(super) fn open(path: &Path) -> io::Result<Option<IndexFile>> {
        let mut file = match File::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            file => file?,
        };
        let mut start = Vec::with_capacity(HEADER);
        (&mut file).take(HEADER as u64).read_to_end(&mut start)?;
        if !start.starts_with(&MAGIC[..start.len().min(MAGIC.len())]) {
            return Err(io::Error::new(FOREIGN, "not a file of seek indexes"));
        }
        let refused = |reason: &str| Err(io::Error::new(io::ErrorKind::InvalidData, reason.to_owned()));
        let Ok(bytes) = <[u8; HEADER]>::try_from(start) else { return refused("its header is cut short") };
        let [records, places, length] = [2, 3, 4].map(|i| number(&bytes, 8 * i));
        if number(&bytes, 8) != VERSION {
            return refused("of another version");
        }
        if bytes != header(records, places, length) {
            return refused("its header is damaged");
        }
        let table = places.checked_mul(PLACE as u64).and_then(|table| table.checked_add(HEADER as u64));
        if !places.is_power_of_two() || table.is_none_or(|table| table > length) {
            return refused("its header contradicts itself");
        }
        if file.metadata()?.len() != length {
            return refused("it is cut short, or something was written behind its end");
        }
        Ok(Some(IndexFile { file, records, places }))
    }

    /// How many there are.
    pub(super) fn len(&self) -> u64 {
        self.records
    }

    /// Reads the record of `key` into `buffer`; `false` if there is none, or none that can be trusted.
    pub(super) fn get(&self, key: u128, buffer: &mut Vec<u8>) -> bool {
        let mut place = key as u64 & (self.places - 1);
        for _ in 0..self.places {
            let mut bytes = [0; PLACE];
            if positioned::read_exact(&self.file, &mut bytes, HEADER as u64 + place * PLACE as u64).is_err() {
                return false;
            }
            let found = Place::read(&bytes);
            if found.is_free() {
                return false;
            }
            if found.key == key {
                return self.record(&found, buffer);
            }
            place = (place + 1) & (self.places - 1);
        }
        false
    }

    fn record(&self, place: &Place, buffer: &mut Vec<u8>) -> bool {
        if place.length > LONGEST {
            return false;
        }
        buffer.clear();
        buffer.resize(CHECKSUM + place.length as usize, 0);
        if positioned::read_exact(&self.file, buffer, place.offset).is_err() {
            return false;
        }
        let sum = number(buffer, 0);
        buffer.drain(..CHECKSUM);
        sum == checksum(place.key, buffer)
    }

    /// Every record that can be trusted, in the table's order.
    fn each(&self, mut then: impl FnMut(u128, &[u8]) -> io::Result<()>) -> io::Result<()> {
        let mut buffer = Vec::new();
        let mut table = io::BufReader::with_capacity(1 << 16, &self.file);
        table.seek(SeekFrom::Start(HEADER as u64))?;
        for _ in 0..self.places {
            let mut bytes = [0; PLACE];
            table.read_exact(&mut bytes)?;
            let place = Place::read(&bytes);
            if !place.is_free() && self.record(&place, &mut buffer) {
                then(place.key, &buffer)?;
            }
        }
        Ok(())
    }
}

/// Writes a file of `old`'s records and the new ones beside `path`, then puts it in its place: whoever reads sees the
/// old file or the new one, and a process that is killed leaves no file that looks whole.
///
/// # Errors
/// What the system says: a folder that cannot be written to, a full disk. The old file stays as it was.
pub(super) fn write<'a>(
    path: &Path,
    old: Option<&IndexFile>,
    new: impl ExactSizeIterator<Item = (&'a u128, &'a Box<[u8]>)>,
) -> io::Result<()> {
    let most = old.map_or(0, IndexFile::len) + new.len() as u64;
    let mut table = Table::new(most);
    let mut offset = HEADER as u64 + table.bytes();
    replace::replace(path, |out| {
        out.seek(SeekFrom::Start(offset))?;
        let mut add = |key: u128, record: &[u8]| {
            let length = u32::try_from(record.len()).unwrap_or(u32::MAX);
            if length <= LONGEST && table.put(Place { key, offset, length }) {
                out.write_all(&checksum(key, record).to_le_bytes())?;
                out.write_all(record)?;
                offset += (CHECKSUM + record.len()) as u64;
            }
            Ok(())
        };
        // The new ones first: of two with the same key the first stays.
        for (key, record) in new {
            add(*key, record)?;
        }
        if let Some(old) = old {
            old.each(&mut add)?;
        }
        let records = table.taken;
        out.seek(SeekFrom::Start(0))?;
        out.write_all(&header(records, table.places.len() as u64, offset))?;
        for place in &table.places {
            out.write_all(&place.write())?;
        }
        Ok(())
    })
}

/// A table while it is filled.
struct Table {
    places: Vec<Place>,
    taken: u64,
}

impl Table {
    /// At most three quarters full, so that a free place is near.
    fn new(records: u64) -> Table {
        let places = (records * 4 / 3 + 1).next_power_of_two();
        Table { places: (0..places).map(|_| Place { key: 0, offset: 0, length: 0 }).collect(), taken: 0 }
    }

    fn bytes(&self) -> u64 {
        (self.places.len() * PLACE) as u64
    }

    /// `false` if the key is there already.
    fn put(&mut self, place: Place) -> bool {
        let mask = self.places.len() - 1;
        let mut at = place.key as usize & mask;
        while !self.places[at].is_free() {
            if self.places[at].key == place.key {
                return false;
            }
            at = (at + 1) & mask;
        }
        self.places[at] = place;
        self.taken += 1;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;
    use std::fs;

    fn records(count: u64, salt: u8) -> HashMap<u128, Box<[u8]>> {
        let record = |i: u64| vec![i as u8 ^ salt; 3 + (i % 50) as usize].into_boxed_slice();
        (0..count).map(|i| (xxhash_rust::xxh3::xxh3_128(&i.to_le_bytes()), record(i))).collect()
    }

    fn found(file: &IndexFile, records: &HashMap<u128, Box<[u8]>>) -> usize {
        let mut buffer = Vec::new();
        let mut count = 0;
        for (key, record) in records {
            let found = file.get(*key, &mut buffer);
            assert!(!found || buffer[..] == **record, "a wrong record");
            count += usize::from(found);
        }
        count
    }

    #[test]
    fn what_was_written_is_found_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("index");
        assert!(IndexFile::open(&path).unwrap().is_none());
        for count in [0, 1, 2, 1000] {
            let new = records(count, 0);
            write(&path, None, new.iter()).unwrap();
            let file = IndexFile::open(&path).unwrap().unwrap();
            assert_eq!((file.len(), found(&file, &new)), (count, count as usize));
            assert!(!file.get(12345, &mut Vec::new()));
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "temporary files are left");
    }

    #[test]
    fn records_are_merged_and_new_ones_win() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("index");
        write(&path, None, records(600, 0).iter()).unwrap();
        let old = IndexFile::open(&path).unwrap().unwrap();
        let mut new = records(1000, 1);
        new.retain(|_, record| record.len() > 20);
        write(&path, Some(&old), new.iter()).unwrap();
        let file = IndexFile::open(&path).unwrap().unwrap();
        assert_eq!(found(&file, &new), new.len());
        let mut kept = records(600, 0);
        kept.retain(|key, _| !new.contains_key(key));
        assert!(!kept.is_empty());
        assert_eq!(found(&file, &kept), kept.len());
        assert_eq!(file.len() as usize, new.len() + kept.len());
    }

    #[test]
    fn damage_never_gives_a_wrong_record() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("index");
        let new = records(200, 0);
        write(&path, None, new.iter()).unwrap();
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
        assert!(refused > 450 && lost > 300, "{refused} {lost}");
    }
}
