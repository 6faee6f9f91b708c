//! Opens the files of a set: reads the heads of their indexes, and makes those that are missing.

use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, PoisonError};
use std::thread::available_parallelism;

use parking_lot::Mutex;

use super::binding::Binding;
use super::entry::SEGMENT;
use super::files::Files;
use super::in_use::InUse;
use super::index::{FOREIGN, Facts, Index, IndexBytes};
use super::{Shard, ShardFormat, ShardIndexes, Shards, open_files};
use crate::atomic_file::folder_of;
use crate::dataset::class_names;
use crate::dataset::data_file::DataFile;
use crate::error::{Error, ErrorKind, Result};
use crate::quote::Shown;

/// Most objects that are opened at once.
const REQUESTS: usize = 32;

/// Where indexes are stored, and how much of them is in memory.
#[derive(Clone, Debug)]
pub(in crate::dataset) struct Settings {
    pub(in crate::dataset) indexes: ShardIndexes,
    /// Bytes of memory for the parts in use.
    pub(in crate::dataset) memory: usize,
    /// True to write the indexes that are missing beside objects.
    #[cfg_attr(not(feature = "remote"), allow(dead_code, reason = "there are no objects"))]
    pub(in crate::dataset) put_indexes: bool,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { indexes: ShardIndexes::default(), memory: super::INDEX_MEMORY, put_indexes: false }
    }
}

/// The checks of all samples of a set, by the facts in the heads of the indexes.
pub(in crate::dataset) struct Checks<'a> {
    /// True if samples may have no label.
    pub(in crate::dataset) allow_unlabelled: bool,
    /// The names of the classes, or none.
    pub(in crate::dataset) classes: &'a [String],
}

/// The fault of a sample of the set.
pub(in crate::dataset) enum Wrong {
    /// It has no label.
    Unlabelled,
    /// Its class has no name.
    Class(u32),
}

impl<F: ShardFormat> Shards<F> {
    /// Opens and indexes these files, several at a time. Returns the class names of the first file that has any, too.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`] if none is given, or one twice; [`ErrorKind::EmptyDataset`], with `hint`, if they have
    /// no samples; the errors of files that cannot be read, and of the format's scan.
    pub(in crate::dataset) fn open(
        format: F,
        files: Files,
        settings: Settings,
        hint: String,
    ) -> Result<(Shards<F>, Vec<String>)> {
        if let Some(twice) = files.twice() {
            return Err(Error::argument("shards", format!("{twice} is listed twice")));
        }
        let Some(first) = files.name(0) else {
            return Err(Error::argument("shards", "none are given"));
        };
        let what = match files.len() {
            1 => first,
            more => format!("{first} and {} more", more - 1),
        };
        let most = settings.memory;
        let mut set = Shards {
            format,
            settings,
            files: Vec::new(),
            starts: Vec::new(),
            segments: Vec::new(),
            in_use: InUse::new(0, 0),
        };
        let (files, classes) = set.open_all(&files)?;
        let (mut len, mut segments) = (0, 0);
        for shard in &files {
            let samples = shard.index.lock().samples;
            set.starts.push(len);
            set.segments.push(segments);
            len += samples;
            segments += samples.div_ceil(SEGMENT);
        }
        set.starts.push(len);
        set.files = files;
        set.in_use = InUse::new(segments, most);
        if len == 0 {
            return Err(ErrorKind::EmptyDataset { what, hint }.into());
        }
        Ok((set, classes))
    }

    fn open_all(&self, files: &Files) -> Result<(Vec<Shard>, Vec<String>)> {
        let (held, threads) = open_files::share();
        // Threads that open objects wait for answers more than they compute.
        let most =
            if files.are_remote() { REQUESTS } else { available_parallelism().map_or(1, usize::from).min(threads) };
        let threads = most.min(files.len());
        let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
        let done = std::sync::Mutex::new(Vec::with_capacity(files.len()));
        // Class names of all files would take much memory, so only those of the first one that has any are kept.
        let classes = std::sync::Mutex::new((usize::MAX, Vec::new()));
        let work = || {
            loop {
                let number = next.fetch_add(1, Relaxed);
                if number >= files.len() || failed.load(Relaxed) {
                    break;
                }
                let opened = files.open(number).and_then(|file| self.open_one(file, number < held));
                let shard = opened.map(|(file, mut index)| {
                    let mut first = classes.lock().unwrap_or_else(PoisonError::into_inner);
                    let own = std::mem::take(&mut index.classes);
                    if number < first.0 && !own.is_empty() {
                        *first = (number, own);
                    }
                    Shard { file, index: Mutex::new(Arc::new(index)) }
                });
                failed.fetch_or(shard.is_err(), Relaxed);
                done.lock().unwrap_or_else(PoisonError::into_inner).push((number, shard));
            }
        };
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
            let ends = threads.into_iter().map(|thread| thread.join());
            ends.map(|end| end.map_err(|payload| Error::panic("index", payload.as_ref()))).collect::<Result<Vec<()>>>()
        })?;
        let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
        done.sort_unstable_by_key(|(number, _)| *number);
        let files = done.into_iter().map(|(_, shard)| shard).collect::<Result<Vec<_>>>()?;
        Ok((files, classes.into_inner().unwrap_or_else(PoisonError::into_inner).1))
    }

    fn open_one(&self, mut file: DataFile, held: bool) -> Result<(DataFile, Index)> {
        let binding = self.binding(&file)?;
        let stored = self.stored(&file);
        let index = stored.as_deref().and_then(|stored| {
            Index::load(stored, &binding).unwrap_or_else(|error| {
                tracing::warn!(path = %Shown(stored.display()), %error, "the index of a file of samples is made again");
                None
            })
        });
        #[cfg(feature = "remote")]
        let index = match (index, file.object()) {
            (Some(index), Some(object)) if self.settings.put_indexes => {
                let beside = super::beside::Beside::of(object);
                if !beside.is_there(&binding)? {
                    let bytes = stored.as_deref().map(crate::regular_file::read).transpose();
                    let bytes = bytes.map_err(|source| Error::io(file.name(), source))?;
                    beside.put(bytes.unwrap_or_default())?;
                }
                Some(index)
            }
            (None, Some(object)) => match super::beside::Beside::of(object).get(&binding)? {
                Some(bytes) => self.kept(&file, &binding, bytes),
                None => None,
            },
            (index, _) => index,
        };
        let index = match index {
            Some(index) => index,
            None => self.scan(&file, binding)?,
        };
        if !held {
            file.close();
        }
        Ok((file, index))
    }

    fn binding(&self, file: &DataFile) -> Result<Binding> {
        Binding::of(file, self.format.settings()).map_err(|source| Error::io(file.name(), source))
    }

    /// Returns where the index of a file is stored on this machine.
    fn stored(&self, file: &DataFile) -> Option<PathBuf> {
        #[cfg(feature = "remote")]
        if let Some(object) = file.object() {
            let cache = object.remote().cache().map(|(folder, _)| folder);
            return self.settings.indexes.path(file.name(), Some(cache.as_deref()));
        }
        self.settings.indexes.path(file.name(), None)
    }

    /// Scans a file, and stores its index if that is possible.
    fn scan(&self, file: &DataFile, binding: Binding) -> Result<Index> {
        let for_a_scan = file.for_a_scan();
        let bytes = self.format.scan(for_a_scan.as_ref().unwrap_or(file))?.finish(&binding);
        if self.binding(file)? != binding {
            return Err(Error::io(file.name(), io::Error::other("it was changed while it was indexed")));
        }
        #[cfg(feature = "remote")]
        if let Some(object) = file.object().filter(|_| self.settings.put_indexes) {
            super::beside::Beside::of(object).put(bytes.whole())?;
        }
        let index = self.kept(file, &binding, bytes);
        index.ok_or_else(|| Error::io(file.name(), io::Error::other("its index cannot be read back")))
    }

    /// Stores an index on this machine if that is possible, and else keeps it in memory.
    fn kept(&self, file: &DataFile, binding: &Binding, bytes: IndexBytes) -> Option<Index> {
        if let Some(stored) = self.stored(file) {
            // A file of another kind stays as it is.
            let ours = !matches!(Index::load(&stored, binding), Err(error) if error.kind() == FOREIGN);
            if file.for_a_scan().is_some() {
                // The folder of a cache may be new; that of other files has to exist.
                let _ = stored.parent().map(std::fs::create_dir_all);
            }
            let saved = if ours { bytes.save(&stored) } else { Err(FOREIGN.into()) };
            match saved.and_then(|()| Index::load(&stored, binding)) {
                Ok(Some(index)) => return Some(index),
                Ok(None) => {}
                Err(error) => {
                    let then =
                        "the index of a file of samples stays in memory; ShardIndexes::Folder stores it elsewhere";
                    tracing::warn!(path = %Shown(stored.display()), %error, "{then}");
                }
            }
        }
        Index::in_memory(bytes)
    }

    /// Makes the index of a file again, which has to have as many samples as before.
    pub(super) fn scan_again(&self, file: &DataFile, before: &Index) -> Result<Index> {
        tracing::warn!(path = %Shown(file.name().display()), "a damaged index of a file of samples is made again");
        let binding = self.binding(file)?;
        let mut index = self.scan(file, binding)?;
        index.classes = Vec::new();
        match index.samples == before.samples && index.length == before.length {
            true => Ok(index),
            false => Err(super::changed(file.name())),
        }
    }

    /// Returns the folder of the first file, if it is on this machine.
    pub(in crate::dataset) fn folder(&self) -> Option<PathBuf> {
        let first = self.files.first().filter(|_| !self.is_remote())?;
        Some(folder_of(first.file.name()).to_owned())
    }

    /// Reads the class names in a `classes.txt` or `classes.json` beside the first file; none if there is neither.
    pub(in crate::dataset) fn class_names_beside(&self) -> Result<Vec<String>> {
        #[cfg(feature = "remote")]
        if let Some(object) = self.files.first().and_then(|shard| shard.file.object()) {
            return super::beside::class_names(object);
        }
        self.folder().map_or(Ok(Vec::new()), |folder| class_names::beside(&folder))
    }

    /// Checks the labels of all samples. Returns the first sample that is wrong: its file's number, its number there,
    /// and what is wrong.
    pub(in crate::dataset) fn check(&self, checks: &Checks<'_>) -> Option<(usize, usize, Wrong)> {
        self.files.iter().enumerate().find_map(|(number, shard)| {
            let Facts { unlabelled, first_unlabelled, classes, largest } = shard.index.lock().facts;
            let no_label =
                (unlabelled > 0 && !checks.allow_unlabelled).then_some((first_unlabelled, Wrong::Unlabelled));
            let named = checks.classes.is_empty() || classes <= checks.classes.len() as u64;
            let no_name = (!named).then(|| (largest, Wrong::Class((classes - 1) as u32)));
            let (sample, wrong) = no_label.or(no_name)?;
            Some((number, sample as usize, wrong))
        })
    }

    /// Returns the index of a sample in the set.
    pub(in crate::dataset) fn index_of(&self, file: usize, sample: usize) -> usize {
        self.starts[file] + sample
    }
}
