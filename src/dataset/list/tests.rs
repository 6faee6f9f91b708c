//! Tests of columns, labels and errors of lists.

use super::super::labels::Labels;
use super::columns::Settings;
use super::rows::{Failure, ListedSample, Rows};
use super::{csv as of_csv, json as of_json, rows as of_rows};
use crate::advice::{Rust, advised};

/// A line, and the error in it with its advice.
type Refused = (u64, String);

fn refused((line, reason): Failure) -> Refused {
    (line, advised(&reason.text, &reason.advice, &Rust))
}

fn csv(bytes: &[u8], delimiter: u8, settings: &Settings) -> Result<Rows, Refused> {
    of_csv::rows(bytes, delimiter, settings).map_err(refused)
}

fn json(text: &str, settings: &Settings) -> Result<Rows, Refused> {
    of_json::rows(text, settings).map_err(refused)
}

fn labels(rows: &[ListedSample]) -> Result<(Labels, Vec<String>), Refused> {
    of_rows::labels(rows).map_err(refused)
}

fn read(text: &str) -> Result<(Vec<String>, Labels, Vec<String>), Refused> {
    let plain = &Settings::default();
    let rows = if text.starts_with('{') { json(text, plain) } else { csv(text.as_bytes(), b',', plain) }?.rows;
    let (labels, classes) = labels(&rows)?;
    Ok((rows.into_iter().map(|row| row.path).collect(), labels, classes))
}

fn multi(rows: &[&[f32]]) -> Labels {
    Labels::Multi(rows.iter().map(|row| (*row).into()).collect())
}

#[test]
fn labels_of_every_kind() {
    for (text, expected) in [
        ("a,3\nb,0\n", Labels::Classes(vec![3, 0])),
        ("a\nb", Labels::None),
        ("a,1\nb,0.5", multi(&[&[1.0], &[0.5]])),
        ("label,file\n7,a\n8,b", Labels::Classes(vec![7, 8])),
        (",PATH,label,y\n0,a,7,1\n1,b,8,2", Labels::Classes(vec![7, 8])),
        ("name,target\na,7\nb,8", Labels::Classes(vec![7, 8])),
        ("{\"path\": \"a\", \"target\": 3, \"y\": 1}\n{\"File\": \"b\", \"Target\": 4}", Labels::Classes(vec![3, 4])),
        ("{\"path\": \"a\", \"x\": 3}\n{\"path\": \"b\", \"x\": 4}", Labels::None),
        (
            "{\"path\": \"a\", \"label\": 3}\n\n{\"label\": 4, \"image\": \"b\", \"more\": []}",
            Labels::Classes(vec![3, 4]),
        ),
        ("{\"path\": \"a\"}\n{\"path\": \"b\", \"label\": null}", Labels::None),
        (
            "{\"path\": \"a\", \"label\": null, \"cls\": 3}\n{\"path\": \"b\", \"label\": null, \"cls\": 4}",
            Labels::None,
        ),
        (
            "{\"path\": \"a\", \"label\": 3, \"class\": {}}\n{\"path\": \"b\", \"label\": 4, \"class\": \"x\"}",
            Labels::Classes(vec![3, 4]),
        ),
        (
            "{\"path\": \"a\", \"label\": [0, 1]}\n{\"path\": \"b\", \"label\": [1, 0.5]}",
            multi(&[&[0.0, 1.0], &[1.0, 0.5]]),
        ),
        ("{\"path\": \"a\", \"label\": -1}\n{\"path\": \"b\", \"label\": 2}", multi(&[&[-1.0], &[2.0]])),
    ] {
        let (paths, labels, classes) = read(text).unwrap();
        assert_eq!((paths, labels, classes.len()), (vec!["a".into(), "b".into()], expected, 0), "{text}");
    }
}

#[test]
fn names_become_classes_in_order() {
    let expected = (Labels::Classes(vec![1, 0, 1]), vec!["cat".to_owned(), "dog, big".to_owned()]);
    for text in [
        "\u{FEFF}image,class\na,\"dog, big\"\nb,cat\nc,\"dog, big\"\n",
        "{\"path\":\"a\",\"label\":\"dog, big\"}\n{\"path\":\"b\",\"label\":\"cat\"}\n{\"path\":\"c\",\"label\":\"dog, big\"}",
    ] {
        let (_, labels, classes) = read(text).unwrap();
        assert_eq!((labels, classes), expected);
    }
    let rows = csv("a,10\nb,9\n".as_bytes(), b',', &Settings { names: true, ..Settings::default() }).unwrap().rows;
    assert_eq!(labels(&rows).unwrap(), (Labels::Classes(vec![0, 1]), vec!["10".to_owned(), "9".to_owned()]));
    let headed = |header| Settings { header: Some(header), ..Settings::default() };
    let rows = csv("path\t1\n".as_bytes(), b'\t', &headed(false)).unwrap().rows;
    assert_eq!((rows.len(), rows[0].path.as_str()), (1, "path"));
    assert!(csv("some\t1\n".as_bytes(), b'\t', &headed(true)).unwrap().rows.is_empty());
}

#[test]
fn errors_name_the_line() {
    for (text, line, reason) in [
        ("a,1\nb,cat\n", 2, "a class name, but line 1 has a class number"),
        ("path,label\na,cat\n\nb,7\n", 4, "a class number, but line 2 has a class name"),
        ("a,1\nb,\n", 2, "the label is empty"),
        ("a,1\n,2\n", 2, "no path"),
        ("a,1\nb,2,3\n", 2, "found record with 3 fields"),
        ("a,1,2\nb,2,3\n", 1, "2 columns could be the label"),
        ("path,x,y\nb,2,3\n", 1, "several columns could be the label: x, y"),
        ("path;label\nb;2\n", 1, "separated by semicolons"),
        ("{\"path\": \"a\"}\n{\"path\": \"b\", \"label\": 1}", 2, "a class number, but line 1 has no label"),
        (
            "{\"path\": \"a\", \"label\": [1]}\n{\"path\": \"b\", \"label\": [1, 2]}",
            2,
            "2 numbers, but line 1 has 1 numbers",
        ),
        ("{\"path\": \"a\"}\n{\"label\": 1}", 2, "no path, whose key is path"),
        ("{\"path\": \"a\"}\n{\"path\": \"\"}", 2, "no path"),
        ("{\"path\": \"a\"}\n\n[1]", 3, "write lines like"),
        ("{\"path\": \"a\", \"label\": 1e300}", 1, "outside the range of f32"),
        ("{\"path\": \"a\", \"class\": {}}", 1, "the class is not a label"),
        ("{\"path\": \"a\", \"label\": []}", 1, "the label is a list without numbers"),
        ("{\"path\": \"a\", \"label\": \" \"}", 1, "the label is empty"),
        ("{\"path\": \"a\", \"label\": 1, \"Label\": 2}", 1, "two keys are called "),
        ("path,Label,label\na,1,2\n", 1, "two columns are called Label, label"),
        ("name;breed\na.jpg;pug\n", 1, "separated by semicolons"),
        ("a|b\n1.jpg|3\n", 1, "separated by vertical bars"),
        ("a.jpg,1\nb.jpg,16777217\nc.jpg,0.5\n", 2, "f32, which labels of numbers have, does not hold 16777217"),
        ("a.jpg,0.5\nb.jpg,1e40\n", 2, "1e40 is outside the range of f32"),
        ("path,label\na.jpg,1e400\n", 2, "1e400 is outside the range of f32"),
        ("path,label\na.jpg,1e40\n", 2, "have; ImageList::builder().class_names(true) takes such labels as names"),
        (
            "{\"path\": \"a\", \"label\": 1e40}",
            1,
            "; ImageList::builder().class_names(true) takes such labels as names",
        ),
        ("a.jpg,4294967297\n", 1, "does not hold 4294967297"),
        ("{\"path\": \"a\", \"label\": [0, 16777217]}", 1, "does not hold 16777217"),
        ("{\"path\": \"a\", \"label\": [1e40]}", 1, "1e40 is outside the range of f32"),
        ("{\"path\": \"a\", \"label\": -16777217}", 1, "does not hold -16777217"),
        ("{\"path\": \"a\", \"label\": [true]}", 1, "the label is not a label"),
    ] {
        let (at, message) = read(text).unwrap_err();
        assert!(at == line && message.contains(reason), "{text}: line {at}: {message}");
    }
}

#[test]
fn vectors_come_from_the_columns_that_are_named() {
    let settings = Settings { label_columns: vec!["x".into(), "y".into()], ..Settings::default() };
    let list = csv(b"x,path,y,label\n7,a,1,0\n8,b,2,0", b',', &settings).unwrap();
    let (found, classes) = labels(&list.rows).unwrap();
    assert_eq!(found, multi(&[&[7.0, 1.0], &[8.0, 2.0]]));
    assert_eq!(list.describe(&found, classes.len()), "vectors of 2 from the columns x, y");
    assert_eq!(list.unread, ["label"]);
    let list = json("{\"path\": \"a\", \"y\": 1, \"x\": 7, \"label\": 0}", &settings).unwrap();
    let (found, classes) = labels(&list.rows).unwrap();
    assert_eq!(found, multi(&[&[7.0, 1.0]]));
    assert_eq!(list.describe(&found, classes.len()), "vectors of 2 from the keys x, y");
    assert_eq!(list.unread, ["label"]);
    let failed = |text| json(text, &settings).unwrap_err().1;
    assert_eq!(failed("{\"path\": \"a\", \"x\": 7}"), "no y, which is part of the label");
    assert!(failed("{\"path\": \"a\", \"x\": 7, \"y\": \"1\"}").contains("y is not a number"));
    let csv = |text: &str| csv(text.as_bytes(), b',', &settings).unwrap_err().1;
    assert!(csv("path,x,y\na,2,z\n").contains("\"z\" is not a number"));
    assert!(csv("path,x,y\na,2,inf\n").contains("\"inf\" is not a number"));
    assert!(csv("path,x,y\na,2,1e400\n").contains("1e400 is outside the range of f32"));
}

#[test]
fn a_first_line_with_an_image_is_a_sample() {
    for name in ["target", "class", "label", "cls"] {
        let (paths, found, classes) = read(&format!("a.png,{name}\nb.png,cup\nc.png,{name}\n")).unwrap();
        assert_eq!(paths, ["a.png", "b.png", "c.png"]);
        assert!(classes.len() == 2 && classes.contains(&"cup".to_owned()) && classes.contains(&name.to_owned()));
        assert_eq!(found.get(0), found.get(2));
        assert_ne!(found.get(0), found.get(1));
    }
}

#[test]
fn a_first_line_that_may_name_the_columns_is_refused() {
    let (line, reason) = read("id,breed\na.jpg,pug\nb.jpg,corgi\n").unwrap_err();
    assert!(line == 1 && reason.starts_with("id does not end as the names of images do"), "{reason}");
    let with = |header| Settings { header: Some(header), ..Settings::default() };
    let rows = |header| csv(b"id,breed\na.jpg,pug\nb.jpg,corgi\n", b',', &with(header)).unwrap().rows.len();
    assert_eq!((rows(true), rows(false)), (2, 3));
    assert_eq!(read("a,pug\nb,corgi\nc.jpg,pug\n").unwrap().0.len(), 3);
}

#[test]
fn one_key_is_the_label_of_the_whole_list() {
    let first = r#"{"path": "a", "label": 3, "class": 30}"#;
    for second in [r#"{"path": "b", "label": null, "class": 31}"#, r#"{"path": "b", "class": 31}"#] {
        let (line, reason) = read(&format!("{first}\n{second}")).unwrap_err();
        assert_eq!(line, 2);
        assert_eq!(reason, "no label, but line 1 has a class number; give each line a label under one name, or none");
    }
    let second = r#"{"path": "b", "label": 4, "class": 31}"#;
    let list = json(&format!("{first}\n{second}"), &Settings::default()).unwrap();
    assert_eq!((list.labels, list.unread), (vec!["label".to_owned()], vec!["class".to_owned()]));
}

#[test]
fn empty_labels_are_no_names_of_classes() {
    let named = Settings { names: true, ..Settings::default() };
    let of_json = json("\n{\"path\": \"b\", \"label\": \"\"}", &named);
    for list in [csv(b"a,cat\nb,\n", b',', &named), of_json] {
        assert_eq!(list.unwrap_err(), (2, "the label is empty".to_owned()));
    }
}

#[test]
fn texts_of_numbers_are_numbers_in_every_format() {
    let lines = |line: fn(&str) -> String| ["2", "10", "1", "9"].map(line).join("\n");
    let of_json = lines(|label| format!("{{\"path\": \"a\", \"label\": \"{label}\"}}"));
    for text in [&of_json, &lines(|label| format!("a,{label}"))] {
        let (_, found, classes) = read(text).unwrap();
        assert_eq!((found, classes.len()), (Labels::Classes(vec![2, 10, 1, 9]), 0));
    }
    let named = Settings { names: true, ..Settings::default() };
    assert_eq!(labels(&json(&of_json, &named).unwrap().rows).unwrap().1, ["1", "10", "2", "9"]);
}

#[test]
fn the_only_column_that_may_be_the_label_is_said() {
    let described = |text: &str| {
        let list = csv(text.as_bytes(), b',', &Settings::default()).unwrap();
        let (found, classes) = labels(&list.rows).unwrap();
        (list.describe(&found, classes.len()), list.unread.join(","))
    };
    let (text, _) = described("image,breed\na.jpg,pug\nb.jpg,corgi\n");
    assert_eq!(text, "2 classes by name from the column breed, the only one that may be the label");
    let (text, unread) = described("index,path\n0,a.jpg\n1,b.jpg\n");
    assert_eq!((&*text, &*unread), ("none: no column is called label, labels, class, cls, target", "index"));
    assert_eq!(described("path,split\na.jpg,train\nb.jpg,test\n").1, "split");
    assert!(described("path,label\na.jpg,pug\n").0.ends_with("from the column label"));
}

#[test]
fn a_key_that_is_missing_is_named() {
    let settings = Settings { label_columns: vec!["x".into()], ..Settings::default() };
    assert_eq!(json("{\"path\": \"a\", \"y\": 7}", &settings).unwrap_err().1, "no x, which is the label");
}

#[test]
fn a_text_of_several_numbers_is_no_name() {
    for text in [
        "[1, 2]",
        "1 2 3",
        "[0.5]",
        "(1, 2)",
        "1;2",
        "1|2",
        "1,2",
        "{1 2}",
        "[1, nan]",
        "[[1, 2], [3, 4]]",
        "inf 1e400",
        "[1,2][3]",
    ] {
        let lists = [format!("path,label\na.jpg,\"{text}\"\n"), format!("{{\"path\": \"a\", \"label\": \"{text}\"}}")];
        for list in lists {
            let reason = read(&list).unwrap_err().1;
            assert!(reason.starts_with(&format!("the label {text} is a list of numbers in one text")), "{reason}");
            assert!(reason.contains("label_columns names one") && reason.contains("class_names(true)"), "{reason}");
        }
        let named = Settings { names: true, ..Settings::default() };
        let list = csv(format!("path,label\na.jpg,\"{text}\"\n").as_bytes(), b',', &named).unwrap();
        assert_eq!(labels(&list.rows).unwrap().1, [text]);
    }
    for name in ["1 dog", "[a]", "nan", "inf", "2021-05-12", "[]", "a 1 2"] {
        assert_eq!(read(&format!("path,label\na.jpg,{name}\n")).unwrap().2, [name], "{name}");
    }
}

#[test]
fn a_path_with_bars_is_said_by_header() {
    let settings = Settings { header: Some(false), ..Settings::default() };
    assert_eq!(csv(b"a|b\n", b',', &settings).unwrap().rows[0].path, "a|b");
}

#[test]
fn files_that_are_known_need_no_list() {
    use crate::{Dataset as _, ErrorKind, ImageList, Label};
    let names = ["cat", "dog"];
    let list =
        ImageList::from_samples("/data", [("a.jpg", Label::Class(1)), ("/b.jpg", Label::Class(0))], names).unwrap();
    assert_eq!((list.name(0), list.name(1)), ("/data/a.jpg".to_owned(), "/b.jpg".to_owned()));
    assert_eq!((list.label(0), list.classes()), (Label::Class(1), &names.map(str::to_owned)[..]));
    let refused = |samples: Vec<(&str, Label)>| ImageList::from_samples("", samples, names).unwrap_err();
    assert!(matches!(refused(Vec::new()).kind(), ErrorKind::EmptyDataset { .. }));
    let error = refused(vec![("a", Label::Class(2))]).to_string();
    assert_eq!(error, "samples: Class(2), but only 2 classes have names");
    let error = refused(vec![("a", Label::Class(0)), ("b", Label::None)]).to_string();
    assert!(error.starts_with("samples: labels of several kinds"), "{error}");
}
