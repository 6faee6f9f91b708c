//! Opens [`TarShards`]: chooses the shards and the members, and how labels are checked.

use std::io;
use std::path::{Path, PathBuf};

use super::scan::TarFormat;
use super::{TarShards, label};
use crate::dataset::Notice;
use crate::dataset::shards::{FileList, Settings, Shards, setters};
use crate::error::{Error, Result};
use crate::storage::Location;

/// The name of a file that marks a folder in which `gpufeed pack` has not finished.
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
    settings: Settings,
}

impl TarShardsBuilder {
    pub(super) fn new() -> Self {
        let builder = TarShardsBuilder { extensions: Vec::new(), settings: Settings::default() };
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

    /// Says whether numbers in `.txt` members are labels. With `true` they are, and other texts are ignored. With
    /// `false` all texts are captions. Default: they are labels if every such text of the set is a number, also the
    /// texts beside a `.cls` or a `.json`. With [`counts`](Self::counts) the texts of the first shard decide, and a
    /// shard that differs is an error.
    #[must_use]
    pub fn text_labels(mut self, labels: bool) -> Self {
        self.settings.text_labels = Some(labels);
        self
    }

    /// Names the classes, in the place of a `classes.txt` or `classes.json`. Without this setting, a shard is an error
    /// if its names differ from those of the first shard that has any; with [`counts`](Self::counts), if they differ
    /// from those of the first shard, if that has any.
    #[must_use]
    pub fn classes<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.settings.classes = names.into_iter().map(Into::into).collect();
        self
    }

    setters!();

    /// Opens a shard, a brace list of them, or a folder's `*.tar` sorted by name.
    ///
    /// # Errors
    ///
    /// The errors of [`TarShards::open`].
    pub fn open(self, shards: impl AsRef<Path>) -> Result<TarShards> {
        let location = Location::from(shards.as_ref());
        if let Location::Path(path) = &location
            && path.join(UNFINISHED).exists()
        {
            let reason = "`gpufeed pack` has not finished it; run it again, and it continues or names the obstacle";
            return Err(Error::io(path, io::Error::new(io::ErrorKind::InvalidData, reason)));
        }
        let files = FileList::listed(&location, "tar", &self.settings.remote)?;
        let mut shards = self.open_files(files)?;
        if let Location::Path(path) = &location {
            shards.beside = compressed_in(path);
        }
        Ok(shards)
    }

    /// Opens these shards, in this order. Braces are not expanded.
    ///
    /// # Errors
    ///
    /// The errors of [`TarShards::open`].
    pub fn open_list(self, shards: impl IntoIterator<Item = impl Into<PathBuf>>) -> Result<TarShards> {
        let files = FileList::of(shards.into_iter().map(|shard| shard.into().into()).collect(), &self.settings.remote)?;
        self.open_files(files)
    }

    fn open_files(self, files: FileList) -> Result<TarShards> {
        if self.extensions.is_empty() || self.extensions.iter().any(|e| e.is_empty() || label::KINDS.contains(&&**e)) {
            let reason = format!("{:?}, but each must name a format, like jpg, and none a label", self.extensions);
            return Err(Error::argument("extensions", reason));
        }
        let hint = format!("looked for members that end in .{}", self.extensions.join(" ."));
        let format = TarFormat { extensions: self.extensions.clone() };
        let settings = self.settings.clone();
        let mut shards = Shards::open(format, files, self.settings, hint)?;
        // Takes the names that the user has given, or else those of a file in the shards' folder, or else those of the
        // first shard that has any.
        let mut classes = settings.classes.clone();
        if classes.is_empty() {
            classes = shards.class_names_beside()?;
        }
        if classes.is_empty() {
            classes = shards.own_classes()?;
        }
        shards.check(settings.checks(classes.len()))?;
        let folder = shards.folder();
        Ok(TarShards { shards, classes, folder, beside: None, max_file_bytes: settings.max_file_bytes })
    }
}

/// Counts the archives of a folder that are not read because they are compressed.
fn compressed_in(folder: &Path) -> Option<Notice> {
    const ENDINGS: [&str; 6] = [".tgz", ".tar.gz", ".tar.bz2", ".tar.xz", ".tar.zst", ".tar.lz4"];
    let names = std::fs::read_dir(folder).ok()?.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    let is_compressed = |name: &String| ENDINGS.iter().any(|ending| name.to_ascii_lowercase().ends_with(ending));
    let mut names: Vec<_> = names.filter(is_compressed).collect();
    names.sort_unstable();
    Notice::not_read(
        "compressed archives of the folder",
        names.len() as u64,
        names.first().cloned().unwrap_or_default(),
    )
}
