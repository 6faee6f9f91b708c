//! Packs one part of a plan, which is a range of a data set's samples.

use crate::dataset::Dataset as _;
use crate::error::{Error, Result};
use crate::pack::errors::{permitted, there};
use crate::pack::events::{Event, TICK, Watch};
use crate::pack::job::Job;
use crate::pack::journal::{Manifest, Progress};
use crate::pack::lock::Lock;
use crate::pack::names::Names;
use crate::pack::number::PartNumber;
use crate::pack::packed::Packed;
use crate::pack::run::{PackRun, Totals};
use crate::pack::source::{Facts, OpenedSource, PackSource};
use crate::pack::task::Task;
use crate::pack::write::write_shards;
use crate::pack::{whole, workers};
use crate::storage::Folder;
use std::path::Path;
use std::time::Instant;

use super::plan::{Listed, Plan};
use super::record::{Done, PartJournal, PartOfPlan};
use super::{joined, listing, no_plan, records_in};

/// Packs the samples of one part, or those of them that are still missing. Returns `None` if all parts were joined
/// already.
///
/// If another process is at work on the part, waits until that process ends.
pub(in crate::pack) fn part(task: &Task, out: &Folder, number: PartNumber, watch: &Watch) -> Result<Option<Packed>> {
    let start = Instant::now();
    loop {
        let Some(plan) = Plan::read(out)? else {
            let Some((_, planned)) = joined(out)? else { return Err(no_plan(out)) };
            return check(number, planned.parts, out, "the pack").map(|()| None);
        };
        check(number, plan.planned.parts, out, "the plan")?;
        plan.planned.check_settled(&plan.job, &task.settings)?;
        let of = PartOfPlan { planned: plan.planned.clone(), part: number.part };
        let records = records_in(out);
        let lock_path = records.local().join(format!("{}.lock", of.stem()));
        if let Some(lock) = Lock::try_at(&records, &lock_path)? {
            let settings = plan.planned.opening(&plan.job, &task.settings);
            let task = Task { settings, ..task.clone() };
            let (records, out, alone) = (records.shared(), out.shared(), lock.held);
            let packed = Part { plan: &plan, of, task: &task, records, out, alone, watch }.done(start)?;
            lock.remove();
            return Ok(Some(packed));
        }
        // Another process holds the lock of this part: the program that starts the parts has started this part twice,
        // or has lost the first process. If this process failed, that program would start the part again at once, until
        // the program gives up. So this process waits; later the part may be done, or all parts may be joined.
        watch.say(Event::Waiting { part: number });
        // Waits here, because each pass of the outer loop reads the plan again, perhaps from a store. This loop ends
        // when the lock is free, or when it cannot be opened because a join has removed its folder.
        while matches!(Lock::try_at(&records, &lock_path), Ok(None)) {
            watch.check()?;
            std::thread::sleep(2 * TICK);
        }
    }
}

/// Fails if `number` does not name one of `parts` parts. `whose` says, for the error, what has these parts: the plan or
/// the pack.
fn check(number: PartNumber, parts: usize, out: &Folder, whose: &str) -> Result<()> {
    if number.parts == parts && number.part < parts {
        return Ok(());
    }
    let reason =
        format!("{number}, but {whose} in {} has parts 0/{parts} to {}/{parts}", out.path("").display(), parts - 1);
    Err(Error::argument("part", reason))
}

/// How much of a part has been packed already.
enum Found {
    Done(Box<Done>),
    Begun(Progress),
}

/// A part of a plan, with everything that packing the part needs.
struct Part<'a> {
    plan: &'a Plan,
    of: PartOfPlan,
    task: &'a Task,
    records: Folder,
    out: Folder,
    /// True if a lock keeps other processes from this part; false if the file system has no locks.
    alone: bool,
    watch: &'a Watch,
}

impl Part<'_> {
    /// Packs those samples of the part that are still missing, and returns the result for the whole part.
    fn done(&self, start: Instant) -> Result<Packed> {
        let verify = self.task.settings.verify;
        let (done, opened) = match self.find()? {
            Found::Done(mut done) => {
                let (resumed, undecodable) = (done.packed(), std::mem::take(&mut done.totals.undecodable));
                done.totals = Totals { resumed, undecodable, ..Totals::default() };
                (*done, verify.then(|| self.open()).transpose()?)
            }
            Found::Begun(progress) => {
                let (opened, names) = self.open()?;
                (self.pack((&opened, &names), progress)?, Some((opened, names)))
            }
        };
        let Done { gpufeed, shards, skipped, totals, .. } = done;
        let (job, classes, plan) = (self.plan.job.clone(), self.plan.classes.len(), Some(self.of.planned.clone()));
        // The manifest that the part would have if it were a whole pack; it is made for the report, and not written.
        let manifest = Manifest { gpufeed, job, classes, shards, skipped, plan };
        let source = opened.as_ref().filter(|_| verify).map(|(source, _)| source);
        let part = Some(self.number());
        whole::report(&self.out, (source, part), (&manifest, totals), (self.watch, start))
    }

    fn record(&self) -> String {
        format!("{}.json", self.of.stem())
    }

    /// Finds out how much of the part has been packed already.
    fn find(&self) -> Result<Found> {
        let Some(done) = Done::read(&self.records, &self.record())? else {
            return Ok(Found::Begun(PartJournal::find(&self.records, &self.of)?));
        };
        if done.of != self.of {
            return Err(Error::pack(self.records.path(&self.record()), "it belongs to another plan; remove it"));
        }
        let contents = self.out.contents().map_err(permitted)?;
        Ok(match done.shards.iter().all(|shard| shard.is_in(&contents)) {
            true => Found::Done(Box::new(done)),
            false => Found::Begun(Progress { shards: done.shards, skipped: done.skipped }),
        })
    }

    fn number(&self) -> PartNumber {
        self.of.number()
    }

    /// Opens the part's samples. Also returns the names that the samples have as members of the shards.
    ///
    /// # Errors
    /// If the source's files are not those that the plan has listed.
    fn open(&self) -> Result<(OpenedSource, Names)> {
        let plan = self.plan;
        let source = match (&self.task.source, plan.listed) {
            (_, Listed::Whole) => return self.open_whole(),
            (PackSource::Path(source), _) => source,
            (PackSource::Data(_), _) => {
                return Err(there(&self.out, "the plan lists the files of a path; give the path, and no data set"));
            }
        };
        if !source.exists() {
            return Err(Error::pack(source, "there is no such source"));
        }
        let (listing, hash) = plan.listing(self.number());
        let (samples, range) = (plan.job.samples, self.number().range(plan.job.samples));
        let listing = (&self.records, &*listing, hash);
        let root = plan.listed.root(source);
        let (listed, planned, names) = listing::read_files(listing, root, (samples, range.clone()), &plan.classes)?;
        let facts = |(): &mut (), index| Ok(listed.path(index).map(Facts::of));
        workers::in_order(
            self.watch.threads,
            range.clone(),
            self.watch,
            |_| {},
            facts,
            |index, found| match (listed.path(index), found) {
                (Some(file), Some(found)) => self.compare(file, found, planned[index - range.start]),
                _ => Ok(()),
            },
        )?;
        Ok((OpenedSource::of(listed), names))
    }

    fn open_whole(&self) -> Result<(OpenedSource, Names)> {
        let plan = self.plan;
        let opened = self.task.source.open(&self.task.settings, self.watch)?;
        let (name, hash) = plan.files();
        let mut listed = listing::read_source(&self.records, name, hash)?.into_iter();
        opened.each_file(&mut |file, facts| match listed.next() {
            Some(planned) => self.compare(file, facts, planned.facts),
            None => Err(Error::pack(file, format!("it is not in {}", self.planned()))),
        })?;
        if let Some(gone) = listed.next() {
            return Err(Error::pack(&gone.name, format!("it is missing, but in {}", self.planned())));
        }
        let (found, samples) = (opened.data.len(), plan.job.samples);
        if found != samples {
            let source = self.task.source.shown();
            let reason = format!("{found} samples, but {samples} in {}", self.planned());
            return Err(source.map_or_else(|| there(&self.out, &*reason), |source| Error::pack(source, &*reason)));
        }
        if opened.fields.listed() != plan.job.fields {
            let reason = format!("the source has other fields than {}: {}", self.planned(), opened.fields.names());
            return Err(there(&self.out, reason));
        }
        // Only an open data set is compared by the names of its samples. For a path, these names begin with the path,
        // which may differ from machine to machine.
        if let PackSource::Data(_) = self.task.source
            && !Job::new(&opened, String::new(), &self.task.settings, self.watch)?.has_the_names_of(&plan.job)
        {
            let reason = format!("the data set has other samples than {}, or another order", self.planned());
            return Err(there(&self.out, reason));
        }
        let (name, hash) = plan.listing(self.number());
        Ok((opened, listing::read_keys(&self.records, &name, hash)?))
    }

    fn planned(&self) -> String {
        format!("the plan in {}", self.out.path("").display())
    }

    /// Fails if a file has another size or time than it had when the plan was made.
    fn compare(&self, file: &Path, found: Facts, planned: Facts) -> Result<()> {
        if found == planned {
            return Ok(());
        }
        let what = match (found.are_known(), planned.are_known()) {
            (false, _) => "it is missing, but in",
            (_, false) => "it can be read now, which it could not for",
            _ => "it has changed (its size or time) since",
        };
        let planned = self.planned();
        Err(Error::pack(file, format!("{what} {planned}; with the source as it is, plan in another folder")))
    }

    fn pack(&self, (opened, names): (&OpenedSource, &Names), found: Progress) -> Result<Done> {
        let Part { plan, of, out, watch, .. } = self;
        let prefix = plan.prefix(of.part);
        if self.alone {
            out.remove_left(&prefix).map_err(permitted)?;
            self.records.remove_left(&of.stem()).map_err(permitted)?;
        }
        let range = self.number().range(plan.job.samples);
        let mut run = PackRun::new((opened, range), plan.job.recoding, out, watch);
        let open = |found: &Progress| PartJournal::open(&self.records, of, found);
        let (_, shards) = write_shards(&mut run, names, (&prefix, plan.job.shard_bytes), found, open)?;
        let PackRun { totals, skipped, .. } = run;
        let done = Done { of: of.clone(), gpufeed: env!("CARGO_PKG_VERSION").to_owned(), shards, skipped, totals };
        let text = serde_json::to_vec(&done).map_err(|error| there(&self.records, error.to_string()))?;
        self.records.write(&self.record(), &text).map_err(permitted)?;
        Ok(done)
    }
}
