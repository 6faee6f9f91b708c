//! Runs the command, and fails where it prints an error in the words of Rust or of Python.

use std::process::{Command, Output};

pub(crate) trait Run {
    /// The output of the program, whose errors, warnings and notes name flags and keys of files alone.
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

/// A line of `RUST_LOG`: its level, and the module that wrote it.
fn is_a_record(line: &str) -> bool {
    ["ERROR", "WARN", "INFO", "DEBUG", "TRACE"].iter().any(|level| line.trim_start().starts_with(level))
}

/// A path of Rust, a call of a method, a switch as Rust or Python writes it.
fn is_foreign(line: &str) -> bool {
    let foreign = ["::", "builder()", "(true)", "(false)", "=True", "=False", "=\""];
    foreign.iter().any(|words| line.contains(words)) || is_called(line)
}

/// True for `.name(`.
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
