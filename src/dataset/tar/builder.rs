//! Opens [`TarShards`]: which shards, which members, and where their indexes are stored.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::thread::available_parallelism;

use xxhash_rust::xxh3::xxh3_64;

use super::index::{Binding, FOREIGN, ShardIndex};
use super::scan::scan;
use super::{Shard, TarShards, brace, label, open_files};
use crate::atomic_file::folder_of;
use crate::dataset::{Label, MAX_FILE_BYTES};
use crate::error::{Error, ErrorKind, Result};
use crate::quote::{Shown, shown};
use crate::regular_file;

/// Name of a file in a folder that `gpufeed pack` has not finished.
#[doc(hidden)]
pub const UNFINISHED: &str = ".gpufeed-pack-unfinished";

/// Where the indexes of tar shards are stored. With an index, which has the offsets of all samples, a shard need not be
/// scanned again.
///
/// An index belongs to one shard, identified by its length, its time and its first and last bytes. A stale or damaged
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
    /// In `.NAME.tar.gpufeed-index` in the folder of each shard; in memory if that cannot be written.
    #[default]
    Beside,
    /// In this folder, which must exist.
    Folder(PathBuf),
    /// In memory alone: shards are scanned each time they are opened, and no index file is read or written.
    Memory,
}

impl ShardIndexes {
    fn path(&self, shard: &Path) -> Option<PathBuf> {
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

/// Settings of [`TarShards`], from [`TarShards::builder`].
///
/// ```no_run
/// use gpufeed::dataset::{ShardIndexes, TarShards};
///
/// let captions = TarShards::builder()
///     .extensions(["jpg", "webp"])
///     .allow_unlabelled(true)
///     .indexes(ShardIndexes::Folder("/var/cache/laion".into()))
///     .open("/mnt/laion/{00000..00127}.tar")?;
/// # Ok::<(), gpufeed::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct TarShardsBuilder {
    extensions: Vec<String>,
    allow_unlabelled: bool,
    indexes: ShardIndexes,
    classes: Vec<String>,
    max_file_bytes: u64,
}

impl TarShardsBuilder {
    pub(super) fn new() -> Self {
        let builder = TarShardsBuilder {
            extensions: Vec::new(),
            allow_unlabelled: false,
            indexes: ShardIndexes::default(),
            classes: Vec::new(),
            max_file_bytes: MAX_FILE_BYTES,
        };
        builder.extensions(TarShards::EXTENSIONS)
    }

    /// Sets the endings of images: the part of a member's name after its first dot, in upper or lower case (ASCII),
    /// with or without that dot: `jpg`, or `left.png` for one of several images. Default: [`TarShards::EXTENSIONS`].
    #[must_use]
    pub fn extensions<S: AsRef<str>>(mut self, extensions: impl IntoIterator<Item = S>) -> Self {
        let plain = |extension: S| extension.as_ref().trim_start_matches('.').to_ascii_lowercase();
        self.extensions = extensions.into_iter().map(plain).collect();
        self
    }

    /// Accepts samples without a label; they have [`Label::None`]. Default: `false`.
    #[must_use]
    pub fn allow_unlabelled(mut self, allow: bool) -> Self {
        self.allow_unlabelled = allow;
        self
    }

    /// Sets where indexes are stored. Default: [`ShardIndexes::Beside`].
    #[must_use]
    pub fn indexes(mut self, indexes: ShardIndexes) -> Self {
        self.indexes = indexes;
        self
    }

    /// Names the classes, instead of a `classes.txt` or `classes.json`.
    #[must_use]
    pub fn classes<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.classes = names.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the most bytes that an image may have. A larger image is not read, and its sample is an error
    /// ([`ErrorKind::FileTooLarge`](crate::ErrorKind::FileTooLarge)). Default:
    /// [`MAX_FILE_BYTES`](crate::dataset::MAX_FILE_BYTES), 1 GiB.
    #[must_use]
    pub fn max_file_bytes(mut self, bytes: u64) -> Self {
        self.max_file_bytes = bytes;
        self
    }

    /// Opens a shard, a brace list of them, or a folder's `*.tar` sorted by name.
    ///
    /// # Errors
    ///
    /// The errors of [`TarShards::open`].
    pub fn open(self, shards: impl AsRef<Path>) -> Result<TarShards> {
        let path = shards.as_ref();
        let shards = match path.to_str() {
            _ if path.is_dir() => in_folder(path)?,
            Some(pattern) if !path.exists() && pattern.contains(['{', '}']) => {
                brace::expand(pattern)?.into_iter().map(PathBuf::from).collect()
            }
            _ => vec![path.to_owned()],
        };
        self.open_list(shards)
    }

    /// Opens these shards, in this order. Braces are not expanded.
    ///
    /// # Errors
    ///
    /// The errors of [`TarShards::open`].
    pub fn open_list(self, shards: impl IntoIterator<Item = impl Into<PathBuf>>) -> Result<TarShards> {
        let shards: Vec<PathBuf> = shards.into_iter().map(Into::into).collect();
        if self.extensions.is_empty() || self.extensions.iter().any(|e| e.is_empty() || label::KINDS.contains(&&**e)) {
            let reason = format!("{:?}, but each must name a format, like jpg, and none a label", self.extensions);
            return Err(Error::argument("extensions", reason));
        }
        let mut names = HashSet::new();
        if let Some(twice) = shards.iter().find(|shard| !names.insert(*shard)) {
            return Err(Error::argument("shards", format!("{} is listed twice", twice.display())));
        }
        let Some(first) = shards.first() else {
            return Err(Error::argument("shards", "none are given"));
        };
        let folder = folder_of(first).to_owned();
        let what = match shards.len() {
            1 => first.display().to_string(),
            more => format!("{} and {} more", first.display(), more - 1),
        };
        let shards = self.shards(shards)?;
        let mut starts = Vec::with_capacity(shards.len() + 1);
        let mut len = 0;
        for shard in &shards {
            starts.push(len);
            len += shard.index.entries.len();
        }
        starts.push(len);
        if len == 0 {
            let hint = format!("looked for members that end in .{}", self.extensions.join(" ."));
            return Err(ErrorKind::EmptyDataset { what, hint }.into());
        }
        let classes = self.class_names(&folder, &shards)?;
        let set = TarShards { shards, starts, classes, folder, max_file_bytes: self.max_file_bytes };
        self.check_labels(&set)?;
        Ok(set)
    }

    /// Opens and indexes all shards, several at a time.
    fn shards(&self, paths: Vec<PathBuf>) -> Result<Vec<Shard>> {
        let (held, threads) = open_files::share();
        let threads = available_parallelism().map_or(1, usize::from).min(threads).min(paths.len());
        let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
        let done = Mutex::new(Vec::with_capacity(paths.len()));
        let work = || {
            loop {
                let number = next.fetch_add(1, Relaxed);
                let Some(path) = paths.get(number).filter(|_| !failed.load(Relaxed)) else { break };
                let shard = self.shard(path, number < held);
                failed.fetch_or(shard.is_err(), Relaxed);
                done.lock().unwrap_or_else(PoisonError::into_inner).push((number, shard));
            }
        };
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
            let ends = threads.into_iter().map(|thread| thread.join());
            ends.map(|end| end.map_err(|payload| Error::panic("index", payload.as_ref()))).collect::<Result<Vec<()>>>()
        })?;
        let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
        done.sort_unstable_by_key(|(number, _)| *number);
        done.into_iter().map(|(_, shard)| shard).collect()
    }

    fn shard(&self, path: &Path, held: bool) -> Result<Shard> {
        let failed = |source| Error::io(path, source);
        let (file, _) = regular_file::open(path).map_err(failed)?;
        let binding = Binding::of(&file, &self.extensions).map_err(failed)?;
        let stored = self.indexes.path(path);
        let mut writable = stored.as_deref();
        let mut index = None;
        if let Some(stored) = &stored {
            index = ShardIndex::load(stored, &binding).unwrap_or_else(|error| {
                if error.kind() == FOREIGN {
                    writable = None;
                }
                tracing::warn!(path = %Shown(stored.display()), %error, "the index of a shard is rebuilt");
                None
            });
        }
        let index = match index {
            Some(index) => index,
            None => {
                let index = scan(path, &file, &self.extensions)?;
                if Binding::of(&file, &self.extensions).map_err(failed)? != binding {
                    return Err(failed(io::Error::other("it was changed while it was indexed")));
                }
                if let Some(stored) = writable
                    && let Err(error) = index.save(stored, &binding)
                {
                    let then = "the index of a shard stays in memory; ShardIndexes::Folder stores it elsewhere";
                    tracing::warn!(path = %Shown(stored.display()), %error, "{then}");
                }
                index
            }
        };
        Ok(Shard { path: path.into(), file: held.then_some(file), index })
    }

    /// Returns the names given by the user, or else those of a file in the shards' folder, or else those of the first
    /// shard that has any.
    fn class_names(&self, folder: &Path, shards: &[Shard]) -> Result<Vec<String>> {
        if !self.classes.is_empty() {
            return Ok(self.classes.clone());
        }
        let beside = class_names_beside(folder)?;
        if !beside.is_empty() {
            return Ok(beside);
        }
        let mut own = shards.iter().map(|shard| &shard.index.classes);
        Ok(own.find(|classes| !classes.is_empty()).cloned().unwrap_or_default())
    }

    fn check_labels(&self, set: &TarShards) -> Result<()> {
        for shard in &set.shards {
            for (number, entry) in shard.index.entries.iter().enumerate() {
                let key = || shown(shard.index.key(number).as_bytes());
                let reason = match shard.index.class_of(entry) {
                    Some(class) if !set.classes.is_empty() && class as usize >= set.classes.len() => {
                        format!(
                            "sample {} is of class {class}, but only {} classes have names",
                            key(),
                            set.classes.len()
                        )
                    }
                    None if !self.allow_unlabelled && shard.index.label(entry) == Label::None => format!(
                        "sample {} has no label (.cls, .json or .txt); TarShardsBuilder::allow_unlabelled accepts that",
                        key()
                    ),
                    _ => continue,
                };
                return Err(super::scan::refused(&shard.path, entry.offset - super::scan::BLOCK, reason));
            }
        }
        Ok(())
    }
}

/// Reads the class names in a folder's `classes.txt` or `classes.json`; returns none if it has neither.
pub(in crate::dataset) fn class_names_beside(folder: &Path) -> Result<Vec<String>> {
    for name in ["classes.txt", "classes.json"] {
        let path = folder.join(name);
        match regular_file::read(&path) {
            Ok(bytes) => {
                let invalid = |reason| Error::io(&path, io::Error::new(io::ErrorKind::InvalidData, reason));
                return label::class_names(name, &bytes).map_err(invalid);
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(Error::io(path, error)),
        }
    }
    Ok(Vec::new())
}

/// Lists a folder's shards by name.
fn in_folder(folder: &Path) -> Result<Vec<PathBuf>> {
    let failed = |source| Error::io(folder, source);
    if folder.join(UNFINISHED).exists() {
        let reason = "`gpufeed pack` has not finished it; run it again, and it continues or names the obstacle";
        return Err(failed(io::Error::new(io::ErrorKind::InvalidData, reason)));
    }
    let mut shards = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let hidden = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        if !hidden && path.extension().is_some_and(|extension| extension == "tar") {
            shards.push(path);
        }
    }
    if shards.is_empty() {
        let hint = "looked for *.tar in it".to_owned();
        return Err(ErrorKind::EmptyDataset { what: folder.display().to_string(), hint }.into());
    }
    shards.sort_unstable();
    Ok(shards)
}
