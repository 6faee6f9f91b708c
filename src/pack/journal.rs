//! Records the progress of packing a data set: in a journal while the pack is written, and in a manifest once the pack
//! is complete.

use crate::advice::{PACK_BY_PARTS, PACK_VERIFY, PACK_WITHOUT_PLAN, Reason};
use crate::dataset::{PACK_MANIFEST, UNFINISHED};
use crate::error::{Error, Result};
use crate::storage::{Contents, Folder};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::ops::Range;

use super::errors::{failed, permitted, there};
use super::job::{CHANGED, Job, Mismatch, occupied};
use super::planned::Planned;
use super::settings::PackFormat;

/// The name of the file in a finished pack's folder that holds its manifest.
pub(super) const MANIFEST: &str = PACK_MANIFEST;

/// A sample that could not be read, and was left out of the pack.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Skipped {
    /// The sample's index in the source.
    pub(super) skipped: usize,
    pub(super) name: String,
    pub(super) reason: String,
}

/// A line of the journal, except for its first line, which says what is packed.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Line {
    Shard(Shard),
    Skipped(Skipped),
}

/// The progress of a pack: the shards that were completed, and the samples that were skipped. The file of a completed
/// shard may have changed since it was recorded.
#[derive(Debug, Default)]
pub(super) struct Progress {
    pub(super) shards: Vec<Shard>,
    /// The skipped samples, in the order of the source.
    pub(super) skipped: Vec<Skipped>,
}

impl Progress {
    /// Returns the index of the source's sample to continue with, after `packed` samples were packed from index `first`
    /// on. Forgets the samples that were skipped after the last packed one, so that they are tried again.
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

/// A complete shard, as the journal and the manifest record it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Shard {
    pub(super) file: String,
    /// The index of the shard's first sample among the packed samples, in which skipped samples are not counted.
    pub(super) first: usize,
    pub(super) samples: usize,
    pub(super) bytes: u64,
    /// The hash of the shard's content, in hexadecimal digits.
    pub(super) xxh3: String,
}

impl Shard {
    /// Returns true if the shard's file exists in the folder, and has the length that was recorded.
    pub(super) fn is_in(&self, contents: &Contents) -> bool {
        contents.length(&self.file) == Some(self.bytes)
    }
}

/// The manifest of a finished pack: what was packed, and into which files.
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
    /// The plan, if the pack was made in parts; `None` if one run made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) plan: Option<Planned>,
}

impl Manifest {
    /// Returns those of the source's sample indices `range` whose samples were packed, not skipped.
    pub(super) fn packed(&self, range: Range<usize>) -> Vec<usize> {
        let skipped: HashSet<usize> = self.skipped.iter().map(|skipped| skipped.skipped).collect();
        range.filter(|index| !skipped.contains(index)).collect()
    }

    /// Returns the names of tar files, among the file names `names`, that a reader of the folder would take for shards
    /// although this pack did not write them. The result is sorted.
    pub(super) fn strangers(&self, names: impl IntoIterator<Item = String>) -> Vec<String> {
        let own: HashSet<&str> = self.shards.iter().map(|shard| &*shard.file).collect();
        let tar = names.into_iter().filter(|name| name.ends_with(".tar") && !name.starts_with('.'));
        let mut strange: Vec<_> = tar.filter(|name| !own.contains(&**name)).collect();
        strange.sort_unstable();
        strange
    }

    /// Writes the manifest, then removes the file that marks an unfinished pack. After that the folder can be opened as
    /// a data set.
    pub(super) fn finish(&self, folder: &Folder) -> Result<()> {
        let text = serde_json::to_vec_pretty(self).map_err(unwritten)?;
        folder.write(MANIFEST, &text).map_err(permitted)?;
        folder.remove(UNFINISHED).map_err(permitted)
    }

    /// Returns true if the pack's files exist in the folder, and its shards have the lengths that were recorded.
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

/// Makes the error for a value that JSON cannot hold.
fn unwritten(error: serde_json::Error) -> Error {
    Error::pack(MANIFEST, error.to_string())
}

/// Makes the error for a file whose content is not what a pack writes there.
fn wrong(folder: &Folder, name: &str, error: &serde_json::Error) -> Error {
    Error::pack(folder.path(name), format!("{error}; remove the folder, or pack elsewhere"))
}

/// Reads a JSON file in the folder; `None` if the file does not exist.
pub(super) fn read_json<T: for<'a> Deserialize<'a>>(folder: &Folder, name: &str) -> Result<Option<T>> {
    let bytes = folder.read(name).map_err(permitted)?;
    bytes.map(|bytes| serde_json::from_slice(&bytes).map_err(|error| wrong(folder, name, &error))).transpose()
}

/// What the folder to pack into holds: a complete pack, or the beginning of one, which may be empty.
pub(super) enum Found {
    Whole(Box<Manifest>),
    Part(Progress),
}

/// Finds out what the folder to pack into holds. If `verify` is true, a complete pack is accepted even if its source
/// has changed since it was packed.
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
            // A pack that was made in parts cannot be completed by one run: the names of that run's shards would not be
            // sorted in the right places among the names of the parts' shards.
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

/// Makes the error for planning to pack in parts into a folder in which one run has begun to pack everything.
pub(super) fn begun_without_plan(folder: &Folder) -> Error {
    there(folder, Reason::new("there is an unfinished pack of one run").advise(PACK_WITHOUT_PLAN))
}

/// Checks that a new pack can be written into the folder.
///
/// # Errors
/// If the folder holds files that readers would take for a part of the pack.
pub(super) fn refuse_strangers(folder: &Folder) -> Result<()> {
    for name in folder.names().map_err(permitted)? {
        let data = ["data.mdb", ".data.mdb.part"].contains(&&*name);
        // Readers would prefer a `classes.txt` to the `classes.json` that the pack writes.
        if (name.ends_with(".tar") && !name.starts_with('.')) || name == "classes.txt" || data {
            return Err(occupied(folder, &format!("{name}, of which nothing is known")));
        }
    }
    Ok(())
}

/// The content of the file that marks an unfinished pack, if the pack is made in parts. Otherwise that file is the
/// journal.
#[derive(Serialize, Deserialize)]
struct Mark {
    parts: usize,
}

/// Returns the number of parts if the folder holds an unfinished pack that is made in parts, else `None`.
pub(super) fn parts_planned(folder: &Folder) -> Option<usize> {
    let text = folder.read(UNFINISHED).ok()??;
    serde_json::from_slice::<Mark>(&text).ok().map(|mark| mark.parts)
}

/// Marks the folder as an unfinished pack in parts, which only joining the parts turns into a data set.
pub(super) fn mark_planned(folder: &Folder, parts: usize) -> Result<()> {
    let text = serde_json::to_vec(&Mark { parts }).map_err(unwritten)?;
    folder.write(UNFINISHED, &text).map_err(permitted)
}

/// Reads a journal: its first line (`None` if that line is incomplete), and the progress that the other lines record.
/// Returns `None` if the journal does not exist.
pub(super) fn read_journal<T: for<'a> Deserialize<'a>>(
    folder: &Folder,
    name: &str,
) -> Result<Option<(Option<T>, Progress)>> {
    let Some(text) = folder.read(name).map_err(permitted)? else { return Ok(None) };
    // Leaves out a last line without a line break: the process was killed while it wrote that line.
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

/// Returns a value as a line of a journal, which is JSON with a line break.
pub(super) fn line(what: &impl Serialize) -> Result<Vec<u8>> {
    let mut line = serde_json::to_vec(what).map_err(unwritten)?;
    line.push(b'\n');
    Ok(line)
}

/// Returns the text of a whole journal: `first` as the first line, then the lines of the progress.
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

/// Records the progress of packing where it outlives the process, so that a later run can continue.
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

/// The journal: a file that records each completed shard and each skipped sample. While it exists, the folder is not a
/// data set.
pub(super) struct Journal {
    folder: Folder,
    /// The file to which lines are added; `None` for a folder in a store, where an object can only be written as a
    /// whole.
    file: Option<File>,
    /// All lines so far. They are written again as a whole if the folder is in a store.
    text: Vec<u8>,
}

impl Journal {
    /// Writes the journal with the progress so far, and opens it to append lines.
    pub(super) fn open(folder: &Folder, job: &Job, progress: &Progress) -> Result<Journal> {
        // Writes the whole file again, so that no incomplete line of a killed process stays in it.
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
