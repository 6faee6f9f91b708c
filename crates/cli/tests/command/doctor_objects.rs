//! Tests of `gpufeed doctor` on sets with boxes and keypoints, and with masks.

use std::collections::BTreeMap;
use std::fs;

use crate::doctoring::{counts, doctor, file, json, text, tree};
use gpufeed_testing::encoded::{encode, picture, with_exif};
use image::ImageFormat as Codec;
use serde_json::{Value, json as value};
use tempfile::TempDir;

fn shard(members: &[(&str, &[u8])]) -> TempDir {
    let root = tempfile::tempdir().unwrap();
    let mut archive = tar::Builder::new(Vec::new());
    for (name, bytes) in members {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        archive.append_data(&mut header, name, *bytes).unwrap();
    }
    fs::write(root.path().join("0.tar"), archive.into_inner().unwrap()).unwrap();
    root
}

fn expected<const N: usize>(kinds: [(&str, u64); N]) -> BTreeMap<String, u64> {
    kinds.map(|(kind, count)| (kind.to_owned(), count)).into()
}

#[test]
fn faults_of_annotations_are_counted_and_named() {
    let jpeg = |width, height| encode(picture(width, height), Codec::Jpeg);
    let mut next = 0;
    let mut annotation = |image: u32, category: u32, bbox: [i32; 4], point: [i32; 3]| {
        next += 1;
        value!({ "id": next, "image_id": image, "category_id": category, "bbox": bbox, "keypoints": point })
    };
    let annotations = vec![
        annotation(11, 1, [0, 0, 10, 10], [3, 3, 2]),
        annotation(11, 1, [35, 0, 10, 10], [45, 3, 2]),
        annotation(11, 1, [36, 0, 10, 10], [0, 0, 0]),
        annotation(11, 1, [50, 0, 5, 5], [45, 3, 0]),
        annotation(11, 1, [5, 5, 0, 5], [1, 1, 1]),
        annotation(11, 9, [20, 5, -5, 5], [1, 1, 2]),
        annotation(12, 1, [30, 20, 10, 12], [1, 1, 2]),
        annotation(13, 1, [0, 0, 1, 1], [1, 1, 2]),
    ];
    let image = |id: u32, name: &str, width: u32, height: u32| value!({ "id": id, "file_name": name, "width": width, "height": height });
    let document = value!({
        "images": [
            image(11, "a.jpg", 40, 30), image(12, "turned.jpg", 42, 32), image(13, "gone.jpg", 9, 9),
            image(14, "bare.jpg", 44, 34), image(15, "other.jpg", 99, 34),
        ],
        "annotations": annotations,
        "categories": [{ "id": 1, "name": "cat" }, { "id": 2, "name": "dog" }, { "id": 4, "name": "hen" }],
    });
    let root = tree(&[
        ("instances_a.json", document.to_string().as_bytes()),
        ("a.jpg", &jpeg(40, 30)),
        ("turned.jpg", &with_exif(&jpeg(42, 32), 6)),
        ("bare.jpg", &jpeg(44, 34)),
        ("other.jpg", &jpeg(46, 34)),
    ]);
    let path = root.path().join("instances_a.json");
    let (found, code) = json(&path, &[]);
    assert_eq!(code, 3, "{found:#}");
    let problems = [
        ("box_outside", 1),
        ("box_beyond", 1),
        ("box_empty", 1),
        ("box_reversed", 1),
        ("keypoint_outside", 1),
        ("label_unknown", 1),
        ("missing", 1),
        ("wrong_objects", 1),
    ];
    assert_eq!(counts(&found, "findings"), expected(problems));
    assert_eq!(counts(&found, "notes"), expected([("no_objects", 1), ("places_stored", 1), ("turned", 1)]));
    let numbers =
        ["boxes_outside", "boxes_beyond", "boxes_empty", "boxes_reversed", "keypoints_outside", "labels_unknown"];
    let of_a = &file(&found, "a.jpg")["objects"];
    assert_eq!(numbers.map(|name| of_a[name].as_u64().unwrap()), [1, 2, 1, 1, 1, 1], "{of_a}");
    // The box fits the stored image, so it does as the image is turned.
    let turned = &file(&found, "turned.jpg")["objects"];
    assert_eq!((&turned["boxes_beyond"], &turned["places"]), (&value!(0), &value!("stored")));
    let gone = file(&found, "gone.jpg");
    assert!(gone["verdict"] == "missing" && gone["reason"].as_str().unwrap().ends_with("(id 13)"), "{gone}");
    assert!(file(&found, "other.jpg")["reason"].as_str().unwrap().contains("99x34 pixels, but the image has 46x34"));
    let objects = &found["objects"];
    assert_eq!(
        (&objects["objects"], &objects["samples"], &objects["samples_without"]),
        (&value!(7), &value!(3), &value!(1))
    );
    assert_eq!((&objects["unknown_labels"], &objects["classes_without"]), (&value!([9]), &value!(["dog", "hen"])));
    let beyond = objects["faults"].as_array().unwrap().iter().find(|fault| fault["kind"] == "box_beyond").unwrap();
    assert_eq!(*beyond, value!({ "kind": "box_beyond", "count": 2, "samples": 1, "first": "a.jpg" }));
    assert_eq!(found["classes"][0], value!({ "name": "cat", "samples": 0, "usable": 0, "objects": 6 }));
    assert_eq!(found["classes"].as_array().unwrap().len(), 3, "numbers without a class have no line");

    let shown = text(&doctor(&[path.to_str().unwrap(), "--list"]));
    for words in [
        "7 in 3 samples, 1 of which have none",
        "2 partly outside of the image, in 1 samples, the first a.jpg",
        "labels of no class: 9",
        "no object is of 2 of the 3 classes: dog, hen",
        "a.jpg: box outside of its image, box partly outside of its image, empty box",
        "6 objects: 1 outside of the image, 2 partly outside of the image, 1 empty, 1 reversed",
        "Objects by class",
        "1 turned by EXIF, with places in the stored image",
    ] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
}

#[test]
fn a_set_without_faults_has_none() {
    let png = encode(picture(40, 30), Codec::Png);
    // Shares of sides, whose sums are not exact in floats.
    let label = b"0 0.85 0.15 0.3 0.3\n1 0.95 0.0333333 0.1 0.0666666\n";
    let root = tree(&[
        ("images/train/a.png", &png[..]),
        ("labels/train/a.txt", label),
        ("data.yaml", b"train: images/train\nnames: [cat, dog]\n"),
    ]);
    let (found, code) = json(&root.path().join("data.yaml"), &[]);
    assert_eq!(
        (code, counts(&found, "findings"), counts(&found, "notes")),
        (0, expected([]), expected([])),
        "{found:#}"
    );
    let objects = &found["objects"];
    assert_eq!(
        (&objects["objects"], &objects["classes_without"], &found["imbalance"]),
        (&value!(2), &value!([]), &value!(1.0))
    );
    // A set without objects says nothing of them.
    let root = shard(&[("a.png", &png[..]), ("a.cls", b"0")]);
    let (found, _) = json(&root.path().join("0.tar"), &[]);
    assert_eq!((&found["objects"], &found["files"][0]["objects"]), (&Value::Null, &Value::Null));
    assert!(!text(&doctor(&[root.path().join("0.tar").to_str().unwrap()])).contains("Objects"));
}

#[test]
fn fields_are_looked_at_where_they_are_asked_for() {
    let (png, mask, small) =
        (encode(picture(40, 30), Codec::Png), encode(picture(40, 30), Codec::Bmp), encode(picture(20, 15), Codec::Png));
    let root = shard(&[
        ("a.json", br#"{"boxes": [[30, 20, 50, 25]], "labels": [1]}"#),
        ("a.mask.png", &mask),
        ("a.png", &png[..]),
        ("b.json", b"[]"),
        ("b.mask.png", &small),
        ("b.png", &encode(picture(41, 30), Codec::Png)),
    ]);
    let path = root.path().join("0.tar");
    let (found, code) = json(&path, &["--fields", "json=boxes:objects,mask.png=mask"]);
    assert_eq!((code, counts(&found, "findings")), (3, expected([("box_beyond", 1)])), "{found:#}");
    assert_eq!(counts(&found, "notes"), expected([("no_objects", 1), ("other_size", 1)]));
    assert_eq!(found["files"][1]["other_sizes"], value!(["mask has 20x15"]));
    // No class has a name, so no label is unknown.
    assert_eq!((&found["objects"]["unknown_labels"], &found["classes"]), (&value!([]), &value!([])));
}
