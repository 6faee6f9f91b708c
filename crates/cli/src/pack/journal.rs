//! Records the progress of a pack: a journal while it is written, a manifest when it is complete.

use crate::dataset::NamedDataset;
use gpufeed::dataset::UNFINISHED;
use serde::{Deserialize, Serialize};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::Xxh3;

use super::arguments::To;
use super::input::fingerprint;
use super::recode::Recoding;

/// The name of a finished pack's manifest.
pub(super) const MANIFEST: &str = "gpufeed-pack.json";

/// The source and settings of a pack. Different packs have different jobs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Job {
    /// Number of samples in the source.
    pub(super) samples: usize,
    /// A hash of the samples' names and of the classes. Labels are left out, because hashing them would read all
    /// samples: editing a list between two runs mixes labels, which `--verify` finds.
    names: String,
    /// A hash of the sizes and times of the source's files.
    #[serde(default)]
    files: String,
    /// Version of the layout: it changes when the same samples and settings make a different pack.
    #[serde(default)]
    layout: u32,
    pub(super) to: To,
    pub(super) shard_bytes: u64,
    prefix: String,
    #[serde(flatten)]
    pub(super) recoding: Recoding,
}

/// The current layout, in which members have their samples' names.
const LAYOUT: u32 = 1;

/// The difference between two jobs.
enum Mismatch {
    /// Another source, version or settings, described for the error.
    Another(String),
    /// Only the source's files have changed.
    Changed,
}

impl Job {
    pub(super) fn new(
        source: &NamedDataset,
        path: &Path,
        (to, shard_bytes, prefix): (To, u64, &str),
        recoding: Recoding,
    ) -> Job {
        let mut hash = Xxh3::new();
        let data = &*source.data;
        let root = gpufeed::internals::shown_path(data.folder().unwrap_or(path)).display().to_string();
        for class in data.classes() {
            hash.update(class.as_bytes());
            hash.update(b"\0");
        }
        for index in 0..data.len() {
            // The source's folder is cut off, because its path may be written in several ways.
            let name = data.name(index);
            hash.update(name.strip_prefix(&root).unwrap_or(&name).trim_start_matches(['/', '\\']).as_bytes());
            hash.update(b"\0");
        }
        let names = format!("{:016x}", hash.digest());
        let (files, prefix) = (fingerprint(source), prefix.to_owned());
        Job { samples: data.len(), names, files, layout: LAYOUT, to, shard_bytes, prefix, recoding }
    }

    fn mismatch(&self, other: &Job) -> Option<Mismatch> {
        let Recoding { max_side, quality } = other.recoding;
        if (self.samples, &self.names) != (other.samples, &other.names) {
            return Some(Mismatch::Another(format!("another source ({} samples)", other.samples)));
        }
        if self.layout != other.layout {
            return Some(Mismatch::Another("another version of gpufeed".to_owned()));
        }
        if self == &(Job { files: self.files.clone(), ..other.clone() }) {
            return (self.files != other.files).then_some(Mismatch::Changed);
        }
        let side = max_side.map_or(String::new(), |side| format!(" --max-side {side}"));
        let quality = quality.map_or(String::new(), |quality| format!(" --quality {quality}"));
        let (to, bytes) = (other.to.name(), other.shard_bytes);
        Some(Mismatch::Another(format!(
            "other settings: --to {to} --shard-bytes {bytes} --prefix {}{side}{quality}",
            other.prefix
        )))
    }
}

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
    /// Returns the sample to continue with after `packed` packed ones. Samples skipped later are tried again.
    pub(super) fn resume_at(&mut self, packed: usize) -> usize {
        let mut next = packed;
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
    pub(super) fn is_in(&self, folder: &Path) -> bool {
        fs::metadata(folder.join(&self.file)).is_ok_and(|file| file.len() == self.bytes)
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
}

impl Manifest {
    /// Returns the source's indexes of the packed samples.
    pub(super) fn packed(&self) -> Vec<usize> {
        let skipped: std::collections::HashSet<usize> = self.skipped.iter().map(|skipped| skipped.skipped).collect();
        (0..self.job.samples).filter(|index| !skipped.contains(index)).collect()
    }

    /// Returns true if the files exist and have the same lengths.
    fn is_in(&self, folder: &Path) -> bool {
        match self.job.to {
            To::Tar => {
                let named = self.classes == 0 || folder.join("classes.json").exists();
                named && self.shards.iter().all(|shard| shard.is_in(folder))
            }
            #[cfg(feature = "lmdb")]
            To::Lmdb => folder.join("data.mdb").exists(),
        }
    }
}

/// Returns a function that adds the file's name to an error.
pub(super) fn failed(path: &Path) -> impl Fn(io::Error) -> String + '_ {
    |error| format!("{}: {error}", path.display())
}

fn read_json<T: for<'a> Deserialize<'a>>(path: &Path) -> Result<T, String> {
    let bytes = gpufeed::internals::regular_file::read(path).map_err(failed(path))?;
    serde_json::from_slice(&bytes)
        .map_err(|error| format!("{}: {error}; remove the folder, or pack elsewhere", path.display()))
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
pub(super) fn find(folder: &Path, job: &Job, verify: bool) -> Result<Found, String> {
    let there = |what: String| Err(format!("{}: there is {what}; remove it, or pack elsewhere", folder.display()));
    let changed = "of what the source was before its files changed (their sizes or times)";
    let unfinished = folder.join(UNFINISHED);
    if unfinished.exists() {
        let (known, progress) = read_journal(&unfinished)?;
        return match known.and_then(|known| job.mismatch(&known)) {
            Some(Mismatch::Another(what)) => there(format!("an unfinished pack of {what}")),
            Some(Mismatch::Changed) => there(format!("an unfinished pack {changed}")),
            None => Ok(Found::Part(progress)),
        };
    }
    let manifest = folder.join(MANIFEST);
    if manifest.exists() {
        let found: Manifest = read_json(&manifest)?;
        return match (job.mismatch(&found.job), found.is_in(folder)) {
            (Some(Mismatch::Another(what)), _) => there(format!("a pack of {what}")),
            (Some(Mismatch::Changed), true) if !verify => {
                there(format!("a pack {changed}: --verify says which samples differ"))
            }
            (Some(Mismatch::Changed), false) => there(format!("a pack {changed}, of which files are missing")),
            (_, true) => Ok(Found::Whole(Box::new(found))),
            (None, false) => Ok(Found::Part(Progress { shards: found.shards, skipped: found.skipped })),
        };
    }
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let data = ["data.mdb", ".data.mdb.part"].contains(&&*name);
        // A `classes.txt` would take precedence over the `classes.json` that is written.
        if (name.ends_with(".tar") && !name.starts_with('.')) || name == "classes.txt" || data {
            return there(format!("{name}, of which nothing is known"));
        }
    }
    Ok(Found::Part(Progress::default()))
}

/// Reads the progress, and the job if its line is complete.
fn read_journal(path: &Path) -> Result<(Option<Job>, Progress), String> {
    let text = gpufeed::internals::regular_file::read_to_string(path).map_err(failed(path))?;
    // A line without its end was being written when the process was killed.
    let mut lines = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
    let wrong = |error| format!("{}: {error}; remove the folder, or pack elsewhere", path.display());
    let job = lines.next().map(serde_json::from_str).transpose().map_err(wrong)?;
    let mut progress = Progress::default();
    for line in lines {
        match serde_json::from_str(line).map_err(wrong)? {
            Line::Shard(shard) => progress.shards.push(shard),
            Line::Skipped(skipped) => progress.skipped.push(skipped),
        }
    }
    Ok((job, progress))
}

/// The file that records each completed shard. While it exists, the folder is not a data set.
pub(super) struct Journal {
    path: PathBuf,
    file: File,
}

impl Journal {
    /// Writes the journal with the progress so far, and opens it to append.
    pub(super) fn open(folder: &Path, job: &Job, progress: &Progress) -> Result<Journal, String> {
        let path = folder.join(UNFINISHED);
        // Writes the whole file again, so that no incomplete line stays in it.
        let mut text = serde_json::to_vec(job).map_err(|error| error.to_string())?;
        let shards = progress.shards.iter().map(serde_json::to_vec);
        for line in shards.chain(progress.skipped.iter().map(serde_json::to_vec)) {
            text.push(b'\n');
            text.extend(line.map_err(|error| error.to_string())?);
        }
        text.push(b'\n');
        write_whole(&path, &text)?;
        let file = OpenOptions::new().append(true).open(&path).map_err(failed(&path))?;
        Ok(Journal { path, file })
    }

    pub(super) fn add(&mut self, shard: &Shard) -> Result<(), String> {
        self.line(shard)
    }

    pub(super) fn skip(&mut self, skipped: &Skipped) -> Result<(), String> {
        self.line(skipped)
    }

    fn line(&mut self, what: &impl Serialize) -> Result<(), String> {
        let mut line = serde_json::to_vec(what).map_err(|error| error.to_string())?;
        line.push(b'\n');
        self.file.write_all(&line).and_then(|()| self.file.sync_data()).map_err(failed(&self.path))
    }

    /// Writes the manifest and removes the journal, which makes the folder a data set.
    pub(super) fn finish(self, folder: &Path, manifest: &Manifest) -> Result<(), String> {
        let text = serde_json::to_vec_pretty(manifest).map_err(|error| error.to_string())?;
        write_whole(&folder.join(MANIFEST), &text)?;
        drop(self.file);
        fs::remove_file(&self.path).map_err(failed(&self.path))
    }
}

/// Keeps other runs out of a folder while it exists. The system releases the lock when the process ends in any way.
pub(super) struct Lock {
    path: PathBuf,
    _file: File,
}

impl Lock {
    pub(super) fn take(folder: &Path) -> Result<Lock, String> {
        let path = folder.join(".gpufeed-pack-lock");
        let file = File::create(&path).map_err(failed(&path))?;
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => Err(format!(
                "{}: another `gpufeed pack` is at work there; wait for its end, or pack elsewhere",
                folder.display()
            )),
            // Some file systems do not support locks.
            Ok(()) | Err(TryLockError::Error(_)) => Ok(Lock { path, _file: file }),
        }
    }

    /// Removes the file after all work. A run that waits with the old file open then finds the complete pack.
    pub(super) fn remove(self) {
        let _ = fs::remove_file(self.path);
    }
}

/// Writes a small file completely or not at all.
pub(super) fn write_whole(path: &Path, content: &[u8]) -> Result<(), String> {
    let part = part_of(path);
    let write = || {
        let mut file = File::create(&part)?;
        file.write_all(content)?;
        file.sync_all()?;
        fs::rename(&part, path)
    };
    write().map_err(failed(path))
}

/// Returns a file's temporary name.
pub(super) fn part_of(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{}.part", name.trim_start_matches('.')))
}
