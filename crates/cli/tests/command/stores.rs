//! Data sets in a store, by the commands that read one: each has to work with an address as with a path.

use crate::words::Run as _;
use gpufeed_testing::encoded::{encode, picture};
use gpufeed_testing::store_server::{Fault, StoreServer};
use image::ImageFormat as Codec;
use serde_json::Value;
use std::process::{Command, Output};

const SAMPLES: u32 = 40;

/// A server with two shards, and its indexes beside them.
fn served() -> StoreServer {
    let server = StoreServer::start();
    for shard in 0..2 {
        let mut archive = tar::Builder::new(Vec::new());
        for number in 0..SAMPLES / 2 {
            let (jpeg, label) = (encode(picture(90 + number, 70 + shard), Codec::Jpeg), (number % 3).to_string());
            for (ending, bytes) in [("jpg", &jpeg[..]), ("cls", label.as_bytes())] {
                let mut header = tar::Header::new_gnu();
                header.set_size(bytes.len() as u64);
                archive.append_data(&mut header, format!("{shard}-{number:03}.{ending}"), bytes).unwrap();
            }
        }
        server.put(&format!("bucket/set/t-{shard}.tar"), archive.into_inner().unwrap());
    }
    server
}

/// Runs the command, which finds the server by the variables of S3.
fn gpufeed(server: &StoreServer, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gpufeed"));
    command.envs(server.s3_settings()).env("NODEVICE_SELECT", "1").args(arguments).run()
}

/// Runs the command, and returns its standard output as text.
fn text(server: &StoreServer, arguments: &[&str]) -> String {
    let output = gpufeed(server, arguments);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn json(server: &StoreServer, arguments: &[&str]) -> Value {
    serde_json::from_str(&text(server, arguments)).unwrap()
}

#[test]
fn bench_reads_blocks_of_a_remote_set_and_names_the_order() {
    let server = served();
    let short = ["--seconds", "0.2", "--workers", "1", "--backend", "cpu", "--batch-size", "8"];
    for (address, more) in
        [(server.s3("bucket/set"), &["--quick"][..]), (server.web("bucket/set/t-{0..1}.tar"), &[][..])]
    {
        let report = json(&server, &[&["bench", "--data", &address, "--json", "-"], &short[..], more].concat());
        assert_eq!(report["data"]["samples"], SAMPLES, "{address}");
        let notes = report["notes"].as_array().unwrap();
        let order = notes
            .iter()
            .filter(|note| note.as_str().unwrap().starts_with("order: blocks:256:4, as the data are remote"));
        assert_eq!(order.count(), 1, "{address}: {notes:?}");
        assert!(report["images_per_second"]["median"].as_f64().unwrap() > 0.0, "{address}");
    }
    let shown = text(&server, &[&["bench", "--data", &server.s3("bucket/set"), "--quick"], &short[..]].concat());
    assert!(shown.contains("order: blocks:256:4") && shown.contains("Remote data"), "{shown}");
}

#[test]
fn doctor_explain_preview_and_index_read_a_remote_set() {
    let server = served();
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    for address in
        [server.s3("bucket/set"), server.s3("bucket/set/t-{0..1}.tar"), server.web("bucket/set/t-{0..1}.tar")]
    {
        let doctor = json(&server, &["doctor", &address, "--json"]);
        assert_eq!((&doctor["format"], doctor["files"].as_array().unwrap().len()), (&"tar".into(), SAMPLES as usize));
        assert_eq!(doctor["findings"], Value::Array(Vec::new()), "{address}");
        let explain = json(&server, &["explain", "--data", &address, "--backend", "cpu", "--json"]);
        assert_eq!(explain["samples"], SAMPLES, "{address}");
        let sheet = file("sheet.png");
        text(&server, &["preview", &address, "--samples", "2", "--draws", "1", "--out", &sheet]);
        assert!(image::open(&sheet).unwrap().width() > 90, "{address}");
        let _ = std::fs::remove_file(file("seek"));
        let index = json(&server, &["index", &address, "--out", &file("seek"), "--workers", "2", "--json"]);
        assert_eq!((&index["samples"], &index["failed"]), (&SAMPLES.into(), &Value::Array(Vec::new())), "{address}");
    }
}

#[test]
fn parts_of_the_shards_are_indexed_by_different_machines() {
    let server = served();
    let address = server.s3("bucket/set");
    let is_there = |shard: u32| server.object(&format!("bucket/set/.t-{shard}.tar.gpufeed-index")).is_some();
    for (part, samples, objects, there) in
        [("1/3", 20, 1, [true, false]), ("0/3", 0, 0, [true, false]), ("2/3", 20, 1, [true, true])]
    {
        let index = json(&server, &["index", &address, "--part", part, "--json"]);
        assert_eq!((&index["samples"], &index["objects"]), (&samples.into(), &objects.into()), "{part}");
        assert_eq!(([is_there(0), is_there(1)], &index["parts"]), (there, &3.into()), "{part}");
    }
    for (more, says) in [
        (&["--prune"][..], "--prune is for seek indexes"),
        (&["--workers", "2"], "--workers is for seek indexes"),
        (&["--workers", "2", "--part", "0/3"], "--workers is for seek indexes"),
    ] {
        let output = gpufeed(&server, &[&["index", &address], more].concat());
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && error.contains(says), "{error}");
    }
}

#[test]
fn a_remote_set_is_not_packed_in_a_random_order() {
    let (server, out) = (served(), tempfile::tempdir().unwrap());
    let address = server.s3("bucket/set");
    let output = gpufeed(&server, &["pack", &address, out.path().join("x").to_str().unwrap(), "--shuffle", "1"]);
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.contains(&format!("{address}: --shuffle: the source is in a store")), "{error}");
}

#[test]
fn a_network_that_fails_leaves_no_sample_of_a_pack_out() {
    let (server, out) = (served(), tempfile::tempdir().unwrap());
    let (address, out) = (server.s3("bucket/set"), out.path().join("packed"));
    text(&server, &["index", &address]);
    let arguments = ["pack", &address, out.to_str().unwrap(), "--verify", "--json"];
    server.script(|request| match request.reads() && request.key.ends_with("t-1.tar") {
        true => Fault::Status(403),
        false => Fault::None,
    });
    let output = gpufeed(&server, &arguments);
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.contains("t-1.tar") && error.contains("403"), "{error}");
    assert!(!error.contains("no data set to pack"), "samples were left out: {error}");
    server.heal();
    let summary = json(&server, &arguments);
    assert_eq!((&summary["samples"], &summary["skipped"]), (&SAMPLES.into(), &Value::Array(vec![])), "{summary}");
}

#[test]
fn a_network_that_fails_ends_doctor_and_index_and_no_sample_is_at_fault() {
    let (server, out) = (served(), tempfile::tempdir().unwrap());
    let (address, seek) = (server.s3("bucket/set"), out.path().join("seek"));
    text(&server, &["index", &address]);
    server.script(|request| match request.reads() && request.key.ends_with("t-1.tar") {
        true => Fault::Status(403),
        false => Fault::None,
    });
    for command in
        [&["doctor", &address, "--json"][..], &["index", &address, "--out", seek.to_str().unwrap(), "--json"]]
    {
        let output = gpufeed(&server, command);
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{command:?}: {error}");
        assert!(error.contains("t-1.tar") && error.contains("403"), "{command:?}: {error}");
        assert!(output.stdout.is_empty(), "{command:?}: no report");
    }
    server.heal();
    let index = json(&server, &["index", &address, "--out", seek.to_str().unwrap(), "--json"]);
    assert_eq!((&index["samples"], &index["failed"]), (&SAMPLES.into(), &Value::Array(Vec::new())));
}

#[test]
fn a_key_with_a_hash_is_read_and_a_set_is_not_packed_into_the_folder_above_it() {
    let (server, local) = (served(), tempfile::tempdir().unwrap());
    server.put("bucket/ha#sh/t#0.tar", server.object("bucket/set/t-0.tar").unwrap());
    let folder = server.s3("bucket/ha#sh");
    for address in [folder.clone(), format!("{folder}/t#0.tar")] {
        let explain = json(&server, &["explain", "--data", &address, "--backend", "cpu", "--json"]);
        assert_eq!(explain["samples"], SAMPLES / 2, "{address}");
    }
    let packed = local.path().join("above/packed").display().to_string();
    text(&server, &["pack", &folder, &packed, "--verify"]);
    // The new set would have its own source in it.
    for (source, above) in [(&folder, server.s3("bucket")), (&packed, local.path().join("above").display().to_string())]
    {
        let output = gpufeed(&server, &["pack", source, &above]);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(1) && error.contains("the source lies in it"), "{error}");
    }
}

#[test]
fn settings_and_keys_that_cannot_be_read_are_named_at_once() {
    let server = served();
    let run = |endpoint: Option<&str>, address: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gpufeed"));
        command.envs(server.s3_settings());
        endpoint.map(|endpoint| command.env("AWS_ENDPOINT_URL", endpoint));
        let output = command.args(["explain", "--backend", "cpu", "--data", address]).run();
        assert_eq!(output.status.code(), Some(1), "{endpoint:?} {address}");
        String::from_utf8(output.stderr).unwrap()
    };
    let error = run(Some("127.0.0.1:9000"), "s3://bucket/set");
    assert!(error.contains("AWS_ENDPOINT_URL") && error.contains("http://") && !error.contains("panicked"), "{error}");
    server.put("bucket/odd//note.txt", b"a".to_vec());
    server.put("bucket/odd/t-0.tar", server.object("bucket/set/t-0.tar").unwrap());
    let error = run(None, "s3://bucket/odd");
    assert!(error.contains("empty") && error.contains("brace list") && !error.contains("retries"), "{error}");
    // It can be read by its name.
    text(&server, &["explain", "--data", &server.s3("bucket/odd/t-0.tar"), "--backend", "cpu"]);
}

#[test]
fn a_web_server_that_refuses_head_is_asked_for_a_byte() {
    let server = served();
    for status in [405, 501] {
        server.script(move |request| match request.method == "HEAD" {
            true => Fault::Status(status),
            false => Fault::None,
        });
        let address = server.web("bucket/set/t-{0..1}.tar");
        assert_eq!(json(&server, &["explain", "--data", &address, "--backend", "cpu", "--json"])["samples"], SAMPLES);
    }
}

/// A photograph that is there twice is found without reading it again.
#[test]
fn doctor_finds_duplicates_in_a_store() {
    let server = StoreServer::start();
    let mut archive = tar::Builder::new(Vec::new());
    for number in 0..6 {
        let jpeg = encode(picture(90, 70 + number % 4), Codec::Jpeg);
        let mut header = tar::Header::new_gnu();
        header.set_size(jpeg.len() as u64);
        archive.append_data(&mut header, format!("{number}.jpg"), &jpeg[..]).unwrap();
    }
    server.put("bucket/set/t-0.tar", archive.into_inner().unwrap());
    let output = gpufeed(&server, &["doctor", &server.s3("bucket/set"), "--json"]);
    assert_eq!(output.status.code(), Some(3), "{}", String::from_utf8_lossy(&output.stderr));
    let doctor: Value = serde_json::from_slice(&output.stdout).unwrap();
    let groups: Vec<_> =
        doctor["duplicates"].as_array().unwrap().iter().map(|group| group["files"].as_array().unwrap().len()).collect();
    assert_eq!(groups, [2, 2], "{}", doctor["duplicates"]);
}

/// Six blocks of 8 MiB come in the requests of four neighbours and of two; read one by one they would be six.
#[test]
fn blocks_are_fetched_ahead_of_pack_index_and_doctor() {
    let (server, out) = (StoreServer::start(), tempfile::tempdir().unwrap());
    let mut archive = tar::Builder::new(Vec::new());
    for number in 0..12 {
        let bitmap = encode(picture(1200, 1000 + number), Codec::Bmp);
        let mut header = tar::Header::new_gnu();
        header.set_size(bitmap.len() as u64);
        archive.append_data(&mut header, format!("{number:03}.bmp"), &bitmap[..]).unwrap();
    }
    let archive = archive.into_inner().unwrap();
    assert_eq!(archive.len().div_ceil(8 << 20), 6);
    server.put("bucket/set/t-0.tar", archive);
    let address = server.s3("bucket/set");
    text(&server, &["index", &address]);
    let (packed, seek) = (out.path().join("packed"), out.path().join("seek"));
    for command in [
        &["pack", &address, packed.to_str().unwrap(), "--workers", "2"][..],
        // The pack is there: its samples are compared with the source's.
        &["pack", &address, packed.to_str().unwrap(), "--workers", "2", "--verify"],
        &["index", &address, "--out", seek.to_str().unwrap(), "--workers", "2"],
        &["doctor", &address],
    ] {
        let before = server.requests();
        text(&server, command);
        let log = server.log();
        let fetched: Vec<_> =
            log[before..].iter().filter(|request| request.reads() && request.key.ends_with(".tar")).collect();
        let bytes: u64 =
            fetched.iter().filter_map(|request| request.range.as_ref()).map(|range| range.end - range.start).sum();
        assert!(bytes > 40 << 20, "{command:?} read {bytes} bytes");
        assert!(fetched.len() <= 3, "{command:?}: {fetched:?}");
    }
}

#[test]
fn objects_that_were_replaced_are_another_source() {
    let (server, out) = (served(), tempfile::tempdir().unwrap());
    let address = server.s3("bucket/set");
    let at = |name: &str| out.path().join(name).to_str().unwrap().to_owned();
    text(&server, &["pack", &address, &at("whole")]);
    text(&server, &["pack", &address, &at("parts"), "--plan", "--parts", "2"]);
    text(&server, &["pack", &address, &at("parts"), "--part", "0/2"]);
    // The same keys and lengths: one pixel of one image differs.
    let mut changed = server.object("bucket/set/t-1.tar").unwrap();
    changed[512 + 400] ^= 1;
    server.put("bucket/set/t-1.tar", changed);
    for (arguments, says) in [
        (&["pack", &address, &at("whole")][..], "of what the source was before its files changed"),
        (
            &["pack", &address, &at("parts"), "--part", "1/2"],
            "t-1.tar: it has changed (its size or time) since the plan",
        ),
    ] {
        let output = gpufeed(&server, arguments);
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{error}");
        assert!(error.contains(says), "{error}");
    }
}
