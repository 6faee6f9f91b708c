//! Named fields of tar shards: captions, JSON, numbers and further images beside the image, and what cannot be one.

use crate::notices::{keys, refused, said, shards};
use crate::shard::{archive, header};
use gpufeed::dataset::{FieldChoice, NumberType, ShardIndexes, TarShards, TarShardsBuilder};
use gpufeed::transforms::CenterCrop;
use gpufeed::{
    Backend, ColumnValues, DataLoader, Dataset, Field, FieldKind, FieldValue, Label, OnError, Result, SampleData,
};
use gpufeed_testing::encoded::{encode, picture};
use image::ImageFormat as Codec;
use std::fs::{self, File};
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;
use tempfile::TempDir;

fn shown(value: &FieldValue<'_>) -> String {
    match value {
        FieldValue::Absent => "absent".into(),
        FieldValue::Image(SampleData::Encoded(bytes)) => format!("image {}", String::from_utf8_lossy(bytes)),
        FieldValue::Text(text) => format!("text {text}"),
        FieldValue::Json(text) => format!("json {text}"),
        FieldValue::Bytes(bytes) => format!("bytes {bytes:?}"),
        FieldValue::Numbers(numbers) => format!("{} {:?}", numbers.number_type().name(), numbers.shape()),
        other => panic!("{other:?}"),
    }
}

/// The image, the label and the values of a sample.
pub(crate) fn read(data: &TarShards, index: usize) -> Result<(String, Label, Vec<String>)> {
    let mut buffer = Vec::new();
    let sample = data.read(index, &mut buffer)?;
    let SampleData::Encoded(image) = sample.data else { panic!("no file") };
    let values = sample.fields.iter().map(shown).collect();
    Ok((String::from_utf8_lossy(image).into_owned(), sample.label, values))
}

pub(crate) fn values(data: &TarShards, index: usize) -> Vec<String> {
    read(data, index).unwrap().2
}

pub(crate) fn names(data: &TarShards) -> Vec<String> {
    data.fields().iter().map(Field::to_string).collect()
}

pub(crate) fn in_memory(fields: impl Into<FieldChoice>) -> TarShardsBuilder {
    TarShards::builder().indexes(ShardIndexes::Memory).fields(fields)
}

fn open(files: &[&[(&str, &str)]], fields: impl Into<FieldChoice>) -> Result<TarShards> {
    in_memory(fields).open(shards(files).path())
}

/// The members of a sample as img2dataset writes them: a caption, and JSON without a label.
pub(crate) const LAION: [(&str, &str); 6] = [
    ("000.jpg", "first"),
    ("000.json", "{\"url\": 1}"),
    ("000.txt", "a cat"),
    ("001.jpg", "second"),
    ("001.json", "{\"url\": 2}"),
    ("001.txt", "1984"),
];

#[test]
fn shards_of_captions_have_fields_and_no_labels() {
    let folder = shards(&[&LAION]);
    assert!(refused(TarShards::open(folder.path())).contains("sample 000 has no label"));
    let choice = || FieldChoice::from([("jpg;png;webp", "image"), ("TXT", "caption"), (".json", "meta")]);
    for _ in 0..2 {
        // The second time by the index.
        let data = TarShards::builder().fields(choice()).open(folder.path()).unwrap();
        assert_eq!(names(&data), ["caption (text)", "meta (JSON)"]);
        let expected = |image: &str, caption: &str, url: u8| {
            let values = vec![format!("text {caption}"), format!("json {{\"url\": {url}}}")];
            (image.to_owned(), Label::None, values)
        };
        assert_eq!(read(&data, 0).unwrap(), expected("first", "a cat", 1));
        assert_eq!(read(&data, 1).unwrap(), expected("second", "1984", 2));
        assert_eq!(said(&data), ["labels are none"]);
    }
    let data = open(&[&LAION], [("txt", "caption")]).unwrap();
    assert_eq!(said(&data)[1..], ["2 members in .json are not read; the first is 000.json"]);
    let data = open(&[&LAION], [("json", "meta")]).unwrap();
    let captions =
        "captions (.txt) of samples are not read (2, the first 000.txt): fields = {\"txt\": \"caption\"} reads them";
    assert_eq!(said(&data)[2..], [captions]);
}

#[test]
fn all_members_but_image_and_label_are_fields() {
    let members = [
        ("a.cls", "3"),
        ("a.depth.npy", "x"),
        ("a.jpg", "1"),
        ("a.seg.png", "mask"),
        ("a.txt", "a cat"),
        ("README", "?"),
        ("b.cls", "4"),
        ("b.jpg", "2"),
        ("b.txt", "a dog"),
    ];
    let data = open(&[&members], FieldChoice::All).unwrap();
    let fields = ["depth.npy (numbers)", "seg.png (images, may be absent)", "txt (text)"];
    let mut found = names(&data);
    found.sort_unstable();
    assert_eq!(found, fields);
    let (image, label, mut values) = read(&data, 1).unwrap();
    values.sort_unstable();
    assert_eq!((&*image, label), ("2", Label::Class(4)));
    assert_eq!(values, ["absent", "absent", "text a dog"]);
    // The bytes of the first sample's array are none.
    assert!(read(&data, 0).unwrap_err().to_string().contains("\"depth.npy\" (.depth.npy) is no .npy array"));
    assert_eq!(said(&data)[1..], ["1 member without an ending is not read: README"]);
    // Numbers in texts are labels, and no field.
    let numbers = [("a.jpg", "1"), ("a.txt", "7"), ("b.jpg", "2"), ("b.txt", "8")];
    let data = open(&[&numbers], FieldChoice::All).unwrap();
    assert_eq!((names(&data), read(&data, 1).unwrap().1), (Vec::new(), Label::Class(8)));
}

#[test]
fn a_number_in_a_text_is_a_label_unless_a_field_asks_for_it() {
    let members = [("a.jpg", "1"), ("a.json", "[]"), ("a.txt", "7"), ("b.jpg", "2"), ("b.json", "7"), ("b.txt", "8")];
    let data = open(&[&members], [("json", "meta")]).unwrap();
    assert_eq!((read(&data, 1).unwrap().1, values(&data, 1)), (Label::Class(7), vec!["json 7".to_owned()]));
    let texts = [("a.jpg", "1"), ("a.txt", "7"), ("b.jpg", "2"), ("b.txt", "8"), ("b.xmp", "?")];
    let data = open(&[&texts], [("xmp", Field::new("xmp").optional())]).unwrap();
    assert_eq!(read(&data, 0).unwrap().1, Label::Class(7));
    let data = open(&[&texts], [("txt", "number")]).unwrap();
    assert_eq!(read(&data, 0).unwrap(), ("1".to_owned(), Label::None, vec!["text 7".to_owned()]));
    let error = refused(in_memory([("txt", "number")]).text_labels(true).open(shards(&[&texts]).path()));
    assert!(error.starts_with("text_labels: true"), "{error}");
}

/// A file as NumPy writes it, of one number.
pub(crate) fn npy(descr: &str, number: &[u8]) -> Vec<u8> {
    let mut header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': (), }}");
    header.push_str(&" ".repeat(64 - (11 + header.len()) % 64));
    header.push('\n');
    [&b"\x93NUMPY\x01\0"[..], &(header.len() as u16).to_le_bytes()[..], header.as_bytes(), number].concat()
}

fn field_values(data: &TarShards, index: usize) -> Result<Vec<FieldValue<'static>>> {
    let mut buffer = Vec::new();
    let sample = data.read(index, &mut buffer)?;
    let owned = |value: &FieldValue<'_>| match value {
        FieldValue::Numbers(numbers) => {
            let bytes = numbers.bytes().to_vec();
            FieldValue::from(gpufeed::dataset::Numbers::new(numbers.number_type(), numbers.shape(), bytes).unwrap())
        }
        _ => FieldValue::Absent,
    };
    Ok(sample.fields.iter().map(owned).collect())
}

#[test]
fn numbers_in_texts_have_the_type_of_their_ending_in_every_sample() {
    let numbers = || Field::new("score").kind(FieldKind::Numbers);
    let texts = [("a.jpg", "1"), ("a.score", "1"), ("b.jpg", "2"), ("b.score", "0.5"), ("c.jpg", "3")];
    let data = open(&[&texts], [("score", numbers().default_value(FieldValue::from(-1_i64)))]).unwrap();
    assert_eq!(field_values(&data, 0).unwrap(), [FieldValue::from(1.0)]);
    assert_eq!(field_values(&data, 1).unwrap(), [FieldValue::from(0.5)]);
    // The default is of this type, too.
    assert_eq!(data.fields(), [numbers().default_value(FieldValue::from(-1.0))]);
    // WebDataset reads `.cls` as whole numbers.
    let classes = [("a.cls", "1"), ("a.jpg", "1"), ("b.cls", "0.5"), ("b.jpg", "2")];
    let data = open(&[&classes], [("cls", "score")]).unwrap();
    assert_eq!(field_values(&data, 0).unwrap(), [FieldValue::from(1_i64)]);
    let error = field_values(&data, 1).unwrap_err().to_string();
    assert!(
        error.contains("sample b: \"score\" (.cls) is no whole number") && error.contains("read it as text"),
        "{error}"
    );
    let error = refused(open(&[&classes], [("cls", numbers().default_value(FieldValue::from(0.5)))]));
    assert!(error.contains("the default value of \"score\", float64, is no int64"), "{error}");
}

#[test]
fn the_default_beside_arrays_has_the_type_of_the_arrays() {
    let folder = tempfile::tempdir().unwrap();
    let array = npy("<f4", &0.5_f32.to_le_bytes());
    let members: [(&str, &[u8]); 3] = [("a.jpg", b"1"), ("b.jpg", b"2"), ("b.npy", &array)];
    fs::write(folder.path().join("0.tar"), archive(&members)).unwrap();
    let field = Field::new("score").default_value(FieldValue::from(-1.0));
    let data = in_memory([("npy", field.clone())]).open(folder.path()).unwrap();
    let minus = gpufeed::dataset::Numbers::new(NumberType::F32, [], (-1.0_f32).to_ne_bytes().to_vec()).unwrap();
    assert_eq!(data.fields(), [field.kind(FieldKind::Numbers).default_value(FieldValue::from(minus))]);
    let error =
        refused(in_memory([("npy", Field::new("score").default_value(FieldValue::from(true)))]).open(folder.path()));
    assert!(error.contains("the default value of \"score\", bool, is no float32"), "{error}");
}

#[test]
fn the_label_is_the_chosen_member() {
    let members = [("a.cls", "1"), ("a.jpg", "1"), ("a.json", "{\"label\": 5}"), ("b.cls", "2"), ("b.jpg", "2")];
    let data = open(&[&members], [("json", Field::new("label").optional())]).unwrap();
    assert_eq!([0, 1].map(|index| read(&data, index).unwrap().1), [Label::Class(5), Label::None]);
    let error = refused(open(&[&members], [("json", "label")]));
    assert!(error.contains("sample b has no label"), "{error}");
    // What is no label is passed over if only fields are asked for, and an error if the label is.
    let words = [("a.jpg", "1"), ("a.json", "{\"label\": \"cat\"}")];
    let data = open(&[&words], [("json", "meta")]).unwrap();
    assert_eq!(read(&data, 0).unwrap().1, Label::None);
    assert!(refused(open(&[&words], [("json", "label")])).contains("\"cat\" is not a label"));
}

#[test]
fn a_document_beside_its_label_is_a_field_and_its_keys_are_named() {
    let rich = [("a.jpg", "1"), ("a.json", "{\"label\": 5, \"caption\": \"x\", \"url\": 1}")];
    let data = TarShards::builder().indexes(ShardIndexes::Memory).open(shards(&[&rich]).path()).unwrap();
    assert_eq!(
        said(&data),
        ["labels are class numbers, or vectors, from members in .json", "not read: the keys caption, url"]
    );
    let data = open(&[&rich], FieldChoice::All).unwrap();
    assert_eq!((names(&data), read(&data, 0).unwrap().1), (vec!["json (JSON)".to_owned()], Label::Class(5)));
    assert_eq!(said(&data).len(), 1, "{:?}", said(&data));
    // A document that is its label alone is no field.
    let plain = [("a.jpg", "1"), ("a.json", "{\"label\": null, \"cls\": 5}")];
    let data = open(&[&plain], FieldChoice::All).unwrap();
    assert_eq!((names(&data).len(), read(&data, 0).unwrap().1, said(&data).len()), (0, Label::Class(5), 1));
}

#[test]
fn members_that_another_one_of_their_field_hides_are_named() {
    let members = [
        ("a.jpg", "1"),
        ("a.sci.txt", "felis"),
        ("a.txt", "a cat"),
        ("b.jpg", "2"),
        ("b.txt", "a dog"),
        ("c.jpg", "3"),
    ];
    let field = || Field::new("caption").optional();
    let data = open(&[&members], [("sci.txt;txt", field())]).unwrap();
    let hidden = "1 member in .txt beside another one of their field is not read: a.txt";
    assert_eq!(said(&data)[1..], [hidden]);
    // Each is read, as a field of its own or as the first of its sample.
    let both = open(&[&members], [("sci.txt;txt", field()), ("txt", Field::new("plain").optional())]).unwrap();
    assert_eq!(said(&both).len(), 1, "{:?}", said(&both));
    assert_eq!(said(&open(&[&members[3..]], [("txt;png", field())]).unwrap()).len(), 1);
}

#[test]
fn several_images_are_image_and_fields() {
    let rig = [
        ("0.depth.png", "d0"),
        ("0.left.JPG", "l0"),
        ("0.right.jpg", "r0"),
        ("1.left.jpg", "l1"),
        ("1.right.jpg", "r1"),
        ("2.left.jpg", "l2"),
    ];
    let choice = |right: Field| {
        let depth = Field::new("depth").optional();
        FieldChoice::from(vec![("left.jpg", "image".into()), ("right.jpg", right), ("depth.png", depth)])
    };
    let data = open(&[&rig], choice("right".into())).unwrap();
    assert_eq!(names(&data), ["right (images)", "depth (images, may be absent)"]);
    assert_eq!(keys(&data), ["0", "1", "2"]);
    assert_eq!(read(&data, 0).unwrap().0, "l0");
    assert_eq!(values(&data, 0), ["image r0", "image d0"]);
    assert_eq!(values(&data, 1), ["image r1", "absent"]);
    assert_eq!(values(&data, 2), ["absent", "absent"]);
    // The first of several endings is the image, and the other may be a field.
    let two = [("a.jpg", "j"), ("a.png", "p"), ("b.png", "q")];
    let choice = [("jpg;png", Field::new("image")), ("png", Field::new("png").optional())];
    let data = open(&[&two], choice).unwrap();
    assert_eq!([0, 1].map(|index| read(&data, index).unwrap().0), ["j", "q"]);
    assert_eq!([0, 1].map(|index| values(&data, index)[0].clone()), ["image p", "absent"]);
    // An image that a field asks for is not the sample's own.
    let data = open(&[&two[..2]], [("png", "mask")]).unwrap();
    assert_eq!((read(&data, 0).unwrap().0, values(&data, 0)), ("j".to_owned(), vec!["image p".to_owned()]));
    assert!(refused(open(&[&two], FieldChoice::All)).contains("the sample has an image already"));
}

#[test]
fn stems_with_dots_have_their_own_members() {
    let members = [
        ("photo 12.05.21.npz", "n1"),
        ("photo 12.05.21.png", "1"),
        ("photo 12.05.21.txt", "first"),
        ("photo 12.05.22.npz", "n2"),
        ("photo 12.05.22.png", "2"),
        ("photo 12.05.22.txt", "second"),
    ];
    let npz = Field::new("npz").kind(FieldKind::Bytes);
    let data = open(&[&members], [("txt", "caption".into()), ("npz", npz)]).unwrap();
    assert_eq!(keys(&data), ["photo 12.05.21", "photo 12.05.22"]);
    assert_eq!(values(&data, 1), ["text second".to_owned(), format!("bytes {:?}", b"n2")]);
}

#[test]
fn members_behind_extended_headers_are_those_of_the_index() {
    let mut archive = tar::Builder::new(Vec::new());
    for (name, content) in LAION {
        // Owners above 2^21 have such a header in Python's archives.
        archive.append_pax_extensions([("uid", &b"4294967294"[..]), ("gid", &b"4294967294"[..])]).unwrap();
        archive.append_data(&mut header(content.len() as u64), name, content.as_bytes()).unwrap();
    }
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("0.tar"), archive.into_inner().unwrap()).unwrap();
    let data = in_memory([("txt", "caption"), ("json", "meta")]).open(folder.path()).unwrap();
    assert_eq!(values(&data, 0), ["text a cat", "json {\"url\": 1}"]);
    assert_eq!(read(&data, 1).unwrap().0, "second");
}

/// A shard of four pictures with captions, of which `lacking` has none.
fn pictures(lacking: usize) -> TempDir {
    let png = encode(picture(8, 8), Codec::Png);
    let names: Vec<_> = (0..4).map(|number| (format!("{number}.png"), format!("{number}.txt"))).collect();
    let texts: Vec<_> = (0..4).map(|number| format!("caption {number}")).collect();
    let mut members: Vec<(&str, &[u8])> = Vec::new();
    for (number, (image, text)) in names.iter().enumerate() {
        members.push((image, &png));
        if number != lacking {
            members.push((text, texts[number].as_bytes()));
        }
    }
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("0.tar"), archive(&members)).unwrap();
    folder
}

fn captions(folder: &Path, field: Field, on_error: OnError) -> Result<(ColumnValues, Vec<String>)> {
    let data = in_memory([("txt", field)]).open(folder)?;
    let loader = DataLoader::builder(data).transform(CenterCrop::new(8)).batch_size(4).on_error(on_error);
    let loader = loader.build(&Backend::Cpu)?;
    let batch = loader.epoch(0)?.next().unwrap()?;
    let failures = batch.failures().iter().map(|failure| failure.error.to_string()).collect();
    Ok((batch.column("caption").unwrap().values().clone(), failures))
}

#[test]
fn a_caption_that_is_missing_fails_or_is_replaced_by_name() {
    let folder = pictures(2);
    let text = |numbers: [Option<usize>; 4]| {
        ColumnValues::Text(numbers.map(|number| number.map(|number| format!("caption {number}"))).into())
    };
    let field = Field::new("caption");
    let (found, failures) = captions(folder.path(), field.clone().optional(), OnError::Fail).unwrap();
    assert_eq!((found, failures.len()), (text([Some(0), Some(1), None, Some(3)]), 0));
    let default = field.clone().default_value(FieldValue::from("caption 9"));
    let (found, _) = captions(folder.path(), default, OnError::Fail).unwrap();
    assert_eq!(found, text([Some(0), Some(1), Some(9), Some(3)]));
    let (_, failures) = captions(folder.path(), field.clone(), OnError::Skip { max_share: 1.0 }).unwrap();
    assert_eq!(failures, ["fields: the sample has no \"caption\", which is neither optional nor has a default"]);
    let error = refused(captions(folder.path(), field, OnError::Fail));
    assert!(error.contains("0.tar: 2") && error.contains("the sample has no \"caption\""), "{error}");
}

#[test]
fn a_caption_of_100_mb_is_refused_before_it_is_read() {
    const BYTES: u64 = 100 << 20;
    let folder = tempfile::tempdir().unwrap();
    let mut shard = archive(&[("a.jpg", b"1"), ("a.txt", b"short"), ("b.jpg", b"2")]);
    shard.truncate(shard.len() - 1024);
    let mut long = header(BYTES);
    long.set_path("b.txt").unwrap();
    long.set_cksum();
    shard.extend_from_slice(long.as_bytes());
    let mut file = File::create(folder.path().join("0.tar")).unwrap();
    file.write_all(&shard).unwrap();
    // The caption is a hole in the file.
    file.seek(SeekFrom::Start(shard.len() as u64 + BYTES)).unwrap();
    file.write_all(&[0; 1024]).unwrap();
    let data = in_memory([("txt", "caption")]).open(folder.path()).unwrap();
    assert_eq!(values(&data, 0), ["text short"]);
    let mut buffer = Vec::new();
    let error = data.read(1, &mut buffer).unwrap_err().to_string();
    let says = "sample b: \"caption\" (.txt) has 104857600 bytes, but at most 1048576 are read; raise max_field_bytes";
    assert!(error.contains("0.tar, at byte ") && error.ends_with(says), "{error}");
    assert!(buffer.capacity() < 1 << 20, "{} bytes", buffer.capacity());
    let data = in_memory([("txt", "caption")]).max_field_bytes(4).open(folder.path()).unwrap();
    assert!(data.read(0, &mut buffer).unwrap_err().to_string().contains("has 5 bytes, but at most 4 are read"));
}

#[test]
fn what_is_no_text_and_no_json_fails_its_sample_alone() {
    let folder = tempfile::tempdir().unwrap();
    let members: [(&str, &[u8]); 6] = [
        ("a.jpg", b"1"),
        ("a.json", b"{\"x\":"),
        ("a.txt", b"a cat"),
        ("b.jpg", b"2"),
        ("b.json", b"{}"),
        ("b.txt", b"\xff\xfe"),
    ];
    fs::write(folder.path().join("0.tar"), archive(&members)).unwrap();
    let open = |choice: [(&str, &str); 1]| in_memory(choice).open(folder.path()).unwrap();
    let error = |data: &TarShards, index| read(data, index).unwrap_err().to_string();
    let texts = open([("txt", "caption")]);
    assert_eq!(values(&texts, 0), ["text a cat"]);
    let says = error(&texts, 1);
    assert!(says.contains("sample b: \"caption\" (.txt) is not UTF-8 from byte 0 on"), "{says}");
    let json = open([("json", "meta")]);
    assert_eq!(values(&json, 1), ["json {}"]);
    let says = error(&json, 0);
    assert!(says.contains("sample a: \"meta\" (.json) is no JSON: "), "{says}");
}

#[test]
fn members_and_names_that_are_there_twice_are_refused() {
    let twice = [("a.jpg", "1"), ("a.seg.xyz", "x"), ("a.seg.xyz", "y"), ("b.jpg", "2"), ("b.seg.xyz", "z")];
    let data = open(&[&twice], [("seg.xyz", "mask")]).unwrap();
    let error = read(&data, 0).unwrap_err().to_string();
    assert!(error.contains("sample a: \"mask\" (.seg.xyz) is there twice"), "{error}");
    assert_eq!(values(&data, 1), [format!("bytes {:?}", b"z")]);
    let error = refused(open(&[&LAION], [("txt", "a"), ("json", "a")]));
    assert!(error.contains("two fields have the name \"a\""), "{error}");
    let error = refused(open(&[&LAION], [("txt", "label"), ("json", "label")]));
    assert!(error.contains("two sources are the sample's own label"), "{error}");
}

#[test]
fn a_field_that_no_sample_has_is_an_error_with_what_is_there() {
    let error = refused(open(&[&LAION], [("text", "caption")]));
    let says = "fields: no sample has a member .text for \"caption\"; beside their images, samples of the first shard have .json .txt";
    assert_eq!(error, says);
    let error = refused(open(&[&LAION], [("caption;text", Field::new("caption").optional())]));
    assert!(error.contains("no sample has a member .caption .text for"), "{error}");
}
