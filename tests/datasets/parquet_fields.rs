//! Named fields of Parquet files: strings, numbers, lists, structs, images, in every way of writing them.

use crate::parquet::{in_memory, stored};
use gpufeed::dataset::{
    Field, FieldChoice, FieldKind, FieldValue, NumberType, Numbers, Parquet, ParquetBuilder, ShardIndexes,
};
use gpufeed::transforms::Resize;
use gpufeed::{Backend, ColumnValues, DataLoader, Dataset, Label, SampleData};
use gpufeed_testing::parquet_columns::{Column, Values, file};
use gpufeed_testing::parquet_files::{self, Row, Style};
use parquet::basic::Compression;
use std::fs;
use std::path::Path;

/// The columns of [`group`].
const SCHEMA: &str = "
    optional binary caption (UTF8);
    optional group meta { required double score; optional binary author (UTF8); }
    optional group captions (LIST) { repeated group list { optional binary element (UTF8); } }
    optional group tokens (LIST) { repeated group list { required int32 element; } }
    optional group matrix (LIST) { repeated group list { required group element (LIST) {
        repeated group list { required float element; } } } }
    required boolean flag;
    required int32 small (INT_8);
    required int64 id;
    optional group objects (LIST) { repeated group list { optional group element {
        required binary name (UTF8); optional int32 n; } } }
    optional group images (LIST) { repeated group list { optional group element {
        optional binary bytes; optional binary path (UTF8); } } }
    required int32 price (DECIMAL(9, 2));
    required binary doc (JSON);
    required binary blob;";

/// Three rows with all columns: images, then the values of the schema.
fn group(first: u8) -> (Vec<Vec<u8>>, Vec<Column>) {
    let bytes = |values: &[&str]| Values::Bytes(values.iter().map(|value| value.as_bytes().to_vec()).collect());
    let columns = vec![
        Column::of(bytes(&["a cat", ""]), &[1, 0, 1], &[]),
        Column::of(Values::F64(vec![0.5, -1.0]), &[1, 0, 1], &[]),
        Column::of(bytes(&["x"]), &[2, 0, 1], &[]),
        Column::of(bytes(&["one", "two", "drei"]), &[3, 3, 1, 2, 3], &[0, 1, 0, 0, 1]),
        Column::of(Values::I32((1..7).collect()), &[2, 2, 2, 2, 2, 2, 1], &[0, 1, 1, 0, 1, 1, 0]),
        Column::of(Values::F32((1..7).map(|n| n as f32).collect()), &[3, 3, 3, 3, 1, 3, 3], &[0, 2, 1, 2, 0, 0, 2]),
        Column::required(Values::Bools(vec![true, false, true])),
        Column::required(Values::I32(vec![-3, 5, 127])),
        Column::required(Values::I64(vec![7, 1 << 40, -1])),
        Column::of(bytes(&["n", "m"]), &[3, 3, 0, 1], &[0, 1, 0, 0]),
        Column::of(Values::I32(vec![1]), &[4, 3, 0, 1], &[0, 1, 0, 0]),
        Column::of(bytes(&["A", "BB", "CCC"]), &[4, 4, 4, 0], &[0, 1, 0, 0]),
        Column::of(bytes(&[]), &[3, 3, 3, 0], &[0, 1, 0, 0]),
        Column::required(Values::I32(vec![1, 2, 3])),
        Column::texts(["{\"a\": 1}", "[1]", "\"x\""]),
        Column::texts([&b"\0\xff"[..], b"", b"z"]),
    ];
    ((first..first + 3).map(|number| vec![number; 5 + usize::from(number)]).collect(), columns)
}

fn table(style: &Style) -> Vec<u8> {
    file(SCHEMA, "{}", &[group(0), group(3)], style)
}

/// Small files with all columns, written in several ways.
pub(crate) fn files() -> Vec<Vec<u8>> {
    let styles = [
        (Compression::UNCOMPRESSED, false),
        (Compression::SNAPPY, true),
        (Compression::ZSTD(Default::default()), false),
    ];
    let style =
        |(compression, dictionary)| Style { compression, dictionary, version_2: dictionary, ..Style::default() };
    styles.map(|styled| table(&style(styled))).to_vec()
}

pub(crate) fn numbers(number_type: NumberType, shape: &[usize], bytes: Vec<u8>) -> FieldValue<'static> {
    FieldValue::Numbers(Numbers::new(number_type, shape, bytes).unwrap())
}

pub(crate) fn json(text: &str) -> FieldValue<'static> {
    FieldValue::Json(text.to_owned().into())
}

/// The values of the three rows of [`group`], by source.
fn expected() -> Vec<(&'static str, [FieldValue<'static>; 3])> {
    let text = |text: &str| FieldValue::from(text.to_owned());
    let absent = || FieldValue::Absent;
    let i32s = |list: &[i32]| {
        numbers(NumberType::I32, &[list.len()], list.iter().flat_map(|number| number.to_ne_bytes()).collect())
    };
    let f32s = |shape: &[usize], list: &[f32]| {
        numbers(NumberType::F32, shape, list.iter().flat_map(|number| number.to_ne_bytes()).collect())
    };
    let i8 = |number: i8| numbers(NumberType::I8, &[], number.to_ne_bytes().to_vec());
    let bytes = |bytes: &[u8]| FieldValue::Bytes(bytes.to_vec().into());
    vec![
        ("caption", [text("a cat"), absent(), text("")]),
        ("meta", [json(r#"{"score":0.5,"author":"x"}"#), absent(), json(r#"{"score":-1.0,"author":null}"#)]),
        ("meta.author", [text("x"), absent(), absent()]),
        ("meta.score", [FieldValue::from(0.5), absent(), FieldValue::from(-1.0)]),
        ("captions", [json(r#"["one","two"]"#), json("[]"), json(r#"[null,"drei"]"#)]),
        ("captions[1]", [text("two"), absent(), text("drei")]),
        ("captions[0]", [text("one"), absent(), absent()]),
        ("tokens", [i32s(&[1, 2, 3]), i32s(&[4, 5, 6]), i32s(&[])]),
        (
            "tokens[2]",
            [3, 6, 0]
                .map(|n| if n == 0 { absent() } else { numbers(NumberType::I32, &[], i32::to_ne_bytes(n).into()) }),
        ),
        ("matrix", [f32s(&[2, 2], &[1.0, 2.0, 3.0, 4.0]), f32s(&[0, 0], &[]), f32s(&[1, 2], &[5.0, 6.0])]),
        ("matrix[0]", [f32s(&[2], &[1.0, 2.0]), absent(), f32s(&[2], &[5.0, 6.0])]),
        ("flag", [true, false, true].map(FieldValue::from)),
        ("small", [i8(-3), i8(5), i8(127)]),
        ("id", [7, 1 << 40, -1].map(|number: i64| FieldValue::from(number))),
        ("objects", [json(r#"[{"name":"n","n":1},{"name":"m","n":null}]"#), absent(), json("[]")]),
        ("objects[1].name", [text("m"), absent(), absent()]),
        ("doc", [json("{\"a\": 1}"), json("[1]"), json("\"x\"")]),
        ("blob", [bytes(b"\0\xff"), bytes(b""), bytes(b"z")]),
    ]
}

/// Opens a file with fields of these sources.
fn open(path: &Path, builder: ParquetBuilder, sources: &[&str]) -> Parquet {
    let fields: Vec<_> = sources.iter().map(|source| (*source, Field::new(format!("field {source}")))).collect();
    builder.fields(fields).allow_unlabelled(true).open(path).unwrap_or_else(|error| panic!("{error}"))
}

/// Returns the values of a sample, images as bytes.
pub(crate) fn values(data: &dyn Dataset, index: usize) -> Vec<FieldValue<'static>> {
    let mut buffer = b"left over".to_vec();
    let sample = data.read(index, &mut buffer).unwrap_or_else(|error| panic!("{index}: {error}"));
    let own = |value: FieldValue<'_>| match value {
        FieldValue::Image(SampleData::Encoded(bytes)) => FieldValue::Bytes(bytes.to_vec().into()),
        FieldValue::Text(text) => FieldValue::from(text.into_owned()),
        FieldValue::Json(text) => FieldValue::Json(text.into_owned().into()),
        FieldValue::Bytes(bytes) => FieldValue::Bytes(bytes.into_owned().into()),
        FieldValue::Numbers(of) => numbers(of.number_type(), of.shape(), of.bytes().to_vec()),
        other => {
            assert!(other.kind().is_none(), "{other:?}");
            FieldValue::Absent
        }
    };
    sample.fields.into_iter().map(own).collect()
}

#[test]
fn every_way_of_writing_gives_the_same_fields() {
    let expected = expected();
    let sources: Vec<_> = expected.iter().map(|(source, _)| *source).collect();
    for compression in [Compression::UNCOMPRESSED, Compression::SNAPPY, Compression::ZSTD(Default::default())] {
        for (dictionary, version_2) in [(false, false), (false, true), (true, false), (true, true)] {
            for rows_a_page in [1, 2, 100] {
                let style = Style { compression, dictionary, version_2, rows_a_page, ..Style::default() };
                let (_folder, path) = stored(&table(&style));
                let data = open(&path, in_memory(), &sources);
                assert_eq!(data.len(), 6);
                // Backwards, so that the second row group is read first.
                for index in (0..6).rev() {
                    let found = values(&data, index);
                    for ((source, rows), found) in expected.iter().zip(&found) {
                        assert_eq!(*found, rows[index % 3], "{source} of row {index}: {style:?}");
                    }
                    assert_eq!(found.len(), expected.len());
                }
            }
        }
    }
}

#[test]
fn images_of_a_list_are_fields_one_by_one() {
    let path_of = |bytes: &str| FieldValue::Bytes(bytes.as_bytes().to_vec().into());
    for compression in [Compression::UNCOMPRESSED, Compression::SNAPPY] {
        for (dictionary, version_2) in [(false, false), (true, true)] {
            let style = Style { compression, dictionary, version_2, ..Style::default() };
            let (_folder, path) = stored(&table(&style));
            let data = open(&path, in_memory(), &["images[1]", "images[0]", "image"]);
            let kinds: Vec<_> = data.fields().iter().map(Field::values).collect();
            assert_eq!(kinds, [Some(FieldKind::Image); 3]);
            let rows = [[Some("BB"), Some("A")], [None, Some("CCC")], [None, None]];
            for index in 0..6 {
                let found = values(&data, index);
                let images = rows[index % 3].map(|bytes| bytes.map_or(FieldValue::Absent, path_of));
                assert_eq!(found[..2], images, "{index}: {style:?}");
                let mut buffer = Vec::new();
                let sample = data.read(index, &mut buffer).unwrap();
                let SampleData::Encoded(own) = sample.data else { panic!("pixels") };
                assert_eq!((own, own.len()), (&vec![index as u8; 5 + index][..], 5 + index));
                assert_eq!(found[2], FieldValue::from(own), "the sample's own image is a field, too");
            }
        }
    }
}

#[test]
fn all_fields_are_those_that_can_be_read_and_the_others_are_named() {
    let (_folder, path) = stored(&table(&Style::default()));
    let data = in_memory().fields(FieldChoice::All).allow_unlabelled(true).open(&path).unwrap();
    let names: Vec<_> = data.fields().iter().map(ToString::to_string).collect();
    let expected = [
        "caption (text, may be absent)",
        "meta (JSON, may be absent)",
        "captions (JSON, may be absent)",
        "tokens (numbers)",
        "matrix (numbers)",
        "flag (numbers)",
        "small (numbers)",
        "id (numbers)",
        "objects (JSON, may be absent)",
        "doc (JSON)",
        "blob (bytes)",
    ];
    assert_eq!(names, expected);
    let said = |data: &Parquet| {
        let unread =
            data.notices().into_iter().map(|notice| notice.to_string()).filter(|text| text.contains("not read"));
        unread.collect::<Vec<_>>()
    };
    assert_eq!(said(&data), ["not read: the columns images, price"]);
    // With all fields a sample may have a null in any column but one of numbers.
    let required: Vec<_> = data.fields().iter().filter(|field| field.is_required()).map(Field::name).collect();
    assert_eq!(required, ["tokens", "matrix", "flag", "small", "id", "doc", "blob"]);
    // The notice names the parts of a struct that are not read, and a list with other elements than the one that is.
    let some = open(&path, in_memory(), &["caption", "meta.score", "objects", "images[0]", "tokens", "matrix", "doc"]);
    let expected =
        "not read: the columns meta.author, captions, flag, small, id, images (all but images[0]), price, blob";
    assert_eq!(said(&some), [expected]);
    // Without fields, all columns but the image's are named, and no sample has a value.
    let none = in_memory().allow_unlabelled(true).open(&path).unwrap();
    assert_eq!(said(&none)[0], "the captions in caption are not read: fields = {\"caption\": \"caption\"} reads them");
    assert!(said(&none)[2].contains("the columns meta, tokens"), "{:?}", said(&none));
    assert!(none.fields().is_empty() && values(&none, 0).is_empty());
}

#[test]
fn samples_with_fields_may_have_no_label_unless_its_column_is_named() {
    let row = |label| Row { image: Some(b"file".to_vec()), path: None, label };
    let (_folder, path) = stored(&parquet_files::file(&[Some(4), None, Some(-1)].map(row), &Style::default()));
    let opened = |builder: ParquetBuilder| builder.open(&path);
    let label = |data: &Parquet, index| data.read(index, &mut Vec::new()).unwrap().label;
    for builder in [in_memory().fields(FieldChoice::All), in_memory().fields([("image", "image")])] {
        let data = opened(builder).unwrap();
        assert_eq!([0, 1, 2].map(|index| label(&data, index)), [Label::Class(4), Label::None, Label::None]);
    }
    let named = || in_memory().fields([("image", "image"), ("label", "label")]);
    let column = || in_memory().fields(FieldChoice::All).label_column("label");
    for builder in [in_memory(), in_memory().fields(FieldChoice::None), named(), column()] {
        let error = opened(builder).unwrap_err().to_string();
        assert!(error.contains("row 1: it has no label"), "{error}");
    }
    for builder in [named(), column()] {
        assert_eq!(label(&opened(builder.allow_unlabelled(true)).unwrap(), 2), Label::None);
    }
}

#[test]
fn the_index_is_the_same_with_and_without_fields() {
    let (folder, path) = stored(&table(&Style::default()));
    let builder = || Parquet::builder().indexes(ShardIndexes::Folder(folder.path().join("indexes")));
    fs::create_dir(folder.path().join("indexes")).unwrap();
    builder().allow_unlabelled(true).open(&path).unwrap();
    let index = fs::read_dir(folder.path().join("indexes")).unwrap().next().unwrap().unwrap().path();
    let before = (fs::read(&index).unwrap(), fs::metadata(&index).unwrap().modified().unwrap());
    let data = open(&path, builder(), &["caption", "images[0]"]);
    assert_eq!(values(&data, 0)[0], FieldValue::from("a cat"));
    assert_eq!((fs::read(&index).unwrap(), fs::metadata(&index).unwrap().modified().unwrap()), before);
}

#[test]
fn a_field_may_choose_the_image_and_the_label() {
    let rows: Vec<_> =
        (0..4).map(|row| Row { image: Some(vec![row; 9]), label: Some(row.into()), path: None }).collect();
    let style = Style { label: "kind".to_owned(), before: Some(("note".to_owned(), "binary")), ..Style::default() };
    let (_folder, path) = stored(&gpufeed_testing::parquet_files::file(&rows, &style));
    let choice = [("note", Field::new("image")), ("kind", Field::new("label")), ("image", Field::new("picture"))];
    let data = in_memory().fields(choice).open(&path).unwrap();
    assert_eq!(data.fields().iter().map(Field::name).collect::<Vec<_>>(), ["picture"]);
    let mut buffer = Vec::new();
    let sample = data.read(2, &mut buffer).unwrap();
    let (SampleData::Encoded(note), FieldValue::Image(SampleData::Encoded(picture))) =
        (&sample.data, &sample.fields[0])
    else {
        panic!("{sample:?}")
    };
    assert_eq!((*note, *picture, sample.label), (&b"2"[..], &[2; 9][..], gpufeed::Label::Class(2)));
}

#[test]
fn batches_have_columns_of_a_parquet_file() {
    let picture = |number: u8| {
        gpufeed_testing::encoded::encode(
            gpufeed_testing::encoded::picture(8, 6 + u32::from(number)),
            image::ImageFormat::Png,
        )
    };
    let groups = [0_u8, 3].map(|first| ((first..first + 3).map(picture).collect(), group(first).1));
    let (_folder, path) = stored(&file(SCHEMA, "{}", &groups, &Style::default()));
    let fields = [
        ("caption", Field::new("text").default_value(FieldValue::from("none"))),
        ("captions", Field::new("captions")),
        ("small", Field::new("n")),
    ];
    for workers in [1, 3] {
        let data = in_memory().fields(fields.clone()).allow_unlabelled(true).open(&path).unwrap();
        let loader = DataLoader::builder(data).transform(Resize::new((4, 4))).batch_size(6).workers(workers);
        let loader = loader.build(&Backend::Cpu).unwrap();
        let batch = loader.epoch(0).unwrap().next().unwrap().unwrap();
        let texts = ["a cat", "none", "", "a cat", "none", ""].map(|text| Some(text.to_owned())).to_vec();
        assert_eq!(*batch.column("text").unwrap().values(), ColumnValues::Text(texts));
        let lists = [r#"["one","two"]"#, "[]", r#"[null,"drei"]"#].map(|text| Some(text.to_owned()));
        assert_eq!(*batch.column("captions").unwrap().values(), ColumnValues::Json([lists.clone(), lists].concat()));
        let bytes = [-3_i8, 5, 127, -3, 5, 127].map(|number| number as u8).to_vec();
        let numbers = ColumnValues::Numbers { number_type: NumberType::I8, shape: vec![], bytes };
        assert_eq!(*batch.column("n").unwrap().values(), numbers);
    }
}

#[test]
fn threads_that_read_one_row_group_have_its_values() {
    let groups: Vec<_> = (0..40).map(|number| group(number * 3)).collect();
    let (_folder, path) =
        stored(&file(SCHEMA, "{}", &groups, &Style { compression: Compression::SNAPPY, ..Style::default() }));
    let data = open(&path, in_memory(), &["caption", "captions", "images[0]"]);
    let first: Vec<_> = (0..3).map(|index| values(&data, index)).collect();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (data, first) = (&data, &first);
            scope.spawn(move || {
                for turn in 0..300 {
                    let index = (turn * 7 + thread * 31) % 120;
                    assert_eq!(values(data, index), first[index % 3], "{index}");
                }
            });
        }
    });
}
