//! Which sample a member of a tar shard belongs to, where names have dots or shards differ.

use crate::notices::{keys, labels, refused, said, shards};
use gpufeed::dataset::{ShardIndexes, TarShards};
use gpufeed::{Dataset, Label};
use std::fs;

/// Opens shards of these members without index files.
fn open(files: &[&[(&str, &str)]], allow_unlabelled: bool) -> gpufeed::Result<TarShards> {
    let folder = shards(files);
    TarShards::builder().indexes(ShardIndexes::Memory).allow_unlabelled(allow_unlabelled).open(folder.path())
}

#[test]
fn members_of_dotted_names_may_be_mixed() {
    let images = [("photo 1.2.png", "2"), ("photo 1.3.png", "3"), ("photo 1.4.png", "4")];
    let classes = [("photo 1.2.cls", "2"), ("photo 1.3.cls", "3"), ("photo 1.4.cls", "4")];
    let mixed = [&[("a.png", "1"), ("a.cls", "1")][..], &images, &classes].concat();
    let folder = shards(&[&mixed]);
    let data = TarShards::open(folder.path()).unwrap();
    assert_eq!(keys(&data), ["a", "photo 1.2", "photo 1.3", "photo 1.4"]);
    assert_eq!(labels(&data), [1, 2, 3, 4].map(Label::Class));
    assert!(!data.notices().iter().any(|notice| notice.is_warning()));
    let folder = shards(&[&[&images[..], &classes].concat()]);
    let data = TarShards::builder().allow_unlabelled(true).open(folder.path()).unwrap();
    assert_eq!(labels(&data), [2, 3, 4].map(Label::Class));

    let sorted = [("a.1.cls", "1"), ("a.1.e.cls", "2"), ("a.1.e.png", ""), ("a.1.png", "")];
    let folder = shards(&[&sorted]);
    let data = TarShards::open(folder.path()).unwrap();
    assert_eq!((keys(&data), labels(&data)), (vec!["a.1".into(), "a.1.e".into()], [1, 2].map(Label::Class).to_vec()));
}

#[test]
fn labels_far_from_their_image_are_refused() {
    let between = [("b.png", ""), ("b.cls", "0")];
    for (first, last) in [(("a.1.png", ""), ("a.1.cls", "1")), (("a.1.cls", "1"), ("a.1.png", ""))] {
        for allow in [false, true] {
            let error = refused(open(&[&[&[first][..], &between, &[last]].concat()], allow));
            assert!(error.contains("its key came before") && error.contains(last.0), "{error}");
        }
    }
    // A sample's further image with labels is none.
    let further =
        [("000.jpg", ""), ("000.cls", "1"), ("000.left.png", ""), ("000.right.png", ""), ("000.left.json", "{}")];
    let data = open(&[&further], false).unwrap();
    assert_eq!(keys(&data), ["000"]);
    assert_eq!(
        said(&data)[1..],
        [
            "1 member in .left.json is not read: 000.left.json",
            "1 member in .left.png is not read: 000.left.png",
            "1 member in .right.png is not read: 000.right.png",
        ]
    );
}

#[test]
fn any_label_makes_a_dotted_name_a_sample() {
    let label = "{\"label\": 4}";
    let json = [("img 1.png", ""), ("img 1.json", label), ("img 1.5.png", ""), ("img 1.5.json", label)];
    let data = open(&[&json], false).unwrap();
    assert_eq!((keys(&data), labels(&data)), (vec!["img 1".into(), "img 1.5".into()], vec![Label::Class(4); 2]));
    let text = [("img 1.png", ""), ("img 1.txt", "3"), ("img 1.5.png", ""), ("img 1.5.txt", "4")];
    assert_eq!(labels(&open(&[&text], false).unwrap()), [3, 4].map(Label::Class));
    // A JSON or a text beside a mask describes the mask, and is not a label.
    let mask = [("1.png", ""), ("1.json", label), ("1.seg.png", ""), ("1.seg.json", "{\"size\": 4}")];
    assert_eq!(keys(&open(&[&mask], false).unwrap()), ["1"]);
    let mask = [("1.png", ""), ("1.cls", "0"), ("1.seg.png", ""), ("1.seg.txt", "a mask"), ("1.seg.png", "")];
    let data = open(&[&mask], false).unwrap();
    assert_eq!(keys(&data), ["1"]);
    assert!(
        said(&data).contains(&"2 members in .seg.png are not read; the first is 1.seg.png".into()),
        "{:?}",
        said(&data)
    );
}

#[test]
fn texts_beside_labels_show_that_texts_are_captions() {
    let members = [
        ("a.jpg", ""),
        ("a.cls", "0"),
        ("a.txt", "a cat"),
        ("b.jpg", ""),
        ("b.json", "{\"label\": 1}"),
        ("b.txt", "a cat"),
        ("c.jpg", ""),
        ("c.txt", "2024"),
    ];
    let data = open(&[&members], true).unwrap();
    assert_eq!(labels(&data), [Label::Class(0), Label::Class(1), Label::None]);
    let said = said(&data);
    assert!(said.iter().any(|text| text.starts_with("1 of 3 members in .txt are numbers and the others")), "{said:?}");
    assert!(said.iter().any(|text| text.contains("not read (3, the first a.txt): fields = {\"txt\"")), "{said:?}");
    assert!(said.contains(&"1 of 3 samples have no label".into()), "{said:?}");
    assert!(refused(open(&[&members], false)).contains("sample c has no label"));
}

#[test]
fn the_first_shard_decides_on_texts_whichever_is_opened_first() {
    let captions: &[(&str, &str)] = &[("a.jpg", ""), ("a.txt", "a cat")];
    let numbers: &[(&str, &str)] = &[("b.jpg", ""), ("b.txt", "7")];
    let neither: &[(&str, &str)] = &[("c.jpg", ""), ("c.cls", "3")];
    for (first, second, says) in [
        (captions, numbers, Some("the .txt of sample b is a number, as all in this shard")),
        (numbers, captions, Some("the .txt of sample a is no number")),
        (neither, captions, Some("the .txt of sample a is no number")),
        (neither, numbers, None),
    ] {
        let folder = shards(&[first, second]);
        let counts = folder.path().join("sizes.json");
        fs::write(&counts, "{\"0.tar\": 1, \"1.tar\": 1}").unwrap();
        for order in [[0, 1], [1, 0]] {
            let builder = TarShards::builder().counts(&counts).classes(["?"; 8]).allow_unlabelled(true);
            let data = builder.open(folder.path()).unwrap();
            let mut results = order.map(|index| (index, data.read(index, &mut Vec::new()).map(|sample| sample.label)));
            results.sort_by_key(|(index, _)| *index);
            let [(_, first), (_, second)] = results;
            first.unwrap();
            match (second, says) {
                (Ok(label), None) => assert_eq!(label, Label::Class(7)),
                (Err(error), Some(says)) => {
                    let error = error.to_string();
                    assert!(error.contains(says) && error.contains("TarShardsBuilder::text_labels"), "{error}");
                }
                (second, _) => panic!("{order:?}: {second:?}"),
            }
        }
    }
}

#[test]
fn odd_endings_are_counted_together() {
    let names: Vec<Vec<String>> = (0..3)
        .map(|shard| {
            let odd = (0..40).map(|number| format!("shot.{shard:02}{number:02}"));
            let kinds = (0..20).map(|number: u8| format!("x.{}{shard}", char::from(b'a' + number)));
            odd.chain(kinds).collect()
        })
        .collect();
    let long = format!("z.{}", "x".repeat(100_000));
    let members: Vec<Vec<(&str, &str)>> = names
        .iter()
        .zip(["0.jpg", "1.jpg", "2.jpg"])
        .map(|(names, image)| {
            [(image, ""), (&long, "")].into_iter().chain(names.iter().map(|name| (&**name, ""))).collect()
        })
        .collect();
    let data = open(&members.iter().map(|members| &members[..]).collect::<Vec<_>>(), true).unwrap();
    let said = said(&data);
    assert!(said.len() <= 35, "{} notices", said.len());
    assert!(said.iter().all(|text| text.len() < 400), "{said:?}");
    assert!(said.iter().any(|text| text.contains("members of other kinds are not read")), "{said:?}");
}

#[test]
fn images_with_reserved_names_are_counted() {
    let members = [
        ("a.jpg", ""),
        ("a.cls", "0"),
        ("__meta__/x.jpg", ""),
        ("__meta__/b/y.left.PNG", ""),
        ("__meta__/y.cls", "7"),
        ("__meta__", ""),
        ("__meta__.cls", "7"),
        ("__x__.jpg", ""),
        ("__x__.cls", "1"),
        ("__meta__.json", "{\"label\": 7}"),
        ("__z__.jpg.txt", ""),
        ("b/__y__/c.jpg", ""),
        ("b/__y__/c.cls", "2"),
        ("____.jpg", ""),
        ("____.cls", "3"),
    ];
    let data = open(&[&members], false).unwrap();
    assert_eq!(keys(&data), ["a", "__x__", "b/__y__/c", "____"].map(String::from));
    assert_eq!(labels(&data), [0, 1, 2, 3].map(Label::Class));
    let said = said(&data);
    let expected =
        "2 images below folders called __..__, which WebDataset skips, are not read; the first is __meta__/x.jpg";
    assert_eq!(said[1..], [expected]);
    let nothing = refused(open(&[&[("__x__/1.jpg", ""), ("__x__/1.cls", "1")]], true));
    let expected = "1 image below folders called __..__, which WebDataset skips, is not read: __x__/1.jpg";
    assert!(nothing.contains(expected), "{nothing}");
}

#[test]
fn labels_of_numbers_that_f32_does_not_hold_are_refused() {
    for (label, says) in [
        ("[0, 16777217]", "does not hold 16777217: it would become 16777216"),
        ("{\"label\": [9007199254740993]}", "does not hold 9007199254740993"),
        ("[1e40]", "1e40 is outside the range of f32"),
    ] {
        let error = refused(open(&[&[("a.jpg", ""), ("a.json", label)]], false));
        assert!(error.contains("label of sample a, .json: ") && error.contains(says), "{error}");
    }
    let held = open(&[&[("a.jpg", ""), ("a.json", "[16777216, 0.1, 5e9]")]], false).unwrap();
    assert_eq!(labels(&held), [Label::from(vec![16_777_216.0, 0.1, 5e9])]);
}

#[test]
fn images_in_formats_that_are_not_decoded_are_counted() {
    let members = [("a.jpg", ""), ("a.cls", "0"), ("b.heic", ""), ("c.AVIF", ""), ("d 1.2.jxl", ""), ("e.jp2", "")];
    let said = said(&open(&[&members], false).unwrap());
    let expected = [
        ".avif is not read: c.AVIF",
        ".heic is not read: b.heic",
        ".jp2 is not read: e.jp2",
        ".jxl is not read: d 1.2.jxl",
    ];
    assert_eq!(said[1..], expected.map(|text| format!("1 member in {text}")));
}
