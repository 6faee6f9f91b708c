//! A record of an index file, and its entry in the table or a segment.

use xxhash_rust::xxh3::xxh3_64_with_seed;

/// The bytes of an entry of the hash table.
pub(super) const ENTRY: usize = 32;
/// Bytes of the checksum before each record.
pub(super) const CHECKSUM: usize = 8;
/// Records have a hundredth of a file's size; a length beyond this is damage.
pub(super) const LONGEST: u32 = 1 << 28;

/// The key, offset and length of a record: an entry of the table or of a segment.
#[derive(Clone, Copy, Debug)]
pub(super) struct RecordEntry {
    pub(super) key: u128,
    pub(super) offset: u64,
    pub(super) length: u32,
}

impl RecordEntry {
    pub(super) fn read(bytes: &[u8; ENTRY]) -> RecordEntry {
        RecordEntry {
            key: u128::from_le_bytes(*bytes.first_chunk().unwrap_or(&[0; 16])),
            offset: number(bytes, 16),
            length: number(bytes, 24) as u32,
        }
    }

    pub(super) fn write(&self) -> [u8; ENTRY] {
        let mut bytes = [0; ENTRY];
        bytes[..16].copy_from_slice(&self.key.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.offset.to_le_bytes());
        bytes[24..28].copy_from_slice(&self.length.to_le_bytes());
        bytes
    }

    pub(super) fn is_free(&self) -> bool {
        self.offset == 0
    }
}

/// Returns the little-endian number at `at`; 0 after the end.
pub(super) fn number(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..at + 8).and_then(|bytes| bytes.first_chunk()).map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

/// Returns the checksum of a record, which includes its key: a table entry with a wrong offset finds no record.
pub(super) fn checksum(key: u128, record: &[u8]) -> u64 {
    xxh3_64_with_seed(record, (key as u64) ^ (key >> 64) as u64)
}
