//! Scans a file in one pass over the pages of its images, labels and names.

use crate::advice::{self, Advice, Reason};

use std::ops::Range;

use xxhash_rust::xxh3::Xxh3;

use super::codec::{Codec, LARGEST};
use super::column::ColumnReader;
use super::columns::{ParquetColumns, path_alone};
use super::footer::Footer;
use super::images::{self, PREFIX};
use super::values::{self, Names};
use crate::dataset::Label;
use crate::dataset::shards::{Fault, Faulty, IndexBuilder, Page, SampleEntry, ShardFormat};
use crate::error::{Error, Result};
use crate::storage::file::DataFile;

/// The version of what a scan finds in a file.
const VERSION: &[u8] = b"parquet 3";

/// The format of Parquet files. If the name of a column is `None`, what the file says chooses the column.
#[derive(Debug)]
pub(super) struct ParquetFormat {
    pub(super) image_column: Option<String>,
    pub(super) label_column: Option<String>,
    /// The most bytes to which a page may unpack.
    pub(super) max_page_bytes: Option<u64>,
}

impl ShardFormat for ParquetFormat {
    const CLASSES: Advice = advice::PARQUET_CLASSES;

    fn settings(&self) -> u64 {
        let mut hash = Xxh3::new();
        hash.update(VERSION);
        for column in [&self.image_column, &self.label_column] {
            hash.update(&[column.is_some().into()]);
            let name = column.as_deref().unwrap_or_default();
            hash.update(&(name.len() as u64).to_le_bytes());
            hash.update(name.as_bytes());
        }
        hash.digest()
    }

    fn scan(&self, file: &DataFile) -> Result<IndexBuilder> {
        let length = file.stamp().map_err(|source| Error::io(file.name(), source))?.length;
        let footer = Footer::read(file, length)?;
        let columns =
            ParquetColumns::choose(file, &footer, self.image_column.as_deref(), self.label_column.as_deref())?;
        let column = |group: usize, leaf: usize| ColumnReader::new(file, &footer, (group, leaf), self.max_page_bytes);
        let mut index = IndexBuilder::default();
        index.noticed.columns.clone_from(&columns.unread);
        index.noticed.broken_key.clone_from(&columns.broken_key);
        if let Some(label) = &columns.label {
            index.noticed.label(&format!("the column {label}"));
        }
        let mut names_left = length as usize;
        for number in 0..footer.groups() {
            let rows = footer.rows(number);
            if rows == 0 {
                // Writers of an empty table leave a row group without pages.
                continue;
            }
            let first = index.len() as u64;
            let names = match columns.names {
                Some(leaf) => values::names(&mut column(number, leaf)?, rows, names_left)?,
                None => Names::default(),
            };
            names_left -= names.len();
            let labels = match columns.labels {
                Some((leaf, physical)) => Some(values::integers(&mut column(number, leaf)?, physical, rows)?),
                None => None,
            };
            let at_row =
                |row: u64, reason: String| Error::data_file(file.name(), format!("row {}", first + row), reason);
            let missing = |row: u64| {
                let column = footer.name(columns.images);
                at_row(
                    row,
                    match names.get(row as usize) {
                        "" => format!("{column} is null: a sample has an image; leave such rows out"),
                        _ => path_alone(&column),
                    },
                )
            };
            let mut images = column(number, columns.images)?;
            images::each(file, length, &mut images, rows, missing, |row, location| {
                let label = match labels.as_ref().and_then(|labels| labels.get(row as usize)).copied().flatten() {
                    // Hugging Face marks a sample without a label with -1.
                    None | Some(-1) => Label::None,
                    Some(class) => Label::Class(u32::try_from(class).map_err(|_| {
                        at_row(row, format!("the label {class} is not a class: a number from 0 to 4294967295"))
                    })?),
                };
                index.push(names.get(row as usize), location, &label).map_err(|reason| at_row(row, reason))
            })?;
        }
        index.classes = columns.classes;
        Ok(index)
    }

    fn fits(&self, entry: &SampleEntry, page: Option<&Page>, length: u64) -> bool {
        let end = entry.offset.checked_add(entry.length.into());
        match page {
            None => entry.offset >= PREFIX as u64 && end.is_some_and(|end| end <= length),
            Some(page) => {
                let behind = page.offset.checked_add(page.compressed.into());
                let known = Codec::numbered(page.codec).is_some() && page.length <= LARGEST;
                known && behind.is_some_and(|end| end <= length) && end.is_some_and(|end| end <= page.length.into())
            }
        }
    }

    fn bytes_read(entry: &SampleEntry, page: Option<&Page>) -> Range<u64> {
        match page {
            Some(page) => page.offset..page.offset + u64::from(page.compressed),
            None => entry.offset - PREFIX as u64..entry.offset + u64::from(entry.length),
        }
    }

    fn refuse(&self, sample: &Faulty<'_>) -> Error {
        let reason = match sample.fault {
            Fault::Class(class, named) => format!("it is of class {class}, but only {named} classes have names").into(),
            Fault::Caption | Fault::Number | Fault::Unlabelled => {
                let reason = "it has no label: there is no column of labels, or it says -1 or nothing";
                Reason::new(reason).advise(advice::PARQUET_LABEL).advise(advice::PARQUET_UNLABELLED)
            }
        };
        Error::data_file(sample.file, format!("row {}", sample.number), reason)
    }
}
