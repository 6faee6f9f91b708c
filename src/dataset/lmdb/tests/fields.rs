//! Tests of fields: values under numbered keys.

use super::*;
use crate::dataset::{FieldChoice, FieldKind};

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n not all of it";

/// An LMDB of numbered samples: for each name the values of the samples from the first on.
fn numbered(samples: usize, sources: &[(&str, &[&[u8]])]) -> TempDir {
    let keys: Vec<(String, &[u8])> = sources
        .iter()
        .flat_map(|(source, values)| {
            (1..).zip(*values).map(move |(number, value)| (numbered_key(source, number), *value))
        })
        .collect();
    let count = samples.to_string();
    let mut pairs: Vec<(&[u8], &[u8])> = keys.iter().map(|(key, value)| (key.as_bytes(), *value)).collect();
    pairs.push((COUNT, count.as_bytes()));
    stored(&pairs)
}

fn open(folder: &TempDir, fields: impl Into<FieldChoice>) -> crate::error::Result<Lmdb> {
    Lmdb::builder().fields(fields).open(folder.path())
}

fn said(data: &Lmdb) -> Vec<String> {
    data.notices().iter().map(Notice::to_string).collect()
}

fn values(data: &Lmdb, index: usize) -> Vec<String> {
    let shown = |value: &FieldValue<'_>| match value {
        FieldValue::Image(SampleData::Encoded(bytes)) => format!("image of {}", bytes.len()),
        FieldValue::Numbers(numbers) => format!("{} {:?}", numbers.number_type().name(), numbers.bytes()),
        FieldValue::Text(text) => text.to_string(),
        other => other.what(),
    };
    let mut buffer = b"left over".to_vec();
    let sample = data.read(index, &mut buffer).unwrap();
    assert!(matches!(sample.data, SampleData::Encoded(JPEG)), "the image comes first in the buffer");
    sample.fields.iter().map(shown).collect()
}

#[test]
fn values_are_read_by_the_names_of_their_keys() {
    let folder = numbered(
        2,
        &[
            ("image", &[JPEG, JPEG]),
            ("label", &[b"1", b"0"]),
            ("caption", &["zwölf".as_bytes(), b"two"]),
            ("depth", &[PNG]),
            ("score", &[b"0.5", b"1"]),
            ("image-2", &[PNG, PNG]),
        ],
    );
    let choice = vec![
        ("caption", Field::new("text")),
        ("depth", Field::new("depth").optional()),
        ("score", Field::new("score").kind(FieldKind::Numbers)),
        ("image-2", Field::new("second")),
    ];
    let data = open(&folder, choice).unwrap();
    let shown: Vec<_> = data.fields().iter().map(Field::to_string).collect();
    assert_eq!(shown, ["text (text)", "depth (images, may be absent)", "score (numbers)", "second (images)"]);
    let half = format!("float64 {:?}", 0.5_f64.to_ne_bytes());
    let one = format!("float64 {:?}", 1.0_f64.to_ne_bytes());
    let image = format!("image of {}", PNG.len());
    assert_eq!(values(&data, 0), ["zwölf", &image, &half, &image]);
    assert_eq!(values(&data, 1), ["two", "absent", &one, &image]);
    assert_eq!(data.label(0), Some(Label::Class(1)));
    assert_eq!(said(&data), ["labels are class numbers from the keys label-000000001 and so on"]);

    // Notices name the keys that no field reads. Captions are a warning.
    let plain = Lmdb::open(folder.path()).unwrap();
    let expected = [
        "labels are class numbers from the keys label-000000001 and so on",
        "the captions in caption are not read: fields = {\"caption\": \"caption\"} reads them",
        "not read: the keys depth, image-2, score",
    ];
    assert_eq!(said(&plain), expected);
    assert!(plain.fields().is_empty() && values(&plain, 0).is_empty());

    let all = open(&folder, FieldChoice::All).unwrap();
    let shown: Vec<_> = all.fields().iter().map(Field::to_string).collect();
    let expected = [
        "caption (text, may be absent)",
        "depth (images, may be absent)",
        "image-2 (images, may be absent)",
        "score (text, may be absent)",
    ];
    assert_eq!(shown, expected);
}

#[test]
fn the_words_of_a_set_are_a_field() {
    let folder = numbered(2, &[("image", &[JPEG, JPEG]), ("label", &[b"2024", b"cafe"])]);
    let data = open(&folder, [("label", "text")]).unwrap();
    assert_eq!((values(&data, 0), data.label(0)), (vec!["2024".to_owned()], Some(Label::None)));
    assert_eq!(said(&data), ["labels are none"]);
    let without = Lmdb::builder().allow_unlabelled(true).open(folder.path()).unwrap();
    assert!(
        said(&without)[0].ends_with("are words, which fields = {\"label\": \"text\"} reads"),
        "{:?}",
        said(&without)
    );
    // Another field lets samples lack a label, and lets no word pass for none.
    let mixed = numbered(2, &[("image", &[JPEG, JPEG]), ("label", &[b"7", b"cafe"]), ("id", &[b"1", b"2"])]);
    let ids = open(&mixed, [("id", "id")]).unwrap_err().to_string();
    assert!(ids.contains("the label label-000000002, \"cafe\", is neither"), "{ids}");
    let lacking = numbered(3, &[("image", &[JPEG; 3]), ("label", &[b"7"]), ("id", &[b"1", b"2", b"3"])]);
    let ids = open(&lacking, [("id", "id")]).unwrap();
    assert_eq!((ids.label(0), ids.label(1)), (Some(Label::Class(7)), Some(Label::None)));
    // Another image and another label by their names.
    let folder = numbered(1, &[("image", &[PNG]), ("lq", &[JPEG]), ("class", &[b"3"])]);
    let data = open(&folder, [("lq", "image"), ("class", "label"), ("image", "target")]).unwrap();
    assert_eq!((values(&data, 0).len(), data.label(0)), (1, Some(Label::Class(3))));
    assert!(data.name(0).ends_with(": lq-000000001"), "{}", data.name(0));
    assert_eq!(said(&data), ["labels are class numbers from the keys class-000000001 and so on"]);
}

#[test]
fn fields_that_are_not_there_and_values_that_are_none() {
    let folder = numbered(
        2,
        &[
            ("image", &[JPEG, JPEG]),
            ("meta.json", &[b"{}", b"{"]),
            ("id", &[b"7", b"x"]),
            ("caption", &[b"ok", b"\xff"]),
        ],
    );
    let refused = |choice: Vec<(&str, Field)>| open(&folder, choice).unwrap_err().to_string();
    let error = refused(vec![("title", "title".into())]);
    let expected = "no sample has a key such as \"title-000000001\" for \"title\"; the keys of samples are such as \
                    caption-000000001, id-000000001, image-000000001, meta.json-000000001";
    assert!(error.contains(expected), "{error}");
    assert!(refused(vec![("id", Field::new("id").optional())]).contains("give a default value"));
    let fallback = Field::new("id").default_value(FieldValue::from(0.5));
    assert!(refused(vec![("id", fallback)]).contains("is no int64"));
    let mut buffer = Vec::new();
    for (source, says) in [
        ("meta.json", "the field \"x\", meta.json-000000002, is no JSON"),
        ("id", "the field \"x\", id-000000002, is no number: \"x\""),
        ("caption", "the field \"x\", caption-000000002, is not UTF-8 from byte 0 on"),
    ] {
        let data = open(&folder, [(source, "x")]).unwrap();
        assert!(data.read(0, &mut buffer).is_ok());
        let error = data.read(1, &mut buffer).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
    let small = Lmdb::builder().fields([("meta.json", "x")]).max_field_bytes(1).open(folder.path()).unwrap();
    let error = small.read(0, &mut buffer).unwrap_err().to_string();
    assert!(error.contains("meta.json-000000001, has 2 bytes, but at most 1 are read; raise"), "{error}");
    assert!(small.read(1, &mut buffer).is_err(), "JSON that does not parse");
    let listed = stored(&[(b"a", JPEG)]);
    let error = open(&listed, [("caption", "caption")]).unwrap_err().to_string();
    assert!(error.contains("values under numbered keys, such as caption-000000001"), "{error}");
}

#[test]
fn a_writer_takes_values_beside_an_image() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = LmdbWriter::open(folder.path()).unwrap();
    for (values, says) in [
        (&[("", &b"x"[..])][..], "is empty"),
        (&[("image", b"x")], "the sample's own image"),
        (&[("a", b"x"), ("a", b"y")], "two values have the name \"a\""),
        (&[(&*"a".repeat(491), b"x")], "has 491 bytes"),
    ] {
        let error = writer.put_fields(JPEG, &Label::None, values).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
    assert!(writer.is_empty());
    let longest = "b".repeat(490);
    writer.put_fields(JPEG, &Label::Class(1), &[("caption", b"two dogs"), (&longest, b"x")]).unwrap();
    writer.put(JPEG, &Label::Class(2)).unwrap();
    writer.finish(&[]).unwrap();
    let choice = vec![("caption", Field::new("caption").optional()), (&*longest, Field::new("b").optional())];
    let data = open(&folder, choice).unwrap();
    assert_eq!((values(&data, 0), data.label(1)), (vec!["two dogs".to_owned(), "x".to_owned()], Some(Label::Class(2))));
    assert_eq!(values(&data, 1), ["absent"; 2]);
}

#[test]
fn sources_are_found_among_many_samples() {
    let values = vec![JPEG; 2000];
    let texts = vec![&b"x"[..]; 2000];
    let some: Vec<_> = texts[..300].to_vec();
    let folder = numbered(1500, &[("image", &values), ("a", &some), ("image-7", &texts), ("z", &texts[..1])]);
    let data = open(&folder, FieldChoice::All).unwrap();
    let mut names: Vec<_> = data.fields().iter().map(Field::name).collect();
    names.sort_unstable();
    assert_eq!(names, ["a", "image-7", "z"]);
    assert_eq!(said(&data)[1], "500 images beyond the 1500 of num-samples are not read; the first is image-000001501");
}
