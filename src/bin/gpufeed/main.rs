//! The command `gpufeed`: measures the line on any machine, looks at data sets, shows what recipes do.
//!
//! Exit codes: 0 done; 1 it could not be done; 2 wrong arguments; 3 done, and there is something to look at (`doctor`,
//! `index`, `pack`: files that cannot be used; `compare`: a difference larger than the noise).

#![allow(clippy::print_stdout, clippy::print_stderr)]

/// Prints a line; that a reader has seen enough (`| head`) is no failure.
macro_rules! say {
    ($($text:tt)*) => {{
        use std::io::Write;
        let _ = writeln!(std::io::stdout().lock(), $($text)*);
    }};
}

mod bench;
mod compare;
mod doctor;
mod index;
mod pack;
mod preview;
mod report;

use clap::{Parser, Subcommand};
use gpufeed::recipe::{self, Recipe};
use std::io::{self, BufWriter, StdoutLock, Write as _};
use std::process::ExitCode;

/// Writes what a program will read: an error if it cannot be written, unless the reader has seen enough (`| head`).
pub(crate) fn to_stdout(
    write: impl FnOnce(&mut BufWriter<StdoutLock<'static>>) -> io::Result<()>,
) -> Result<(), String> {
    let mut out = BufWriter::new(io::stdout().lock());
    match write(&mut out).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        done => done.map_err(|error| format!("standard output: {error}")),
    }
}

/// A recipe by its name or its file.
pub(crate) fn recipe(name: &str) -> Result<Recipe, String> {
    recipe::load(name).map_err(|error| match error.kind() {
        // What is wrong inside a recipe names the setting by itself.
        gpufeed::ErrorKind::Io { .. } => format!("recipe: {error}"),
        _ => error.to_string(),
    })
}

/// What a command ends with.
pub(crate) type Outcome = Result<ExitCode, Box<dyn std::error::Error>>;

/// Done, and there is something to look at.
pub(crate) const FINDINGS: u8 = 3;

/// Feeds any GPU with augmented image batches: benchmarks, checks and previews.
#[derive(Parser)]
#[command(version, about, after_help = "Exit codes: 0 done; 1 failed; 2 wrong arguments; 3 done, with findings")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Bench(bench::Arguments),
    Compare(compare::Arguments),
    Doctor(doctor::Arguments),
    Index(index::Arguments),
    Pack(pack::Arguments),
    Preview(preview::Arguments),
    Report(report::command::Arguments),
}

fn main() -> ExitCode {
    let outcome = match Arguments::parse().command {
        Command::Bench(arguments) => bench::run(&arguments),
        Command::Compare(arguments) => compare::run(&arguments),
        Command::Doctor(arguments) => doctor::run(&arguments),
        Command::Index(arguments) => index::run(&arguments),
        Command::Pack(arguments) => pack::run(&arguments),
        Command::Preview(arguments) => preview::run(&arguments),
        Command::Report(arguments) => report::command::run(&arguments),
    };
    outcome.unwrap_or_else(|error| {
        eprintln!("{} {error}", console::style("error:").for_stderr().red().bold());
        ExitCode::FAILURE
    })
}
