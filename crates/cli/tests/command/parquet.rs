//! Parquet files of this machine, by the commands that read a data set: names, splits, labels, files that change.

use crate::hub::{TEST, TRAIN, expected, folder};
use crate::packing::{fails, json, keyed, pack, text};
use crate::words::Run as _;
use gpufeed::{Dataset as _, TarShards};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// Packs, compares with the source, and returns the number of samples.
fn packed(source: &Path, out: &Path, more: &[&str]) -> u64 {
    let (code, summary) = json(&[&[text(source), text(out), "--verify"], more].concat());
    assert_eq!((code, &summary["verified"]["different"]), (Some(0), &Value::Array(vec![])), "{summary}");
    summary["samples"].as_u64().unwrap()
}

#[test]
fn each_split_is_packed_under_the_names_of_its_images() {
    let (hub, out) = (folder(), tempfile::tempdir().unwrap());
    let [train, test, alone, none] = ["train", "test", "alone", "none"].map(|name| out.path().join(name));
    assert_eq!(packed(hub.path(), &train, &[]), TRAIN as u64);
    assert!(keyed(&train) == expected("train"), "other samples");
    assert_eq!(TarShards::open(&train).unwrap().classes(), ["cat", "dog"]);
    assert_eq!(packed(hub.path(), &test, &["--split", "test"]), TEST as u64);
    assert!(keyed(&test) == expected("test"), "other samples");

    let said = |more: &[&str]| String::from_utf8(pack(&[&[text(hub.path())], more].concat()).stderr).unwrap();
    let note = said(&[text(&train)]);
    assert!(note.contains("5 samples to test with are left out; --split test packs them"), "{note}");
    let note = said(&[text(&test), "--split", "test"]);
    assert!(note.contains("20 samples to train on are left out; --split train packs them"), "{note}");

    // A file alone is a set of one part.
    let file = hub.path().join("data/test-00000-of-00001.parquet");
    packed(&file, &alone, &[]);
    assert!(keyed(&alone) == expected("test"), "other samples");
    let error = fails(&[text(&file), text(&none), "--split", "test"]);
    assert!(error.contains("there is no part to test with, which MNIST, CIFAR, folders of Parquet files"), "{error}");
}

#[test]
fn a_random_order_of_rows_has_their_names_and_labels() {
    let (hub, out) = (folder(), tempfile::tempdir().unwrap());
    packed(hub.path(), out.path(), &["--shuffle", "3"]);
    let sorted = |mut samples: Vec<(String, Vec<u8>, gpufeed::Label)>| {
        samples.sort_by(|a, b| a.1.cmp(&b.1));
        samples
    };
    let (found, expected) = (keyed(out.path()), expected("train"));
    assert!(found != expected);
    // The key of a row without a path is its number in the pack, and of two rows with one path the later one has another.
    let own = |samples: &[(String, Vec<u8>, gpufeed::Label)]| {
        let stays = |key: &str| key.ends_with("_v1") && !key.starts_with("cat/002");
        samples
            .iter()
            .map(|(key, image, label)| (stays(key).then(|| key.clone()), image.clone(), label.clone()))
            .collect()
    };
    let [found, expected]: [Vec<_>; 2] = [sorted(found), sorted(expected)].map(|samples| own(&samples));
    assert!(found == expected, "other samples");
}

#[test]
fn parts_of_a_split_make_what_one_run_makes() {
    let (hub, out) = (folder(), tempfile::tempdir().unwrap());
    for split in ["train", "test"] {
        let out = out.path().join(split);
        let run = |more: &[&str]| {
            let (code, summary) = json(&[&[text(hub.path()), text(&out)], more].concat());
            assert_eq!(code, Some(0), "{summary}");
            summary
        };
        run(&["--plan", "--parts", "3", "--split", split, "--shard-bytes", "8K"]);
        for part in ["2/3", "0/3", "1/3"] {
            run(&["--part", part, "--verify"]);
        }
        assert_eq!(run(&["--join", "--verify"])["verified"]["different"], Value::Array(vec![]));
        assert!(keyed(&out) == expected(split), "other samples");
    }
}

/// The source has the files of the split that is packed, and no others.
#[test]
fn rows_whose_file_changes_are_another_source() {
    let (hub, out) = (folder(), tempfile::tempdir().unwrap());
    let [whole, parts] = ["whole", "parts"].map(|name| out.path().join(name));
    let pack_whole = [text(hub.path()), text(&whole)];
    packed(hub.path(), &whole, &[]);
    assert_eq!(json(&[text(hub.path()), text(&parts), "--plan", "--parts", "2"]).0, Some(0));
    let touch = |name: &str| {
        let path = hub.path().join("data").join(name);
        let time = fs::metadata(&path).unwrap().modified().unwrap() + Duration::from_secs(3600);
        fs::File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
    };
    touch("test-00000-of-00001.parquet");
    assert_eq!(json(&pack_whole).1["resumed"], TRAIN);
    touch("train-00001-of-00002.parquet");
    let error = fails(&pack_whole);
    assert!(error.contains("of what the source was before its files changed"), "{error}");
    let error = fails(&[text(hub.path()), text(&parts), "--part", "1/2"]);
    assert!(
        error.contains("train-00001-of-00002.parquet: it has changed (its size or time) since the plan"),
        "{error}"
    );
}

/// Runs the command, which has to succeed, and returns its JSON.
fn value(arguments: &[&str]) -> Value {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gpufeed"));
    let output = command.env("NODEVICE_SELECT", "1").args(arguments).run();
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn preview_explain_and_index_read_the_rows_to_train_on() {
    let (hub, out) = (folder(), tempfile::tempdir().unwrap());
    let at = |name: &str| out.path().join(name).to_str().unwrap().to_owned();
    let list = hub.path().join("data/train-0000{0..1}-of-00002.parquet");
    for source in [text(hub.path()), text(&list)] {
        let sheet = at("sheet.png");
        let sheet = value(&["preview", source, "--samples", "2", "--draws", "1", "--out", &sheet, "--json"]);
        let rows = sheet["samples"].as_array().unwrap();
        let shown: Vec<_> = rows.iter().map(|row| [&row["name"], &row["class"]].map(|text| text.as_str())).collect();
        assert_eq!(shown, [[Some("cat/000.v1.JPEG"), Some("cat")], [Some("cat/010.v1.JPEG"), Some("cat")]]);
        assert!(image::open(at("sheet.png")).unwrap().width() > 60);
        assert_eq!(value(&["explain", "--data", source, "--backend", "cpu", "--json"])["samples"], TRAIN);
        let _ = fs::remove_file(at("seek"));
        let index = value(&["index", source, "--out", &at("seek"), "--json"]);
        // The others are PNGs.
        assert_eq!((&index["samples"], &index["built"], &index["without"]), (&20.into(), &16.into(), &4.into()));
    }
    // Without --out the file lies beside the rows, where a loader looks for it.
    let index = value(&["index", text(hub.path()), "--json"]);
    assert_eq!(index["index"], text(&hub.path().join("data/.gpufeed-seek-index")));
}

#[test]
fn bench_measures_the_rows_to_train_on() {
    let hub = folder();
    let short = ["--seconds", "0.2", "--workers", "1", "--backend", "cpu", "--batch-size", "8", "--quick"];
    let report = value(&[&["bench", "--data", text(hub.path()), "--json", "-"], &short[..]].concat());
    let bytes: usize = expected("train").iter().map(|(_, image, _)| image.len()).sum();
    assert_eq!((&report["data"]["samples"], &report["data"]["bytes"]), (&TRAIN.into(), &bytes.into()), "{report:#}");
    assert_eq!(report["files_skipped"], 0);
}
