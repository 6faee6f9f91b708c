//! Where indexes are stored.

use std::fs;
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::xxh3_64;

/// Where the indexes of tar shards and Parquet files are stored. With an index, which has the offsets of all samples, a
/// file need not be scanned again.
///
/// An index belongs to one file, identified by its length, its time and its first and last bytes. A stale or damaged
/// index is rebuilt.
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
    pub(super) fn path(&self, shard: &Path) -> Option<PathBuf> {
        let name = shard.file_name().unwrap_or_default().to_string_lossy();
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
