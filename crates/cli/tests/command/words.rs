//! Runs the command `gpufeed` in tests. A test fails if the command's messages contain Rust or Python code.

use std::process::{Command, Output};

pub(crate) trait Run {
    /// Runs the program, and returns its output. Panics if a line on standard error contains Rust or Python code: a
    /// user of the command needs the names of flags and of keys in files instead.
    fn run(&mut self) -> Output;
}

impl Run for Command {
    fn run(&mut self) -> Output {
        let output = self.output().expect("the program starts");
        let said = String::from_utf8_lossy(&output.stderr);
        for line in said.lines().filter(|line| !is_a_record(line)) {
            assert!(!is_foreign(line), "not in the command's words: {line}");
        }
        output
    }
}

/// Returns true if a line is a log record, which the variable `RUST_LOG` switches on: it begins with the record's
/// level.
fn is_a_record(line: &str) -> bool {
    ["ERROR", "WARN", "INFO", "DEBUG", "TRACE"].iter().any(|level| line.trim_start().starts_with(level))
}

/// Returns true if a line contains Rust or Python code: a path with `::`, a method call, or an argument such as
/// `=True`.
fn is_foreign(line: &str) -> bool {
    let foreign = ["::", "builder()", "(true)", "(false)", "=True", "=False", "=\""];
    foreign.iter().any(|words| line.contains(words)) || is_called(line)
}

/// Returns true if a line contains a method call, which is `.name(`.
fn is_called(line: &str) -> bool {
    line.match_indices('(').any(|(at, _)| {
        let before = &line[..at];
        let name = before.trim_end_matches(|c: char| c.is_ascii_alphanumeric() || c == '_');
        name.len() < before.len() && name.ends_with('.')
    })
}

#[test]
fn words_of_rust_and_python_are_found() {
    for foreign in
        ["use Semantics::Uint8", "call .lanes(4)", "leave scaled_decode(true) out", "truncated=\"fill\" works"]
    {
        assert!(is_foreign(foreign), "{foreign}");
    }
    for own in [
        "error: --batch-size: 0 is none",
        "a.jpg (3 MB)",
        "truncated = \"fill\" in the file",
        "Resize(224) of 1.5 (or 2)",
    ] {
        assert!(!is_foreign(own), "{own}");
    }
}
