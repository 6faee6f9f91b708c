//! Tests of the boxes and keypoints that `gpufeed preview` draws: on the draws as they have moved, on the originals as these are
//! shown.

use crate::doctoring::tree;
use crate::words::Run as _;
use gpufeed_testing::encoded::{encode, with_exif};
use image::{ImageFormat, Rgb, RgbImage};
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

const GRAY: Rgb<u8> = Rgb([128; 3]);
/// The colours of the labels 1 and 2.
const ONE: Rgb<u8> = Rgb([0, 130, 200]);
const TWO: Rgb<u8> = Rgb([40, 160, 60]);
/// The original's place on a sheet begins here.
const GAP: u32 = 16;

/// Crops 140 pixels from the middle and flips them.
const RECIPE: &str = "\
[output]
layout = \"Nhwc\"
dtype = \"U8\"
[[transform]]
type = \"CenterCrop\"
size = 140
[[transform]]
type = \"RandomHorizontalFlip\"
p = 1.0
";

fn preview(folder: &Path, arguments: &[&str]) -> Value {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gpufeed"));
    let output = command.current_dir(folder).env("NODEVICE_SELECT", "1").arg("preview").args(arguments).run();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// A set of COCO's with an image of 200x150, two boxes with a keypoint each, and the recipe. An image that is turned by EXIF
/// lies beside it.
fn coco() -> TempDir {
    let jpeg = encode(RgbImage::from_pixel(200, 150, GRAY), ImageFormat::Jpeg);
    let of_image = |id: u32, image: u32, category: u32, bbox: [u32; 4], keypoints: [u32; 3]| json!({ "id": id, "image_id": image, "category_id": category, "bbox": bbox, "keypoints": keypoints, "area": 1 });
    let document = json!({
        "images": [
            { "id": 7, "file_name": "a.jpg", "width": 200, "height": 150 },
            { "id": 9, "file_name": "turned.jpg", "width": 200, "height": 150 },
        ],
        "annotations": [
            of_image(1, 7, 1, [60, 40, 50, 30], [70, 110, 2]),
            of_image(2, 7, 2, [0, 100, 60, 45], [75, 120, 1]),
            of_image(3, 9, 1, [60, 40, 50, 30], [0, 0, 0]),
        ],
        "categories": [{ "id": 1, "name": "cat" }, { "id": 2, "name": "dog" }],
    });
    tree(&[
        ("annotations/instances_val.json", document.to_string().as_bytes()),
        ("val/a.jpg", &jpeg),
        ("val/turned.jpg", &with_exif(&jpeg, 6)),
        ("own.toml", RECIPE.as_bytes()),
    ])
}

fn sheet_of(folder: &Path, more: &[&str]) -> (Value, RgbImage) {
    let arguments =
        ["annotations/instances_val.json", "--recipe", "own.toml", "--draws", "1", "--json", "--out", "s.png"];
    let report = preview(folder, &[&arguments[..], more].concat());
    (report, image::open(folder.join("s.png")).unwrap().to_rgb8())
}

/// The pixel of a draw, or of the original beside it.
fn pixel(sheet: &RgbImage, draw: &Value, is_original: bool, (x, y): (u32, u32)) -> Rgb<u8> {
    let [left, top] = ["left", "top"].map(|side| draw["place"][side].as_u64().unwrap() as u32);
    *sheet.get_pixel(if is_original { GAP } else { left } + x, top + y)
}

#[test]
fn outlines_lie_where_the_boxes_have_moved() {
    let root = coco();
    let (report, sheet) = sheet_of(root.path(), &["--sample", "7"]);
    let sample = &report["samples"][0];
    let draw = &sample["draws"][0];
    // The crop begins at (30, 5); the second box is cut to it.
    assert_eq!(draw["objects"]["boxes"], json!([[60.0, 35.0, 110.0, 65.0], [110.0, 95.0, 140.0, 140.0]]), "{draw:#}");
    assert_eq!((&draw["objects"]["labels"], &sample["objects"]), (&json!([1, 2]), &json!(2)));
    assert_eq!(draw["objects"]["keypoints"], json!([[[99.0, 105.0, 2]], [[94.0, 115.0, 1]]]));
    let shown = |place| pixel(&sheet, draw, false, place);
    for (place, color) in [
        ((60, 35), ONE),
        ((61, 50), ONE),
        ((109, 64), ONE),
        ((80, 63), ONE),
        ((62, 37), GRAY),
        ((59, 50), GRAY),
        ((110, 50), GRAY),
        ((110, 95), TWO),
        ((139, 110), TWO),
        ((120, 120), GRAY),
        // A keypoint that is visible, and one that is not.
        ((99, 105), ONE),
        ((99, 108), ONE),
        ((94, 115), GRAY),
    ] {
        assert_eq!(shown(place), color, "{place:?}");
    }
    let original = |place| pixel(&sheet, draw, true, place);
    for (place, color) in [((60, 40), ONE), ((109, 69), ONE), ((62, 42), GRAY), ((0, 110), TWO), ((70, 110), ONE)] {
        assert_eq!(original(place), color, "original {place:?}");
    }
}

#[test]
fn objects_are_not_drawn_where_nobody_wants_them() {
    let root = coco();
    let (report, sheet) = sheet_of(root.path(), &["--sample", "7", "--no-objects"]);
    let draw = &report["samples"][0]["draws"][0];
    assert_eq!(draw["objects"]["labels"], json!([1, 2]));
    for y in 0..140 {
        assert!((0..140).all(|x| pixel(&sheet, draw, false, (x, y)) == GRAY), "row {y}");
        assert!((0..200).all(|x| pixel(&sheet, draw, true, (x, y)) == GRAY), "row {y} of the original");
    }
}

#[test]
fn originals_have_their_boxes_turned_as_they_are_shown() {
    let root = coco();
    let (report, sheet) = sheet_of(root.path(), &["--sample", "9"]);
    let (sample, draw) = (&report["samples"][0], &report["samples"][0]["draws"][0]);
    assert_eq!((&sample["width"], &sample["height"]), (&json!(150), &json!(200)));
    // Turned right the box is at 80 to 110, 60 to 110; the original is reduced to 120x160.
    for (place, color) in [((64, 48), ONE), ((87, 87), ONE), ((64, 87), ONE), ((70, 70), GRAY), ((60, 60), GRAY)] {
        assert_eq!(pixel(&sheet, draw, true, place), color, "{place:?}");
    }
    // The crop begins at (5, 30), and is flipped.
    assert_eq!(draw["objects"]["boxes"], json!([[35.0, 30.0, 65.0, 80.0]]));
    assert_eq!(pixel(&sheet, draw, false, (35, 30)), ONE);
}

#[test]
fn other_sets_with_objects_are_drawn_too() {
    let png = encode(RgbImage::from_pixel(200, 150, GRAY), ImageFormat::Png);
    let voc = "<annotation><object><name>cat</name><bndbox><xmin>60</xmin><ymin>40</ymin><xmax>110</xmax><ymax>70</ymax></bndbox></object></annotation>";
    let root = tree(&[
        ("voc/JPEGImages/a.png", &png),
        ("voc/Annotations/a.xml", voc.as_bytes()),
        ("yolo/images/train/a.png", &png),
        ("yolo/labels/train/a.txt", b"1 0.425 0.3666667 0.25 0.2"),
        ("yolo/data.yaml", b"train: images/train\nnames: [dog, cat]\n"),
        ("own.toml", RECIPE.as_bytes()),
    ]);
    let mut shard = tar::Builder::new(std::fs::File::create(root.path().join("0.tar")).unwrap());
    for (name, bytes) in [("a.json", &br#"{"bbox": [[60, 40, 50, 30]], "label": [1]}"#[..]), ("a.png", &png)] {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        shard.append_data(&mut header, name, bytes).unwrap();
    }
    shard.finish().unwrap();
    for more in [&["voc"][..], &["yolo/data.yaml"], &["0.tar", "--fields", "json=boxes:objects"]] {
        let arguments = ["--recipe", "own.toml", "--draws", "1", "--json", "--out", "s.png"];
        let report = preview(root.path(), &[more, &arguments].concat());
        let (sample, sheet) = (&report["samples"][0], image::open(root.path().join("s.png")).unwrap().to_rgb8());
        let draw = &sample["draws"][0];
        assert_eq!(sample["objects"], 1, "{more:?}: {sample:#}");
        for (place, is_drawn) in [((60, 35), true), ((109, 64), true), ((80, 50), false)] {
            assert_eq!(pixel(&sheet, draw, false, place) != GRAY, is_drawn, "{more:?}: {place:?}");
        }
        assert_ne!(pixel(&sheet, draw, true, (60, 41)), GRAY, "{more:?}");
    }
}
