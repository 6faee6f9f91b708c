//! Tests of the command's outputs: standard output, files that are complete or missing, devices, pipes and sockets; a
//! failed write is an error. Device nodes are made in temporary folders, and those of the machine are never changed.

#![cfg(unix)]
#![allow(clippy::print_stdout)] // a skipped part says so

use crate::words::Run as _;
use gpufeed_testing::encoded;
use image::ImageFormat;
use serde_json::Value;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

const REPORT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/report.json");

/// The arguments of a measurement that takes about a second; the data set follows them.
const BENCH: [&str; 11] =
    ["bench", "--quick", "--backend", "cpu", "--seconds", "0.1", "--workers", "1", "--batch-size", "4", "--data"];

/// Returns a command that runs `gpufeed` in `folder`, which holds the files of a test.
fn gpufeed(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gpufeed"));
    command.current_dir(folder).env("NODEVICE_SELECT", "1").args(arguments);
    command
}

fn run(folder: &Path, arguments: &[&str]) -> Output {
    gpufeed(folder, arguments).run()
}

/// Makes a folder of two classes with two pictures each.
fn data_set() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for class in ["cat", "dog"] {
        fs::create_dir(folder.path().join(class)).unwrap();
        for number in 0..2 {
            let jpeg = encoded::encode(encoded::picture(300, 200 + number), ImageFormat::Jpeg);
            fs::write(folder.path().join(format!("{class}/{number}.jpg")), jpeg).unwrap();
        }
    }
    folder
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[track_caller]
fn done(output: &Output) {
    assert_eq!(output.status.code(), Some(0), "{}", said(output));
}

/// Makes a device node and returns its path; `None` if the user may not make one.
fn node(folder: &Path, name: &str, minor: &str) -> Option<PathBuf> {
    let path = folder.join(name);
    let made = Command::new("mknod").arg(&path).args(["c", "1", minor]).stderr(Stdio::null()).status();
    let made = cfg!(target_os = "linux") && made.is_ok_and(|status| status.success());
    if !made {
        println!("skipped: no right to make the node {name}");
    }
    made.then_some(path)
}

/// Makes a device node like /dev/full, to which every write fails as on a full disk.
fn full(folder: &Path) -> Option<PathBuf> {
    node(folder, "full", "7")
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn is_page(bytes: &[u8]) -> bool {
    bytes.starts_with(b"<!DOCTYPE html>") && bytes.ends_with(b"</html>")
}

#[test]
fn what_is_no_regular_file_is_written_to_and_stays() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    assert!(Command::new("mkfifo").arg(at("pipe")).status().unwrap().success());
    let reader = std::thread::spawn({
        let path = at("pipe");
        move || fs::read(path).unwrap()
    });
    done(&run(folder.path(), &["report", REPORT, "--html", "pipe"]));
    assert!(is_page(&reader.join().unwrap()));
    assert!(fs::symlink_metadata(at("pipe")).unwrap().file_type().is_fifo());

    let listener = UnixListener::bind(at("socket")).unwrap();
    let reader = std::thread::spawn(move || {
        let mut content = Vec::new();
        listener.accept().unwrap().0.read_to_end(&mut content).unwrap();
        content
    });
    done(&run(folder.path(), &["report", REPORT, "--html", "socket"]));
    assert!(is_page(&reader.join().unwrap()));
    assert!(fs::symlink_metadata(at("socket")).unwrap().file_type().is_socket());

    if node(folder.path(), "null", "3").is_some() {
        symlink("null", at("link")).unwrap();
        for path in ["null", "link"] {
            done(&run(folder.path(), &["report", REPORT, "--html", path]));
            assert!(fs::symlink_metadata(at("null")).unwrap().file_type().is_char_device());
            assert!(fs::symlink_metadata(at("link")).unwrap().is_symlink());
        }
    }
}

#[test]
fn links_are_followed_and_stay() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("there")).unwrap();
    fs::write(at("there/old.html"), "old").unwrap();
    fs::set_permissions(at("there/old.html"), fs::Permissions::from_mode(0o640)).unwrap();
    symlink("there/old.html", at("first")).unwrap();
    symlink("first", at("second")).unwrap();
    // The target of this link does not exist yet.
    symlink("there/new.html", at("dangling")).unwrap();
    for (link, target) in [("second", "there/old.html"), ("dangling", "there/new.html")] {
        done(&run(folder.path(), &["report", REPORT, "--html", link]));
        assert!(is_page(&fs::read(at(target)).unwrap()), "{link}");
        assert!(fs::symlink_metadata(at(link)).unwrap().is_symlink(), "{link}");
    }
    assert_eq!(fs::metadata(at("there/old.html")).unwrap().permissions().mode() & 0o777, 0o640);
    assert_eq!(names(&at("there")), ["new.html", "old.html"], "nothing is left beside them");

    symlink("/no/such/folder/x", at("nowhere")).unwrap();
    assert_eq!(run(folder.path(), &["report", REPORT, "--html", "nowhere"]).status.code(), Some(1));
}

#[test]
fn standard_output_by_its_names() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["-", "/dev/stdout", "/dev/fd/1"] {
        let output = run(folder.path(), &["report", REPORT, "--html", name]);
        done(&output);
        assert!(is_page(&output.stdout), "{name} into a pipe");
        let path = folder.path().join("page");
        let status = gpufeed(folder.path(), &["report", REPORT, "--html", name]);
        let status = { status }.stdout(File::create(&path).unwrap()).status().unwrap();
        assert!(status.success() && is_page(&fs::read(path).unwrap()), "{name} into a file");
    }

    let data = data_set();
    let preview = |arguments: &[&str]| {
        let output = run(folder.path(), &[&["preview", data.path().to_str().unwrap()], arguments].concat());
        done(&output);
        output.stdout
    };
    let picture = image::load_from_memory(&preview(&["--out", "-"])).unwrap();
    assert!(picture.width() > 500);
    let raw =
        preview(&["--sample", "0", "--raw", "-", "--out", "sheet.png", "--recipe", "imagenet-eval", "--draws", "1"]);
    assert_eq!(raw.len(), 3 * 224 * 224 * 4);

    let data = data.path().to_str().unwrap();
    let output = run(folder.path(), &[&BENCH[..], &[data, "--trace", "-", "--json", "x.json"]].concat());
    done(&output);
    let events: Value = serde_json::from_slice(&output.stdout).expect("the trace alone");
    assert!(!events.as_array().unwrap().is_empty());
    let report: Value = serde_json::from_slice(&fs::read(folder.path().join("x.json")).unwrap()).unwrap();
    assert!(report["images_per_second"]["median"].as_f64().unwrap() > 0.0);
    assert!(!folder.path().join("-").exists());
}

#[test]
fn one_output_for_two_options_is_a_wrong_argument() {
    let (folder, data) = (tempfile::tempdir().unwrap(), data_set());
    let data = data.path().to_str().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("there"), "as it was").unwrap();
    symlink("there", at("link")).unwrap();
    symlink("not-yet", at("dangling")).unwrap();
    assert!(Command::new("mkfifo").arg(at("pipe")).status().unwrap().success());
    let before = names(folder.path());
    let refused = |arguments: &[&str]| {
        let output = run(folder.path(), arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", said(&output));
        assert!(said(&output).contains("name the same output"), "{}", said(&output));
        assert!(output.stdout.is_empty());
    };
    for (a, b) in [
        ("new", "new"),
        ("new", "./new"),
        ("there", "link"),
        ("dangling", "not-yet"),
        ("pipe", "pipe"),
        ("-", "-"),
        ("-", "/dev/stdout"),
    ] {
        refused(&["bench", "--seconds", "3600", "--json", a, "--html", b]);
    }
    // The error comes before any work: with these arguments the measurement would take an hour.
    refused(&["bench", "--seconds", "3600", "--trace", "-", "--html", "-"]);
    refused(&["preview", data, "--json", "--out", "-"]);
    refused(&["preview", data, "--sample", "0", "--raw", "new.png", "--out", "new.png"]);
    assert_eq!(names(folder.path()), before);
    assert_eq!(fs::read_to_string(at("there")).unwrap(), "as it was");
}

#[test]
fn what_cannot_be_written_is_said_before_the_work() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("file"), "").unwrap();
    for (path, reason) in [("no/such/x", "there is no folder no/such"), ("file/x", "ot a directory"), (".", "a folder")]
    {
        for option in ["--json", "--html", "--trace"] {
            // Without an early error this would measure for an hour.
            let output = run(folder.path(), &["bench", "--seconds", "3600", option, path]);
            assert_eq!(output.status.code(), Some(1));
            assert!(said(&output).contains(&format!("{option}: {path}: ")), "{}", said(&output));
            assert!(said(&output).contains(reason), "{}", said(&output));
        }
    }
}

/// Every command that prints to a full disk reports an error.
#[test]
fn standard_output_that_takes_nothing_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let Some(full) = full(folder.path()) else { return };
    let data = data_set();
    let data = data.path().to_str().unwrap();
    let commands: [&[&str]; 14] = [
        &["compare", REPORT, REPORT],
        &["compare", REPORT, REPORT, "--json"],
        &["report", REPORT, "--html", "-"],
        &["pack", data, "packed"],
        &["pack", data, "packed", "--json"],
        &["index", data],
        &["index", data, "--json"],
        &["doctor", data],
        &["doctor", data, "--json"],
        &["preview", data],
        &["preview", data, "--json"],
        &["--help"],
        &["bench", "--version"],
        &[&BENCH[..], &[data]].concat(),
    ];
    for arguments in commands {
        let stdout = File::options().write(true).open(&full).unwrap();
        let output = gpufeed(folder.path(), arguments).stdout(stdout).run();
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {}", said(&output));
        assert!(said(&output).contains("standard output: No space left on device"), "{arguments:?}: {}", said(&output));
    }
}

#[test]
fn an_output_that_takes_nothing_is_an_error_and_the_others_are_written() {
    let folder = tempfile::tempdir().unwrap();
    if full(folder.path()).is_none() {
        return;
    }
    let data = data_set();
    let data = data.path().to_str().unwrap();
    for option in ["--trace", "--html"] {
        let output = run(folder.path(), &[&BENCH[..], &[data, option, "full", "--json", "x.json"]].concat());
        assert_eq!(output.status.code(), Some(1), "{}", said(&output));
        assert!(said(&output).contains(&format!("{option}: full: No space left on device")), "{}", said(&output));
        assert!(String::from_utf8_lossy(&output.stdout).contains("images/s"));
        serde_json::from_slice::<Value>(&fs::read(folder.path().join("x.json")).unwrap()).unwrap();
    }
}

#[test]
fn a_reader_that_has_seen_enough_is_no_failure() {
    let folder = tempfile::tempdir().unwrap();
    for arguments in [&["compare", REPORT, REPORT][..], &["report", REPORT, "--html", "-"], &["--help"]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = gpufeed(folder.path(), arguments).stdout(writer).run();
        done(&output);
        assert!(output.stderr.is_empty(), "{arguments:?}: {}", said(&output));
    }
}

/// A limit on the size of files makes a write fail as a full disk does.
#[test]
fn a_file_is_whole_or_as_it_was() {
    let (folder, data) = (tempfile::tempdir().unwrap(), data_set());
    let data = data.path().to_str().unwrap();
    let limited = |arguments: &[&str]| {
        let script = r#"trap "" XFSZ; ulimit -f 4; exec "$@""#;
        let mut command = Command::new("sh");
        command.args(["-c", script, "sh", env!("CARGO_BIN_EXE_gpufeed")]).args(arguments);
        command.current_dir(folder.path()).run()
    };
    let commands: [(&[&str], &str); 3] = [
        (&["report", REPORT, "--html", "old"], "--html: old: "),
        (&["preview", data, "--out", "old.png"], "--out: old.png: "),
        (&["preview", data, "--out", "x.png", "--sample", "0", "--raw", "old"], "--raw: old: "),
    ];
    for (arguments, part) in commands {
        for old in [None, Some("as it was")] {
            for name in ["old", "old.png"] {
                let path = folder.path().join(name);
                old.map_or_else(|| drop(fs::remove_file(&path)), |old| fs::write(&path, old).unwrap());
            }
            let output = limited(arguments);
            assert_eq!(output.status.code(), Some(1), "{arguments:?}: {}", said(&output));
            assert!(said(&output).contains(part) && said(&output).contains("too large"), "{}", said(&output));
            let left = old.map_or(vec![], |_| vec!["old", "old.png"]);
            assert_eq!(names(folder.path()), left, "{arguments:?}");
            assert!(old.is_none_or(|old| fs::read_to_string(folder.path().join("old")).unwrap() == old));
        }
    }
}

#[test]
fn an_option_given_twice_means_the_last() {
    let folder = tempfile::tempdir().unwrap();
    done(&run(folder.path(), &["report", REPORT, "--html", "first", "--html", "last"]));
    assert_eq!(names(folder.path()), ["last"]);
    let data = data_set();
    let data = data.path().to_str().unwrap();
    let wide = [&BENCH[..], &[data, "--workers", "3,4", "--workers", "2", "--batch-size", "5", "--json", "-"]];
    let output = run(folder.path(), &wide.concat());
    done(&output);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&report["workers"], &report["batch_size"]), (&2.into(), &5.into()));
    assert_eq!(report["sweep"].as_array().unwrap().len(), 1, "{}", report["sweep"]);
}

#[test]
fn every_subcommand_says_the_version() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["bench", "compare", "doctor", "index", "pack", "preview", "report"] {
        let output = run(folder.path(), &[name, "--version"]);
        done(&output);
        assert!(String::from_utf8_lossy(&output.stdout).contains(env!("CARGO_PKG_VERSION")));
    }
}

/// Without a desktop session Mesa's Vulkan layer would print a message on standard error.
#[test]
fn the_driver_is_silent_without_a_session() {
    let folder = tempfile::tempdir().unwrap();
    for session in [None, Some(""), Some("run")] {
        let mut command = gpufeed(folder.path(), &["doctor"]);
        command.env_remove("NODEVICE_SELECT").env_remove("XDG_RUNTIME_DIR");
        session.map(|session| command.env("XDG_RUNTIME_DIR", session));
        let output = command.run();
        assert!(output.stderr.is_empty(), "{session:?}: {}", said(&output));
    }
}

#[test]
fn a_report_compared_with_itself_is_called_so() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::copy(REPORT, at("a.json")).unwrap();
    fs::copy(REPORT, at("b.json")).unwrap();
    symlink("a.json", at("link.json")).unwrap();
    fs::hard_link(at("a.json"), at("hard.json")).unwrap();
    for (other, one_file) in
        [("a.json", true), ("./a.json", true), ("link.json", true), ("hard.json", true), ("b.json", false)]
    {
        let text = run(folder.path(), &["compare", "a.json", other]);
        done(&text);
        assert_eq!(String::from_utf8_lossy(&text.stdout).contains("A and B are one file"), one_file, "{other}");
        let json = run(folder.path(), &["compare", "a.json", other, "--json"]);
        assert_eq!(serde_json::from_slice::<Value>(&json.stdout).unwrap()["one_file"], one_file);
    }
}
