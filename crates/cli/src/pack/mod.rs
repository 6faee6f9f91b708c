//! `gpufeed pack`: packs a data set in any format into tar shards or an LMDB.
//!
//! `arguments.rs` has the options. `input.rs` opens the part of the source to pack, `run.rs` walks over its samples,
//! `workers.rs` prepares them on all threads, and `recode.rs` encodes one. `write.rs` writes them into a folder here or
//! in a store (`out_folder.rs`): `shards.rs` tar files (`hashed.rs`), `names.rs` the names of their members.
//! `journal.rs` records the progress of a pack (`job.rs`) so that a stopped run can be resumed, `lock.rs` keeps other
//! processes out, `verify.rs` compares a pack with its source, and `summary.rs` prints the result. `parts/` packs on
//! many machines. Reading packs is the library's part.

mod arguments;
mod hashed;
mod input;
mod job;
mod journal;
mod lock;
mod names;
mod out_folder;
mod parts;
mod recode;
mod run;
mod shards;
mod summary;
mod verify;
mod workers;
mod write;

pub(crate) use arguments::PackArguments;

use crate::dataset::NamedDataset;
use crate::part::PartNumber;
use crate::{DONE, FINDINGS, Outcome};
use arguments::To;
use gpufeed::storage::{Folder, Location};
use indicatif::{ProgressBar, ProgressStyle};
use job::Job;
use journal::{Found, Manifest};
use lock::Lock;
use out_folder::told;
use recode::Recoding;
use run::Totals;
use std::fs;
use std::path::Path;
use std::thread::available_parallelism;
use std::time::{Duration, Instant};
use summary::Summary;
use workers::Workers;

/// Packs, verifies if asked to, and prints the result; or does one step of a pack in parts.
pub(crate) fn run(arguments: &PackArguments) -> Outcome {
    let PackArguments { out, to, .. } = arguments;
    let start = Instant::now();
    let folder = out_folder::open(out, arguments.scratch.as_deref())?;
    if folder.is_in_store() {
        refuse_lmdb(*to, &folder)?;
        folder.create().map_err(told)?;
    }
    let outcome = run_at(&folder, arguments, start);
    folder.remove_scratch();
    outcome
}

fn run_at(folder: &Folder, arguments: &PackArguments, start: Instant) -> Outcome {
    let PackArguments { source, out, to, shard_bytes, split, prefix, shuffle, max_side, quality, .. } = arguments;
    let workers = Workers::new(arguments.workers.unwrap_or_else(|| available_parallelism().map_or(1, usize::from)))?;
    match (arguments.plan, arguments.parts, arguments.part) {
        (true, Some(parts), _) => return parts::plan(arguments, folder, parts, &workers),
        (_, _, Some(part)) => return parts::part(arguments, folder, part, &workers),
        (false, Some(_), None) => return Err(crate::conflict("--parts N goes with --plan, or with --part").into()),
        _ if arguments.join => return parts::join(arguments, folder, &workers),
        _ => {}
    }
    let opened = input::open(source, *split, *shuffle)?;
    refuse_inside(source, out)?;
    let recoding = Recoding { max_side: *max_side, quality: *quality };
    let job = Job::new(&opened, source, (*to, *shard_bytes, prefix, *shuffle), recoding);
    folder.create().map_err(told)?;
    let (manifest, totals) = pack_unless_done(&opened, (arguments, folder), &job, &workers)?;
    let source = arguments.verify.then_some(&opened);
    report(arguments, folder, (source, None), (&manifest, totals), &workers, start)
}

/// Compares a pack or a part with its source, if that is given, and prints the result.
fn report(
    arguments: &PackArguments,
    folder: &Folder,
    (source, part): (Option<&NamedDataset>, Option<PartNumber>),
    (manifest, mut totals): (&Manifest, Totals),
    workers: &Workers,
    start: Instant,
) -> Outcome {
    let (out, all) = (&folder.path(""), manifest.job.samples);
    let range = part.map_or(0..all, |part| part.range(all));
    let mut verified = None;
    if let Some(source) = source {
        let bar = progress(range.len(), "compared")?;
        let found = verify::verify(&*source.data, folder, (manifest, range.clone()), workers, &bar);
        bar.finish_and_clear();
        verified = Some(found?);
    }
    // Verifying sees all samples; packing sees only those that were not packed before.
    if let Some(verified) = &mut verified
        && !verified.undecodable.is_empty()
    {
        totals.undecodable = std::mem::take(&mut verified.undecodable);
    }
    totals.skipped = manifest.skipped.iter().map(|left| (left.name.clone(), left.reason.clone())).collect();
    let (totals, seconds, samples) = (&totals, start.elapsed().as_secs_f64(), range.len());
    let summary = Summary { out, manifest, part, samples, totals, verified: verified.as_ref(), seconds };
    summary.print(arguments.json)?;
    // A part that is done ends with 0, so that no engine repeats it. The join names what was left out.
    let left = part.is_none() && !(totals.undecodable.is_empty() && totals.skipped.is_empty());
    let findings = left || verified.is_some_and(|verified| !verified.different.is_empty());
    Ok(if findings { FINDINGS } else { DONE })
}

/// Packs the source, unless the folder already holds the complete pack.
fn pack_unless_done(
    source: &NamedDataset,
    (arguments, folder): (&PackArguments, &Folder),
    job: &Job,
    workers: &Workers,
) -> Result<(Manifest, Totals), Box<dyn std::error::Error>> {
    let samples = source.data.len();
    let complete = |manifest: Manifest| {
        let resumed = samples - manifest.skipped.len();
        (manifest, Totals { resumed, ..Totals::default() })
    };
    if let Found::Whole(manifest) = journal::find(folder, job, arguments.verify)? {
        return Ok(complete(*manifest));
    }
    let lock = Lock::take(folder)?;
    // Looks again, because another run may have held the lock until now.
    let packed = match journal::find(folder, job, arguments.verify)? {
        Found::Whole(manifest) => complete(*manifest),
        Found::Part(found) => {
            let bar = progress(samples, "packed")?;
            let packed = write::pack(source, (folder, &arguments.prefix), job, found, workers, &bar);
            bar.finish_and_clear();
            packed?
        }
    };
    lock.remove();
    Ok(packed)
}

/// Refuses an LMDB in a store, as its file is written at any place of it.
#[cfg_attr(not(feature = "lmdb"), allow(unused_variables, reason = "there is one format"))]
fn refuse_lmdb(to: To, folder: &Folder) -> Result<(), String> {
    match to {
        To::Tar => Ok(()),
        #[cfg(feature = "lmdb")]
        To::Lmdb => Err(format!(
            "{}: an LMDB is written into a folder; pack into shards, or into a folder and copy it",
            folder.path("").display()
        )),
    }
}

/// Refuses a folder inside the source, because its files would become samples of the source.
fn refuse_inside(source: &Path, out: &Path) -> Result<(), String> {
    let [from, to] = [source, out].map(Location::from);
    if from.is_address() || to.is_address() {
        let [source, shown] = [from, to].map(|location| location.to_string());
        let [below, inside] = [&source, &shown].map(|address| format!("{}/", address.trim_end_matches('/')));
        return match (inside.starts_with(&below), below.starts_with(&inside)) {
            (true, _) => Err(format!("{shown}: it lies in the source; pack elsewhere")),
            (_, true) => {
                Err(format!("{shown}: the source lies in it, and would be a part of the new data set; pack elsewhere"))
            }
            _ => Ok(()),
        };
    }
    let there = std::path::absolute(out).map_err(out_folder::failed(out))?;
    let real = there.ancestors().find_map(|folder| fs::canonicalize(folder).ok());
    match (fs::canonicalize(source), real) {
        (Ok(source), Some(real)) if source.is_dir() && real.starts_with(&source) => {
            Err(format!("{}: it lies in the source; pack elsewhere", out.display()))
        }
        (Ok(source), Some(real)) if source.is_dir() && there.exists() && source.starts_with(&real) => {
            let reason = "the source lies in it, and would be a part of the new data set; pack elsewhere";
            Err(format!("{}: {reason}", out.display()))
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
