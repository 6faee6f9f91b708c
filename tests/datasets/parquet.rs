//! Parquet files: those that Hugging Face's `datasets` and pyarrow write, in old ways and new, and what is refused.

use gpufeed::dataset::{Format, Parquet, ParquetBuilder, ShardIndexes};
use gpufeed::{Dataset, Label, SampleData, dataset};
use gpufeed_testing::parquet_files::{Row, Style, file};
use parquet::basic::{Compression, Encoding};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/parquet").join(name)
}

pub(crate) fn in_memory() -> ParquetBuilder {
    Parquet::builder().indexes(ShardIndexes::Memory)
}

/// Returns the bytes and the label of each sample.
pub(crate) fn samples(data: &dyn Dataset) -> Vec<(Vec<u8>, Label)> {
    let mut buffer = b"left over".to_vec();
    let mut read = |index| {
        let sample = data.read(index, &mut buffer).unwrap_or_else(|error| panic!("{index}: {error}"));
        let SampleData::Encoded(bytes) = sample.data else { panic!("pixels") };
        (bytes.to_vec(), sample.label)
    };
    (0..data.len()).map(&mut read).collect()
}

pub(crate) fn stored(bytes: &[u8]) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.parquet");
    fs::write(&path, bytes).unwrap();
    (folder, path)
}

/// Rows of images of several lengths, also of none.
pub(crate) fn rows(count: usize) -> Vec<Row> {
    let image = |i: usize| (0..i * 37 % 900).map(|at| (at * 7 + i) as u8).collect();
    let row = |i: usize| Row {
        image: Some(image(i)),
        path: (!i.is_multiple_of(3)).then(|| format!("{i}.jpg")),
        label: Some((i % 10) as i64),
    };
    (0..count).map(row).collect()
}

pub(crate) fn expected(rows: &[Row]) -> Vec<(Vec<u8>, Label)> {
    let label = |row: &Row| row.label.map_or(Label::None, |label| Label::Class(label as u32));
    rows.iter().map(|row| (row.image.clone().unwrap(), label(row))).collect()
}

#[test]
fn a_file_without_rows_adds_no_samples() {
    let folder = tempfile::tempdir().unwrap();
    let rows = rows(5);
    for (name, rows) in [("a.parquet", &rows[..0]), ("b.parquet", &rows[..])] {
        fs::write(folder.path().join(name), file(rows, &Style::default())).unwrap();
    }
    assert_eq!(samples(&in_memory().open(folder.path()).unwrap()), expected(&rows));
}

#[test]
fn rows_are_those_that_datasets_reads() {
    compare(&golden(""));
    // Files of the installed `datasets`, which scripts/test-parquet.sh writes.
    if let Some(folder) = std::env::var_os("GPUFEED_PARQUET_FILES") {
        compare(Path::new(&folder));
    }
}

fn compare(folder: &Path) {
    let all: Value = serde_json::from_slice(&fs::read(folder.join("expected.json")).unwrap()).unwrap();
    assert!(all.as_object().unwrap().len() >= 6);
    for (name, rows) in all.as_object().unwrap() {
        let path = folder.join(name);
        // Twice: by a scan, and by the index that it made.
        let indexes = tempfile::tempdir().unwrap();
        for _ in 0..2 {
            let builder = Parquet::builder().indexes(ShardIndexes::Folder(indexes.path().into()));
            let data = builder.allow_unlabelled(name == "plain_column.parquet").open(&path).unwrap();
            let rows = rows.as_array().unwrap();
            assert_eq!((data.len(), data.files()), (rows.len(), 1), "{name}");
            for (index, ((bytes, label), row)) in samples(&data).iter().zip(rows).enumerate() {
                let hash: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
                assert_eq!(hash, row["sha256"].as_str().unwrap(), "{name} {index}");
                let class = row["label"].as_u64().map_or(Label::None, |class| Label::Class(class as u32));
                assert_eq!(*label, class, "{name} {index}");
                let path_there = row["path"].as_str().unwrap().to_owned();
                assert_eq!(data.row(index), Some((&*path, index, path_there)), "{name}");
                assert_eq!(data.id(index), index as u64);
            }
            let named = !matches!(name.as_str(), "plain_column.parquet" | "dictionary.parquet");
            assert_eq!(data.classes(), if named { &["cat", "dog", "wug"][..] } else { &[] }, "{name}");
            assert!(data.row(rows.len()).is_none() && data.read(rows.len(), &mut Vec::new()).is_err());
        }
    }
}

#[test]
fn every_way_of_writing_gives_the_same_samples() {
    let rows = rows(250);
    let expected = expected(&rows);
    let classes: Vec<_> = (0..10).map(|class| format!("class {class}")).collect();
    for compression in [Compression::UNCOMPRESSED, Compression::SNAPPY, Compression::ZSTD(Default::default())] {
        for (dictionary, version_2) in [(false, false), (false, true), (true, false), (true, true)] {
            for (rows_a_group, rows_a_page) in [(100, 10), (1000, 250), (7, 1)] {
                let style = Style {
                    compression,
                    dictionary,
                    version_2,
                    rows_a_group,
                    rows_a_page,
                    classes: classes.clone(),
                    ..Style::default()
                };
                let (_folder, path) = stored(&file(&rows, &style));
                let data = in_memory().open(&path).unwrap_or_else(|error| panic!("{style:?}: {error}"));
                assert!(samples(&data) == expected, "{style:?}");
                assert_eq!(data.classes(), classes);
                let name = data.name(4);
                assert!(name.ends_with("x.parquet: row 4, 4.jpg"), "{name}");
                assert!(data.name(3).ends_with("x.parquet: row 3"), "{}", data.name(3));
            }
        }
    }
}

#[test]
fn many_threads_read_compressed_pages_of_two_sets() {
    let rows = rows(300);
    let expected = expected(&rows);
    let style = Style { compression: Compression::SNAPPY, rows_a_page: 20, ..Style::default() };
    let (_folder, path) = stored(&file(&rows, &style));
    let sets = [in_memory().open(&path).unwrap(), in_memory().open(&path).unwrap()];
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (sets, expected) = (&sets, &expected);
            scope.spawn(move || {
                let mut buffer = Vec::new();
                for turn in 0..900 {
                    let index = (turn * 101 + thread * 7) % 300;
                    let sample = sets[turn % 2].read(index, &mut buffer).unwrap();
                    let SampleData::Encoded(bytes) = sample.data else { panic!("pixels") };
                    assert!((bytes, &sample.label) == (&*expected[index].0, &expected[index].1), "{index}");
                }
            });
        }
    });
}

#[test]
fn folders_lists_and_splits_are_opened_by_their_path() {
    let folder = tempfile::tempdir().unwrap();
    let rows = rows(30);
    let write = |name: &str, from: usize, to: usize| {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, file(&rows[from..to], &Style::default())).unwrap();
    };
    write("data/train-00000-of-00002-1f.parquet", 0, 12);
    write("data/train-00001-of-00002-e0.parquet", 12, 20);
    write("data/test-00000-of-00001-aa.parquet", 20, 30);
    assert_eq!(Format::detect(folder.path()), Format::Parquet);
    let opened = dataset::open(folder.path()).unwrap();
    assert!(samples(&opened.train) == expected(&rows[..20]));
    assert!(samples(&opened.test.unwrap()) == expected(&rows[20..]));
    let list = folder.path().join("data/train-{00000-of-00002-1f,00001-of-00002-e0}.parquet");
    assert_eq!(Format::detect(&list), Format::Parquet);
    assert!(samples(&dataset::open(&list).unwrap().train) == expected(&rows[..20]));
    let test = Parquet::builder().split("test").open(folder.path()).unwrap();
    assert_eq!((test.len(), test.files()), (10, 1));
    let error = Parquet::open(folder.path()).unwrap_err().to_string();
    assert!(error.contains("has the splits test, train: choose one"), "{error}");
    // The indexes lie beside the files.
    assert!(folder.path().join("data/.test-00000-of-00001-aa.parquet.gpufeed-index").is_file());
    let missing = Parquet::open(folder.path().join("x-{0..1}.parquet")).unwrap_err().to_string();
    assert!(missing.contains("x-0.parquet"), "{missing}");
    let many = Parquet::open("x-{0..1000000}.parquet").unwrap_err().to_string();
    assert!(many.contains("more than a million names"), "{many}");
}

#[test]
fn what_holds_no_images_or_no_labels_says_what_to_write_instead() {
    for (name, says) in [
        ("paths.parquet", "row 0: image.bytes has paths alone: this set keeps its images in files of their own"),
        ("nulls.parquet", "row 1: image.bytes is null: a sample has an image; leave such rows out"),
        ("lists.parquet", "images has lists, but a sample has one image: write a row for each"),
        ("unlabelled.parquet", "row 0: it has no label"),
        ("encrypted.parquet", "it is encrypted, which gpufeed does not read; write it again without encryption"),
        ("encrypted_columns.parquet", "it has encrypted columns, which gpufeed does not read"),
    ] {
        let error = in_memory().open(golden(name)).unwrap_err().to_string();
        assert!(error.contains(name) && error.contains(says), "{name}: {error}");
    }
    let unlabelled = in_memory().allow_unlabelled(true).open(golden("unlabelled.parquet")).unwrap();
    assert!(samples(&unlabelled).iter().all(|(_, label)| *label == Label::None));

    let plain = |builder: ParquetBuilder| builder.open(golden("plain_column.parquet"));
    let says = |builder| plain(builder).unwrap_err().to_string();
    assert!(says(in_memory()).contains("row 5: it has no label"), "{}", says(in_memory()));
    let builder = || in_memory().allow_unlabelled(true);
    assert!(says(builder().image_column("jpg")).contains("there is no image column jpg; there are name, jpeg, target"));
    assert!(says(builder().image_column("target")).contains("the image column target holds no files"));
    assert!(says(builder().label_column("name")).contains("the label column name holds no integers"));
    assert!(says(in_memory().label_column("class")).contains("there is no label column class"));
    // Text is bytes, too: it is read where it is named.
    assert_eq!(samples(&plain(builder().image_column("name")).unwrap())[8].0, b"n8");
    let named = plain(builder().classes((0..5).map(|class| class.to_string()))).unwrap_err().to_string();
    assert!(named.contains("row 8: it is of class 8, but only 5 classes have names"), "{named}");

    for (bytes, says) in [
        (&b"no Parquet file"[..], "byte 0: it is not a Parquet file"),
        (b"", "byte 0: it is not a Parquet file"),
        (b"PAR1", "it does not end with PAR1: it is cut short"),
        (b"PAR1\xff\xff\xff\x7fPAR1", "a footer of 2147483647 bytes, but at most 0 are there"),
        (b"PAR1\0\0\0\0PAR1", "the footer cannot be read"),
    ] {
        let (_folder, path) = stored(bytes);
        let error = in_memory().open(&path).unwrap_err().to_string();
        assert!(error.contains(says), "{says}: {error}");
    }
    let empty = stored(&file(&[], &Style::default()));
    let error = in_memory().open(&empty.1).unwrap_err().to_string();
    assert!(error.contains("no samples (the files have no rows)"), "{error}");
}

#[test]
fn encodings_and_labels_that_are_not_read_are_named() {
    let mut rows = rows(20);
    let refused = |rows: &[Row], style: &Style| {
        let (_folder, path) = stored(&file(rows, style));
        in_memory().open(&path).unwrap_err().to_string()
    };
    for (encoding, name) in [
        (Encoding::DELTA_LENGTH_BYTE_ARRAY, "DELTA_LENGTH_BYTE_ARRAY"),
        (Encoding::DELTA_BYTE_ARRAY, "DELTA_BYTE_ARRAY"),
    ] {
        let error = refused(&rows, &Style { encoding: Some(encoding), ..Style::default() });
        assert!(error.contains(&format!("row group 0, column image.bytes: its encoding is {name}")), "{error}");
    }
    // Names are not needed.
    let (_folder, path) =
        stored(&file(&rows, &Style { path_encoding: Some(Encoding::DELTA_BYTE_ARRAY), ..Style::default() }));
    let nameless = in_memory().open(&path).unwrap();
    assert!(samples(&nameless) == expected(&rows) && nameless.name(4).ends_with("row 4"), "{}", nameless.name(4));
    rows[7].label = Some(-2);
    let error = refused(&rows, &Style::default());
    assert!(error.contains("row 7: the label -2 is not a class"), "{error}");
    rows[7].label = Some(1 << 32);
    assert!(refused(&rows, &Style::default()).contains("row 7: the label 4294967296 is not a class"));
    rows[7].label = None;
    assert!(refused(&rows, &Style::default()).contains("row 7: it has no label"));
    rows[7].label = Some(3);
    rows[12].image = None;
    rows[12].path = None;
    let error = refused(&rows, &Style { rows_a_group: 10, ..Style::default() });
    assert!(error.contains("row 12: image.bytes is null"), "{error}");
}

#[test]
fn a_file_that_changes_under_the_reader_is_an_error() {
    for compression in [Compression::UNCOMPRESSED, Compression::SNAPPY] {
        let rows = rows(60);
        let style = Style { compression, ..Style::default() };
        let whole = file(&rows, &style);
        let (_folder, path) = stored(&whole);
        let data = in_memory().open(&path).unwrap();
        assert!(samples(&data) == expected(&rows));
        let mut other = rows.clone();
        for row in &mut other {
            row.image.as_mut().unwrap().iter_mut().for_each(|byte| *byte ^= 1);
        }
        // Another thread, which has no pages yet.
        let read = |index: usize| {
            let thread = || data.read(index, &mut Vec::new()).map(|_| ()).map_err(|error| error.to_string());
            std::thread::scope(|scope| scope.spawn(thread).join().unwrap())
        };
        fs::write(&path, file(&other, &style)).unwrap();
        for (index, row) in rows.iter().enumerate().filter(|(_, row)| !row.image.as_ref().unwrap().is_empty()) {
            let error = read(index).unwrap_err();
            assert!(error.contains("the file was changed; open the data set again"), "{row:?}: {error}");
        }
        fs::write(&path, "").unwrap();
        assert!(read(3).unwrap_err().contains("has gone"));
        fs::write(&path, &whole).unwrap();
        assert!(samples(&data) == expected(&rows));
        // A file whose index was made again has its new samples.
        fs::write(&path, file(&other, &style)).unwrap();
        assert!(samples(&Parquet::open(&path).unwrap()) == expected(&other));
    }
}

#[test]
fn larger_images_than_allowed_are_not_read() {
    let (_folder, path) = stored(&file(&rows(30), &Style::default()));
    let data = in_memory().max_file_bytes(500).open(&path).unwrap();
    let error = data.read(24, &mut Vec::new()).unwrap_err().to_string();
    assert!(
        error.contains("row 24") && error.contains("888 bytes, but at most 500 are read; raise max_file_bytes"),
        "{error}"
    );
    assert!(data.read(2, &mut Vec::new()).is_ok());
}

#[test]
fn a_broken_key_of_hugging_faces_is_said() {
    let style = Style { classes: vec!["cat".into(), "dog".into()], ..Style::default() };
    let rows: Vec<_> = rows(4).into_iter().map(|row| Row { label: row.label.map(|label| label % 2), ..row }).collect();
    let whole = file(&rows, &style);
    let with = |from: &str, to: &str| {
        let at = whole.windows(from.len()).position(|bytes| bytes == from.as_bytes()).unwrap();
        let mut bytes = whole.clone();
        bytes[at..at + from.len()].copy_from_slice(to.as_bytes());
        let (_folder, path) = stored(&bytes);
        let data = in_memory().open(&path).unwrap();
        (data.classes().len(), data.notices().iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
    };
    let (classes, said) = with("{\"info\": ", "{\"info\": ");
    assert_eq!((classes, &*said), (2, "labels are 2 classes with names, from the column label"));
    for (from, to) in [("{\"info\": ", "{\"info\"; "), ("\"names\": [\"cat\", \"dog\"]", "\"names\": [\"cat\", 12345]")]
    {
        let (classes, said) = with(from, to);
        assert_eq!(classes, 0);
        assert!(said.contains("x.parquet: the key huggingface") && said.contains("cannot be read ("), "{said}");
    }
}
