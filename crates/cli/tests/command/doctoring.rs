//! Helpers that run `gpufeed doctor` and make folders for it.

use crate::words::Run as _;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

pub(crate) fn doctor(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gpufeed"));
    command.arg("doctor").args(arguments).env("NODEVICE_SELECT", "1").env_remove("GPUFEED_ADAPTER");
    command.run()
}

pub(crate) fn text(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// Runs `gpufeed doctor --json` and returns the JSON object and the exit code.
pub(crate) fn json(folder: &Path, more: &[&str]) -> (Value, i32) {
    let output = doctor(&[&[folder.to_str().unwrap(), "--json"], more].concat());
    let value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
    (value, output.status.code().unwrap())
}

/// Returns the number of findings or notes of each kind.
pub(crate) fn counts(value: &Value, which: &str) -> BTreeMap<String, u64> {
    let all = value[which].as_array().unwrap().iter();
    all.map(|found| (found["kind"].as_str().unwrap().to_owned(), found["count"].as_u64().unwrap())).collect()
}

pub(crate) fn file<'a>(value: &'a Value, path: &str) -> &'a Value {
    let found = value["files"].as_array().unwrap().iter().find(|file| file["path"] == path);
    found.unwrap_or_else(|| panic!("{path} is not listed"))
}

pub(crate) fn tree(files: &[(&str, &[u8])]) -> TempDir {
    let root = tempfile::tempdir().unwrap();
    for (path, bytes) in files {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    root
}

/// Damages a JPEG: puts ones into the middle of its scan. A code of sixteen ones is not in the standard tables.
pub(crate) fn damaged(jpeg: &[u8]) -> Vec<u8> {
    let mut bytes = jpeg.to_vec();
    let scan = bytes.windows(2).rposition(|pair| pair == [0xFF, 0xDA]).unwrap() + 14;
    let middle = (scan + bytes.len()) / 2;
    bytes[middle - 1] = 0;
    bytes[middle..middle + 20].copy_from_slice(&[0xFF, 0].repeat(10));
    bytes
}
