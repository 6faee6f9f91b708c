//! The settings of opening a path of any format: fields, their limit, samples as they are.

use crate::notices::shards;
use crate::tar_fields::LAION;
use gpufeed::dataset::{self, FieldChoice, Format, OpenOptions};
use gpufeed::{Dataset, Field, Result};
use std::path::Path;

fn fields(path: &Path, choice: impl Into<FieldChoice>) -> Result<Vec<String>> {
    let opened = dataset::open_with(path, OpenOptions::new().fields(choice))?;
    Ok(opened.train.fields().iter().map(Field::to_string).collect())
}

#[test]
fn a_path_is_opened_with_fields() {
    let folder = shards(&[&LAION]);
    let captions = || FieldChoice::from([("txt", "caption")]);
    assert_eq!(fields(folder.path(), captions()).unwrap(), ["caption (text)"]);
    assert_eq!(fields(folder.path(), FieldChoice::All).unwrap(), ["json (JSON)", "txt (text)"]);
    // Without fields the texts are no labels, so that it needs the set as it is.
    assert!(dataset::open(folder.path()).is_err());
    let as_is = dataset::open_with(folder.path(), OpenOptions::new().as_is(true)).unwrap();
    assert!(as_is.train.len() == 2 && as_is.train.fields().is_empty());
    let by_format = Format::Tar.open_with(folder.path(), OpenOptions::new().fields(captions())).unwrap();
    assert_eq!(by_format.train.fields()[0].name(), "caption");
}

#[cfg(feature = "parquet")]
#[test]
fn columns_are_fields_of_a_path() {
    // A copy: its index is written beside it.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("fields.parquet");
    std::fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/parquet/fields.parquet"), &path).unwrap();
    let options = OpenOptions::new().as_is(true).fields([("caption", Field::new("text").optional())]);
    let opened = dataset::open_with(&path, options).unwrap();
    assert_eq!(opened.train.fields()[0].to_string(), "text (text, may be absent)");
}

#[test]
fn a_larger_value_fails_its_sample() {
    let folder = shards(&[&LAION]);
    let read = |bytes: u64| {
        let options = OpenOptions::new().fields([("txt", "caption")]).max_field_bytes(bytes);
        let data = dataset::open_with(folder.path(), options).unwrap().train;
        let mut buffer = Vec::new();
        data.read(0, &mut buffer).map(|sample| sample.fields.len())
    };
    assert_eq!(read(5).unwrap(), 1, "\"a cat\" has 5 bytes");
    assert!(read(4).is_err());
}

#[test]
fn formats_without_fields_refuse_them() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("x.npy");
    std::fs::write(&path, b"not read").unwrap();
    let error = fields(&path, FieldChoice::All).unwrap_err().to_string();
    assert_eq!(error, "fields: no fields are read from NumPy's files; leave the setting out");
}
