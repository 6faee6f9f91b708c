//! `gpufeed index`: builds the seek indexes of a data set before its first epoch, or puts the indexes of its samples
//! beside the objects of a set in a store.

use crate::part::{AskedPart, MOST_PARTS, PartNumber};
use crate::{DONE, FINDINGS, Outcome, dataset, error_text, units};
use clap::builder::RangedU64ValueParser;
use console::style;
use gpufeed::dataset::{FieldChoice, Format, Subset, TarShards};
use gpufeed::decode::{IndexSummary, SeekIndexes};
use gpufeed::internals::{Shown, addresses_of};
use gpufeed::storage::{Address, Location};
use gpufeed::{Dataset as _, Error, ErrorKind};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::exit;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

/// Builds the seek indexes of a data set's JPEGs, with which a crop is decoded from inside its file.
///
/// A loader does this by itself in its first epoch. What is done is saved every two seconds, and at Ctrl-C. Files that
/// have an index are only read: the same command again goes on where it ended. Several may write to one file at the
/// same time, so parts need no join.
///
/// For tar shards and Parquet files in a store, named by their address, it puts the indexes of their samples beside them
/// instead, so that no machine has to read a whole object to open them; with --out it builds seek indexes. --part then
/// takes a part of the objects.
#[derive(clap::Args)]
#[command(
    after_help = "Exit codes: 0 done; 1 failed; 2 wrong arguments; 3 some files cannot be used; 130 stopped by Ctrl-C or SIGTERM, what was done is saved"
)]
pub(crate) struct IndexArguments {
    /// A folder of class folders, or any other data set that `gpufeed bench --data` takes
    #[arg(value_name = "DATA")]
    data: PathBuf,
    /// The file [default: .gpufeed-seek-index in the folder]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Removes the indexes of all other files, replaced and deleted ones, from FILE; not where data sets share it
    #[arg(long)]
    prune: bool,
    /// Indexes one part of the samples, counted from 0: 0/7 to 6/7, so that many machines share the work. `auto` is the
    /// id of a Slurm array's task, the index of a Kubernetes Indexed Job's pod, or the rank under torchrun, MPI or srun
    #[arg(long, value_name = "I/N|auto", value_parser = AskedPart::parse, conflicts_with = "prune")]
    part: Option<AskedPart>,
    /// The number of parts, for --part auto
    #[arg(long, value_name = "N", requires = "part", value_parser = RangedU64ValueParser::<usize>::new().range(1..=MOST_PARTS as u64))]
    parts: Option<usize>,
    /// For tar shards in a store: the indexes list all members of the samples, so that no machine has to read a shard to
    /// open it with fields, such as captions. Such an index is about twice as large
    #[arg(long, conflicts_with_all = ["out", "prune"])]
    fields: bool,
    /// Threads [default: all cores]; for seek indexes, as those of objects are made 32 at a time
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<usize>::new().range(1..=4096))]
    workers: Option<usize>,
    /// Prints what was done as JSON
    #[arg(long)]
    json: bool,
}

/// The most files that are named.
const NAMED: usize = 10;

/// The exit code that shells use for a command ended by Ctrl-C.
const STOPPED: u8 = 130;

pub(crate) fn run(arguments: &IndexArguments) -> Outcome {
    if arguments.out.as_deref() == Some(Path::new("-")) {
        let reason = "--out names the file that later runs read, so it cannot be standard output";
        return Err(crate::conflict(reason).into());
    }
    let part = arguments.part.map(|asked| asked.resolve(arguments.parts, "--parts")).transpose()?;
    let location = Location::from(&*arguments.data);
    let is_in_store = matches!(location, Location::Address(_));
    if arguments.fields && !(is_in_store && Format::detect(&arguments.data) == Format::Tar) {
        let reason =
            "--fields is for tar shards in a store; on this machine an index lists members once fields are asked for";
        return Err(crate::conflict(reason).into());
    }
    if let (None, Location::Address(address)) = (&arguments.out, &location) {
        if arguments.prune {
            let reason = "--prune is for seek indexes, and those of objects are in a file: name it with --out";
            return Err(crate::conflict(reason).into());
        }
        if arguments.workers.is_some() {
            let reason = "--workers is for seek indexes (--out FILE); the indexes of objects are made 32 at a time, as they wait \
                          for the store more than they compute";
            return Err(crate::conflict(reason).into());
        }
        return index_objects(address, arguments, part);
    }
    let mut data = dataset::open(&arguments.data)?.data;
    if let Some(part) = part {
        let range = part.range(data.len());
        data = Arc::new(Subset::new(data, range)?);
    }
    let indexes = arguments.out.clone().map_or(SeekIndexes::Beside, SeekIndexes::File);
    let workers = arguments.workers.unwrap_or_else(|| available_parallelism().map_or(1, usize::from));
    let stop = Arc::new(AtomicBool::new(false));
    let asked = Arc::clone(&stop);
    // A second Ctrl-C ends the process without waiting for the file.
    ctrlc::set_handler(move || {
        if asked.swap(true, Relaxed) {
            exit(STOPPED.into())
        }
    })?;
    let bar = ProgressBar::new(data.len() as u64)
        .with_style(ProgressStyle::with_template("{bar:24} {pos}/{len} files, {per_sec}, {eta} left")?);
    bar.enable_steady_tick(Duration::from_millis(100));
    let start = Instant::now();
    let progress = |_| {
        bar.inc(1);
        !stop.load(Relaxed)
    };
    let summary = match arguments.prune {
        false => indexes.build(&*data, workers, progress),
        true => indexes.prune(&*data, workers, progress),
    };
    bar.finish_and_clear();
    let summary = summary.map_err(|error| match error.kind() {
        ErrorKind::Io { .. } => {
            format!("{} (--out FILE writes the indexes to another file)", error_text::describe(&error))
        }
        ErrorKind::Argument { setting: "seek_indexes", .. } => {
            format!("{location} has no folder for its indexes: --out FILE writes them to a file")
        }
        _ => error_text::describe(&error),
    })?;
    let seconds = start.elapsed().as_secs_f64();
    if arguments.json {
        print_json(&summary, part, seconds)?;
    } else {
        print(&summary, part, arguments.prune, seconds)?;
    }
    Ok(match summary.stopped {
        true => STOPPED,
        false if summary.failed.is_empty() => DONE,
        false => FINDINGS,
    })
}

/// Returns the number of inspected samples.
fn done(summary: &IndexSummary) -> usize {
    summary.built + summary.present + summary.without + summary.failed.len()
}

/// Returns the size of the index as a share of the bytes read.
fn share(summary: &IndexSummary) -> f64 {
    summary.bytes as f64 / summary.bytes_read.max(1) as f64
}

fn print_json(
    summary: &IndexSummary,
    part: Option<PartNumber>,
    seconds: f64,
) -> Result<(), Box<dyn std::error::Error>> {
    let failed: Vec<_> = summary.failed.iter().map(|(name, reason)| json!({"file": name, "reason": reason})).collect();
    let value = json!({
        "samples": summary.samples,
        "built": summary.built,
        "present": summary.present,
        "without": summary.without,
        "stopped": summary.stopped,
        "pruned": summary.pruned,
        "failed": failed,
        "bytes_read": summary.bytes_read,
        "index": summary.path.display().to_string(),
        "index_bytes": summary.bytes,
        "share": share(summary),
        "seconds": seconds,
    });
    print_with_part(value, part)
}

/// Prints a result as JSON, with the part that it is of.
fn print_with_part(mut value: Value, part: Option<PartNumber>) -> Result<(), Box<dyn std::error::Error>> {
    if let Some(PartNumber { part, parts }) = part {
        (value["part"], value["parts"]) = (part.into(), parts.into());
    }
    crate::output::print_json(&value)
}

fn print(summary: &IndexSummary, part: Option<PartNumber>, prune: bool, seconds: f64) -> Result<(), String> {
    let part = part.map_or(String::new(), |part| format!("part {part}: "));
    let IndexSummary { samples, built, present, without, failed, bytes_read, bytes, path, .. } = summary;
    match summary.stopped {
        false => say!("{part}{samples} files, {} in {seconds:.1} s", units::bytes(*bytes_read as f64)),
        true => say!(
            "{part}stopped: {} of {samples} files are done and saved, {} in {seconds:.1} s; the same command goes on from there",
            done(summary),
            units::bytes(*bytes_read as f64)
        ),
    }
    say!(
        "  {built} indexes built, {present} were there; {without} files cannot have one (no JPEG, progressive, damaged)"
    );
    if *bytes > 0 {
        let percent = 100.0 * share(summary);
        say!("  {}: {}, {percent:.1} % of the files", style(Shown(path.display())).bold(), units::bytes(*bytes as f64));
    }
    match summary.pruned {
        Some(pruned) => say!("  {pruned} indexes of other files removed"),
        None if prune => say!("  nothing removed: not all files were read"),
        None => {}
    }
    for (name, reason) in failed.iter().take(NAMED) {
        say!("  {} {}: {}", style("failed").red(), Shown(name), Shown(reason));
    }
    if failed.len() > NAMED {
        say!("  and {} more (--json lists all; `gpufeed doctor` says what to do)", failed.len() - NAMED);
    }
    Ok(())
}

/// Opens the set, or a part of its objects, and writes the indexes that are missing. Prints what is there then.
///
/// # Errors
/// Objects that cannot be read, and a store that cannot be written.
fn index_objects(address: &Address, arguments: &IndexArguments, part: Option<PartNumber>) -> Outcome {
    let (data, as_json) = (&*arguments.data, arguments.json);
    let start = Instant::now();
    let (samples, objects) = open_objects(address, data, part, arguments.fields).map_err(|error| match error.kind() {
        ErrorKind::Io { path, .. } if path.to_string_lossy().ends_with("gpufeed-index") => format!(
            "{} (the indexes cannot be put beside the objects; each machine then makes its own, and keeps them where its \
             loader says)",
            error_text::describe(&error)
        ),
        _ => error_text::describe(&error),
    })?;
    let seconds = start.elapsed().as_secs_f64();
    if as_json {
        print_with_part(json!({ "samples": samples, "objects": objects, "seconds": seconds }), part)?;
    } else {
        say!("{address}: {samples} samples in {objects} objects, with their indexes beside them; {seconds:.1} s");
    }
    Ok(DONE)
}

/// Returns the number of samples and of objects.
fn open_objects(
    address: &Address,
    data: &Path,
    part: Option<PartNumber>,
    fields: bool,
) -> Result<(usize, usize), Error> {
    let choice = || if fields { FieldChoice::All } else { FieldChoice::None };
    let tar = || TarShards::builder().allow_unlabelled(true).fields(choice()).put_indexes(true);
    #[cfg(feature = "parquet")]
    if Format::detect(data) == Format::Parquet {
        let builder = gpufeed::dataset::Parquet::builder().allow_unlabelled(true).put_indexes(true);
        let Some(part) = part else {
            let (train, test) = builder.parts(data)?;
            let all = || std::iter::once(&train).chain(&test);
            return Ok((all().map(|part| part.len()).sum(), all().map(|part| part.files()).sum()));
        };
        let files = of_part(address, "parquet", part)?;
        let count = files.len();
        return Ok(if count == 0 { (0, 0) } else { (builder.open_list(files)?.len(), count) });
    }
    match (Format::detect(data), part) {
        (Format::Tar, None) => {
            let shards = tar().open(data)?;
            Ok((shards.len(), shards.shards()))
        }
        (Format::Tar, Some(part)) => {
            let shards = of_part(address, "tar", part)?;
            let count = shards.len();
            Ok(if count == 0 { (0, 0) } else { (tar().open_list(shards)?.len(), count) })
        }
        // The error says which formats are read from stores.
        (other, _) => other.open(data).map(|opened| (opened.train.len(), 0)),
    }
}

/// Returns the addresses of a part of the objects; none where there are more parts than objects.
fn of_part(address: &Address, ending: &str, part: PartNumber) -> Result<Vec<String>, Error> {
    let mut all = addresses_of(address, ending)?;
    let range = part.range(all.len());
    Ok(all.drain(range).collect())
}
