//! Tests of `gpufeed doctor` on data sets whose samples are not files.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use crate::doctoring::{counts, damaged, doctor, file, json, text, tree};
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
        .output()
        .unwrap();
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
