//! Tests of `gpufeed pack` in parts: what is joined equals one run, whatever happens to the parts.

use crate::packing::{command, fails, folder, json, keyed, pack, text, visible};
use gpufeed::dataset::TarShards;
use gpufeed::{Dataset, Label};
use gpufeed_testing::encoded;
use image::ImageFormat as Codec;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::Instant;

/// Returns numbers that look random, the same each time.
fn numbers(mut seed: u64) -> impl FnMut(u64) -> u64 {
    move |below| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % below
    }
}

fn plan(source: &Path, out: &Path, parts: u32, settings: &[&str]) -> Value {
    let parts = parts.to_string();
    let (code, value) = json(&[&[text(source), text(out), "--plan", "--parts", &parts], settings].concat());
    assert_eq!(code, Some(0), "{value}");
    value
}

fn part(source: &Path, out: &Path, part: &str) -> Value {
    let (code, value) = json(&[text(source), text(out), "--part", part]);
    assert_eq!(code, Some(0), "{value}");
    value
}

/// Plans, does all parts in order, and joins them. Returns the exit code and the summary of the join.
fn in_parts(source: &Path, out: &Path, parts: u32, settings: &[&str]) -> (Option<i32>, Value) {
    plan(source, out, parts, settings);
    for number in 0..parts {
        part(source, out, &format!("{number}/{parts}"));
    }
    json(&[text(source), text(out), "--join", "--verify"])
}

fn manifest(out: &Path) -> Value {
    serde_json::from_slice(&fs::read(out.join("gpufeed-pack.json")).unwrap()).unwrap()
}

/// Seven parts in a random order, most of them killed at random moments and done again by up to four more processes.
#[test]
fn killed_and_repeated_parts_make_what_one_run_makes() {
    let (source, out) = (folder(90), tempfile::tempdir().unwrap());
    // Two samples with the same key in different parts, one that is no image, and one that is.
    fs::copy(source.path().join("cat/p.png"), source.path().join("cat/turned.png")).unwrap();
    fs::create_dir(source.path().join("cat/0000_x")).unwrap();
    fs::write(source.path().join("wild dog/none.jpg"), "no image").unwrap();
    let [whole, joined] = ["whole", "joined"].map(|name| out.path().join(name));
    let settings = ["--quality", "90", "--shard-bytes", "24K", "--prefix", "train"];
    let (code, one) = json(&[&[text(source.path()), text(&whole)], &settings[..]].concat());
    assert_eq!(code, Some(3), "{one}");

    let mut random = numbers(11);
    plan(source.path(), &joined, 7, &settings);
    // How long a part takes depends on the machine, so moments are fractions of what one took.
    let other = out.path().join("timed");
    plan(source.path(), &other, 7, &settings);
    let clock = Instant::now();
    part(source.path(), &other, "3/7");
    let whole_part = clock.elapsed();
    let mut todo: Vec<u64> = (0..7).flat_map(|part| vec![part; 2 + random(4) as usize]).collect();
    let (mut killed, mut whole_before) = (0, 0);
    while !todo.is_empty() {
        let number = todo.swap_remove(random(todo.len() as u64) as usize);
        let asked = format!("{number}/7");
        let arguments = [text(source.path()), text(&joined), "--part", &asked, "--workers", "1"];
        if todo.contains(&number) {
            let mut run = command(&arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
            std::thread::sleep(whole_part * random(1000) as u32 / 1000);
            let _ = run.kill();
            match run.wait().unwrap().success() {
                true => whole_before += 1,
                false => killed += 1,
            }
        } else {
            assert!(pack(&arguments).status.success(), "{asked}");
        }
        let error = TarShards::open(&joined).unwrap_err().to_string();
        assert!(error.contains("has not finished"), "{error}");
    }
    assert!(killed > 2, "{killed} killed, {whole_before} ended before");
    let (code, summary) = json(&[text(source.path()), text(&joined), "--join", "--verify"]);
    assert_eq!((code, &summary["samples"]), (Some(3), &one["samples"]), "{summary}");
    assert_eq!(summary["verified"]["different"], Value::Array(vec![]), "{summary}");
    assert_eq!(summary["undecodable"], one["undecodable"]);
    assert!(keyed(&joined) == keyed(&whole), "other samples");
    let keys: Vec<_> = keyed(&joined).into_iter().map(|(key, ..)| key).collect();
    assert!(keys.contains(&"cat/turned-000000092".to_owned()), "{keys:?}");
    let [a, b] = [&joined, &whole].map(|folder| TarShards::open(folder).unwrap().classes().to_vec());
    assert_eq!(a, b);
    // Nothing is left of the parts, and the manifest describes the same pack, with shards in the order of the samples.
    let names: Vec<_> =
        fs::read_dir(&joined).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    assert!(!names.iter().any(|name| name.contains("part")), "{names:?}");
    let (mine, of_one) = (manifest(&joined), manifest(&whole));
    assert_eq!(mine["job"], of_one["job"]);
    let shards = mine["shards"].as_array().unwrap();
    let mut first = 0;
    for (shard, file) in shards.iter().zip(visible(&joined, "tar")) {
        assert_eq!(
            (shard["first"].as_u64(), shard["file"].as_str()),
            (Some(first), file.file_name().unwrap().to_str())
        );
        first += shard["samples"].as_u64().unwrap();
    }
    assert_eq!((first, shards.len()), (one["samples"].as_u64().unwrap(), visible(&joined, "tar").len()));
    // One run finds its own pack there, and so does another join.
    let (code, again) = json(&[&[text(source.path()), text(&joined)], &settings[..]].concat());
    assert_eq!((code, &again["resumed"]), (Some(0), &one["samples"]), "{again}");
    let (code, again) = json(&[text(source.path()), text(&joined), "--join"]);
    assert_eq!((code, &again["resumed"]), (Some(0), &one["samples"]), "{again}");
    assert_eq!(part(source.path(), &joined, "3/7")["joined"], true);
}

#[test]
fn every_kind_of_source_is_packed_in_parts() {
    let (images, out) = (folder(4), tempfile::tempdir().unwrap());
    let at = |name: &str| out.path().join(name);
    let mut sources = Vec::new();
    let flat = at("flat");
    fs::create_dir(&flat).unwrap();
    for name in ["cat/0000.x.jpg", "cat/0001.x.jpg", "wild dog/p.png", "cat/turned.jpeg"] {
        fs::copy(images.path().join(name), flat.join(Path::new(name).file_name().unwrap())).unwrap();
    }
    sources.push(flat);
    let root = images.path().display();
    let lists = [
        ("classes.csv", "path,label\ncat/0000.x.jpg,7\nwild dog/p.png,3\n".to_owned()),
        ("names.csv", format!("path,label\n{root}/cat/0000.x.jpg,dog\n{root}/wild dog/p.png,cat\n")),
        (
            "values.jsonl",
            "{\"path\": \"cat/0000.x.jpg\", \"label\": [0.1, -1e-38]}\n{\"path\": \"wild dog/p.png\", \"label\": [3, 4]}\n\
             {\"path\": \"cat/p.png\", \"label\": [5, 6.25]}\n"
                .to_owned(),
        ),
        ("none.csv", "path\ncat/0000.x.jpg\nwild dog/p.png\n".to_owned()),
    ];
    for (name, lines) in lists {
        let path = images.path().join(name);
        fs::write(&path, lines).unwrap();
        sources.push(path);
    }
    let shards = at("shards");
    assert_eq!(json(&[text(images.path()), text(&shards), "--shard-bytes", "10K"]).0, Some(0));
    sources.push(shards);
    #[cfg(feature = "lmdb")]
    {
        let lmdb = at("lmdb");
        assert_eq!(json(&[text(images.path()), text(&lmdb), "--to", "lmdb"]).0, Some(0));
        sources.push(lmdb);
    }
    for (number, source) in sources.iter().enumerate() {
        let [whole, joined] = ["whole", "joined"].map(|name| at(&format!("{name}-{number}")));
        assert_eq!(json(&[text(source), text(&whole)]).0, Some(0));
        let (code, summary) = in_parts(source, &joined, 3, &[]);
        assert_eq!((code, &summary["verified"]["different"]), (Some(0), &Value::Array(vec![])), "{summary}");
        assert!(keyed(&joined) == keyed(&whole), "{}", source.display());
        let classes = |folder| TarShards::builder().allow_unlabelled(true).open(folder).unwrap().classes().to_vec();
        assert_eq!(classes(&joined), classes(&whole));
        assert_eq!(manifest(&joined)["job"], manifest(&whole)["job"]);
    }
}

#[test]
fn both_parts_of_a_source_in_two_are_planned() {
    let root = tempfile::tempdir().unwrap();
    let source = root.path().join("MNIST");
    fs::create_dir(&source).unwrap();
    for (stem, count) in [("train", 3u8), ("t10k", 2)] {
        let images = [&[0, 0, 8, 3, 0, 0, 0, count, 0, 0, 0, 1, 0, 0, 0, 1][..], &vec![9; count.into()]].concat();
        let labels = [&[0, 0, 8, 1, 0, 0, 0, count][..], &vec![7; count.into()]].concat();
        fs::write(source.join(format!("{stem}-images-idx3-ubyte")), images).unwrap();
        fs::write(source.join(format!("{stem}-labels-idx1-ubyte")), labels).unwrap();
    }
    for (split, samples) in [("train", 3), ("test", 2)] {
        let [whole, joined] = ["whole", "joined"].map(|name| root.path().join(format!("{split}-{name}")));
        assert_eq!(json(&[text(&source), text(&whole), "--split", split]).0, Some(0));
        let (code, summary) = in_parts(&source, &joined, 2, &["--split", split]);
        assert_eq!((code, &summary["verified"]["different"]), (Some(0), &Value::Array(vec![])), "{summary}");
        assert_eq!(keyed(&joined).len(), samples);
        assert!(keyed(&joined) == keyed(&whole), "{split}");
    }
}

/// Parts without samples are done like others, and have no shards.
#[test]
fn there_may_be_more_parts_than_samples() {
    let (source, out) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let jpeg = encoded::encode(encoded::picture(20, 15), Codec::Jpeg);
    fs::create_dir(source.path().join("cat")).unwrap();
    for number in 0..3 {
        fs::write(source.path().join(format!("cat/{number}.jpg")), &jpeg).unwrap();
    }
    let joined = out.path().join("joined");
    let (code, summary) = in_parts(source.path(), &joined, 7, &[]);
    assert_eq!((code, &summary["verified"]["samples"]), (Some(0), &3.into()), "{summary}");
    let names: Vec<_> = visible(&joined, "tar").iter().map(|path| path.file_name().unwrap().to_owned()).collect();
    assert_eq!(names, ["shard-0002-000000.tar", "shard-0004-000000.tar", "shard-0006-000000.tar"]);
    assert_eq!(keyed(&joined).into_iter().map(|(key, ..)| key).collect::<Vec<_>>(), ["cat/0", "cat/1", "cat/2"]);
}

/// No engine repeats a part for a sample that cannot be read: the join reports it, as one run does.
#[cfg(unix)]
#[test]
fn what_parts_leave_out_is_reported_by_the_join() {
    let (source, out) = (folder(6), tempfile::tempdir().unwrap());
    let dangling = source.path().join("cat/0002.gone.jpg");
    std::os::unix::fs::symlink("nowhere", &dangling).unwrap();
    let [whole, joined] = ["whole", "joined"].map(|name| out.path().join(name));
    let (code, one) = json(&[text(source.path()), text(&whole)]);
    assert_eq!(code, Some(3));
    let (code, summary) = in_parts(source.path(), &joined, 4, &[]);
    assert_eq!((code, &summary["skipped"]), (Some(3), &one["skipped"]), "{summary}");
    assert_eq!(summary["verified"]["different"], Value::Array(vec![]), "{summary}");
    assert!(keyed(&joined) == keyed(&whole), "other samples");
    assert_eq!(manifest(&joined)["skipped"], manifest(&whole)["skipped"]);
    // A part of which nothing can be read is no failure, a source of which too little can be read is one.
    let none = tempfile::tempdir().unwrap();
    fs::create_dir(none.path().join("cat")).unwrap();
    for number in 0..4 {
        std::os::unix::fs::symlink("nowhere", none.path().join(format!("cat/{number}.jpg"))).unwrap();
    }
    let empty = out.path().join("empty");
    plan(none.path(), &empty, 2, &[]);
    for number in ["0/2", "1/2"] {
        assert_eq!(part(none.path(), &empty, number)["skipped"].as_array().unwrap().len(), 2);
    }
    let error = fails(&[text(none.path()), text(&empty), "--join"]);
    assert!(error.contains("4 of 4 samples cannot be read, which is no data set to pack"), "{error}");
}

#[cfg(target_os = "linux")]
#[test]
fn names_that_are_no_text_are_planned() {
    use std::os::unix::ffi::OsStrExt;

    let (source, out) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fs::create_dir(source.path().join("cat")).unwrap();
    let jpeg = encoded::encode(encoded::picture(20, 15), Codec::Jpeg);
    for name in [&b"caf\xe9.jpg"[..], b"a\nb.jpg", b"z.jpg"] {
        fs::write(source.path().join("cat").join(std::ffi::OsStr::from_bytes(name)), &jpeg).unwrap();
    }
    let [whole, joined] = ["whole", "joined"].map(|name| out.path().join(name));
    assert_eq!(json(&[text(source.path()), text(&whole)]).0, Some(0));
    assert_eq!(in_parts(source.path(), &joined, 2, &[]).0, Some(0));
    assert!(keyed(&joined) == keyed(&whole) && keyed(&joined).len() == 3, "other samples");
}

/// The states in which a killed join leaves the folder: the manifest is there; the mark is gone; some of the plan is gone.
#[test]
fn a_killed_join_is_done_again() {
    let (source, out) = (folder(3), tempfile::tempdir().unwrap());
    let joined = out.path().join("joined");
    plan(source.path(), &joined, 2, &[]);
    for number in ["0/2", "1/2"] {
        part(source.path(), &joined, number);
    }
    let [mark, parts, written] =
        [".gpufeed-pack-unfinished", ".gpufeed-pack-parts", "gpufeed-pack.json"].map(|name| joined.join(name));
    let saved = out.path().join("saved");
    fs::create_dir(&saved).unwrap();
    for entry in fs::read_dir(&parts).unwrap().map(Result::unwrap) {
        fs::copy(entry.path(), saved.join(entry.file_name())).unwrap();
    }
    let mark_text = fs::read(&mark).unwrap();
    let join = [text(source.path()), text(&joined), "--join", "--verify"];
    let (code, first) = json(&join);
    assert_eq!((code, mark.exists(), parts.exists(), written.exists()), (Some(0), false, false, true), "{first}");
    let before = fs::read(&written).unwrap();
    for (has_mark, files) in [(true, saved.read_dir().unwrap().count()), (false, 9), (false, 1)] {
        fs::create_dir(&parts).unwrap();
        for entry in fs::read_dir(&saved).unwrap().map(Result::unwrap).take(files) {
            fs::copy(entry.path(), parts.join(entry.file_name())).unwrap();
        }
        if has_mark {
            fs::write(&mark, &mark_text).unwrap();
            assert!(TarShards::open(&joined).unwrap_err().to_string().contains("has not finished"));
        }
        let (code, again) = json(&join);
        assert_eq!((code, &again["samples"]), (Some(0), &first["samples"]), "{again}");
        assert!(!mark.exists() && !parts.exists() && fs::read(&written).unwrap() == before);
    }
    assert_eq!(keyed(&joined)[0].2, Label::Class(0));
}
