//! Where indexes are stored.

use std::fs;
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::xxh3_64;

/// Where the indexes of tar shards and Parquet files are stored. With an index, which has the offsets of all samples, a
/// file need not be scanned again.
///
/// An index belongs to one file, identified by its length, its time and its first and last bytes; that of an object in
/// a store by its length, its time and its ETag. A stale or damaged index is rebuilt.
///
/// The index of an object is looked for in the folder, or else in the folder `indexes` of `RemoteOptions::cache`, then
/// beside the object, in `.NAME.gpufeed-index`. One that is read or made is stored in the folder; without a folder it
/// is in a file without a name, in the system's folder for temporary files. Only `put_indexes` of a builder writes
/// beside objects.
///
/// ```
/// use gpufeed::dataset::ShardIndexes;
///
/// assert_eq!(ShardIndexes::default(), ShardIndexes::Beside);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ShardIndexes {
    /// In `.NAME.gpufeed-index` (`.000.tar.gpufeed-index`) in the folder of each file; in memory if that cannot be
    /// written.
    #[default]
    Beside,
    /// In this folder, which must exist.
    Folder(PathBuf),
    /// In memory alone: files are scanned each time they are opened, and no index file is read or written.
    Memory,
}

impl ShardIndexes {
    /// Returns where the index of a file is; `cache` is the folder of the cache on disk, if the file is an object.
    pub(super) fn path(&self, shard: &Path, cache: Option<Option<&Path>>) -> Option<PathBuf> {
        let name = shard.file_name().unwrap_or_default().to_string_lossy();
        if let Some(cache) = cache {
            let hash = xxh3_64(shard.as_os_str().as_encoded_bytes());
            let folder = match self {
                ShardIndexes::Beside => cache?.join("indexes"),
                ShardIndexes::Folder(folder) => folder.clone(),
                ShardIndexes::Memory => return None,
            };
            return Some(folder.join(format!("{name}.{hash:016x}.gpufeed-index")));
        }
        match self {
            ShardIndexes::Beside => Some(shard.with_file_name(format!(".{name}.gpufeed-index"))),
            ShardIndexes::Folder(folder) => {
                let whole = fs::canonicalize(shard).unwrap_or_else(|_| shard.to_owned());
                let hash = xxh3_64(whole.as_os_str().as_encoded_bytes());
                Some(folder.join(format!("{name}.{hash:016x}.gpufeed-index")))
            }
            ShardIndexes::Memory => None,
        }
    }
}
