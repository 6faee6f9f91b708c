//! Opens the files of a set: all at once, or each when one of its samples is read.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, OnceLock, PoisonError};
use std::thread::available_parallelism;

use parking_lot::Mutex;

use super::counts::SampleCounts;
use super::entry::SEGMENT;
use super::files::FileList;
use super::in_use::InUse;
use super::index::Index;
use super::{Settings, Shard, ShardFormat, Shards, open_files};
use crate::dataset::{Notice, class_names};
use crate::error::{Error, ErrorKind, Result};
use crate::storage::file::DataFile;
use crate::storage::local::atomic_file::folder_of;

/// The most objects that are opened at once.
const REQUESTS: usize = 32;

impl<F: ShardFormat> Shards<F> {
    /// Opens and indexes these files, several at a time. With `counts`, opens none of them yet.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`] if none is given, or one twice; [`ErrorKind::EmptyDataset`], with `hint`, if they have
    /// no samples; the errors of files that cannot be read, and of the format's scan.
    pub(in crate::dataset) fn open(format: F, files: FileList, settings: Settings, hint: String) -> Result<Shards<F>> {
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
        let counts =
            settings.counts.as_ref().map(|json| SampleCounts::read(json, &files, &settings.remote)).transpose()?;
        let shard = |name: PathBuf| Shard {
            name: name.into(),
            file: OnceLock::new(),
            index: Mutex::default(),
            refused: OnceLock::new(),
            uncompared: Mutex::default(),
            noticed: OnceLock::new(),
        };
        let shards: Vec<Shard> = files.names().into_iter().map(shard).collect();
        let mut set = Shards {
            format,
            settings,
            listed: files,
            counts,
            checks: None,
            texts: OnceLock::new(),
            warned: AtomicBool::new(false),
            unopened: AtomicUsize::new(shards.len()),
            files: shards,
            starts: Vec::new(),
            segments: Vec::new(),
            in_use: InUse::new(0, 0),
            own_classes: Mutex::new((usize::MAX, Vec::new())),
            first_names: OnceLock::new(),
            uncompared: AtomicBool::new(false),
            spool: OnceLock::new(),
        };
        if set.counts.is_none() {
            set.open_these(&(0..set.files.len()).collect::<Vec<_>>())?;
        }
        let (mut len, mut segments) = (0_usize, 0);
        for shard in &set.files {
            let samples = match (&set.counts, &*shard.index.lock()) {
                (Some(counts), _) => counts.of(&shard.name.to_string_lossy())?,
                (None, index) => index.as_ref().map_or(0, |index| index.samples),
            };
            set.starts.push(len);
            set.segments.push(segments);
            let too_many = || Error::argument("counts", "there are more samples than this machine can count");
            len = len.checked_add(samples).filter(|len| *len <= isize::MAX as usize).ok_or_else(too_many)?;
            segments += samples.div_ceil(SEGMENT);
        }
        set.starts.push(len);
        set.in_use = InUse::new(segments, set.settings.index_memory);
        if len == 0 {
            let unread = set.notices(0).into_iter().filter(|notice| matches!(notice, Notice::NotRead { .. }));
            let hint = unread.fold(hint, |hint, notice| format!("{hint}; {notice}"));
            return Err(ErrorKind::EmptyDataset { what, hint }.into());
        }
        Ok(set)
    }

    /// Returns a file and its index. Opens the file if it is not open.
    ///
    /// # Errors
    /// A file that cannot be read; the errors of the format's scan; another number of samples than `counts` says; labels
    /// with a fault.
    pub(super) fn opened(&self, number: usize) -> Result<(&DataFile, Arc<Index>)> {
        let shard = &self.files[number];
        let mut index = shard.index.lock();
        if let (Some(file), Some(index)) = (shard.file.get(), &*index) {
            return Ok((file, Arc::clone(index)));
        }
        if let Some(refused) = shard.refused.get() {
            self.check_found(number, refused)?;
        }
        let (held, _) = open_files::share();
        let file = self.listed.open(number)?;
        let (file, mut found) = self.open_one(file, number < held)?;
        if let Err(error) = self.check_found(number, &found) {
            let _ = shard.refused.set(found);
            return Err(error);
        }
        // Takes the names out of the index, because the names in all files would take much memory.
        let classes = std::mem::take(&mut found.classes);
        let mut own = self.own_classes.lock();
        if number < own.0 && !classes.is_empty() {
            *own = (number, classes);
        }
        drop(own);
        let noticed = std::mem::take(&mut found.noticed);
        self.warn_late(&shard.name, &self.without_fields(&noticed, found.members.as_ref()));
        let _ = shard.noticed.set(noticed);
        let found = Arc::new(found);
        *index = Some(Arc::clone(&found));
        self.unopened.fetch_sub(1, Relaxed);
        Ok((shard.file.get_or_init(|| file), found))
    }

    fn check_found(&self, number: usize, found: &Index) -> Result<()> {
        if let Some(counts) = &self.counts {
            if number == 0 {
                // The names of this file decide for the others, even if it has a wrong number of samples itself.
                self.first_names.get_or_init(|| found.classes.clone());
                if self.checks.is_some() {
                    self.decide_texts(number, &found.facts)?;
                }
            }
            counts.check(&self.files[number].name, found.samples)?;
            self.compare_late(number, found)?;
        }
        self.check_one(number, found)
    }

    /// Opens these files, several at a time.
    pub(super) fn open_these(&self, numbers: &[usize]) -> Result<()> {
        let (_, threads) = open_files::share();
        // Threads that open objects spend more time waiting for answers than computing.
        let most =
            if self.is_remote() { REQUESTS } else { available_parallelism().map_or(1, usize::from).min(threads) };
        let threads = most.min(numbers.len());
        let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
        let errors = std::sync::Mutex::new(Vec::new());
        let work = || {
            while !failed.load(Relaxed)
                && let Some(number) = numbers.get(next.fetch_add(1, Relaxed))
            {
                if let Err(error) = self.opened(*number) {
                    failed.store(true, Relaxed);
                    errors.lock().unwrap_or_else(PoisonError::into_inner).push((*number, error));
                }
            }
        };
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
            let ends = threads.into_iter().map(|thread| thread.join());
            ends.map(|end| end.map_err(|payload| Error::panic("index", payload.as_ref()))).collect::<Result<Vec<()>>>()
        })?;
        let mut errors = errors.into_inner().unwrap_or_else(PoisonError::into_inner);
        errors.sort_unstable_by_key(|(number, _)| *number);
        errors.into_iter().next().map_or(Ok(()), |(_, error)| Err(error))
    }

    /// Returns the class names in the first file that has any. With the setting `counts` only the first file is opened for
    /// this, so there are none if that file has none.
    ///
    /// # Errors
    /// The errors of opening the first file.
    pub(in crate::dataset) fn own_classes(&self) -> Result<Vec<String>> {
        if self.unopened.load(Relaxed) == self.files.len() {
            self.opened(0)?;
        }
        Ok(std::mem::take(&mut self.own_classes.lock().1))
    }

    /// Returns the folder of the first file, if it is on this machine.
    pub(in crate::dataset) fn folder(&self) -> Option<PathBuf> {
        let first = self.files.first().filter(|_| !self.is_remote())?;
        Some(folder_of(first.name()).to_owned())
    }

    /// Reads the class names in a `classes.txt` or `classes.json` beside the first file; none if there is neither.
    pub(in crate::dataset) fn class_names_beside(&self) -> Result<Vec<String>> {
        if let Some((remote, first)) = self.listed.first_address() {
            return super::beside::class_names(remote, first);
        }
        self.folder().map_or(Ok(Vec::new()), |folder| class_names::beside(&folder))
    }
}
