//! Makes and reads the plan of a pack in parts: it says which samples each part packs, and with which settings.

use crate::dataset::{Dataset as _, Format, UNFINISHED};
use crate::error::{Error, Result};
use crate::pack::errors::permitted;
use crate::pack::events::Watch;
use crate::pack::job::{Job, occupied};
use crate::pack::journal::{self, Found, MANIFEST, read_json};
use crate::pack::lock::Lock;
use crate::pack::names::Names;
use crate::pack::number::{MOST_PARTS, PartNumber};
use crate::pack::packed::PackPlan;
use crate::pack::planned::{Planned, Reading};
use crate::pack::settings::PackFormat;
use crate::pack::source::{Fingerprint, OpenedSource, PackSource};
use crate::pack::task::Task;
use crate::pack::whole::refuse_inside;
use crate::pack::write::write_classes;
use crate::storage::Folder;
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::time::Instant;
use xxhash_rust::xxh3::xxh3_64;

use super::{joined, listing, records_in};

/// The name of the plan's file.
const PLAN: &str = "plan.json";
/// The name of the file that lists the files of the source in which the samples are.
const FILES: &str = "files.jsonl";

/// How a part finds its samples in the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Listed {
    /// The source is a folder. Its samples are files, named relative to that folder.
    Folder,
    /// The source is a list. Its samples are files, named relative to the list's folder.
    List,
    /// Any other source. Each part opens the whole of it.
    Whole,
}

impl Listed {
    /// A listing has no fields, so that a source with fields is opened by each part.
    fn of(format: Option<Format>, has_fields: bool) -> Listed {
        match format {
            Some(Format::Folder | Format::Images) if !has_fields => Listed::Folder,
            Some(Format::List) if !has_fields => Listed::List,
            _ => Listed::Whole,
        }
    }

    /// Returns the folder to which the file names in listings are relative.
    pub(super) fn root(self, source: &Path) -> &Path {
        match self {
            Listed::List => source.parent().unwrap_or(Path::new("")),
            Listed::Folder | Listed::Whole => source,
        }
    }
}

/// A plan: which samples each part packs, and all that the parts have in common.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Plan {
    /// The version of gpufeed that made the plan.
    gpufeed: String,
    /// The number of parts, the split, and a hash of both and of the fields below.
    #[serde(flatten)]
    pub(super) planned: Planned,
    pub(super) job: Job,
    pub(super) listed: Listed,
    pub(super) classes: Vec<String>,
    /// For each part, the hash of the file that lists the part's samples.
    listings: Vec<String>,
    /// The hash of the file [`FILES`], if each part opens the whole source; else `None`.
    files: Option<String>,
}

impl Plan {
    /// Reads the plan in a folder to pack into; `None` if there is none.
    pub(super) fn read(out: &Folder) -> Result<Option<Plan>> {
        let records = records_in(out);
        // A listing names a bucket that is not there without the plan's address, and says what to do.
        let read = read_json::<Plan>(&records, PLAN);
        let read = read.or_else(|error| out.contents().map_err(permitted).and(Err(error)));
        let Some(plan) = read? else { return Ok(None) };
        match plan.hash()? == plan.planned.plan && plan.listings.len() == plan.planned.parts {
            true => Ok(Some(plan)),
            false => {
                let reason = "it has been changed; remove the folder, or pack elsewhere";
                Err(Error::pack(records.path(PLAN), reason))
            }
        }
    }

    /// Returns the hash of everything in the plan that has to be the same for all parts.
    fn hash(&self) -> Result<String> {
        let Plan { planned, job, listed, classes, listings, files, .. } = self;
        let all = (planned.parts, planned.split, job, listed, classes, listings, files);
        // A plan whose settings say nothing about fields has the hash that it had before there were fields.
        let all = match &planned.reading {
            Some(reading) => serde_json::to_vec(&(all, reading)),
            None => serde_json::to_vec(&all),
        };
        all.map(|all| format!("{:016x}", xxh3_64(&all))).map_err(|error| Error::pack(PLAN, error.to_string()))
    }

    /// Returns the name and the hash of the file that lists a part's samples.
    pub(super) fn listing(&self, number: PartNumber) -> (String, &str) {
        (listing_name(number.part), &self.listings[number.part])
    }

    /// Returns the name and the hash of the file that lists the source's files. The hash is empty if there is no such
    /// file.
    pub(super) fn files(&self) -> (&str, &str) {
        (FILES, self.files.as_deref().unwrap_or_default())
    }

    /// Returns the beginning of the names of a part's shards. Sorted by name, the shards of all parts are in the order
    /// of the plan.
    pub(super) fn prefix(&self, part: usize) -> String {
        let digits = (self.planned.parts - 1).to_string().len().max(4);
        format!("{}-{part:0digits$}", self.job.prefix)
    }
}

fn listing_name(part: usize) -> String {
    format!("listing-{part:04}.jsonl")
}

/// Makes the plan for a pack in `parts` parts, or finds the one that was made before.
pub(in crate::pack) fn plan(task: &Task, out: &Folder, parts: usize, watch: &Watch) -> Result<PackPlan> {
    if parts == 0 || parts > MOST_PARTS {
        return Err(Error::argument("parts", format!("{parts}; 1 to {MOST_PARTS} work")));
    }
    if task.settings.to != PackFormat::Tar {
        let reason = "a plan is for tar shards, as one process writes an LMDB: pack into shards by parts, join them, and \
                      pack what is joined into an LMDB";
        return Err(Error::argument("to", reason));
    }
    let start = Instant::now();
    let opened = task.source.open(&task.settings, watch)?;
    refuse_inside(&task.source, &task.out)?;
    out.create().map_err(permitted)?;
    let lock = Lock::take(out)?;
    let (plan, new) = match known((task, &opened), out, parts, watch)? {
        Some(plan) => (plan, false),
        None => (make((task, &opened), out, parts, watch)?, true),
    };
    lock.remove();
    let Planned { plan, parts, .. } = plan;
    let (samples, classes) = (opened.data.len(), opened.data.classes().len());
    Ok(PackPlan { out: out.path(""), plan, parts, samples, classes, new, seconds: start.elapsed().as_secs_f64() })
}

/// Returns the plan that the folder already has for this source, these settings and this number of parts; `None` if the
/// plan is still to be made.
///
/// # Errors
/// If the folder has something else. What is left of a plan that was not finished is no error.
fn known((task, source): (&Task, &OpenedSource), out: &Folder, parts: usize, watch: &Watch) -> Result<Option<Planned>> {
    let job = || Job::new(source, source.fingerprint(watch)?, &task.settings, watch);
    if let Some(plan) = Plan::read(out)? {
        if plan.planned.parts != parts {
            return Err(occupied(out, &format!("a plan of {} parts", plan.planned.parts)));
        }
        return match job()?.mismatch(&plan.job) {
            None => Ok(Some(plan.planned)),
            Some(mismatch) => Err(mismatch.error(out, "a plan")),
        };
    }
    let contents = out.contents().map_err(permitted)?;
    let marked = contents.has(UNFINISHED);
    if marked && journal::parts_planned(out).is_some() {
        return Ok(None);
    }
    if !marked && !contents.has(MANIFEST) {
        return journal::refuse_strangers(out).map(|()| None);
    }
    match (journal::find(out, &job()?, false)?, joined(out)?) {
        (Found::Whole(_), Some((_, planned))) if planned.parts == parts => Ok(Some(planned)),
        (Found::Whole(_), _) => Err(occupied(out, "the whole pack already")),
        (Found::Part(_), _) => Err(journal::begun_without_plan(out)),
    }
}

/// Makes a plan: writes the listings of all parts, and then the plan's own file. A folder without that file has no
/// plan.
fn make((task, source): (&Task, &OpenedSource), out: &Folder, parts: usize, watch: &Watch) -> Result<Planned> {
    journal::mark_planned(out, parts)?;
    let (folder, names) = (records_in(out), Names::new(source, watch)?);
    folder.remove_all().map_err(permitted)?;
    folder.create().map_err(permitted)?;
    let listed = Listed::of(source.format, !source.fields.is_empty());
    let (mut fingerprint, mut listings) = (Fingerprint::new(), Vec::with_capacity(parts));
    for part in 0..parts {
        watch.check()?;
        let range = PartNumber { part, parts }.range(source.data.len());
        let name = listing_name(part);
        listings.push(match &task.source {
            PackSource::Path(path) if listed != Listed::Whole => {
                let samples = (source, listed.root(path), &names);
                listing::write_files(samples, range, (&folder, &name), &mut fingerprint, watch)?
            }
            _ => listing::write_keys(&names, range, (&folder, &name))?,
        });
    }
    let files = match listed {
        Listed::Whole => Some(listing::write_source(source, (&folder, FILES), &mut fingerprint)?),
        _ => None,
    };
    let job = Job::new(source, fingerprint.digits(), &task.settings, watch)?;
    let (plan, reading) = (String::new(), Reading::of(&task.settings));
    let planned = Planned { plan, parts, split: task.settings.split, reading };
    let (gpufeed, classes) = (env!("CARGO_PKG_VERSION").to_owned(), source.data.classes().to_vec());
    write_classes(out, &classes)?;
    let mut plan = Plan { gpufeed, planned, job, listed, classes, listings, files };
    plan.planned.plan = plan.hash()?;
    let text = serde_json::to_vec(&plan).map_err(|error| Error::pack(folder.path(PLAN), error.to_string()))?;
    folder.write(PLAN, &text).map_err(permitted)?;
    Ok(plan.planned)
}
