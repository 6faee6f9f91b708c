//! Where the seek indexes of a data set's JPEGs are kept, so that from the second epoch on a crop is decoded from
//! inside its file.
//!
//! An index is found by its file's content ([xxh3](https://xxhash.com) of all of it: 5 µs for 110 KB, which are in memory
//! anyway), never by name or time: what was replaced or cut has no index, and gets its own.

mod build;
mod file;

pub use build::IndexSummary;

use super::jpeg::SeekIndex;
use crate::error::{Error, Result};
use file::IndexFile;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use xxhash_rust::xxh3::xxh3_128;

/// The file's name where it lies beside a data set.
pub(crate) const NAME: &str = ".gpufeed-seek-index";
/// Of a record in memory, beside its bytes: key, pointer, and the map's room.
const OVERHEAD: usize = 64;

/// Where seek indexes are kept: places inside each JPEG from which decoding can start.
///
/// They come from the first decoding of a file, take about 2 % of its size, and let later epochs decode little more than
/// the crop. Pixels are the same with and without.
///
/// ```
/// use gpufeed::decode::SeekIndexes;
///
/// assert_eq!(SeekIndexes::default(), SeekIndexes::Beside);
/// let elsewhere = SeekIndexes::File("/var/cache/imagenet.seek".into());
/// # let _ = elsewhere;
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum SeekIndexes {
    /// In the file `.gpufeed-seek-index` in the data set's folder ([`Dataset::folder`](crate::Dataset::folder)), written at
    /// the end of the first epoch. In memory where the data set has no folder, or one that cannot be written to.
    #[default]
    Beside,
    /// In this file, which is made at the end of the first epoch. Data sets may share it.
    File(PathBuf),
    /// In memory alone.
    Memory,
    /// None are built or used.
    Off,
}

/// Memory that is reused for the index of one file after the other.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    pub(super) record: Vec<u8>,
    pub(super) index: SeekIndex,
}

impl Scratch {
    /// What each part has room for.
    pub(crate) fn sizes(&self) -> [usize; 2] {
        [self.record.capacity(), self.index.room()]
    }

    pub(crate) fn reserve(&mut self, [record, entries]: [usize; 2]) {
        self.record.reserve_exact(record.saturating_sub(self.record.len()));
        self.index.reserve(entries);
    }
}

/// The seek indexes of a loader.
#[derive(Debug)]
pub(crate) struct Store {
    /// The file; `None`: memory alone.
    path: Option<PathBuf>,
    /// Bytes of memory for what is not in the file.
    budget: u64,
    file: RwLock<Option<IndexFile>>,
    fresh: Mutex<Fresh>,
    /// One saves at a time.
    saving: Mutex<()>,
    /// Writing has failed, and would again.
    unwritable: AtomicBool,
}

/// What is not in the file.
#[derive(Debug, Default)]
struct Fresh {
    records: HashMap<u128, Box<[u8]>>,
    bytes: u64,
    /// Those that are being written; still to be found.
    leaving: Arc<HashMap<u128, Box<[u8]>>>,
}

fn unpoisoned<T>(result: std::result::Result<T, PoisonError<T>>) -> T {
    // Nothing is left half-done while these locks are held.
    result.unwrap_or_else(PoisonError::into_inner)
}

impl Store {
    /// `None` where none are wanted. A file that cannot be used counts as none: it is reported, and replaced when there is
    /// something to write, unless it is something else.
    pub(crate) fn open(place: &SeekIndexes, folder: Option<&Path>, budget: u64) -> Option<Store> {
        let path = match place {
            SeekIndexes::Beside => folder.map(|folder| folder.join(NAME)),
            SeekIndexes::File(path) => Some(path.clone()),
            SeekIndexes::Memory => None,
            SeekIndexes::Off => return None,
        };
        let mut unwritable = false;
        let file = path.as_deref().and_then(|path| {
            let opened = IndexFile::open(path);
            opened.unwrap_or_else(|error| {
                unwritable = error.kind() == file::FOREIGN;
                let then = if unwritable { "kept in memory" } else { "built anew" };
                tracing::warn!(path = %path.display(), %error, "seek indexes are {then}");
                None
            })
        });
        Some(Store {
            path,
            budget,
            file: RwLock::new(file),
            fresh: Mutex::default(),
            saving: Mutex::default(),
            unwritable: AtomicBool::new(unwritable),
        })
    }

    /// What an index is found by.
    pub(crate) fn key(bytes: &[u8]) -> u128 {
        xxh3_128(bytes)
    }

    /// Reads the record of `key` into `buffer`; `false` if there is none.
    pub(crate) fn get(&self, key: u128, buffer: &mut Vec<u8>) -> bool {
        unpoisoned(self.file.read()).as_ref().is_some_and(|file| file.get(key, buffer)) || {
            let fresh = unpoisoned(self.fresh.lock());
            let record = fresh.records.get(&key).or_else(|| fresh.leaving.get(&key));
            record.is_some_and(|record| {
                buffer.clear();
                buffer.extend_from_slice(record);
                true
            })
        }
    }

    /// Keeps a new record. Beyond the memory's budget all go to the file, or are left out where there is none.
    pub(crate) fn put(&self, key: u128, record: Vec<u8>) {
        let size = (record.len() + OVERHEAD) as u64;
        let full = unpoisoned(self.fresh.lock()).bytes + size > self.budget;
        if full && (!self.can_write() || self.save().is_err()) {
            return;
        }
        let mut fresh = unpoisoned(self.fresh.lock());
        // Written meanwhile by others, or not: the budget holds.
        if fresh.bytes + size <= self.budget && fresh.records.insert(key, record.into_boxed_slice()).is_none() {
            fresh.bytes += size;
        }
    }

    fn can_write(&self) -> bool {
        self.path.is_some() && !self.unwritable.load(Relaxed)
    }

    /// Whether enough is new for a file to be written: all of it is written anew, so less than a twentieth waits.
    pub(crate) fn is_due(&self) -> bool {
        let old = unpoisoned(self.file.read()).as_ref().map_or(0, IndexFile::len);
        let new = unpoisoned(self.fresh.lock()).records.len() as u64;
        new > 0 && self.can_write() && new * 20 >= old
    }

    /// Writes what is new to the file. Without a file it stays in memory, and that is no error.
    ///
    /// # Errors
    /// [`ErrorKind::Io`](crate::ErrorKind::Io) if the file cannot be written; what was new stays in memory, and no further attempt is made.
    pub(crate) fn save(&self) -> Result<()> {
        let Some(path) = &self.path else { return Ok(()) };
        if !self.can_write() {
            let source = std::io::Error::new(file::FOREIGN, "it cannot be written, or is not a file of seek indexes");
            return Err(Error::io(path, source));
        }
        let _alone = unpoisoned(self.saving.lock());
        let leaving = {
            let mut fresh = unpoisoned(self.fresh.lock());
            fresh.bytes = 0;
            fresh.leaving = Arc::new(std::mem::take(&mut fresh.records));
            Arc::clone(&fresh.leaving)
        };
        if leaving.is_empty() {
            return Ok(());
        }
        // What another process has written since is kept, too.
        let old = match IndexFile::open(path) {
            Err(error) if error.kind() == file::FOREIGN => Err(error),
            old => Ok(old.unwrap_or(None)),
        };
        let written =
            old.and_then(|old| file::write(path, old.as_ref(), leaving.iter())).and_then(|()| IndexFile::open(path));
        match written {
            Ok(file) => {
                *unpoisoned(self.file.write()) = file;
                unpoisoned(self.fresh.lock()).leaving = Arc::default();
                Ok(())
            }
            Err(source) => {
                self.unwritable.store(true, Relaxed);
                let mut fresh = unpoisoned(self.fresh.lock());
                fresh.leaving = Arc::default();
                for (key, record) in Arc::unwrap_or_clone(leaving) {
                    fresh.bytes += (record.len() + OVERHEAD) as u64;
                    fresh.records.insert(key, record);
                }
                let error = Error::io(path, source);
                tracing::warn!(%error, "seek indexes stay in memory (SeekIndexes::File puts them elsewhere)");
                Err(error)
            }
        }
    }

    /// The file, if there is one.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn store(path: &Path, budget: u64) -> Store {
        Store::open(&SeekIndexes::File(path.to_owned()), None, budget).unwrap()
    }

    fn all_found(store: &Store, count: u8) -> bool {
        let mut buffer = Vec::new();
        (0..count).all(|i| store.get(Store::key(&[i]), &mut buffer) && buffer == [i; 100])
    }

    #[test]
    fn records_outlive_the_process_and_the_budget() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("index");
        // Room for six.
        let first = store(&path, 1000);
        (0..50).for_each(|i| first.put(Store::key(&[i]), vec![i; 100]));
        assert!(all_found(&first, 50));
        assert!(path.exists(), "the budget was exceeded");
        assert!(first.fresh.lock().unwrap().bytes <= 1000);
        first.save().unwrap();
        assert!(!first.is_due());
        assert!(all_found(&store(&path, 0), 50));
    }

    #[test]
    fn without_a_file_memory_holds_what_it_may() {
        let store = Store::open(&SeekIndexes::Beside, None, 1000).unwrap();
        (0..50).for_each(|i| store.put(Store::key(&[i]), vec![i; 100]));
        let mut buffer = Vec::new();
        let kept = (0..50).filter(|i| store.get(Store::key(&[*i]), &mut buffer)).count();
        assert_eq!(kept, 6);
        assert!(!store.is_due());
        store.save().unwrap();
        assert!(Store::open(&SeekIndexes::Off, None, 1000).is_none());
    }

    #[test]
    fn what_cannot_be_written_stays_in_memory() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("no such folder").join("index");
        let store = store(&path, 1 << 20);
        (0..50).for_each(|i| store.put(Store::key(&[i]), vec![i; 100]));
        assert!(store.is_due());
        let error = store.save().unwrap_err();
        assert!(error.to_string().contains("no such folder"), "{error}");
        assert!(!store.is_due(), "it would fail again");
        assert!(all_found(&store, 50));
    }

    #[test]
    fn two_processes_keep_each_others_records() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("index");
        let [a, b] = [store(&path, 1 << 20), store(&path, 1 << 20)];
        (0..30).for_each(|i| a.put(Store::key(&[i]), vec![i; 100]));
        (20..50).for_each(|i| b.put(Store::key(&[i]), vec![i; 100]));
        a.save().unwrap();
        b.save().unwrap();
        assert!(all_found(&b, 50));
    }

    #[test]
    fn a_damaged_file_is_replaced_and_a_foreign_one_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("index");
        let first = store(&path, 1 << 20);
        first.put(Store::key(&[1]), vec![1; 100]);
        first.save().unwrap();
        let whole = std::fs::read(&path).unwrap();
        for (content, ours) in
            [(&whole[..70], true), (&whole[..20], true), (&whole[..0], true), (b"my thesis", false), (b"my", false)]
        {
            std::fs::write(&path, content).unwrap();
            let store = store(&path, 1 << 20);
            (0..50).for_each(|i| store.put(Store::key(&[i]), vec![i; 100]));
            assert_eq!(store.is_due(), ours);
            store.put(Store::key(&[50]), vec![50; 100]);
            assert_eq!(store.save().is_ok(), ours, "{content:?}");
            assert!(all_found(&store, 50));
            assert_eq!(std::fs::read(&path).unwrap() == content, !ours);
        }
    }
}
