//! `gpufeed doctor`: the adapters and the machine, or the faults of a data set's files.
//!
//! Without a data set, `adapters.rs` lists the adapters and explains the choice, `machine.rs` describes the machine,
//! and `problems.rs` says why a GPU cannot be used. With one, `listing.rs` lists its entries (`entry.rs`), and
//! `inspect.rs` makes a `file_report.rs` of each with `jpeg.rs`, `pixel_format.rs`, `objects.rs` and
//! `unknown_file.rs`; `duplicates.rs` groups equal files, `summary.rs` and `object_summary.rs` count everything, `finding.rs` names the findings with their
//! advice, and `progress.rs` is the bar. Both results are JSON objects; `print.rs` turns them into text. Nothing here
//! changes a file.

mod adapters;
mod duplicates;
mod entry;
mod file_report;
mod finding;
mod inspect;
mod jpeg;
mod listing;
mod machine;
mod object_summary;
mod objects;
mod pixel_format;
mod print;
mod problems;
mod progress;
mod summary;
mod unknown_file;

use std::io::{self, BufWriter, StdoutLock, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::dataset::FieldArguments;
use crate::{DONE, FAILED, FINDINGS, Outcome, dataset};
use gpufeed::dataset::Format;

/// Says which adapters there are and which one is taken; with a data set, what is wrong with its files.
#[derive(clap::Args)]
#[command(
    after_help = "Exit codes: 0 nothing is wrong; 1 failed, or no loader can open the folder; 2 wrong arguments; 3 there is something to look at"
)]
pub(crate) struct DoctorArguments {
    /// A folder to look through, file by file, or another data set or the address of one, sample by sample (of two parts,
    /// that to train on); without one, the machine is looked at
    data: Option<PathBuf>,
    #[command(flatten)]
    fields: FieldArguments,
    /// Name every file that there is something to say about
    #[arg(long, requires = "data")]
    list: bool,
    /// Print one JSON object, every file included
    #[arg(long)]
    json: bool,
    /// Most pixels that a header may declare, as for a loader
    #[arg(long, value_name = "N", default_value_t = 1 << 28, value_parser = clap::value_parser!(u64).range(1..))]
    max_pixels: u64,
    /// Threads [default: one a core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=4096))]
    threads: Option<u16>,
}

pub(crate) fn run(arguments: &DoctorArguments) -> Outcome {
    if arguments.data.is_none() && arguments.fields.are_given() {
        return Err(crate::conflict("--fields needs a data set").into());
    }
    match &arguments.data {
        Some(data) => inspect_data(data, arguments),
        None => inspect_machine(arguments),
    }
}

fn inspect_machine(arguments: &DoctorArguments) -> Outcome {
    let mut survey = adapters::survey();
    survey.problems = problems::find(&survey);
    let write = |out: &mut Out| if arguments.json { json(out, &survey) } else { print::machine(out, &survey) };
    crate::to_stdout(write)?;
    Ok(exit(!survey.problems.is_empty()))
}

fn inspect_data(folder: &Path, arguments: &DoctorArguments) -> Outcome {
    let start = Instant::now();
    // For rayon, 0 means one thread per core.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(arguments.threads.unwrap_or(0).into()).build()?;
    let format = Format::detect(folder);
    let listing = match format {
        // A folder's fields are read with its samples.
        Format::Folder | Format::Images if !arguments.fields.are_given() => listing::of_files(folder)?,
        _ => listing::of_samples(&dataset::open_with(folder, &arguments.fields)?),
    };
    let (reports, duplicates) = pool.install(|| {
        let mut reports = inspect::inspect_all(&listing, arguments.max_pixels)?;
        let duplicates = duplicates::find(&listing, &mut reports);
        Ok::<_, String>((reports, duplicates))
    })?;
    let seconds = start.elapsed().as_secs_f64();
    let name = gpufeed::storage::Location::from(folder).to_string();
    let format = format!("{format:?}").to_lowercase();
    let most = arguments.max_pixels;
    let summary = summary::Summary::new(name, format, listing, reports, duplicates, most, seconds);
    let write =
        |out: &mut Out| if arguments.json { json(out, &summary) } else { print::folder(out, &summary, arguments.list) };
    crate::to_stdout(write)?;
    // A folder that no loader can open is a failure; files that a loader skips are findings.
    let usable = summary.image_folder.accepted;
    Ok(if usable { exit(!summary.findings.is_empty() || !summary.data_warnings.is_empty()) } else { FAILED })
}

type Out = BufWriter<StdoutLock<'static>>;

fn json(out: &mut Out, value: &impl serde::Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *out, value)?;
    writeln!(out)
}

fn exit(problems: bool) -> u8 {
    if problems { FINDINGS } else { DONE }
}
