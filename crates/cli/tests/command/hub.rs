//! A small set of Parquet files as on Hugging Face's Hub, and what a pack of it has.

use gpufeed::Label;
use gpufeed_testing::encoded::{encode, picture};
use gpufeed_testing::parquet_files::{Compression, Row, Style, file};
use image::ImageFormat as Codec;
use std::fs;
use tempfile::TempDir;

/// The rows to train on.
pub(crate) const TRAIN: usize = 20;
/// The rows to test with.
pub(crate) const TEST: usize = 5;
/// The keys of rows to train on that are not the path's own: the one of a taken path, and the one without a path.
pub(crate) const OTHER_KEYS: [(usize, &str); 2] = [(12, "cat/002_v1-000000012"), (13, "000000013")];

/// Returns the names of the files, and the rows of each. One image in five is a PNG.
fn rows() -> Vec<(String, Vec<Row>)> {
    let row = |number: u32| {
        let (codec, extension) = if number % 5 == 4 { (Codec::Png, "png") } else { (Codec::Jpeg, "JPEG") };
        let class = ["cat", "dog"][number as usize % 2];
        Row {
            image: Some(encode(picture(60 + number, 40), codec)),
            path: Some(format!("{class}/{number:03}.v1.{extension}")),
            label: Some(i64::from(number % 2)),
        }
    };
    let rows = |from: u32, to: u32| (from..to).map(row).collect::<Vec<_>>();
    let mut second = rows(9, 20);
    second[3].path = Some("cat/002.v1.JPEG".to_owned());
    second[4].path = None;
    [("train-00000-of-00002", rows(0, 9)), ("train-00001-of-00002", second), ("test-00000-of-00001", rows(30, 35))]
        .map(|(name, rows)| (format!("data/{name}.parquet"), rows))
        .into()
}

/// Returns a file with these rows and the names of two classes, in pages that are compressed or not.
pub(crate) fn of_rows(rows: &[Row], compression: Compression) -> Vec<u8> {
    let classes = vec!["cat".to_owned(), "dog".to_owned()];
    file(rows, &Style { compression, rows_a_group: 7, rows_a_page: 3, classes, ..Style::default() })
}

/// Returns the names and the bytes of the files. Those of one are plain, as `datasets` writes them today, those of the
/// others in compressed pages.
pub(crate) fn files() -> Vec<(String, Vec<u8>)> {
    let compression = |name: &str| match name.contains("train-00000") {
        true => Compression::UNCOMPRESSED,
        false => Compression::SNAPPY,
    };
    rows().into_iter().map(|(name, rows)| (name.clone(), of_rows(&rows, compression(&name)))).collect()
}

/// Makes the set in a folder.
pub(crate) fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("data")).unwrap();
    files().into_iter().for_each(|(name, bytes)| fs::write(folder.path().join(name), bytes).unwrap());
    folder
}

/// Returns the key, the bytes and the label of each sample that a pack of a split has.
pub(crate) fn expected(split: &str) -> Vec<(String, Vec<u8>, Label)> {
    let others: &[_] = if split == "train" { &OTHER_KEYS } else { &[] };
    let rows = rows().into_iter().filter(|(name, _)| name.contains(split)).flat_map(|(_, rows)| rows);
    let sample = |(index, row): (usize, Row)| {
        let other = others.iter().find(|(at, _)| *at == index).map(|(_, key)| (*key).to_owned());
        // A key ends at the first dot, so a dot within the name has become a `_`.
        let own = || row.path.as_deref()?.rsplit_once('.').map(|(stem, _)| stem.replace(".v1", "_v1"));
        (other.or_else(own).unwrap(), row.image.unwrap(), Label::Class(row.label.unwrap() as u32))
    };
    rows.enumerate().map(sample).collect()
}
