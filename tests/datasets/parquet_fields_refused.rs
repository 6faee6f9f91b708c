//! Named fields of Parquet files that cannot be read, and values that their samples cannot have: each is named, with what
//! to do.

use crate::parquet::{in_memory, stored};
use crate::parquet_fields::{json, numbers, values};
use gpufeed::dataset::{Field, FieldChoice, FieldKind, FieldValue, NumberType, ParquetBuilder};
use gpufeed::transforms::Resize;
use gpufeed::{Backend, DataLoader, Dataset};
use gpufeed_testing::parquet_columns::{Column, Values, file};
use gpufeed_testing::parquet_files::{Row, Style};
use parquet::basic::{Compression, Encoding};
use std::fs;

/// A file of one row group with one column beside the images.
fn with(schema: &str, column: Column, rows: usize) -> Vec<u8> {
    file(schema, "{}", &[(vec![vec![1; 9]; rows], vec![column])], &Style::default())
}

fn fields(choice: impl Into<FieldChoice>) -> ParquetBuilder {
    in_memory().allow_unlabelled(true).fields(choice)
}

/// Returns the error of opening a file with a field of this source.
fn refused(bytes: &[u8], source: &str, field: Field) -> String {
    let (_folder, path) = stored(bytes);
    fields([(source, field)]).open(&path).unwrap_err().to_string()
}

/// Returns the error of reading a row.
fn failed(bytes: &[u8], row: usize, field: Field) -> String {
    let (_folder, path) = stored(bytes);
    let data = fields([("x", field)]).open(&path).unwrap();
    data.read(row, &mut Vec::new()).unwrap_err().to_string()
}

#[test]
fn columns_that_are_not_there_or_not_read_are_named() {
    let list = "optional group x (LIST) { repeated group list { optional binary element (UTF8); } }";
    let texts = || Column::of(Values::Bytes(vec![b"a".to_vec()]), &[3], &[0]);
    let file_of = |schema: &str, column| with(schema, column, 1);
    let lists = file_of(list, texts());
    for (source, says) in [
        ("y", "its columns: there is no column y; there are image, x"),
        ("x.a", "x is a list; x[0] is the first of its elements"),
        ("x[0][1]", "x[0] is no list"),
        ("x[0].a", "x[0] has no parts"),
        ("x[a]", "x is a list; x[0] is the first"),
        ("image.length", "image has no part length; it has bytes"),
        ("x[99999999999999999999]", "x is a list"),
    ] {
        let error = refused(&lists, source, Field::new("f"));
        assert!(error.contains(says), "{source}: {error}");
    }
    let error = refused(&lists, "x", Field::new("f").kind(FieldKind::Text));
    assert!(error.contains("x has JSON, which cannot be read as text"), "{error}");
    let error = refused(&lists, "x[0]", Field::new("f").kind(FieldKind::Numbers));
    assert!(error.contains("x[0] has text, which cannot be read as numbers"), "{error}");
    let one = |values| Column::required(values);
    for (schema, column, says) in [
        (
            "required int32 x (DECIMAL(9, 2));",
            one(Values::I32(vec![1])),
            "x has decimal numbers, which gpufeed does not",
        ),
        (
            "required fixed_len_byte_array(12) x (INTERVAL);",
            one(Values::Fixed(vec![vec![0; 12]])),
            "x has intervals of time",
        ),
        (
            "optional group x (MAP) { repeated group key_value { required binary key (UTF8); optional int32 value; } }",
            texts(),
            "x has a map",
        ),
        (
            "optional group x { optional binary a; optional int32 b; }",
            texts(),
            "x.a has bytes, which JSON does not have; name the parts to read, each as a field",
        ),
        (
            "optional group x (LIST) { repeated group list { optional group element { optional binary bytes; } } }",
            texts(),
            "x has several images, but a field has one: x[0] is the first, x[1] the second",
        ),
    ] {
        // The columns of groups are two where the schema has two.
        let second = Column::of(Values::I32(vec![1]), &[if schema.contains("MAP") { 3 } else { 2 }], &[0]);
        let columns = match schema {
            schema if schema.contains("MAP") => {
                vec![Column::of(Values::Bytes(vec![b"k".to_vec()]), &[2], &[0]), second]
            }
            schema if schema.contains("int32 b") => {
                vec![Column::of(Values::Bytes(vec![b"k".to_vec()]), &[2], &[]), Column { repetition: vec![], ..second }]
            }
            schema if schema.contains("bytes") => vec![Column::of(Values::Bytes(vec![b"k".to_vec()]), &[4], &[0])],
            _ => vec![column],
        };
        let bytes = file(schema, "{}", &[(vec![vec![1; 9]], columns)], &Style::default());
        let error = refused(&bytes, "x", Field::new("f"));
        assert!(error.contains(says), "{schema}: {error}");
        // All fields leave it out, and name it.
        let (_folder, path) = stored(&bytes);
        let all = fields(FieldChoice::All).open(&path).unwrap();
        assert!(all.fields().is_empty());
        assert!(all.notices().iter().any(|notice| notice.to_string() == "not read: the column x"));
    }
    // An image has its length before it, which bytes of one length lack.
    let column = vec![one(Values::Fixed(vec![vec![7; 12]]))];
    let schema = "required fixed_len_byte_array(12) x;";
    let bytes = file(schema, "{}", &[(vec![vec![1; 9]], column)], &Style::default());
    let error = refused(&bytes, "x", Field::new("f").kind(FieldKind::Image));
    assert!(error.contains("x has bytes of one length, which are no files of images"), "{error}");
    // Sounds have the columns of images.
    let sound = "optional group x { optional binary bytes; optional binary path (UTF8); }";
    let columns = ["b", "p"].map(|text| Column::of(Values::Bytes(vec![text.into()]), &[2], &[]));
    let features = r#"{"x": {"_type": "Audio"}, "image": {"_type": "Image"}}"#;
    let bytes = file(sound, features, &[(vec![vec![1; 9]], columns.to_vec())], &Style::default());
    let error = refused(&bytes, "x", Field::new("f"));
    assert!(error.contains("x has sounds or videos; x.bytes is their files"), "{error}");
    let (_folder, path) = stored(&bytes);
    let data = fields([("x.bytes", Field::new("sound"))]).open(&path).unwrap();
    assert_eq!(values(&data, 0), [FieldValue::from(&b"b"[..])]);
}

#[test]
fn settings_that_contradict_each_other_are_named() {
    let rows = [Row { image: Some(vec![1; 9]), label: Some(1), path: None }];
    let bytes = gpufeed_testing::parquet_files::file(&rows, &Style::default());
    let error = refused(&bytes, "label", Field::new("image").optional());
    assert!(
        error.contains("fields: image is the sample's own image, which has no kind and no default value"),
        "{error}"
    );
    let error = refused(&bytes, "label", Field::new("label").kind(FieldKind::Text));
    assert!(error.contains("label is the sample's own label"), "{error}");
    let (_folder, path) = stored(&bytes);
    let error = fields([("label", Field::new("label"))]).label_column("other").open(&path).unwrap_err().to_string();
    assert!(error.contains("the label is both the column other and the column label; name one of them"), "{error}");
    let twice = [("label", Field::new("a")), ("image.path", Field::new("a"))];
    let error = fields(twice).open(&path).unwrap_err().to_string();
    assert!(error.contains("two fields have the name \"a\""), "{error}");
}

#[test]
fn values_that_their_kind_does_not_have_fail_by_row_and_column() {
    let bytes = with("required binary x (UTF8);", Column::texts([&b"ok"[..], b"a\xffb", &[b'x'; 41]]), 3);
    let error = failed(&bytes, 1, Field::new("f"));
    assert!(error.contains("x.parquet, row 1, column x: it is no text in UTF-8, by its byte 1"), "{error}");
    let error = failed(&bytes, 0, Field::new("f").kind(FieldKind::Json));
    assert!(error.contains("row 0, column x: it is no JSON: expected value at line 1"), "{error}");
    let (_folder, path) = stored(&bytes);
    let data = fields([("x", Field::new("f"))]).max_field_bytes(40).open(&path).unwrap();
    let error = data.read(2, &mut Vec::new()).unwrap_err().to_string();
    assert!(error.ends_with("row 2, column x: it has more than 40 bytes; raise max_field_bytes"), "{error}");
    assert_eq!(values(&data, 0), [FieldValue::from("ok")]);

    let list = "optional group x (LIST) { repeated group list { optional float element; } }";
    let floats = Values::F32(vec![1.0, f32::NAN]);
    let nulls = with(list, Column::of(floats, &[3, 2, 3], &[0, 1, 0]), 2);
    let error = failed(&nulls, 0, Field::new("f"));
    assert!(error.contains("row 0, column x: it has nulls among its numbers; as JSON it can have them"), "{error}");
    let error = failed(&nulls, 1, Field::new("f").kind(FieldKind::Json));
    assert!(error.contains("row 1, column x: it has a float that is infinite or no number"), "{error}");
    let (_folder, path) = stored(&nulls);
    let data = fields([("x", Field::new("f").kind(FieldKind::Json))]).open(&path).unwrap();
    assert_eq!(values(&data, 0), [json("[1.0,null]")]);
    let data = fields([("x", Field::new("f").kind(FieldKind::Json))]).max_field_bytes(9).open(&path).unwrap();
    assert!(data.read(0, &mut Vec::new()).unwrap_err().to_string().contains("more than 9 bytes"));
    assert_eq!(values(&fields([("x", "f")]).open(&path).unwrap(), 1)[0].kind(), Some(FieldKind::Numbers));

    let ragged = "required group x (LIST) { repeated group list { required group element (LIST) { repeated group list {
        required int64 element; } } } }";
    let bytes = with(ragged, Column::of(Values::I64(vec![1, 2, 3]), &[2, 2, 2], &[0, 2, 1]), 1);
    let error = failed(&bytes, 0, Field::new("f"));
    assert!(error.contains("row 0, column x: its lists have several lengths, which an array does not have"), "{error}");
    let (_folder, path) = stored(&bytes);
    let data = fields([("x", Field::new("f").kind(FieldKind::Json))]).open(&path).unwrap();
    assert_eq!(values(&data, 0), [json("[[1,2],[3]]")]);
}

#[test]
fn lists_of_several_lengths_in_a_batch_are_the_batch_s_error() {
    let list = "optional group x (LIST) { repeated group list { required int32 element; } }";
    let column = Column::of(Values::I32(vec![1, 2, 3]), &[2, 2, 2], &[0, 0, 1]);
    let image = gpufeed_testing::encoded::encode(gpufeed_testing::encoded::picture(8, 8), image::ImageFormat::Png);
    let (_folder, path) = stored(&file(list, "{}", &[(vec![image; 2], vec![column])], &Style::default()));
    let data = fields([("x", Field::new("f"))]).open(&path).unwrap();
    let loader = DataLoader::builder(data).transform(Resize::new((4, 4))).batch_size(2).build(&Backend::Cpu).unwrap();
    let error = loader.epoch(0).unwrap().next().unwrap().unwrap_err().to_string();
    assert!(
        error.contains("\"f\" is int32 of shape [2] in sample 1 (")
            && error.contains("but int32 of shape [1] in sample 0 ("),
        "{error}"
    );
}

#[test]
fn columns_of_other_types_in_a_later_file_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let first = with("required int32 x;", Column::required(Values::I32(vec![1, 2])), 2);
    for (schema, values, says) in [
        ("required int64 x;", Values::I64(vec![1]), "x has int64, but in the first file of the set int32"),
        ("required int64 y;", Values::I64(vec![1]), "there is no column x; there are image, y"),
        ("required binary x (UTF8);", Values::Bytes(vec![vec![]]), "x has text, which cannot be read as numbers"),
    ] {
        fs::write(folder.path().join("a-0.parquet"), &first).unwrap();
        fs::write(folder.path().join("a-1.parquet"), with(schema, Column::required(values), 1)).unwrap();
        let data = fields([("x", Field::new("f"))]).open(folder.path().join("a-{0..1}.parquet")).unwrap();
        let own = |number: i32| numbers(NumberType::I32, &[], number.to_ne_bytes().to_vec());
        assert_eq!(crate::parquet_fields::values(&data, 1), [own(2)]);
        let error = data.read(2, &mut Vec::new()).unwrap_err().to_string();
        assert!(error.contains("a-1.parquet, its columns: ") && error.contains(says), "{error}");
    }
}

#[test]
fn encodings_of_fields_that_are_not_read_are_named_when_the_set_is_opened() {
    let rows = [Row { image: Some(vec![1; 9]), path: Some("a".into()), label: Some(1) }];
    let style = Style { path_encoding: Some(Encoding::DELTA_BYTE_ARRAY), ..Style::default() };
    let bytes = gpufeed_testing::parquet_files::file(&rows, &style);
    let error = refused(&bytes, "image.path", Field::new("path"));
    assert!(error.contains("row group 0, column image.path: its encoding is DELTA_BYTE_ARRAY"), "{error}");
}

#[test]
fn a_file_that_changes_under_the_reader_of_fields_is_an_error() {
    let groups: Vec<_> = (0..2).map(|_| (vec![vec![1; 9]; 2], vec![Column::texts(["a", "b"])])).collect();
    let bytes = file("required binary x (UTF8);", "{}", &groups, &Style::default());
    let (_folder, path) = stored(&bytes);
    let data = fields([("x", Field::new("f"))]).open(&path).unwrap();
    assert_eq!(values(&data, 0), [FieldValue::from("a")]);
    // The same file, longer by a byte in front of the footer's end: its images are where they were.
    let longer = [&bytes[..], &[0]].concat();
    fs::write(&path, longer).unwrap();
    let error = data.read(2, &mut Vec::new()).unwrap_err().to_string();
    assert!(error.contains("row group 1: the file was changed; open the data set again"), "{error}");
}

/// A hundred megabytes of one letter are some kilobytes of zstd.
#[test]
fn fields_that_take_many_times_the_file_s_bytes_are_refused() {
    let texts: Vec<_> = (0..1000).map(|_| "x".repeat(100_000)).collect();
    let style = Style { compression: Compression::ZSTD(Default::default()), rows_a_page: 10_000, ..Style::default() };
    let bytes =
        file("required binary x (UTF8);", "{}", &[(vec![vec![1; 9]; 1000], vec![Column::texts(&texts)])], &style);
    assert!(bytes.len() < 1 << 20, "{}", bytes.len());
    let (_folder, path) = stored(&bytes);
    let data = fields([("x", Field::new("f"))]).max_page_bytes(1 << 30).open(&path).unwrap();
    let error = data.read(0, &mut Vec::new()).unwrap_err().to_string();
    let says =
        "row group 0, column x: its values in the row group take more than 67108864 bytes of memory; write smaller";
    assert!(error.contains(says), "{error}");
}
