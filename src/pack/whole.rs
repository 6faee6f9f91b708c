//! Packs a whole source on one machine. Also makes the result that a pack or a part returns.

use crate::error::{Error, Result};
use crate::storage::{Folder, Location};
use std::fs;
use std::path::Path;
use std::time::Instant;

use super::events::Watch;
use super::job::Job;
use super::journal::{self, Found, Manifest};
use super::lock::Lock;
use super::number::PartNumber;
use super::packed::{Packed, unusable};
use super::run::Totals;
use super::source::{OpenedSource, PackSource};
use super::task::Task;
use super::{errors, verify, write};

pub(super) fn pack(task: &Task, out: &Folder, watch: &Watch) -> Result<Packed> {
    let (Task { settings, .. }, start) = (task, Instant::now());
    let opened = task.source.open(settings, watch)?;
    refuse_inside(&task.source, &task.out)?;
    let job = Job::new(&opened, opened.fingerprint(watch)?, settings, watch)?;
    out.create().map_err(errors::permitted)?;
    let whole = |manifest: Manifest| {
        let totals = Totals::of_whole(&manifest);
        (manifest, totals)
    };
    let (manifest, totals) = match journal::find(out, &job, settings.verify)? {
        Found::Whole(manifest) => whole(*manifest),
        Found::Part(_) => {
            let lock = Lock::take(out)?;
            // Looks at the folder again, because another process may have packed into it until it released the lock.
            let packed = match journal::find(out, &job, settings.verify)? {
                Found::Whole(manifest) => whole(*manifest),
                Found::Part(found) => write::pack(&opened, out, &job, found, watch)?,
            };
            lock.remove();
            packed
        }
    };
    let source = settings.verify.then_some(&opened);
    report(out, (source, None), (&manifest, totals), (watch, start))
}

/// Makes the result of a pack or a part. If the source is given, first compares the pack or part with its source.
pub(super) fn report(
    out: &Folder,
    (source, part): (Option<&OpenedSource>, Option<PartNumber>),
    (manifest, mut totals): (&Manifest, Totals),
    (watch, start): (&Watch, Instant),
) -> Result<Packed> {
    let all = manifest.job.samples;
    let range = part.map_or(0..all, |part| part.range(all));
    let samples = range.len();
    let mut verified = None;
    if let Some(source) = source {
        let (compared, undecodable) = verify::verify(source, out, (manifest, range), watch)?;
        // The comparison finds undecodable samples among all samples. Packing finds them only among the samples that
        // were not packed before.
        if !undecodable.is_empty() {
            totals.undecodable = undecodable;
        }
        verified = Some(compared);
    }
    let skipped = manifest.skipped.iter().map(|left| (left.name.clone(), left.reason.clone())).collect();
    let Totals { resumed, kept, encoded, undecodable, bytes_read, bytes_packed } = totals;
    Ok(Packed {
        out: out.path(""),
        to: manifest.job.to,
        samples,
        classes: manifest.classes,
        fields: manifest.job.field_names(),
        shards: manifest.shards.len(),
        resumed,
        kept,
        encoded,
        undecodable: unusable(undecodable),
        skipped: unusable(skipped),
        bytes_read,
        bytes_packed,
        verified,
        seconds: start.elapsed().as_secs_f64(),
        part: part.map(|number| number.part),
        parts: part.map(|number| number.parts),
    })
}

/// Refuses a folder `out` inside the source, because its files would become samples of the source, and a folder `out`
/// that contains the source.
pub(super) fn refuse_inside(source: &PackSource, out: &Path) -> Result<()> {
    let source = match source {
        PackSource::Path(path) => Some(path.as_path()),
        PackSource::Data(data) => data.stored().and_then(|stored| stored.whole_folder()),
    };
    let Some(source) = source else { return Ok(()) };
    let inside = |shown: &Path| Err(Error::pack(shown, "it lies in the source; pack elsewhere"));
    let around = |shown: &Path| {
        let reason = "the source lies in it, and would be a part of the new data set; pack elsewhere";
        Err(Error::pack(shown, reason))
    };
    let [from, to] = [source, out].map(Location::from);
    if from.is_address() || to.is_address() {
        let [source, shown] = [from, to].map(|location| location.to_string());
        let [below, packed] = [&source, &shown].map(|address| format!("{}/", address.trim_end_matches('/')));
        return match (packed.starts_with(&below), below.starts_with(&packed)) {
            (true, _) => inside(Path::new(&shown)),
            (_, true) => around(Path::new(&shown)),
            _ => Ok(()),
        };
    }
    let there = std::path::absolute(out).map_err(errors::failed(out))?;
    let real = there.ancestors().find_map(|folder| fs::canonicalize(folder).ok());
    match (fs::canonicalize(source), real) {
        (Ok(source), Some(real)) if source.is_dir() && real.starts_with(&source) => inside(out),
        (Ok(source), Some(real)) if source.is_dir() && there.exists() && source.starts_with(&real) => around(out),
        _ => Ok(()),
    }
}
