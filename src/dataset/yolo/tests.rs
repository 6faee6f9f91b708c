//! YOLO's folders and documents: what is read of a line, where images and annotations are, and what is wrong in a file.

use super::document::Document;
use super::label_file::{Lines, YoloObject};
use super::places::label_file;
use super::*;
use crate::dataset::{FieldChoice, Format, OpenOptions, open, open_with};
use crate::error::ErrorKind;
use crate::objects::BoxFormat;
use std::fs;

/// A gray image of 4x2 pixels.
const IMAGE: &[u8] = b"P5 4 2 255\n........";

/// A folder with these files. Those that end in `.pgm` are small images.
fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let is_image = path.ends_with(".pgm");
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, if is_image { IMAGE } else { text.as_bytes() }).unwrap();
    }
    root
}

fn objects_of(yolo: &Yolo, index: usize) -> Objects {
    let mut buffer = Vec::new();
    match yolo.read(index, &mut buffer).unwrap().fields.remove(0) {
        FieldValue::Objects(objects) => objects.into_owned(),
        other => panic!("{other:?}"),
    }
}

fn names(yolo: &Yolo) -> Vec<String> {
    (0..yolo.len()).map(|index| yolo.stored().unwrap().own_name(index).unwrap()).collect()
}

/// The error of a set whose first annotation has this text.
fn refused(text: &str) -> String {
    let root =
        folder(&[("images/a.pgm", ""), ("labels/a.txt", text), ("data.yaml", "train: images\nnames: [cat, dog]")]);
    let error = Yolo::open(root.path()).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::DataFile { path, .. } if path.ends_with("labels/a.txt")), "{error}");
    error.to_string()
}

#[test]
fn boxes_are_pixels_of_the_image() {
    let lines = "1 0.5 0.25 0.5 0.5\r\n\n0\t-0.5 2 0 -1\n0 -0.5 2 0 -1";
    let root = folder(&[
        ("images/a.pgm", ""),
        ("images/b.pgm", ""),
        ("images/c.pgm", ""),
        ("labels/a.txt", lines),
        ("labels/b.txt", " \n"),
    ]);
    let data = Yolo::open(root.path()).unwrap();
    let first = objects_of(&data, 0);
    // Boxes outside of the image are kept, and so are equal ones.
    assert_eq!(first.boxes(), [[2.0, 0.5, 2.0, 1.0], [-2.0, 4.0, 0.0, -2.0], [-2.0, 4.0, 0.0, -2.0]]);
    assert_eq!((first.labels(), first.format(), first.size()), (Some(&[1, 0, 0][..]), BoxFormat::Cxcywh, Some((4, 2))));
    assert!(!first.are_in_stored_image());
    for image in [1, 2] {
        assert!(objects_of(&data, image).is_empty() && objects_of(&data, image).has_boxes());
    }
    assert!(data.classes().is_empty() && data.notices().is_empty());
    let mut files = Vec::new();
    data.stored().unwrap().each(&mut |file, _| files.push(file.strip_prefix(root.path()).unwrap().to_owned()));
    assert_eq!(
        files,
        ["labels/a.txt", "labels/b.txt", "images/a.pgm", "images/b.pgm", "images/c.pgm"].map(std::path::PathBuf::from)
    );
    // The header says the size, so a sample with objects needs one.
    fs::write(root.path().join("images/a.pgm"), b"P5 4").unwrap();
    assert!(data.read(0, &mut Vec::new()).is_err());
}

#[test]
fn polygons_have_boxes_around_them_and_a_notice() {
    let lines = "0 0.25 0.5 0.75 1 0.5 0\n1 0.5 0.5 1 1\n0 0 0 1 0 1 1 0 1";
    let root = folder(&[("images/a.pgm", ""), ("labels/a.txt", lines)]);
    let data = Yolo::open(root.path()).unwrap();
    assert_eq!(objects_of(&data, 0).boxes(), [[2.0, 1.0, 2.0, 2.0], [2.0, 1.0, 4.0, 2.0], [2.0, 1.0, 4.0, 2.0]]);
    let notice = data.notices()[0].to_string();
    assert!(notice.starts_with("2 polygons (the boxes around them are read) are not read; the first is "), "{notice}");
}

#[test]
fn keypoints_have_the_shape_that_is_said() {
    let root =
        folder(&[("images/a.pgm", ""), ("images/b.pgm", ""), ("labels/a.txt", "0 0.5 0.5 1 1 0.25 0.5 2 0 0 0.000")]);
    let open = |points, numbers| Yolo::builder().kpt_shape(points, numbers).open(root.path());
    let posed = open(2, 3).unwrap();
    let first = objects_of(&posed, 0);
    assert_eq!((first.keypoints_each(), first.keypoints()), (2, &[[1.0, 1.0], [0.0, 0.0]][..]));
    assert_eq!((first.visibility(), objects_of(&posed, 1).keypoints_each()), (&[2, 0][..], 2));
    let pairs = objects_of(&open(3, 2).unwrap(), 0);
    assert_eq!(pairs.keypoints(), [[1.0, 1.0], [8.0, 0.0], [0.0, 0.0]]);
    assert_eq!(pairs.visibility(), [2, 2, 2]);
    let error = open(17, 3).unwrap_err().to_string();
    assert!(error.contains("line 1: has 10 numbers behind the class; with kpt_shape [17, 3] it is 55"), "{error}");
    assert!(open(2, 4).unwrap_err().to_string().starts_with("kpt_shape: a number of keypoints and 2 or 3 numbers"));
    fs::write(root.path().join("data.yaml"), "train: images\nkpt_shape: [2, 3]\n").unwrap();
    assert_eq!(objects_of(&Yolo::open(root.path()).unwrap(), 0), first);
    fs::write(root.path().join("labels/a.txt"), "0 0.5 0.5 1 1 0.25 0.5 2 0 0 1.5").unwrap();
    assert!(
        Yolo::open(root.path()).unwrap_err().to_string().contains("a keypoint of the visibility 1.5; 0, 1 and 2 work")
    );
    // Below 0 nothing is labelled, as Ultralytics reads pairs.
    fs::write(root.path().join("labels/a.txt"), "0 0.5 0.5 1 1 0.25 0.5 -1 0 0 0").unwrap();
    assert_eq!(objects_of(&open(3, 2).unwrap(), 0).visibility(), [2, 0, 2]);
}

#[test]
fn a_document_says_where_its_splits_are() {
    let document = "# COCO8\npath: coco8 # below\ntrain: images/train\nval:\n  - images/val\n  - more.txt\ntest: # none
names:\n  0: person\n  1: 'a: b'\ndownload: |\n  import os\n  print([x)\nroboflow:\n  version: 1\n";
    let root = folder(&[
        ("coco8.yaml", document),
        ("coco8/images/train/a.pgm", ""),
        ("coco8/labels/train/a.txt", "1 0.5 0.5 1 1"),
        ("coco8/images/val/b.pgm", ""),
        ("coco8/labels/val/b.txt", "0 0.5 0.5 1 1"),
        ("coco8/more.txt", "./extra/c.pgm\nextra/d.pgm\n"),
        ("coco8/extra/c.pgm", ""),
        ("coco8/extra/c.txt", "0 0 0 1 1"),
        ("coco8/extra/d.pgm", ""),
    ]);
    let path = root.path().join("coco8.yaml");
    assert_eq!(Format::detect(&path), Format::Yolo);
    let opened = open(&path).unwrap();
    assert_eq!((opened.train.len(), opened.train.classes()), (1, &["person".to_owned(), "a: b".to_owned()][..]));
    assert_eq!(opened.test.unwrap().len(), 3);
    let val = Yolo::builder().split("val").open(&path).unwrap();
    assert_eq!(names(&val), ["images/val/b.pgm", "extra/c.pgm", "extra/d.pgm"]);
    assert_eq!(objects_of(&val, 1).boxes(), [[0.0, 0.0, 4.0, 2.0]]);
    let error = |split: &str| Yolo::builder().split(split).open(&path).unwrap_err().to_string();
    assert!(error("test").contains("the splits: has no split \"test\"; it has train, val"), "{}", error("test"));
    fs::rename(root.path().join("coco8"), root.path().join("moved")).unwrap();
    assert!(
        error("train").contains("path: coco8: ") && error("train").contains("is no folder; the setting `root`"),
        "{}",
        error("train")
    );
    assert_eq!(Yolo::builder().root(root.path().join("moved")).open(&path).unwrap().len(), 1);
    fs::remove_dir_all(root.path().join("moved/images/val")).unwrap();
    let rooted = || Yolo::builder().root(root.path().join("moved"));
    assert!(rooted().parts(&path).unwrap().1.is_none());
    let missing = rooted().split("val").open(&path).unwrap_err().to_string();
    assert!(missing.contains("val: images/val: is neither a folder nor a list below"), "{missing}");
    let named = open_with(&path, OpenOptions::new().fields([("masks", "m")])).err();
    assert!(named.is_some());
}

#[test]
fn a_folder_is_known_by_its_folders() {
    // Roboflow's, whose document means the folders beside it.
    let robo = "train: ../train/images\nval: ../valid/images\nnc: 1\nnames: ['x']\n";
    let root = folder(&[
        ("data.yaml", robo),
        ("train/images/a.pgm", ""),
        ("train/labels/a.txt", "0 0 0 1 1"),
        ("valid/images/b.pgm", ""),
        ("valid/labels/b.txt", ""),
    ]);
    assert_eq!(Format::detect(root.path()), Format::Yolo);
    let opened =
        open_with(root.path(), OpenOptions::new().fields(FieldChoice::from([("objects", "targets")]))).unwrap();
    assert_eq!((opened.train.len(), opened.test.unwrap().len(), opened.train.fields()[0].name()), (1, 1, "targets"));
    let root = folder(&[
        ("images/train/a.pgm", ""),
        ("images/val/b.pgm", ""),
        ("labels/train/a.txt", "1 0 0 1 1"),
        ("labels/val/b.txt", ""),
        ("labels/classes.txt", "cat\ndog\n"),
    ]);
    assert_eq!(Format::detect(root.path()), Format::Yolo);
    let data = Yolo::open(root.path()).unwrap();
    assert_eq!(
        (names(&data), data.classes()),
        (vec!["images/train/a.pgm".to_owned()], &["cat".to_owned(), "dog".to_owned()][..])
    );
    assert_eq!(names(&Yolo::builder().split("val").open(root.path()).unwrap()), ["images/val/b.pgm"]);
    fs::rename(root.path().join("images/train"), root.path().join("images/train2017")).unwrap();
    let error = Yolo::open(root.path()).unwrap_err().to_string();
    assert!(
        error.starts_with("split: not set, but ")
            && error.contains("has the splits train2017, val; the name of one works"),
        "{error}"
    );
    let error = Yolo::builder().split("../images").open(root.path()).unwrap_err().to_string();
    assert!(error.starts_with("split: \"../images\", but "), "{error}");
    let plain = folder(&[("images/x/a.pgm", ""), ("labels/x/a.txt", "")]);
    assert_eq!(names(&Yolo::open(plain.path()).unwrap()), ["images/x/a.pgm"]);
    let classes = folder(&[("images/a.pgm", ""), ("cats/b.pgm", "")]);
    assert_eq!(Format::detect(classes.path()), Format::Folder);
    let apart = folder(&[("images/a.pgm", ""), ("labels/b.txt", "0 0 0 1 1")]);
    let error = Yolo::open(apart.path()).unwrap_err().to_string();
    assert!(
        error.contains("there is no file of any; that of the first image would be") && error.contains("labels/a.txt"),
        "{error}"
    );
    for (image, label) in
        [("x/images/y/images/a.b.jpg", "x/images/y/labels/a.b.txt"), ("x/a.jpg", "x/a.txt"), ("images", "images.txt")]
    {
        assert_eq!(label_file(Path::new(image)), Path::new(label));
    }
}

#[test]
fn what_is_wrong_in_a_line_is_named_with_it() {
    for (text, says) in [
        ("0 0.5 0.5 1 1\n0 0.5 0.5 1", "line 2: has 3 numbers behind the class; 4 of a box work"),
        ("0 0.5 0.5 1 1 0.9", "has 5 numbers behind the class"),
        ("0 1 2 3 4 5 6 7", "has 7 numbers behind the class"),
        ("2 0.5 0.5 1 1", "line 1: has the class 2, but there are names of 2 classes, from 0 on"),
        ("-1 0.5 0.5 1 1", "begins with \"-1\"; the number of a class works"),
        ("0.5 0.5 0.5 1 1", "begins with \"0.5\""),
        ("1e308 0.5 0.5 1 1", "begins with \"1e308\""),
        ("dog 0.5 0.5 1 1", "begins with \"dog\""),
        ("0 nan 0.5 1 1", "has \"nan\", which is no number"),
        ("0 1e308 0.5 1 1", "has \"1e308\", which is no number"),
        ("0 0,5 0.5 1 1", "has \"0,5\", which is no number"),
    ] {
        assert!(refused(text).contains(says), "{text}: {}", refused(text));
    }
    let lines = Lines { kpt_shape: None, classes: 0 };
    let object = YoloObject { class: 3, each: [0.5, 0.5, 1.0, 1.0], is_polygon: false, keypoints: Vec::new() };
    assert_eq!(lines.parse("3.0 5e-1 .5 1 +1").unwrap(), [object]);
    let root = folder(&[("images/a.pgm", ""), ("labels/a.txt", "")]);
    fs::write(root.path().join("labels/a.txt"), b"0 \xff").unwrap();
    assert!(Yolo::open(root.path()).unwrap_err().to_string().contains("labels/a.txt"));
}

#[test]
fn what_is_wrong_in_a_document_is_named_with_its_line() {
    let error = |text: &str| {
        let (place, reason) = Document::parse(text).unwrap_err();
        format!("{place}: {reason}")
    };
    for (text, says) in [
        ("", "line 1: holds no map of settings"),
        ("- a\n- b", "holds no map of settings"),
        ("train: a\ntrain: b", "line 2: has the key train a second time"),
        ("train: a\nnames: {0: x, 2: y}", "line 2: has a name of class 2; each number from 0 to 1 once works"),
        ("names: {0: x, 00: y}", "has a name of class 00; each number from 0 to 1 once works"),
        ("names: {0: [x]}", "has no text as the name of class 0"),
        ("names: [[x]]", "has something else than a text, or a list of texts, as names"),
        ("path: [a, b]", "has something else than one folder as path"),
        ("nc: 3\nnames: [x]", "line 1: has nc: 3, but 1 names"),
        ("kpt_shape: [17, 4]", "has another kpt_shape than the number of keypoints and 2 or 3"),
        ("kpt_shape: [99999999999999999999, 3]", "has another kpt_shape"),
        ("train: &a x\nval: *a", "line 2: has an alias (*), which is not read"),
        ("train: [a", "is no YAML"),
        ("train: \"a", "is no YAML"),
        ("train: a\n---\ntrain: b", "begins a second document"),
        ("? [a]\n: b", "has a key that is no text or number"),
    ] {
        assert!(error(text).contains(says), "{text}: {}", error(text));
    }
    let nested = |count: usize| error(&["train: ", &"[".repeat(count), &"]".repeat(count)].concat());
    assert!(nested(40).contains("line 1: has more than 32 lists and maps within each other"), "{}", nested(40));
    assert!(nested(1_000_000).contains("line 1: is no YAML: recursion limit"), "{}", nested(1_000_000));
    let laughs = "a: &a [x, x]\nb: &b [*a, *a]\ntrain: *b";
    assert!(error(laughs).contains("line 2: has an alias"), "{}", error(laughs));
    let read = "names:\n- yes\n- 2\ntest: null\nval: ~\nkpt_shape: [17, 3]\nflip_idx: [0, 2, 1]";
    let read = Document::parse(read).unwrap();
    assert_eq!((read.split_names().count(), read.kpt_shape), (0, Some((17, 3))));
    assert_eq!(read.names, ["yes", "2"]);
}
