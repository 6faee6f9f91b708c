//! Committed files that a test compares with what the library does today. They are rewritten only on request, and a
//! test that rewrites one fails.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{Debug, Display, Write};
use std::path::{Path, PathBuf};

/// The environment variable that makes tests rewrite the files if its value is 1.
pub const VARIABLE: &str = "GPUFEED_FREEZE";

/// The most differing cases that a message names.
const NAMED: usize = 12;

/// Returns the path of a file of `tests/frozen/`.
pub fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/frozen").join(name)
}

fn shown(name: &str) -> String {
    format!("tests/frozen/{name}")
}

/// Returns the end of a message, which says how to renew the file `name` and to commit it with `what`.
fn how(name: &str, what: &str) -> String {
    format!(
        "If that is meant, run this test with {VARIABLE}=1, which writes {} anew, and commit the file together with {what}.",
        shown(name)
    )
}

/// Writes those files whose text differs, and panics if it wrote one, so that no run that writes passes for one that
/// compares.
fn renew(files: &[(&str, &str)]) {
    let mut renewed = Vec::new();
    for (name, text) in files {
        let path = path(name);
        if std::fs::read_to_string(&path).is_ok_and(|old| old == *text) {
            continue;
        }
        let folder = path.parent().expect("it has a folder");
        let written = std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&path, text));
        written.unwrap_or_else(|error| panic!("{} cannot be written: {error}", shown(name)));
        renewed.push(shown(name));
    }
    let renewed = renewed.join(", ");
    assert!(renewed.is_empty(), "written anew: {renewed}. See what changed, and run the test again without {VARIABLE}");
}

fn is_renewed() -> bool {
    std::env::var(VARIABLE).is_ok_and(|value| value == "1")
}

fn read(name: &str) -> String {
    let read = std::fs::read_to_string(path(name));
    read.unwrap_or_else(|error| panic!("{} cannot be read: {error}. {}", shown(name), how(name, "the test")))
}

/// Compares `lines`, pairs of a name and a value, with the lines `name: value` of the file `tests/frozen/<name>`, and
/// panics with the names that differ.
///
/// `what` is the change with which a renewed file is committed, such as `the shader`.
pub fn check_lines(name: &str, lines: &[(String, String)], what: &str) {
    let text: String = lines.iter().map(|(case, value)| format!("{case}: {value}\n")).collect();
    if is_renewed() {
        renew(&[(name, &text)]);
    }
    let committed = read(name);
    let old: BTreeMap<&str, &str> = committed.lines().filter_map(|line| line.rsplit_once(": ")).collect();
    let new: BTreeSet<&str> = lines.iter().map(|(case, _)| case.as_str()).collect();
    assert_eq!(new.len(), lines.len(), "two cases have one name");
    let mut differing = Vec::new();
    for (case, value) in lines {
        match old.get(case.as_str()) {
            Some(old) if old == value => {}
            Some(old) => differing.push(format!("{case}: {value}, was {old}")),
            None => differing.push(format!("{case}: new")),
        }
    }
    differing.extend(old.keys().filter(|case| !new.contains(*case)).map(|case| format!("{case}: is gone")));
    if differing.is_empty() {
        return;
    }
    let mut message = format!("{} of {} cases differ from {}:", differing.len(), new.len(), shown(name));
    for line in differing.iter().take(NAMED) {
        let _ = write!(message, "\n  {line}");
    }
    if differing.len() > NAMED {
        let _ = write!(message, "\n  and {} more", differing.len() - NAMED);
    }
    panic!("{message}\n{}", how(name, what));
}

/// Returns the texts of the committed files `tests/frozen/<name>`, which must stay readable. `written` has each name
/// with the text that the library writes today, which replaces the file where [`VARIABLE`] asks for it.
pub fn files(written: &[(&str, &str)]) -> Vec<String> {
    if is_renewed() {
        renew(written);
    }
    written.iter().map(|(name, _)| read(name)).collect()
}

/// Panics if the file `tests/frozen/<name>` can no longer be read, or if `read`, the value read from it, is not
/// `expected`.
pub fn check_read<T: PartialEq + Debug, E: Display>(name: &str, read: Result<T, E>, expected: &T) {
    let how = how(name, "what reads it otherwise, and say in CHANGELOG.md that older files are read otherwise");
    let read = read.unwrap_or_else(|error| panic!("{} is no longer read: {error}\n{how}", shown(name)));
    if read != *expected {
        let (read, expected) = (format!("{read:#?}"), format!("{expected:#?}"));
        let mut lines = read.lines().zip(expected.lines());
        let (here, there) = lines.find(|(a, b)| a != b).unwrap_or(("less, or more", "what there was"));
        let (here, there) = (here.trim(), there.trim());
        panic!("{} no longer means what it did: {here} instead of {there}\n{how}", shown(name));
    }
}
