//! `gpufeed index`: the seek indexes of a folder ahead of its first epoch.

use crate::{FINDINGS, Outcome, to_stdout};
use clap::builder::RangedU64ValueParser;
use console::style;
use gpufeed::decode::{IndexSummary, SeekIndexes};
use gpufeed::{Dataset, ImageFolder};
use indicatif::{HumanBytes, ProgressBar, ProgressStyle};
use serde_json::json;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

/// Builds the seek indexes of a folder's JPEGs, with which a crop is decoded from inside its file.
///
/// A loader does this by itself in its first epoch. Files that have an index are only read; interrupted work goes on
/// where it ended.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// A folder of class folders
    folder: PathBuf,
    /// The file [default: .gpufeed-seek-index in the folder]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Threads [default: all cores]
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<usize>::new().range(1..=4096))]
    workers: Option<usize>,
    /// Prints what was done as JSON
    #[arg(long)]
    json: bool,
}

/// Files that are named one by one.
const NAMED: usize = 10;

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let data = ImageFolder::builder().allow_empty(true).open(&arguments.folder)?;
    let place = arguments.out.clone().map_or(SeekIndexes::Beside, SeekIndexes::File);
    let workers = arguments.workers.unwrap_or_else(|| available_parallelism().map_or(1, usize::from));
    let bar = ProgressBar::new(data.len() as u64)
        .with_style(ProgressStyle::with_template("{bar:24} {pos}/{len} files, {per_sec}, {eta} left")?);
    bar.enable_steady_tick(Duration::from_millis(100));
    let start = Instant::now();
    let summary = place.build(&data, workers, |_| {
        bar.inc(1);
        true
    });
    bar.finish_and_clear();
    let summary = summary?;
    let seconds = start.elapsed().as_secs_f64();
    if arguments.json {
        print_json(&summary, seconds)?;
    } else {
        print(&summary, seconds);
    }
    Ok(if summary.failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(FINDINGS) })
}

/// Of the bytes that were read.
fn share(summary: &IndexSummary) -> f64 {
    summary.bytes as f64 / summary.bytes_read.max(1) as f64
}

fn print_json(summary: &IndexSummary, seconds: f64) -> Result<(), Box<dyn std::error::Error>> {
    let failed: Vec<_> = summary.failed.iter().map(|(name, reason)| json!({"file": name, "reason": reason})).collect();
    let value = json!({
        "samples": summary.samples,
        "built": summary.built,
        "present": summary.present,
        "without": summary.without,
        "failed": failed,
        "bytes_read": summary.bytes_read,
        "index": summary.path,
        "index_bytes": summary.bytes,
        "share": share(summary),
        "seconds": seconds,
    });
    let text = serde_json::to_string_pretty(&value)?;
    Ok(to_stdout(|out| writeln!(out, "{text}"))?)
}

fn print(summary: &IndexSummary, seconds: f64) {
    let IndexSummary { samples, built, present, without, failed, bytes_read, bytes, path, .. } = summary;
    say!("{samples} files, {} in {seconds:.1} s", HumanBytes(*bytes_read));
    say!(
        "  {built} indexes built, {present} were there; {without} files cannot have one (no JPEG, progressive, damaged)"
    );
    if *bytes > 0 {
        let percent = 100.0 * share(summary);
        say!("  {}: {}, {percent:.1} % of the files", style(path.display()).bold(), HumanBytes(*bytes));
    }
    for (name, reason) in failed.iter().take(NAMED) {
        say!("  {} {name}: {reason}", style("failed").red());
    }
    if failed.len() > NAMED {
        say!("  and {} more (--json lists all; `gpufeed doctor` says what to do)", failed.len() - NAMED);
    }
}
