//! The command `gpufeed`: measures the line on any machine, looks at data sets, shows what recipes do.
//!
//! Exit codes: 0 done; 1 it could not be done; 2 wrong arguments; 3 done, and there is something to look at (`doctor`: files
//! that cannot be used; `compare`: a difference larger than the noise).

#![allow(clippy::print_stdout, clippy::print_stderr)]

mod bench;
mod compare;
mod doctor;
mod preview;
mod report;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

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
    Preview(preview::Arguments),
    Report(report::command::Arguments),
}

fn main() -> ExitCode {
    let outcome = match Arguments::parse().command {
        Command::Bench(arguments) => bench::run(&arguments),
        Command::Compare(arguments) => compare::run(&arguments),
        Command::Doctor(arguments) => doctor::run(&arguments),
        Command::Preview(arguments) => preview::run(&arguments),
        Command::Report(arguments) => report::command::run(&arguments),
    };
    outcome.unwrap_or_else(|error| {
        eprintln!("{} {error}", console::style("error:").for_stderr().red().bold());
        ExitCode::FAILURE
    })
}
