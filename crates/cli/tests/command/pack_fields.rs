//! Tests of `gpufeed pack --fields`: what is chosen becomes members, in one run and in parts.

use crate::captioned::captioned;
use crate::packing::{fails, json, text};
use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::path::Path;

/// Returns the members of all shards by their names.
fn members(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for shard in crate::packing::visible(folder, "tar") {
        let mut archive = tar::Archive::new(fs::File::open(shard).unwrap());
        for member in archive.entries().unwrap() {
            let mut member = member.unwrap();
            let mut content = Vec::new();
            member.read_to_end(&mut content).unwrap();
            found.insert(member.path().unwrap().to_str().unwrap().to_owned(), content);
        }
    }
    found
}

#[test]
fn captions_are_packed_where_they_are_chosen() {
    let (source, root) = (captioned(5, (40, 30)), tempfile::tempdir().unwrap());
    let [named, all, none] = ["named", "all", "none"].map(|name| root.path().join(name));
    let fields = ["--fields", "txt=caption,json=meta", "--verify"];
    let (code, summary) = json(&[&[text(source.path()), text(&named)], &fields[..]].concat());
    assert_eq!((code, &summary["fields"]), (Some(0), &serde_json::json!(["caption", "meta"])), "{summary}");
    assert_eq!(summary["verified"]["different"], serde_json::json!([]), "{summary}");
    let found = members(&named);
    assert_eq!(found.len(), 15);
    assert_eq!(found["000000003.caption.txt"], b"a picture, 3");
    assert_eq!(found["000000003.meta.json"], b"{\"width\": 43}");

    // All fields of this pack have the names that it gave them, and its own source has the names of its members.
    let (code, summary) = json(&[text(&named), text(&all), "--fields", "all"]);
    assert_eq!((code, &summary["fields"]), (Some(0), &serde_json::json!(["caption", "meta"])), "{summary}");
    assert!(members(&all) == found, "other members");
    let (_, summary) = json(&[text(source.path()), text(&root.path().join("endings")), "--fields", "all"]);
    assert_eq!(summary["fields"], serde_json::json!(["json", "txt"]), "{summary}");
    assert!(members(&root.path().join("endings")) == members(source.path()), "other members");

    let (_, summary) = json(&[text(source.path()), text(&none)]);
    assert_eq!(summary["fields"], serde_json::json!([]), "{summary}");
    assert_eq!(members(&none).len(), 5);
    let error = fails(&[text(source.path()), text(&named), "--fields", "txt=caption"]);
    assert!(error.contains("a pack of other fields: caption (text), meta (JSON)"), "{error}");
}

#[test]
fn parts_take_the_fields_of_the_plan() {
    let (source, root) = (captioned(6, (40, 30)), tempfile::tempdir().unwrap());
    let [whole, joined] = ["whole", "joined"].map(|name| root.path().join(name));
    json(&[text(source.path()), text(&whole), "--fields", "txt=caption"]);
    let plan = [text(source.path()), text(&joined), "--plan", "--parts", "2", "--fields", "txt=caption"];
    assert_eq!(json(&plan).0, Some(0));
    for part in ["1/2", "0/2"] {
        assert_eq!(json(&[text(source.path()), text(&joined), "--part", part]).0, Some(0));
    }
    let (code, summary) = json(&[text(source.path()), text(&joined), "--join", "--verify"]);
    assert_eq!((code, &summary["verified"]["different"]), (Some(0), &serde_json::json!([])), "{summary}");
    assert!(members(&joined) == members(&whole), "other members");
}

#[cfg(feature = "lmdb")]
#[test]
fn captions_come_back_from_an_lmdb() {
    let (source, root) = (captioned(5, (40, 30)), tempfile::tempdir().unwrap());
    let [lmdb, tar] = ["lmdb", "tar"].map(|name| root.path().join(name));
    let there = ["--to", "lmdb", "--fields", "txt=caption,json=meta", "--verify"];
    let (code, summary) = json(&[&[text(source.path()), text(&lmdb)], &there[..]].concat());
    assert_eq!((code, &summary["fields"]), (Some(0), &serde_json::json!(["caption", "meta"])), "{summary}");
    assert_eq!(summary["verified"]["different"], serde_json::json!([]), "{summary}");
    let (code, summary) = json(&[text(&lmdb), text(&tar), "--fields", "all"]);
    assert_eq!((code, &summary["fields"]), (Some(0), &serde_json::json!(["caption", "meta"])), "{summary}");
    let found = members(&tar);
    assert_eq!((found.len(), &found["000000003.caption.txt"][..]), (15, &b"a picture, 3"[..]));
}
