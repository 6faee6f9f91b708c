//! Keeps the cache on disk within its bound: counts the bytes in its folder, and evicts objects to make room.
//!
//! The file `room` in the folder holds the sum of the bytes that all processes have reserved. Before the sum would
//! exceed the bound, the bytes of all objects in the folder are counted anew, because killed processes may have
//! reserved bytes that they never wrote.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use xxhash_rust::xxh3::xxh3_64;

use super::locks::Locks;
use crate::storage::local::read_at;

/// Beyond what is needed, an eviction also frees the bound divided by this number, so that the next blocks need no
/// eviction.
const SPARE: u64 = 32;
/// The prefix of the folder names of objects that are being deleted.
const EVICTED: &str = ".evicted-";

#[derive(Debug)]
pub(super) struct Room {
    objects: PathBuf,
    /// The file that has the sum of reserved bytes.
    sum: PathBuf,
    bound: u64,
}

/// An object in the cache, with its bytes on the disk and the time of its last use.
struct Stored {
    key: u128,
    bytes: u64,
    used: SystemTime,
}

impl Room {
    pub(super) fn new(folder: &Path, bound: u64) -> Room {
        Room { objects: folder.join("objects"), sum: folder.join("room"), bound }
    }

    /// Returns true if the cache could take this many bytes if it were empty.
    pub(super) fn fits(&self, bytes: u64) -> bool {
        bytes <= self.bound
    }

    /// Reserves `bytes` for a block of the object `key`, and evicts other objects if this is necessary. Returns the
    /// number of evicted objects; `None` if there is no room even so.
    ///
    /// # Errors
    /// The system's: nothing can be written.
    pub(super) fn reserve(&self, locks: &Locks, key: u128, bytes: u64) -> io::Result<Option<u64>> {
        let _held = locks.room()?;
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&self.sum)?;
        if let Some(sum) = read(&file).filter(|sum| sum.saturating_add(bytes) <= self.bound) {
            write(&file, sum + bytes)?;
            return Ok(Some(0));
        }
        let (sum, evicted) = self.evict(locks, key, bytes)?;
        let fits = sum.saturating_add(bytes) <= self.bound;
        write(&file, if fits { sum + bytes } else { sum })?;
        Ok(fits.then_some(evicted))
    }

    /// Gives back bytes that were reserved and not used.
    pub(super) fn give_back(&self, locks: &Locks, bytes: u64) {
        let give_back = || {
            let _held = locks.room()?;
            let file = OpenOptions::new().read(true).write(true).open(&self.sum)?;
            read(&file).map_or(Ok(()), |sum| write(&file, sum.saturating_sub(bytes)))
        };
        // If this fails, the sum stays too high until the bytes in the folder are counted anew.
        let _ = give_back();
    }

    /// Counts the bytes in the folder, and evicts the objects that nobody has used for the longest time, until there is
    /// room for `bytes`. The object `key` is not evicted. Returns the bytes in use after that, and the number of
    /// evicted objects.
    fn evict(&self, locks: &Locks, key: u128, bytes: u64) -> io::Result<(u64, u64)> {
        let mut stored = self.count();
        let mut sum: u64 = stored.iter().map(|object| object.bytes).sum();
        let mut evicted = 0;
        if sum.saturating_add(bytes) <= self.bound {
            return Ok((sum, evicted));
        }
        let goal = (self.bound - self.bound / SPARE).saturating_sub(bytes);
        // The object whose block needs room is being read, so evicting it would gain nothing. If it is larger than the
        // bound, only a part of it stays in the cache.
        stored.retain(|object| object.key != key);
        stored.sort_by_key(|object| object.used);
        for object in stored {
            if sum <= goal {
                break;
            }
            let Some(held) = locks.evict(object.key) else { continue };
            let name = format!("{:032x}", object.key);
            let doomed = self.objects.join(format!("{EVICTED}{name}"));
            let renamed = fs::rename(self.objects.join(&name), &doomed);
            drop(held);
            if renamed.is_ok() && fs::remove_dir_all(&doomed).is_ok() {
                sum -= object.bytes;
                evicted += 1;
            }
        }
        Ok((sum, evicted))
    }

    /// Lists all objects in the cache, and deletes the rest of objects that a killed process had begun to delete.
    fn count(&self) -> Vec<Stored> {
        let mut all = Vec::new();
        for entry in fs::read_dir(&self.objects).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if name.starts_with(EVICTED) {
                let _ = fs::remove_dir_all(entry.path());
                continue;
            }
            let Ok(key) = u128::from_str_radix(&name, 16) else { continue };
            let metadata = |file: &str| fs::metadata(entry.path().join(file)).ok();
            let (data, table) = (metadata("data"), metadata("table"));
            let used = data.as_ref().and_then(|data| data.modified().ok()).unwrap_or(SystemTime::UNIX_EPOCH);
            let bytes = [data, table].iter().flatten().map(on_disk).sum();
            all.push(Stored { key, bytes, used });
        }
        all
    }
}

/// Returns the bytes that a file takes on the disk. The holes of a sparse file take none.
#[cfg(unix)]
fn on_disk(metadata: &fs::Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::blocks(metadata) * 512
}

/// Returns the length of a file. On this system, files have no holes unless a program asks for them.
#[cfg(not(unix))]
fn on_disk(metadata: &fs::Metadata) -> u64 {
    metadata.len()
}

/// Reads the sum of reserved bytes; `None` if it does not match the hash that is stored with it.
fn read(file: &File) -> Option<u64> {
    let mut bytes = [0; 16];
    read_at::read_exact(file, &mut bytes, 0).ok()?;
    let (sum, hash) = bytes.split_at(8);
    (xxh3_64(sum).to_le_bytes() == hash).then(|| u64::from_le_bytes(sum.try_into().unwrap_or_default()))
}

fn write(file: &File, sum: u64) -> io::Result<()> {
    let sum = sum.to_le_bytes();
    read_at::write_all(file, &[sum, xxh3_64(&sum).to_le_bytes()].concat(), 0)
}
