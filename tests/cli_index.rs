//! `gpufeed index`: what it builds, prints and ends with.

mod encoded;

use image::ImageFormat as Codec;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use tempfile::TempDir;

fn gpufeed(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_gpufeed")).arg("index").args(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Three JPEGs and a PNG.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("cat")).unwrap();
    for number in 0..3 {
        let jpeg = encoded::encode(encoded::picture(90 + number, 70), Codec::Jpeg);
        fs::write(folder.path().join(format!("cat/{number}.jpg")), jpeg).unwrap();
    }
    fs::write(folder.path().join("cat/3.png"), encoded::encode(encoded::picture(9, 7), Codec::Png)).unwrap();
    folder
}

fn json(folder: &Path, more: &[&str]) -> (Option<i32>, Value) {
    let out = gpufeed(&[&[folder.to_str().unwrap(), "--json"], more].concat());
    (out.status.code(), serde_json::from_slice(&out.stdout).unwrap())
}

#[test]
fn builds_what_is_missing() {
    let folder = folder();
    let (code, first) = json(folder.path(), &["--workers", "2"]);
    assert_eq!(
        (code, &first["samples"], &first["built"], &first["without"]),
        (Some(0), &4.into(), &3.into(), &1.into())
    );
    let index = folder.path().join(".gpufeed-seek-index");
    assert_eq!(first["index_bytes"].as_u64().unwrap(), fs::metadata(&index).unwrap().len());
    let (code, second) = json(folder.path(), &[]);
    assert_eq!((code, &second["built"], &second["present"]), (Some(0), &0.into(), &3.into()));
    let out = gpufeed(&[folder.path().to_str().unwrap()]);
    let text = text(&out.stdout);
    assert!(text.contains("4 files") && text.contains("3 were there") && !text.contains('\u{1b}'), "{text}");
}

#[test]
fn files_that_fail_are_findings() {
    let folder = folder();
    fs::write(folder.path().join("cat/4.jpg"), b"no image").unwrap();
    let elsewhere = folder.path().join("elsewhere");
    let (code, value) = json(folder.path(), &["--out", elsewhere.to_str().unwrap()]);
    assert_eq!((code, &value["built"]), (Some(3), &3.into()));
    assert!(value["failed"][0]["file"].as_str().unwrap().ends_with("4.jpg"), "{value}");
    assert!(elsewhere.exists() && !folder.path().join(".gpufeed-seek-index").exists());
}

#[test]
fn what_cannot_be_done_is_said() {
    let folder = folder();
    let path = folder.path().to_str().unwrap();
    let missing = folder.path().join("no/such/index");
    let out = gpufeed(&[path, "--out", missing.to_str().unwrap()]);
    assert_eq!(out.status.code(), Some(1));
    assert!(text(&out.stderr).contains("no/such/index"), "{}", text(&out.stderr));
    // Another kind of file stays as it is.
    let thesis = folder.path().join("thesis.txt");
    fs::write(&thesis, "years of work").unwrap();
    assert_eq!(gpufeed(&[path, "--out", thesis.to_str().unwrap()]).status.code(), Some(1));
    assert_eq!(fs::read_to_string(thesis).unwrap(), "years of work");
    assert_eq!(gpufeed(&["/no/such/folder"]).status.code(), Some(1));
    assert_eq!(gpufeed(&[]).status.code(), Some(2));
    let help = gpufeed(&["--help"]);
    assert!(text(&help.stdout).contains(".gpufeed-seek-index"));
}
