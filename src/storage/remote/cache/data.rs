//! Reads and writes the blocks of an object in the cache's file, and checks them by their hashes.
//!
//! A block is divided into leaves of 16 KiB. The hashes of a block's leaves are stored after the object's last byte,
//! and the object's table (`table.rs`) has one hash of these hashes. So a few bytes of a block can be read alone, and
//! still every byte is checked.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use super::{Object, table};
use crate::storage::local::read_at;

/// Bytes of a leaf. Only whole leaves are read, so a read may take nearly two leaves more than it needs, which is
/// little for a photograph.
pub(super) const LEAF: u64 = 16 << 10;
/// The number of bytes that are hashed and then written at once, while they are in a core's cache. To hash and write a
/// block of 8 MiB in one piece took twice the CPU time (`benches/LOG.md`, data from a web server).
const PART: usize = 16 * LEAF as usize;
/// The least time between two writes of an object's time of last use.
const TOUCH: Duration = Duration::from_millis(100);

/// The result of reading a block.
pub(super) enum OnDisk {
    /// The block is whole, and was read.
    Whole,
    Absent,
    /// The bytes on the disk do not have this hash, which the table has for the block.
    Damaged(u64),
    /// The block cannot be read now: another process evicts an object that shares a lock file with this one.
    Evicting,
}

/// Returns the number of bytes that `length` bytes of a block and the hashes of their leaves take on the disk.
pub(super) fn stored(length: u64) -> u64 {
    length + length.div_ceil(LEAF) * 8
}

fn path_of(object: &Object) -> PathBuf {
    object.folder.join("data")
}

/// Returns the offset in the file of the hashes of a block's leaves. All hashes come after the object's bytes, whose
/// number is rounded up to whole leaves.
fn hashes_at(object: &Object, block: u64) -> u64 {
    object.size.next_multiple_of(LEAF) + block * object.block.div_ceil(LEAF) * 8
}

/// Returns the hash that the table has for a block, from the hashes of the block's leaves. The block's number is
/// hashed, too, so that no block is taken for another block.
fn root(block: u64, hashes: &[u8]) -> u64 {
    match xxh3_64_with_seed(hashes, block) {
        table::ABSENT => 1,
        hash => hash,
    }
}

/// Fills `buffer` with the bytes of a block from offset `start` on. Returns false if the block does not have the hash
/// `hash`, or cannot be read. Then `buffer` may have any bytes.
pub(super) fn read(object: &Object, block: u64, hash: u64, start: u64, buffer: &mut [u8]) -> bool {
    let length = object.length(block);
    let end = start.saturating_add(buffer.len() as u64);
    if end > length {
        return false;
    }
    let Ok(file) = File::open(path_of(object)) else { return false };
    let mut hashes = vec![0; length.div_ceil(LEAF) as usize * 8];
    if read_at::read_exact(&file, &mut hashes, hashes_at(object, block)).is_err() || root(block, &hashes) != hash {
        return false;
    }
    let leaves = Leaves { file: &file, begin: object.block * block, length, hashes: &hashes };
    // Leaves that are needed as a whole are read straight into `buffer`; `head` and `tail` are parts of a leaf.
    let first = start.next_multiple_of(LEAF).min(end);
    let last = if end == length { end } else { (end / LEAF * LEAF).max(first) };
    let (head, rest) = buffer.split_at_mut((first - start) as usize);
    let (middle, tail) = rest.split_at_mut((last - first) as usize);
    let whole = leaves.part(start, head) && leaves.whole(first, middle) && leaves.part(last, tail);
    if whole {
        touch(&file);
    }
    whole
}

/// The leaves of a block on the disk, with their hashes.
struct Leaves<'a> {
    file: &'a File,
    /// The offset of the block's first byte in the file.
    begin: u64,
    /// Bytes of the block.
    length: u64,
    hashes: &'a [u8],
}

impl Leaves<'_> {
    /// Reads whole leaves, of which the first begins at offset `start` of the block. Returns false if a leaf cannot be
    /// read or has another hash.
    fn whole(&self, start: u64, buffer: &mut [u8]) -> bool {
        let expected = self.hashes.chunks_exact(8).skip((start / LEAF) as usize);
        read_at::read_exact(self.file, buffer, self.begin + start).is_ok()
            && buffer.chunks(LEAF as usize).zip(expected).all(|(leaf, hash)| xxh3_64(leaf).to_le_bytes() == hash)
    }

    /// Reads a part of one leaf; the part begins at offset `start` of the block. Returns false if the leaf cannot be
    /// read or has another hash.
    fn part(&self, start: u64, buffer: &mut [u8]) -> bool {
        if buffer.is_empty() {
            return true;
        }
        let mut leaf = [0; LEAF as usize];
        let (first, at) = (start / LEAF * LEAF, (start % LEAF) as usize);
        let leaf = &mut leaf[..LEAF.min(self.length - first) as usize];
        let whole = self.whole(first, leaf);
        buffer.copy_from_slice(&leaf[at..at + buffer.len()]);
        whole
    }
}

/// Sets the time of last use of an object, which is its file's time of change, to now. Where the system does not allow
/// this, the file keeps the time of the last write.
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
    let file = OpenOptions::new().write(true).create(true).truncate(false).open(path_of(object))?;
    let mut hashes = Vec::with_capacity(bytes.len().div_ceil(LEAF as usize) * 8);
    for (part, start) in bytes.chunks(PART).zip((object.block * block..).step_by(PART)) {
        hashes.extend(part.chunks(LEAF as usize).flat_map(|leaf| xxh3_64(leaf).to_le_bytes()));
        read_at::write_all(&file, part, start)?;
    }
    read_at::write_all(&file, &hashes, hashes_at(object, block))?;
    file.sync_data()?;
    Ok(root(block, &hashes))
}
