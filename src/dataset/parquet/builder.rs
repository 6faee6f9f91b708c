//! Opens [`Parquet`]: chooses the files and the columns, and how labels are checked.

use std::path::{Path, PathBuf};

use super::Parquet;
use super::files::{self, SetFiles};
use super::pages::Pages;
use super::scan::ParquetFormat;
use crate::dataset::Notice;
use crate::dataset::shards::{FileList, Settings, Shards, setters};
use crate::error::Result;

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
    max_page_bytes: Option<u64>,
    settings: Settings,
}

impl ParquetBuilder {
    pub(super) fn new() -> Self {
        let settings = Settings::default();
        ParquetBuilder { image_column: None, label_column: None, split: None, max_page_bytes: None, settings }
    }

    /// Sets the column of the images: a struct of `bytes` and perhaps `path`, or a binary column. Default: the one that
    /// Hugging Face's features call an image, or else the only one that looks like that.
    #[must_use]
    pub fn image_column(mut self, name: impl Into<String>) -> Self {
        self.image_column = Some(name.into());
        self
    }

    /// Sets the column of the labels, which holds integers. Default: Hugging Face's `ClassLabel`, or else a column
    /// called `label`, `labels`, `target` or `class`. Of several `ClassLabel`s it is the one with such a name. A `ClassLabel` of
    /// another name beside a column of integers with such a name is an error: which of the two is the label is not known.
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

    /// Sets the most bytes that a compressed page may become, up to 1 GiB. Each thread that reads keeps such pages in
    /// memory. Default: 64 times the bytes that the page has in the file, at least 64 MiB. A longer one is refused
    /// before it is unpacked.
    #[must_use]
    pub fn max_page_bytes(mut self, bytes: u64) -> Self {
        self.max_page_bytes = Some(bytes);
        self
    }

    /// Names the classes, in the place of the names in the key `huggingface` of the first file. Without this setting,
    /// files with other names of classes in that key are an error.
    #[must_use]
    pub fn classes<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.settings.classes = names.into_iter().map(Into::into).collect();
        self
    }

    setters!();

    /// Opens a file, a brace list of them, or the files of a folder.
    ///
    /// # Errors
    ///
    /// The errors of [`Parquet::open`].
    pub fn open(self, files: impl AsRef<Path>) -> Result<Parquet> {
        let files = files::of_split(&files.as_ref().into(), self.split.as_deref(), &self.settings.remote)?;
        self.open_files(files)
    }

    /// Opens the training samples, and the samples to test with if there are any, as [`Parquet::parts`] does.
    ///
    /// # Errors
    ///
    /// The errors of [`Parquet::open`].
    pub fn parts(self, files: impl AsRef<Path>) -> Result<(Parquet, Option<Parquet>)> {
        let SetFiles { train, test, others } = files::parts(&files.as_ref().into(), &self.settings.remote)?;
        let mut train = self.clone().open_files(train)?;
        let first = others.first().copied().unwrap_or_default();
        train.split_not_read = Notice::not_read("splits of the set", others.len() as u64, first);
        let test = test.map(|test| self.open_files(test)).transpose()?;
        if let Some(test) = &test {
            train.shards.compare_with(&train.classes, &test.shards, &test.classes)?;
        }
        Ok((train, test))
    }

    /// Opens these files, in this order. Braces are not expanded, and splits are not looked at.
    ///
    /// # Errors
    ///
    /// The errors of [`Parquet::open`].
    pub fn open_list(self, files: impl IntoIterator<Item = impl Into<PathBuf>>) -> Result<Parquet> {
        let files = FileList::of(files.into_iter().map(|file| file.into().into()).collect(), &self.settings.remote)?;
        self.open_files(files)
    }

    fn open_files(self, files: FileList) -> Result<Parquet> {
        let max_page_bytes = self.max_page_bytes;
        let format = ParquetFormat { image_column: self.image_column, label_column: self.label_column, max_page_bytes };
        let hint = "the files have no rows".to_owned();
        let settings = self.settings.clone();
        let mut shards = Shards::open(format, files, self.settings, hint)?;
        let classes = if settings.classes.is_empty() { shards.own_classes()? } else { settings.classes.clone() };
        shards.check(settings.checks(classes.len()))?;
        let folder = shards.folder();
        let (pages, max_file_bytes) = (Pages::new(max_page_bytes), settings.max_file_bytes);
        Ok(Parquet { shards, pages, classes, folder, split_not_read: None, max_file_bytes })
    }
}
