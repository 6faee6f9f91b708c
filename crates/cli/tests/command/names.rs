//! Tests that no subcommand prints control characters from names and texts in foreign files, which a terminal would
//! obey.

#![cfg(unix)]

use crate::words::Run as _;
use gpufeed_testing::encoded;
use image::ImageFormat as Codec;
use serde_json::{Value, json};
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output};
use tempfile::TempDir;

/// A file name that would set a terminal's title, ring its bell, begin a line, erase that line (a C1 control code), and
/// reverse the direction of writing.
const HOSTILE: &str = "x\u{1b}]0;own\u{7}\nFORGED\r\u{9b}2K\u{202e}gpj";

fn run(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gpufeed"));
    command.current_dir(folder).env("NODEVICE_SELECT", "1").args(arguments).run()
}

/// Checks that neither output stream has control characters, and that one of them has the escaped name. Returns the
/// exit code.
#[track_caller]
fn clean(output: &Output) -> i32 {
    let both = [&output.stdout, &output.stderr].map(|bytes| plain(bytes));
    assert!(both.iter().any(|text| text.contains(r"\u{1b}]0;own\u{7}")), "the name is not there: {both:?}");
    assert!(!both.iter().any(|text| text.lines().any(|line| line.starts_with("FORGED"))), "{both:?}");
    output.status.code().expect("an exit code")
}

/// Returns the text, after checking that it has no control characters except line ends.
#[track_caller]
fn plain(bytes: &[u8]) -> String {
    let text = String::from_utf8(bytes.to_vec()).expect("UTF-8");
    let bad = text.chars().find(|c| (c.is_control() && *c != '\n') || ('\u{202a}'..='\u{202e}').contains(c));
    assert_eq!(bad, None, "{text:?}");
    text
}

/// Makes a data set whose folder, class and files have hostile names. The second file is not an image.
fn folder() -> TempDir {
    let root = tempfile::tempdir().unwrap();
    let class = root.path().join(HOSTILE).join(HOSTILE);
    fs::create_dir_all(&class).unwrap();
    fs::create_dir(root.path().join(HOSTILE).join("cat")).unwrap();
    let jpeg = encoded::encode(encoded::picture(60, 50), Codec::Jpeg);
    for number in 0..3 {
        fs::write(class.join(format!("{number}{HOSTILE}.jpg")), &jpeg).unwrap();
        fs::write(root.path().join(HOSTILE).join(format!("cat/{number}.jpg")), &jpeg).unwrap();
    }
    fs::write(class.join(format!("1{HOSTILE}.jpg")), "no image").unwrap();
    root
}

#[test]
fn files_classes_and_folders() {
    let root = folder();
    let at = root.path();
    assert_eq!(clean(&run(at, &["index", HOSTILE])), 3);
    assert_eq!(clean(&run(at, &["doctor", HOSTILE, "--list"])), 3);
    let picture = format!("{HOSTILE}.png");
    assert_eq!(clean(&run(at, &["preview", HOSTILE, "--out", &picture])), 0);
    assert!(at.join(&picture).exists());
    let packed = format!("{HOSTILE}2");
    assert_eq!(clean(&run(at, &["pack", HOSTILE, &packed, "--verify"])), 3);
    let tar = fs::read_dir(at.join(&packed)).unwrap().map(|entry| entry.unwrap().path());
    let tar = tar.filter(|path| path.extension().is_some_and(|end| end == "tar")).min().unwrap();
    // Changed content of the same length gives another finding.
    let mut bytes = fs::read(&tar).unwrap();
    bytes[100] ^= 1;
    fs::write(tar, bytes).unwrap();
    assert_eq!(clean(&run(at, &["pack", HOSTILE, &packed, "--verify"])), 3);
    let bench = ["bench", "--quick", "--backend", "cpu", "--seconds", "0.1", "--workers", "1", "--batch-size", "2"];
    let bench = [&bench[..], &["--data", HOSTILE]].concat();
    assert_eq!(clean(&run(at, &bench)), 1, "too many files are no images");
    fs::remove_file(at.join(HOSTILE).join(HOSTILE).join(format!("1{HOSTILE}.jpg"))).unwrap();
    assert_eq!(clean(&run(at, &bench)), 0);
}

#[test]
fn json_has_the_name_itself() {
    let root = folder();
    let output = run(root.path(), &["index", HOSTILE, "--json"]);
    let value: Value = serde_json::from_slice(&output.stdout).unwrap();
    let file = value["failed"][0]["file"].as_str().unwrap();
    assert!(file.ends_with(&format!("{HOSTILE}/1{HOSTILE}.jpg")), "{file:?}");
}

#[test]
fn what_does_not_exist() {
    let root = tempfile::tempdir().unwrap();
    let at = root.path();
    let nowhere = format!("no/{HOSTILE}");
    for arguments in [
        &["index", HOSTILE][..],
        &["doctor", HOSTILE],
        &["preview", HOSTILE],
        &["pack", HOSTILE, "out"],
        &["bench", "--data", HOSTILE],
        &["bench", "--adapter", HOSTILE],
        &["bench", "--json", &nowhere],
        &["compare", HOSTILE, HOSTILE],
        &["report", HOSTILE, "--html", "x"],
        &["report", HOSTILE, "--html", &nowhere],
    ] {
        assert_eq!(clean(&run(at, arguments)), 1, "{arguments:?}");
    }
    for arguments in [
        &[HOSTILE][..],
        &["bench", HOSTILE],
        &["bench", "--recipe", HOSTILE],
        &["bench", "--seconds", HOSTILE],
        &["bench", &format!("--workers={HOSTILE}")],
        &["doctor", "a", HOSTILE],
    ] {
        assert_eq!(clean(&run(at, arguments)), 2, "{arguments:?}");
    }
}

#[test]
fn reports_of_others() {
    let root = tempfile::tempdir().unwrap();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/report.json");
    let mut report: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let write = |name: &str, report: &Value| fs::write(root.path().join(name), report.to_string()).unwrap();
    write("a.json", &report);
    for key in ["version", "recipe", "recipe_toml", "adapter", "driver", "backend", "executor", "cache"] {
        report[key] = HOSTILE.into();
    }
    for key in ["adapter_pci", "adapter_uuid", "chosen"] {
        report[key] = HOSTILE.into();
    }
    for pointer in ["/machine/cpu", "/machine/os", "/data/name", "/stages/0/name", "/pools/0/name", "/kernels/clock"] {
        *report.pointer_mut(pointer).unwrap_or_else(|| panic!("{pointer}")) = HOSTILE.into();
    }
    for pointer in ["/kernels/rows/0/name", "/bottleneck/verdict", "/bottleneck/resource", "/bottleneck/change"] {
        *report.pointer_mut(pointer).unwrap_or_else(|| panic!("{pointer}")) = HOSTILE.into();
    }
    report["notes"] = json!([HOSTILE]);
    write("b.json", &report);
    clean(&run(root.path(), &["compare", "a.json", "b.json"]));
    // In HTML a line end is only a space, so it needs no escape.
    assert!(plain(&run(root.path(), &["report", "b.json", "--html", "-"]).stdout).contains(r"\u{1b}]0;own\u{7}"));
    write("c.json", &json!({ "version": "1", "workers": HOSTILE }));
    assert_eq!(clean(&run(root.path(), &["compare", "c.json", "a.json"])), 1);
}

#[test]
fn recipes_of_others() {
    let root = folder();
    let name = format!("{HOSTILE}.toml");
    let quoted = toml_text(HOSTILE);
    let resize = "[[transform]]\ntype = \"Resize\"\nsize = [8, 8]\n";
    let good = format!("name = {quoted}\ndescription = {quoted}\n{resize}");
    fs::write(root.path().join(&name), &good).unwrap();
    assert_eq!(clean(&run(root.path(), &["preview", HOSTILE, "--recipe", &name])), 0);
    for wrong in [
        format!("{quoted} = 1\n{good}"),
        format!("name = 1 {HOSTILE}\n{good}"),
        format!("[[transform]]\ntype = {quoted}\n"),
        format!("{resize}{quoted} = 1\n"),
        format!("[[transform]]\ntype = \"Resize\"\nsize = {quoted}\n"),
        format!("views = {quoted}\ntransform = []\n"),
    ] {
        fs::write(root.path().join("own.toml"), &wrong).unwrap();
        let output = run(root.path(), &["preview", HOSTILE, "--recipe", "own.toml"]);
        assert_eq!(output.status.code(), Some(1), "{wrong:?}");
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(!error.trim_end().contains(|c: char| c.is_control() || c == '\u{202e}'), "{error:?}");
    }
}

fn toml_text(text: &str) -> String {
    let escaped = text.chars().map(|c| format!("\\U{:08x}", u32::from(c)));
    format!("\"{}\"", escaped.collect::<String>())
}

#[test]
fn archives_arrays_and_lists_of_others() {
    let root = tempfile::tempdir().unwrap();
    let at = root.path();
    let jpeg = encoded::encode(encoded::picture(60, 50), Codec::Jpeg);
    let tar = |name: &str, members: &[(&str, &[u8])]| {
        let mut tar = tar::Builder::new(fs::File::create(at.join(name)).unwrap());
        for (member, content) in members {
            let mut header = tar::Header::new_gnu();
            header.set_size(content.len() as u64);
            header.set_mode(0o644);
            tar.append_data(&mut header, member, *content).unwrap();
        }
        tar.into_inner().unwrap().flush().unwrap();
    };
    // A sample's key ends before the first dot of its name.
    let stem = HOSTILE.replace('.', "");
    tar(
        "bad.tar",
        &[
            ("good.jpg", &jpeg),
            ("good.cls", b"0"),
            (&format!("{stem}.jpg"), b"no image"),
            (&format!("{stem}.cls"), b"1"),
        ],
    );
    assert_eq!(clean(&run(at, &["pack", "bad.tar", "packed"])), 3);
    // The shard has a label without an image. Keys may be any bytes; a key that is not plain text is shown in
    // hexadecimal digits.
    tar("lone.tar", &[(&format!("{stem}.cls"), b"1")]);
    let lone = run(at, &["pack", "lone.tar", "out"]);
    assert!(lone.status.code() == Some(1) && plain(&lone.stderr).contains("sample 0x781b5d30"), "{lone:?}");
    // Further sources: a label that is not valid, a list of missing files, arrays of other names, a class that cannot
    // be built.
    tar("label.tar", &[("a.jpg", &jpeg), ("a.cls", HOSTILE.as_bytes())]);
    let row = format!("path,label\n\"{}\",0\n", HOSTILE.replace('"', ""));
    fs::write(at.join("list.csv"), row).unwrap();
    let mut zip = zip::ZipWriter::new(fs::File::create(at.join("arrays.npz")).unwrap());
    zip.start_file(format!("{stem}.npy"), zip::write::SimpleFileOptions::default()).unwrap();
    zip.write_all(b"no array").unwrap();
    zip.finish().unwrap();
    let cifar = at.join("cifar/cifar-10-batches-py");
    fs::create_dir_all(&cifar).unwrap();
    let class = HOSTILE.replace('\n', "");
    for number in 1..=5 {
        fs::write(cifar.join(format!("data_batch_{number}")), format!("c{class}\n{class}\n(S'true'\ntR.")).unwrap();
    }
    for source in ["label.tar", "list.csv", "arrays.npz", "cifar"] {
        let output = run(at, &["pack", source, "out"]);
        assert_ne!(clean(&output), 0, "{source}");
        let _ = fs::remove_dir_all(at.join("out"));
    }
}

#[test]
fn the_environment() {
    let root = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_gpufeed"));
    let output = command.current_dir(root.path()).env("GPUFEED_ADAPTER", HOSTILE).arg("doctor").run();
    clean(&output);
}
