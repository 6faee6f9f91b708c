//! Helpers that run `gpufeed pack` and make folders to pack.

use crate::words::Run as _;
use gpufeed::dataset::TarShards;
use gpufeed::{Dataset, Label, SampleData};
use gpufeed_testing::encoded;
use image::ImageFormat as Codec;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

pub(crate) fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gpufeed"));
    command.arg("pack").args(arguments);
    command
}

pub(crate) fn pack(arguments: &[&str]) -> Output {
    command(arguments).run()
}

/// Runs `gpufeed pack --json` and returns the exit code and the summary.
pub(crate) fn json(arguments: &[&str]) -> (Option<i32>, Value) {
    let out = pack(&[arguments, &["--json"]].concat());
    let error = String::from_utf8_lossy(&out.stderr).into_owned();
    (out.status.code(), serde_json::from_slice(&out.stdout).unwrap_or_else(|_| panic!("{error}")))
}

pub(crate) fn fails(arguments: &[&str]) -> String {
    let out = pack(arguments);
    assert_eq!(out.status.code(), Some(1), "{}", String::from_utf8_lossy(&out.stdout));
    String::from_utf8(out.stderr).unwrap()
}

pub(crate) fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Makes a folder of two classes with `each` JPEGs and a PNG in each class, and a JPEG with an EXIF orientation.
pub(crate) fn folder(each: u32) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (class, name) in [(0, "cat"), (1, "wild dog")] {
        let path = folder.path().join(name);
        fs::create_dir(&path).unwrap();
        for number in 0..each {
            let jpeg = encoded::encode(encoded::picture(200 + 7 * number % 50, 150 + class), Codec::Jpeg);
            fs::write(path.join(format!("{number:04}.x.jpg")), jpeg).unwrap();
        }
        fs::write(path.join("p.png"), encoded::encode(encoded::picture(40, 30 + class), Codec::Png)).unwrap();
    }
    let turned = encoded::with_exif(&encoded::encode(encoded::picture(90, 60), Codec::Jpeg), 6);
    fs::write(folder.path().join("cat/turned.jpeg"), turned).unwrap();
    folder
}

/// Returns the key, the bytes and the label of each sample in a folder of shards.
pub(crate) fn keyed(folder: &Path) -> Vec<(String, Vec<u8>, Label)> {
    let (data, mut buffer) = (TarShards::builder().allow_unlabelled(true).open(folder).unwrap(), Vec::new());
    let mut read = |index| {
        let sample = data.read(index, &mut buffer).unwrap();
        let SampleData::Encoded(bytes) = sample.data else { panic!("pixels") };
        (data.key(index).unwrap().1.to_owned(), bytes.to_vec(), sample.label)
    };
    (0..data.len()).map(&mut read).collect()
}

/// Waits until `holds` returns true; panics with `what` after 60 s.
#[cfg(unix)]
pub(crate) fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let start = std::time::Instant::now();
    while !holds() {
        assert!(start.elapsed().as_secs() < 60, "{what}");
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}

pub(crate) fn visible(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let paths = fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path());
    let shown = |path: &PathBuf| !path.file_name().unwrap().as_encoded_bytes().starts_with(b".");
    let mut paths: Vec<_> =
        paths.filter(|path| shown(path) && path.extension().is_some_and(|e| e == extension)).collect();
    paths.sort();
    paths
}

/// Makes a pipe at the temporary path of a shard, so that a run blocks when it writes the shard, until it is killed.
/// Returns the pipe's path.
#[cfg(unix)]
pub(crate) fn block(out: &Path, shard: usize) -> PathBuf {
    let part = out.join(format!(".shard-{shard:06}.tar.part"));
    fs::create_dir_all(out).unwrap();
    assert!(Command::new("mkfifo").arg(&part).status().unwrap().success());
    part
}
