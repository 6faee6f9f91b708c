//! Where the seek indexes of a data set's JPEGs are kept, so that from the second epoch on a crop is decoded from
//! inside its file.
//!
//! An index is found by its file's content ([xxh3](https://xxhash.com) of all of it: 5 µs for 110 KB, which are in
//! memory anyway), never by name or time: what was replaced or cut has no index, and gets its own.

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

pub(crate) use build::Files;
pub use build::IndexSummary;
pub use index::SeekIndex;
pub(crate) use saver::Saver;
pub(crate) use store::SeekStore;

use std::path::{Path, PathBuf};
use std::sync::PoisonError;

/// The file's name where it lies beside a data set.
const NAME: &str = ".gpufeed-seek-index";

/// Where seek indexes are kept: places inside each JPEG from which decoding can start.
///
/// They come from the first decoding of a file, take about 2 % of its size, and let later epochs decode little more
/// than the crop. Pixels are the same with and without.
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
    /// In the file `.gpufeed-seek-index` in the data set's folder ([`Dataset::folder`](crate::Dataset::folder)), as
    /// [`File`](Self::File). In memory where the data set has no folder, or one that cannot be written to.
    #[default]
    Beside,
    /// In this file, to which a loader writes at the end of each epoch what is new. Data sets, loaders and processes
    /// may share it: each sees what the others have written, and none overwrites it. An empty file of the same name
    /// with `.lock` after it lets them write one at a time.
    File(PathBuf),
    /// In memory alone.
    Memory,
    /// None are built or used.
    Off,
}

/// Memory that is reused for the index of one file after the other.
#[derive(Debug, Default)]
pub(crate) struct SeekScratch {
    pub(super) record: Vec<u8>,
    pub(super) index: gpufeed_jpeg::SeekIndex,
}

impl SeekScratch {
    /// Makes room for whatever `other` has room for.
    pub(super) fn reserve_like(&mut self, other: &SeekScratch) {
        self.record.reserve_exact(other.record.capacity().saturating_sub(self.record.len()));
        self.index.reserve(other.index.capacity());
    }
}

fn unpoisoned<T>(result: std::result::Result<T, PoisonError<T>>) -> T {
    // Nothing is left half-done while these locks are held.
    result.unwrap_or_else(PoisonError::into_inner)
}

impl SeekIndexes {
    /// The file for a data set in `folder`, if there is to be one.
    fn path(&self, folder: Option<&Path>) -> Option<PathBuf> {
        let path = match self {
            SeekIndexes::Beside => folder?.join(NAME),
            SeekIndexes::File(path) => path.clone(),
            SeekIndexes::Memory | SeekIndexes::Off => return None,
        };
        // A link stays one: what it leads to is locked and replaced.
        let linked = path.is_symlink().then(|| path.canonicalize().ok()).flatten();
        Some(linked.unwrap_or(path))
    }
}
