//! A segment is the part that a save adds to the end of an index file: a list of records, and the records.
//!
//! | section | bytes |
//! |---|---|
//! | header | 40: magic, records, bytes of the segment, checksum of the list, checksum of the header |
//! | list | 32 a record, like the table's entries |
//! | records | like those of the table |
//!
//! A killed process leaves an incomplete segment, which lacks only the records that were not written.

use super::record::{CHECKSUM, ENTRY, LONGEST, RecordEntry, checksum, number};
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use xxhash_rust::xxh3::xxh3_64;

const MAGIC: [u8; 8] = *b"segment\x01";
const HEADER: usize = 40;

/// A valid segment.
pub(super) struct Segment {
    pub(super) entries: Vec<RecordEntry>,
    /// Offset of its end.
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

/// Reads the segment at `at` of a file of `length` bytes; returns `None` if there is none with a whole list.
pub(super) fn read(file: &File, at: u64, length: u64) -> Option<Segment> {
    let mut input = BufReader::with_capacity(1 << 16, file);
    input.seek(SeekFrom::Start(at)).ok()?;
    let mut head = [0; HEADER];
    input.read_exact(&mut head).ok()?;
    let [records, bytes] = [1, 2].map(|i| number(&head, 8 * i));
    let list = records.checked_mul(ENTRY as u64)?;
    let end = at.checked_add(bytes)?;
    let least =
        list.checked_add(HEADER as u64).filter(|least| at.checked_add(*least).is_some_and(|end| end <= length))?;
    // Checks that the file is long enough for the list, since the header may be wrong.
    if head[..8] != MAGIC || bytes < least {
        return None;
    }
    let (mut bytes, list) = (Vec::new(), usize::try_from(list).ok()?);
    bytes.try_reserve_exact(list).ok()?;
    bytes.resize(list, 0);
    input.read_exact(&mut bytes).ok()?;
    if head != header(records, end - at, &bytes) {
        return None;
    }
    let (entries, _) = bytes.as_chunks();
    Some(Segment { entries: entries.iter().map(RecordEntry::read).collect(), end })
}

/// Writes a segment to `out`, whose position is offset `at` of the file.
pub(super) fn write(out: &mut impl Write, at: u64, records: &[(u128, &[u8])]) -> io::Result<()> {
    let fitting = || records.iter().filter(|(_, record)| record.len() <= LONGEST as usize);
    let count = fitting().count();
    let mut offset = at + (HEADER + ENTRY * count) as u64;
    let mut list = Vec::with_capacity(ENTRY * count);
    for &(key, record) in fitting() {
        list.extend_from_slice(&RecordEntry { key, offset, length: record.len() as u32 }.write());
        offset += (CHECKSUM + record.len()) as u64;
    }
    out.write_all(&header(count as u64, offset - at, &list))?;
    out.write_all(&list)?;
    for &(key, record) in fitting() {
        out.write_all(&checksum(key, record).to_le_bytes())?;
        out.write_all(record)?;
    }
    Ok(())
}
