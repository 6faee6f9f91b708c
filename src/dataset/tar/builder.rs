//! Opens [`TarShards`]: which shards, which members, and how their labels are checked.

use std::io;
use std::path::{Path, PathBuf};

use super::scan::{BLOCK, TarFormat, refused};
use super::{TarShards, label};
use crate::dataset::MAX_FILE_BYTES;
use crate::dataset::shards::{Checks, Files, Options, Settings, ShardIndexes, Shards, Wrong};
use crate::error::{Error, Result};
use crate::quote::shown;

/// Name of a file in a folder that `gpufeed pack` has not finished.
#[doc(hidden)]
pub const UNFINISHED: &str = ".gpufeed-pack-unfinished";

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
    settings: Settings,
    remote: Options,
    classes: Vec<String>,
    max_file_bytes: u64,
}

impl TarShardsBuilder {
    pub(super) fn new() -> Self {
        let builder = TarShardsBuilder {
            extensions: Vec::new(),
            allow_unlabelled: false,
            settings: Settings::default(),
            remote: Options::default(),
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

    /// Accepts samples without a label; they have [`Label::None`](crate::Label::None). Default: `false`.
    #[must_use]
    pub fn allow_unlabelled(mut self, allow: bool) -> Self {
        self.allow_unlabelled = allow;
        self
    }

    /// Sets where indexes are stored. Default: [`ShardIndexes::Beside`].
    #[must_use]
    pub fn indexes(mut self, indexes: ShardIndexes) -> Self {
        self.settings.indexes = indexes;
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

    /// Sets the most bytes of memory for the parts of indexes that are in use. A sample takes 32 bytes, and 4 for each
    /// number of a label that is a list. Parts are read again when they are needed, in a few microseconds. Default: 32
    /// MiB, a million samples.
    #[must_use]
    pub fn index_memory(mut self, bytes: usize) -> Self {
        self.settings.memory = bytes;
        self
    }

    /// Sets how shards are read from stores and web servers: time limits, retries, certificates, credentials, a cache on
    /// disk.
    #[cfg(feature = "remote")]
    #[must_use]
    pub fn remote(mut self, options: crate::dataset::RemoteOptions) -> Self {
        self.remote = options;
        self
    }

    /// Writes the indexes that are missing beside the objects, so that no other machine has to read a shard for one. An
    /// object that cannot be written is an error. Default: `false`.
    #[cfg(feature = "remote")]
    #[must_use]
    pub fn put_indexes(mut self, put: bool) -> Self {
        self.settings.put_indexes = put;
        self
    }

    /// Opens a shard, a brace list of them, or a folder's `*.tar` sorted by name.
    ///
    /// # Errors
    ///
    /// The errors of [`TarShards::open`].
    pub fn open(self, shards: impl AsRef<Path>) -> Result<TarShards> {
        let path = shards.as_ref();
        if path.join(UNFINISHED).exists() {
            let reason = "`gpufeed pack` has not finished it; run it again, and it continues or names the obstacle";
            return Err(Error::io(path, io::Error::new(io::ErrorKind::InvalidData, reason)));
        }
        let files = Files::listed(path, "tar", &self.remote)?;
        self.open_files(files)
    }

    /// Opens these shards, in this order. Braces are not expanded.
    ///
    /// # Errors
    ///
    /// The errors of [`TarShards::open`].
    pub fn open_list(self, shards: impl IntoIterator<Item = impl Into<PathBuf>>) -> Result<TarShards> {
        let files = Files::of(shards.into_iter().map(Into::into).collect(), &self.remote)?;
        self.open_files(files)
    }

    fn open_files(self, files: Files) -> Result<TarShards> {
        if self.extensions.is_empty() || self.extensions.iter().any(|e| e.is_empty() || label::KINDS.contains(&&**e)) {
            let reason = format!("{:?}, but each must name a format, like jpg, and none a label", self.extensions);
            return Err(Error::argument("extensions", reason));
        }
        let hint = format!("looked for members that end in .{}", self.extensions.join(" ."));
        let format = TarFormat { extensions: self.extensions.clone() };
        let (shards, own) = Shards::open(format, files, self.settings.clone(), hint)?;
        let folder = shards.folder();
        // The names given by the user, or else those of a file in the shards' folder, or else those of the first shard
        // that has any.
        let mut classes = self.classes.clone();
        if classes.is_empty() {
            classes = shards.class_names_beside()?;
        }
        if classes.is_empty() {
            classes = own;
        }
        let set = TarShards { shards, classes, folder, max_file_bytes: self.max_file_bytes };
        self.check_labels(&set)?;
        Ok(set)
    }

    fn check_labels(&self, set: &TarShards) -> Result<()> {
        let checks = Checks { allow_unlabelled: self.allow_unlabelled, classes: &set.classes };
        let Some((shard, sample, wrong)) = set.shards.check(&checks) else { return Ok(()) };
        let index = set.shards.index_of(shard, sample);
        let found = set.shards.find(index)?;
        let key = set.shards.key(index).map(|(_, key)| shown(key.as_bytes())).unwrap_or_default();
        let reason = match wrong {
            Wrong::Class(class) => {
                format!("sample {key} is of class {class}, but only {} classes have names", set.classes.len())
            }
            Wrong::Unlabelled => format!(
                "sample {key} has no label (.cls, .json or .txt); TarShardsBuilder::allow_unlabelled accepts that"
            ),
        };
        Err(refused(found.file.name(), found.entry().offset - BLOCK, reason))
    }
}
