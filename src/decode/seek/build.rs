//! Builds the seek indexes of a whole data set before its first epoch.

use super::file::{self, IndexFile};
use super::{SeekIndexes, SeekStore, lock, unpoisoned, write};
use crate::advice::{self, Reason};
use crate::decode::{self, DecodeOptions, ImageFormat};
use crate::error::{Error, Result};
use crate::storage::local::atomic_file;
use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Interval of saves: the work that a killed process may lose.
const SAVED_EVERY: Duration = Duration::from_secs(2);
/// Longest wait of the last save for other writers.
const LAST_SAVE: Duration = Duration::from_secs(60);
/// Records that have this many bytes together are saved at once.
const MEMORY: u64 = 256 << 20;

/// The result of [`SeekIndexes::build`] or [`SeekIndexes::prune`].
///
/// ```no_run
/// use gpufeed::ImageFolder;
/// use gpufeed::decode::SeekIndexes;
///
/// let data = ImageFolder::open("imagenet/train")?;
/// let summary = SeekIndexes::Beside.build(&data, 8, |_| true)?;
/// println!("{} of {} files: {} bytes in {}", summary.built, summary.samples, summary.bytes, summary.path.display());
/// # Ok::<(), gpufeed::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct IndexSummary {
    /// Number of samples of the data set.
    pub samples: usize,
    /// Number of indexes built by this call.
    pub built: usize,
    /// Number of samples whose index existed already.
    pub present: usize,
    /// Number of samples that cannot have one: other formats, JPEGs in several scans, such as
    /// progressive ones, and damaged ones, pixels.
    pub without: usize,
    /// True if `progress` ended the work before the last sample.
    pub stopped: bool,
    /// Number of records removed by [`SeekIndexes::prune`]; `None` if pruning was not asked for, or not all samples were
    /// read.
    pub pruned: Option<u64>,
    /// Samples that could not be read or are not images: their names and the reasons.
    pub failed: Vec<(String, String)>,
    /// Number of failed samples that could not be read.
    unread: usize,
    /// Bytes of the samples that were read.
    pub bytes_read: u64,
    /// The path of the file with the seek indexes.
    pub path: PathBuf,
    /// The bytes of that file; 0 if no sample has an index.
    pub bytes: u64,
}

/// The files to index: the view of a data set that this folder needs.
pub(crate) trait FilesToIndex: Sync {
    fn len(&self) -> usize;
    /// Returns the data set's folder, in which the indexes are stored.
    fn folder(&self) -> Option<&Path>;
    fn name(&self, index: usize) -> String;
    /// Returns the length of the sample's bytes, and its file if it is encoded.
    fn read<'a>(&'a self, index: usize, file: &'a mut Vec<u8>) -> Result<(usize, Option<&'a [u8]>)>;
    /// Returns true if an error of `read` ends the work: no sample is at fault, and others would fail alike.
    fn is_fatal(&self, error: &Error) -> bool;
}

impl SeekIndexes {
    /// Does the work of `build` and `prune` in `dataset/seek_indexes.rs`. If `keys` is given, it receives the keys of
    /// all samples, and all other records are removed from the file.
    pub(crate) fn go_through(
        &self,
        files: &dyn FilesToIndex,
        threads: usize,
        keys: Option<Mutex<HashSet<u128>>>,
        progress: impl Fn(usize) -> bool + Sync,
    ) -> Result<IndexSummary> {
        if threads == 0 {
            return Err(Error::argument("threads", "0 threads; give at least 1"));
        }
        let Some(path) = self.path(files.folder()) else {
            let reason = Reason::new("there is no file to write indexes to").advise(advice::SEEK_FILE);
            return Err(Error::argument("seek_indexes", reason));
        };
        can_be_written(&path).map_err(|source| Error::io(&path, source))?;
        let Some(store) = SeekStore::open(&SeekIndexes::File(path.clone()), None, MEMORY) else {
            return Err(Error::argument("seek_indexes", "Off"));
        };
        let work = Work {
            files,
            store: &store,
            keys: keys.as_ref(),
            next: AtomicUsize::new(0),
            done: AtomicUsize::new(0),
            saved: Mutex::new(Instant::now()),
            total: Mutex::new(IndexSummary { samples: files.len(), path: path.clone(), ..IndexSummary::default() }),
            ended: Mutex::new(None),
        };
        let panicked = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..threads.min(files.len())).map(|_| scope.spawn(|| work.run(&progress))).collect();
            let ends = threads.into_iter().map(|thread| thread.join());
            ends.filter_map(|end| end.err().map(|payload| Error::panic("index", payload.as_ref()))).last()
        });
        if let Some(error) = unpoisoned(work.ended.into_inner()) {
            // The error tells more than one of this save would.
            let _ = store.save(LAST_SAVE);
            return Err(error);
        }
        let others = || {
            let reason = format!("other processes have been writing to it for {} s; try again", LAST_SAVE.as_secs());
            Error::io(&path, io::Error::new(io::ErrorKind::TimedOut, reason))
        };
        if !store.save(LAST_SAVE)? {
            return Err(others());
        }
        if let Some(error) = panicked {
            return Err(error);
        }
        let mut total = unpoisoned(work.total.into_inner());
        total.stopped = work.done.into_inner() < files.len();
        if let Some(keys) = keys.filter(|_| !total.stopped && total.unread == 0) {
            total.pruned = Some(store.prune(&unpoisoned(keys.into_inner()), LAST_SAVE)?.ok_or_else(others)?);
        }
        total.failed.sort();
        total.bytes = std::fs::metadata(path).map_or(0, |file| file.len());
        Ok(total)
    }
}

/// # Errors
/// If a file of seek indexes cannot be written to `path`, as far as can be known beforehand.
fn can_be_written(path: &Path) -> io::Result<()> {
    match IndexFile::open(path) {
        Err(error) if error.kind() == file::FOREIGN => Err(error),
        // An unusable file is replaced.
        _ => {
            write::can_write_in(atomic_file::folder_of(path))?;
            lock::take(path, Duration::ZERO).map(drop)
        }
    }
}

/// The state that the threads share.
struct Work<'a> {
    files: &'a dyn FilesToIndex,
    store: &'a SeekStore,
    /// The keys of all samples' indexes, if they are wanted.
    keys: Option<&'a Mutex<HashSet<u128>>>,
    next: AtomicUsize,
    done: AtomicUsize,
    /// Time of the last save.
    saved: Mutex<Instant>,
    total: Mutex<IndexSummary>,
    /// The error that ends the work.
    ended: Mutex<Option<Error>>,
}

impl Work<'_> {
    fn run(&self, progress: &(impl Fn(usize) -> bool + Sync)) {
        let mut builder = Builder::default();
        let mut summary = IndexSummary::default();
        loop {
            let index = self.next.fetch_add(1, Relaxed);
            if index >= self.files.len() {
                break;
            }
            match builder.sample(self, index, &mut summary) {
                Err(error) if self.files.is_fatal(&error) => {
                    *unpoisoned(self.ended.lock()) = Some(error);
                    self.next.store(self.files.len(), Relaxed);
                    break;
                }
                Err(error) => summary.failed.push((self.files.name(index), error.kind().to_string())),
                Ok(()) => {}
            }
            let goes_on = progress(self.done.fetch_add(1, Relaxed) + 1);
            if !goes_on || self.save_in_time().is_err() {
                self.next.store(self.files.len(), Relaxed);
            }
        }
        let mut total = unpoisoned(self.total.lock());
        total.built += summary.built;
        total.present += summary.present;
        total.without += summary.without;
        total.bytes_read += summary.bytes_read;
        total.unread += summary.unread;
        total.failed.extend(summary.failed);
    }

    /// Saves if the last save is long ago and no other thread is saving.
    fn save_in_time(&self) -> std::result::Result<(), ()> {
        let Ok(mut saved) = self.saved.try_lock() else { return Ok(()) };
        if saved.elapsed() < SAVED_EVERY {
            return Ok(());
        }
        let result = if self.store.is_due() { self.store.save(Duration::ZERO).map(drop) } else { Ok(()) };
        *saved = Instant::now();
        result.map_err(|error| *unpoisoned(self.ended.lock()) = Some(error))
    }
}

/// The buffers that one thread reuses.
#[derive(Default)]
struct Builder {
    file: Vec<u8>,
    record: Vec<u8>,
    scratch: decode::Scratch,
}

impl Builder {
    fn sample(&mut self, work: &Work<'_>, index: usize, summary: &mut IndexSummary) -> Result<()> {
        let (length, encoded) = work.files.read(index, &mut self.file).inspect_err(|_| summary.unread += 1)?;
        summary.bytes_read += length as u64;
        let Some(bytes) = encoded else {
            summary.without += 1;
            return Ok(());
        };
        let options = DecodeOptions::default();
        let probe = decode::probe(bytes, &options)?;
        if probe.format != ImageFormat::Jpeg {
            summary.without += 1;
            return Ok(());
        }
        let key = SeekStore::key(bytes);
        if let Some(keys) = work.keys {
            unpoisoned(keys.lock()).insert(key);
        }
        if work.store.get(key, &mut self.record) {
            *if self.record.is_empty() { &mut summary.without } else { &mut summary.present } += 1;
            return Ok(());
        }
        let built = decode::build_index(bytes, &probe, &options, &mut self.scratch)?;
        *if built.is_some() { &mut summary.built } else { &mut summary.without } += 1;
        work.store.put(key, built.map_or(Vec::new(), |index| index.to_bytes()));
        Ok(())
    }
}
