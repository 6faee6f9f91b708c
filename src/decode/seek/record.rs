//! A record of an index file, and the place where it lies.

use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Bytes of a place.
pub(super) const PLACE: usize = 32;
/// Bytes of the checksum before each record.
pub(super) const CHECKSUM: usize = 8;
/// Records are a hundredth of a file; a length beyond this is damage.
pub(super) const LONGEST: u32 = 1 << 28;

/// Where a record lies: an entry of the table or of a segment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) key: u128,
    pub(super) offset: u64,
    pub(super) length: u32,
}

impl Place {
    pub(super) fn read(bytes: &[u8; PLACE]) -> Place {
        Place {
            key: u128::from_le_bytes(*bytes.first_chunk().unwrap_or(&[0; 16])),
            offset: number(bytes, 16),
            length: number(bytes, 24) as u32,
        }
    }

    pub(super) fn write(&self) -> [u8; PLACE] {
        let mut bytes = [0; PLACE];
        bytes[..16].copy_from_slice(&self.key.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.offset.to_le_bytes());
        bytes[24..28].copy_from_slice(&self.length.to_le_bytes());
        bytes
    }

    pub(super) fn is_free(&self) -> bool {
        self.offset == 0
    }
}

/// The little-endian number at `at`; 0 after the end.
pub(super) fn number(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..at + 8).and_then(|bytes| bytes.first_chunk()).map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

/// The checksum of a record, bound to its key: a place that points at another record finds nothing.
pub(super) fn checksum(key: u128, record: &[u8]) -> u64 {
    xxh3_64_with_seed(record, (key as u64) ^ (key >> 64) as u64)
}
