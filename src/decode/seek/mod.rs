//! Stores the seek indexes of a data set's JPEGs, so that from the second epoch on a crop is decoded from inside its
//! file.
//!
//! An index is found by its file's content ([xxh3](https://xxhash.com) of all of it: 5 µs for 110 KB, which are in
//! memory anyway), never by name or time: a file that was replaced or cut has no index, and gets its own.
//!
//! `store.rs` has the indexes of a loader, and `saver.rs` saves them. `file.rs` searches the file, which has a
//! `record.rs` for each JPEG and a `segment.rs` for each save; `write.rs` writes it under the lock of `lock.rs`.
//! `build.rs` makes the indexes of a whole data set ahead of its first epoch, `index.rs` that of one file without a
//! loader. `damage.rs` and `processes.rs` are tests.

mod build;
#[cfg(test)]
mod damage;
mod file;
mod index;
mod lock;
#[cfg(test)]
mod processes;
mod record;
mod saver;
mod segment;
mod store;
mod write;

pub(crate) use build::FilesToIndex;
pub use build::IndexSummary;
pub use index::SeekIndex;
pub(crate) use saver::Saver;
pub(crate) use store::SeekStore;

use std::path::{Path, PathBuf};
use std::sync::PoisonError;

/// File name in a data set's folder.
pub(crate) const NAME: &str = ".gpufeed-seek-index";

/// Storage of seek indexes: positions inside each JPEG from which decoding can start.
///
/// They are built when a file is first decoded, take about 2 % of its size, and let later epochs decode little more
/// than the crop. Pixels are the same with and without them.
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
    /// In the file `.gpufeed-seek-index` in the data set's folder ([`Dataset::folder`](crate::Dataset::folder)), used
    /// like [`File`](Self::File). In memory if the data set has no folder, or one that cannot be written to.
    #[default]
    Beside,
    /// In this file, to which a loader adds new indexes at the end of each epoch. Data sets, loaders and processes may
    /// share it: each sees the others' indexes, and none overwrites them. An empty file of the same name with `.lock`
    /// appended lets them write one at a time.
    File(PathBuf),
    /// In memory alone, for this loader.
    Memory,
    /// Seek indexes are neither built nor used.
    Off,
}

/// Reusable memory for the index of one file.
#[derive(Debug, Default)]
pub(crate) struct SeekScratch {
    pub(super) record: Vec<u8>,
    pub(super) index: gpufeed_jpeg::SeekIndex,
}

impl SeekScratch {
    /// Reserves as much memory as `other` has.
    pub(super) fn reserve_like(&mut self, other: &SeekScratch) {
        self.record.reserve_exact(other.record.capacity().saturating_sub(self.record.len()));
        self.index.reserve(other.index.capacity());
    }
}

fn unpoisoned<T>(result: std::result::Result<T, PoisonError<T>>) -> T {
    // A poisoned lock is used on: no panic can leave the locked data half changed.
    result.unwrap_or_else(PoisonError::into_inner)
}

impl SeekIndexes {
    /// Returns the file for a data set in `folder`, if indexes are stored in a file.
    fn path(&self, folder: Option<&Path>) -> Option<PathBuf> {
        let path = match self {
            SeekIndexes::Beside => folder?.join(NAME),
            SeekIndexes::File(path) => path.clone(),
            SeekIndexes::Memory | SeekIndexes::Off => return None,
        };
        // A symbolic link stays: its target is locked and replaced.
        let linked = path.is_symlink().then(|| path.canonicalize().ok()).flatten();
        Some(linked.unwrap_or(path))
    }
}
