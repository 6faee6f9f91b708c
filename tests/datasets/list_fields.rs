//! Named fields of lists: columns and JSON keys, further images, and what cannot be a field.

use crate::notices::{refused, said};
use gpufeed::dataset::{FieldChoice, Numbers, OpenOptions, open_with};
use gpufeed::transforms::CenterCrop;
use gpufeed::{
    Backend, ColumnValues, DataLoader, Dataset, Field, FieldKind, FieldValue, ImageList, Label, OnError, Result,
    SampleData,
};
use gpufeed_testing::encoded::{encode, picture};
use image::ImageFormat as Codec;
use std::fs;
use tempfile::TempDir;

pub(crate) fn shown(value: &FieldValue<'_>) -> String {
    match value {
        FieldValue::Absent => "absent".into(),
        FieldValue::Image(SampleData::Encoded(bytes)) => format!("image {}", String::from_utf8_lossy(bytes)),
        FieldValue::Text(text) => format!("text {text}"),
        FieldValue::Json(text) => format!("json {text}"),
        FieldValue::Bytes(bytes) => format!("bytes {}", String::from_utf8_lossy(bytes)),
        FieldValue::Numbers(numbers) => format!("{} {:?}", numbers.number_type().name(), numbers.shape()),
        other => panic!("{other:?}"),
    }
}

/// The image, the label and the values of a sample.
pub(crate) fn read(data: &dyn Dataset, index: usize) -> Result<(String, Label, Vec<String>)> {
    let mut buffer = b"left over from another sample".to_vec();
    let sample = data.read(index, &mut buffer)?;
    let SampleData::Encoded(image) = sample.data else { panic!("no file") };
    Ok((String::from_utf8_lossy(image).into_owned(), sample.label, sample.fields.iter().map(shown).collect()))
}

pub(crate) fn values(data: &dyn Dataset, index: usize) -> Vec<String> {
    read(data, index).unwrap().2
}

pub(crate) fn names(data: &dyn Dataset) -> Vec<String> {
    data.fields().iter().map(Field::to_string).collect()
}

/// A folder with this list, and images `a.jpg`, `b.jpg`, `c.png` that hold their names.
fn folder(list: &str, text: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for image in ["a.jpg", "b.jpg", "c.png"] {
        fs::write(folder.path().join(image), image).unwrap();
    }
    fs::write(folder.path().join(list), text).unwrap();
    folder
}

fn open(list: &str, text: &str, fields: impl Into<FieldChoice>) -> Result<(ImageList, TempDir)> {
    let folder = folder(list, text);
    let data = ImageList::builder().fields(fields).open(folder.path().join(list))?;
    Ok((data, folder))
}

#[test]
fn columns_are_fields_by_name() {
    let text = "path,label,caption,score,pair\na.jpg,3, two dogs ,0.5,\"[1, 2]\"\nb.jpg,4,,1,\"[3,4]\"\n";
    let numbers = |name: &str| Field::new(name).kind(FieldKind::Numbers);
    let choice =
        vec![("score", numbers("score")), ("caption", Field::new("text").optional()), ("pair", numbers("pair"))];
    let (data, _folder) = open("list.csv", text, choice).unwrap();
    assert_eq!(names(&data), ["score (numbers)", "text (text, may be absent)", "pair (numbers)"]);
    let expected = ["float64 []", "text  two dogs ", "int64 [2]"].map(str::to_owned);
    assert_eq!(read(&data, 0).unwrap(), ("a.jpg".to_owned(), Label::Class(3), expected.into()));
    assert_eq!(values(&data, 1), ["float64 []", "absent", "int64 [2]"]);
    let mut buffer = Vec::new();
    let score = data.read(1, &mut buffer).unwrap().fields.swap_remove(0);
    assert_eq!(score, FieldValue::Numbers(Numbers::from(1.0)));
    assert_eq!(said(&data), ["labels are class numbers from the column label"]);
    // Without a kind a number is a text, and a loader warns of it.
    let (data, _folder) = open("list.csv", text, [("score", "score")]).unwrap();
    assert_eq!(values(&data, 0), ["text 0.5"]);
    let expected = "the column score has only numbers and is read as text: the kind of its field, \"numbers\" or \"text\", says \
                    what it is";
    assert_eq!(said(&data)[1..], ["not read: the columns caption, pair", expected]);
    assert!(data.notices()[2].is_warning() && !data.notices()[1].is_warning());
    // Without fields captions are a warning of their own.
    let (data, _folder) = open("list.csv", text, FieldChoice::None).unwrap();
    assert_eq!(said(&data)[1], "the captions in caption are not read: fields = {\"caption\": \"caption\"} reads them");
    assert_eq!(said(&data)[2], "not read: the columns score, pair");
    // A column without a name has its number.
    let (data, _folder) = open("list.csv", "a.jpg,3,one\nb.jpg,4,two\n", [("2", "caption")]).unwrap();
    assert_eq!((values(&data, 1), data.label(1)), (vec!["text two".to_owned()], Label::Class(4)));
}

#[test]
fn all_columns_but_path_and_label_are_fields() {
    let (data, _folder) =
        open("list.csv", ",path,label,x,caption\n0,a.jpg,3,7,\n1,b.jpg,4,8,b\n", FieldChoice::All).unwrap();
    assert_eq!(names(&data), ["x (text)", "caption (text, may be absent)"]);
    assert_eq!(
        (values(&data, 0), values(&data, 1)),
        (vec!["text 7".into(), "absent".into()], vec!["text 8".into(), "text b".into()])
    );
    assert_eq!(said(&data)[1..], ["not read: the column (without a name)"]);
    let lines = "{\"path\": \"a.jpg\", \"score\": 1, \"meta\": {\"b\": 1,  \"a\": 2}}\n{\"path\": \"b.jpg\", \"tags\": [\"x\"], \"score\": 0.5}\n";
    let (data, _folder) = open("list.jsonl", lines, FieldChoice::All).unwrap();
    assert_eq!(names(&data), ["score (numbers)", "meta (JSON, may be absent)", "tags (JSON, may be absent)"]);
    assert_eq!(values(&data, 0), ["float64 []", "json {\"b\": 1,  \"a\": 2}", "absent"]);
    assert_eq!(values(&data, 1), ["float64 []", "absent", "json [\"x\"]"]);
    // The only other column is a label where no fields are asked for.
    let (data, _folder) = open("list.csv", "path,title\na.jpg,one\n", FieldChoice::All).unwrap();
    assert_eq!(read(&data, 0).unwrap().1, Label::None);
    assert_eq!(names(&data), ["title (text)"]);
}

#[test]
fn json_keys_are_of_the_kind_of_their_values() {
    let lines = concat!(
        "{\"path\": \"a.jpg\", \"label\": 1, \"caption\": \"caf\\u00e9\", \"ok\": true, \"box\": [1, 2.5], \"id\": \"7\"}\n",
        "{\"path\": \"b.jpg\", \"label\": 2, \"caption\": null, \"ok\": false, \"box\": [3, 4], \"id\": 8}\n",
    );
    let choice = vec![
        ("caption", Field::new("caption").optional()),
        ("ok", Field::new("ok")),
        ("box", Field::new("box")),
        ("id", Field::new("id").kind(FieldKind::Numbers)),
    ];
    let (data, _folder) = open("list.jsonl", lines, choice).unwrap();
    assert_eq!(names(&data)[1..], ["ok (numbers)", "box (numbers)", "id (numbers)"]);
    assert_eq!(values(&data, 0), ["text café", "bool []", "float64 [2]", "int64 []"]);
    assert_eq!(values(&data, 1)[0], "absent");
    let error = refused(open("list.jsonl", lines, [("id", "id")]));
    assert!(error.contains("line 2: the column id is no text, 8, but texts in the lines before"), "{error}");
    let (data, _folder) = open("list.jsonl", lines, [("ok", "ok")]).unwrap();
    assert_eq!(said(&data)[1..], ["not read: the keys box, caption, id"]);
}

#[test]
fn several_columns_are_images() {
    // Blanks around a path are no part of it.
    let text = "left, right,depth,target\na.jpg, b.jpg,c.png ,b.jpg\nb.jpg,a.jpg, ,b.jpg\n";
    let images = |name: &str| Field::new(name).kind(FieldKind::Image);
    let choice = || vec![("left", "image".into()), ("right", images("right")), ("depth", images("depth").optional())];
    let (data, _folder) = open("list.csv", text, choice()).unwrap();
    assert_eq!(read(&data, 0).unwrap().0, "a.jpg");
    assert_eq!(
        (values(&data, 0), values(&data, 1)),
        (vec!["image b.jpg".into(), "image c.png".into()], vec!["image a.jpg".into(), "absent".into()])
    );
    let there = data.path(0).unwrap().with_file_name("b.jpg");
    fs::remove_file(&there).unwrap();
    assert!(read(&data, 0).unwrap_err().to_string().contains("b.jpg"));
    let small = ImageList::builder().fields(choice()).max_file_bytes(3);
    let folder = folder("list.csv", text);
    let small = small.open(folder.path().join("list.csv")).unwrap();
    assert!(read(&small, 0).unwrap_err().to_string().contains("max_file_bytes"));
}

#[test]
fn the_names_image_and_label_choose_columns() {
    let text = "x,file,path,species,y\n1,b.jpg,a.jpg,cat,2\n";
    let choice = [("file", "image"), ("y", "label"), ("path", "origin"), ("x", "label")];
    let (data, _folder) = open("list.csv", text, choice).unwrap();
    let (image, label, values) = read(&data, 0).unwrap();
    assert_eq!((&*image, label), ("b.jpg", Label::from(vec![2.0, 1.0])));
    assert_eq!(values, ["text a.jpg"]);
    let folder = folder("list.csv", text);
    let open = |builder: gpufeed::dataset::ImageListBuilder| builder.open(folder.path().join("list.csv"));
    let error = refused(open(ImageList::builder().path_column("path").fields([("file", "image")])));
    assert!(error.contains("another column of the image"), "{error}");
    let error = refused(open(ImageList::builder().label_columns(["x"]).fields([("y", "label")])));
    assert!(error.contains("another column of the label"), "{error}");
    let same = ImageList::builder().path_column("file").label_columns(["x"]);
    assert!(open(same.fields([("file", "image"), ("x", "label")])).is_ok());
}

#[test]
fn what_cannot_be_a_field_is_refused_with_its_line() {
    let error = |list: &str, text: &str, choice: FieldChoice| refused(open(list, text, choice));
    let caption = || FieldChoice::from([("caption", "caption")]);
    let text = "path,label,title,title\na.jpg,1,x,y\n";
    let says = error("list.csv", text, caption());
    assert!(says.contains("line 1: there is no column caption; there are path, label, title"), "{says}");
    assert!(error("list.csv", text, FieldChoice::All).contains("two columns are called title, title"));
    let says = error("list.jsonl", "{\"path\": \"a.jpg\", \"label\": 1, \"title\": 2}\n", caption());
    assert!(says.contains("no line has the key caption; there are title, label"), "{says}");
    let twice = "{\"path\": \"a.jpg\", \"caption\": \"x\", \"caption\": \"y\"}\n";
    assert!(error("list.jsonl", twice, caption()).contains("line 1: two columns are called caption"));
    let says = error("list.csv", "path,label,caption\na.jpg,1,\n", caption());
    assert!(says.contains("no line has a value in the column caption"), "{says}");
    let of_kind = |kind| FieldChoice::from([("caption", Field::new("caption").kind(kind))]);
    let words = "path,label,caption\na.jpg,1,7\nb.jpg,1,seven\n";
    let says = error("list.csv", words, of_kind(FieldKind::Numbers));
    assert!(says.contains("line 3: the column caption is no number: \"seven\""), "{says}");
    let says = error("list.csv", words, of_kind(FieldKind::Json));
    assert!(says.contains("line 3: the column caption is no JSON: expected value at line 1 column 1"), "{says}");
    let mut bytes = b"path,label,caption\na.jpg,1,caf".to_vec();
    bytes.extend(b"\xe9\n");
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("list.csv"), bytes).unwrap();
    let says = refused(ImageList::builder().fields(caption()).open(folder.path().join("list.csv")));
    assert!(says.contains("list.csv, line 2: ") && says.contains("UTF-8"), "{says}");
    let same = vec![("title", "x".into()), ("label", Field::new("x"))];
    let says = error("list.csv", "path,title,label\na.jpg,1,2\n", same.into());
    assert!(says.contains("two fields have the name \"x\""), "{says}");
}

#[test]
fn a_caption_of_many_bytes_is_refused() {
    let open = |bytes: usize, builder: gpufeed::dataset::ImageListBuilder| {
        let text = format!("path,caption\na.jpg,short\nb.jpg,{}\n", "x".repeat(bytes));
        let folder = folder("list.csv", &text);
        let data = builder.open(folder.path().join("list.csv"))?;
        Result::Ok((data, folder))
    };
    let captions = || ImageList::builder().fields([("caption", "caption")]);
    let error = refused(open(100 << 20, captions()));
    let says = "line 3: the column caption has 104857600 bytes, but at most 1048576 are read; raise max_field_bytes";
    assert!(error.contains(says), "{error}");
    assert!(open(1 << 20, captions()).is_ok());
    let (data, _folder) = open(2 << 20, captions().max_field_bytes(2 << 20)).unwrap();
    let mut buffer = Vec::new();
    assert!(matches!(&data.read(1, &mut buffer).unwrap().fields[0], FieldValue::Text(text) if text.len() == 2 << 20));
    // A list without fields reads no caption.
    assert_eq!(open(2 << 20, ImageList::builder()).unwrap().0.fields().len(), 0);
}

#[test]
fn the_metadata_of_hugging_face_are_the_fields_of_a_folder() {
    let lines = concat!(
        "{\"file_name\": \"a.jpg\", \"text\": \"a cat\", \"mask_file_name\": \"c.png\"}\n",
        "{\"file_name\": \"b.jpg\", \"text\": \"a dog\", \"mask_file_name\": \"c.png\"}\n",
    );
    for (list, text) in [
        ("metadata.jsonl", lines.to_owned()),
        ("metadata.csv", "file_name,text,mask_file_name\na.jpg,a cat,c.png\nb.jpg,a dog,c.png\n".to_owned()),
    ] {
        let folder = folder(list, &text);
        let data = open_with(folder.path(), OpenOptions::new().fields(FieldChoice::All)).unwrap().train;
        assert_eq!(names(&data), ["text (text)", "mask (images)"]);
        let expected = ["text a dog", "image c.png"].map(str::to_owned);
        assert_eq!(read(&data, 1).unwrap(), ("b.jpg".to_owned(), Label::None, expected.into()));
        assert_eq!(data.len(), 2);
        assert_eq!(said(&data).len(), 1);
        // Images that the list lacks are named, but not those that are values of fields.
        fs::write(folder.path().join("d.jpg"), "d").unwrap();
        let data = open_with(folder.path(), OpenOptions::new().fields(FieldChoice::All)).unwrap().train;
        assert_eq!(said(&data)[1..], [format!("1 image that {list} does not list is not read: d.jpg")]);
        let data = open_with(folder.path(), OpenOptions::new().fields([("text", "text")])).unwrap().train;
        let says = format!("2 images that {list} does not list are not read; the first is c.png");
        assert!(said(&data).contains(&says), "{:?}", said(&data));
        fs::remove_file(folder.path().join("d.jpg")).unwrap();
        let plain = gpufeed::dataset::open(folder.path()).unwrap().train;
        assert_eq!((plain.len(), plain.fields().len()), (3, 0));
        assert_eq!(said(&plain), [format!("1 list of the images is not read: {list}")]);
    }
}

#[test]
fn batches_have_the_columns_of_a_list() {
    let folder = tempfile::tempdir().unwrap();
    for number in 0..4 {
        fs::write(folder.path().join(format!("{number}.png")), encode(picture(8, 8), Codec::Png)).unwrap();
    }
    let text = "path,caption,score\n0.png,zero,0\n1.png,,0.5\n2.png,two,\n3.png,three,1\n";
    fs::write(folder.path().join("list.csv"), text).unwrap();
    let fallback = |name: &str, value: FieldValue<'static>| Field::new(name).default_value(value);
    let options = OpenOptions::new().fields(vec![
        ("caption", fallback("caption", FieldValue::from("none"))),
        ("score", fallback("score", FieldValue::from(-1.0)).kind(FieldKind::Numbers)),
    ]);
    let data = open_with(folder.path().join("list.csv"), options).unwrap().train;
    let loader = DataLoader::builder(data).transform(CenterCrop::new(4)).batch_size(4).build(&Backend::Cpu).unwrap();
    let batch = loader.epoch(0).unwrap().next().unwrap().unwrap();
    let captions = ["zero", "none", "two", "three"].map(|text| Some(text.to_owned()));
    assert_eq!(*batch.column("caption").unwrap().values(), ColumnValues::Text(captions.into()));
    let ColumnValues::Numbers { bytes, .. } = batch.column("score").unwrap().values() else { panic!("no numbers") };
    assert_eq!(*bytes, [0.0_f64, 0.5, -1.0, 1.0].map(f64::to_ne_bytes).concat());
}

#[test]
fn a_line_without_a_value_fails_or_has_none() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.png"), encode(picture(8, 8), Codec::Png)).unwrap();
    let list = folder.path().join("list.jsonl");
    let with = |rest: &str| format!("{{\"path\": \"a.png\"{rest}}}");
    let mut lines = vec![with(", \"text\": \"x\""); 8];
    (lines[2], lines[5]) = (with(""), with(", \"text\": null"));
    fs::write(&list, lines.join("\n")).unwrap();
    let column = |field: Field, on_error: OnError| -> Result<(ColumnValues, usize)> {
        let data = ImageList::builder().fields([("text", field)]).open(&list)?;
        let loader = DataLoader::builder(data).transform(CenterCrop::new(4)).batch_size(8).on_error(on_error);
        let batch = loader.build(&Backend::Cpu)?.epoch(0)?.next().unwrap()?;
        Ok((batch.column("text").unwrap().values().clone(), batch.failures().len()))
    };
    let text = || Field::new("text");
    let mut expected = vec![Some("x".to_owned()); 8];
    let (found, failures) = column(text(), OnError::Skip { max_share: 1.0 }).unwrap();
    assert_eq!(found, ColumnValues::Text(expected.clone()));
    assert!(failures >= 2, "{failures}");
    (expected[2], expected[5]) = (None, None);
    assert_eq!(column(text().optional(), OnError::Fail).unwrap(), (ColumnValues::Text(expected), 0));
    assert!(refused(column(text(), OnError::Fail)).contains("the sample has no \"text\""));
}

#[test]
fn a_column_without_any_value_may_be_absent() {
    let lines = "{\"path\": \"a.jpg\", \"caption\": null}\n{\"path\": \"b.jpg\", \"caption\": null}\n";
    let (data, _folder) = open("list.jsonl", lines, [("caption", Field::new("caption").optional())]).unwrap();
    assert_eq!(
        (names(&data), values(&data, 1)),
        (vec!["caption (text, may be absent)".to_owned()], vec!["absent".to_owned()])
    );
    let error = refused(open("list.jsonl", lines, [("caption", "caption")]));
    assert!(error.contains("no line has a value in the column caption"), "{error}");
    let cells = "path,label,caption\na.jpg,1,\nb.jpg,2,\n";
    let (data, _folder) = open("list.csv", cells, [("caption", Field::new("caption").optional())]).unwrap();
    assert_eq!(values(&data, 0), ["absent"]);
    // With all keys as fields, one that never has a value is none.
    let (data, _folder) = open("list.jsonl", lines, FieldChoice::All).unwrap();
    assert!(names(&data).is_empty());
}
