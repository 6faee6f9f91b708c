//! Records the progress of a pack: a journal while it is written, a manifest when it is complete.

use crate::advice::{PACK_BY_PARTS, PACK_VERIFY, PACK_WITHOUT_PLAN, Reason};
use crate::dataset::{Split, UNFINISHED};
use crate::error::{Error, Result};
use crate::storage::{Contents, Folder};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::ops::Range;

use super::errors::{failed, permitted, there};
use super::job::{CHANGED, Job, Mismatch, occupied};
use super::settings::PackFormat;

/// The name of a finished pack's manifest.
pub(super) const MANIFEST: &str = "gpufeed-pack.json";

/// A sample that could not be read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Skipped {
    /// The sample's index in the source.
    pub(super) skipped: usize,
    pub(super) name: String,
    pub(super) reason: String,
}

/// A line of the journal after the first.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Line {
    Shard(Shard),
    Skipped(Skipped),
}

/// How far a pack is: the shards that were completed, and the samples that were skipped. A shard's file may have
/// changed since.
#[derive(Debug, Default)]
pub(super) struct Progress {
    pub(super) shards: Vec<Shard>,
    /// The skipped samples, in the order of the source.
    pub(super) skipped: Vec<Skipped>,
}

impl Progress {
    /// Returns the sample to continue with, if `packed` samples from `first` on are packed. Forgets the samples that
    /// were skipped after these, so that they are tried again.
    pub(super) fn resume_at(&mut self, first: usize, packed: usize) -> usize {
        let mut next = first + packed;
        for skipped in &self.skipped {
            if skipped.skipped < next {
                next += 1;
            }
        }
        self.skipped.retain(|skipped| skipped.skipped < next);
        next
    }
}

/// A complete shard.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Shard {
    pub(super) file: String,
    /// The index of the shard's first sample in the pack.
    pub(super) first: usize,
    pub(super) samples: usize,
    pub(super) bytes: u64,
    /// The hash of the shard's content, in hexadecimal digits.
    pub(super) xxh3: String,
}

impl Shard {
    /// Returns true if the shard's file exists and has the same length.
    pub(super) fn is_in(&self, contents: &Contents) -> bool {
        contents.length(&self.file) == Some(self.bytes)
    }
}

/// The manifest of a finished pack.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Manifest {
    /// The version of gpufeed that wrote the manifest.
    pub(super) gpufeed: String,
    pub(super) job: Job,
    pub(super) classes: usize,
    pub(super) shards: Vec<Shard>,
    /// The source's samples that could not be read.
    #[serde(default)]
    pub(super) skipped: Vec<Skipped>,
    /// The plan, for a pack that was made in parts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) plan: Option<Planned>,
}

/// A plan in a manifest and in the records of parts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Planned {
    /// The hash of the plan, in hexadecimal digits.
    pub(super) plan: String,
    pub(super) parts: usize,
    /// The part of a source that comes in two.
    pub(super) split: Split,
}

impl Manifest {
    /// Returns the indices of the packed samples in the source, of those in `range`.
    pub(super) fn packed(&self, range: Range<usize>) -> Vec<usize> {
        let skipped: HashSet<usize> = self.skipped.iter().map(|skipped| skipped.skipped).collect();
        range.filter(|index| !skipped.contains(index)).collect()
    }

    /// Returns those files of the folder that readers would take for shards, but that are not this pack's, sorted.
    pub(super) fn strangers(&self, names: impl IntoIterator<Item = String>) -> Vec<String> {
        let own: HashSet<&str> = self.shards.iter().map(|shard| &*shard.file).collect();
        let tar = names.into_iter().filter(|name| name.ends_with(".tar") && !name.starts_with('.'));
        let mut strange: Vec<_> = tar.filter(|name| !own.contains(&**name)).collect();
        strange.sort_unstable();
        strange
    }

    /// Writes the manifest, and removes the mark of an unfinished pack. This makes the folder a data set.
    pub(super) fn finish(&self, folder: &Folder) -> Result<()> {
        let text = serde_json::to_vec_pretty(self).map_err(unwritten)?;
        folder.write(MANIFEST, &text).map_err(permitted)?;
        folder.remove(UNFINISHED).map_err(permitted)
    }

    /// Returns true if the files exist and have the same lengths.
    pub(super) fn is_in(&self, contents: &Contents) -> bool {
        match self.job.to {
            PackFormat::Tar => {
                let named = self.classes == 0 || contents.has("classes.json");
                named && self.shards.iter().all(|shard| shard.is_in(contents))
            }
            PackFormat::Lmdb => contents.has("data.mdb"),
        }
    }
}

/// Returns the error of a value that JSON cannot hold.
fn unwritten(error: serde_json::Error) -> Error {
    Error::pack(MANIFEST, error.to_string())
}

/// Makes the error for a file in the folder that no pack has written.
fn wrong(folder: &Folder, name: &str, error: &serde_json::Error) -> Error {
    Error::pack(folder.path(name), format!("{error}; remove the folder, or pack elsewhere"))
}

/// Reads a file of JSON; `None` if there is none.
pub(super) fn read_json<T: for<'a> Deserialize<'a>>(folder: &Folder, name: &str) -> Result<Option<T>> {
    let bytes = folder.read(name).map_err(permitted)?;
    bytes.map(|bytes| serde_json::from_slice(&bytes).map_err(|error| wrong(folder, name, &error))).transpose()
}

/// The content of the folder to pack into.
pub(super) enum Found {
    Whole(Box<Manifest>),
    Part(Progress),
}

/// Examines the folder to pack into. If `verify` is true, it accepts a complete pack of a source that has changed
/// since.
///
/// # Errors
/// If the folder holds another pack, a pack of the source before it changed, or a data set that gpufeed has not packed.
pub(super) fn find(folder: &Folder, job: &Job, verify: bool) -> Result<Found> {
    let contents = folder.contents().map_err(permitted)?;
    if contents.has(UNFINISHED) {
        if let Some(parts) = parts_planned(folder) {
            let reason = Reason::new(format!("there is a pack in {parts} parts that is not finished"));
            return Err(there(folder, reason.advise(PACK_BY_PARTS)));
        }
        let (known, progress) = read_journal::<Job>(folder, UNFINISHED)?.unwrap_or_default();
        return match known.and_then(|known| job.mismatch(&known)) {
            Some(mismatch) => Err(mismatch.error(folder, "an unfinished pack")),
            None => Ok(Found::Part(progress)),
        };
    }
    if let Some(found) = read_json::<Manifest>(folder, MANIFEST)? {
        return match (job.mismatch(&found.job), found.is_in(&contents)) {
            (Some(Mismatch::Changed), true) if !verify => {
                Err(Mismatch::Changed.error(folder, "a pack").advise(PACK_VERIFY))
            }
            (Some(Mismatch::Changed), false) => {
                Err(occupied(folder, &format!("a pack {CHANGED}, of which files are missing")))
            }
            (None | Some(Mismatch::Changed), true) => Ok(Found::Whole(Box::new(found))),
            (Some(mismatch), _) => Err(mismatch.error(folder, "a pack")),
            // Shards of a pack without parts would have names that are sorted before those of the parts.
            (None, false) if found.plan.is_some() => {
                let lost = found.shards.iter().find(|shard| !shard.is_in(&contents)).map(|shard| &*shard.file);
                let lost = lost.unwrap_or("classes.json");
                Err(occupied(
                    folder,
                    &format!("a pack made in parts, of which {lost} is missing or has another length"),
                ))
            }
            (None, false) => Ok(Found::Part(Progress { shards: found.shards, skipped: found.skipped })),
        };
    }
    refuse_strangers(folder)?;
    Ok(Found::Part(Progress::default()))
}

/// Makes the error of a plan for a folder in which a pack without parts has begun.
pub(super) fn begun_without_plan(folder: &Folder) -> Error {
    there(folder, Reason::new("there is an unfinished pack of one run").advise(PACK_WITHOUT_PLAN))
}

/// # Errors
/// If the folder holds files that readers would take for a part of the pack.
pub(super) fn refuse_strangers(folder: &Folder) -> Result<()> {
    for name in folder.names().map_err(permitted)? {
        let data = ["data.mdb", ".data.mdb.part"].contains(&&*name);
        // A `classes.txt` would take precedence over the `classes.json` that is written.
        if (name.ends_with(".tar") && !name.starts_with('.')) || name == "classes.txt" || data {
            return Err(occupied(folder, &format!("{name}, of which nothing is known")));
        }
    }
    Ok(())
}

/// The mark of a folder that is packed in parts. Such a folder has this in the place of a journal.
#[derive(Serialize, Deserialize)]
struct Mark {
    parts: usize,
}

/// Returns the number of parts if the mark of an unfinished pack says that it is packed in parts.
pub(super) fn parts_planned(folder: &Folder) -> Option<usize> {
    let text = folder.read(UNFINISHED).ok()??;
    serde_json::from_slice::<Mark>(&text).ok().map(|mark| mark.parts)
}

/// Marks a folder that is packed in parts, and that only a join makes a data set.
pub(super) fn mark_planned(folder: &Folder, parts: usize) -> Result<()> {
    let text = serde_json::to_vec(&Mark { parts }).map_err(unwritten)?;
    folder.write(UNFINISHED, &text).map_err(permitted)
}

/// Reads a journal: its first line, if that line is complete, and the progress. `None` if the journal does not exist.
pub(super) fn read_journal<T: for<'a> Deserialize<'a>>(
    folder: &Folder,
    name: &str,
) -> Result<Option<(Option<T>, Progress)>> {
    let Some(text) = folder.read(name).map_err(permitted)? else { return Ok(None) };
    // A line without an end was being written when the process was killed.
    let mut lines = text.split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\n"));
    let wrong = |error| wrong(folder, name, &error);
    let first = lines.next().map(serde_json::from_slice).transpose().map_err(wrong)?;
    let mut progress = Progress::default();
    for line in lines {
        match serde_json::from_slice(line).map_err(wrong)? {
            Line::Shard(shard) => progress.shards.push(shard),
            Line::Skipped(skipped) => progress.skipped.push(skipped),
        }
    }
    Ok(Some((first, progress)))
}

/// Returns a value as a line of a journal.
pub(super) fn line(what: &impl Serialize) -> Result<Vec<u8>> {
    let mut line = serde_json::to_vec(what).map_err(unwritten)?;
    line.push(b'\n');
    Ok(line)
}

/// Returns a whole journal with this first line.
pub(super) fn journal_text(first: &impl Serialize, progress: &Progress) -> Result<Vec<u8>> {
    let mut text = line(first)?;
    for shard in &progress.shards {
        text.extend(line(shard)?);
    }
    for skipped in &progress.skipped {
        text.extend(line(skipped)?);
    }
    Ok(text)
}

/// A record of the progress, which outlives the process.
pub(super) trait Record {
    fn add(&mut self, shard: &Shard) -> Result<()>;
    fn skip(&mut self, skipped: &Skipped) -> Result<()>;
}

impl Record for Journal {
    fn add(&mut self, shard: &Shard) -> Result<()> {
        self.line(shard)
    }

    fn skip(&mut self, skipped: &Skipped) -> Result<()> {
        self.line(skipped)
    }
}

/// The file that records each completed shard. While it exists, the folder is not a data set.
pub(super) struct Journal {
    folder: Folder,
    /// The file to which lines are added; `None` for a store, whose objects are written as a whole.
    file: Option<File>,
    /// All lines so far, for a store.
    text: Vec<u8>,
}

impl Journal {
    /// Writes the journal with the progress so far, and opens it to append.
    pub(super) fn open(folder: &Folder, job: &Job, progress: &Progress) -> Result<Journal> {
        // Writes the whole file again, so that no incomplete line stays in it.
        let text = journal_text(job, progress)?;
        folder.write(UNFINISHED, &text).map_err(permitted)?;
        let path = folder.path(UNFINISHED);
        let open = || OpenOptions::new().append(true).open(&path).map_err(failed(&path));
        let file = (!folder.is_in_store()).then(open).transpose()?;
        Ok(Journal { folder: folder.clone(), file, text })
    }

    fn line(&mut self, what: &impl Serialize) -> Result<()> {
        let line = line(what)?;
        match &mut self.file {
            Some(file) => {
                let written = file.write_all(&line).and_then(|()| file.sync_data());
                written.map_err(failed(&self.folder.path(UNFINISHED)))
            }
            None => {
                self.text.extend(line);
                self.folder.write(UNFINISHED, &self.text).map_err(permitted)
            }
        }
    }

    /// Writes the manifest and removes the journal, which makes the folder a data set.
    pub(super) fn finish(self, manifest: &Manifest) -> Result<()> {
        drop(self.file);
        manifest.finish(&self.folder)
    }
}
