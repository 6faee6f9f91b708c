//! Tests of `gpufeed pack` into a folder that already holds a pack or other files, and of the part of a data set that
//! it packs.

use crate::packing::{self, block, command, until};
use crate::packing::{fails, folder, json, pack, text, visible};
#[cfg(unix)]
use crate::words::Run as _;
use gpufeed::Dataset;
use gpufeed::dataset::TarShards;
use serde_json::Value;
use std::fs;
#[cfg(unix)]
use std::process::Stdio;

#[test]
fn files_that_were_lost_or_cut_are_packed_again() {
    let (source, out) = (folder(10), tempfile::tempdir().unwrap());
    let out = out.path().join("shards");
    let arguments = [text(source.path()), text(&out), "--shard-bytes", "24K"];
    assert_eq!(json(&arguments).0, Some(0));
    let shards = visible(&out, "tar");
    let before: Vec<_> = shards.iter().map(|shard| fs::read(shard).unwrap()).collect();
    let again = |resumed: bool| {
        let (code, summary) = json(&arguments);
        assert_eq!((code, summary["resumed"].as_u64().unwrap() > 0), (Some(0), resumed), "{summary}");
        assert!(visible(&out, "tar").iter().map(|shard| fs::read(shard).unwrap()).eq(before.iter().cloned()));
        assert_eq!(TarShards::open(&out).unwrap().classes(), ["cat", "wild dog"]);
    };
    fs::remove_file(&shards[2]).unwrap();
    again(true);
    fs::write(&shards[0], &before[0][..before[0].len() / 2]).unwrap();
    again(false);
    fs::remove_file(out.join("classes.json")).unwrap();
    again(true);
}

#[cfg(feature = "lmdb")]
#[test]
fn an_lmdb_that_was_lost_is_packed_again() {
    let (source, out) = (folder(3), tempfile::tempdir().unwrap());
    let out = out.path().join("lmdb");
    let arguments = [text(source.path()), text(&out), "--to", "lmdb"];
    assert_eq!(json(&arguments).0, Some(0));
    fs::remove_file(out.join("data.mdb")).unwrap();
    let (code, summary) = json(&arguments);
    assert_eq!((code, &summary["resumed"], &summary["kept"]), (Some(0), &0.into(), &9.into()), "{summary}");
    assert_eq!(gpufeed::dataset::Lmdb::open(&out).unwrap().len(), 9);
}

#[test]
fn a_shard_that_is_none_of_the_pack_is_found() {
    let (source, out) = (folder(10), tempfile::tempdir().unwrap());
    let out = out.path().join("shards");
    let arguments = [text(source.path()), text(&out), "--shard-bytes", "24K", "--verify"];
    assert_eq!(json(&arguments).0, Some(0));
    let shards = visible(&out, "tar");
    fs::copy(&shards[0], out.join("zebra.tar")).unwrap();
    let (code, summary) = json(&arguments);
    let different = summary["verified"]["different"].as_array().unwrap();
    assert_eq!((code, different.len()), (Some(3), 1), "{summary}");
    assert!(different[0]["sample"].as_str().unwrap().ends_with("zebra.tar"), "{summary}");
}

#[test]
fn what_could_not_be_decoded_is_said_again() {
    let (source, out) = (folder(1), tempfile::tempdir().unwrap());
    fs::write(source.path().join("cat/none.jpg"), "no image").unwrap();
    let out = out.path().join("shards");
    let arguments = [text(source.path()), text(&out), "--verify"];
    for _ in 0..2 {
        let (code, summary) = json(&arguments);
        assert_eq!((code, &summary["verified"]["different"]), (Some(3), &Value::Array(vec![])), "{summary}");
        let undecodable = summary["undecodable"].as_array().unwrap();
        assert!(
            undecodable.len() == 1 && undecodable[0]["sample"].as_str().unwrap().ends_with("none.jpg"),
            "{summary}"
        );
    }
}

#[cfg(unix)]
#[test]
fn one_run_at_a_time() {
    let (source, out) = (folder(2), tempfile::tempdir().unwrap());
    let out = out.path().join("shards");
    let arguments = [text(source.path()), text(&out)];
    let part = block(&out, 0);
    let mut run = command(&arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    until("no run begins", || out.join(".gpufeed-pack-unfinished").exists());
    let mut second = command(&arguments).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    until("the second run goes on", || second.try_wait().unwrap().is_some());
    let second = second.wait_with_output().unwrap();
    let error = String::from_utf8(second.stderr).unwrap();
    assert!(second.status.code() == Some(1) && error.contains("another `gpufeed pack` is at work there"), "{error}");
    run.kill().unwrap();
    run.wait().unwrap();
    fs::remove_file(part).unwrap();
    assert_eq!(json(&arguments).0, Some(0), "the lock outlives the process");
    assert!(!out.join(".gpufeed-pack-lock").exists());
}

#[test]
fn the_part_to_test_with_is_a_pack_of_its_own() {
    let root = tempfile::tempdir().unwrap();
    let source = root.path().join("MNIST");
    fs::create_dir(&source).unwrap();
    for (stem, count) in [("train", 3u8), ("t10k", 2)] {
        let images = [&[0, 0, 8, 3, 0, 0, 0, count, 0, 0, 0, 1, 0, 0, 0, 1][..], &vec![9; count.into()]].concat();
        let labels = [&[0, 0, 8, 1, 0, 0, 0, count][..], &vec![7; count.into()]].concat();
        fs::write(source.join(format!("{stem}-images-idx3-ubyte")), images).unwrap();
        fs::write(source.join(format!("{stem}-labels-idx1-ubyte")), labels).unwrap();
    }
    let [train, test] = ["train", "test"].map(|name| root.path().join(name));
    let done = pack(&[text(&source), text(&train)]);
    let said = String::from_utf8(done.stderr).unwrap();
    assert!(done.status.success() && said.contains("2 samples to test with are left out; --split test"), "{said}");
    assert_eq!(json(&[text(&source), text(&test), "--split", "test", "--verify"]).0, Some(0));
    let open = |path| TarShards::open(path).unwrap();
    assert_eq!((open(&train).len(), open(&test).len(), open(&test).classes()[7].as_str()), (3, 2, "7 - seven"));
    let error = fails(&[text(&source), text(&train), "--split", "test"]);
    assert!(error.contains("a pack of another source (3 samples)"), "{error}");
    let error = fails(&[text(folder(1).path()), text(&root.path().join("x")), "--split", "test"]);
    assert!(error.contains("there is no part to test with"), "{error}");
}

#[test]
fn a_source_is_the_same_by_another_path() {
    let (source, out) = (folder(2), tempfile::tempdir().unwrap());
    let lines = "path,label\ncat/0000.x.jpg,0\nwild dog/p.png,1\n";
    fs::write(source.path().join("list.csv"), lines).unwrap();
    let list = out.path().join("list");
    let run = |source: &str, out: &std::path::Path, folder: &std::path::Path| {
        let done = packing::command(&[source, text(out), "--json"]).current_dir(folder).run();
        let error = String::from_utf8_lossy(&done.stderr).into_owned();
        serde_json::from_slice::<Value>(&done.stdout).unwrap_or_else(|_| panic!("{error}"))["resumed"].clone()
    };
    assert_eq!(run("list.csv", &list, source.path()), 0);
    assert_eq!(run(text(&source.path().join("list.csv")), &list, source.path()), 2);

    let shards = out.path().join("shards");
    assert_eq!(json(&[text(source.path()), text(&shards), "--shard-bytes", "20K"]).0, Some(0));
    let again = out.path().join("again");
    assert_eq!(run("shard-{000000..000001}.tar", &again, &shards), 0);
    assert!(run(text(&shards.join("shard-{000000..000001}.tar")), &again, out.path()).as_u64() > Some(0));
}

#[test]
fn names_of_classes_that_would_be_read_instead_are_refused() {
    let (source, out) = (folder(1), tempfile::tempdir().unwrap());
    fs::write(out.path().join("classes.txt"), "1\n2\n").unwrap();
    let error = fails(&[text(source.path()), text(out.path())]);
    assert!(error.contains("there is classes.txt, of which nothing is known"), "{error}");
}
