//! Opens the data set that a path names, for every subcommand, and knows how people call its samples.

use gpufeed::Dataset;
use gpufeed::dataset::{Field, FieldChoice, FieldKind, Format, OpenOptions};
use gpufeed::storage::Location;
use std::error::Error;
use std::path::Path;
use std::sync::Arc;

/// A data set, or its part to train on.
pub(crate) struct NamedDataset {
    pub(crate) data: Arc<dyn Dataset>,
    format: Format,
}

// The flags that choose the fields of samples. A doc comment would become the help of the subcommand.
#[derive(Clone, Debug, Default, PartialEq, clap::Args)]
pub(crate) struct FieldArguments {
    /// What is read of each sample beside image and label: all, none, or endings of members and files, and columns, with
    /// the names of their fields, like txt=caption,json=meta; of another kind like json=boxes:objects [default: none]
    #[arg(long, value_name = "FROM=NAME,..|all", value_parser = parse_fields)]
    fields: Option<FieldChoice>,
    /// Bytes of the largest value of a field; a sample with a larger one fails. K, M, G are powers of 1024 [default: 1M]
    #[arg(long, value_name = "BYTES", requires = "fields", value_parser = crate::units::parse_bytes)]
    max_field_bytes: Option<u64>,
}

impl FieldArguments {
    /// Returns true if fields are asked for, which `none` does not.
    pub(crate) fn are_given(&self) -> bool {
        self.fields.as_ref().is_some_and(|fields| *fields != FieldChoice::None)
    }

    fn options(&self) -> OpenOptions {
        let options = OpenOptions::new().fields(self.fields.clone().unwrap_or_default());
        match self.max_field_bytes {
            Some(bytes) => options.max_field_bytes(bytes),
            None => options,
        }
    }
}

/// Opens a data set in any format. Accepts classes without samples, and samples without a label.
///
/// # Errors
/// The format's errors, and a data set without samples.
pub(crate) fn open(path: impl AsRef<Path>) -> Result<NamedDataset, Box<dyn Error>> {
    open_with(path, &FieldArguments::default())
}

/// As [`open`], with fields of the samples.
///
/// # Errors
/// Those of [`open`], and fields that the data set does not have.
pub(crate) fn open_with(path: impl AsRef<Path>, fields: &FieldArguments) -> Result<NamedDataset, Box<dyn Error>> {
    let path = path.as_ref();
    let format = Format::detect(path);
    let data: Arc<dyn Dataset> = Arc::from(format.open_with(path, fields.options().as_is(true))?.train);
    match data.is_empty() {
        true => Err(format!("{}: no samples", Location::from(path)).into()),
        false => Ok(NamedDataset { data, format }),
    }
}

/// Reads the option `--fields` of every subcommand: `all`, `none`, or what is read with the names of its fields,
/// `txt=caption,json=meta`; without a name a field is called as what it is read from. A name may end with the kind of the
/// values: `json=boxes:objects`.
///
/// # Errors
/// Another text.
pub(crate) fn parse_fields(text: &str) -> Result<FieldChoice, String> {
    match text {
        "all" => return Ok(FieldChoice::All),
        "none" => return Ok(FieldChoice::None),
        _ => {}
    }
    let mut named: Vec<(String, Field)> = Vec::new();
    for each in text.split(',') {
        // Names of columns may have a colon.
        let (source, (name, kind)) = match each.split_once('=') {
            Some((source, name)) => (source, name_and_kind(name)),
            None => (each, (each, None)),
        };
        if source.is_empty() || name.is_empty() {
            return Err("all, none, and names work, like txt=caption,json=meta".to_owned());
        }
        if named.iter().any(|(other, _)| other == source) {
            return Err(format!("{source} is named twice"));
        }
        let field = Field::new(name);
        let field = if let Some(kind) = kind { field.kind(kind) } else { field };
        named.push((source.to_owned(), field));
    }
    Ok(FieldChoice::Named(named))
}

/// Splits off the kind with which a name ends.
fn name_and_kind(name: &str) -> (&str, Option<FieldKind>) {
    const KINDS: [(&str, FieldKind); 6] = [
        ("image", FieldKind::Image),
        ("text", FieldKind::Text),
        ("json", FieldKind::Json),
        ("bytes", FieldKind::Bytes),
        ("numbers", FieldKind::Numbers),
        ("objects", FieldKind::Objects),
    ];
    let split = name.rsplit_once(':').and_then(|(own, word)| {
        let (_, kind) = KINDS.iter().find(|(known, _)| *known == word)?;
        Some((own, Some(*kind)))
    });
    split.unwrap_or((name, None))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_all_none_or_names() {
        assert_eq!(parse_fields("all"), Ok(FieldChoice::All));
        assert_eq!(parse_fields("none"), Ok(FieldChoice::None));
        let named = FieldChoice::from(vec![("txt", "caption"), ("score", "score")]);
        assert_eq!(parse_fields("txt=caption,score"), Ok(named));
        let kinds = [("json", Field::new("boxes").kind(FieldKind::Objects)), ("dc:text", Field::new("dc:title"))];
        assert_eq!(parse_fields("json=boxes:objects,dc:text=dc:title"), Ok(FieldChoice::from(kinds)));
        assert_eq!(parse_fields("dc:text"), Ok(FieldChoice::from([("dc:text", "dc:text")])));
        for text in ["", "txt=", "=a", "a,,b"] {
            assert!(parse_fields(text).unwrap_err().contains("txt=caption,json=meta"), "{text}");
        }
        assert_eq!(parse_fields("a,a=b"), Err("a is named twice".to_owned()));
    }
}
