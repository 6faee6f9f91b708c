//! A file of seek indexes: found by content, read where it lies.
//!
//! | part | bytes |
//! |---|---|
//! | header | 64: magic, version, records, places of the table, where the part with the table ends, checksum of all that |
//! | table | 32 a place: a record's key (16), offset (8), length (4), four zeros; a key's place is its lower bits, or the next free one |
//! | records | as they were written, each behind a checksum of its key and content (8) |
//! | segments | what was added at the end since (`segment.rs`): a few at the most, then the whole file is rewritten |
//!
//! All numbers are little-endian. When the file is opened, its header and the lists of the segments are read, and
//! nothing is mapped: a file that another process cuts short gives an error, where a mapping would end the process. A
//! lookup reads a place and a record, about 2 µs. What is cut off, or lies after the last segment, costs the records
//! that are not whole, and no others.

use super::record::{CHECKSUM, LONGEST, PLACE, Place, checksum, number};
use super::segment::{self, Segment};
use crate::{positioned, regular_file};
use std::collections::HashMap;
use std::fs::{self, File, Metadata};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::time::SystemTime;
use xxhash_rust::xxh3::xxh3_64;

const MAGIC: [u8; 8] = *b"gpufeed\x01";
/// Changes with the layout, and with what the records hold.
const VERSION: u64 = 1;
pub(super) const HEADER: usize = 64;
/// Most places that a lookup reads. A table is at most three quarters full, so that a free place comes within some
/// hundred; in one that somebody has filled up, a lookup would read all of it.
const PROBES: u64 = 4096;
/// Segments, and records in them, up to which a file grows by another one.
const MOST_SEGMENTS: usize = 64;
const FEW_RECORDS: u64 = 4096;

/// The kind of error for a file that is something else, and must not be overwritten.
pub(super) const FOREIGN: io::ErrorKind = io::ErrorKind::AlreadyExists;

/// A file that was opened and whose header is as it should be.
#[derive(Debug)]
pub(super) struct IndexFile {
    file: File,
    stamp: Stamp,
    /// Records and places of the table.
    records: u64,
    places: u64,
    /// Records of the segments.
    behind: HashMap<u128, (u64, u32)>,
    segments: usize,
    /// Where the last segment ends.
    end: u64,
}

/// Facts about a file that differ after others have written to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    length: u64,
    modified: Option<SystemTime>,
    /// Device and number of the file, where the system has such.
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

    /// `None` if there is no such file.
    pub(super) fn at(path: &Path) -> Option<Stamp> {
        fs::metadata(path).ok().map(|metadata| Stamp::of(&metadata))
    }
}

pub(super) fn header(records: u64, places: u64, length: u64) -> [u8; HEADER] {
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
    /// [`FOREIGN`] for another kind of file; else if it cannot be read, is of another version, or damaged so that
    /// nothing of it can be found.
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
        let [records, places, length] = [2, 3, 4].map(|i| number(&bytes, 8 * i));
        if number(&bytes, 8) != VERSION {
            return refused("of another version");
        }
        if bytes != header(records, places, length) {
            return refused("its header is damaged");
        }
        let table = places.checked_mul(PLACE as u64).and_then(|table| table.checked_add(HEADER as u64));
        if !places.is_power_of_two() || records > places || table.is_none_or(|table| table > length) {
            return refused("its header contradicts itself");
        }
        if table.is_none_or(|table| table > stamp.length) {
            return refused("its table is cut short");
        }
        let (behind, end, segments) = (HashMap::new(), length, 0);
        let mut opened = IndexFile { file, stamp, records, places, behind, segments, end };
        while let Some(Segment { places, end }) = segment::read(&opened.file, opened.end, stamp.length) {
            opened.behind.extend(places.iter().map(|place| (place.key, (place.offset, place.length))));
            opened.segments += 1;
            opened.end = end;
        }
        Ok(Some(opened))
    }

    /// Returns the stamp that the file had when it was opened.
    pub(super) fn stamp(&self) -> Stamp {
        self.stamp
    }

    /// How many records there are at the most: some may be there twice, or damaged.
    pub(super) fn len(&self) -> u64 {
        self.records + self.behind.len() as u64
    }

    /// Where another segment goes; `None` if the file should rather be rewritten: so many have come that opening it
    /// takes long, or some of it is missing, or there is more of it than was written whole.
    pub(super) fn grows_at(&self, records: u64) -> Option<u64> {
        let behind = self.behind.len() as u64 + records;
        let few = self.segments < MOST_SEGMENTS && behind <= FEW_RECORDS.max(self.records / 2);
        (few && self.end == self.stamp.length).then_some(self.end)
    }

    /// Reads the record of `key` into `buffer`; `false` if there is none, or none that can be trusted.
    pub(super) fn get(&self, key: u128, buffer: &mut Vec<u8>) -> bool {
        if let Some(&(offset, length)) = self.behind.get(&key)
            && self.record(&Place { key, offset, length }, buffer)
        {
            return true;
        }
        let mut place = key as u64 & (self.places - 1);
        for _ in 0..self.places.min(PROBES) {
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
        // A length beyond the file's end is damage, too: nothing is allocated for it.
        let end = place.offset.saturating_add(CHECKSUM as u64 + u64::from(place.length));
        if place.length > LONGEST || end > self.stamp.length {
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

    /// Every record that can be trusted, those of the segments first. One that is there twice comes twice.
    pub(super) fn each(&self, mut then: impl FnMut(u128, &[u8]) -> io::Result<()>) -> io::Result<()> {
        let mut buffer = Vec::new();
        for (&key, &(offset, length)) in &self.behind {
            if self.record(&Place { key, offset, length }, &mut buffer) {
                then(key, &buffer)?;
            }
        }
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
