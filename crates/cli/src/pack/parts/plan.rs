//! The plan: which samples each part packs, and how.

use crate::dataset::NamedDataset;
use crate::output::to_stdout;
use crate::pack::arguments::{PackArguments, To};
use crate::pack::input::{self, Fingerprint};
use crate::pack::job::{Job, Mismatch};
use crate::pack::journal::{self, Found, MANIFEST, Planned, read_json};
use crate::pack::lock::Lock;
use crate::pack::names::Names;
use crate::pack::out_folder::told;
use crate::pack::recode::Recoding;
use crate::pack::workers::Workers;
use crate::pack::write::write_classes;
use crate::part::PartNumber;
use crate::{DONE, Outcome};
use console::style;
use gpufeed::Dataset as _;
use gpufeed::dataset::UNFINISHED;
use gpufeed::internals::Shown;
use gpufeed::storage::{Folder, Location};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::io::Write as _;
use std::time::Instant;
use xxhash_rust::xxh3::xxh3_64;

use super::{joined, listing, records_in};

/// The plan's file.
const PLAN: &str = "plan.json";
/// The listing of the files that hold the samples.
const FILES: &str = "files.jsonl";

/// How parts find the samples of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Listed {
    /// Samples are files below the source, which is a folder.
    Folder,
    /// Samples are files beside the source, which is a list.
    List,
    /// Each part opens the whole source.
    Whole,
}

/// A plan of parts.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Plan {
    /// The version of gpufeed that made it.
    gpufeed: String,
    /// The hash of all that follows.
    #[serde(flatten)]
    pub(super) planned: Planned,
    pub(super) job: Job,
    pub(super) listed: Listed,
    pub(super) classes: Vec<String>,
    /// The hash of each part's listing.
    listings: Vec<String>,
    /// The hash of the listing of the source's files, if parts open the whole source.
    files: Option<String>,
}

impl Plan {
    /// Reads the plan in a folder to pack into; `None` if there is none.
    pub(super) fn read(out: &Folder) -> Result<Option<Plan>, String> {
        let records = records_in(out);
        let Some(plan) = read_json::<Plan>(&records, PLAN)? else { return Ok(None) };
        match plan.hash()? == plan.planned.plan && plan.listings.len() == plan.planned.parts {
            true => Ok(Some(plan)),
            false => {
                let path = records.path(PLAN);
                Err(format!("{}: it has been changed; remove the folder, or pack elsewhere", path.display()))
            }
        }
    }

    /// Returns the hash of all that the parts have to agree about.
    fn hash(&self) -> Result<String, String> {
        let Plan { planned, job, listed, classes, listings, files, .. } = self;
        let all = serde_json::to_vec(&(planned.parts, planned.split, job, listed, classes, listings, files));
        all.map(|all| format!("{:016x}", xxh3_64(&all))).map_err(|error| error.to_string())
    }

    /// Returns the name of a part's listing, and its hash.
    pub(super) fn listing(&self, number: PartNumber) -> (String, &str) {
        (listing_name(number.part), &self.listings[number.part])
    }

    /// Returns the name of the listing of the source's files, and its hash.
    pub(super) fn files(&self) -> (&str, &str) {
        (FILES, self.files.as_deref().unwrap_or_default())
    }

    /// Returns the beginning of the names of a part's shards. Sorted by name, all shards are in the order of the plan.
    pub(super) fn prefix(&self, part: usize) -> String {
        let digits = (self.planned.parts - 1).to_string().len().max(4);
        format!("{}-{part:0digits$}", self.job.prefix)
    }
}

fn listing_name(part: usize) -> String {
    format!("listing-{part:04}.jsonl")
}

/// `gpufeed pack SOURCE OUT --plan --parts N`: lists the samples of the source for all parts.
pub(in crate::pack) fn plan(arguments: &PackArguments, out: &Folder, parts: usize, workers: &Workers) -> Outcome {
    let PackArguments { source, to, split, shuffle, .. } = arguments;
    if *to != To::Tar {
        let reason = "--plan is for tar shards, as one process writes an LMDB: pack into shards by parts, join them, and \
                      pack what is joined with --to lmdb";
        return Err(crate::conflict(reason).into());
    }
    let start = Instant::now();
    let opened = input::open(source, *split, *shuffle)?;
    crate::pack::refuse_inside(source, &arguments.out)?;
    out.create().map_err(told)?;
    let lock = Lock::take(out)?;
    let (plan, is_new) = match known(arguments, out, parts, &opened)? {
        Some(plan) => (plan, false),
        None => (make(arguments, out, parts, &opened, workers)?, true),
    };
    lock.remove();
    let out = out.path("");
    let seconds = start.elapsed().as_secs_f64();
    let Planned { plan: hash, parts, .. } = &plan;
    let samples = opened.data.len();
    if arguments.json {
        let value = json!({
            "out": out, "plan": hash, "parts": parts, "samples": samples, "classes": opened.data.classes().len(),
            "new": is_new, "seconds": seconds,
        });
        let text = serde_json::to_string_pretty(&value)?;
        to_stdout(|out| writeln!(out, "{text}"))?;
    } else {
        let shown = style(Shown(out.display())).bold();
        let [source, quoted] =
            [&*Location::from(source).shown(), &*out].map(|path| shell_word(&Shown(path.display()).to_string()));
        let before = if is_new { "" } else { ", as before" };
        say!("{samples} samples in {parts} parts, planned in {shown} in {seconds:.1} s{before}");
        say!("  gpufeed pack {source} {quoted} --part I/{parts}   for each I from 0 to {}", parts - 1);
        say!("  gpufeed pack {source} {quoted} --join");
    }
    Ok(DONE)
}

/// Returns a path or an address as one word of a shell, which would expand its braces.
fn shell_word(text: &str) -> String {
    match text.chars().all(|c| c.is_alphanumeric() || "/._-:=@%+,".contains(c)) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', "'\\''")),
    }
}

/// Returns the plan that the folder has already, for the same source, settings and number of parts.
///
/// # Errors
/// If the folder has something else, except for what is left of a plan that was not finished.
fn known(
    arguments: &PackArguments,
    out: &Folder,
    parts: usize,
    source: &NamedDataset,
) -> Result<Option<Planned>, String> {
    let shown = out.path("");
    let there = |what: String| Err(format!("{}: there is {what}; remove it, or pack elsewhere", shown.display()));
    let job = || job(arguments, source, None);
    if let Some(plan) = Plan::read(out)? {
        if plan.planned.parts != parts {
            return there(format!("a plan of {} parts", plan.planned.parts));
        }
        return match job().mismatch(&plan.job) {
            None => Ok(Some(plan.planned)),
            Some(Mismatch::Another(what)) => there(format!("a plan of {what}")),
            Some(Mismatch::Changed) => {
                there("a plan of what the source was before its files changed (their sizes or times)".to_owned())
            }
        };
    }
    let contents = out.contents().map_err(told)?;
    let marked = contents.has(UNFINISHED);
    if marked && journal::parts_planned(out).is_some() {
        return Ok(None);
    }
    if !marked && !contents.has(MANIFEST) {
        return journal::refuse_strangers(out).map(|()| None);
    }
    match (journal::find(out, &job(), false)?, joined(out)?) {
        (Found::Whole(_), Some((_, planned))) if planned.parts == parts => Ok(Some(planned)),
        (Found::Whole(_), _) => there("the whole pack already".to_owned()),
        (Found::Part(_), _) => there("an unfinished pack of one run, which goes on without --plan".to_owned()),
    }
}

fn job(arguments: &PackArguments, source: &NamedDataset, files: Option<String>) -> Job {
    let PackArguments { source: path, to, shard_bytes, prefix, shuffle, max_side, quality, .. } = arguments;
    let recoding = Recoding { max_side: *max_side, quality: *quality };
    let files = files.unwrap_or_else(|| input::fingerprint(source));
    Job::of_files(source, path, files, (*to, *shard_bytes, prefix, *shuffle), recoding)
}

/// Lists the samples. The plan is written last: a folder without it has none.
fn make(
    arguments: &PackArguments,
    out: &Folder,
    parts: usize,
    source: &NamedDataset,
    workers: &Workers,
) -> Result<Planned, Box<dyn std::error::Error>> {
    let PackArguments { source: path, split, .. } = arguments;
    journal::mark_planned(out, parts)?;
    let (folder, names) = (records_in(out), Names::new(source));
    folder.remove_all().map_err(told)?;
    folder.create().map_err(told)?;
    let listed = match source.root() {
        Some(_) if path.is_dir() => Listed::Folder,
        Some(_) => Listed::List,
        None => Listed::Whole,
    };
    let (mut fingerprint, mut listings) = (Fingerprint::new(), Vec::with_capacity(parts));
    for part in 0..parts {
        let range = PartNumber { part, parts }.range(source.data.len());
        let name = listing_name(part);
        listings.push(match listed {
            Listed::Whole => listing::write_keys(&names, range, (&folder, &name))?,
            _ => listing::write_files((source, &names), range, (&folder, &name), &mut fingerprint, workers)?,
        });
    }
    let files = match listed {
        Listed::Whole => Some(listing::write_source(source, (&folder, FILES), &mut fingerprint)?),
        _ => None,
    };
    let job = job(arguments, source, Some(fingerprint.digits()));
    let planned = Planned { plan: String::new(), parts, split: *split };
    let (gpufeed, classes) = (env!("CARGO_PKG_VERSION").to_owned(), source.data.classes().to_vec());
    write_classes(out, &classes)?;
    let mut plan = Plan { gpufeed, planned, job, listed, classes, listings, files };
    plan.planned.plan = plan.hash()?;
    folder.write(PLAN, &serde_json::to_vec(&plan)?).map_err(told)?;
    Ok(plan.planned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_shell_are_quoted_where_it_would_expand_them() {
        for (text, word) in [
            ("s3://a/b-1.tar", "s3://a/b-1.tar"),
            ("http://h/s-{0..1}.tar", "'http://h/s-{0..1}.tar'"),
            ("out dir", "'out dir'"),
            ("it's", "'it'\\''s'"),
        ] {
            assert_eq!(shell_word(text), word);
        }
    }
}
