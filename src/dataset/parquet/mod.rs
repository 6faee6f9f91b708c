//! Parquet files with an image in each row, as Hugging Face's sets have them.
//!
//! | file | |
//! |---|---|
//! | `builder.rs`, `files.rs` | opens a set; which files, and of which split |
//! | `footer.rs`, `guard.rs`, `thrift.rs` | what a footer says, by the crate `parquet`; what is checked before it reads one |
//! | `columns.rs` | which columns are read |
//! | `column.rs`, `page_header.rs`, `hybrid.rs`, `codec.rs` | pages, their levels and numbers, how they are unpacked |
//! | `scan.rs`, `images.rs`, `values.rs` | one pass over a file: where its images are, labels, names |
//! | `pages.rs` | images and compressed pages while samples are read |
//! | `fields/` | named fields: other columns, by row groups |

mod builder;
mod codec;
mod column;
mod columns;
mod fields;
mod files;
mod footer;
mod guard;
mod hybrid;
mod images;
mod page_header;
mod pages;
mod scan;
mod thrift;
mod values;

use std::path::{Path, PathBuf};

use super::shards::{Shards, StoredImage};
use super::{Access, Dataset, Field, Label, Notice, ObjectStamp, Remote, Sample, SampleData, Stored};
use crate::error::{Error, ErrorKind, Result};
use crate::storage::file::DataFile;
pub use builder::ParquetBuilder;
use fields::{Fields, Row};
pub(super) use files::is_in;
use pages::Pages;
use scan::ParquetFormat;

/// Samples in Parquet files, a row each, as Hugging Face's image sets are stored.
///
/// | column | is |
/// |---|---|
/// | a struct of `bytes` and `path`, or a binary column | the image, in any supported format |
/// | a `ClassLabel`, or an integer column called `label` | the class; -1 and null are no label |
/// | the key `huggingface` of the file | which columns these are, and the names of the classes |
///
/// It is an error if a `ClassLabel` has another name than `label` and its like, and stands beside an integer column
/// that has such a name. Files with other names of classes are an error, too.
///
/// [`image_column`](ParquetBuilder::image_column) and [`label_column`](ParquetBuilder::label_column) choose other columns.
/// The `path` is the sample's name where it has one.
///
/// [`fields`](ParquetBuilder::fields) reads other columns, such as captions and the boxes of objects, as named fields of the
/// samples.
///
/// Files are scanned once, in one pass over their pages. The places of all images are stored in an index next to each
/// file ([`ShardIndexes`](super::ShardIndexes)). If the images are stored uncompressed, as Hugging Face's `datasets`
/// writes them since version 4, reading a sample is one positioned read, as in a tar shard. If they are in compressed
/// pages (Snappy, gzip, zstd), the whole page of an image is unpacked. Each thread that reads keeps the last pages, up
/// to 64 MiB. A shuffled epoch then unpacks a page for nearly every sample; `gpufeed pack` makes tar shards of such a
/// set.
///
/// Samples are in the order of the files, and within a file in the order of its rows; [`id`](Dataset::id) is the number of
/// the row in that order.
///
/// ```no_run
/// use gpufeed::dataset::Parquet;
/// use gpufeed::{Backend, DataLoader, Dataset};
///
/// let train = Parquet::open("cifar10/plain_text/train-{00000..00003}-of-00004.parquet")?;
/// println!("{} samples of {} classes", train.len(), train.classes().len());
/// let loader = DataLoader::builder(train).shuffle(true).build(&Backend::auto()?)?;
/// # Ok::<(), gpufeed::Error>(())
/// ```
#[derive(Debug)]
pub struct Parquet {
    shards: Shards<ParquetFormat>,
    pages: Pages,
    classes: Vec<String>,
    folder: Option<PathBuf>,
    /// The splits that [`parts`](Self::parts) leaves out.
    split_not_read: Option<Notice>,
    max_file_bytes: u64,
    fields: Option<Fields>,
}

impl Parquet {
    /// Opens a file, a brace list of them (`train-{00000..00003}-of-00004.parquet`), or a folder's `*.parquet` sorted by
    /// name. A folder with several splits is an error that names them; [`split`](ParquetBuilder::split) chooses one.
    ///
    /// With the feature `remote` also an address in a store or on a web server, a brace list of them, or a folder of a
    /// store, as for [`TarShards::open`](super::TarShards::open).
    ///
    /// Files without an index are scanned, several at a time.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Io`] for files that cannot be read. [`ErrorKind::DataFile`], with the row group, the column or the
    /// row, for files that are no Parquet files, or are cut short, damaged or encrypted; without a column of images, or
    /// with several; with images by their `path` alone; with lists; with rows without an image, or without a label unless
    /// [`allow_unlabelled`](ParquetBuilder::allow_unlabelled) is set; with an encoding or a compression that is not read.
    /// [`ErrorKind::EmptyDataset`] if there are no rows. [`ErrorKind::Argument`] for a malformed brace list, and for a
    /// folder with several splits.
    pub fn open(files: impl AsRef<Path>) -> Result<Self> {
        Self::builder().open(files)
    }

    /// Opens the training samples of a folder, and those to test with if it has any: the split `train`, and
    /// `validation` or else `test`. A folder without splits, and files, are training samples.
    ///
    /// # Errors
    ///
    /// The errors of [`open`](Self::open).
    pub fn parts(files: impl AsRef<Path>) -> Result<(Self, Option<Self>)> {
        Self::builder().parts(files)
    }

    /// Returns a builder with more settings than [`open`](Self::open).
    pub fn builder() -> ParquetBuilder {
        ParquetBuilder::new()
    }

    /// Returns the number of files in the set.
    pub fn files(&self) -> usize {
        self.shards.files()
    }

    /// Returns file `number`, in the order of samples; `None` if there are fewer.
    pub fn file(&self, number: usize) -> Option<&Path> {
        self.shards.file(number)
    }

    /// Returns the file of sample `index`, its row there, and the `path` that goes with the image, which is empty if
    /// there is none; `None` if out of range. The path is read from the file's index.
    pub fn row(&self, index: usize) -> Option<(&Path, usize, String)> {
        let (file, row) = self.shards.place(index)?;
        let path = self.shards.key(index).map(|(_, key)| key).unwrap_or_default();
        Some((self.shards.file(file)?, row, path))
    }
}

impl Dataset for Parquet {
    fn len(&self) -> usize {
        self.shards.len()
    }

    fn classes(&self) -> &[String] {
        &self.classes
    }

    fn fields(&self) -> &[Field] {
        self.fields.as_ref().map_or(&[], Fields::fields)
    }

    fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    fn label(&self, index: usize) -> Option<Label> {
        self.shards.find(index).ok().map(|found| found.label())
    }

    fn inner(&self) -> Option<&dyn Dataset> {
        None
    }

    fn access(&self) -> Option<&dyn Access> {
        let shards = self.shards.access()?;
        Some(if self.fields.is_some() { self } else { shards })
    }

    fn stored(&self) -> Option<&dyn Stored> {
        Some(self)
    }

    fn read<'a>(&'a self, index: usize, buffer: &'a mut Vec<u8>) -> Result<Sample<'a>> {
        let found = self.shards.find(index)?;
        let entry = found.entry();
        if u64::from(entry.length) > self.max_file_bytes {
            let (name, bytes) = (self.name(index), entry.length.into());
            return Err(ErrorKind::FileTooLarge { name, bytes, max_file_bytes: self.max_file_bytes }.into());
        }
        let (offset, length, check) = (entry.offset, entry.length, entry.check);
        let image = StoredImage { offset, length, check, page: found.segment.page(entry).copied() };
        let range = self.pages.image(found.number, found.file, &image, buffer, 0)?;
        let range = range.ok_or_else(|| self.changed(index))?;
        let label = found.label();
        let Some(fields) = &self.fields else {
            return Ok(Sample::new(SampleData::Encoded(&buffer[range]), label));
        };
        let row = self.row_of(index, found.number, found.file);
        let values = fields.read(row, &self.pages, buffer, range.end)?;
        let buffer: &'a [u8] = buffer;
        let values = values.into_iter().map(|value| value.of_buffer(buffer)).collect();
        Ok(Sample::new(SampleData::Encoded(&buffer[range]), label).with_fields(values))
    }

    fn name(&self, index: usize) -> String {
        // The name may be for an error that says that the file cannot be opened. It is made without another attempt.
        let is_open = self.shards.place(index).is_none_or(|(number, _)| self.shards.is_open(number));
        let closed =
            || self.shards.place(index).and_then(|(number, row)| Some((self.shards.file(number)?, row, String::new())));
        match if is_open { self.row(index) } else { closed() } {
            Some((file, row, path)) if path.is_empty() => format!("{}: row {row}", file.display()),
            Some((file, row, path)) => format!("{}: row {row}, {path}", file.display()),
            None => format!("sample {index}"),
        }
    }

    fn notices(&self) -> Vec<Notice> {
        let mut notices = self.shards.notices(self.classes.len());
        if let Some(fields) = &self.fields {
            let mut noticed = Vec::new();
            notices.retain(|notice| match notice {
                Notice::ColumnsNotRead { columns } => {
                    noticed.clone_from(columns);
                    false
                }
                _ => true,
            });
            notices.extend(Notice::columns_not_read(fields.unread(&noticed), true));
            notices.extend(fields.broken_names().cloned());
        } else {
            notices = notices
                .into_iter()
                .flat_map(|notice| match notice {
                    Notice::ColumnsNotRead { columns } => Notice::columns_not_read(columns, false),
                    other => vec![other],
                })
                .collect();
        }
        notices.extend(self.split_not_read.clone());
        notices
    }
}

impl Stored for Parquet {
    fn own_name(&self, index: usize) -> Option<String> {
        // The path that goes with an image is the path of the file that it was before.
        self.row(index).map(|(_, _, path)| path).filter(|path| !path.is_empty())
    }

    fn each(&self, see: &mut dyn FnMut(&Path, Option<ObjectStamp>)) {
        self.shards.each_file(see);
    }
}

/// With fields, their pages are announced beside those of the images.
impl Access for Parquet {
    fn prefetch_samples(&self) -> usize {
        self.shards.prefetch_samples()
    }

    fn prefetch(&self, indices: &[usize]) {
        self.shards.prefetch(indices);
        let Some(fields) = &self.fields else { return };
        let mut last = None;
        for index in indices {
            // A file that could not be opened is not tried again. The reads of its samples will report the error.
            if self.shards.place(*index).is_some_and(|(number, _)| self.shards.is_open(number))
                && let Ok(found) = self.shards.find(*index)
            {
                fields.expect(self.row_of(*index, found.number, found.file), &mut last);
            }
        }
        self.shards.remotes().iter().for_each(Remote::fetch_expected);
    }

    fn remotes(&self) -> Vec<Remote> {
        self.shards.remotes()
    }
}

impl Parquet {
    fn row_of<'a>(&self, index: usize, number: usize, file: &'a DataFile) -> Row<'a> {
        let row = self.shards.place(index).map_or(0, |(_, row)| row);
        Row { number, file, rows: self.shards.samples_of(number), row }
    }

    fn changed(&self, index: usize) -> Error {
        let (file, row) = self.shards.place(index).unwrap_or_default();
        let name = self.shards.file(file).unwrap_or(Path::new(""));
        Error::data_file(
            name,
            format!("row {row}"),
            "its image has gone: the file was changed; open the data set again",
        )
    }
}
