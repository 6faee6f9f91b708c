//! The seek indexes of a loader: those in the file, and in memory those that are not saved yet.

use super::file::{self, IndexFile, Stamp};
use super::lock::{self, Lock};
use super::{SeekIndexes, unpoisoned, write};
use crate::error::{Error, Result};
use std::collections::{HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, RwLock, TryLockError};
use std::time::{Duration, Instant};
use xxhash_rust::xxh3::xxh3_128;

/// Bytes of memory that a record takes besides its content: key, pointer, and its entry of the map.
const OVERHEAD: usize = 64;
/// Milliseconds between checks of a file that lacks a record: another process may have written it.
const LOOK: u64 = 1000;

/// The seek indexes of a loader.
#[derive(Debug)]
pub(crate) struct SeekStore {
    /// The path of the file; `None` if indexes are in memory only.
    path: Option<PathBuf>,
    /// Bytes of memory for records that are not in the file.
    budget: u64,
    file: RwLock<Option<IndexFile>>,
    fresh: Mutex<Fresh>,
    /// Lets one thread at a time save.
    saving: Mutex<()>,
    /// True after a failed write. Saving is not tried again, because it would fail again.
    unwritable: AtomicBool,
    opened: Instant,
    /// Time of the last check of the file, in milliseconds since it was opened.
    looked: AtomicU64,
    said: Said,
}

/// Warnings that were shown, and are shown only once.
#[derive(Debug, Default)]
struct Said {
    no_locks: AtomicBool,
    unfit: AtomicBool,
}

/// Records that are not in the file.
#[derive(Debug, Default)]
struct Fresh {
    records: HashMap<u128, Box<[u8]>>,
    bytes: u64,
    /// Records that are being written; lookups still find them.
    leaving: Arc<HashMap<u128, Box<[u8]>>>,
}

impl SeekStore {
    /// Opens the seek indexes of `indexes`; returns `None` if they are off. An unusable file is reported and counts as
    /// missing. It is replaced at the next save, unless it is another kind of file.
    pub(crate) fn open(indexes: &SeekIndexes, folder: Option<&Path>, budget: u64) -> Option<SeekStore> {
        if *indexes == SeekIndexes::Off {
            return None;
        }
        let path = indexes.path(folder);
        let mut unwritable = false;
        let file = path.as_deref().and_then(|path| {
            let opened = IndexFile::open(path);
            opened.unwrap_or_else(|error| {
                unwritable = error.kind() == file::FOREIGN;
                let then = if unwritable { "stored in memory" } else { "rebuilt" };
                tracing::warn!(path = %path.display(), %error, "seek indexes are {then}");
                None
            })
        });
        Some(SeekStore {
            path,
            budget,
            file: RwLock::new(file),
            fresh: Mutex::default(),
            saving: Mutex::default(),
            unwritable: AtomicBool::new(unwritable),
            opened: Instant::now(),
            looked: AtomicU64::new(0),
            said: Said::default(),
        })
    }

    /// Returns the key of the index for a file with these bytes.
    pub(crate) fn key(bytes: &[u8]) -> u128 {
        xxh3_128(bytes)
    }

    /// Reads the record of `key` into `buffer`; returns `false` if there is none.
    pub(crate) fn get(&self, key: u128, buffer: &mut Vec<u8>) -> bool {
        self.find_in_file(key, buffer)
            || self.find_in_memory(key, buffer)
            || (self.looks_again() && self.find_in_file(key, buffer))
    }

    fn find_in_file(&self, key: u128, buffer: &mut Vec<u8>) -> bool {
        unpoisoned(self.file.read()).as_ref().is_some_and(|file| file.get(key, buffer))
    }

    fn find_in_memory(&self, key: u128, buffer: &mut Vec<u8>) -> bool {
        let fresh = unpoisoned(self.fresh.lock());
        let record = fresh.records.get(&key).or_else(|| fresh.leaving.get(&key));
        record.is_some_and(|record| {
            buffer.clear();
            buffer.extend_from_slice(record);
            true
        })
    }

    /// Checks the file, unless the last check was just now. Returns `true` if other processes have written to it.
    fn looks_again(&self) -> bool {
        let (now, last) = (self.opened.elapsed().as_millis() as u64, self.looked.load(Relaxed));
        let due = now >= last + LOOK;
        due && self.looked.compare_exchange(last, now, Relaxed, Relaxed).is_ok() && self.refresh()
    }

    /// Opens the file again if other processes have written to it, and returns `true` then. If the file is missing or
    /// unusable, the previously opened one stays.
    pub(crate) fn refresh(&self) -> bool {
        let Some(path) = &self.path else { return false };
        let known = unpoisoned(self.file.read()).as_ref().map(IndexFile::stamp);
        let found = Stamp::at(path);
        if found.is_none() || found == known {
            return false;
        }
        let opened = IndexFile::open(path).unwrap_or(None);
        let changed = opened.is_some();
        if changed {
            *unpoisoned(self.file.write()) = opened;
        }
        changed
    }

    /// Stores a new record. When the memory's budget is exceeded, all records are written to the file, or dropped if
    /// there is none.
    pub(crate) fn put(&self, key: u128, record: Vec<u8>) {
        let size = (record.len() + OVERHEAD) as u64;
        let full = unpoisoned(self.fresh.lock()).bytes + size > self.budget;
        if full {
            self.save_or_say(Duration::ZERO);
        }
        let mut fresh = unpoisoned(self.fresh.lock());
        // The budget holds even if the save has failed.
        if fresh.bytes + size <= self.budget && fresh.records.insert(key, record.into_boxed_slice()).is_none() {
            fresh.bytes += size;
        }
    }

    fn can_write(&self) -> bool {
        self.path.is_some() && !self.unwritable.load(Relaxed)
    }

    /// Returns true if there are new records, and a file to write them to.
    pub(crate) fn is_due(&self) -> bool {
        self.can_write() && !unpoisoned(self.fresh.lock()).records.is_empty()
    }

    /// Writes new records to the file, and opens it again with the records of other processes. Without a file, records
    /// stay in memory, and the result is still `true`. Returns `false` if other processes were writing for all of
    /// `patience`: new records stay in memory.
    ///
    /// # Errors
    /// [`ErrorKind::Io`](crate::ErrorKind::Io) if the file cannot be written; new records stay in memory, and later
    /// calls do not try again.
    pub(crate) fn save(&self, patience: Duration) -> Result<bool> {
        self.locked(patience, |path, alone| {
            let leaving = self.leave();
            if leaving.is_empty() {
                return Ok(());
            }
            let written = add(path, alone, &leaving);
            let mut fresh = unpoisoned(self.fresh.lock());
            fresh.leaving = Arc::default();
            if written.is_err() {
                for (key, record) in Arc::unwrap_or_clone(leaving) {
                    fresh.bytes += (record.len() + OVERHEAD) as u64;
                    fresh.records.insert(key, record);
                }
            }
            drop(fresh);
            written.map(|file| *unpoisoned(self.file.write()) = file)
        })
    }

    /// [Saves](Self::save) for callers that continue after an error, which is logged. Returns `false` if other
    /// processes were writing for all of `patience`.
    pub(super) fn save_or_say(&self, patience: Duration) -> bool {
        !self.is_due()
            || self.save(patience).unwrap_or_else(|error| {
                tracing::warn!(%error, "seek indexes stay in memory, because their file cannot be written");
                true
            })
    }

    /// Removes every record whose key is not in `keys`, and returns their number. Returns `None` if other processes
    /// were writing for all of `patience`.
    ///
    /// # Errors
    /// The errors of [`save`](Self::save).
    pub(super) fn prune(&self, keys: &HashSet<u128>, patience: Duration) -> Result<Option<u64>> {
        let mut removed = 0;
        let done = self.locked(patience, |path, _| {
            let Some(old) = IndexFile::open(path)? else { return Ok(()) };
            let (mut before, mut others) = (HashSet::new(), false);
            old.each(|key, _| {
                before.insert(key);
                others |= !keys.contains(&key);
                Ok(())
            })?;
            if others {
                removed = before.iter().filter(|key| !keys.contains(key)).count() as u64;
                write::rewrite(path, Some(&old), |key| keys.contains(&key), &[])?;
                *unpoisoned(self.file.write()) = IndexFile::open(path)?;
            }
            Ok(())
        })?;
        Ok(done.then_some(removed))
    }

    /// Runs `work` while no other process writes to the file; its second argument is true if that is certain. Returns
    /// `false` if other processes were writing for all of `patience`.
    fn locked(&self, patience: Duration, work: impl FnOnce(&Path, bool) -> io::Result<()>) -> Result<bool> {
        let Some(path) = &self.path else { return Ok(true) };
        if !self.can_write() {
            let source = io::Error::new(file::FOREIGN, "it cannot be written, or is not a file of seek indexes");
            return Err(Error::io(path, source));
        }
        let _saving = match self.saving.try_lock() {
            Ok(saving) => saving,
            Err(TryLockError::Poisoned(saving)) => saving.into_inner(),
            Err(TryLockError::WouldBlock) => return Ok(false),
        };
        let done = lock::take(path, patience).and_then(|lock| match &lock {
            Lock::Held { .. } => work(path, true).map(|()| true),
            Lock::Busy => Ok(false),
            Lock::Unsupported(error) => {
                if !self.said.no_locks.swap(true, Relaxed) {
                    let then =
                        "the file system has no locks: seek indexes that several processes save at once may be lost";
                    tracing::warn!(path = %path.display(), %error, "{then}");
                }
                work(path, false).map(|()| true)
            }
        });
        done.map_err(|source| {
            self.unwritable.store(true, Relaxed);
            Error::io(path, source)
        })
    }

    /// Takes the records that are to be written; until they are written, lookups still find them.
    fn leave(&self) -> Arc<HashMap<u128, Box<[u8]>>> {
        let mut fresh = unpoisoned(self.fresh.lock());
        fresh.bytes = 0;
        fresh.leaving = Arc::new(std::mem::take(&mut fresh.records));
        Arc::clone(&fresh.leaving)
    }

    /// Reports an index that does not fit its file.
    pub(crate) fn report_unfit(&self) {
        if !self.said.unfit.swap(true, Relaxed) {
            let path = self.path.as_deref().unwrap_or(Path::new("memory")).display().to_string();
            let then =
                "a seek index does not fit its file, which is decoded from its start; remove the index to rebuild it";
            tracing::warn!(path, "{then}");
        }
    }

    /// Returns the path of the file, if there is one.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }
}

/// Adds records that are not in the file at `path` to it, and opens it. Without a lock an existing file is always
/// rewritten instead of extended: processes that save at the same time may lose records, but damage none.
fn add(path: &Path, alone: bool, records: &HashMap<u128, Box<[u8]>>) -> io::Result<Option<IndexFile>> {
    // An unusable file is replaced, but another kind of file is not.
    let old = match IndexFile::open(path) {
        Err(error) if error.kind() == file::FOREIGN => return Err(error),
        old => old.unwrap_or(None),
    };
    let mut buffer = Vec::new();
    let mut new: Vec<(u128, &[u8])> = records.iter().map(|(key, record)| (*key, &**record)).collect();
    new.retain(|(key, _)| !old.as_ref().is_some_and(|old| old.get(*key, &mut buffer)));
    if new.is_empty() && old.is_some() {
        return Ok(old);
    }
    let end = old.as_ref().and_then(|old| old.grows_at(new.len() as u64)).filter(|_| alone);
    let written = end.map_or(Err(io::ErrorKind::Unsupported.into()), |end| write::append(path, end, &new));
    match written {
        // The index file belongs to another user, in a folder that this user may write to.
        Err(error) if matches!(error.kind(), io::ErrorKind::Unsupported | io::ErrorKind::PermissionDenied) => {
            write::rewrite(path, old.as_ref(), |_| true, &new)?;
        }
        written => written?,
    }
    IndexFile::open(path)
}

#[cfg(test)]
mod tests;
