//! The bytes of an object's blocks, and the hashes by which they are known.
//!
//! A block is divided into leaves of 16 KiB. The hashes of a block's leaves are stored after the object's last byte, and
//! the hash of these hashes in the table: so a few bytes of a block can be read alone, and every byte is checked.

use std::fs::{File, OpenOptions};
use std::io;
use std::ops::Range;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use super::{Object, table};
use crate::read_at;

/// Bytes of a leaf: small against a photograph, of which at most two are read in vain.
pub(super) const LEAF: u64 = 16 << 10;
/// The time of last use is written no more often than that.
const TOUCH: Duration = Duration::from_millis(100);

/// Result of reading a block.
pub(super) enum OnDisk {
    /// It is whole. The bytes that were asked for lie there in the buffer.
    Whole(Range<usize>),
    Absent,
    /// The table has this hash of it, and the bytes have another.
    Damaged(u64),
    /// Another process makes room.
    Evicting,
}

/// Returns the bytes that `length` bytes of a block take on the disk, with the hashes of their leaves.
pub(super) fn stored(length: u64) -> u64 {
    length + length.div_ceil(LEAF) * 8
}

fn path_of(object: &Object) -> PathBuf {
    object.folder.join("data")
}

/// Where the hashes of a block's leaves lie. `size` is what the object's bytes take, in whole leaves.
fn hashes_at(object: &Object, block: u64) -> u64 {
    object.size.next_multiple_of(LEAF) + block * object.block.div_ceil(LEAF) * 8
}

/// Returns the hash of a block in the table. Its number is a part of it, so that no block stands for another.
fn root(block: u64, hashes: &[u8]) -> u64 {
    match xxh3_64_with_seed(hashes, block) {
        table::ABSENT => 1,
        hash => hash,
    }
}

/// Reads `range` of a block, and whatever its leaves have around it, into `buffer`. `None` if the bytes are not those
/// that `hash` stands for, or cannot be read.
pub(super) fn read(
    object: &Object,
    block: u64,
    hash: u64,
    range: &Range<u64>,
    buffer: &mut Vec<u8>,
) -> Option<Range<usize>> {
    let length = object.length(block);
    if range.start > range.end || range.end > length {
        return None;
    }
    let file = File::open(path_of(object)).ok()?;
    let mut hashes = vec![0; length.div_ceil(LEAF) as usize * 8];
    read_at::read_exact(&file, &mut hashes, hashes_at(object, block)).ok()?;
    if root(block, &hashes) != hash {
        return None;
    }
    let first = range.start / LEAF;
    let (start, end) = (first * LEAF, range.end.next_multiple_of(LEAF).min(length));
    lengthen(buffer, (end - start) as usize);
    read_at::read_exact(&file, buffer, object.block * block + start).ok()?;
    let expected = hashes.chunks_exact(8).skip(first as usize);
    if buffer.chunks(LEAF as usize).zip(expected).any(|(leaf, hash)| xxh3_64(leaf).to_le_bytes() != hash) {
        return None;
    }
    touch(&file);
    Some((range.start - start) as usize..(range.end - start) as usize)
}

/// Gives a buffer this length. What it had before is overwritten next, so it is not cleared; new memory comes cleared from
/// the system, which is cheaper.
fn lengthen(buffer: &mut Vec<u8>, length: usize) {
    if buffer.capacity() < length {
        *buffer = vec![0; length];
    } else {
        buffer.resize(length, 0);
    }
}

/// Makes now the time of last use. Where that is not allowed, an object counts as used when it was last written.
fn touch(file: &File) {
    let now = SystemTime::now();
    let recent = |used: SystemTime| now.duration_since(used).is_ok_and(|time| time < TOUCH);
    if !file.metadata().and_then(|data| data.modified()).is_ok_and(recent) {
        let _ = file.set_modified(now);
    }
}

/// Writes a block to the disk, and returns its hash for the table.
///
/// # Errors
/// The system's, for example for a full disk; [`NotFound`](io::ErrorKind::NotFound) if the folder was deleted.
pub(super) fn write(object: &Object, block: u64, bytes: &[u8]) -> io::Result<u64> {
    let hashes: Vec<u8> = bytes.chunks(LEAF as usize).flat_map(|leaf| xxh3_64(leaf).to_le_bytes()).collect();
    let file = OpenOptions::new().write(true).create(true).truncate(false).open(path_of(object))?;
    read_at::write_all(&file, bytes, object.block * block)?;
    read_at::write_all(&file, &hashes, hashes_at(object, block))?;
    file.sync_data()?;
    Ok(root(block, &hashes))
}
