//! Chooses where the indexes of tar shards and Parquet files are stored.

use std::borrow::Cow;
use std::fs;
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::xxh3_64;

/// Where the indexes of tar shards and Parquet files are stored. An index has the offsets of all samples of a file, so
/// that the file need not be scanned again.
///
/// An index belongs to one file, and notices when that file has changed: by the file's length, its time, and its first
/// and last bytes. For an object in a store, it goes by the length, the time and the ETag. A stale or damaged index is
/// made again.
///
/// The index of an object in a store is looked for first in a folder of this machine: the folder that
/// [`Folder`](Self::Folder) names, or else the folder `indexes` of `RemoteOptions::cache`. Then it is looked for beside
/// the object, in `.NAME.gpufeed-index`. An index that was read or made is stored in that folder of this machine.
/// Without such a folder it is stored in a file without a name, in the system's folder for temporary files. Only a
/// builder's setting `put_indexes` writes indexes beside objects.
///
/// ```
/// use gpufeed::dataset::ShardIndexes;
///
/// assert_eq!(ShardIndexes::default(), ShardIndexes::Beside);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ShardIndexes {
    /// The index of a file is stored beside it, in `.NAME.gpufeed-index` (`.000.tar.gpufeed-index` for `000.tar`); in
    /// memory if that index file cannot be written.
    #[default]
    Beside,
    /// All indexes are stored in this folder, which must exist.
    Folder(PathBuf),
    /// Indexes are in memory alone: files are scanned each time they are opened, and no index file is read or written.
    Memory,
}

impl ShardIndexes {
    /// Returns the path of the index of a file of this machine; `None` if the index is in memory alone.
    pub(super) fn of_file(&self, file: &Path) -> Option<PathBuf> {
        match self {
            ShardIndexes::Beside => Some(file.with_file_name(format!(".{}.gpufeed-index", name(file)))),
            ShardIndexes::Folder(folder) => {
                let whole = fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
                Some(folder.join(hashed(file, &whole)))
            }
            ShardIndexes::Memory => None,
        }
    }

    /// Returns the path at which the index of an object in a store is kept on this machine; `None` if it is not kept
    /// here. `cache` is the folder of the cache on disk.
    pub(super) fn of_object(&self, address: &Path, cache: Option<&Path>) -> Option<PathBuf> {
        match self {
            ShardIndexes::Beside => Some(cache?.join("indexes").join(hashed(address, address))),
            ShardIndexes::Folder(folder) => Some(folder.join(hashed(address, address))),
            ShardIndexes::Memory => None,
        }
    }
}

fn name(file: &Path) -> Cow<'_, str> {
    file.file_name().unwrap_or_default().to_string_lossy()
}

/// Returns the name of an index in a folder that has the indexes of files from several folders. The hash of the path
/// `whole` tells files of the same name apart.
fn hashed(file: &Path, whole: &Path) -> String {
    format!("{}.{:016x}.gpufeed-index", name(file), xxh3_64(whole.as_os_str().as_encoded_bytes()))
}
