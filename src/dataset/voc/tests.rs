//! Pascal VOC's folders: what is read of an annotation, which images a split has, and what is wrong in a file.

use super::annotation::parse;
use super::*;
use crate::dataset::{Format, OpenOptions, open, open_with};
use crate::error::ErrorKind;
use crate::objects::{BoxFormat, ObjectValues, Objects, TargetsOrientation};
use std::fs;

const OBJECT: &str = "<object><name>dog</name><pose>Left</pose><difficult>1</difficult>
    <bndbox><xmin>8</xmin><ymin>12</ymin><xmax>20.5</xmax><ymax>30</ymax></bndbox>
    <part><name>head</name><bndbox><xmin>1</xmin><ymin>2</ymin><xmax>3</xmax><ymax>4</ymax></bndbox></part></object>";

/// An annotation of an image of 2x1 pixels.
fn annotation(objects: &str) -> String {
    format!(
        "<?xml version=\"1.0\"?>\n<!-- drawn -->\n<annotation verified=\"yes\"><folder>VOC2012</folder><filename>x &amp; y.jpg</filename>
        <size><width>2</width><height>1</height><depth>3</depth></size><segmented/>{objects}</annotation>"
    )
}

fn object(name: &str, rest: &str) -> String {
    let edges = "<xmin>1</xmin><ymin>1</ymin><xmax>2</xmax><ymax>1</ymax>";
    format!("<object><name>{name}</name><bndbox>{edges}</bndbox>{rest}</object>")
}

/// VOC's folders with a small image for each annotation, and lists of splits.
fn voc(annotations: &[(&str, &str)], lists: &[(&str, &str)]) -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    for folder in ["JPEGImages", "Annotations", "ImageSets/Main"] {
        fs::create_dir_all(root.path().join(folder)).unwrap();
    }
    for (name, text) in annotations {
        fs::write(root.path().join(format!("JPEGImages/{name}.pgm")), b"P5 2 1 255\n..").unwrap();
        fs::write(root.path().join(format!("Annotations/{name}.xml")), text).unwrap();
    }
    for (name, text) in lists {
        fs::write(root.path().join(format!("ImageSets/Main/{name}.txt")), text).unwrap();
    }
    root
}

fn objects_of(voc: &Voc, index: usize) -> Objects {
    let mut buffer = Vec::new();
    match voc.read(index, &mut buffer).unwrap().fields.remove(0) {
        FieldValue::Objects(objects) => objects.into_owned(),
        other => panic!("{other:?}"),
    }
}

/// The error of a set whose second annotation has this text.
fn refused(text: &str) -> String {
    let root = voc(&[("a", &annotation(""))], &[]);
    fs::write(root.path().join("Annotations/a.xml"), text).unwrap();
    let error = Voc::open(root.path()).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::DataFile { path, .. } if path.ends_with("Annotations/a.xml")), "{error}");
    error.to_string()
}

#[test]
fn an_annotation_has_names_boxes_flags_and_the_images_size() {
    let root = voc(&[("b", &annotation(&object("cat", "<truncated>1</truncated>"))), ("a", &annotation(OBJECT))], &[]);
    let data = Voc::open(root.path()).unwrap();
    assert_eq!((data.len(), data.name(0).ends_with("JPEGImages/a.pgm")), (2, true));
    let first = objects_of(&data, 0);
    assert_eq!((first.boxes(), first.format()), (&[[8.0, 12.0, 20.5, 30.0]][..], BoxFormat::Xyxy));
    assert_eq!((first.labels(), first.size()), (Some(&[12][..]), Some((2, 1))));
    assert_eq!(first.values("difficult"), Some(&ObjectValues::Integers(vec![1])));
    assert_eq!(objects_of(&data, 1).values("truncated"), Some(&ObjectValues::Integers(vec![1])));
    assert_eq!(objects_of(&data, 1).values("difficult"), Some(&ObjectValues::Integers(vec![0])));
    assert_eq!((data.classes().len(), &*data.classes()[0], &*data.classes()[12]), (21, "__background__", "dog"));
    let edges = Voc::builder().one_based(true).open(root.path()).unwrap();
    assert_eq!(objects_of(&edges, 0).boxes(), [[7.0, 11.0, 20.5, 30.0]]);
    let mut files = Vec::new();
    data.stored().unwrap().each(&mut |file, _| files.push(file.strip_prefix(root.path()).unwrap().to_owned()));
    assert_eq!(files.len(), 4);
    assert!(files.contains(&"Annotations/b.xml".into()) && files.contains(&"JPEGImages/b.pgm".into()));
    assert!(first.are_in_stored_image());
    let displayed = Voc::builder().targets_orientation(TargetsOrientation::Displayed).open(root.path()).unwrap();
    assert!(!objects_of(&displayed, 0).are_in_stored_image());
}

#[test]
fn an_image_without_objects_or_size_is_a_sample() {
    let root = voc(&[("a", "<annotation/>"), ("b", &annotation(OBJECT).replace("<width>2", "<width>0"))], &[]);
    let data = Voc::open(root.path()).unwrap();
    assert!(objects_of(&data, 0).is_empty() && objects_of(&data, 0).has_boxes());
    assert_eq!((objects_of(&data, 0).size(), objects_of(&data, 1).size()), (None, None));
    assert_eq!(objects_of(&data, 0).values("difficult"), Some(&ObjectValues::Integers(vec![])));
}

#[test]
fn a_split_has_the_images_of_its_list_and_the_classes_of_all() {
    let names = ["zebra", "ant"].map(|name| annotation(&object(name, "")));
    let lists = [("train", "b\r\n\n"), ("val", "c\na\n"), ("zebra_val", "c  1\na -1\n"), ("up", "../../x\n")];
    let root = voc(&[("a", &names[0]), ("b", &names[1]), ("c", &annotation(""))], &lists);
    let split = |name: &str| Voc::builder().split(name).open(root.path());
    let [train, val] = ["train", "val"].map(|name| split(name).unwrap());
    assert_eq!((train.len(), val.len()), (1, 2));
    assert!(val.name(0).ends_with("c.pgm") && val.name(1).ends_with("a.pgm"));
    assert_eq!(train.classes(), ["__background__", "ant", "zebra"]);
    assert_eq!((train.classes(), objects_of(&val, 1).labels()), (val.classes(), Some(&[2][..])));
    let listed = root.path().join("ImageSets/Main/val.txt");
    assert_eq!((Format::detect(&listed), Format::detect(root.path())), (Format::Voc, Format::Voc));
    assert_eq!(open(&listed).unwrap().train.len(), 2);
    assert_eq!(open(root.path()).unwrap().train.len(), 3);
    let given = Voc::builder().classes(["zebra", "ant"]).split("val").open(root.path()).unwrap();
    assert_eq!(objects_of(&given, 1).labels(), Some(&[0][..]));
    let lacking = Voc::builder().classes(["ant"]).open(root.path()).unwrap_err().to_string();
    assert!(lacking.contains("the class \"zebra\": an object is of this class"), "{lacking}");
    let error = |name: &str| split(name).unwrap_err().to_string();
    assert!(error("zebra_val").contains("line 1: \"c  1\" is a line of a list of one class"), "{}", error("zebra_val"));
    assert!(
        error("up").contains("up.txt, line 1: \"../../x\", but names of annotations have no folders"),
        "{}",
        error("up")
    );
    assert!(error("../val").starts_with("split: \"../val\"; the name of a list in ImageSets/Main works"));
    assert!(error("none").contains("none.txt"));
    let both = Voc::builder().split("train").open(&listed).unwrap_err().to_string();
    assert!(both.starts_with("split: \"train\", but the path is that of the list val"), "{both}");
    for (text, says) in [("a\na\n", "line 2: a is in the list twice"), ("d\n", "line 1: Annotations has no d.xml")] {
        fs::write(&listed, text).unwrap();
        assert!(error("val").contains(says), "{}", error("val"));
    }
    fs::write(&listed, "\n").unwrap();
    assert!(matches!(split("val").unwrap_err().kind(), ErrorKind::EmptyDataset { .. }));
}

#[test]
fn images_and_annotations_belong_together() {
    let root = voc(&[("a", &annotation("")), ("b", &annotation(""))], &[]);
    let at = |path: &str| root.path().join(path);
    fs::write(at("JPEGImages/c.jpg"), b"").unwrap();
    fs::write(at("JPEGImages/notes.txt"), b"").unwrap();
    fs::write(at("Annotations/.b.xml"), b"left by an editor").unwrap();
    let data = Voc::open(root.path()).unwrap();
    assert_eq!(data.len(), 2);
    assert_eq!(data.notices()[0].to_string(), "1 image without an annotation is not read: c.jpg");
    fs::write(at("JPEGImages/a.png"), b"").unwrap();
    let error = Voc::open(root.path()).unwrap_err().to_string();
    assert!(error.contains("is an image of the same annotation"), "{error}");
    fs::remove_file(at("JPEGImages/a.png")).unwrap();
    fs::remove_file(at("JPEGImages/b.pgm")).unwrap();
    let error = Voc::open(root.path()).unwrap_err().to_string();
    assert!(error.contains("b.xml") && error.contains("JPEGImages has no image of this name"), "{error}");
    fs::rename(at("Annotations/b.xml"), at("Annotations/b.XML")).unwrap();
    assert!(Voc::open(root.path()).unwrap_err().to_string().contains("b.XML: the ending .xml works, in small letters"));
    assert!(Voc::open(root.path().join("none")).unwrap_err().to_string().contains("Annotations"));
    let named = open_with(root.path(), OpenOptions::new().fields([("masks", "m")])).unwrap_err().to_string();
    assert!(named.contains("\"masks\" is not read from Pascal VOC's annotations"), "{named}");
}

#[test]
fn what_is_wrong_is_named_with_its_line() {
    let of = |objects: &str| refused(&annotation(objects));
    let edge = |text: &str| of(&object("dog", "").replace("<xmin>1</xmin>", &format!("<xmin>{text}</xmin>")));
    assert!(edge("NaN").contains("line 4: has \"NaN\" as xmin; a number of pixels works"), "{}", edge("NaN"));
    for text in ["1e308", "-inf", "", "1 2", "<b>1</b>"] {
        assert!(edge(text).contains("as xmin; a number of pixels works"), "{text}: {}", edge(text));
    }
    let lacking = of(&object("dog", "").replace("<ymax>1</ymax>", ""));
    assert!(lacking.contains("line 4: ends an object (dog) without ymax of a bndbox"), "{lacking}");
    assert!(of("<object/>").contains("ends an object without a name"));
    assert!(of("<object><name>dog</name></object>").contains("(dog) without xmin of a bndbox"));
    let twice = of(&object("dog", "").replace("<ymax>1</ymax>", "<ymax>1</ymax><ymax>1</ymax>"));
    assert!(twice.contains("has ymax twice where once works"), "{twice}");
    assert!(of(&object("dog", "<name>cat</name>")).contains("has name twice"));
    let flag = of(&object("dog", "<difficult>Unspecified</difficult>"));
    assert!(flag.contains("has \"Unspecified\" as difficult; 0 and 1 work"), "{flag}");
    let side = refused(&annotation("").replace("<width>2", "<width>-2"));
    assert!(side.contains("has \"-2\" as width; a number of pixels works"), "{side}");
    assert!(refused("{}").contains("has no element annotation"));
    assert!(refused("<html></html>").contains("line 1: has the element html, where one annotation is all that works"));
    assert!(refused("<annotation/><annotation/>").contains("has the element annotation, where one"));
    assert!(refused("<annotation>\n</a>").contains("line 2: is no XML"));
}

#[test]
fn a_file_that_ends_early_or_is_hostile_is_an_error() {
    let whole = annotation(OBJECT);
    assert_eq!(parse(whole.as_bytes()).unwrap().objects.len(), 1);
    assert!(parse(&[b"\xef\xbb\xbf", whole.as_bytes()].concat()).is_ok(), "a byte order mark");
    for end in 0..whole.len() {
        let (place, reason) = parse(&whole.as_bytes()[..end]).unwrap_err();
        assert!(place.starts_with("line ") && !reason.is_empty(), "{end}");
    }
    let nested = format!("<annotation>{}", "<a>".repeat(1_000_000));
    assert!(refused(&nested).contains("line 1: has more than 32 elements within each other"));
    let laughs = "<!DOCTYPE annotation [<!ENTITY a \"ha\"><!ENTITY b \"&a;&a;&a;&a;\"><!ENTITY c \"&b;&b;&b;&b;\">]>";
    let error = refused(&format!("{laughs}{}", annotation(&object("&c;", ""))));
    assert!(error.contains("has the entity &c;, which is not read"), "{error}");
    let outside = "<!DOCTYPE annotation [<!ENTITY a SYSTEM \"file:///etc/passwd\">]><annotation><folder>&a;</folder></annotation>";
    assert!(refused(outside).contains("has the entity &a;"));
    assert!(parse(b"<annotation>\n\xff</annotation>").unwrap_err().1.contains("is no UTF-8"));
    let escaped = annotation(&object("a&#x26;b &lt;c&gt;", ""));
    assert_eq!(parse(escaped.as_bytes()).unwrap().objects[0].name, "a&b <c>");
    assert_eq!(parse(annotation(&object("<![CDATA[x<y]]>", "")).as_bytes()).unwrap().objects[0].name, "x<y");
}
