//! Named fields of folders: files beside the images, and what cannot be a field.

use crate::list_fields::{names, read, values};
use crate::notices::{refused, said};
use crate::tar_fields::npy;
use gpufeed::dataset::{FieldChoice, FieldValue, ImageFolderBuilder, NumberType, Numbers, OpenOptions, open_with};
use gpufeed::transforms::CenterCrop;
use gpufeed::{Backend, ColumnValues, DataLoader, Dataset, Field, FieldKind, ImageFolder, Label, OnError};
use gpufeed_testing::encoded::{encode, picture};
use image::ImageFormat as Codec;
use std::fs::{self, File};
use std::path::Path;
use tempfile::TempDir;

/// A folder of these files, which hold their own names, or this text behind a `=`.
fn folder(files: &[&str]) -> TempDir {
    let root = tempfile::tempdir().unwrap();
    for file in files {
        let (name, text) = file.split_once('=').unwrap_or((file, file));
        let path = root.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    root
}

fn flat(fields: impl Into<FieldChoice>) -> ImageFolderBuilder {
    ImageFolder::builder().unlabelled(true).fields(fields)
}

fn images(data: &ImageFolder) -> Vec<String> {
    (0..data.len())
        .map(|index| data.path(index).unwrap().strip_prefix(data.root()).unwrap().display().to_string())
        .collect()
}

const PETS: [&str; 9] = [
    "cat/a.depth.png=depth",
    "cat/a.jpg=a",
    "cat/a.json={\"w\": 1}",
    "cat/a.txt=a cat",
    "cat/b.jpg=b",
    "cat/b.TXT=another",
    "dog/a.jpg=c",
    "dog/a.txt=a dog",
    "dog/note.txt=?",
];

#[test]
fn files_beside_images_are_fields() {
    let root = folder(&PETS);
    let choice = || {
        vec![
            ("txt", Field::new("caption")),
            (".JSON", Field::new("meta").optional()),
            ("depth.png", Field::new("depth").optional()),
        ]
    };
    let data = ImageFolder::builder().fields(choice()).open(root.path()).unwrap();
    assert_eq!(images(&data), ["cat/a.jpg", "cat/b.jpg", "dog/a.jpg"]);
    assert_eq!(names(&data), ["caption (text)", "meta (JSON, may be absent)", "depth (images, may be absent)"]);
    let expected = ["text a cat", "json {\"w\": 1}", "image depth"].map(str::to_owned);
    assert_eq!(read(&data, 0).unwrap(), ("a".to_owned(), Label::Class(0), expected.into()));
    assert_eq!(values(&data, 1), ["text another", "absent", "absent"]);
    assert_eq!(read(&data, 2).unwrap().1, Label::Class(1));
    assert_eq!(said(&data), ["1 file in .txt without an image is not read: note.txt"]);
    let opened = open_with(root.path(), OpenOptions::new().fields(choice())).unwrap().train;
    assert_eq!(values(&opened, 2), ["text a dog", "absent", "absent"]);
    // What `explain` and a pack look at has the files of the fields, too.
    let mut seen = Vec::new();
    data.stored().unwrap().each(&mut |file, _| seen.push(file.to_owned()));
    assert_eq!(seen.len(), 3 + 5);
    assert!(seen.contains(&root.path().join("cat/b.TXT")));
}

#[test]
fn without_fields_a_folder_is_as_before_and_names_what_is_beside_images() {
    let root = folder(&PETS);
    let data = ImageFolder::open(root.path()).unwrap();
    assert_eq!(images(&data), ["cat/a.depth.png", "cat/a.jpg", "cat/b.jpg", "dog/a.jpg"]);
    assert!(data.fields().is_empty());
    assert_eq!(values(&data, 1), Vec::<String>::new());
    let expected = [
        "1 file in .json beside images is not read: a.json",
        "3 files in .txt beside images are not read; the first is a.txt",
    ];
    assert_eq!(said(&data), expected);
    let data = ImageFolder::builder().fields([("txt", "caption")]).open(root.path()).unwrap();
    assert_eq!(said(&data)[0], "1 file in .json beside images is not read: a.json");
    let hiding = folder(&["a.jpg", "a.sci.txt=felis", "a.txt=a cat", "b.jpg", "b.txt=a dog"]);
    let data = flat([("sci.txt;txt", "caption")]).open(hiding.path()).unwrap();
    assert_eq!(said(&data), ["1 file in .txt beside another one of their field is not read: a.txt"]);
}

#[test]
fn numbers_beside_images_have_one_type() {
    let root = folder(&["a.jpg", "a.score=1", "b.jpg", "b.score=0.5", "c.jpg"]);
    let score = Field::new("score").kind(FieldKind::Numbers).default_value(FieldValue::from(-1_i64));
    let data = flat([("score", score)]).open(root.path()).unwrap();
    assert_eq!([0, 1, 2].map(|sample| values(&data, sample)[0].clone()), ["float64 []", "float64 []", "absent"]);
    let expected = Field::new("score").kind(FieldKind::Numbers).default_value(FieldValue::from(-1.0));
    assert_eq!(data.fields(), [expected]);
    // That of an array is the array's.
    let root = folder(&["a.jpg", "b.jpg"]);
    fs::write(root.path().join("b.npy"), npy("<f4", &0.5_f32.to_le_bytes())).unwrap();
    let score =
        |default: FieldValue<'static>| flat([("npy", Field::new("score").default_value(default))]).open(root.path());
    let minus = Numbers::new(NumberType::F32, [], (-1.0_f32).to_ne_bytes().to_vec()).unwrap();
    let expected = Field::new("score").kind(FieldKind::Numbers).default_value(FieldValue::from(minus));
    assert_eq!(score(FieldValue::from(-1.0)).unwrap().fields(), [expected]);
    assert!(refused(score(FieldValue::from(true))).contains("is no float32"));
}

#[test]
fn all_files_of_a_stem_are_fields() {
    let root = folder(&[
        "a.1.jpg=a1",
        "a.jpg=a",
        "a.gif=g",
        "a.depth.png=d",
        "a.txt=one",
        "b.jpg=b",
        "b.txt=two",
        "c.gif=?",
        "c.xmp=?",
    ]);
    let data = flat(FieldChoice::All).open(root.path()).unwrap();
    assert_eq!(images(&data), ["a.1.jpg", "a.jpg", "b.jpg"]);
    assert_eq!(
        names(&data),
        ["depth.png (images, may be absent)", "gif (images, may be absent)", "txt (text, may be absent)"]
    );
    assert_eq!(values(&data, 0), ["absent", "absent", "absent"]);
    assert_eq!(values(&data, 1), ["image d", "image g", "text one"]);
    assert_eq!(values(&data, 2), ["absent", "absent", "text two"]);
    assert_eq!(said(&data), ["1 file in .gif is not read: c.gif"]);
    let whole = folder(&["a.jpg", "a.txt=1", "b.jpg", "b.txt=2"]);
    assert_eq!(names(&flat(FieldChoice::All).open(whole.path()).unwrap()), ["txt (text)"]);
}

#[test]
fn the_stem_of_an_image_is_the_longest() {
    let root = folder(&[
        "a.jpg=1",
        "a.b.jpg=2",
        "a.b.txt=of b",
        "a.txt=of a",
        "a.png=3",
        "photo 12.05.jpg=4",
        "photo 12.05.txt=day",
    ]);
    let data = flat([("txt", "caption")]).open(root.path()).unwrap();
    assert_eq!(images(&data), ["a.b.jpg", "a.jpg", "a.png", "photo 12.05.jpg"]);
    let texts: Vec<_> = (0..4).map(|index| values(&data, index).swap_remove(0)).collect();
    // Two images of one stem have the same files beside them.
    assert_eq!(texts, ["text of b", "text of a", "text of a", "text day"]);
    // Of several endings the first that is there counts.
    let root = folder(&["a.jpg", "a.txt=t", "a.caption.txt=c", "b.jpg", "b.txt=u"]);
    let data = flat([("caption.txt;txt", "caption")]).open(root.path()).unwrap();
    assert_eq!([0, 1].map(|index| values(&data, index).swap_remove(0)), ["text c", "text u"]);
}

#[test]
fn images_of_an_ending_that_a_field_asks_for_are_no_samples() {
    let root = folder(&["a.jpg=1", "a.png=mask", "b.jpg=2", "b.png=mask 2", "c.png=alone"]);
    let data = flat([("png", "mask")]).open(root.path()).unwrap();
    assert_eq!(images(&data), ["a.jpg", "b.jpg"]);
    assert_eq!(values(&data, 1), ["image mask 2"]);
    assert_eq!(said(&data), ["1 file in .png without an image is not read: c.png"]);
    let rig = folder(&["1.left.jpg=l", "1.right.jpg=r", "1.txt=one"]);
    let choice = [("left.jpg", "image"), ("right.jpg", "right"), ("txt", "caption")];
    let data = flat(choice).open(rig.path()).unwrap();
    assert_eq!(
        read(&data, 0).unwrap(),
        ("l".to_owned(), Label::None, vec!["image r".to_owned(), "text one".to_owned()])
    );
}

#[test]
fn fields_that_cannot_be_are_refused() {
    let root = folder(&PETS);
    let open = |fields: FieldChoice| refused(ImageFolder::builder().fields(fields).open(root.path()));
    let error = open([("caption", Field::new("caption").optional())].into());
    let says = "no image has a file .caption beside it for \"caption\"; files beside images end in .json .txt";
    assert!(error.contains(says), "{error}");
    let error = open(vec![("txt", "x"), ("json", "x")].into());
    assert!(error.contains("two fields have the name \"x\""), "{error}");
    assert!(open([("txt", "label")].into()).contains("are its folders"));
    #[cfg(target_os = "linux")]
    {
        let twice = folder(&["a.jpg", "a.TXT", "a.txt"]);
        let error = refused(flat([("txt", "caption")]).open(twice.path()));
        assert!(error.contains("a.txt, beside its image: its image has another file of this ending"), "{error}");
    }
    let options = OpenOptions::new().fields([("txt", "caption")]);
    let error = open_with(folder(&["a.jpg"]).path(), options).unwrap_err().to_string();
    assert!(error.contains("no file has the stem of an image"), "{error}");
}

#[test]
fn a_value_that_cannot_be_read_is_an_error_of_its_sample() {
    let root =
        folder(&["a.jpg", "a.json={\"a\": }", "a.npy=7", "a.txt=fine", "b.jpg", "b.json=[]", "b.npy=7", "b.txt=?"]);
    let at = |name: &str| root.path().join(name);
    fs::write(at("b.txt"), b"caf\xe9").unwrap();
    let failed = |ending: &str, index: usize| {
        let data = flat([(ending, "x")]).open(root.path()).unwrap();
        read(&data, index).unwrap_err().to_string()
    };
    let error = failed("json", 0);
    assert!(error.contains("a.json, the field \"x\": is no JSON: expected value at line 1 column 7"), "{error}");
    assert!(failed("txt", 1).contains("b.txt, the field \"x\": is not UTF-8 from byte 3 on"));
    assert!(failed("npy", 0).contains("is no .npy array"));
    let numbers = flat([("txt", Field::new("x").kind(FieldKind::Numbers))]).open(root.path()).unwrap();
    assert!(read(&numbers, 0).unwrap_err().to_string().contains("is no number: \"fine\""));
    let data = flat([("txt", "x")]).open(root.path()).unwrap();
    fs::remove_file(at("a.txt")).unwrap();
    assert!(read(&data, 0).unwrap_err().to_string().contains("a.txt"));
}

/// A folder of four pictures with captions, of which one has none.
fn pictures(lacking: usize) -> TempDir {
    let root = tempfile::tempdir().unwrap();
    for number in 0..4 {
        fs::write(root.path().join(format!("{number}.png")), encode(picture(8, 8), Codec::Png)).unwrap();
        if number != lacking {
            fs::write(root.path().join(format!("{number}.txt")), format!("picture {number}")).unwrap();
        }
    }
    root
}

fn captions(root: &Path, caption: Field, on_error: OnError) -> gpufeed::Result<(ColumnValues, usize)> {
    let data = flat([("txt", caption)]).open(root)?;
    let loader = DataLoader::builder(data).transform(CenterCrop::new(4)).batch_size(4).on_error(on_error);
    let loader = loader.build(&Backend::Cpu)?;
    let batch = loader.epoch(0)?.next().unwrap()?;
    Ok((batch.column("caption").unwrap().values().clone(), batch.failures().len()))
}

#[test]
fn a_missing_file_is_an_error_or_none_or_a_default() {
    let root = pictures(2);
    let texts = |third: Option<&str>| {
        let texts = [Some("picture 0"), Some("picture 1"), third, Some("picture 3")];
        ColumnValues::Text(texts.map(|text| text.map(str::to_owned)).into())
    };
    let caption = || Field::new("caption");
    let error = captions(root.path(), caption(), OnError::Fail).unwrap_err().to_string();
    assert!(error.contains("2.png") && error.contains("the sample has no \"caption\""), "{error}");
    let (_, failures) = captions(root.path(), caption(), OnError::default()).unwrap();
    assert_eq!(failures, 1);
    assert_eq!(captions(root.path(), caption().optional(), OnError::Fail).unwrap().0, texts(None));
    let fallback = caption().default_value("".into());
    assert_eq!(captions(root.path(), fallback, OnError::Fail).unwrap().0, texts(Some("")));
}

#[test]
fn a_caption_of_100_megabytes_is_not_read() {
    let root = pictures(4);
    let large = root.path().join("1.txt");
    // A sparse file: nothing is written.
    File::create(&large).unwrap().set_len(100 << 20).unwrap();
    let data = flat([("txt", "caption")]).open(root.path()).unwrap();
    let mut buffer = Vec::new();
    let error = data.read(1, &mut buffer).unwrap_err().to_string();
    let says = "1.txt, the field \"caption\": has 104857600 bytes, but at most 1048576 are read; raise max_field_bytes";
    assert!(error.contains(says), "{error}");
    assert!(buffer.len() < 1 << 20, "{} bytes", buffer.len());
    let data = flat([("txt", "caption")]).max_field_bytes(9).open(root.path()).unwrap();
    assert!(data.read(0, &mut buffer).is_ok());
    assert!(flat([("txt", "caption")]).max_field_bytes(8).open(root.path()).unwrap().read(0, &mut buffer).is_err());
}

#[test]
fn an_empty_choice_of_fields_takes_no_list() {
    let root = folder(&["a.jpg", "b.jpg", "metadata.csv=file_name,label\na.jpg,7\n"]);
    let data = flat(FieldChoice::Named(Vec::new())).open(root.path()).unwrap();
    assert_eq!((images(&data), Dataset::label(&data, 0)), (vec!["a.jpg".into(), "b.jpg".into()], Some(Label::None)));
    let listed = flat(FieldChoice::All).open(root.path()).unwrap();
    assert_eq!((images(&listed), Dataset::label(&listed, 0)), (vec!["a.jpg".into()], Some(Label::Class(7))));
}
