//! Tests of `gpufeed pack --shuffle`: the same samples in a random order, whichever way they are packed.

use crate::packing::{fails, folder, json, keyed, text};
use gpufeed::Label;
use serde_json::Value;
use std::fs;
use std::path::Path;

/// Packs and compares with the source; the exit code has to be 0. Returns the samples of the shards.
fn shuffled(source: &Path, out: &Path, seed: &str) -> Vec<(String, Vec<u8>, Label)> {
    let arguments = [text(source), text(out), "--shuffle", seed, "--shard-bytes", "24K", "--verify"];
    let (code, summary) = json(&arguments);
    assert_eq!((code, &summary["verified"]["different"]), (Some(0), &Value::Array(vec![])), "{summary}");
    keyed(out)
}

fn sorted(mut samples: Vec<(String, Vec<u8>, Label)>) -> Vec<(String, Vec<u8>, Label)> {
    samples.sort_by(|a, b| a.0.cmp(&b.0));
    samples
}

#[test]
fn samples_come_in_the_order_of_the_seed() {
    let (source, out) = (folder(20), tempfile::tempdir().unwrap());
    let at = |name: &str| out.path().join(name);
    let plain = [text(source.path()), text(&at("plain"))].map(str::to_owned);
    assert_eq!(json(&[&plain[0], &plain[1], "--shard-bytes", "24K"]).0, Some(0));
    let plain = keyed(&at("plain"));
    let by_three = shuffled(source.path(), &at("three"), "3");
    assert!(by_three != plain && sorted(by_three.clone()) == sorted(plain.clone()), "other samples");
    assert!(by_three == shuffled(source.path(), &at("again"), "3"), "a seed has one order");
    assert!(by_three != shuffled(source.path(), &at("four"), "4"), "each seed has its own order");
    // Classes are mixed: of 43 samples in a random order, 22 neighbours are of two classes, with a deviation of 3.
    let changes = |samples: &[(String, Vec<u8>, Label)]| samples.windows(2).filter(|two| two[0].2 != two[1].2).count();
    assert_eq!(changes(&plain), 1);
    assert!((10..35).contains(&changes(&by_three)), "{}", changes(&by_three));
    // A pack can be shuffled again: its samples have keys instead of files.
    let again = shuffled(&at("plain"), &at("shards"), "3");
    assert!(again != plain && sorted(again) == sorted(plain), "other samples");
}

#[test]
fn a_shuffled_pack_goes_on_and_tells_orders_apart() {
    let (source, out) = (folder(10), tempfile::tempdir().unwrap());
    let shards = out.path().join("shards");
    let whole = shuffled(source.path(), &shards, "3");
    fs::remove_file(shards.join("shard-000002.tar")).unwrap();
    assert!(shuffled(source.path(), &shards, "3") == whole, "other shards");
    for (other, kept) in [(&["--shuffle", "4"][..], "--shuffle 3"), (&[], "--shuffle 3")] {
        let error = fails(&[&[text(source.path()), text(&shards), "--shard-bytes", "24K"], other].concat());
        assert!(error.contains(&format!("a pack of other settings: {kept}")), "{error}");
    }
    let plain = out.path().join("plain");
    assert_eq!(json(&[text(source.path()), text(&plain)]).0, Some(0));
    let error = fails(&[text(source.path()), text(&plain), "--shuffle", "3"]);
    assert!(error.contains("a pack of other settings: the source's order"), "{error}");
}

#[test]
fn parts_make_what_one_run_makes() {
    let (images, out) = (folder(12), tempfile::tempdir().unwrap());
    let packed = out.path().join("packed");
    assert_eq!(json(&[text(images.path()), text(&packed)]).0, Some(0));
    let list = images.path().join("list.csv");
    fs::write(&list, (0..12).fold("path,label\n".to_owned(), |list, n| format!("{list}cat/{n:04}.x.jpg,{}\n", n % 3)))
        .unwrap();
    // Files below a folder, those of a list, and shards, which each part opens whole.
    for (name, source) in [("folder", images.path()), ("list", &list), ("shards", &packed)] {
        let (one, joined) = (out.path().join(format!("{name}-one")), out.path().join(format!("{name}-joined")));
        let whole = shuffled(source, &one, "5");
        let plan = [text(source), text(&joined), "--shuffle", "5", "--plan", "--parts", "3"];
        assert_eq!(json(&plan).0, Some(0), "{name}");
        for part in ["2/3", "0/3", "1/3"] {
            let (code, summary) = json(&[text(source), text(&joined), "--part", part, "--verify"]);
            assert_eq!(
                (code, &summary["verified"]["different"]),
                (Some(0), &Value::Array(vec![])),
                "{name}: {summary}"
            );
        }
        let (code, summary) = json(&[text(source), text(&joined), "--join", "--verify"]);
        assert_eq!((code, &summary["verified"]["different"]), (Some(0), &Value::Array(vec![])), "{name}: {summary}");
        assert!(keyed(&joined) == whole, "{name}: another order");
        let out = crate::packing::pack(&[text(source), text(&joined), "--part", "0/3", "--shuffle", "5"]);
        assert_eq!(out.status.code(), Some(2), "the plan has settled the order");
    }
}

#[cfg(feature = "lmdb")]
#[test]
fn a_database_is_shuffled_too() {
    use gpufeed::{Dataset, SampleData};
    let (source, out) = (folder(10), tempfile::tempdir().unwrap());
    let shards = shuffled(source.path(), &out.path().join("shards"), "3");
    let database = out.path().join("lmdb");
    let arguments = [text(source.path()), text(&database), "--shuffle", "3", "--to", "lmdb", "--verify"];
    let (code, summary) = json(&arguments);
    assert_eq!((code, &summary["verified"]["different"]), (Some(0), &Value::Array(vec![])), "{summary}");
    let (data, mut buffer) = (gpufeed::dataset::Lmdb::open(&database).unwrap(), Vec::new());
    for (index, (key, bytes, label)) in shards.iter().enumerate() {
        let sample = data.read(index, &mut buffer).unwrap();
        assert!(matches!(sample.data, SampleData::Encoded(found) if found == bytes) && sample.label == *label, "{key}");
    }
}
