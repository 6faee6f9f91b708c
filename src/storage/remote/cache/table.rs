//! Reads and writes the table of an object: it says which of the object's blocks are in the cache, and has their
//! hashes.
//!
//! The file has a header of 64 bytes (magic number, version, key, number of blocks, hash of all entries), then an entry
//! of 8 bytes for each block, which is the block's hash. All numbers are little-endian. A table that is damaged, or
//! belongs to another object, counts as absent.

use std::io::Write;
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::xxh3_64;

use super::VERSION;
use crate::storage::local::atomic_file;

const MAGIC: u64 = u64::from_le_bytes(*b"gpufblck");
const HEADER: usize = 64;

/// The entry of a block that is not in the cache.
pub(super) const ABSENT: u64 = 0;

fn path_of(folder: &Path) -> PathBuf {
    folder.join("table")
}

fn header(key: u128, entries: &[u8]) -> [u8; HEADER] {
    let mut header = [0; HEADER];
    let numbers = [MAGIC, VERSION, key as u64, (key >> 64) as u64, entries.len() as u64 / 8, xxh3_64(entries)];
    for (bytes, number) in header.chunks_exact_mut(8).zip(numbers) {
        bytes.copy_from_slice(&number.to_le_bytes());
    }
    header
}

/// Reads the table of the object `key`: one entry for each of its `blocks` blocks. `None` if the table is absent or
/// damaged.
pub(super) fn read(folder: &Path, key: u128, blocks: usize) -> Option<Vec<u64>> {
    let bytes = std::fs::read(path_of(folder)).ok()?;
    let (found, entries) = bytes.split_at_checked(HEADER)?;
    (entries.len() == blocks * 8 && *found == header(key, entries)).then_some(())?;
    Some(entries.chunks_exact(8).map(|entry| u64::from_le_bytes(entry.try_into().unwrap_or_default())).collect())
}

/// Replaces the table of the object `key` atomically.
///
/// # Errors
/// The system's; [`NotFound`](std::io::ErrorKind::NotFound) if the folder was deleted.
pub(super) fn write(folder: &Path, key: u128, table: &[u64]) -> std::io::Result<()> {
    let entries: Vec<u8> = table.iter().flat_map(|entry| entry.to_le_bytes()).collect();
    atomic_file::replace(&path_of(folder), |file| {
        file.write_all(&header(key, &entries))?;
        file.write_all(&entries)
    })
}
