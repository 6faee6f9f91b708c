//! Records the progress of a pack: a journal while it is written, a manifest when it is complete.

use super::out_folder::{failed, told};
use gpufeed::dataset::UNFINISHED;
use gpufeed::storage::{Contents, Folder};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::ops::Range;

use super::arguments::To;
use super::input;
use super::job::{Job, Mismatch};

/// The name of a finished pack's manifest.
pub(super) const MANIFEST: &str = "gpufeed-pack.json";

/// A sample that could not be read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Skipped {
    /// Its index in the source.
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

/// The shards that were completed, and the samples that were skipped. A shard's file may have changed since.
#[derive(Debug, Default)]
pub(super) struct Progress {
    pub(super) shards: Vec<Shard>,
    /// In the order of the source.
    pub(super) skipped: Vec<Skipped>,
}

impl Progress {
    /// Returns the sample to continue with after `packed` packed ones from `first` on. Samples skipped later are tried
    /// again.
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
    /// The index of its first sample in the pack.
    pub(super) first: usize,
    pub(super) samples: usize,
    pub(super) bytes: u64,
    /// The hash of its content, in hexadecimal digits.
    pub(super) xxh3: String,
}

impl Shard {
    /// Returns true if its file exists and has the same length.
    pub(super) fn is_in(&self, contents: &Contents) -> bool {
        contents.length(&self.file) == Some(self.bytes)
    }
}

/// A finished pack.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Manifest {
    /// The version of gpufeed that wrote it.
    pub(super) gpufeed: String,
    pub(super) job: Job,
    pub(super) classes: usize,
    pub(super) shards: Vec<Shard>,
    /// The source's samples that could not be read.
    #[serde(default)]
    pub(super) skipped: Vec<Skipped>,
    /// The plan by which it was packed in parts.
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
    pub(super) split: input::Part,
}

impl Manifest {
    /// Returns the source's indexes of the packed samples, of those in `range`.
    pub(super) fn packed(&self, range: Range<usize>) -> Vec<usize> {
        let skipped: HashSet<usize> = self.skipped.iter().map(|skipped| skipped.skipped).collect();
        range.filter(|index| !skipped.contains(index)).collect()
    }

    /// Returns those of the folder's files that readers would take for shards and that are none of this pack, sorted.
    pub(super) fn strangers(&self, names: impl IntoIterator<Item = String>) -> Vec<String> {
        let own: HashSet<&str> = self.shards.iter().map(|shard| &*shard.file).collect();
        let tar = names.into_iter().filter(|name| name.ends_with(".tar") && !name.starts_with('.'));
        let mut strange: Vec<_> = tar.filter(|name| !own.contains(&**name)).collect();
        strange.sort_unstable();
        strange
    }

    /// Writes it and removes the mark of an unfinished pack, which makes the folder a data set.
    pub(super) fn finish(&self, folder: &Folder) -> Result<(), String> {
        let text = serde_json::to_vec_pretty(self).map_err(|error| error.to_string())?;
        folder.write(MANIFEST, &text).map_err(told)?;
        folder.remove(UNFINISHED).map_err(told)
    }

    /// Returns true if the files exist and have the same lengths.
    pub(super) fn is_in(&self, contents: &Contents) -> bool {
        match self.job.to {
            To::Tar => {
                let named = self.classes == 0 || contents.has("classes.json");
                named && self.shards.iter().all(|shard| shard.is_in(contents))
            }
            #[cfg(feature = "lmdb")]
            To::Lmdb => contents.has("data.mdb"),
        }
    }
}

/// Reads a file of JSON; `None` if there is none.
pub(super) fn read_json<T: for<'a> Deserialize<'a>>(folder: &Folder, name: &str) -> Result<Option<T>, String> {
    let wrong = |error| format!("{}: {error}; remove the folder, or pack elsewhere", folder.path(name).display());
    folder.read(name).map_err(told)?.map(|bytes| serde_json::from_slice(&bytes)).transpose().map_err(wrong)
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
pub(super) fn find(folder: &Folder, job: &Job, verify: bool) -> Result<Found, String> {
    let out = folder.path("");
    let there = |what: String| Err(format!("{}: there is {what}; remove it, or pack elsewhere", out.display()));
    let changed = "of what the source was before its files changed (their sizes or times)";
    let contents = folder.contents().map_err(told)?;
    if contents.has(UNFINISHED) {
        if let Some(parts) = parts_planned(folder) {
            return there(format!(
                "a pack in {parts} parts that is not finished (--part does one of them, --join makes the data set)"
            ));
        }
        let (known, progress) = read_journal::<Job>(folder, UNFINISHED)?.unwrap_or_default();
        return match known.and_then(|known| job.mismatch(&known)) {
            Some(Mismatch::Another(what)) => there(format!("an unfinished pack of {what}")),
            Some(Mismatch::Changed) => there(format!("an unfinished pack {changed}")),
            None => Ok(Found::Part(progress)),
        };
    }
    if let Some(found) = read_json::<Manifest>(folder, MANIFEST)? {
        return match (job.mismatch(&found.job), found.is_in(&contents)) {
            (Some(Mismatch::Another(what)), _) => there(format!("a pack of {what}")),
            (Some(Mismatch::Changed), true) if !verify => {
                there(format!("a pack {changed}: --verify says which samples differ"))
            }
            (Some(Mismatch::Changed), false) => there(format!("a pack {changed}, of which files are missing")),
            (_, true) => Ok(Found::Whole(Box::new(found))),
            // One run would give its shards names that are sorted before those of parts.
            (None, false) if found.plan.is_some() => {
                let lost = found.shards.iter().find(|shard| !shard.is_in(&contents)).map(|shard| &*shard.file);
                let lost = lost.unwrap_or("classes.json");
                there(format!("a pack made in parts, of which {lost} is missing or has another length"))
            }
            (None, false) => Ok(Found::Part(Progress { shards: found.shards, skipped: found.skipped })),
        };
    }
    refuse_strangers(folder)?;
    Ok(Found::Part(Progress::default()))
}

/// # Errors
/// If the folder holds files that readers would take for a part of the pack.
pub(super) fn refuse_strangers(folder: &Folder) -> Result<(), String> {
    for name in folder.names().map_err(told)? {
        let data = ["data.mdb", ".data.mdb.part"].contains(&&*name);
        // A `classes.txt` would take precedence over the `classes.json` that is written.
        if (name.ends_with(".tar") && !name.starts_with('.')) || name == "classes.txt" || data {
            return Err(format!(
                "{}: there is {name}, of which nothing is known; remove it, or pack elsewhere",
                folder.path("").display()
            ));
        }
    }
    Ok(())
}

/// The mark of a folder that is packed in parts, in the place of a journal.
#[derive(Serialize, Deserialize)]
struct Mark {
    parts: usize,
}

/// Returns the number of parts if the mark of an unfinished pack says that it is packed in parts.
pub(super) fn parts_planned(folder: &Folder) -> Option<usize> {
    let text = folder.read(UNFINISHED).ok()??;
    serde_json::from_slice::<Mark>(&text).ok().map(|mark| mark.parts)
}

/// Marks a folder that is packed in parts, which a join has to make a data set of.
pub(super) fn mark_planned(folder: &Folder, parts: usize) -> Result<(), String> {
    let text = serde_json::to_vec(&Mark { parts }).map_err(|error| error.to_string())?;
    folder.write(UNFINISHED, &text).map_err(told)
}

/// Reads a journal: its first line if that is complete, and the progress. `None` if the journal does not exist.
pub(super) fn read_journal<T: for<'a> Deserialize<'a>>(
    folder: &Folder,
    name: &str,
) -> Result<Option<(Option<T>, Progress)>, String> {
    let Some(text) = folder.read(name).map_err(told)? else { return Ok(None) };
    // A line without its end was being written when the process was killed.
    let mut lines = text.split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\n"));
    let wrong = |error| format!("{}: {error}; remove the folder, or pack elsewhere", folder.path(name).display());
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
pub(super) fn line(what: &impl Serialize) -> Result<Vec<u8>, String> {
    let mut line = serde_json::to_vec(what).map_err(|error| error.to_string())?;
    line.push(b'\n');
    Ok(line)
}

/// Returns a whole journal with this first line.
pub(super) fn journal_text(first: &impl Serialize, progress: &Progress) -> Result<Vec<u8>, String> {
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
    fn add(&mut self, shard: &Shard) -> Result<(), String>;
    fn skip(&mut self, skipped: &Skipped) -> Result<(), String>;
}

impl Record for Journal {
    fn add(&mut self, shard: &Shard) -> Result<(), String> {
        self.line(shard)
    }

    fn skip(&mut self, skipped: &Skipped) -> Result<(), String> {
        self.line(skipped)
    }
}

/// The file that records each completed shard. While it exists, the folder is not a data set.
pub(super) struct Journal {
    folder: Folder,
    /// The file, which lines are added to; none in a store, whose objects are written as a whole.
    file: Option<File>,
    /// The lines so far, for a store.
    text: Vec<u8>,
}

impl Journal {
    /// Writes the journal with the progress so far, and opens it to append.
    pub(super) fn open(folder: &Folder, job: &Job, progress: &Progress) -> Result<Journal, String> {
        // Writes the whole file again, so that no incomplete line stays in it.
        let text = journal_text(job, progress)?;
        folder.write(UNFINISHED, &text).map_err(told)?;
        let path = folder.path(UNFINISHED);
        let open = || OpenOptions::new().append(true).open(&path).map_err(failed(&path));
        let file = (!folder.is_in_store()).then(open).transpose()?;
        Ok(Journal { folder: folder.clone(), file, text })
    }

    fn line(&mut self, what: &impl Serialize) -> Result<(), String> {
        let line = line(what)?;
        match &mut self.file {
            Some(file) => {
                let written = file.write_all(&line).and_then(|()| file.sync_data());
                written.map_err(failed(&self.folder.path(UNFINISHED)))
            }
            None => {
                self.text.extend(line);
                self.folder.write(UNFINISHED, &self.text).map_err(told)
            }
        }
    }

    /// Writes the manifest and removes the journal, which makes the folder a data set.
    pub(super) fn finish(self, manifest: &Manifest) -> Result<(), String> {
        drop(self.file);
        manifest.finish(&self.folder)
    }
}
