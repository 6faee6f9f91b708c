//! Tests of `gpufeed doctor` on files made here and on this machine. With GPUFEED_CORPUS and GPUFEED_SHARED set, also
//! the differences between its verdicts on the corpus of JPEGs and Pillow's, which
//! `benches/results/doctor-jpeg-corpus.md` explains.

#![allow(clippy::print_stdout)] // a skipped test says so

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use crate::pillow::{ACCEPTED_HERE, REFUSED_HERE};
use gpufeed_testing::encoded::{encode, picture, with_exif};
use image::ImageFormat as Codec;
use serde_json::Value;
use tempfile::TempDir;

fn doctor(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gpufeed"));
    command.arg("doctor").args(arguments).env("NODEVICE_SELECT", "1").env_remove("GPUFEED_ADAPTER");
    command.output().unwrap()
}

fn text(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// Runs `gpufeed doctor --json` and returns the JSON object and the exit code.
fn json(folder: &Path, more: &[&str]) -> (Value, i32) {
    let output = doctor(&[&[folder.to_str().unwrap(), "--json"], more].concat());
    let value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
    (value, output.status.code().unwrap())
}

/// Returns the number of findings or notes of each kind.
fn counts(value: &Value, which: &str) -> BTreeMap<String, u64> {
    let all = value[which].as_array().unwrap().iter();
    all.map(|found| (found["kind"].as_str().unwrap().to_owned(), found["count"].as_u64().unwrap())).collect()
}

fn file<'a>(value: &'a Value, path: &str) -> &'a Value {
    let found = value["files"].as_array().unwrap().iter().find(|file| file["path"] == path);
    found.unwrap_or_else(|| panic!("{path} is not listed"))
}

fn tree(files: &[(&str, &[u8])]) -> TempDir {
    let root = tempfile::tempdir().unwrap();
    for (path, bytes) in files {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    root
}

/// Changes the size that a JPEG's header declares.
fn declaring(jpeg: &[u8], height: u16, width: u16) -> Vec<u8> {
    let mut bytes = jpeg.to_vec();
    let sof = bytes.windows(2).position(|pair| pair == [0xFF, 0xC0]).unwrap();
    bytes[sof + 5..sof + 7].copy_from_slice(&height.to_be_bytes());
    bytes[sof + 7..sof + 9].copy_from_slice(&width.to_be_bytes());
    bytes
}

/// Damages a JPEG: puts ones into the middle of its scan. A code of sixteen ones is not in the standard tables.
fn damaged(jpeg: &[u8]) -> Vec<u8> {
    let mut bytes = jpeg.to_vec();
    let scan = bytes.windows(2).rposition(|pair| pair == [0xFF, 0xDA]).unwrap() + 14;
    let middle = (scan + bytes.len()) / 2;
    bytes[middle - 1] = 0;
    bytes[middle..middle + 20].copy_from_slice(&[0xFF, 0].repeat(10));
    bytes
}

/// Cuts off the second half of a JPEG's scan and adds the end-of-image marker.
fn mended(jpeg: &[u8]) -> Vec<u8> {
    let scan = jpeg.windows(2).rposition(|pair| pair == [0xFF, 0xDA]).unwrap() + 14;
    let mut half = jpeg[..(scan + jpeg.len()) / 2].to_vec();
    while half.last() == Some(&0xFF) {
        half.pop();
    }
    [half, vec![0xFF, 0xD9]].concat()
}

/// Returns the smallest CMYK file of tests/golden that has several rows of blocks.
fn cmyk() -> Vec<u8> {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden");
    let packed = fs::read(golden.join("jpeg_others.bin")).unwrap();
    let mut at = 0;
    for line in fs::read_to_string(golden.join("jpeg_others.txt")).unwrap().lines() {
        let (file, rest) = line.split_once(' ').unwrap();
        let (pixels, name) = rest.split_once(' ').unwrap();
        let [file, pixels] = [file, pixels].map(|bytes| bytes.parse::<usize>().unwrap());
        if name == "CMYK 1 progressive False" {
            return packed[at..at + file].to_vec();
        }
        at += file + pixels;
    }
    panic!("jpeg_others.txt has no such file");
}

#[test]
fn a_clean_folder_ends_with_0() {
    let (jpeg, png) = (encode(picture(40, 24), Codec::Jpeg), encode(picture(24, 40), Codec::Png));
    let root = tree(&[("cat/1.jpg", &jpeg), ("dog/2.PNG", &png), ("dog/readme.txt", b"two animals"), ("LICENSE", b"")]);
    let (value, code) = json(root.path(), &[]);
    assert_eq!(code, 0, "{value}");
    assert_eq!(counts(&value, "findings"), BTreeMap::new());
    assert_eq!(value["image_folder"]["samples"], 2);
    assert_eq!(value["image_folder"]["usable"], 2);
    assert_eq!(value["files_scanned"], 4);
    assert_eq!(value["imbalance"], 1.0);
    let cat = file(&value, "cat/1.jpg");
    assert_eq!((&cat["class"], &cat["verdict"], &cat["format"]), (&"cat".into(), &"ok".into(), &"JPEG".into()));
    assert_eq!((&cat["width"], &cat["height"]), (&40.into(), &24.into()));
    assert_eq!(cat["jpeg"]["subsampling"], "4:4:4");
    assert_eq!(cat["jpeg"]["coding"], "baseline");
    assert_eq!(file(&value, "dog/readme.txt")["reason"], "text");
    let shown = text(&doctor(&[root.path().to_str().unwrap()]));
    assert!(shown.contains("Nothing is wrong.") && shown.contains("2 samples in 2 classes"), "{shown}");
}

#[test]
fn each_problem_is_found_named_and_counted() {
    let jpeg = encode(picture(160, 120), Codec::Jpeg);
    let png = encode(picture(30, 20), Codec::Png);
    let gif = encode(picture(30, 20), Codec::Gif);
    let deep = image::ImageBuffer::from_pixel(9, 9, image::Rgb([1_u16, 2, 3]));
    let deep = encode(image::DynamicImage::ImageRgb16(deep), Codec::Png);
    let arithmetic = {
        let mut bytes = jpeg.clone();
        let sof = bytes.windows(2).position(|pair| pair == [0xFF, 0xC0]).unwrap();
        bytes[sof + 1] = 0xC9;
        bytes
    };
    let root = tree(&[
        ("cat/good.jpg", &jpeg),
        ("cat/cut.jpg", &jpeg[..jpeg.len() / 2]),
        ("cat/cut.png", &png[..png.len() / 2]),
        ("cat/damaged.jpg", &damaged(&jpeg)),
        ("cat/mended.jpg", &mended(&jpeg)),
        ("cat/inks.jpg", &mended(&cmyk())),
        ("cat/empty.jpg", b""),
        ("cat/really.jpg", &png),
        ("cat/again/copy.jpg", &jpeg),
        ("dog/copy.jpg", &jpeg),
        ("dog/text.jpg", b"<html><body>404</body></html>"),
        ("dog/turned.jpg", &with_exif(&encode(picture(41, 23), Codec::Jpeg), 6)),
        ("dog/forged.jpg", &declaring(&jpeg, 65_535, 65_535)),
        ("dog/sparse.jpg", &declaring(&jpeg, 16_000, 16_000)),
        ("dog/arithmetic.jpg", &arithmetic),
        ("dog/deep.png", &deep),
        ("dog/moving.gif", &gif),
        ("dog/BMW.txt", b"BMW is no bitmap"),
        ("dog/heif.jpg", b"\0\0\0\x18ftypheic\0\0\0\0mif1heic"),
        ("loose.jpg", &encode(picture(8, 8), Codec::Jpeg)),
        ("none/notes.md", b"# nothing"),
    ]);
    let (value, code) = json(root.path(), &[]);
    assert_eq!(code, 3);
    let expected = [
        ("truncated", 2),
        ("corrupt", 3),
        ("gray_rest", 1),
        ("too_large", 1),
        ("unsupported", 2),
        ("empty", 1),
        ("no_image", 1),
        ("wrong_extension", 1),
        ("passed_over", 2),
        ("duplicate", 3),
        ("across_classes", 3),
        ("empty_class", 1),
    ];
    let expected: BTreeMap<String, u64> = expected.into_iter().map(|(kind, count)| (kind.to_owned(), count)).collect();
    assert_eq!(counts(&value, "findings"), expected, "{value:#}");
    let notes = counts(&value, "notes");
    assert_eq!((notes["turned"], notes["deep"]), (1, 1), "{notes:?}");

    for (path, verdict, fill) in [
        ("cat/cut.jpg", "truncated", Some(true)),
        ("cat/cut.png", "truncated", Some(true)),
        ("cat/damaged.jpg", "corrupt", Some(true)),
        // `Truncated::Fill` is not tried here, because the image would take a gigabyte.
        ("dog/sparse.jpg", "corrupt", None),
        ("cat/empty.jpg", "empty", None),
        ("cat/mended.jpg", "corrupt", Some(true)),
        // JPEGs of four components go to a decoder that does not report this damage.
        ("cat/inks.jpg", "ok", None),
        ("cat/really.jpg", "ok", None),
        ("dog/text.jpg", "no_image", None),
        ("dog/turned.jpg", "ok", None),
        ("dog/forged.jpg", "too_large", None),
        ("dog/arithmetic.jpg", "unsupported", Some(false)),
        ("dog/heif.jpg", "unsupported", None),
        ("dog/BMW.txt", "no_image", None),
        ("dog/moving.gif", "ok", None),
    ] {
        let found = file(&value, path);
        assert_eq!((&found["verdict"], found["fill_keeps"].as_bool()), (&verdict.into(), fill), "{found}");
    }
    let turned = file(&value, "dog/turned.jpg");
    assert_eq!((&turned["width"], &turned["orientation"]), (&23.into(), &6.into()));
    assert_eq!(file(&value, "dog/text.jpg")["reason"], "an HTML page");
    assert_eq!(file(&value, "dog/forged.jpg")["width"], 65_535);
    assert_eq!(file(&value, "loose.jpg")["class"], Value::Null);
    assert_eq!(value["image_folder"]["samples"], 17);
    assert_eq!(value["image_folder"]["usable"], 7);
    let classes: Vec<_> = value["classes"].as_array().unwrap().iter().map(|class| &class["samples"]).collect();
    assert_eq!(classes, [9, 8, 0]);
    let groups = value["duplicates"].as_array().unwrap();
    assert_eq!(groups.len(), 1);
    assert_eq!(groups[0]["files"], serde_json::json!(["cat/again/copy.jpg", "cat/good.jpg", "dog/copy.jpg"]));
    assert_eq!((&groups[0]["one_file"], &groups[0]["across_classes"]), (&false.into(), &true.into()));
    let bars = |name: &str| {
        let histogram = value["histograms"].as_array().unwrap().iter().find(|h| h["name"] == name).unwrap();
        let bars = histogram["bars"].as_array().unwrap().iter();
        bars.map(|bar| (bar["label"].as_str().unwrap().to_owned(), bar["images"].as_u64().unwrap())).collect::<Vec<_>>()
    };
    assert_eq!(bars("EXIF orientation").last().unwrap(), &("6, to turn right by 90".to_owned(), 1));
    assert_eq!(bars("shorter side in pixels").last().unwrap(), &("64-127".to_owned(), 3));

    let shown = text(&doctor(&[root.path().to_str().unwrap(), "--list"]));
    for line in [
        "cat/cut.jpg: truncated: no end-of-image marker (Truncated::Fill keeps it)",
        "cat/inks.jpg: data missing",
        "cat/mended.jpg: corrupt: the scan is damaged or cut (Truncated::Fill keeps it)",
        "cat/really.jpg: wrong extension (is PNG)",
        "dog/turned.jpg: turned by EXIF",
        "dog/arithmetic.jpg: unsupported: arithmetic coding",
        "dog/forged.jpg: too large: declares 65535x65535 pixels, more than max_pixels = 268435456",
        "loose.jpg: passed over",
        "none: empty class",
        "the same bytes: cat/again/copy.jpg, cat/good.jpg, dog/copy.jpg",
        "2 truncated: OnError::Skip",
    ] {
        assert!(shown.contains(line), "no line {line:?} in\n{shown}");
    }
    assert!(!shown.contains("cat/good.jpg: truncated"));
    let brief = text(&doctor(&[root.path().to_str().unwrap()]));
    assert!(!brief.contains("dog/turned.jpg") && brief.contains("--list names each file"), "{brief}");
}

#[test]
fn the_limit_of_pixels_is_an_option() {
    let root = tree(&[("cat/1.png", &encode(picture(30, 20), Codec::Png))]);
    assert_eq!(json(root.path(), &["--max-pixels", "600"]).1, 0);
    let (value, code) = json(root.path(), &["--max-pixels", "599", "--threads", "1"]);
    assert_eq!((code, &file(&value, "cat/1.png")["verdict"]), (3, &"too_large".into()));
}

#[test]
fn a_folder_that_is_no_image_folder_is_looked_through_all_the_same() {
    let root = tree(&[("1.jpg", &encode(picture(30, 20), Codec::Jpeg))]);
    let (value, code) = json(root.path(), &[]);
    assert_eq!(code, 1, "no loader can open it");
    assert_eq!(value["image_folder"]["accepted"], false);
    assert!(value["image_folder"]["error"].as_str().unwrap().contains("each class is a folder"));
    assert_eq!(counts(&value, "findings")["not_an_image_folder"], 1);
    assert_eq!(file(&value, "1.jpg")["verdict"], "ok");
}

#[test]
fn what_cannot_run_ends_with_1_and_wrong_arguments_with_2() {
    let root = tree(&[("file.jpg", b"x")]);
    for path in [root.path().join("nowhere"), root.path().join("file.jpg")] {
        let output = doctor(&[path.to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(1));
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(message.contains(path.to_str().unwrap()) && message.contains("folder"), "{message}");
        assert!(output.stdout.is_empty());
    }
    for arguments in [&["--list"][..], &["x", "--max-pixels", "0"], &["x", "--threads", "0"], &["--nonsense"]] {
        assert_eq!(doctor(arguments).status.code(), Some(2), "{arguments:?}");
    }
}

#[cfg(unix)]
#[test]
fn links_pipes_and_permissions_are_found() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let jpeg = encode(picture(30, 20), Codec::Jpeg);
    let root =
        tree(&[("cat/1.jpg", &jpeg), ("cat/locked.png", &encode(picture(5, 5), Codec::Png)), ("dog/x/1.txt", b"")]);
    let at = |path: &str| root.path().join(path);
    symlink(at("cat/1.jpg"), at("cat/link.jpg")).unwrap();
    symlink(at("nowhere"), at("cat/dangling.jpg")).unwrap();
    symlink(at("dog"), at("dog/x/up")).unwrap();
    assert!(Command::new("mkfifo").arg(at("dog/pipe.jpg")).status().unwrap().success());
    fs::set_permissions(at("cat/locked.png"), fs::Permissions::from_mode(0o000)).unwrap();
    // The user root can read files without permissions.
    let locked = fs::read(at("cat/locked.png")).is_err();
    if !locked {
        println!("skipped for root: a file and a folder without permissions");
    }
    let (value, code) = json(root.path(), &[]);
    assert_eq!(code, 3);
    let found = counts(&value, "findings");
    assert_eq!(found["unreadable"], 2 + u64::from(locked), "{value:#}");
    assert_eq!(found["link_loop"], 1);
    assert_eq!(file(&value, "cat/dangling.jpg")["verdict"], "unreadable");
    assert!(file(&value, "dog/pipe.jpg")["reason"].as_str().unwrap().contains("pipe"));
    assert_eq!(value["duplicates"][0]["one_file"], true);
    assert_eq!(value["places"][0]["path"], "dog/x/up");
    assert!(value["places"][0]["reason"].as_str().unwrap().contains("leads back to dog"));

    if locked {
        fs::set_permissions(at("dog/x"), fs::Permissions::from_mode(0o000)).unwrap();
        let (value, code) = json(root.path(), &[]);
        fs::set_permissions(at("dog/x"), fs::Permissions::from_mode(0o700)).unwrap();
        assert_eq!((code, counts(&value, "findings")["unreadable_folder"]), (1, 1));
        assert_eq!(value["image_folder"]["accepted"], false);
    }
}

#[test]
fn without_a_folder_the_adapters_and_the_way_are_printed() {
    let shown = text(&doctor(&[]));
    for part in ["Adapters, best first", "The way that gpufeed takes", "Backend::auto() takes ", "Augmentation: "] {
        assert!(shown.contains(part), "no {part:?} in\n{shown}");
    }
    let output = doctor(&["--json"]);
    let value: Value = serde_json::from_slice(&output.stdout).unwrap();
    let problems = value["problems"].as_array().unwrap();
    assert_eq!(output.status.code(), Some(if problems.is_empty() { 0 } else { 3 }), "{problems:?}");
    assert!(value["machine"]["cores"].as_u64().unwrap() > 0);
    assert!(value["machine"]["memory_bytes"].as_u64().unwrap() > 1 << 20);
    // The adapters are those of the library, in the same order. Exactly one of them is taken unless the CPU is.
    let names = gpufeed::Gpu::adapters();
    let usable: Vec<_> = value["adapters"].as_array().unwrap().iter().filter(|a| !a["number"].is_null()).collect();
    assert_eq!(usable.len(), names.len());
    for (adapter, name) in usable.iter().zip(&names) {
        assert!(name.starts_with(adapter["name"].as_str().unwrap()));
        assert_eq!(adapter["limits"].as_array().unwrap().len(), 6);
        assert_eq!(adapter["features"].as_array().unwrap().len(), 4);
        assert!(!adapter["why"].as_str().unwrap().is_empty());
    }
    let taken = usable.iter().filter(|adapter| adapter["taken"] == true).count();
    assert_eq!(taken, usize::from(value["path"]["backend"] != "cpu"));
}

#[test]
fn the_environment_decides_the_way_and_is_shown() {
    let with = |name: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gpufeed"));
        command.args(["doctor", "--json"]).env("NODEVICE_SELECT", "1").env("GPUFEED_ADAPTER", name);
        let output = command.output().unwrap();
        (serde_json::from_slice::<Value>(&output.stdout).unwrap(), output.status.code())
    };
    let (value, _) = with("cpu");
    assert_eq!((&value["path"]["backend"], &value["path"]["executor"]), (&"cpu".into(), &"CPU executor".into()));
    assert!(value["path"]["why"].as_str().unwrap().contains("GPUFEED_ADAPTER=cpu asks for it"));
    assert!(value["environment"].as_array().unwrap().iter().any(|variable| variable["name"] == "GPUFEED_ADAPTER"));
    let (value, code) = with("no such adapter");
    assert_eq!((code, &value["path"]["backend"]), (Some(3), &Value::Null));
    assert!(value["problems"][0].as_str().unwrap().contains("no such adapter"));
    if gpufeed::Gpu::adapters().is_empty() {
        println!("skipped: no adapter to name");
        return;
    }
    let (value, _) = with("0");
    assert_eq!(value["adapters"][0]["taken"], true);
    assert_ne!(value["path"]["backend"], "cpu");
}

/// Checks that every difference from Pillow's verdicts is in the lists of `pillow.rs`, and that every entry of the
/// lists still differs.
#[test]
fn verdicts_on_the_corpus_differ_from_pillows_where_it_is_explained() {
    let (Some(corpus), Some(golden)) = (std::env::var_os("GPUFEED_CORPUS"), std::env::var_os("GPUFEED_SHARED")) else {
        println!("skipped: GPUFEED_CORPUS or GPUFEED_SHARED not set");
        return;
    };
    let pillow = fs::read(Path::new(&golden).join("../decode.json")).unwrap();
    let pillow: Value = serde_json::from_slice(&pillow).unwrap();
    let (value, _) = json(Path::new(&corpus), &[]);
    let ours: BTreeMap<&str, &Value> =
        value["files"].as_array().unwrap().iter().map(|file| (file["path"].as_str().unwrap(), file)).collect();

    let (mut both, mut neither) = (0, 0);
    let (mut refused, mut accepted) = (BTreeSet::new(), BTreeSet::new());
    for (path, theirs) in pillow["files"].as_object().unwrap() {
        let Some(path) = path.strip_prefix("data/jpeg-corpus/") else { continue };
        let file = ours[path];
        let verdict = file["verdict"].as_str().unwrap();
        match (verdict == "ok", theirs["ok"].as_bool().unwrap()) {
            (true, true) => {
                both += 1;
                let oriented = if file["orientation"].as_u64().unwrap() >= 5 {
                    (&file["height"], &file["width"])
                } else {
                    (&file["width"], &file["height"])
                };
                assert_eq!(oriented, (&theirs["width"], &theirs["height"]), "{path}");
            }
            (false, false) => neither += 1,
            (false, true) => {
                println!("refused here alone: {path}: {verdict}: {}", file["reason"]);
                refused.insert((path, verdict));
            }
            (true, false) => {
                println!("accepted here alone: {path}: Pillow says {}", theirs["error"]);
                accepted.insert(path);
            }
        }
    }
    println!("{both} decoded by both, {neither} by neither");
    assert_eq!((both, neither), (47, 865));
    assert_eq!(refused, BTreeSet::from(REFUSED_HERE));
    assert_eq!(accepted, BTreeSet::from(ACCEPTED_HERE));
    assert!(!counts(&value, "findings").contains_key("panicked"));
}

#[test]
fn other_data_sets_are_looked_through_sample_by_sample() {
    let (jpeg, png) = (encode(picture(40, 24), Codec::Jpeg), encode(picture(24, 40), Codec::Png));
    let files = [("cat/1.jpg", &jpeg[..]), ("cat/2.png", &png), ("dog/3.jpg", &damaged(&jpeg)), ("dog/4.png", &png)];
    let (root, out) = (tree(&files), tempfile::tempdir().unwrap());
    let shards = out.path().join("shards");
    let pack = Command::new(env!("CARGO_BIN_EXE_gpufeed"))
        .args(["pack", root.path().to_str().unwrap(), shards.to_str().unwrap()])
        .output()
        .unwrap();
    assert!(pack.status.success(), "{}", String::from_utf8_lossy(&pack.stderr));
    let (value, code) = json(&shards, &[]);
    assert_eq!((code, &value["format"]), (3, &"tar".into()), "{value}");
    let expected = [("corrupt", 1), ("duplicate", 2), ("across_classes", 2)].map(|(kind, n)| (kind.to_owned(), n));
    assert_eq!(counts(&value, "findings"), BTreeMap::from(expected));
    let samples = &value["image_folder"];
    assert_eq!((&samples["samples"], &samples["usable"]), (&4.into(), &3.into()));
    assert_eq!(file(&value, "dog/3")["class"], "dog");
    // The findings are those of the packed folder itself.
    let (folder, _) = json(root.path(), &[]);
    assert_eq!(counts(&value, "findings"), counts(&folder, "findings"));
    assert_eq!(folder["format"], "folder");

    let mnist = tempfile::tempdir().unwrap();
    let header = [&[0u8, 0, 8, 3][..], &3u32.to_be_bytes(), &1u32.to_be_bytes(), &2u32.to_be_bytes()].concat();
    fs::write(mnist.path().join("train-images-idx3-ubyte"), [&header[..], &[1, 2, 3, 4, 5, 6]].concat()).unwrap();
    fs::write(mnist.path().join("train-labels-idx1-ubyte"), [0, 0, 8, 1, 0, 0, 0, 3, 5, 5, 12]).unwrap();
    let (value, code) = json(mnist.path(), &[]);
    assert_eq!((code, &value["format"], &value["image_folder"]["usable"]), (0, &"idx".into(), &3.into()), "{value}");
    let classes: Vec<_> = value["classes"].as_array().unwrap().iter().map(|class| &class["name"]).collect();
    assert_eq!(classes, ["5", "12"]);
    let summary = text(&doctor(&[mnist.path().to_str().unwrap()]));
    assert!(summary.contains("3 samples, 6 B") && summary.contains("idx: 3 samples in 2 classes"), "{summary}");

    fs::write(shards.join("shard-000000.tar"), b"no archive").unwrap();
    let output = doctor(&[shards.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
}
