//! Opens [`Parquet`]: which files, which columns, and how their labels are checked.

use std::path::{Path, PathBuf};

use super::Parquet;
use super::files;
use super::pages::Pages;
use super::scan::ParquetFormat;
use crate::dataset::MAX_FILE_BYTES;
use crate::dataset::shards::{Checks, Files, Options, Settings, ShardIndexes, Shards, Wrong};
use crate::error::{Error, Result};

/// Settings of [`Parquet`], from [`Parquet::builder`].
///
/// ```no_run
/// use gpufeed::dataset::Parquet;
///
/// let coarse = Parquet::builder().split("train").label_column("coarse_label").open("cifar100")?;
/// # Ok::<(), gpufeed::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct ParquetBuilder {
    image_column: Option<String>,
    label_column: Option<String>,
    split: Option<String>,
    allow_unlabelled: bool,
    settings: Settings,
    remote: Options,
    classes: Vec<String>,
    max_file_bytes: u64,
}

impl ParquetBuilder {
    pub(super) fn new() -> Self {
        ParquetBuilder {
            image_column: None,
            label_column: None,
            split: None,
            allow_unlabelled: false,
            settings: Settings::default(),
            remote: Options::default(),
            classes: Vec::new(),
            max_file_bytes: MAX_FILE_BYTES,
        }
    }

    /// Sets the column of the images: a struct of `bytes` and perhaps `path`, or a binary column. Default: the one that
    /// Hugging Face's features call an image, or else the only one that looks like that.
    #[must_use]
    pub fn image_column(mut self, name: impl Into<String>) -> Self {
        self.image_column = Some(name.into());
        self
    }

    /// Sets the column of the labels, which holds integers. Default: Hugging Face's `ClassLabel`, or else a column
    /// called `label`, `labels`, `target` or `class`.
    #[must_use]
    pub fn label_column(mut self, name: impl Into<String>) -> Self {
        self.label_column = Some(name.into());
        self
    }

    /// Sets the split of a folder that is opened: `train`, `validation`, `test`. Default: the only one.
    #[must_use]
    pub fn split(mut self, name: impl Into<String>) -> Self {
        self.split = Some(name.into());
        self
    }

    /// Accepts samples without a label: files without a column of labels, and rows with -1 or null there. They have
    /// [`Label::None`](crate::Label::None). Default: `false`.
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

    /// Sets the most bytes of memory for the parts of indexes that are in use; a sample takes 32. Parts are read again
    /// when they are needed, in a few microseconds. Default: 32 MiB, a million samples.
    #[must_use]
    pub fn index_memory(mut self, bytes: usize) -> Self {
        self.settings.memory = bytes;
        self
    }

    /// Names the classes, instead of the key `huggingface` of the first file.
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

    /// Sets how files are read from stores and web servers: time limits, retries, certificates, credentials, a cache on
    /// disk.
    #[cfg(feature = "remote")]
    #[must_use]
    pub fn remote(mut self, options: crate::dataset::RemoteOptions) -> Self {
        self.remote = options;
        self
    }

    /// Writes the indexes that are missing beside the objects, so that no other machine has to read a file for one. An
    /// object that cannot be written is an error. Default: `false`.
    #[cfg(feature = "remote")]
    #[must_use]
    pub fn put_indexes(mut self, put: bool) -> Self {
        self.settings.put_indexes = put;
        self
    }

    /// Opens a file, a brace list of them, or the files of a folder.
    ///
    /// # Errors
    ///
    /// The errors of [`Parquet::open`].
    pub fn open(self, files: impl AsRef<Path>) -> Result<Parquet> {
        let files = files::of_split(files.as_ref(), self.split.as_deref(), &self.remote)?;
        self.open_files(files)
    }

    /// Opens the training samples, and those to test with if there are any, as [`Parquet::parts`] does.
    ///
    /// # Errors
    ///
    /// The errors of [`Parquet::open`].
    pub fn parts(self, files: impl AsRef<Path>) -> Result<(Parquet, Option<Parquet>)> {
        let (train, test) = files::parts(files.as_ref(), &self.remote)?;
        let train = self.clone().open_files(train)?;
        Ok((train, test.map(|test| self.open_files(test)).transpose()?))
    }

    /// Opens these files, in this order. Braces are not expanded, and splits are not looked at.
    ///
    /// # Errors
    ///
    /// The errors of [`Parquet::open`].
    pub fn open_list(self, files: impl IntoIterator<Item = impl Into<PathBuf>>) -> Result<Parquet> {
        let files = Files::of(files.into_iter().map(Into::into).collect(), &self.remote)?;
        self.open_files(files)
    }

    fn open_files(self, files: Files) -> Result<Parquet> {
        let format = ParquetFormat { image_column: self.image_column, label_column: self.label_column };
        let hint = "the files have no rows".to_owned();
        let (shards, own) = Shards::open(format, files, self.settings, hint)?;
        let classes = if self.classes.is_empty() { own } else { self.classes };
        let checks = Checks { allow_unlabelled: self.allow_unlabelled, classes: &classes };
        if let Some((file, row, wrong)) = shards.check(&checks) {
            let reason = match wrong {
                Wrong::Class(class) => format!("it is of class {class}, but only {} classes have names", classes.len()),
                Wrong::Unlabelled => "it has no label: there is no column of labels, or it says -1 or nothing; choose \
                    one with label_column, or accept that with ParquetBuilder::allow_unlabelled"
                    .to_owned(),
            };
            let name = shards.file(file).unwrap_or(Path::new(""));
            return Err(Error::data_file(name, format!("row {row}"), reason));
        }
        let folder = shards.folder();
        Ok(Parquet { shards, pages: Pages::new(), classes, folder, max_file_bytes: self.max_file_bytes })
    }
}
