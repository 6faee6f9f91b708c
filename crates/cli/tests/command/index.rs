//! Tests of `gpufeed index`: the file that it builds, its output, its exit codes.

use crate::words::Run as _;
use gpufeed_testing::encoded;
use image::ImageFormat as Codec;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use tempfile::TempDir;

fn gpufeed(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_gpufeed")).arg("index").args(arguments).run()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Makes a folder with three JPEGs and a PNG.
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

/// Parts write into one file, at the same time if they like.
#[test]
fn parts_write_into_one_file() {
    let parts = folder();
    let path = parts.path().to_str().unwrap();
    let mut processes: Vec<_> = ["0/3", "2/3", "1/3", "1/3"]
        .map(|part| {
            let mut command = Command::new(env!("CARGO_BIN_EXE_gpufeed"));
            command
                .args(["index", path, "--part", part, "--json"])
                .stdout(std::process::Stdio::piped())
                .spawn()
                .unwrap()
        })
        .into_iter()
        .collect();
    for process in &mut processes {
        assert!(process.wait().unwrap().success());
    }
    let (code, again) = json(parts.path(), &[]);
    assert_eq!((code, &again["built"], &again["present"]), (Some(0), &0.into(), &3.into()), "{again}");
    // Four samples: one, one and two of them. There may be more parts than samples.
    let samples = |part: &str| json(parts.path(), &["--part", part]).1["samples"].as_u64().unwrap();
    assert_eq!(["0/3", "1/3", "2/3", "0/9", "2/9"].map(samples), [1, 1, 2, 0, 1]);
    let auto = |more: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gpufeed"));
        command.env_remove("SLURM_ARRAY_TASK_ID").env("JOB_COMPLETION_INDEX", "2");
        command.args(["index", path, "--part", "auto"]).args(more).run()
    };
    assert!(text(&auto(&["--parts", "3"]).stdout).contains("part 2/3: 2 files"));
    assert!(
        text(&auto(&[]).stderr).contains("JOB_COMPLETION_INDEX=2 does not say how many parts there are; add --parts N")
    );
    assert!(text(&auto(&["--parts", "2"]).stderr).contains("--parts has parts 0 to 1: set completions to 2"));
    for bad in [&["--parts", "3"][..], &["--part", "3/3"], &["--part", "0/3", "--prune"]] {
        assert_eq!(gpufeed(&[&[path], bad].concat()).status.code(), Some(2), "{bad:?}");
    }
    let other = gpufeed(&[path, "--part", "0/3", "--parts", "4"]);
    assert!(text(&other.stderr).contains("--part 0/3 is one of 3 parts, but --parts has 4"));
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
    let said = text(&out.stderr);
    assert!(said.contains("no/such/index") && said.contains("--out"), "{said}");
    // A file that is not an index stays as it is.
    let thesis = folder.path().join("thesis.txt");
    fs::write(&thesis, "years of work").unwrap();
    let out = gpufeed(&[path, "--out", thesis.to_str().unwrap()]);
    assert_eq!(out.status.code(), Some(1));
    let said = text(&out.stderr);
    assert!(said.contains("not a file of seek indexes") && said.contains("--out"), "{said}");
    assert_eq!(fs::read_to_string(thesis).unwrap(), "years of work");
    assert_eq!(gpufeed(&["/no/such/folder"]).status.code(), Some(1));
    assert_eq!(gpufeed(&[]).status.code(), Some(2));
    assert_eq!(gpufeed(&[path, "--out", "-"]).status.code(), Some(2));
    let help = gpufeed(&["--help"]);
    assert!(text(&help.stdout).contains(".gpufeed-seek-index"));
}

#[test]
fn indexes_of_other_files_are_removed_when_asked() {
    let folder = folder();
    json(folder.path(), &[]);
    fs::remove_file(folder.path().join("cat/1.jpg")).unwrap();
    let (code, value) = json(folder.path(), &["--prune"]);
    assert_eq!((code, &value["present"], &value["pruned"]), (Some(0), &2.into(), &1.into()));
    assert!(text(&gpufeed(&[folder.path().to_str().unwrap(), "--prune"]).stdout).contains("0 indexes of other files"));
    fs::write(folder.path().join("cat/1.jpg"), b"no image").unwrap();
    assert_eq!(json(folder.path(), &["--prune"]).1["pruned"], 0);
}

#[test]
fn other_data_sets_than_folders_are_taken() {
    let folder = folder();
    let list = folder.path().join("list.csv");
    fs::write(&list, "path,label\ncat/0.jpg,a\ncat/2.jpg,b\n").unwrap();
    let out = folder.path().join("index");
    let (code, value) = json(&list, &["--out", out.to_str().unwrap()]);
    assert_eq!((code, &value["built"]), (Some(0), &2.into()));
}

#[test]
fn warnings_are_shown_once() {
    let folder = folder();
    let index = folder.path().join(".gpufeed-seek-index");
    json(folder.path(), &[]);
    let whole = fs::read(&index).unwrap();
    fs::write(&index, &whole[..30]).unwrap();
    let out = gpufeed(&[folder.path().to_str().unwrap()]);
    let said = text(&out.stderr);
    assert_eq!(said.matches("warning: seek indexes are rebuilt").count(), 1, "{said}");
    assert!(said.contains("cut short") && said.lines().count() == 1, "{said}");
}

#[cfg(target_os = "linux")]
mod stopped {
    use super::*;
    use rustix::process::{Pid, Signal, kill_process};
    use std::process::Stdio;
    use std::thread::sleep;
    use std::time::{Duration, Instant};

    /// Makes a folder with so many files that there is time to stop the command.
    fn many() -> TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("cat")).unwrap();
        let jpeg = encoded::encode(encoded::picture(300, 200), Codec::Jpeg);
        for number in 0..6000_u32 {
            fs::write(folder.path().join(format!("cat/{number}.jpg")), [&jpeg[..], &number.to_le_bytes()].concat())
                .unwrap();
        }
        folder
    }

    #[test]
    fn what_was_done_is_saved() {
        let folder = many();
        let path = folder.path().to_str().unwrap();
        for (signal, before) in [(Signal::INT, 0), (Signal::TERM, 1)] {
            // The lock file shows that the work has begun.
            let lock = folder.path().join(".gpufeed-seek-index.lock");
            let _ = fs::remove_file(&lock);
            let mut command = Command::new(env!("CARGO_BIN_EXE_gpufeed"));
            command.args(["index", path, "--json", "--workers", "1"]).stdout(Stdio::piped());
            let child = command.spawn().unwrap();
            let start = Instant::now();
            while !lock.exists() {
                assert!(start.elapsed() < Duration::from_secs(100), "no work is done");
                sleep(Duration::from_millis(1));
            }
            // The command is stopped after 50 ms, because all of the work takes about a second.
            sleep(Duration::from_millis(50));
            kill_process(Pid::from_child(&child), signal).unwrap();
            let out = child.wait_with_output().unwrap();
            assert_eq!(out.status.code(), Some(130));
            let value: Value = serde_json::from_slice(&out.stdout).unwrap();
            let count = |name: &str| value[name].as_u64().unwrap();
            assert_eq!(value["stopped"], true);
            assert!(
                count("built") > 0 && count("present") >= before && count("built") + count("present") < 6000,
                "{value}"
            );
        }
    }
}

#[cfg(all(feature = "parquet", feature = "remote"))]
#[test]
fn indexes_of_objects_are_put_beside_them() {
    use gpufeed_testing::parquet_files::{Row, Style, file};
    use gpufeed_testing::store_server::{Fault, StoreServer};

    let server = StoreServer::start();
    let run = |key: &str, more: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gpufeed"));
        command.envs(server.s3_settings()).arg("index").arg(server.s3(key)).args(more);
        let out = command.run();
        (out.status.code(), text(&out.stdout), text(&out.stderr))
    };
    let mut archive = tar::Builder::new(Vec::new());
    for number in 0..7 {
        let jpeg = encoded::encode(encoded::picture(20 + number, 15), Codec::Jpeg);
        let mut header = tar::Header::new_gnu();
        header.set_size(jpeg.len() as u64);
        archive.append_data(&mut header, format!("{number}.jpg"), &jpeg[..]).unwrap();
    }
    server.put("bucket/a.tar", archive.into_inner().unwrap());
    let row = |i: u8| Row { image: Some(vec![i; 30]), path: None, label: Some(1) };
    server.put("bucket/hub/data/train-0.parquet", file(&(0..9).map(row).collect::<Vec<_>>(), &Style::default()));
    server.put("bucket/hub/data/test-0.parquet", file(&(0..4).map(row).collect::<Vec<_>>(), &Style::default()));

    // Where one may not write, that is said.
    server.script(|request| if request.method == "PUT" { Fault::Status(403) } else { Fault::None });
    let (code, _, said) = run("bucket/a.tar", &[]);
    assert!(code == Some(1) && said.contains("the indexes cannot be put beside the objects"), "{said}");
    server.heal();
    let (code, said, _) = run("bucket/a.tar", &[]);
    assert_eq!(code, Some(0));
    assert!(said.contains("7 samples in 1 objects, with their indexes beside them"), "{said}");
    let index = || server.object("bucket/.a.tar.gpufeed-index").unwrap();
    let without = index();
    let (code, said, _) = run("bucket/a.tar", &["--fields"]);
    assert!(code == Some(0) && said.contains("7 samples in 1 objects"), "{said}");
    let with = index();
    assert_eq!([&without, &with].map(|index| u64::from_ne_bytes(index[8..16].try_into().unwrap())), [5, 6]);
    assert_eq!(run("bucket/a.tar", &[]).0, Some(0));
    assert!(index() == with, "an index that lists members serves sets without fields, too");
    let (code, _, said) = run("bucket/hub", &["--fields"]);
    assert!(code == Some(2) && said.contains("--fields is for tar shards in a store"), "{said}");
    let (code, said, _) = run("bucket/hub", &["--json"]);
    let value: Value = serde_json::from_str(&said).unwrap();
    assert_eq!((code, &value["samples"], &value["objects"]), (Some(0), &13.into(), &2.into()));
    for name in ["train-0", "test-0"] {
        assert!(server.object(&format!("bucket/hub/data/.{name}.parquet.gpufeed-index")).is_some(), "{name}");
    }
    let (code, said, _) = run("bucket/hub", &["--part", "1/2", "--json"]);
    let value: Value = serde_json::from_str(&said).unwrap();
    assert_eq!((code, &value["objects"], &value["part"]), (Some(0), &1.into(), &1.into()), "{said}");
}
