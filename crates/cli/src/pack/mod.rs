//! `gpufeed pack`: packs a data set in any format into tar shards or an LMDB.
//!
//! `arguments.rs` has the options. `input.rs` opens the part of the source to pack, `run.rs` walks over its samples,
//! `workers.rs` prepares them on all threads, and `recode.rs` encodes one. `write.rs` writes them: `shards.rs` tar
//! files, `names.rs` the names of their members. `journal.rs` records the progress so that a stopped run can be
//! resumed, `verify.rs` compares a pack with its source, and `summary.rs` prints the result. Reading packs is the
//! library's part.

mod arguments;
mod input;
mod journal;
mod names;
mod recode;
mod run;
mod shards;
mod summary;
mod verify;
mod workers;
mod write;

pub(crate) use arguments::PackArguments;

use crate::dataset::NamedDataset;
use crate::{DONE, FINDINGS, Outcome};
use indicatif::{ProgressBar, ProgressStyle};
use journal::{Found, Job, Lock, Manifest};
use recode::Recoding;
use run::Totals;
use std::fs;
use std::path::Path;
use std::thread::available_parallelism;
use std::time::{Duration, Instant};
use workers::Workers;

/// Packs, verifies if asked to, and prints the result.
pub(crate) fn run(arguments: &PackArguments) -> Outcome {
    let PackArguments { source, out, to, shard_bytes, split, prefix, max_side, quality, .. } = arguments;
    let start = Instant::now();
    let opened = input::open(source, *split)?;
    let data = &*opened.data;
    refuse_inside(source, out)?;
    let recoding = Recoding { max_side: *max_side, quality: *quality };
    let job = Job::new(&opened, source, (*to, *shard_bytes, prefix), recoding);
    let workers = Workers::new(arguments.workers.unwrap_or_else(|| available_parallelism().map_or(1, usize::from)))?;
    fs::create_dir_all(out).map_err(journal::failed(out))?;
    let (manifest, mut totals) = pack_unless_done(&opened, arguments, &job, &workers)?;
    let mut verified = if arguments.verify {
        let bar = progress(data.len(), "compared")?;
        let verified = verify::verify(data, out, &manifest, &workers, &bar);
        bar.finish_and_clear();
        Some(verified?)
    } else {
        None
    };
    // Verifying sees all samples; packing sees only those that were not packed before.
    if let Some(verified) = &mut verified
        && !verified.undecodable.is_empty()
    {
        totals.undecodable = std::mem::take(&mut verified.undecodable);
    }
    totals.skipped = manifest.skipped.iter().map(|left| (left.name.clone(), left.reason.clone())).collect();
    let seconds = start.elapsed().as_secs_f64();
    if arguments.json {
        summary::print_json(out, &manifest, &totals, verified.as_ref(), seconds)?;
    } else {
        summary::print(out, &manifest, &totals, verified.as_ref(), seconds)?;
    }
    let left = !totals.undecodable.is_empty() || !totals.skipped.is_empty();
    let findings = left || verified.is_some_and(|verified| !verified.different.is_empty());
    Ok(if findings { FINDINGS } else { DONE })
}

/// Packs the source, unless the folder already holds the complete pack.
fn pack_unless_done(
    source: &NamedDataset,
    arguments: &PackArguments,
    job: &Job,
    workers: &Workers,
) -> Result<(Manifest, Totals), Box<dyn std::error::Error>> {
    let (out, samples) = (&arguments.out, source.data.len());
    let complete = |manifest: Manifest| {
        let resumed = samples - manifest.skipped.len();
        (manifest, Totals { resumed, ..Totals::default() })
    };
    if let Found::Whole(manifest) = journal::find(out, job, arguments.verify)? {
        return Ok(complete(*manifest));
    }
    let lock = Lock::take(out)?;
    // Looks again, because another run may have held the lock until now.
    let packed = match journal::find(out, job, arguments.verify)? {
        Found::Whole(manifest) => complete(*manifest),
        Found::Part(found) => {
            let bar = progress(samples, "packed")?;
            let packed = write::pack(source, (out, &arguments.prefix), job, found, workers, &bar);
            bar.finish_and_clear();
            packed?
        }
    };
    lock.remove();
    Ok(packed)
}

/// Refuses a folder inside the source, because its files would become samples of the source.
fn refuse_inside(source: &Path, out: &Path) -> Result<(), String> {
    let there = std::path::absolute(out).map_err(journal::failed(out))?;
    let real = there.ancestors().find_map(|folder| fs::canonicalize(folder).ok());
    match (fs::canonicalize(source), real) {
        (Ok(source), Some(real)) if source.is_dir() && real.starts_with(&source) => {
            Err(format!("{}: it lies in the source; pack elsewhere", out.display()))
        }
        _ => Ok(()),
    }
}

fn progress(samples: usize, what: &str) -> Result<ProgressBar, indicatif::style::TemplateError> {
    let template = format!("{{bar:24}} {{pos}}/{{len}} {what}, {{per_sec}}, {{eta}} left");
    let bar = ProgressBar::new(samples as u64).with_style(ProgressStyle::with_template(&template)?);
    bar.enable_steady_tick(Duration::from_millis(100));
    Ok(bar)
}
