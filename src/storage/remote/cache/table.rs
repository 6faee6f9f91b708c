//! The table of an object: it says which blocks are whole, and has the hash of each.
//!
//! 64 bytes of header (magic number, version, key, number of blocks, hash of the rest), then 8 bytes a block. All
//! numbers are little-endian. A table that is damaged, or belongs to another object, counts as absent.

use std::io::Write;
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::xxh3_64;

use super::VERSION;
use crate::storage::local::atomic_file;

const MAGIC: u64 = u64::from_le_bytes(*b"gpufblck");
const HEADER: usize = 64;

/// The entry of a block that is absent.
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

/// Reads the table of the object `key`, which has `blocks` blocks.
pub(super) fn read(folder: &Path, key: u128, blocks: usize) -> Option<Vec<u64>> {
    let bytes = std::fs::read(path_of(folder)).ok()?;
    let (found, entries) = bytes.split_at_checked(HEADER)?;
    (entries.len() == blocks * 8 && *found == header(key, entries)).then_some(())?;
    Some(entries.chunks_exact(8).map(|entry| u64::from_le_bytes(entry.try_into().unwrap_or_default())).collect())
}

/// Replaces the table atomically.
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
