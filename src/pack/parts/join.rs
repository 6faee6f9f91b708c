//! Joins the parts of a pack, once all of them are packed, into one data set.

use crate::advice::{Reason, pack_part};
use crate::error::Result;
use crate::pack::errors::{permitted, there};
use crate::pack::events::Watch;
use crate::pack::journal::Manifest;
use crate::pack::lock::Lock;
use crate::pack::number::PartNumber;
use crate::pack::packed::Packed;
use crate::pack::run::{Totals, check_skipped};
use crate::pack::task::Task;
use crate::pack::whole;
use crate::pack::write::{check_shards, write_classes};
use crate::storage::Folder;
use std::collections::BTreeMap;
use std::time::Instant;

use super::plan::Plan;
use super::record::{Done, is_record};
use super::{joined, no_plan, records_in};

/// The most parts or files that an error names.
const NAMED: usize = 10;

/// Checks that all parts are there, and makes the folder a data set.
///
/// The manifest is written before the mark of an unfinished pack is removed, and the plan is removed last. So a join
/// that was killed can be done again.
pub(in crate::pack) fn join(task: &Task, out: &Folder, watch: &Watch) -> Result<Packed> {
    let start = Instant::now();
    let (manifest, totals) = match joined(out)? {
        Some((manifest, _)) => {
            if !manifest.is_in(&out.contents().map_err(permitted)?) {
                return Err(there(out, "it was joined, and files are missing since or have other lengths"));
            }
            let totals = Totals::of_whole(&manifest);
            (manifest, totals)
        }
        None => {
            let Some(plan) = Plan::read(out)? else { return Err(no_plan(out)) };
            plan.planned.check_settled(&plan.job, &task.settings)?;
            let lock = Lock::take(out)?;
            let joined = join_parts(out, &plan)?;
            lock.remove();
            joined
        }
    };
    records_in(out).remove_all().map_err(permitted)?;
    let opened = match (task.settings.verify, &manifest.plan) {
        (true, Some(plan)) => Some(task.source.open(&plan.opening(&manifest.job, &task.settings), watch)?),
        _ => None,
    };
    whole::report(out, (opened.as_ref(), None), (&manifest, totals), (watch, start))
}

/// Checks the parts and writes the manifest. Returns the manifest, and the counts of all parts together.
fn join_parts(folder: &Folder, plan: &Plan) -> Result<(Manifest, Totals)> {
    let done = all_parts(folder, plan)?;
    let mut totals = Totals::default();
    let (mut shards, mut skipped) = (Vec::new(), Vec::new());
    let mut packed = 0;
    for part in done {
        let (before, of_part) = (packed, part.totals);
        packed += part.shards.iter().map(|shard| shard.samples).sum::<usize>();
        totals.resumed += of_part.resumed;
        totals.kept += of_part.kept;
        totals.encoded += of_part.encoded;
        totals.undecodable.extend(of_part.undecodable);
        totals.bytes_read += of_part.bytes_read;
        totals.bytes_packed += of_part.bytes_packed;
        shards.extend(part.shards.into_iter().map(|mut shard| {
            shard.first += before;
            shard
        }));
        skipped.extend(part.skipped);
    }
    check_skipped(folder, &skipped, plan.job.samples)?;
    let (gpufeed, classes) = (env!("CARGO_PKG_VERSION").to_owned(), plan.classes.len());
    let planned = Some(plan.planned.clone());
    let manifest = Manifest { gpufeed, job: plan.job.clone(), classes, shards, skipped, plan: planned };
    let strange = manifest.strangers(folder.names().map_err(permitted)?);
    if !strange.is_empty() {
        let which = named(&strange);
        return Err(there(folder, format!("{which}: no shard of these parts; remove what does not belong there")));
    }
    if folder.is_in_store() {
        // If two machines have packed the same part, each of its shards was written twice, and the index of a shard may
        // belong to the content that was overwritten. Opening the shards writes such an index again.
        check_shards(folder, &manifest.shards, packed, &manifest.job.fields)?;
    }
    write_classes(folder, &plan.classes)?;
    folder.remove_left(&plan.job.prefix).map_err(permitted)?;
    // Removes the temporary files of parts that were killed while they wrote the index of a shard.
    folder.remove_left("gpufeed-").map_err(permitted)?;
    manifest.finish(folder)?;
    Ok((manifest, totals))
}

/// Returns the records of all parts, in the order of the parts.
///
/// # Errors
/// Names the parts that are missing, incomplete, or there twice, and the records that belong to another plan.
fn all_parts(folder: &Folder, plan: &Plan) -> Result<Vec<Done>> {
    let (records, contents) = (records_in(folder), folder.contents().map_err(permitted)?);
    let mut found: BTreeMap<usize, Vec<(String, Done)>> = BTreeMap::new();
    let mut wrong = Vec::new();
    for name in records.names().map_err(permitted)?.into_iter().filter(|name| is_record(name)) {
        let Some(done) = Done::read(&records, &name)? else { continue };
        let number = done.of.number();
        let fits = done.of.planned == plan.planned && number.part < number.parts;
        if !fits {
            wrong.push(format!("{name} is foreign: part {number} of the plan {}", done.of.planned.plan));
            continue;
        }
        found.entry(number.part).or_default().push((name, done));
    }
    let mut missing = Vec::new();
    let mut done = Vec::new();
    for part in 0..plan.planned.parts {
        let number = PartNumber { part, parts: plan.planned.parts };
        let mut records = found.remove(&part).unwrap_or_default();
        match (records.pop(), records.is_empty()) {
            (None, _) => missing.push(part.to_string()),
            (Some((_, record)), true) => {
                let lost = record.shards.iter().find(|shard| !shard.is_in(&contents));
                if let Some(shard) = lost {
                    let file = &shard.file;
                    wrong.push(format!("part {number} is incomplete: {file} is missing or has another length"));
                }
                if record.packed() + record.skipped.len() != number.range(plan.job.samples).len() {
                    wrong.push(format!("part {number} has another number of samples than its plan"));
                }
                done.push(record);
            }
            (Some((name, _)), false) => {
                let names: Vec<_> = records.into_iter().map(|(name, _)| name).chain([name]).collect();
                wrong.push(format!("part {number} is there twice: {}", names.join(", ")));
            }
        }
    }
    let mut advice = None;
    if !missing.is_empty() {
        let (which, all) = (named(&missing), plan.planned.parts);
        let (s, are) = if missing.len() == 1 { ("", "is") } else { ("s", "are") };
        wrong.insert(0, format!("part{s} {which} of {all} {are} missing"));
        advice = Some(pack_part(all));
    }
    let more = match wrong.len() {
        0 => return Ok(done),
        1..=NAMED => String::new(),
        all => format!("; and {} more", all - NAMED),
    };
    wrong.truncate(NAMED);
    let reason = Reason { text: format!("it cannot be joined: {}{more}", wrong.join("; ")), advice: Vec::new() };
    Err(there(folder, advice.into_iter().fold(reason, Reason::advise)))
}

/// Joins names by commas. If there are more than [`NAMED`], lists that many, and says how many more there are.
fn named(names: &[String]) -> String {
    match names.len() {
        0..=NAMED => names.join(", "),
        all => format!("{} and {} more", names[..NAMED].join(", "), all - NAMED),
    }
}
