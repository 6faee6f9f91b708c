//! Tests of `gpufeed pack`: round trips, killed runs, and the differences that `--verify` finds.

use crate::packing::{block, command, until};
use crate::packing::{fails, folder, json, pack, text, visible};
#[cfg(unix)]
use crate::words::Run as _;
use gpufeed::dataset::TarShards;
use gpufeed::{Backend, DataLoader, Dataset, ImageFolder, Images, Label, SampleData};
use gpufeed_testing::encoded;
use image::ImageFormat as Codec;
use serde_json::Value;
use std::fs;
use std::path::Path;
#[cfg(unix)]
use std::process::{Command, Stdio};

fn samples(data: &dyn Dataset) -> Vec<(Vec<u8>, Label)> {
    let mut buffer = Vec::new();
    let mut read = |index| {
        let sample = data.read(index, &mut buffer).unwrap();
        let SampleData::Encoded(bytes) = sample.data else { panic!("pixels") };
        (bytes.to_vec(), sample.label)
    };
    (0..data.len()).map(&mut read).collect()
}

/// Returns the bytes, labels and ids of an epoch's batches.
fn epoch(data: Box<dyn Dataset>) -> Vec<(Vec<u8>, Vec<Label>, Vec<u64>)> {
    let loader = DataLoader::builder(data)
        .transform(gpufeed::transforms::RandomResizedCrop::new(32))
        .transform(gpufeed::transforms::RandomHorizontalFlip::new(0.5))
        .batch_size(8)
        .shuffle(true)
        .seed(3)
        .build(&Backend::Cpu)
        .unwrap();
    let bits = |batch: gpufeed::Result<gpufeed::Batch>| {
        let batch = batch.unwrap();
        let Images::Host(bytes) = batch.images() else { panic!("on a GPU") };
        (bytes.to_vec(), batch.labels().to_vec(), batch.ids().to_vec())
    };
    loader.epoch(2).unwrap().map(bits).collect()
}

#[test]
fn a_folder_becomes_shards_with_the_same_samples_labels_and_pixels() {
    let (source, out) = (folder(10), tempfile::tempdir().unwrap());
    let shards = out.path().join("shards");
    let (code, summary) =
        json(&[text(source.path()), text(&shards), "--shard-bytes", "24K", "--prefix", "train", "--verify"]);
    assert_eq!((code, &summary["samples"], &summary["kept"]), (Some(0), &23.into(), &23.into()), "{summary}");
    assert_eq!(
        (&summary["verified"]["samples"], &summary["verified"]["different"]),
        (&23.into(), &Value::Array(vec![]))
    );
    let count = summary["shards"].as_u64().unwrap();
    assert!(count > 3, "{summary}");
    for number in 0..count {
        let bytes = fs::metadata(shards.join(format!("train-{number:06}.tar"))).unwrap().len();
        assert!(bytes <= 24 << 10 && bytes % 512 == 0, "{bytes}");
    }
    let open = || TarShards::open(shards.join(format!("train-{{000000..{:06}}}.tar", count - 1))).unwrap();
    let original = ImageFolder::open(source.path()).unwrap();
    assert_eq!(samples(&open()), samples(&original));
    assert_eq!(open().classes(), original.classes());
    assert!(epoch(Box::new(open())) == epoch(Box::new(original)), "other pixels");

    // A complete pack is not written again, and another job does not overwrite it.
    let before = fs::metadata(shards.join("train-000000.tar")).unwrap().modified().unwrap();
    let same = [text(source.path()), text(&shards), "--shard-bytes", "24K", "--prefix", "train"];
    let (code, summary) = json(&same);
    assert_eq!((code, &summary["resumed"], &summary["kept"]), (Some(0), &23.into(), &0.into()));
    assert_eq!(fs::metadata(shards.join("train-000000.tar")).unwrap().modified().unwrap(), before);
    let error = fails(&[text(source.path()), text(&shards)]);
    assert!(error.contains("a pack of other settings: --to tar --shard-bytes 24576 --prefix train"), "{error}");
    let error = fails(&[text(folder(2).path()), text(&shards), "--shard-bytes", "24K", "--prefix", "train"]);
    assert!(error.contains("a pack of another source (23 samples)"), "{error}");
    let foreign = tempfile::tempdir().unwrap();
    fs::write(foreign.path().join("precious.tar"), "years of work").unwrap();
    let error = fails(&[text(source.path()), text(foreign.path())]);
    assert!(error.contains("precious.tar, of which nothing is known"), "{error}");
}

#[cfg(feature = "lmdb")]
#[test]
fn folder_to_shards_to_lmdb_to_shards() {
    use gpufeed::dataset::Lmdb;

    let (source, out) = (folder(10), tempfile::tempdir().unwrap());
    let [shards, lmdb, back] = ["shards", "lmdb", "back"].map(|name| out.path().join(name));
    let small = ["--shard-bytes", "50K"];
    assert_eq!(json(&[&[text(source.path()), text(&shards)], &small[..]].concat()).0, Some(0));
    let (code, summary) = json(&[text(&shards), text(&lmdb), "--to", "lmdb", "--verify"]);
    assert_eq!((code, &summary["kept"], &summary["verified"]["samples"]), (Some(0), &23.into(), &23.into()));
    assert_eq!(json(&[&[text(&lmdb), text(&back)], &small[..]].concat()).0, Some(0));

    let original = ImageFolder::open(source.path()).unwrap();
    let sets: [Box<dyn Dataset>; 3] = [
        Box::new(TarShards::open(&shards).unwrap()),
        Box::new(Lmdb::open(&lmdb).unwrap()),
        Box::new(TarShards::open(&back).unwrap()),
    ];
    let (bytes, batches) = (samples(&original), epoch(Box::new(ImageFolder::open(source.path()).unwrap())));
    for set in sets {
        assert_eq!(samples(&*set), bytes);
        assert_eq!(set.classes(), original.classes());
        assert!(epoch(set) == batches, "other pixels");
    }
    let (code, summary) = json(&[text(&shards), text(&lmdb), "--to", "lmdb"]);
    assert_eq!((code, &summary["resumed"]), (Some(0), &23.into()));
    // An LMDB has no names of samples, so samples unpacked from it have numbers as names.
    let key = |folder: &Path, index| TarShards::open(folder).unwrap().key(index).unwrap().1.to_owned();
    assert_eq!([key(&shards, 1), key(&back, 1)], ["cat/0001_x", "000000001"]);
    let again = out.path().join("again");
    assert_eq!(json(&[&[text(&shards), text(&again)], &small[..]].concat()).0, Some(0));
    let keys = |folder: &Path| -> Vec<String> {
        let data = TarShards::open(folder).unwrap();
        (0..data.len()).map(|index| data.key(index).unwrap().1.to_owned()).collect()
    };
    assert_eq!(keys(&shards), keys(&again));
}

#[test]
fn images_are_reduced_and_encoded() {
    let (source, out) = (folder(3), tempfile::tempdir().unwrap());
    fs::write(source.path().join("cat/cut.jpg"), &encoded::encode(encoded::picture(300, 200), Codec::Jpeg)[..900])
        .unwrap();
    let shards = out.path().join("small");
    let (code, summary) = json(&[text(source.path()), text(&shards), "--max-side", "100", "--verify"]);
    assert_eq!((code, &summary["encoded"], &summary["kept"]), (Some(3), &6.into(), &3.into()), "{summary}");
    assert!(summary["undecodable"][0]["sample"].as_str().unwrap().ends_with("cut.jpg"), "{summary}");
    assert_eq!(summary["verified"]["different"], Value::Array(vec![]), "{summary}");
    let psnr = summary["verified"]["lowest_psnr"].as_f64().unwrap();
    assert!((25.0..60.0).contains(&psnr), "{psnr}");
    let data = TarShards::open(&shards).unwrap();
    let options = gpufeed::decode::DecodeOptions::default();
    let sizes: Vec<_> = samples(&data)
        .iter()
        .map(|(bytes, _)| gpufeed::decode::probe(bytes, &options).map_or((0, 0), |probe| (probe.width, probe.height)))
        .collect();
    // The JPEGs are 200, 207 and 214 pixels wide and 150 or 151 high, and are reduced. The PNG, the cut file, whose
    // header is complete, and the turned file are kept.
    let expected =
        [(100, 75), (100, 72), (100, 70), (300, 200), (40, 30), (60, 90), (100, 76), (100, 73), (100, 71), (40, 31)];
    assert_eq!(sizes, expected);

    let all = out.path().join("all");
    let (_, summary) = json(&[text(source.path()), text(&all), "--quality", "95"]);
    assert_eq!((&summary["encoded"], &summary["kept"]), (&9.into(), &0.into()));
    let turned = samples(&TarShards::open(&all).unwrap()).swap_remove(5).0;
    let probe = gpufeed::decode::probe(&turned, &options).unwrap();
    assert_eq!((probe.width, probe.height, probe.orientation()), (60, 90, 1), "the turn is in the pixels now");
}

#[cfg(unix)]
#[test]
fn a_killed_run_is_resumed_and_nothing_half_done_looks_whole() {
    let (source, out) = (folder(60), tempfile::tempdir().unwrap());
    let [whole, killed] = ["whole", "killed"].map(|name| out.path().join(name));
    let settings = ["--quality", "90", "--shard-bytes", "40K", "--workers", "1"];
    assert_eq!(json(&[&[text(source.path()), text(&whole)], &settings[..]].concat()).0, Some(0));
    let all = visible(&whole, "tar").len();
    assert!(all > 8, "{all}");

    let arguments = [&[text(source.path()), text(&killed)], &settings[..]].concat();
    let mut kept = 0;
    for blocked in [3, 6] {
        let part = block(&killed, blocked);
        let mut run = command(&arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        until("no shard appears", || visible(&killed, "tar").len() == blocked);
        run.kill().unwrap();
        assert!(!run.wait().unwrap().success());
        fs::remove_file(part).unwrap();
        kept = blocked;
        assert!(!killed.join("gpufeed-pack.json").exists());
        let error = TarShards::open(&killed).unwrap_err().to_string();
        assert!(error.contains("has not finished"), "{error}");
        // All visible shards are complete.
        for (number, shard) in visible(&killed, "tar").iter().enumerate() {
            assert!(fs::read(shard).unwrap() == fs::read(&visible(&whole, "tar")[number]).unwrap(), "{number}");
        }
    }
    let error = fails(&[text(source.path()), text(&killed)]);
    assert!(error.contains("an unfinished pack of other settings"), "{error}");
    // A shard that was deleted meanwhile is packed again.
    fs::remove_file(&visible(&killed, "tar")[kept - 1]).unwrap();
    let (code, summary) = json(&[&arguments[..], &["--verify"]].concat());
    assert_eq!((code, &summary["verified"]["different"]), (Some(0), &Value::Array(vec![])), "{summary}");
    let resumed = summary["resumed"].as_u64().unwrap();
    assert!(resumed > 0 && resumed < 123, "{summary}");
    assert_eq!(summary["encoded"].as_u64().unwrap(), 123 - resumed);
    let names = |folder: &Path| {
        let mut names: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    assert_eq!(names(&killed), names(&whole));
    for (a, b) in visible(&killed, "tar").iter().zip(visible(&whole, "tar")) {
        assert!(fs::read(a).unwrap() == fs::read(b).unwrap(), "{}", a.display());
    }
}

#[cfg(all(unix, feature = "lmdb"))]
#[test]
fn a_killed_lmdb_is_resumed() {
    use gpufeed::dataset::Lmdb;

    let (source, out) = (folder(200), tempfile::tempdir().unwrap());
    let killed = out.path().join("killed");
    // With these arguments each sample is written to the disk by itself, which is slow enough to kill the run in
    // between.
    let arguments = [text(source.path()), text(&killed), "--to", "lmdb", "--shard-bytes", "1", "--workers", "1"];
    let part = killed.join(".data.mdb.part");
    let mut run = command(&arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    until("nothing is committed", || fs::metadata(&part).is_ok_and(|part| part.len() > 100 << 10));
    run.kill().unwrap();
    assert!(!run.wait().unwrap().success());
    assert!(Lmdb::open(&killed).unwrap_err().to_string().contains("not finished"));
    let (code, summary) = json(&[&arguments[..], &["--verify"]].concat());
    assert_eq!((code, &summary["verified"]["different"]), (Some(0), &Value::Array(vec![])), "{summary}");
    assert!(summary["resumed"].as_u64().unwrap() > 5, "{summary}");
    let original = ImageFolder::open(source.path()).unwrap();
    assert_eq!(samples(&Lmdb::open(&killed).unwrap()), samples(&original));
}

#[test]
fn verify_finds_a_changed_byte() {
    let (source, out) = (folder(5), tempfile::tempdir().unwrap());
    let shards = out.path().join("shards");
    let arguments = [text(source.path()), text(&shards), "--verify"];
    assert_eq!(json(&arguments).0, Some(0));
    let shard = shards.join("shard-000000.tar");
    let whole = fs::read(&shard).unwrap();
    // Changes a byte of the first sample's image, of its label, of the padding after the label, of a header, in turn.
    let image = 512 + 100;
    let label = whole.windows(14).position(|name| name == b"cat/0000_x.cls").unwrap() + 512;
    for (at, samples, says) in [
        (image, 1, "another file"),
        (label, 1, "the label Class(1) instead of Class(0)"),
        (label + 100, 0, ""),
        (label - 512 + 5, 0, "header"),
    ] {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        fs::write(&shard, &bytes).unwrap();
        let (code, summary) = json(&arguments);
        let different = summary["verified"]["different"].as_array().unwrap();
        assert_eq!(code, Some(3), "byte {at}: {summary}");
        assert!(different[0]["reason"].as_str().unwrap().contains("its content has changed"), "{summary}");
        let of_samples: Vec<_> = different[1..].iter().map(|d| d["reason"].as_str().unwrap()).collect();
        assert!(of_samples.len() >= samples && of_samples.iter().all(|reason| reason.contains(says)), "{summary}");
    }
    fs::write(&shard, &whole).unwrap();
    assert_eq!(json(&arguments).0, Some(0));
    // `--verify` also reports a source that has changed; without it, the old pack is refused.
    fs::write(source.path().join("cat/p.png"), encoded::encode(encoded::picture(41, 30), Codec::Png)).unwrap();
    let error = fails(&arguments[..2]);
    assert!(error.contains("before its files changed") && error.contains("--verify"), "{error}");
    let (code, summary) = json(&arguments);
    assert_eq!((code, summary["verified"]["different"].as_array().unwrap().len()), (Some(3), 1), "{summary}");
}

/// Samples that cannot be read are left out, as a loader replaces them, and are reported.
#[cfg(unix)]
#[test]
fn what_cannot_be_read_is_left_out_and_said() {
    let (source, out) = (folder(5), tempfile::tempdir().unwrap());
    let dangling = source.path().join("cat/0002.gone.jpg");
    std::os::unix::fs::symlink("nowhere", &dangling).unwrap();
    let formats: &[&str] = if cfg!(feature = "lmdb") { &["tar", "lmdb"] } else { &["tar"] };
    for format in formats {
        let packed = out.path().join(format);
        let arguments = [text(source.path()), text(&packed), "--to", format, "--verify"];
        // The second run packs nothing more, and reports the skipped sample again.
        for resumed in [0, 13] {
            let (code, summary) = json(&arguments);
            assert_eq!((code, &summary["resumed"]), (Some(3), &resumed.into()), "{summary}");
            let skipped = summary["skipped"].as_array().unwrap();
            let name = skipped[0]["sample"].as_str().unwrap();
            assert!(skipped.len() == 1 && name.ends_with("cat/0002.gone.jpg"), "{summary}");
            assert_eq!(
                (&summary["verified"]["samples"], &summary["verified"]["different"]),
                (&13.into(), &Value::Array(vec![]))
            );
        }
        let data = gpufeed::dataset::open(&packed).unwrap().train;
        fs::remove_file(&dangling).unwrap();
        assert_eq!(samples(&*data), samples(&ImageFolder::open(source.path()).unwrap()), "all the others");
        std::os::unix::fs::symlink("nowhere", &dangling).unwrap();
    }
    let text_of = pack(&[text(source.path()), text(&out.path().join("more"))]);
    let said = String::from_utf8(text_of.stdout).unwrap();
    assert!(said.contains("1 of 14 samples could not be read, and are left out"), "{said}");
    assert!(said.contains("0002.gone.jpg"), "{said}");
    // A source without a readable sample is refused.
    let none = tempfile::tempdir().unwrap();
    fs::create_dir(none.path().join("cat")).unwrap();
    std::os::unix::fs::symlink("nowhere", none.path().join("cat/1.jpg")).unwrap();
    let error = fails(&[text(none.path()), text(&out.path().join("none"))]);
    assert!(
        error.contains("1 of 1 samples cannot be read") && !error.contains("the same command continues"),
        "{error}"
    );
}

/// A resumed run also skips the samples that an earlier run has skipped.
#[cfg(unix)]
#[test]
fn what_was_left_out_is_left_out_by_the_next_run() {
    let (source, out) = (folder(20), tempfile::tempdir().unwrap());
    let dangling = source.path().join("cat/0001.gone.jpg");
    std::os::unix::fs::symlink("nowhere", &dangling).unwrap();
    let packed = out.path().join("shards");
    let arguments = [text(source.path()), text(&packed), "--shard-bytes", "40K"];
    let part = block(&packed, 2);
    let mut run = command(&arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    until("no shard appears", || visible(&packed, "tar").len() == 2);
    run.kill().unwrap();
    run.wait().unwrap();
    fs::remove_file(part).unwrap();
    let (code, summary) = json(&[&arguments[..], &["--verify"]].concat());
    assert_eq!((code, &summary["verified"]["different"]), (Some(3), &Value::Array(vec![])), "{summary}");
    assert!(summary["resumed"].as_u64().unwrap() > 0 && summary["skipped"].as_array().unwrap().len() == 1, "{summary}");
    assert_eq!(summary["verified"]["samples"], 43, "{summary}");
}

#[test]
fn a_source_that_changes_while_it_is_packed_is_noticed() {
    let (source, out) = (folder(20), tempfile::tempdir().unwrap());
    let packed = out.path().join("shards");
    let arguments = [text(source.path()), text(&packed), "--shard-bytes", "40K"];
    assert_eq!(json(&arguments).0, Some(0));
    // Deletes a shard, so that the pack is incomplete, as after a killed run.
    let shards = visible(&packed, "tar");
    fs::remove_file(&shards[1]).unwrap();
    let file = source.path().join("cat/0000.x.jpg");
    let (bytes, time) = (fs::read(&file).unwrap(), fs::metadata(&file).unwrap().modified().unwrap());
    let touch = |bytes: &[u8], time| {
        fs::write(&file, bytes).unwrap();
        fs::File::options().write(true).open(&file).unwrap().set_modified(time).unwrap();
    };
    let hour = std::time::Duration::from_secs(3600);
    for (bytes, time) in [(&bytes[..], time + hour), (&[&bytes[..], b"more"].concat(), time)] {
        touch(bytes, time);
        for verify in [&[][..], &["--verify"]] {
            let error = fails(&[&arguments[..], verify].concat());
            assert!(error.contains("before its files changed (their sizes or times)"), "{error}");
        }
    }
    assert!(!shards[1].exists(), "nothing is packed beside what was there");
    touch(&bytes, time);
    assert_eq!(json(&[&arguments[..], &["--verify"]].concat()).0, Some(0));
}

#[test]
fn shards_keep_the_names_of_the_files() {
    let (source, out) = (folder(2), tempfile::tempdir().unwrap());
    // Adds a file whose key another file has already, and a file with the special name `classes`.
    fs::copy(source.path().join("cat/p.png"), source.path().join("cat/turned.png")).unwrap();
    fs::copy(source.path().join("cat/p.png"), source.path().join("wild dog/classes.PNG")).unwrap();
    let shards = out.path().join("shards");
    assert_eq!(json(&[text(source.path()), text(&shards), "--verify"]).0, Some(0));
    let data = TarShards::open(&shards).unwrap();
    let keys: Vec<_> = (0..data.len()).map(|index| data.key(index).unwrap().1.to_owned()).collect();
    let expected = [
        "cat/0000_x",
        "cat/0001_x",
        "cat/p",
        "cat/turned",
        "cat/turned-000000004",
        "wild dog/0000_x",
        "wild dog/0001_x",
        "wild dog/classes_1",
        "wild dog/p",
    ];
    assert_eq!(keys, expected);
    let bytes = fs::read(shards.join("shard-000000.tar")).unwrap();
    for member in ["cat/turned.jpeg", "cat/turned-000000004.png", "wild dog/classes_1.PNG", "wild dog/classes_1.cls"] {
        let found = bytes.windows(member.len() + 1).any(|name| name == format!("{member}\0").as_bytes());
        assert!(found, "{member}");
    }
    // Packing shards into shards keeps the keys.
    let again = out.path().join("again");
    assert_eq!(json(&[text(&shards), text(&again), "--verify"]).0, Some(0));
    let data = TarShards::open(&again).unwrap();
    assert!((0..data.len()).map(|index| data.key(index).unwrap().1.to_owned()).eq(expected.map(str::to_owned)));
}

/// Images of floats cannot be stored in an image file. The error does not promise that the same command would continue,
/// because packing again would not help.
#[test]
fn what_no_second_run_mends_does_not_promise_one() {
    let out = tempfile::tempdir().unwrap();
    let npy = out.path().join("x.npy");
    let mut header = "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 4, 5, 3), }".to_owned();
    header += &" ".repeat(117 - header.len());
    header.push('\n');
    fs::write(&npy, [b"\x93NUMPY\x01\x00", &118u16.to_le_bytes()[..], header.as_bytes(), &[0; 240]].concat()).unwrap();
    let error = fails(&[text(&npy), text(&out.path().join("shards"))]);
    assert!(error.contains("float pixels fit no image file") && !error.contains("continues"), "{error}");
}

/// A limit on the size of files simulates a full disk: writing beyond it fails in the same place.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error_that_says_where() {
    let (source, out) = (folder(30), tempfile::tempdir().unwrap());
    let shards = out.path().join("shards");
    let limited = |blocks: u32| {
        let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$@\"");
        let mut sh = Command::new("sh");
        sh.args(["-c", &script, "sh", env!("CARGO_BIN_EXE_gpufeed"), "pack", text(source.path()), text(&shards)]);
        sh.run()
    };
    let out = limited(40);
    let error = String::from_utf8(out.stderr).unwrap();
    assert_eq!(out.status.code(), Some(1), "{error}");
    assert!(error.contains("shard-000000.tar") && error.contains("File too large"), "{error}");
    assert!(error.contains("the same command continues"), "{error}");
    assert!(!shards.join(".shard-000000.tar.part").exists(), "it takes the room that is wanted");
    assert!(visible(&shards, "tar").is_empty() && !shards.join("gpufeed-pack.json").exists());
    assert!(TarShards::open(&shards).is_err());
    assert_eq!(json(&[text(source.path()), text(&shards), "--verify"]).0, Some(0));
}

#[test]
fn wrong_arguments_are_refused() {
    let (source, out) = (folder(1), tempfile::tempdir().unwrap());
    let out = out.path().join("out");
    for bad in [
        &["--to", "zip"][..],
        &["--quality", "0"],
        &["--quality", "101"],
        &["--max-side", "0"],
        &["--shard-bytes", "0"],
        &["--shard-bytes", "1T"],
        &["--prefix", "a/b"],
        &["--prefix", ".a"],
    ] {
        let done = pack(&[&[text(source.path()), text(&out)], bad].concat());
        assert_eq!(done.status.code(), Some(2), "{bad:?}");
    }
    assert!(!out.exists());
    assert!(fails(&["/no/such/folder", text(&out)]).contains("/no/such/folder"));
    assert!(!out.exists(), "nothing is made for a source that is none");
    let inside = source.path().join("cat/new/packed");
    assert!(fails(&[text(source.path()), text(&inside)]).contains("lies in the source") && !inside.exists());
    assert!(fails(&[text(source.path()), "/proc/none/out"]).contains("/proc/none/out"));
}
