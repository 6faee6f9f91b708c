//! A segment is what a save adds to the end of an index file: a list of records, and the records.
//!
//! | part | bytes |
//! |---|---|
//! | header | 40: magic, records, bytes of the segment, checksum of the list, checksum of all that |
//! | list | 32 a record, as the table's places |
//! | records | as those of the table |
//!
//! A process that is killed leaves a segment that is not whole: of its records those are lost that were not written.

use super::record::{CHECKSUM, LONGEST, PLACE, Place, checksum, number};
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use xxhash_rust::xxh3::xxh3_64;

const MAGIC: [u8; 8] = *b"segment\x01";
const HEADER: usize = 40;

/// A segment that was found.
pub(super) struct Segment {
    pub(super) places: Vec<Place>,
    /// Where it ends.
    pub(super) end: u64,
}

fn header(records: u64, bytes: u64, list: &[u8]) -> [u8; HEADER] {
    let mut header = [0; HEADER];
    header[..8].copy_from_slice(&MAGIC);
    for (i, value) in [records, bytes, xxh3_64(list)].into_iter().enumerate() {
        header[8 * (i + 1)..][..8].copy_from_slice(&value.to_le_bytes());
    }
    let sum = xxh3_64(&header[..HEADER - 8]);
    header[HEADER - 8..].copy_from_slice(&sum.to_le_bytes());
    header
}

/// The segment at `at` of a file of `length` bytes; `None` if there is none whose list is whole.
pub(super) fn read(file: &File, at: u64, length: u64) -> Option<Segment> {
    let mut input = BufReader::with_capacity(1 << 16, file);
    input.seek(SeekFrom::Start(at)).ok()?;
    let mut head = [0; HEADER];
    input.read_exact(&mut head).ok()?;
    let [records, bytes] = [1, 2].map(|i| number(&head, 8 * i));
    let list = records.checked_mul(PLACE as u64)?;
    let end = at.checked_add(bytes)?;
    let least =
        list.checked_add(HEADER as u64).filter(|least| at.checked_add(*least).is_some_and(|end| end <= length))?;
    // The list is read where the file is long enough to hold it, whatever its header says.
    if head[..8] != MAGIC || bytes < least {
        return None;
    }
    let mut bytes = vec![0; usize::try_from(list).ok()?];
    input.read_exact(&mut bytes).ok()?;
    if head != header(records, end - at, &bytes) {
        return None;
    }
    let (places, _) = bytes.as_chunks();
    Some(Segment { places: places.iter().map(Place::read).collect(), end })
}

/// Writes a segment to `out`, which stands at place `at` of the file.
pub(super) fn write(out: &mut impl Write, at: u64, records: &[(u128, &[u8])]) -> io::Result<()> {
    let kept = || records.iter().filter(|(_, record)| record.len() <= LONGEST as usize);
    let count = kept().count();
    let mut offset = at + (HEADER + PLACE * count) as u64;
    let mut list = Vec::with_capacity(PLACE * count);
    for &(key, record) in kept() {
        list.extend_from_slice(&Place { key, offset, length: record.len() as u32 }.write());
        offset += (CHECKSUM + record.len()) as u64;
    }
    out.write_all(&header(count as u64, offset - at, &list))?;
    out.write_all(&list)?;
    for &(key, record) in kept() {
        out.write_all(&checksum(key, record).to_le_bytes())?;
        out.write_all(record)?;
    }
    Ok(())
}
