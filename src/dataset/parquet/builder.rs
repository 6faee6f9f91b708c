//! Opens [`Parquet`]: chooses the files and the columns, and how labels are checked.

use std::path::{Path, PathBuf};

use super::Parquet;
use super::fields::{Chosen, ColumnSettings, Fields, ReadLimits};
use super::files::{self, SetFiles};
use super::pages::Pages;
use super::scan::ParquetFormat;
use crate::dataset::shards::{FileList, Settings, Shards, setters};
use crate::dataset::{FieldChoice, MAX_FIELD_BYTES, Notice};
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
    columns: ColumnSettings,
    fields: FieldChoice,
    max_field_bytes: u64,
    split: Option<String>,
    max_page_bytes: Option<u64>,
    settings: Settings,
}

impl ParquetBuilder {
    pub(super) fn new() -> Self {
        ParquetBuilder {
            columns: ColumnSettings::default(),
            fields: FieldChoice::None,
            max_field_bytes: MAX_FIELD_BYTES,
            split: None,
            max_page_bytes: None,
            settings: Settings::default(),
        }
    }

    /// Sets the column of the images: a struct of `bytes` and perhaps `path`, or a binary column. Default: the one that
    /// Hugging Face's features call an image, or else the only one that looks like that.
    #[must_use]
    pub fn image_column(mut self, name: impl Into<String>) -> Self {
        self.columns.image = Some(name.into());
        self
    }

    /// Sets the column of the labels, which holds integers. Default: Hugging Face's `ClassLabel`, or else a column
    /// called `label`, `labels`, `target` or `class`. Of several `ClassLabel`s it is the one with such a name. A `ClassLabel` of
    /// another name beside a column of integers with such a name is an error: which of the two is the label is not known.
    #[must_use]
    pub fn label_column(mut self, name: impl Into<String>) -> Self {
        self.columns.label = Some(name.into());
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

    /// Sets the named fields that samples have beside image and label: columns, each with the name that it has in batches,
    /// or [`FieldChoice::All`] for every other column of the first file that can be read, where all but numbers may be
    /// null if their columns allow it. Default: none.
    ///
    /// A source is the name of a column (`caption`), a part of a struct (`meta.author`), or an element of a list
    /// (`captions[0]`, `images[1]`). A field with the name `image` or `label` chooses the sample's own. Samples may then have
    /// no label, unless such a field or [`label_column`](Self::label_column) names its column.
    ///
    /// | column | [`FieldKind`](crate::dataset::FieldKind) |
    /// |---|---|
    /// | a string | `Text` |
    /// | JSON; lists of strings, structs, lists of structs, which are written as JSON | `Json` |
    /// | bytes | `Bytes` |
    /// | a number, true or false; dates, times and timestamps as the whole numbers that they are stored as | `Numbers` |
    /// | a list of numbers, or lists of one length in a list | `Numbers` with a shape |
    /// | a struct of `bytes` and `path` | `Image` |
    ///
    /// [`Field::kind`](crate::dataset::Field::kind) asks for another kind: numbers as JSON, a string as JSON that it is,
    /// bytes as an image, a struct of lists, a list of structs or a text of JSON as objects ([`FieldKind::Objects`](crate::dataset::FieldKind::Objects)). Where
    /// these have names of classes and images have no labels, the set has these classes. A null is an absent value. Other columns are refused by name, and left out of
    /// [`FieldChoice::All`]: decimal numbers, timestamps of 96 bits, maps, lists of images.
    ///
    /// Fields are read a row group at a time, and stay in memory up to 128 MiB; a larger row group is held alone. Rows in
    /// random order of a set with large row groups read a row group for many samples: an
    /// [order of blocks](crate::Order::Blocks) or smaller row groups help. In a store, the images of fields are not announced
    /// before they are read; all other fields are.
    ///
    /// ```no_run
    /// use gpufeed::dataset::{Field, Parquet};
    ///
    /// let pairs = Parquet::builder()
    ///     .fields([("caption", Field::new("text")), ("meta.score", Field::new("score"))])
    ///     .open("captions")?;
    /// # Ok::<(), gpufeed::Error>(())
    /// ```
    #[must_use]
    pub fn fields(mut self, fields: impl Into<FieldChoice>) -> Self {
        self.fields = fields.into();
        self
    }

    /// Sets the most bytes of a field's value; a sample with a longer one fails. Images have the limit
    /// [`max_file_bytes`](Self::max_file_bytes). Default: [`MAX_FIELD_BYTES`], 1 MiB.
    #[must_use]
    pub fn max_field_bytes(mut self, bytes: u64) -> Self {
        self.max_field_bytes = bytes;
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
        let (max_page_bytes, mut columns) = (self.max_page_bytes, self.columns);
        let mut settings = self.settings;
        let asks_for_fields = !self.fields.asks_for_nothing();
        let chosen = Chosen::of(self.fields, &mut columns)?;
        // As in tar shards: whoever asks for captions has no classes, unless a setting names their column.
        settings.allow_unlabelled |= asks_for_fields && columns.label.is_none();
        let (image_column, label_column) = (columns.image.clone(), columns.label.clone());
        let format = ParquetFormat { image_column, label_column, max_page_bytes };
        let hint = "the files have no rows".to_owned();
        let mut shards = Shards::open(format, files, settings.clone(), hint)?;
        let mut classes = if settings.classes.is_empty() { shards.own_classes()? } else { settings.classes.clone() };
        shards.check(settings.checks(classes.len()))?;
        let max_file_bytes = settings.max_file_bytes;
        let limits = ReadLimits { max_field_bytes: self.max_field_bytes, max_file_bytes, max_page_bytes };
        let mut fields = match chosen {
            None => None,
            Some(chosen) => {
                let first = shards.find(0)?;
                Some(Fields::open(chosen, &columns, (first.number, first.file), shards.files(), limits)?)
            }
        };
        if let Some(fields) = fields.as_mut().filter(|_| classes.is_empty()) {
            classes = fields.take_classes();
        }
        let (pages, folder) = (Pages::new(max_page_bytes), shards.folder());
        Ok(Parquet { shards, pages, classes, folder, split_not_read: None, max_file_bytes, fields })
    }
}
