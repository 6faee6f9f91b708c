//! Tests of `gpufeed doctor` on data sets whose samples are not files.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use crate::doctoring::{counts, damaged, doctor, file, json, text, tree};
use crate::words::Run as _;
use gpufeed_testing::encoded::{encode, picture};
use image::ImageFormat as Codec;

#[test]
fn other_data_sets_are_looked_through_sample_by_sample() {
    let (jpeg, png) = (encode(picture(40, 24), Codec::Jpeg), encode(picture(24, 40), Codec::Png));
    let files = [("cat/1.jpg", &jpeg[..]), ("cat/2.png", &png), ("dog/3.jpg", &damaged(&jpeg)), ("dog/4.png", &png)];
    let (root, out) = (tree(&files), tempfile::tempdir().unwrap());
    let shards = out.path().join("shards");
    let pack = Command::new(env!("CARGO_BIN_EXE_gpufeed"))
        .args(["pack", root.path().to_str().unwrap(), shards.to_str().unwrap()])
        .run();
    assert!(pack.status.success(), "{}", String::from_utf8_lossy(&pack.stderr));
    let (value, code) = json(&shards, &[]);
    assert_eq!((code, &value["format"]), (3, &"tar".into()), "{value}");
    let expected = [("corrupt", 1), ("duplicate", 2), ("across_classes", 2)].map(|(kind, n)| (kind.to_owned(), n));
    assert_eq!(counts(&value, "findings"), BTreeMap::from(expected));
    let samples = &value["image_folder"];
    assert_eq!((&samples["samples"], &samples["usable"]), (&4.into(), &3.into()));
    assert_eq!(file(&value, "dog/3")["class"], "dog");
    // The findings are those of the packed folder itself.
    let (folder, _) = json(root.path(), &[]);
    assert_eq!(counts(&value, "findings"), counts(&folder, "findings"));
    assert_eq!(folder["format"], "folder");

    let mnist = tempfile::tempdir().unwrap();
    let header = [&[0u8, 0, 8, 3][..], &3u32.to_be_bytes(), &1u32.to_be_bytes(), &2u32.to_be_bytes()].concat();
    fs::write(mnist.path().join("train-images-idx3-ubyte"), [&header[..], &[1, 2, 3, 4, 5, 6]].concat()).unwrap();
    fs::write(mnist.path().join("train-labels-idx1-ubyte"), [0, 0, 8, 1, 0, 0, 0, 3, 5, 5, 12]).unwrap();
    let (value, code) = json(mnist.path(), &[]);
    assert_eq!((code, &value["format"], &value["image_folder"]["usable"]), (0, &"idx".into(), &3.into()), "{value}");
    let classes: Vec<_> = value["classes"].as_array().unwrap().iter().map(|class| &class["name"]).collect();
    assert_eq!(classes, ["5", "12"]);
    let summary = text(&doctor(&[mnist.path().to_str().unwrap()]));
    assert!(summary.contains("3 samples, 6 B") && summary.contains("idx: 3 samples in 2 classes"), "{summary}");

    fs::write(shards.join("shard-000000.tar"), b"no archive").unwrap();
    let output = doctor(&[shards.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
}

/// Rows may share a path, or have none: a row is named by its file and its number.
#[cfg(feature = "parquet")]
#[test]
fn rows_that_are_broken_are_named_by_file_and_number() {
    use crate::hub;
    use gpufeed_testing::parquet_files::{Compression, Row};

    let (jpeg, png) = (encode(picture(70, 50), Codec::Jpeg), encode(picture(30, 20), Codec::Png));
    let row = |(image, path, label): (&[u8], Option<&str>, i64)| Row {
        image: Some(image.to_vec()),
        path: path.map(str::to_owned),
        label: Some(label),
    };
    let rows = [
        (&jpeg[..], Some("a.jpg"), 0),
        (&damaged(&jpeg), Some("cat/image.jpg"), 1),
        (b"no image at all", None, 1),
        (&png, Some("image.jpg"), 0),
        (&[], Some("image.jpg"), -1),
        (&jpeg, Some("b.jpg"), 1),
    ]
    .map(row);
    let root = tree(&[("x.parquet", &hub::of_rows(&rows, Compression::SNAPPY))]);
    let set = root.path().join("x.parquet");
    let (value, code) = json(&set, &[]);
    assert_eq!((code, &value["format"]), (3, &"parquet".into()), "{value:#}");
    let name = |row: &str| format!("{}: row {row}", set.display());
    let names = ["0, a.jpg", "1, cat/image.jpg", "2", "3, image.jpg", "4, image.jpg", "5, b.jpg"].map(name);
    let verdicts = ["ok", "corrupt", "no_image", "ok", "empty", "ok"];
    let classes = [Some("cat"), Some("dog"), Some("dog"), Some("cat"), None, Some("dog")];
    let found = value["files"].as_array().unwrap();
    assert_eq!(found.len(), 6);
    for (((file, name), verdict), class) in found.iter().zip(&names).zip(verdicts).zip(classes) {
        let text = |key: &str| file[key].as_str();
        assert_eq!((text("path"), text("verdict"), text("class")), (Some(&**name), Some(verdict), class), "{file}");
    }
    assert_eq!(found[3]["findings"], serde_json::json!(["wrong_extension"]));
    assert_eq!(value["duplicates"][0]["files"], serde_json::json!([names[0], names[5]]));
    let shown = text(&doctor(&[set.to_str().unwrap(), "--list"]));
    assert!(shown.contains(&format!("{}: corrupt", names[1])) && shown.contains("parquet: 6 samples"), "{shown}");

    // A set in two parts is looked through in that to train on.
    let hub = hub::folder();
    let (value, code) = json(hub.path(), &[]);
    assert_eq!((code, &value["files_scanned"]), (0, &hub::TRAIN.into()), "{value:#}");
}

/// `doctor` names what a set does not read, and does not print "Nothing is wrong".
#[test]
fn what_is_not_read_is_said() {
    let (a, b, c) = (picture(40, 24), picture(24, 40), picture(30, 30));
    let [a, b, c] = [a, b, c].map(|picture| encode(picture, Codec::Png));
    let root = tempfile::tempdir().unwrap();
    let shard = |name: &str, members: &[(&str, &[u8])]| {
        let mut archive = tar::Builder::new(Vec::new());
        for (name, bytes) in members {
            let mut header = tar::Header::new_gnu();
            header.set_size(bytes.len() as u64);
            header.set_mode(0o644);
            archive.append_data(&mut header, name, *bytes).unwrap();
        }
        let path = root.path().join(name);
        fs::write(&path, archive.into_inner().unwrap()).unwrap();
        path
    };
    let dotted = [("a.png", &a[..]), ("a.cls", b"0"), ("photo 12.05.2021.png", &b), ("photo 12.05.2021.cls", b"1")];
    let (value, code) = json(&shard("dotted.tar", &dotted), &[]);
    assert_eq!((code, &value["image_folder"]["usable"]), (0, &2.into()), "{value:#}");
    assert!(value["data_notes"][1].as_str().unwrap().starts_with("samples with dots in their names: 1"), "{value:#}");

    let masks =
        [("a.png", &a[..]), ("a.cls", b"0"), ("a.seg.png", &b), ("b.png", &c), ("b.cls", b"1"), ("b.xmp", b"?")];
    let path = shard("masks.tar", &masks);
    let (value, code) = json(&path, &[]);
    assert_eq!((code, &value["image_folder"]["usable"]), (3, &2.into()), "{value:#}");
    let shown = text(&doctor(&[path.to_str().unwrap()]));
    assert!(shown.contains("1 member in .seg.png is not read: a.seg.png"), "{shown}");
    assert!(shown.contains("1 member in .xmp is not read: b.xmp") && !shown.contains("Nothing is wrong"), "{shown}");
    let explain = Command::new(env!("CARGO_BIN_EXE_gpufeed"))
        .args(["explain", "--backend", "cpu", "--data", path.to_str().unwrap()])
        .run();
    assert!(text(&explain).contains("data: 1 member in .seg.png is not read: a.seg.png"), "{}", text(&explain));
    let warned = String::from_utf8_lossy(&explain.stderr).into_owned();
    assert_eq!(warned.matches("1 member in .seg.png is not read").count(), 1, "{warned}");

    let texts = [("a.png", &a[..]), ("a.txt", b"7"), ("b.png", &b), ("b.txt", b"a cat")];
    let (value, code) = json(&shard("texts.tar", &texts), &[]);
    assert_eq!((code, &value["files"][0]["class"]), (3, &serde_json::Value::Null), "{value:#}");
    assert!(value["data_warnings"][0].as_str().unwrap().starts_with("1 of 2 members in .txt are numbers"), "{value:#}");

    // Fields that are asked for are named, and checked in each sample.
    let laion =
        [("a.png", &a[..]), ("a.json", b"{}"), ("a.txt", b"a cat"), ("b.png", &b), ("b.json", b"{"), ("b.txt", b"")];
    let path = shard("laion.tar", &laion);
    let (value, code) = json(&path, &["--fields", "txt=caption"]);
    assert_eq!((code, &value["data_notes"][0]), (3, &"fields are caption (text)".into()), "{value:#}");
    assert_eq!(value["image_folder"]["usable"], 2, "{value:#}");
    let (value, code) = json(&path, &["--fields", "all"]);
    assert_eq!((code, &value["data_notes"][0]), (3, &"fields are json (JSON), txt (text)".into()), "{value:#}");
    assert_eq!(value["image_folder"]["usable"], 1, "{value:#}");
    let explain = Command::new(env!("CARGO_BIN_EXE_gpufeed"))
        .args(["explain", "--backend", "cpu", "--fields", "txt=caption,json=meta", "--data", path.to_str().unwrap()])
        .run();
    assert!(text(&explain).contains("fields: caption (text), meta (JSON)\n"), "{}", text(&explain));

    let folder = tree(&[(".ipynb_checkpoints/1.png", &a), ("cat/2.png", &b)]);
    let shown = text(&doctor(&[folder.path().to_str().unwrap()]));
    assert!(
        shown.contains("the first .ipynb_checkpoints, with 1 images") && !shown.contains("Nothing is wrong"),
        "{shown}"
    );

    let list = tree(&[("1.png", &a), ("2.png", &b), ("list.csv", b"path,label,width\n1.png,dog,40\n2.png,cat,24\n")]);
    let shown = text(&doctor(&[list.path().join("list.csv").to_str().unwrap()]));
    assert!(shown.contains("labels are 2 classes by name from the column label"), "{shown}");
    assert!(shown.contains("not read: the column width") && shown.contains("Nothing is wrong"), "{shown}");
}

/// What a loader counts by its ending is a finding, whatever its bytes are.
#[test]
fn formats_that_are_not_decoded_are_named() {
    let png = encode(picture(24, 24), Codec::Png);
    let avif = b"\0\0\0\x18ftypavif";
    let files = [
        ("cat/1.png", &png[..]),
        ("cat/2.heic", b"?"),
        ("cat/3.AVIF", avif),
        ("cat/4.txt", b"?"),
        // Neither files beside the class folders nor drawings and headers are images of the set.
        ("preview.avif", avif),
        ("paper.psd", b"?"),
        ("cat/plot.svg", b"<svg"),
        ("cat/1.hdr", b"ENVI"),
    ];
    let root = tree(&files);
    let (value, code) = json(root.path(), &[]);
    assert_eq!((code, &value["image_folder"]["samples"]), (3, &1.into()), "{value:#}");
    let expected = [("no_image", 1), ("unsupported", 1)].map(|(kind, n)| (kind.to_owned(), n));
    assert_eq!(counts(&value, "findings"), BTreeMap::from(expected));
    let shown = text(&doctor(&[root.path().to_str().unwrap(), "--list"]));
    assert!(shown.contains("cat/2.heic: no image") && shown.contains("cat/3.AVIF: unsupported"), "{shown}");
    let explain = Command::new(env!("CARGO_BIN_EXE_gpufeed"))
        .args(["explain", "--backend", "cpu", "--data", root.path().to_str().unwrap()])
        .run();
    let said = text(&explain);
    assert!(
        said.contains("1 file in .heic is not read: 2.heic") && said.contains("2 files in .avif are not read"),
        "{said}"
    );
}

/// A class that links to `/` is neither walked by the loader nor by doctor.
#[cfg(unix)]
#[test]
fn a_link_to_everything_is_not_walked() {
    let png = encode(picture(24, 24), Codec::Png);
    let root = tree(&[("cat/1.png", &png)]);
    std::os::unix::fs::symlink("/", root.path().join("all")).unwrap();
    let (value, code) = json(root.path(), &[]);
    assert_eq!((code, &value["files_scanned"]), (3, &1.into()));
    assert!(
        value["data_warnings"][0].as_str().unwrap().contains("the link all is not followed"),
        "{}",
        value["data_warnings"]
    );
}
