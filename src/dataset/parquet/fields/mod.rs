//! Named fields of Parquet files: columns beside the image's and the label's, parts of structs, elements of lists.
//!
//! | file | |
//! |---|---|
//! | `choose.rs` | which fields a set has |
//! | `schema.rs`, `source.rs` | the columns as a tree; what a path in it names |
//! | `objects.rs` | which parts of a struct are objects |
//! | `table.rs` | where the fields of a file are |
//! | `groups.rs`, `kept.rs` | the row groups that are in memory; the values of a field there |
//! | `row_values.rs`, `entries.rs`, `leaf_bytes.rs` | reads the values of a row group |
//! | `nested.rs`, `tree.rs` | columns in structs and lists, put together row by row |
//! | `images.rs` | where the images of a field are |
//! | `value.rs` | the value of a sample |

mod choose;
mod entries;
mod groups;
mod images;
mod kept;
mod leaf_bytes;
mod nested;
mod objects;
mod row_values;
mod schema;
mod source;
mod table;
mod tree;
mod value;

use std::ops::Range;
use std::path::PathBuf;
use std::sync::OnceLock;

use super::pages::Pages;
use super::scan::ParquetFormat;
use crate::dataset::shards::{ShardFormat, unlike};
use crate::dataset::{Field, FieldValue, Notice, SampleData};
use crate::error::{Error, ErrorKind, Result};
use crate::storage::file::DataFile;
pub(super) use choose::{Chosen, ColumnSettings};
use groups::GroupsInUse;
use kept::KeptColumn;
use source::Form;
use table::{FieldTable, FileColumns};

/// The most bytes of the fields of row groups that are in memory. A row group with more is held alone.
const IN_USE: usize = 128 << 20;

/// Limits of a file's reads.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReadLimits {
    pub(super) max_field_bytes: u64,
    pub(super) max_file_bytes: u64,
    pub(super) max_page_bytes: Option<u64>,
}

/// The fields of a set.
#[derive(Debug)]
pub(super) struct Fields {
    fields: Vec<Field>,
    /// The path and the form of each field.
    forms: Vec<(String, Form)>,
    /// The columns of the first file beside image and label, and what is not read of them.
    others: Vec<String>,
    unread: Vec<String>,
    /// The fields of each file, once a sample of it was read.
    tables: Box<[OnceLock<FieldTable>]>,
    groups: GroupsInUse,
    limits: ReadLimits,
    classes: ObjectClasses,
    /// The fault in the names of the classes of objects.
    broken_names: Option<Notice>,
    /// True if the first file has a column of labels.
    has_labels: bool,
}

/// The names of the classes of objects, in the first file.
#[derive(Debug)]
struct ObjectClasses {
    names: Vec<String>,
    file: PathBuf,
    /// True if the set has these classes, so that all files must have these names.
    are_the_sets: bool,
}

/// The file of a sample, and the sample's row there.
#[derive(Clone, Copy)]
pub(super) struct Row<'a> {
    /// The number of the file in the set, the file, and the number of its rows.
    pub(super) number: usize,
    pub(super) file: &'a DataFile,
    pub(super) rows: usize,
    pub(super) row: usize,
}

/// The value of a field that was read: an image lies in the buffer.
pub(super) enum ReadValue {
    Value(FieldValue<'static>),
    Image(Range<usize>),
}

impl ReadValue {
    pub(super) fn of_buffer(self, buffer: &[u8]) -> FieldValue<'_> {
        match self {
            ReadValue::Value(value) => value,
            ReadValue::Image(range) => FieldValue::Image(SampleData::Encoded(&buffer[range])),
        }
    }
}

impl Fields {
    pub(super) fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// Takes the names of the classes of objects for those of the set, and returns them. They are empty if the first file has
    /// none, and if it has a column of labels, whose classes the set has.
    pub(super) fn take_classes(&mut self) -> Vec<String> {
        if self.has_labels {
            return Vec::new();
        }
        self.classes.are_the_sets = !self.classes.names.is_empty();
        self.classes.names.clone()
    }

    /// The fault in the names of the classes of objects.
    pub(super) fn broken_names(&self) -> Option<&Notice> {
        self.broken_names.as_ref()
    }

    /// Returns the names of columns that are not read. Scans have noticed all columns but those of image and label:
    /// `noticed` has also those of later files.
    pub(super) fn unread(&self, noticed: &[String]) -> Vec<String> {
        let later = noticed.iter().filter(|column| !self.others.contains(column));
        self.unread.iter().chain(later).cloned().collect()
    }

    /// Reads the values of a sample. Those that are images go into `buffer`, from `at` on.
    ///
    /// # Errors
    /// A file that has changed or is damaged; a value that its kind does not have, or that has too many bytes.
    pub(super) fn read(
        &self,
        row: Row<'_>,
        pages: &Pages,
        buffer: &mut Vec<u8>,
        mut at: usize,
    ) -> Result<Vec<ReadValue>> {
        let table = self.table(row)?;
        let changed = || Error::data_file(row.file.name(), format!("row {}", row.row), CHANGED);
        let (group, in_group) = table.group(row.row as u64).ok_or_else(changed)?;
        let read = || table.read_group(row.file, group, &self.limits);
        let kept = self.groups.get((row.number, group), read)?;
        let mut values = Vec::with_capacity(self.fields.len());
        for (source, column) in table.sources.iter().zip(&*kept) {
            let place = || format!("row {}, column {}", row.row, crate::quote::shortened(&source.path));
            values.push(match column {
                KeptColumn::Values { rows, bytes, axes } => ReadValue::Value(
                    value::of(source.form, in_group, (rows, bytes, axes), self.limits.max_field_bytes)
                        .map_err(|reason| Error::data_file(row.file.name(), place(), reason))?,
                ),
                KeptColumn::Images(images) => match images.get(in_group).copied().flatten() {
                    None => ReadValue::Value(FieldValue::Absent),
                    Some(image) if u64::from(image.length) > self.limits.max_file_bytes => {
                        let name = format!("{}: {}", row.file.name().display(), place());
                        let (bytes, max_file_bytes) = (image.length.into(), self.limits.max_file_bytes);
                        return Err(ErrorKind::FileTooLarge { name, bytes, max_file_bytes }.into());
                    }
                    Some(image) => {
                        let range = pages.image(row.number, row.file, &image, buffer, at)?.ok_or_else(changed)?;
                        at = range.end;
                        ReadValue::Image(range)
                    }
                },
            });
        }
        Ok(values)
    }

    /// Announces the reads of fields that a read of this sample will make, if its row group is not in memory.
    pub(super) fn expect(&self, row: Row<'_>, last: &mut Option<(usize, usize)>) {
        let Ok(table) = self.table(row) else { return };
        let Some((group, _)) = table.group(row.row as u64) else { return };
        let key = (row.number, group);
        if last.replace(key) == Some(key) || !self.groups.announces(key) {
            return;
        }
        table.pages(group).for_each(|range| row.file.expect(range));
    }

    /// Returns where the fields of a file are. Reads the file's footer the first time.
    fn table(&self, row: Row<'_>) -> Result<&FieldTable> {
        let changed = || Error::data_file(row.file.name(), "its columns", CHANGED);
        let cell = self.tables.get(row.number).ok_or_else(changed)?;
        if let Some(table) = cell.get() {
            return Ok(table);
        }
        // Two threads may both read it; one of them is kept.
        let columns = FileColumns::read(row.file)?;
        let table = FieldTable::of(row.file, &columns, &self.forms)?;
        if table.rows() != row.rows as u64 {
            return Err(changed());
        }
        self.compare_classes(row.file, choose::classes(&columns, &table).ok().flatten())?;
        Ok(cell.get_or_init(|| table))
    }

    /// # Errors
    /// Other names of classes than those of the set, where objects have these.
    fn compare_classes(&self, file: &DataFile, names: Option<Vec<String>>) -> Result<()> {
        match names {
            Some(names) if self.classes.are_the_sets && names != self.classes.names => {
                let advice = vec![ParquetFormat::CLASSES];
                Err(unlike(&self.classes.file, &self.classes.names, file.name(), &names, advice))
            }
            _ => Ok(()),
        }
    }
}

const CHANGED: &str = "the file was changed; open the data set again";
