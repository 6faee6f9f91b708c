//! Tests of `--fields` and of recipes with groups: `explain`, `preview`, `bench` and `doctor` read captions, and show each
//! group.

use crate::captioned::captioned;
use crate::words::Run as _;
use gpufeed::transforms::ParamsOp;
use gpufeed::{Backend, DataLoader, recipe};
use gpufeed_testing::encoded;
use image::ImageFormat;
use serde_json::{Value, json};
use std::path::Path;
use std::process::{Command, Output};

const GROUPS: &str = "\
[output]
layout = \"Nhwc\"
dtype = \"U8\"
[[group]]
name = \"global\"
views = 2
[[group.transform]]
type = \"RandomResizedCrop\"
size = 180
[[group]]
name = \"local\"
views = 3
[[group.transform]]
type = \"RandomResizedCrop\"
size = [170, 161]
";

fn gpufeed(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gpufeed"));
    command.current_dir(folder).env("NODEVICE_SELECT", "1").args(arguments).run()
}

fn json_of(folder: &Path, arguments: &[&str]) -> Value {
    let output = gpufeed(folder, arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Runs a command that is refused with these words.
fn refused(folder: &Path, arguments: &[&str], code: i32, words: &str) {
    let output = gpufeed(folder, arguments);
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {error}");
    assert!(error.contains(words), "{arguments:?}: {error}");
}

#[test]
fn each_group_is_explained() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("own.toml"), GROUPS).unwrap();
    let explain = ["explain", "--backend", "cpu", "--recipe", "own.toml"];
    let value = json_of(folder.path(), &[&explain[..], &["--json", "--wgsl"]].concat());
    let groups = value["groups"].as_array().unwrap();
    let seen: Vec<_> = groups.iter().map(|group| (&group["name"], &group["views"], &group["output"]["size"])).collect();
    let [two, three, global, local] = [json!(2), json!(3), json!([180, 180]), json!([170, 161])];
    assert_eq!(seen, [(&json!("global"), &two, &global), (&json!("local"), &three, &local)]);
    // The keys from before groups are those of the first one.
    assert_eq!((&value["output"], &value["plan"]), (&groups[0]["output"], &groups[0]["plan"]));
    assert_eq!(value["shaders"], groups[0]["shaders"]);
    // By these the page in `web/` draws each group.
    let named = groups.iter().flat_map(|group| {
        let name = |pass: &Value| format!("{}, {}", group["name"].as_str().unwrap(), pass["name"].as_str().unwrap());
        group["shaders"]["passes"].as_array().unwrap().iter().map(name).collect::<Vec<_>>()
    });
    assert_eq!(value["passes"], json!(named.collect::<Vec<_>>()));
    assert!(value["passes"].as_array().unwrap().iter().any(|pass| pass.as_str().unwrap().starts_with("local, ")));
    assert!(value["recipe"].as_str().unwrap().contains("[[group]]"), "{value:#}");
    let text = String::from_utf8(gpufeed(folder.path(), &explain).stdout).unwrap();
    assert!(text.contains("group global: 2 views of 180x180") && text.contains("group local: 3 views"), "{text}");
    // A recipe with one list has one group, without the name in front of its passes.
    let value = json_of(folder.path(), &["explain", "--backend", "cpu", "--json"]);
    assert_eq!((&value["groups"][0]["name"], &value["groups"][1]), (&json!("image"), &Value::Null));
    assert!(!value["passes"][0].as_str().unwrap().starts_with("image"), "{value:#}");
}

#[test]
fn groups_are_beside_each_other_and_captions_below_the_original() {
    let folder = captioned(3, (260, 240));
    let path = folder.path();
    std::fs::write(path.join("own.toml"), GROUPS).unwrap();
    let preview = ["preview", "00000.tar", "--recipe", "own.toml", "--json", "--draws", "2", "--seed", "5"];
    let out = ["--out", "sheet.png", "--fields", "txt=caption,json=meta"];
    let value = json_of(path, &[&preview[..], &out].concat());
    let sheet = image::open(path.join("sheet.png")).unwrap().to_rgb8();
    for (number, sample) in value["samples"].as_array().unwrap().iter().enumerate() {
        assert_eq!(
            sample["fields"],
            json!({ "caption": format!("a picture, {number}"), "meta": { "width": 260 + number } })
        );
    }
    let data = gpufeed::TarShards::builder().allow_unlabelled(true).open(path.join("00000.tar")).unwrap();
    let own = recipe::load(path.join("own.toml").to_str().unwrap()).unwrap();
    let loader = DataLoader::builder(data).recipe(own).seed(5).batch_size(3).build(&Backend::Cpu).unwrap();
    for batch in loader.epochs(0..2).unwrap() {
        let batch = batch.unwrap();
        let mut drawn = [5 * batch.epoch() as usize; 3];
        for group in batch.groups() {
            let (bytes, size) = (group.to_host().unwrap(), group.bytes() / group.len());
            for (image, (id, params)) in group.ids().iter().zip(group.params()).enumerate() {
                let number = &mut drawn[*id as usize];
                let draw = &value["samples"][*id as usize]["draws"][*number];
                *number += 1;
                assert_eq!((&draw["group"], &draw["epoch"]), (&json!(group.name()), &json!(batch.epoch())));
                assert_eq!(draw["view"], image % group.views());
                let ops: Vec<ParamsOp> = serde_json::from_value(draw["ops"].clone()).unwrap();
                assert_eq!(ops, params.ops);
                let [left, top, width, height] =
                    ["left", "top", "width", "height"].map(|side| draw["place"][side].as_u64().unwrap() as u32);
                let tile = image::imageops::crop_imm(&sheet, left, top, width, height).to_image();
                assert!(tile.into_raw() == bytes[image * size..][..size], "sample {id}, {} {image}", group.name());
            }
        }
    }
    // All views of an epoch are in a line, whatever their groups, and the next epoch's below.
    let tops: Vec<_> =
        (0..10).map(|draw| value["samples"][0]["draws"][draw]["place"]["top"].as_u64().unwrap()).collect();
    assert!(tops[..5].iter().all(|top| *top == tops[0]) && tops[5..].iter().all(|top| *top > tops[0]), "{tops:?}");
    // The caption makes the sheet another picture.
    json_of(path, &[&preview[..], &["--out", "plain.png"]].concat());
    assert!(image::open(path.join("plain.png")).unwrap().to_rgb8() != sheet);
}

#[test]
fn the_crops_of_followers_are_in_the_line_of_their_epoch() {
    let folder = captioned(1, (260, 240));
    let follower = "[[group]]\nname = \"crops\"\n[[group.transform]]\ntype = \"FiveCrop\"\nsize = 40\n\
                    [[group]]\nname = \"clean\"\nfollows = \"crops\"\n";
    std::fs::write(folder.path().join("own.toml"), follower).unwrap();
    let preview = ["preview", ".", "--recipe", "own.toml", "--json", "--draws", "2", "--out", "sheet.png"];
    let value = json_of(folder.path(), &preview);
    let draws = value["samples"][0]["draws"].as_array().unwrap();
    let tops: Vec<_> = draws.iter().map(|draw| draw["place"]["top"].as_u64().unwrap()).collect();
    assert_eq!(tops.len(), 20);
    assert!(tops[..10].iter().all(|top| *top == tops[0]) && tops[10..].iter().all(|top| *top > tops[0]), "{tops:?}");
}

#[test]
fn depth_is_shown_in_its_own_range() {
    const DEPTH: &str = "[[group]]\nname = \"image\"\n[[group.transform]]\ntype = \"CenterCrop\"\nsize = 180\n\
                         [[group]]\nname = \"depth\"\nsource = \"depth\"\nread_mode = \"gray16\"\nfollows = \"image\"\n";
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    std::fs::create_dir(path.join("rig")).unwrap();
    std::fs::write(path.join("rig/a.png"), encoded::encode(encoded::picture(260, 240), ImageFormat::Png)).unwrap();
    let depth = image::ImageBuffer::from_fn(260, 240, |x, _| image::Luma([1000 + x as u16]));
    depth.save(path.join("rig/a.depth.png")).unwrap();
    std::fs::write(path.join("own.toml"), DEPTH).unwrap();
    let preview = ["preview", "rig", "--recipe", "own.toml", "--fields", "depth.png=depth", "--draws", "1", "--json"];
    let value = json_of(path, &[&preview[..], &["--out", "sheet.png"]].concat());
    let [of_image, of_depth] = [0, 1].map(|draw| &value["samples"][0]["draws"][draw]);
    assert_eq!((&of_image["range"], &of_depth["range"]), (&Value::Null, &json!([1040.0, 1219.0])));
    let place = ["left", "top", "width"].map(|side| of_depth["place"][side].as_u64().unwrap() as u32);
    let sheet = image::open(path.join("sheet.png")).unwrap().to_rgb8();
    let ends = [0, place[2] - 1].map(|x| sheet.get_pixel(place[0] + x, place[1]).0);
    assert_eq!(ends, [[0; 3], [255; 3]]);
}

#[test]
fn a_recipe_without_groups_names_none() {
    let folder = captioned(1, (260, 240));
    let value = json_of(folder.path(), &["preview", ".", "--recipe", "two-views", "--json"]);
    let sample = &value["samples"][0];
    assert_eq!((&sample["draws"][1]["group"], &sample["draws"][1]["view"]), (&Value::Null, &json!(1)));
    assert_eq!(sample["fields"], json!({}));
}

#[test]
fn a_measurement_counts_the_images_of_all_groups() {
    let folder = captioned(8, (260, 240));
    std::fs::write(folder.path().join("own.toml"), GROUPS).unwrap();
    let bench = ["bench", "--quick", "--backend", "cpu", "--seconds", "0.1", "--workers", "1", "--batch-size", "4"];
    let own = ["--recipe", "own.toml", "--data", ".", "--fields", "all", "--json", "-"];
    let value = json_of(folder.path(), &[&bench[..], &own].concat());
    let group = |name: &str, images: u32, [height, width]: [u32; 2]| {
        let mut group = json!({ "name": name, "images_per_sample": images });
        (group["height"], group["width"]) = (height.into(), width.into());
        group
    };
    assert_eq!(value["groups"], json!([group("global", 2, [180, 180]), group("local", 3, [170, 161])]));
    let [images, samples] =
        [&value["images_per_second"]["median"], &value["samples_per_second"]].map(|rate| rate.as_f64().unwrap());
    assert!((images / samples - 5.0).abs() < 1e-9, "{images} images, {samples} samples");
    assert_eq!(value["files_skipped"], 0);
}

#[test]
fn files_beside_the_images_of_a_folder_are_fields() {
    let root = tempfile::tempdir().unwrap();
    for (class, number) in [("cat", 0), ("dog", 1)] {
        let folder = root.path().join(class);
        std::fs::create_dir(&folder).unwrap();
        let jpeg = encoded::encode(encoded::picture(60 + number, 40), ImageFormat::Jpeg);
        std::fs::write(folder.join("1.jpg"), jpeg).unwrap();
        std::fs::write(folder.join("1.txt"), format!("a {class}")).unwrap();
    }
    let output = gpufeed(root.path(), &["doctor", ".", "--json", "--fields", "txt=caption"]);
    let value: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&value["image_folder"]["usable"], &value["format"]), (&json!(2), &json!("folder")), "{value:#}");
    assert!(value["data_notes"].as_array().unwrap().contains(&json!("fields are caption (text)")), "{value:#}");
    let value = json_of(root.path(), &["preview", ".", "--json", "--fields", "txt=caption"]);
    assert_eq!(value["samples"][1]["fields"], json!({ "caption": "a dog" }));
}

#[test]
fn doctor_finds_samples_without_a_field_that_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    for number in 0..2 {
        let jpeg = encoded::encode(encoded::picture(60 + number, 40), ImageFormat::Jpeg);
        std::fs::write(folder.path().join(format!("{number}.jpg")), jpeg).unwrap();
    }
    std::fs::write(folder.path().join("0.txt"), "a caption").unwrap();
    let doctor = |fields: &str| {
        let output = gpufeed(folder.path(), &["doctor", ".", "--json", "--fields", fields]);
        (output.status.code(), serde_json::from_slice::<Value>(&output.stdout).unwrap())
    };
    let (code, value) = doctor("txt=caption");
    assert_eq!((code, &value["verdicts"]), (Some(3), &json!({ "ok": 1, "unreadable": 1 })), "{value:#}");
    assert_eq!(value["files"][1]["reason"], "the sample has no \"caption\"");
    // All that is there may be absent.
    let (code, value) = doctor("all");
    assert_eq!((code, &value["verdicts"]), (Some(0), &json!({ "ok": 2 })), "{value:#}");
}

#[test]
fn a_warning_names_images_that_no_group_shows_and_no_others() {
    let folder = tempfile::tempdir().unwrap();
    for side in ["left", "right"] {
        let jpeg = encoded::encode(encoded::picture(60, 40), ImageFormat::Jpeg);
        std::fs::write(folder.path().join(format!("0.{side}.jpg")), jpeg).unwrap();
    }
    let pair = "[[group]]\nname = \"left\"\n[[group.transform]]\ntype = \"CenterCrop\"\nsize = 20\n\
                [[group]]\nname = \"right\"\nsource = \"right\"\nfollows = \"left\"\ntransform = []\n";
    std::fs::write(folder.path().join("pair.toml"), pair).unwrap();
    let preview = ["preview", ".", "--json", "--fields", "left.jpg=image,right.jpg=right"];
    let output = gpufeed(folder.path(), &[&preview[..], &["--recipe", "pair.toml"]].concat());
    let value: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(value["samples"][0]["draws"][1]["group"], "right");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    let output = gpufeed(folder.path(), &preview);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(said.matches("a field of images is read, but no batch has it; field: right").count(), 1, "{said}");
}

#[test]
fn fields_that_cannot_be_are_refused() {
    let folder = captioned(2, (260, 240));
    let path = folder.path();
    for command in [&["bench"][..], &["explain"], &["doctor"]] {
        refused(path, &[command, &["--fields", "all"]].concat(), 2, "--fields needs");
    }
    refused(path, &["preview", ".", "--fields", "txt="], 2, "all, none, and names work, like txt=caption,json=meta");
    refused(path, &["preview", ".", "--fields", "txt,txt=a"], 2, "txt is named twice");
    refused(path, &["preview", ".", "--max-field-bytes", "9"], 2, "--fields");
    refused(path, &["preview", ".", "--fields", "caption"], 1, "--fields");
    // `none` asks for nothing, so that nothing has to be there.
    let without = json_of(path, &["preview", ".", "--json"]);
    assert_eq!(json_of(path, &["preview", ".", "--json", "--fields", "none"])["samples"], without["samples"]);
    // A caption of more bytes fails its sample.
    let few = ["preview", ".", "--json", "--fields", "txt=caption", "--max-field-bytes"];
    refused(path, &[&few[..], &["4"]].concat(), 1, "no sample can be shown");
    assert_eq!(json_of(path, &[&few[..], &["1K"]].concat())["samples"][1]["fields"]["caption"], "a picture, 1");
}
