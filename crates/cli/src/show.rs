//! `--open`: shows a file that a command has written with the program that the desktop has for it.

use crate::output::{self, Output};
use console::style;

/// Opens the file. Where nothing can show it, a warning says so: the file is written all the same.
pub(crate) fn open(output: &Output) {
    let failed = match output.file() {
        Some(file) => match open::that_detached(file) {
            Ok(()) => return,
            Err(error) => format!("--open: {}: nothing here shows it: {error}", output.name()),
        },
        None => format!("--open: {} is no file", output.name()),
    };
    output::complain(style("warning:").yellow(), gpufeed::internals::Shown(failed));
}
