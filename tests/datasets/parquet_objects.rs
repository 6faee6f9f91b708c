//! Columns of Parquet files that are read as objects: a struct of lists, as Hugging Face's sets of boxes have, a list of structs,
//! and texts that are JSON.

use crate::parquet::{in_memory, stored};
use gpufeed::dataset::{Field, FieldKind, FieldValue, Parquet, ParquetBuilder};
use gpufeed::targets::{BoxFormat, ObjectValues, Objects};
use gpufeed::transforms::{RandomHorizontalFlip, Resize};
use gpufeed::{Backend, DataLoader, Dataset};
use gpufeed_testing::parquet_columns::{Column, Values, file};
use gpufeed_testing::parquet_files::Style;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

/// A struct of lists: of cppe-5, with a list of texts and a number of the image beside them.
const STRUCT: &str = "optional group objects {
    optional group id (LIST) { repeated group list { optional int64 element; } }
    optional group bbox (LIST) { repeated group list { optional group element (LIST) {
        repeated group list { optional float element; } } } }
    optional group category (LIST) { repeated group list { optional int64 element; } }
    optional group note (LIST) { repeated group list { optional binary element (UTF8); } }
    optional int64 count; }";

/// A list of structs, with boxes of 64 bits.
const LIST: &str = "optional group objects (LIST) { repeated group list { optional group element {
    optional group bbox (LIST) { repeated group list { optional double element; } }
    optional int64 category; optional binary note (UTF8); } } }";

/// The features of a struct of lists, as `datasets` wrote them until version 3, and of a list of structs, as it writes them.
const SEQUENCE: &str = r#"{"objects": {"_type": "Sequence", "feature": {"id": {"dtype": "int64", "_type": "Value"},
    "category": {"names": ["Coverall", "Mask"], "_type": "ClassLabel"}}}}"#;
const LISTED: &str = r#"{"objects": {"_type": "List", "feature": {"category": {"names": ["Coverall", "Mask"], "_type": "ClassLabel"}}}}"#;

/// A whole number that no f64 holds.
const LARGE: i64 = (1 << 53) + 1;

/// The list of a row: `None` where the struct is null, `Some(None)` where the list is.
type List<T> = Option<Option<Vec<T>>>;

/// The boxes of a row, and their classes.
type Row = (List<[f32; 4]>, List<i64>);

/// A list of numbers in the struct.
fn lists(rows: &[List<i64>]) -> Column {
    let (mut numbers, mut definition, mut repetition) = (Vec::new(), Vec::new(), Vec::new());
    for row in rows {
        let list = row.iter().flatten().flatten();
        let before = numbers.len();
        numbers.extend(list);
        let count = numbers.len() - before;
        definition.extend(vec![4; count]);
        repetition.extend((0..count).map(|number| i16::from(number > 0)));
        if count == 0 {
            definition.push(i16::from(row.is_some()) + i16::from(row.as_ref().is_some_and(Option::is_some)));
            repetition.push(0);
        }
    }
    Column::of(Values::I64(numbers), &definition, &repetition)
}

/// The boxes of the rows in the struct; of a list of structs, the boxes of each of these.
fn boxes(rows: &[List<[f32; 4]>], values: impl Fn(Vec<f32>) -> Values) -> Column {
    let (mut numbers, mut definition, mut repetition) = (Vec::new(), Vec::new(), Vec::new());
    for row in rows {
        let list = row.clone().flatten().unwrap_or_default();
        for (number, each) in list.iter().enumerate() {
            numbers.extend(each);
            definition.extend([6; 4]);
            repetition.extend([i16::from(number > 0), 2, 2, 2]);
        }
        if list.is_empty() {
            definition.push(i16::from(row.is_some()) + i16::from(row.as_ref().is_some_and(Option::is_some)));
            repetition.push(0);
        }
    }
    Column::of(values(numbers), &definition, &repetition)
}

const BOXES: [[f32; 4]; 2] = [[302.1, 109.0, 73.0, 52.25], [0.1, 1e-7, 3.0, 4.0]];

fn pictures(count: usize) -> Vec<Vec<u8>> {
    let picture = gpufeed_testing::encoded::picture(640, 480);
    vec![gpufeed_testing::encoded::encode(picture, image::ImageFormat::Png); count]
}

/// A file of a struct of lists, by the boxes and classes of its rows.
fn file_of(rows: &[Row], features: &str) -> Vec<u8> {
    let of = |make: fn(&Row) -> List<i64>| lists(&rows.iter().map(make).collect::<Vec<_>>());
    let ids = of(|(boxes, _)| boxes.as_ref().map(|list| list.as_ref().map(|list| vec![LARGE; list.len()])));
    let of_boxes: Vec<_> = rows.iter().map(|(boxes, _)| boxes.clone()).collect();
    let is_there: Vec<i16> = rows.iter().map(|(boxes, _)| i16::from(boxes.is_some())).collect();
    let columns = vec![
        ids,
        boxes(&of_boxes, Values::F32),
        of(|(_, category)| category.clone()),
        Column::of(Values::Bytes(Vec::new()), &is_there, &vec![0; rows.len()]),
        Column::of(Values::I64(Vec::new()), &is_there, &[]),
    ];
    file(STRUCT, features, &[(pictures(rows.len()), columns)], &Style::default())
}

fn objects_field() -> [(&'static str, Field); 1] {
    [("objects", Field::new("objects").kind(FieldKind::Objects))]
}

fn builder() -> ParquetBuilder {
    in_memory().fields(objects_field())
}

fn read(data: &Parquet, index: usize) -> gpufeed::Result<Option<Objects>> {
    let mut buffer = Vec::new();
    let sample = data.read(index, &mut buffer)?;
    Ok(match &sample.fields[0] {
        FieldValue::Objects(objects) => Some(objects.clone().into_owned()),
        FieldValue::Absent => None,
        other => panic!("{other:?}"),
    })
}

fn some<T: Clone>(list: &[T]) -> List<T> {
    Some(Some(list.to_vec()))
}

#[test]
fn objects_are_those_that_datasets_reads() {
    compare(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/parquet"));
    // Files of the installed `datasets`, which scripts/test-parquet.sh writes.
    if let Some(folder) = std::env::var_os("GPUFEED_PARQUET_FILES") {
        compare(Path::new(&folder));
    }
}

fn compare(folder: &Path) {
    let all: Value = serde_json::from_slice(&fs::read(folder.join("objects.json")).unwrap()).unwrap();
    assert_eq!(all.as_object().unwrap().len(), 2);
    for (name, rows) in all.as_object().unwrap() {
        let data = builder().open(folder.join(name)).unwrap();
        assert_eq!((data.classes(), data.len()), (&["cat", "dog", "wug"].map(str::to_owned)[..], 4), "{name}");
        for (index, row) in rows.as_array().unwrap().iter().enumerate() {
            // A list of structs is one in a struct of lists.
            let column = |part: &str| match row {
                Value::Array(list) => list.iter().map(|each| each[part].clone()).collect::<Vec<_>>(),
                row => row[part].as_array().unwrap().clone(),
            };
            let objects = read(&data, index).unwrap().unwrap();
            let boxes: Vec<Value> = objects.boxes().iter().map(|each| json!(each)).collect();
            let whole = |name: &str| match objects.values(name) {
                Some(ObjectValues::Integers(values)) => values.iter().map(|value| json!(value)).collect::<Vec<_>>(),
                other => panic!("{other:?}"),
            };
            assert_eq!((boxes, objects.format()), (column("bbox"), BoxFormat::Xywh), "{name}: row {index}");
            if !objects.is_empty() {
                assert_eq!((whole("labels"), whole("id")), (column("category"), column("id")), "{name}: row {index}");
                let areas = column("area").iter().map(|area| area.as_i64().unwrap() as f32).collect();
                assert_eq!(objects.values("area"), Some(&ObjectValues::Floats(areas)), "{name}: row {index}");
            }
        }
    }
}

#[test]
fn a_struct_of_lists_is_objects() {
    let rows = [(some(&BOXES), some(&[1, 0])), (some(&[]), some(&[])), (some(&BOXES[..1]), some(&[-1]))];
    let (_folder, path) = stored(&file_of(&rows, SEQUENCE));
    let data = builder().open(&path).unwrap();
    assert_eq!(data.fields()[0].to_string(), "objects (objects)");
    assert_eq!(data.classes(), ["Coverall", "Mask"]);
    let unread: Vec<_> = data.notices().iter().map(ToString::to_string).filter(|text| text.contains("read")).collect();
    assert_eq!(unread, ["not read: the columns objects.note, objects.count"]);
    let objects = read(&data, 0).unwrap().unwrap();
    assert_eq!((objects.boxes(), objects.format()), (&BOXES[..], BoxFormat::Xywh));
    assert_eq!(objects.labels(), Some(&[1, 0][..]));
    assert_eq!(objects.values("id"), Some(&ObjectValues::Integers(vec![LARGE; 2])), "no float holds this number");
    let empty = read(&data, 1).unwrap().unwrap();
    assert_eq!((empty.len(), empty.has_boxes(), empty.labels()), (0, true, Some(&[][..])));
    assert_eq!(read(&data, 2).unwrap().unwrap().labels(), Some(&[-1][..]));

    // A batch has them moved.
    let loader = DataLoader::builder(builder().open(&path).unwrap())
        .transform(Resize::new((240, 320)))
        .transform(RandomHorizontalFlip::new(1.0))
        .batch_size(3);
    let batch = loader.build(&Backend::Cpu).unwrap().epoch(0).unwrap().next().unwrap().unwrap();
    let moved = batch.targets(0).unwrap();
    let [left, _, width, _] = moved.boxes()[0];
    assert!((left - (320.0 - (302.1 + 73.0) / 2.0)).abs() < 1e-4 && (width - 36.5).abs() < 1e-4, "{moved:?}");
    assert_eq!((moved.labels(), batch.targets(1).unwrap().len()), (Some(&[1, 0][..]), 0));
}

#[test]
fn a_list_of_structs_is_objects() {
    let wide = |numbers: Vec<f32>| Values::F64(numbers.into_iter().map(f64::from).collect());
    let columns = vec![
        // Both are null in the last row.
        boxes(&[some(&BOXES), some(&BOXES[..1]), None], wide),
        Column::of(Values::I64(vec![1, 0, 1]), &[4, 4, 4, 0], &[0, 1, 0, 0]),
        Column::of(Values::Bytes(vec![b"x".to_vec()]), &[4, 3, 3, 0], &[0, 1, 0, 0]),
    ];
    let (_folder, path) = stored(&file(LIST, LISTED, &[(pictures(3), columns)], &Style::default()));
    let data = builder().open(&path).unwrap();
    assert_eq!(data.classes(), ["Coverall", "Mask"]);
    let unread: Vec<_> = data.notices().iter().map(ToString::to_string).filter(|text| text.contains("read")).collect();
    assert_eq!(unread, ["not read: the column objects.note"]);
    let objects = read(&data, 0).unwrap().unwrap();
    assert_eq!((objects.boxes(), objects.labels()), (&BOXES[..], Some(&[1, 0][..])));
    assert_eq!(read(&data, 1).unwrap().unwrap().len(), 1);
    // A null is an absent value.
    assert_eq!(read(&data, 2).unwrap(), None);
    let loader = |field: Field| {
        let data = in_memory().fields([("objects", field.kind(FieldKind::Objects))]).open(&path).unwrap();
        let loader = DataLoader::builder(data).transform(Resize::new((4, 4))).batch_size(3);
        let loader = loader.on_error(gpufeed::OnError::Fail).build(&Backend::Cpu).unwrap();
        loader.epoch(0).unwrap().next().unwrap().map(|batch| batch.targets(2).cloned())
    };
    let error = loader(Field::new("objects")).unwrap_err().to_string();
    assert!(error.contains("row 2") && error.contains("has no \"objects\""), "{error}");
    assert_eq!(loader(Field::new("objects").optional()).unwrap().map(|objects| objects.len()), Some(0));
}

#[test]
fn what_is_wrong_with_a_row_is_its_error() {
    let rows = [
        (some(&BOXES), some(&[1])),
        (some(&BOXES), Some(None)),
        (Some(None), some(&[])),
        (some(&[[f32::NAN; 4]]), some(&[1])),
        (some(&BOXES), some(&[1, 1])),
    ];
    let (_folder, path) = stored(&file_of(&rows, "{}"));
    let data = builder().open(&path).unwrap();
    assert!(data.classes().is_empty());
    for (row, says) in [
        (0, "\"labels\" has 1 values, but the image has 2 objects"),
        (1, "has null as \"category\" of its 2 objects"),
        (2, "has null as \"bbox\"; a list of boxes works"),
        (3, "it has a float that is infinite or no number"),
    ] {
        let error = read(&data, row).unwrap_err().to_string();
        assert!(error.contains(says) && error.contains(&format!("row {row}, column objects")), "{error}");
    }
    assert_eq!(read(&data, 4).unwrap().unwrap().len(), 2);
    // A value of more bytes than are read.
    let small = builder().max_field_bytes(20).open(&path).unwrap();
    assert!(read(&small, 4).unwrap_err().to_string().contains("it has more than 20 bytes"));
}

#[test]
fn columns_that_are_no_objects_are_refused() {
    let refused = |schema: &str, column: Column| {
        let (_folder, path) = stored(&file(schema, "{}", &[(pictures(1), vec![column])], &Style::default()));
        builder().open(&path).unwrap_err().to_string()
    };
    let one = |values, definition: &[i16]| Column::of(values, definition, &[0]);
    let error = refused(
        "optional group objects { optional group category (LIST) { repeated group list { optional int64 element; } } }",
        one(Values::I64(vec![1]), &[4]),
    );
    assert!(error.contains("objects has neither boxes nor keypoints; its parts are category"), "{error}");
    let error = refused(
        "optional group objects (LIST) { repeated group list { optional binary element (UTF8); } }",
        one(Values::Bytes(vec![b"x".to_vec()]), &[3]),
    );
    assert!(error.contains("a struct of lists, a list of structs, and texts work"), "{error}");
    let error = refused(
        "optional group objects (LIST) { repeated group list { optional float element; } }",
        one(Values::F32(vec![1.0]), &[3]),
    );
    assert!(error.contains("objects has lists of float32, which cannot be read as objects"), "{error}");
    let error = refused(
        "optional group objects { optional group bbox (LIST) { repeated group list { optional binary element; } } }",
        one(Values::Bytes(vec![b"x".to_vec()]), &[4]),
    );
    assert!(error.contains("objects.bbox has bytes, which JSON does not have"), "{error}");
}

#[test]
fn texts_that_are_json_are_objects() {
    let texts = Column::texts([r#"{"boxes": [[1, 2, 3, 4]], "labels": [7]}"#, r#"[{"bbox": [1, 2, 3, 4]}]"#, "{"]);
    for kind in ["(UTF8)", "(JSON)", ""] {
        let schema = format!("required binary objects {kind};");
        let (_folder, path) = stored(&file(&schema, "{}", &[(pictures(3), vec![texts.clone()])], &Style::default()));
        let data = builder().open(&path).unwrap();
        let objects = read(&data, 0).unwrap().unwrap();
        assert_eq!((objects.boxes(), objects.labels()), (&[[1.0, 2.0, 3.0, 4.0]][..], Some(&[7][..])));
        assert_eq!(read(&data, 1).unwrap().unwrap().format(), BoxFormat::Xywh);
        assert!(read(&data, 2).unwrap_err().to_string().contains("is no JSON"), "{kind}");
    }
}

#[test]
fn names_of_classes_are_those_of_the_objects_where_images_have_no_labels() {
    let rows = [(some(&BOXES), some(&[1, 0]))];
    let (folder, path) = stored(&file_of(&rows, SEQUENCE));
    // Without the kind objects the column is JSON, as before, and has no classes.
    let plain = in_memory().fields([("objects", "objects")]).open(&path).unwrap();
    assert_eq!((plain.fields()[0].values(), plain.classes().len()), (Some(FieldKind::Json), 0));
    let named = builder().classes(["a", "b", "c"]).open(&path).unwrap();
    assert_eq!(named.classes(), ["a", "b", "c"]);

    // A file with other names is an error of its samples, unless a setting names the classes.
    let other = folder.path().join("y.parquet");
    fs::write(&other, file_of(&rows, &SEQUENCE.replace("Mask", "Glove"))).unwrap();
    let both = || [path.clone(), other.clone()];
    let data = builder().open_list(both()).unwrap();
    assert!(read(&data, 0).is_ok());
    let error = read(&data, 1).unwrap_err().to_string();
    assert!(error.contains("y.parquet") && error.contains("class 1 is called \"Glove\" here"), "{error}");
    let data = builder().classes(["a", "b"]).open_list(both()).unwrap();
    assert!(read(&data, 1).is_ok());

    // Names that cannot be read are a warning.
    fs::write(&other, file_of(&rows, &SEQUENCE.replace("\"Mask\"", "3"))).unwrap();
    let data = builder().open(&other).unwrap();
    let said: Vec<_> = data.notices().iter().map(ToString::to_string).collect();
    assert!(
        said.iter().any(|text| text.contains("the names of the classes of objects.category are no list")),
        "{said:?}"
    );
    assert!(data.classes().is_empty());
}

#[test]
fn a_set_with_labels_has_their_classes() {
    let columns =
        vec![Column::required(Values::I64(vec![1])), boxes(&[some(&BOXES)], Values::F32), lists(&[some(&[1, 0])])];
    let schema = "required int64 label; optional group objects {
        optional group bbox (LIST) { repeated group list { optional group element (LIST) {
            repeated group list { optional float element; } } } }
        optional group category (LIST) { repeated group list { optional int64 element; } } }";
    let category = r#"{"_type": "Sequence", "feature": {"category": {"names": ["c", "d"], "_type": "ClassLabel"}}}"#;
    for (label, classes) in [(r#"{"names": ["a", "b"], "_type": "ClassLabel"}"#, vec!["a", "b"]), ("{}", vec![])] {
        let features = format!(r#"{{"label": {label}, "objects": {category}}}"#);
        let group = (pictures(1), columns.clone());
        let (_folder, path) = stored(&file(schema, &features, &[group], &Style::default()));
        assert_eq!(builder().open(&path).unwrap().classes(), classes);
    }
}
