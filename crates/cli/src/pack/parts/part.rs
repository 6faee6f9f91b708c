//! Packs one part.

use crate::dataset::NamedDataset;
use crate::output::to_stdout;
use crate::pack::arguments::PackArguments;
use crate::pack::input::{self, Facts};
use crate::pack::journal::{Manifest, Progress};
use crate::pack::lock::Lock;
use crate::pack::names::Names;
use crate::pack::out_folder::told;
use crate::pack::run::{Run, Totals};
use crate::pack::workers::Workers;
use crate::pack::write::Shards;
use crate::part::{AskedPart, PartNumber};
use crate::{DONE, Outcome};
use console::style;
use gpufeed::Dataset as _;
use gpufeed::storage::{Folder, Location};
use serde_json::json;
use std::error::Error;
use std::io::Write as _;
use std::path::Path;
use std::time::Instant;

use super::plan::{Listed, Plan};
use super::record::{Done, PartJournal, PartOfPlan};
use super::{joined, listing, no_plan, records_in};

/// `gpufeed pack SOURCE OUT --part I/N`: packs the samples of one part, or what is missing of them.
///
/// It ends with exit code 0 when the part is done, also if samples were left out, so that no engine repeats it; the join
/// names them. If another process is at work on the part, it waits for the end of that one.
pub(in crate::pack) fn part(arguments: &PackArguments, out: &Folder, asked: AskedPart, workers: &Workers) -> Outcome {
    let PackArguments { source, parts, .. } = arguments;
    let start = Instant::now();
    let shown = out.path("");
    let whence = |what: &str| format!("{what} in {}", shown.display());
    let Some(plan) = Plan::read(out)? else {
        let Some((_, planned)) = joined(out)? else { return Err(no_plan(source, out).into()) };
        let number = asked.resolve(Some(planned.parts), &whence("the pack"))?;
        return say_joined(number, arguments.json);
    };
    let known = Some(plan.planned.parts);
    if parts.is_some() && *parts != known {
        let (asked, known) = (parts.unwrap_or_default(), plan.planned.parts);
        return Err(format!("--parts {asked}, but {} has {known}", whence("the plan")).into());
    }
    let number = asked.resolve(known, &whence("the plan"))?;
    let of = PartOfPlan { planned: plan.planned.clone(), part: number.part };
    let records = records_in(out);
    let lock_path = records.local().join(format!("{}.lock", of.stem()));
    let Some(lock) = Lock::try_at(&records, &lock_path)? else {
        // An engine has given the part to two processes, or has lost the first one. If this one failed, it would be
        // repeated at once, as long as the engine has patience.
        let reason = format!("another process is at work on part {number}; this one waits for its end");
        crate::output::complain(style("note:").cyan(), reason);
        Lock::wait_for(&records, &lock_path)?;
        // By now the part may be done, or even joined.
        return part(arguments, out, asked, workers);
    };
    let alone = lock.is_held();
    let work = Part { plan: &plan, of, source, records: records.shared(), out: out.shared(), workers, alone };
    let (done, totals, opened) = match work.find()? {
        Found::Done(done) => {
            let (resumed, undecodable) = (done.packed(), done.undecodable.clone());
            let opened = arguments.verify.then(|| work.open()).transpose()?;
            (*done, Totals { resumed, undecodable, ..Totals::default() }, opened)
        }
        Found::Begun(progress) => {
            let (opened, names) = work.open()?;
            let (done, totals) = work.pack((&opened, &names), progress)?;
            (done, totals, Some((opened, names)))
        }
    };
    let manifest = work.manifest(&done);
    let source = opened.as_ref().filter(|_| arguments.verify).map(|(source, _)| source);
    let outcome = crate::pack::report(arguments, out, (source, Some(number)), (&manifest, totals), workers, start);
    lock.remove();
    outcome
}

/// Says that a part that is asked for again is in the data set.
fn say_joined(PartNumber { part, parts }: PartNumber, as_json: bool) -> Outcome {
    if as_json {
        let text = serde_json::to_string_pretty(&json!({"part": part, "parts": parts, "joined": true}))?;
        to_stdout(|out| writeln!(out, "{text}"))?;
    } else {
        say!("part {part}/{parts} is done, and joined with the others");
    }
    Ok(DONE)
}

/// The state of a part on the disk.
enum Found {
    Done(Box<Done>),
    Begun(Progress),
}

/// A part of a plan.
struct Part<'a> {
    plan: &'a Plan,
    of: PartOfPlan,
    source: &'a Path,
    records: Folder,
    out: Folder,
    workers: &'a Workers,
    /// No other process is at work on this part.
    alone: bool,
}

impl Part<'_> {
    fn record(&self) -> String {
        format!("{}.json", self.of.stem())
    }

    /// Looks how far the part is.
    fn find(&self) -> Result<Found, String> {
        let Some(done) = Done::read(&self.records, &self.record())? else {
            return Ok(Found::Begun(PartJournal::find(&self.records, &self.of)?));
        };
        if done.of != self.of {
            let path = self.records.path(&self.record());
            return Err(format!("{}: it belongs to another plan; remove it", path.display()));
        }
        let contents = self.out.contents().map_err(told)?;
        Ok(match done.shards.iter().all(|shard| shard.is_in(&contents)) {
            true => Found::Done(Box::new(done)),
            false => Found::Begun(Progress { shards: done.shards, skipped: done.skipped }),
        })
    }

    fn number(&self) -> PartNumber {
        self.of.number()
    }

    /// Opens the part's samples, with the names of their members.
    ///
    /// # Errors
    /// If the source's files are not those that the plan has listed.
    fn open(&self) -> Result<(NamedDataset, Names), Box<dyn Error>> {
        let (plan, source) = (self.plan, self.source);
        let (listing, hash) = plan.listing(self.number());
        let listing = (&self.records, &*listing, hash);
        let root = match plan.listed {
            Listed::Whole => return self.open_whole(),
            Listed::Folder => source,
            Listed::List => source.parent().unwrap_or(Path::new("")),
        };
        if !source.exists() {
            return Err(format!("{}: there is no such source", source.display()).into());
        }
        let range = self.number().range(plan.job.samples);
        let (listed, facts, names) =
            listing::read_files(listing, root, (plan.job.samples, range.clone()), &plan.classes)?;
        let found = self.workers.each(range.clone(), |index| listed.path(index).map(Facts::of));
        for ((index, found), planned) in range.zip(found).zip(facts) {
            if let (Some(file), Some(found)) = (listed.path(index), found) {
                self.compare(&file.display().to_string(), found, planned)?;
            }
        }
        Ok((NamedDataset::listed(listed), names))
    }

    fn open_whole(&self) -> Result<(NamedDataset, Names), Box<dyn Error>> {
        let plan = self.plan;
        let opened = input::open(self.source, plan.planned.split, plan.job.shuffle)?;
        let (name, hash) = plan.files();
        let mut listed = listing::read_source(&self.records, name, hash)?.into_iter();
        let mut compared = Ok(());
        opened.each_file(|file, stamp| {
            let file_name = file.display().to_string();
            if compared.is_ok() {
                compared = match listed.next() {
                    Some(planned) => self.compare(&file_name, Facts::with_stamp(file, stamp), planned.facts),
                    None => Err(format!("{file_name}: it is not in {}", self.planned())),
                };
            }
        });
        compared?;
        if let Some(gone) = listed.next() {
            return Err(format!("{}: it is missing, but in {}", gone.name, self.planned()).into());
        }
        let (found, samples) = (opened.data.len(), plan.job.samples);
        if found != samples {
            let source = Location::from(self.source);
            return Err(format!("{source}: {found} samples, but {samples} in {}", self.planned()).into());
        }
        let (name, hash) = plan.listing(self.number());
        Ok((opened, listing::read_keys(&self.records, &name, hash)?))
    }

    fn planned(&self) -> String {
        format!("the plan in {}", self.out.path("").display())
    }

    /// Compares what a file is with what it was when the plan was made.
    fn compare(&self, file: &str, found: Facts, planned: Facts) -> Result<(), String> {
        if found == planned {
            return Ok(());
        }
        let what = match (found.are_known(), planned.are_known()) {
            (false, _) => "it is missing, but in",
            (_, false) => "it can be read now, which it could not for",
            _ => "it has changed (its size or time) since",
        };
        Err(format!("{file}: {what} {}; with the source as it is, plan in another folder", self.planned()))
    }

    fn pack(
        &self,
        (opened, names): (&NamedDataset, &Names),
        found: Progress,
    ) -> Result<(Done, Totals), Box<dyn Error>> {
        let Part { plan, of, .. } = self;
        let prefix = plan.prefix(of.part);
        if self.alone {
            self.out.remove_left(&prefix).map_err(told)?;
            self.records.remove_left(&of.stem()).map_err(told)?;
        }
        let range = self.number().range(plan.job.samples);
        let bar = crate::pack::progress(range.len(), "packed")?;
        let mut run = Run::new((opened, range), plan.job.recoding, self.workers, &bar);
        let shards = Shards { source: opened, names, folder: &self.out, prefix: &prefix, bytes: plan.job.shard_bytes };
        let written = shards.write(&mut run, found, |found| PartJournal::open(&self.records, of, found));
        bar.finish_and_clear();
        let (_, shards) = written?;
        let Run { totals, skipped, .. } = run;
        let done = Done {
            of: of.clone(),
            gpufeed: env!("CARGO_PKG_VERSION").to_owned(),
            shards,
            skipped,
            resumed: totals.resumed,
            kept: totals.kept,
            encoded: totals.encoded,
            undecodable: totals.undecodable.clone(),
            bytes_read: totals.read,
            bytes_packed: totals.written,
        };
        self.records.write(&self.record(), &serde_json::to_vec(&done)?).map_err(told)?;
        Ok((done, totals))
    }

    /// Returns the manifest that the part would have if it were a pack.
    fn manifest(&self, done: &Done) -> Manifest {
        let (job, classes) = (self.plan.job.clone(), self.plan.classes.len());
        let (gpufeed, shards, skipped) = (done.gpufeed.clone(), done.shards.clone(), done.skipped.clone());
        Manifest { gpufeed, job, classes, shards, skipped, plan: Some(self.of.planned.clone()) }
    }
}
