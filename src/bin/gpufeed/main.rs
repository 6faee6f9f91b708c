//! The command `gpufeed`: measures the line on any machine, looks at data sets, shows what recipes do.
//!
//! Exit codes: 0 done; 1 it could not be done; 2 wrong arguments; 3 done, and there is something to look at (`doctor`,
//! `index`, `pack`: files that cannot be used; `compare`: a difference larger than the noise); 130 `index` was stopped by
//! Ctrl-C or SIGTERM, and has saved what it had done.

#![allow(clippy::print_stdout, clippy::print_stderr)]

/// Prints a line to standard output, and returns from the function if that fails.
macro_rules! say {
    ($($text:tt)*) => {
        $crate::output::line(format_args!($($text)*))?
    };
}

mod bench;
mod compare;
mod doctor;
mod identity;
mod index;
mod mesa;
mod output;
mod pack;
mod preview;
mod report;
mod room;
mod source;
mod warnings;
mod words;

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser, Subcommand};
use console::style;
use gpufeed::command::Shown;
use gpufeed::recipe::{self, Recipe};
pub(crate) use output::to_stdout;
use std::io::Write as _;
use std::process::ExitCode;

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
#[command(version, propagate_version = true, args_override_self = true, about)]
#[command(after_help = "Exit codes: 0 done; 1 failed; 2 wrong arguments; 3 done, with findings")]
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

/// Ends the process as clap does where arguments contradict each other.
pub(crate) fn refuse_arguments(conflict: &str) -> ! {
    Arguments::command().error(ErrorKind::ArgumentConflict, conflict).exit()
}

/// Reads the arguments. Help and version are printed; what is wrong is told, with escapes for what a terminal would
/// obey: an argument may be the name of somebody's file (`gpufeed doctor *`).
fn parse() -> Result<Arguments, Outcome> {
    Arguments::try_parse().map_err(|error| {
        if error.use_stderr() {
            // clap shows arguments as they are, so it is asked once more, about escaped ones.
            let shown = std::env::args_os().map(|argument| Shown(argument.to_string_lossy()).to_string());
            Arguments::try_parse_from(shown).err().unwrap_or(error).exit();
        }
        let text = error.render();
        let text = if console::colors_enabled() { text.ansi().to_string() } else { text.to_string() };
        to_stdout(|out| write!(out, "{text}"))?;
        Ok(ExitCode::SUCCESS)
    })
}

fn main() -> ExitCode {
    mesa::silence();
    warnings::show();
    let outcome = parse().map_or_else(|ended| ended, |arguments| run(&arguments.command));
    outcome.unwrap_or_else(|error| {
        // The library's errors have escaped the text that comes from elsewhere, and may have several lines.
        let library = error.downcast_ref::<gpufeed::Error>();
        let text = library.map_or_else(|| Shown(&error).to_string(), words::said);
        output::complain(style("error:").red().bold(), text);
        ExitCode::FAILURE
    })
}

fn run(command: &Command) -> Outcome {
    match command {
        Command::Bench(arguments) => bench::run(arguments),
        Command::Compare(arguments) => compare::run(arguments),
        Command::Doctor(arguments) => doctor::run(arguments),
        Command::Index(arguments) => index::run(arguments),
        Command::Pack(arguments) => pack::run(arguments),
        Command::Preview(arguments) => preview::run(arguments),
        Command::Report(arguments) => report::command::run(arguments),
    }
}
