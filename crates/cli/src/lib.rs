//! The command `gpufeed`: measures the loader's pipeline on any machine, inspects data sets, shows what recipes do.
//!
//! [`run`] is the whole command. The program `gpufeed` calls it, and so can any other, such as the entry point of a
//! Python package:
//!
//! ```
//! assert_eq!(gpufeed_cli::run(["gpufeed", "preview", "--help"]), 0);
//! assert_eq!(gpufeed_cli::run(["gpufeed", "no-such-command"]), 2);
//! ```
//!
//! # Cargo features
//!
//! | feature | |
//! |---|---|
//! | `lmdb` | `gpufeed pack --to lmdb`; needs a C compiler. Reading an LMDB does not |
//! | `parquet` | Parquet files as data sets; needs a C compiler |
//! | `remote` | data sets in object stores and on web servers, and `gpufeed pack` into stores; needs a C compiler (TLS) |

// A subcommand has the module of its name; completions.rs has `man` too. `bench` fills the types of results/, and
// report.rs makes a page of them by render/. What subcommands share:
//   dataset.rs            opens any data set by its path
//   part/                 which part `I/N` or `auto` is
//   settings.rs           a file of a loader's settings
//   output.rs, show.rs    writes results to files or standard output; opens them on the desktop
//   error_text.rs         the library's errors in flags and keys of recipes
//   warnings.rs           shows the loader's warnings, or what `RUST_LOG` chooses
//   available_memory.rs   refuses what does not fit
//   file_identity.rs      tells whether two paths lead to one file
//   units.rs              formats numbers
// main.rs is the program; its mesa.rs silences a driver's message.

#![allow(clippy::print_stdout, clippy::print_stderr)]

/// Prints a line to standard output, and returns from the function if that fails.
macro_rules! say {
    ($($text:tt)*) => {
        $crate::output::line(format_args!($($text)*))?
    };
}

mod available_memory;
mod backend;
mod bench;
mod columns;
mod compare;
mod completions;
mod dataset;
mod doctor;
mod error_text;
mod explain;
mod file_identity;
mod index;
mod output;
mod pack;
mod part;
mod preview;
mod render;
mod report;
mod results;
mod settings;
mod show;
mod units;
mod warnings;

use clap::error::ErrorKind;
use clap::{ColorChoice, CommandFactory, FromArgMatches, Parser, Subcommand};
use console::style;
use gpufeed::internals::Shown;
use gpufeed::recipe::{self, Recipe};
pub(crate) use output::to_stdout;
use std::ffi::OsString;
use std::io::Write as _;

/// Loads a recipe by its name or its file. An unknown name is a wrong argument, as clap has it.
pub(crate) fn recipe(name: &str) -> Result<Recipe, Box<dyn std::error::Error>> {
    recipe::load(name).map_err(|error| match error.kind() {
        // An error inside a recipe names the setting by itself.
        gpufeed::ErrorKind::Io { .. } => format!("recipe: {error}").into(),
        gpufeed::ErrorKind::Argument { reason, .. } if !recipe::is_path(name) => {
            let reason = format!("--recipe: {}; a TOML file works, too", Shown(reason));
            command_line().error(ErrorKind::InvalidValue, reason).into()
        }
        _ => error_text::describe(&error).into(),
    })
}

/// The result of a command: an exit code, or the error that [`run`] prints.
pub(crate) type Outcome = Result<u8, Box<dyn std::error::Error>>;

/// Exit code of a command that succeeded.
pub(crate) const DONE: u8 = 0;
/// Exit code of a command that failed.
pub(crate) const FAILED: u8 = 1;
/// Exit code for wrong arguments.
const WRONG_ARGUMENTS: u8 = 2;
/// Exit code of a command that succeeded and found something to look at.
pub(crate) const FINDINGS: u8 = 3;

/// Arguments of all subcommands.
#[derive(Parser)]
#[command(name = "gpufeed", version, propagate_version = true, args_override_self = true)]
#[command(
    about = "Feeds any GPU with augmented image batches: decoding on a pool of threads, torchvision's transforms as fused wgpu compute shaders, a queue of ready buffers"
)]
#[command(after_help = AFTER_HELP)]
struct Arguments {
    /// When to colour text; NO_COLOR in the environment means never
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    color: ColorChoice,
    #[command(subcommand)]
    command: Command,
}

const AFTER_HELP: &str = "\
Examples:
  gpufeed doctor imagenet/train       which GPU is taken, and which files are broken
  gpufeed explain --recipe simclr     what a recipe becomes: passes, threads, memory
  gpufeed preview imagenet/train      what a recipe makes of the images, as sheet.png
  gpufeed bench                       how fast this machine is, and what limits it
  gpufeed index imagenet/train        seek indexes, which the first epoch would build
  gpufeed pack imagenet/train packed  many small files become tar shards

Exit codes: 0 done; 1 failed; 2 wrong arguments; 3 done, with findings";

#[derive(Subcommand)]
enum Command {
    Bench(bench::BenchArguments),
    Compare(compare::CompareArguments),
    Completions(completions::CompletionsArguments),
    Doctor(doctor::DoctorArguments),
    Explain(explain::ExplainArguments),
    Index(index::IndexArguments),
    Man(completions::ManArguments),
    Pack(pack::PackArguments),
    Preview(preview::PreviewArguments),
    Report(report::ReportArguments),
}

/// Returns clap's error for arguments that contradict each other.
pub(crate) fn conflict(reason: &str) -> clap::Error {
    command_line().error(ErrorKind::ArgumentConflict, reason)
}

/// The arguments' description, with colours where standard error has them.
fn command_line() -> clap::Command {
    let color = if console::colors_enabled_stderr() { ColorChoice::Always } else { ColorChoice::Never };
    Arguments::command().color(color)
}

fn try_parse<T: Into<OsString> + Clone>(given: impl IntoIterator<Item = T>) -> Result<Arguments, clap::Error> {
    let matches = command_line().try_get_matches_from(given)?;
    error_text::speak_for(matches.subcommand_name().unwrap_or_default());
    Arguments::from_arg_matches(&matches)
}

/// Does what `--color` says, before the arguments are parsed: their errors have colours, too. Without it the terminal and
/// NO_COLOR decide.
fn set_colors(given: &[OsString]) {
    let words: Vec<_> = given.iter().map(|argument| argument.to_string_lossy()).collect();
    let mut asked = words.iter().enumerate().filter_map(|(number, word)| match word.strip_prefix("--color") {
        Some("") => words.get(number + 1).map(|next| next.to_string()),
        Some(value) => value.strip_prefix('=').map(str::to_owned),
        None => None,
    });
    let on = match asked.next_back().as_deref() {
        Some("always") => true,
        Some("never") => false,
        _ => return,
    };
    console::set_colors_enabled(on);
    console::set_colors_enabled_stderr(on);
}

/// Parses the arguments. Prints help and the version. Errors are printed with control characters escaped, because an
/// argument may be any file's name (`gpufeed doctor *`).
fn parse(given: &[OsString]) -> Result<Arguments, Outcome> {
    set_colors(given);
    try_parse(given).map_err(|error| {
        if error.use_stderr() {
            // clap repeats arguments verbatim, so it parses an escaped copy to word the error.
            let shown = given.iter().map(|argument| Shown(argument.to_string_lossy()).to_string());
            return Err(try_parse(shown).err().unwrap_or(error).into());
        }
        let text = error.render();
        let text = if console::colors_enabled() { text.ansi().to_string() } else { text.to_string() };
        to_stdout(|out| write!(out, "{text}"))?;
        Ok(DONE)
    })
}

/// Runs the command with these arguments, the name of the program first (as in [`std::env::args_os`]), and returns its
/// exit code. Results are printed to standard output, errors and warnings to standard error.
///
/// | exit code | |
/// |---|---|
/// | 0 | done |
/// | 1 | the command failed |
/// | 2 | the arguments are wrong |
/// | 3 | done, and there is something to look at: files that cannot be used (`doctor`, `index`, `pack`), a difference larger than the noise (`compare`) |
/// | 130 | Ctrl-C or SIGTERM stopped `index`, which has saved what it had done |
///
/// The function is meant for a process that does nothing else. It sets the process's `tracing` subscriber unless there
/// is one; `index` handles Ctrl-C until the process ends, and works once in a process; `bench` starts the program that
/// the first argument names with the same arguments and one more, to measure the time to the first batch. The
/// environment stays as it is: without a desktop session Mesa's Vulkan drivers print a line for each instance unless
/// `NODEVICE_SELECT=1` is set, as the program `gpufeed` does before it calls this.
///
/// ```
/// let folder = std::env::temp_dir().join("no-such-folder");
/// let code = gpufeed_cli::run(["gpufeed".into(), "doctor".into(), folder.into_os_string()]);
/// assert_eq!(code, 1);
/// ```
pub fn run<I>(arguments: I) -> u8
where
    I: IntoIterator,
    I::Item: Into<OsString>,
{
    let given: Vec<OsString> = arguments.into_iter().map(Into::into).collect();
    let _showing = warnings::show();
    let outcome = parse(&given).map_or_else(|ended| ended, |arguments| run_command(&arguments.command, &given));
    outcome.unwrap_or_else(|error| {
        if let Some(error) = error.downcast_ref::<clap::Error>() {
            // If standard error cannot be written, the error cannot be reported anywhere else.
            let _ = error.print();
            return WRONG_ARGUMENTS;
        }
        // The library's errors may have several lines, and already escape text from outside.
        let library = error.downcast_ref::<gpufeed::Error>();
        let text = library.map_or_else(|| Shown(&error).to_string(), error_text::describe);
        output::complain(style("error:").red().bold(), text);
        FAILED
    })
}

/// Runs the subcommand. `given` holds all arguments of the process.
fn run_command(command: &Command, given: &[OsString]) -> Outcome {
    match command {
        Command::Bench(arguments) => bench::run(arguments, given),
        Command::Compare(arguments) => compare::run(arguments),
        Command::Completions(arguments) => completions::run(arguments),
        Command::Doctor(arguments) => doctor::run(arguments),
        Command::Explain(arguments) => explain::run(arguments),
        Command::Index(arguments) => index::run(arguments),
        Command::Man(arguments) => completions::man(arguments),
        Command::Pack(arguments) => pack::run(arguments),
        Command::Preview(arguments) => preview::run(arguments),
        Command::Report(arguments) => report::run(arguments),
    }
}

/// Parts of the command that its own benches and the Python package use. Not a stable API.
#[doc(hidden)]
pub mod internals {
    pub use crate::bench::kernels::{reference, timer};
    pub use crate::warnings::{collect as collect_warnings, collected as collected_warning};
}
