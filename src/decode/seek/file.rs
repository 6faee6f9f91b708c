//! A file of seek indexes, searched by content hash.
//!
//! | section | bytes |
//! |---|---|
//! | header | 64: magic, version, records, entries of the table, end of the records after the table, checksum of the header |
//! | table | 32 an entry: a record's key (16), offset (8), length (4), four zeros; a key's entry is its lower bits, or the next free one |
//! | records | as they were written, each after a checksum of its key and content (8) |
//! | segments | records added later (`segment.rs`); after a few segments the whole file is rewritten |
//!
//! All numbers are little-endian. Opening the file reads its header and the lists of the segments. The file is not
//! mapped: a file that another process cuts short causes an error, where a map would end the process. A lookup reads an
//! entry and a record, about 2 µs. A cut file, or one with damage after the last segment, loses only the records that
//! are not whole.

use super::record::{CHECKSUM, ENTRY, LONGEST, RecordEntry, checksum, number};
use super::segment::{self, Segment};
use crate::storage::local::{read_at, regular_file};
use std::collections::HashMap;
use std::fs::{self, File, Metadata};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::time::SystemTime;
use xxhash_rust::xxh3::xxh3_64;

const MAGIC: [u8; 8] = *b"gpufeed\x01";
/// The version of the file's format. It changes with the layout and with the content of the records.
const VERSION: u64 = 1;
pub(super) const HEADER: usize = 64;
/// Most entries that a lookup reads. A table is at most three quarters full, so that a free entry follows within some
/// hundred; in a forged, full table a lookup would read all of it.
const PROBES: u64 = 4096;
/// Limits of the segments, and of their records, up to which a file grows by another segment.
const MOST_SEGMENTS: usize = 64;
const FEW_RECORDS: u64 = 4096;

/// Kind of the error for a file that is not an index file and must not be overwritten.
pub(super) const FOREIGN: io::ErrorKind = io::ErrorKind::AlreadyExists;

/// An open file with a valid header.
#[derive(Debug)]
pub(super) struct IndexFile {
    file: File,
    stamp: Stamp,
    /// The number of records in the hash table, and the number of its entries.
    records: u64,
    entries: u64,
    /// The records in the segments: for each key, the offset and the length.
    added: HashMap<u128, (u64, u32)>,
    segments: usize,
    /// The offset of the end of the last segment.
    end: u64,
}

/// Identifies the state of a file: changes when other processes have written to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    length: u64,
    modified: Option<SystemTime>,
    /// Device and inode of the file, on systems that have them.
    number: (u64, u64),
}

impl Stamp {
    fn of(metadata: &Metadata) -> Stamp {
        #[cfg(unix)]
        let number = (std::os::unix::fs::MetadataExt::dev(metadata), std::os::unix::fs::MetadataExt::ino(metadata));
        #[cfg(not(unix))]
        let number = (0, 0);
        Stamp { length: metadata.len(), modified: metadata.modified().ok(), number }
    }

    /// Returns the stamp of a file; `None` if there is no such file.
    pub(super) fn at(path: &Path) -> Option<Stamp> {
        fs::metadata(path).ok().map(|metadata| Stamp::of(&metadata))
    }
}

pub(super) fn header(records: u64, entries: u64, length: u64) -> [u8; HEADER] {
    let mut bytes = [0; HEADER];
    bytes[..8].copy_from_slice(&MAGIC);
    for (i, value) in [VERSION, records, entries, length].into_iter().enumerate() {
        bytes[8 * (i + 1)..][..8].copy_from_slice(&value.to_le_bytes());
    }
    let sum = xxh3_64(&bytes[..HEADER - 8]);
    bytes[HEADER - 8..].copy_from_slice(&sum.to_le_bytes());
    bytes
}

impl IndexFile {
    /// Opens a file; returns `None` if there is no such file.
    ///
    /// # Errors
    /// [`FOREIGN`] for another kind of file; another error if it cannot be read, is of another version, or so damaged
    /// that no record can be found.
    pub(super) fn open(path: &Path) -> io::Result<Option<IndexFile>> {
        let (mut file, metadata) = match regular_file::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) if regular_file::is_refused(&error) => return Err(io::Error::new(FOREIGN, error)),
            opened => opened?,
        };
        let stamp = Stamp::of(&metadata);
        let mut start = Vec::with_capacity(HEADER);
        (&mut file).take(HEADER as u64).read_to_end(&mut start)?;
        if !start.starts_with(&MAGIC[..start.len().min(MAGIC.len())]) {
            return Err(io::Error::new(FOREIGN, "not a file of seek indexes"));
        }
        let refused = |reason: &str| Err(io::Error::new(io::ErrorKind::InvalidData, reason.to_owned()));
        let Ok(bytes) = <[u8; HEADER]>::try_from(start) else { return refused("its header is cut short") };
        let [records, entries, length] = [2, 3, 4].map(|i| number(&bytes, 8 * i));
        if number(&bytes, 8) != VERSION {
            return refused("of another version");
        }
        if bytes != header(records, entries, length) {
            return refused("its header is damaged");
        }
        let table = entries.checked_mul(ENTRY as u64).and_then(|table| table.checked_add(HEADER as u64));
        if !entries.is_power_of_two() || records > entries || table.is_none_or(|table| table > length) {
            return refused("its header contradicts itself");
        }
        if table.is_none_or(|table| table > stamp.length) {
            return refused("its table is cut short");
        }
        let (added, end, segments) = (HashMap::new(), length, 0);
        let mut opened = IndexFile { file, stamp, records, entries, added, segments, end };
        while let Some(Segment { entries, end }) = segment::read(&opened.file, opened.end, stamp.length) {
            opened.added.extend(entries.iter().map(|entry| (entry.key, (entry.offset, entry.length))));
            opened.segments += 1;
            opened.end = end;
        }
        Ok(Some(opened))
    }

    /// Returns the stamp that the file had when it was opened.
    pub(super) fn stamp(&self) -> Stamp {
        self.stamp
    }

    /// Returns an upper bound of the number of records: some may be repeated or damaged.
    pub(super) fn len(&self) -> u64 {
        self.records + self.added.len() as u64
    }

    /// Returns the offset for another segment. Returns `None` if the file should be rewritten instead, because it has
    /// so many segments that opening takes long, or is incomplete, or has bytes after its last whole segment.
    pub(super) fn grows_at(&self, records: u64) -> Option<u64> {
        let added = self.added.len() as u64 + records;
        let few = self.segments < MOST_SEGMENTS && added <= FEW_RECORDS.max(self.records / 2);
        (few && self.end == self.stamp.length).then_some(self.end)
    }

    /// Reads the record of `key` into `buffer`; returns `false` if there is none, or a damaged one.
    pub(super) fn get(&self, key: u128, buffer: &mut Vec<u8>) -> bool {
        if let Some(&(offset, length)) = self.added.get(&key)
            && self.record(&RecordEntry { key, offset, length }, buffer)
        {
            return true;
        }
        let mut index = key as u64 & (self.entries - 1);
        for _ in 0..self.entries.min(PROBES) {
            let mut bytes = [0; ENTRY];
            if read_at::read_exact(&self.file, &mut bytes, HEADER as u64 + index * ENTRY as u64).is_err() {
                return false;
            }
            let found = RecordEntry::read(&bytes);
            if found.is_free() {
                return false;
            }
            if found.key == key {
                return self.record(&found, buffer);
            }
            index = (index + 1) & (self.entries - 1);
        }
        false
    }

    fn record(&self, entry: &RecordEntry, buffer: &mut Vec<u8>) -> bool {
        // A length beyond the file's end is damage, so no memory is allocated for it.
        let end = entry.offset.saturating_add(CHECKSUM as u64 + u64::from(entry.length));
        if entry.length > LONGEST || end > self.stamp.length {
            return false;
        }
        buffer.clear();
        buffer.resize(CHECKSUM + entry.length as usize, 0);
        if read_at::read_exact(&self.file, buffer, entry.offset).is_err() {
            return false;
        }
        let sum = number(buffer, 0);
        buffer.drain(..CHECKSUM);
        sum == checksum(entry.key, buffer)
    }

    /// Calls `then` with every valid record, first with those of the segments. Repeated records come repeatedly.
    pub(super) fn each(&self, mut then: impl FnMut(u128, &[u8]) -> io::Result<()>) -> io::Result<()> {
        let mut buffer = Vec::new();
        for (&key, &(offset, length)) in &self.added {
            if self.record(&RecordEntry { key, offset, length }, &mut buffer) {
                then(key, &buffer)?;
            }
        }
        let mut table = io::BufReader::with_capacity(1 << 16, &self.file);
        table.seek(SeekFrom::Start(HEADER as u64))?;
        for _ in 0..self.entries {
            let mut bytes = [0; ENTRY];
            table.read_exact(&mut bytes)?;
            let entry = RecordEntry::read(&bytes);
            if !entry.is_free() && self.record(&entry, &mut buffer) {
                then(entry.key, &buffer)?;
            }
        }
        Ok(())
    }
}
