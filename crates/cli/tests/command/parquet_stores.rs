//! Parquet files in a store and on a web server, by the commands that read a data set.

use crate::hub::{TRAIN, expected, files};
use crate::packing::{keyed, text};
use crate::words::Run as _;
use gpufeed_testing::store_server::{Fault, StoreServer};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

const LIST: &str = "bucket/hub/data/train-0000{0..1}-of-00002.parquet";

/// A server with the set. No index is beside its files.
fn served() -> StoreServer {
    let server = StoreServer::start();
    files().into_iter().for_each(|(name, bytes)| server.put(&format!("bucket/hub/{name}"), bytes));
    server
}

fn gpufeed(server: &StoreServer, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gpufeed"));
    command.envs(server.s3_settings()).env("NODEVICE_SELECT", "1").args(arguments).run()
}

/// Runs the command, which has to succeed, and returns its JSON.
fn json(server: &StoreServer, arguments: &[&str]) -> Value {
    let output = gpufeed(server, arguments);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn fails(server: &StoreServer, arguments: &[&str]) -> String {
    let output = gpufeed(server, arguments);
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stdout));
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn each_split_of_a_remote_set_is_packed() {
    let (server, out) = (served(), tempfile::tempdir().unwrap());
    let hub = server.s3("bucket/hub");
    let one = server.web("bucket/hub/data/test-00000-of-00001.parquet");
    for (number, (source, split, has)) in [
        (&hub, "train", "train"),
        (&hub, "test", "test"),
        (&server.s3(LIST), "train", "train"),
        (&server.web(LIST), "train", "train"),
        (&one, "train", "test"),
    ]
    .into_iter()
    .enumerate()
    {
        let out = out.path().join(number.to_string());
        let summary = json(&server, &["pack", source, text(&out), "--split", split, "--verify", "--json"]);
        assert_eq!(summary["verified"]["different"], Value::Array(vec![]), "{source}");
        assert!(keyed(&out) == expected(has), "{source}: other samples");
    }
}

#[test]
fn parts_of_a_remote_set_make_what_one_run_makes() {
    let (server, out) = (served(), tempfile::tempdir().unwrap());
    for (split, source) in [("train", server.s3(LIST)), ("test", server.s3("bucket/hub"))] {
        let out = out.path().join(split);
        let run = |more: &[&str]| json(&server, &[&["pack", &source, text(&out), "--json"], more].concat());
        run(&["--plan", "--parts", "2", "--shard-bytes", "8K", "--split", split]);
        for part in ["1/2", "0/2"] {
            run(&["--part", part, "--verify"]);
        }
        assert_eq!(run(&["--join", "--verify"])["verified"]["different"], Value::Array(vec![]));
        assert!(keyed(&out) == expected(split), "other samples");
    }
}

#[test]
fn a_network_that_fails_leaves_no_row_out() {
    let (server, out) = (served(), tempfile::tempdir().unwrap());
    let source = server.s3("bucket/hub");
    assert_eq!(json(&server, &["index", &source, "--json"])["samples"], 25);
    let arguments = ["pack", &source, text(out.path()), "--verify", "--json"];
    server.script(|request| match request.reads() && request.key.ends_with("train-00001-of-00002.parquet") {
        true => Fault::Status(403),
        false => Fault::None,
    });
    let error = fails(&server, &arguments);
    assert!(error.contains("train-00001-of-00002.parquet") && error.contains("403"), "{error}");
    server.heal();
    let summary = json(&server, &arguments);
    assert_eq!((&summary["samples"], &summary["skipped"]), (&TRAIN.into(), &Value::Array(vec![])), "{summary}");
}

#[test]
fn files_that_were_replaced_are_another_source() {
    let (server, out) = (served(), tempfile::tempdir().unwrap());
    let source = server.s3("bucket/hub");
    let [whole, parts] = ["whole", "parts"].map(|name| out.path().join(name));
    let pack = |out: &Path, more: &[&str]| [&["pack", &source, text(out), "--json"], more].concat().join("\n");
    let run = |line: &str| json(&server, &line.split('\n').collect::<Vec<_>>());
    run(&pack(&whole, &[]));
    run(&pack(&parts, &["--plan", "--parts", "2"]));
    let replace = |name: &str| server.put(name, server.object(name).unwrap());
    // Bytes that are written a second time have another ETag and time.
    replace("bucket/hub/data/test-00000-of-00001.parquet");
    assert_eq!(run(&pack(&whole, &[]))["resumed"], TRAIN);
    replace("bucket/hub/data/train-00001-of-00002.parquet");
    for (line, says) in [
        (pack(&whole, &[]), "of what the source was before its files changed"),
        (
            pack(&parts, &["--part", "1/2"]),
            "train-00001-of-00002.parquet: it has changed (its size or time) since the plan",
        ),
    ] {
        let error = fails(&server, &line.split('\n').collect::<Vec<_>>());
        assert!(error.contains(says), "{error}");
    }
}

#[test]
fn doctor_preview_explain_bench_and_index_read_remote_rows() {
    let (server, out) = (served(), tempfile::tempdir().unwrap());
    let at = |name: &str| out.path().join(name).to_str().unwrap().to_owned();
    for source in [server.s3("bucket/hub"), server.web(LIST)] {
        let doctor = json(&server, &["doctor", &source, "--json"]);
        assert_eq!((&doctor["format"], &doctor["files_scanned"]), (&"parquet".into(), &TRAIN.into()));
        assert_eq!(doctor["findings"], Value::Array(vec![]), "{doctor:#}");
        let name = doctor["files"][1]["path"].as_str().unwrap();
        assert!(name.ends_with("/hub/data/train-00000-of-00002.parquet: row 1, dog/001.v1.JPEG"), "{name}");
        let explain = json(&server, &["explain", "--data", &source, "--backend", "cpu", "--json"]);
        assert_eq!(explain["samples"], TRAIN);
        let sheet = ["--samples", "2", "--draws", "1", "--out", &at("sheet.png"), "--json"];
        let sheet = json(&server, &[&["preview", &source], &sheet[..]].concat());
        assert_eq!(sheet["samples"][1]["name"], "cat/010.v1.JPEG");
        let _ = std::fs::remove_file(at("seek"));
        let index = json(&server, &["index", &source, "--out", &at("seek"), "--json"]);
        assert_eq!((&index["samples"], &index["built"]), (&TRAIN.into(), &16.into()));
    }
    let short = ["--seconds", "0.2", "--workers", "1", "--backend", "cpu", "--batch-size", "8", "--quick"];
    let report = json(&server, &[&["bench", "--data", &server.s3("bucket/hub"), "--json", "-"], &short[..]].concat());
    assert_eq!((&report["data"]["samples"], &report["files_skipped"]), (&TRAIN.into(), &0.into()));
}
