//! Opens the data set that a path names, for every subcommand, and knows how people call its samples.

use gpufeed::Dataset;
use gpufeed::dataset::{Field, FieldChoice, Format, OpenOptions, open_with};
use gpufeed::storage::Location;
use std::error::Error;
use std::path::Path;
use std::sync::Arc;

/// A data set, or its part to train on.
pub(crate) struct NamedDataset {
    pub(crate) data: Arc<dyn Dataset>,
    format: Format,
}

/// Opens a data set in any format. Accepts classes without samples, and samples without a label.
///
/// # Errors
/// The format's errors, and a data set without samples.
pub(crate) fn open(path: impl AsRef<Path>) -> Result<NamedDataset, Box<dyn Error>> {
    open_fields(path, &FieldChoice::None)
}

/// As [`open`], with these fields of the samples.
///
/// # Errors
/// Those of [`open`], and fields that the data set has not.
pub(crate) fn open_fields(path: impl AsRef<Path>, fields: &FieldChoice) -> Result<NamedDataset, Box<dyn Error>> {
    let path = path.as_ref();
    let format = Format::detect(path);
    let data: Arc<dyn Dataset> = {
        let options = OpenOptions::new().as_is(true).fields(fields.clone());
        Arc::from(open_with(path, options)?.train)
    };
    match data.is_empty() {
        true => Err(format!("{}: no samples", Location::from(path)).into()),
        false => Ok(NamedDataset { data, format }),
    }
}

/// Reads the option `--fields`: `all`, or pairs of what is read and its name.
///
/// # Errors
/// Another text.
pub(crate) fn parse_fields(text: &str) -> Result<FieldChoice, String> {
    if text == "all" {
        return Ok(FieldChoice::All);
    }
    let pair = |pair: &str| {
        let named = pair.split_once('=').filter(|(source, name)| !source.is_empty() && !name.is_empty());
        let (source, name) = named.ok_or("write all, or pairs such as txt=caption,json=meta")?;
        Ok((source.to_owned(), Field::new(name)))
    };
    text.split(',').map(pair).collect::<Result<Vec<_>, String>>().map(FieldChoice::Named)
}

/// Returns true if a data set is read from a store or a web server.
pub(crate) fn is_remote(data: &dyn Dataset) -> bool {
    data.access().is_some_and(|access| access.is_remote())
}

impl NamedDataset {
    /// Returns a sample's file; `None` if samples are not files.
    pub(crate) fn file(&self, index: usize) -> Option<&Path> {
        self.data.stored()?.file(index)
    }

    /// Returns a sample's name where it is stored: its file below the data set's folder, or its key in a shard.
    pub(crate) fn own_name(&self, index: usize) -> Option<String> {
        self.data.stored()?.own_name(index)
    }

    /// Returns the name by which a person finds the sample. Rows of Parquet files may share a path, or have none, so theirs
    /// has the file and the number of the row.
    pub(crate) fn full_name(&self, index: usize) -> String {
        let own = (self.format != Format::Parquet).then(|| self.own_name(index)).flatten();
        own.unwrap_or_else(|| self.data.name(index))
    }
}
