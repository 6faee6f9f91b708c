//! Opens the files of a set: reads the heads of their indexes, and makes those that are missing.

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, PoisonError};
use std::thread::available_parallelism;

use parking_lot::Mutex;

use super::binding::Binding;
use super::entry::SEGMENT;
use super::in_use::InUse;
use super::index::{FOREIGN, Facts, Index};
use super::{Shard, ShardFormat, ShardIndexes, Shards, open_files};
use crate::dataset::data_file::DataFile;
use crate::error::{Error, ErrorKind, Result};
use crate::quote::Shown;

/// What is checked of all samples of a set, by the facts in the heads of the indexes.
pub(in crate::dataset) struct Checks<'a> {
    /// True if samples may have no label.
    pub(in crate::dataset) allow_unlabelled: bool,
    /// The names of the classes, or none.
    pub(in crate::dataset) classes: &'a [String],
}

/// What is wrong with a sample of the set.
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
        paths: Vec<PathBuf>,
        indexes: ShardIndexes,
        most: usize,
        hint: String,
    ) -> Result<(Shards<F>, Vec<String>)> {
        let mut names = HashSet::new();
        if let Some(twice) = paths.iter().find(|path| !names.insert(*path)) {
            return Err(Error::argument("shards", format!("{} is listed twice", twice.display())));
        }
        let Some(first) = paths.first() else {
            return Err(Error::argument("shards", "none are given"));
        };
        let what = match paths.len() {
            1 => first.display().to_string(),
            more => format!("{} and {} more", first.display(), more - 1),
        };
        drop(names);
        let mut set = Shards {
            format,
            indexes,
            files: Vec::new(),
            starts: Vec::new(),
            segments: Vec::new(),
            in_use: InUse::new(0, 0),
        };
        let (files, classes) = set.open_all(&paths)?;
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

    fn open_all(&self, paths: &[PathBuf]) -> Result<(Vec<Shard>, Vec<String>)> {
        let (held, threads) = open_files::share();
        let threads = available_parallelism().map_or(1, usize::from).min(threads).min(paths.len());
        let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
        let done = std::sync::Mutex::new(Vec::with_capacity(paths.len()));
        // Class names of all files would take much memory, so only those of the first one that has any are kept.
        let classes = std::sync::Mutex::new((usize::MAX, Vec::new()));
        let work = || {
            loop {
                let number = next.fetch_add(1, Relaxed);
                let Some(path) = paths.get(number).filter(|_| !failed.load(Relaxed)) else { break };
                let shard = self.open_one(path, number < held).map(|(file, mut index)| {
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

    fn open_one(&self, path: &Path, held: bool) -> Result<(DataFile, Index)> {
        let failed = |source| Error::io(path, source);
        let mut file = DataFile::open(path).map_err(failed)?;
        let binding = Binding::of(&file, self.format.settings()).map_err(failed)?;
        let index = self.indexes.path(path).and_then(|stored| {
            Index::load(&stored, &binding).unwrap_or_else(|error| {
                tracing::warn!(path = %Shown(stored.display()), %error, "the index of a file of samples is made again");
                None
            })
        });
        let index = match index {
            Some(index) => index,
            None => self.scan(&file, binding)?,
        };
        if !held {
            file.close();
        }
        Ok((file, index))
    }

    /// Scans a file, and stores its index if that is possible.
    fn scan(&self, file: &DataFile, binding: Binding) -> Result<Index> {
        let path = file.name();
        let failed = |source| Error::io(path, source);
        let bytes = self.format.scan(file)?.finish(&binding);
        if Binding::of(file, self.format.settings()).map_err(failed)? != binding {
            return Err(failed(io::Error::other("it was changed while it was indexed")));
        }
        if let Some(stored) = self.indexes.path(path) {
            // A file of another kind stays as it is.
            let ours = !matches!(Index::load(&stored, &binding), Err(error) if error.kind() == FOREIGN);
            let saved = if ours { bytes.save(&stored) } else { Err(FOREIGN.into()) };
            match saved.and_then(|()| Index::load(&stored, &binding)) {
                Ok(Some(index)) => return Ok(index),
                Ok(None) => {}
                Err(error) => {
                    let then =
                        "the index of a file of samples stays in memory; ShardIndexes::Folder stores it elsewhere";
                    tracing::warn!(path = %Shown(stored.display()), %error, "{then}");
                }
            }
        }
        Index::in_memory(bytes).ok_or_else(|| failed(io::Error::other("its index cannot be read back")))
    }

    /// Makes the index of a file again, which has to have as many samples as before.
    pub(super) fn scan_again(&self, file: &DataFile, before: &Index) -> Result<Index> {
        tracing::warn!(path = %Shown(file.name().display()), "a damaged index of a file of samples is made again");
        let binding = Binding::of(file, self.format.settings()).map_err(|source| Error::io(file.name(), source))?;
        let mut index = self.scan(file, binding)?;
        index.classes = Vec::new();
        match index.samples == before.samples && index.length == before.length {
            true => Ok(index),
            false => Err(super::changed(file.name())),
        }
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
