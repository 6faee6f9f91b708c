//! Tests of `gpufeed doctor` on folders of files made here. With GPUFEED_CORPUS and GPUFEED_SHARED set, also the
//! differences between its verdicts on the corpus of JPEGs and Pillow's, which
//! `benches/results/doctor-jpeg-corpus.md` explains.

#![allow(clippy::print_stdout)] // a skipped test says so

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::Command;

use crate::doctoring::{counts, damaged, doctor, file, json, text, tree};
use crate::pillow::REFUSED_HERE;
use gpufeed::decode::Truncated;
use gpufeed_testing::damaged::other_files;
use gpufeed_testing::encoded::{all_of, encode, options, picture, with_exif};
use gpufeed_testing::golden;
use image::ImageFormat as Codec;
use serde_json::Value;

fn declaring(jpeg: &[u8], height: u16, width: u16) -> Vec<u8> {
    let mut bytes = jpeg.to_vec();
    let sof = bytes.windows(2).position(|pair| pair == [0xFF, 0xC0]).unwrap();
    bytes[sof + 5..sof + 7].copy_from_slice(&height.to_be_bytes());
    bytes[sof + 7..sof + 9].copy_from_slice(&width.to_be_bytes());
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

/// Returns the smallest file of tests/golden of a kind that has several rows of blocks.
fn other(kind: &str) -> Vec<u8> {
    other_files().into_iter().find(|file| file.name == kind).unwrap().jpeg
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
        ("cat/inks.jpg", &mended(&other("CMYK 1 progressive False"))),
        ("cat/progressive.jpg", &mended(&other("progressive 4:2:0 33x47"))),
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
        ("corrupt", 5),
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
        ("cat/inks.jpg", "corrupt", Some(true)),
        ("cat/progressive.jpg", "corrupt", Some(true)),
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
    assert_eq!(value["image_folder"]["samples"], 18);
    assert_eq!(value["image_folder"]["usable"], 6);
    let classes: Vec<_> = value["classes"].as_array().unwrap().iter().map(|class| &class["samples"]).collect();
    assert_eq!(classes, [10, 8, 0]);
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
        "cat/cut.jpg: truncated: no end-of-image marker (a loader that fills truncated images keeps it)",
        "cat/progressive.jpg: corrupt: a scan is damaged or cut (a loader that fills truncated images keeps it)",
        "cat/mended.jpg: corrupt: the scan is damaged or cut (a loader that fills truncated images keeps it)",
        "cat/really.jpg: wrong extension (is PNG)",
        "dog/turned.jpg: turned by EXIF",
        "dog/arithmetic.jpg: unsupported: arithmetic coding is not supported",
        "dog/forged.jpg: too large: declares 65535x65535 pixels, more than 268435456",
        "loose.jpg: passed over",
        "none: empty class",
        "the same bytes: cat/again/copy.jpg, cat/good.jpg, dog/copy.jpg",
        "2 truncated: a loader replaces and counts them",
    ] {
        assert!(shown.contains(line), "no line {line:?} in\n{shown}");
    }
    assert!(!shown.contains("cat/good.jpg: truncated"));
    let brief = text(&doctor(&[root.path().to_str().unwrap()]));
    assert!(!brief.contains("dog/turned.jpg") && brief.contains("--list names each file"), "{brief}");
}

#[test]
fn a_refused_kind_of_jpeg_has_the_sentence_of_the_loader() {
    let jpeg = encode(picture(30, 20), Codec::Jpeg);
    let sof = jpeg.windows(2).position(|pair| pair == [0xFF, 0xC0]).unwrap();
    let changed = |at: usize, value: u8| {
        let mut bytes = jpeg.clone();
        bytes[sof + at] = value;
        bytes
    };
    let kinds = [
        ("lossless", changed(1, 0xC3), "lossless coding is not supported"),
        ("hierarchical", changed(1, 0xC5), "hierarchical coding is not supported"),
        ("arithmetic", changed(1, 0xC9), "arithmetic coding is not supported"),
        ("progressive-arithmetic", changed(1, 0xCA), "arithmetic coding is not supported"),
        ("12-bits", changed(4, 12), "samples of 12 bits are not supported"),
    ];
    let paths: Vec<String> = kinds.iter().map(|(name, ..)| format!("cat/{name}.jpg")).collect();
    let files: Vec<(&str, &[u8])> =
        paths.iter().zip(&kinds).map(|(path, (_, bytes, _))| (path.as_str(), bytes.as_slice())).collect();
    let root = tree(&files);
    let (value, _) = json(root.path(), &[]);
    for (path, (_, bytes, sentence)) in paths.iter().zip(&kinds) {
        let found = file(&value, path);
        assert_eq!((&found["verdict"], &found["reason"]), (&"unsupported".into(), &(*sentence).into()), "{found}");
        for truncated in [Truncated::Error, Truncated::Fill] {
            let error = all_of(bytes, &options(|options| options.truncated = truncated)).unwrap_err();
            assert!(error.to_string().contains(sentence), "{error}");
        }
    }
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

/// lists still differs.
#[test]
fn verdicts_on_the_corpus_differ_from_pillows_where_it_is_explained() {
    let (Some(corpus), Some(golden)) = (golden::folder("GPUFEED_CORPUS"), golden::folder("GPUFEED_SHARED")) else {
        return;
    };
    let pillow = fs::read(golden.join("../decode.json")).unwrap();
    let pillow: Value = serde_json::from_slice(&pillow).unwrap();
    let (value, _) = json(&corpus, &[]);
    let ours: BTreeMap<&str, &Value> =
        value["files"].as_array().unwrap().iter().map(|file| (file["path"].as_str().unwrap(), file)).collect();

    let (mut both, mut neither) = (0, 0);
    let mut refused = BTreeSet::new();
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
            (true, false) => panic!("accepted here alone: {path}: Pillow says {}", theirs["error"]),
        }
    }
    println!("{both} decoded by both, {neither} by neither");
    assert_eq!((both, neither), (47, 866));
    assert_eq!(refused, BTreeSet::from(REFUSED_HERE));
    assert!(!counts(&value, "findings").contains_key("panicked"));
}
