//! Building the seek indexes of a whole data set ahead of its first epoch.

use super::file::{self, IndexFile};
use super::{SeekIndexes, Store, lock, unpoisoned, write};
use crate::dataset::{Dataset, SampleData};
use crate::decode::{self, DecodeOptions, ImageFormat};
use crate::error::{Error, Result};
use crate::replace;
use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Between two saves: what a process that is killed may lose.
const SAVED_EVERY: Duration = Duration::from_secs(2);
/// How long the last save waits for others that write.
const LAST_SAVE: Duration = Duration::from_secs(60);
/// Bytes of records beyond which they are saved at once.
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
    /// Samples of the data set.
    pub samples: usize,
    /// Indexes that were built now.
    pub built: usize,
    /// Samples whose index was there.
    pub present: usize,
    /// Samples that cannot have one: other formats, progressive and damaged JPEGs, pixels.
    pub without: usize,
    /// True if `progress` ended the work before the last sample.
    pub stopped: bool,
    /// Records that [`SeekIndexes::prune`] has removed; `None` where nothing was to be removed, or nothing could be, as
    /// not all samples were read.
    pub pruned: Option<u64>,
    /// Samples that could not be read or are no images: their names, and why.
    pub failed: Vec<(String, String)>,
    /// Samples among them that could not be read.
    unread: usize,
    /// Bytes of the samples that were read.
    pub bytes_read: u64,
    /// The file.
    pub path: PathBuf,
    /// Its bytes; 0 if no sample has an index.
    pub bytes: u64,
}

impl SeekIndexes {
    /// Builds the indexes that are missing of all samples of `dataset`, on so many threads, and writes the file: every
    /// two seconds, and at the end. Nothing that is in the file is lost, and other processes may write to it meanwhile.
    /// `progress` is called with the number of samples that are done; where it returns `false` the work ends early, and
    /// what is built is written.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`](crate::ErrorKind::Argument) if there is no file to write, as for `Memory` and `Off`, or
    /// `Beside` where the data set has no folder, and for 0 threads; [`ErrorKind::Io`](crate::ErrorKind::Io) if the
    /// file cannot be written, or is something else: before any sample is read where that can be known;
    /// [`ErrorKind::Panic`](crate::ErrorKind::Panic) if the data set or `progress` panics, after what was built is
    /// written. Samples that fail are no error, but listed.
    pub fn build(
        &self,
        dataset: &dyn Dataset,
        threads: usize,
        progress: impl Fn(usize) -> bool + Sync,
    ) -> Result<IndexSummary> {
        self.go_through(dataset, threads, None, progress)
    }

    /// As [`build`](Self::build), and then removes every record from the file that belongs to none of the samples:
    /// those of files that were replaced or deleted, which stay otherwise. It is not for a file that other data sets
    /// share, whose records would go, too. Nothing is removed if the work has ended early or a sample could not be
    /// read.
    ///
    /// ```no_run
    /// use gpufeed::ImageFolder;
    /// use gpufeed::decode::SeekIndexes;
    ///
    /// let summary = SeekIndexes::Beside.prune(&ImageFolder::open("imagenet/train")?, 8, |_| true)?;
    /// println!("{} records of files that are gone", summary.pruned.unwrap_or(0));
    /// # Ok::<(), gpufeed::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`build`](Self::build).
    pub fn prune(
        &self,
        dataset: &dyn Dataset,
        threads: usize,
        progress: impl Fn(usize) -> bool + Sync,
    ) -> Result<IndexSummary> {
        self.go_through(dataset, threads, Some(Mutex::default()), progress)
    }

    /// The work of [`build`](Self::build); all keys of the samples go to `keys`, if there is a set for them, and then
    /// no others stay in the file.
    fn go_through(
        &self,
        dataset: &dyn Dataset,
        threads: usize,
        keys: Option<Mutex<HashSet<u128>>>,
        progress: impl Fn(usize) -> bool + Sync,
    ) -> Result<IndexSummary> {
        if threads == 0 {
            return Err(Error::argument("threads", "0; 1 or more work"));
        }
        let Some(path) = self.path(dataset.folder()) else {
            let reason = format!("{self:?} names no file; SeekIndexes::File(path) does");
            return Err(Error::argument("seek_indexes", reason));
        };
        can_be_written(&path).map_err(|source| Error::io(&path, source))?;
        let Some(store) = Store::open(&SeekIndexes::File(path.clone()), None, MEMORY) else {
            return Err(Error::argument("seek_indexes", "Off"));
        };
        let work = Work {
            dataset,
            store: &store,
            keys: keys.as_ref(),
            next: AtomicUsize::new(0),
            done: AtomicUsize::new(0),
            saved: Mutex::new(Instant::now()),
            total: Mutex::new(IndexSummary { samples: dataset.len(), path: path.clone(), ..IndexSummary::default() }),
            ended: Mutex::new(None),
        };
        let panicked = std::thread::scope(|scope| {
            let threads: Vec<_> =
                (0..threads.min(dataset.len())).map(|_| scope.spawn(|| work.run(&progress))).collect();
            let ends = threads.into_iter().map(|thread| thread.join());
            ends.filter_map(|end| end.err().map(|payload| Error::panic("index", payload.as_ref()))).last()
        });
        if let Some(error) = unpoisoned(work.ended.into_inner()) {
            return Err(error);
        }
        let others = || {
            let reason = format!("other processes have been writing it for {} s: try again", LAST_SAVE.as_secs());
            Error::io(&path, io::Error::new(io::ErrorKind::TimedOut, reason))
        };
        if !store.save(LAST_SAVE)? {
            return Err(others());
        }
        if let Some(error) = panicked {
            return Err(error);
        }
        let mut total = unpoisoned(work.total.into_inner());
        total.stopped = work.done.into_inner() < dataset.len();
        if let Some(keys) = keys.filter(|_| !total.stopped && total.unread == 0) {
            total.pruned = Some(store.prune(&unpoisoned(keys.into_inner()), LAST_SAVE)?.ok_or_else(others)?);
        }
        total.failed.sort();
        total.bytes = std::fs::metadata(path).map_or(0, |file| file.len());
        Ok(total)
    }
}

/// # Errors
/// If a file of seek indexes cannot be written to `path`, as far as that can be known beforehand.
fn can_be_written(path: &Path) -> io::Result<()> {
    match IndexFile::open(path) {
        Err(error) if error.kind() == file::FOREIGN => Err(error),
        // A file that cannot be used is replaced.
        _ => {
            write::can_write_in(replace::folder_of(path))?;
            lock::take(path, Duration::ZERO).map(drop)
        }
    }
}

/// The state that the threads share.
struct Work<'a> {
    dataset: &'a dyn Dataset,
    store: &'a Store,
    /// The keys of all samples' indexes, where they are asked for.
    keys: Option<&'a Mutex<HashSet<u128>>>,
    next: AtomicUsize,
    done: AtomicUsize,
    /// When what is new was last saved.
    saved: Mutex<Instant>,
    total: Mutex<IndexSummary>,
    /// The error that makes it useless to go on.
    ended: Mutex<Option<Error>>,
}

impl Work<'_> {
    fn run(&self, progress: &(impl Fn(usize) -> bool + Sync)) {
        let mut builder = Builder::default();
        let mut summary = IndexSummary::default();
        loop {
            let index = self.next.fetch_add(1, Relaxed);
            if index >= self.dataset.len() {
                break;
            }
            if let Err(error) = builder.sample(self, index, &mut summary) {
                summary.failed.push((self.dataset.name(index), error.to_string()));
            }
            let goes_on = progress(self.done.fetch_add(1, Relaxed) + 1);
            if !goes_on || self.save_in_time().is_err() {
                self.next.store(self.dataset.len(), Relaxed);
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

    /// Saves if that is long ago and no other thread is at it.
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

/// One thread's memory.
#[derive(Default)]
struct Builder {
    file: Vec<u8>,
    record: Vec<u8>,
    scratch: decode::Scratch,
}

impl Builder {
    fn sample(&mut self, work: &Work<'_>, index: usize, summary: &mut IndexSummary) -> Result<()> {
        let sample = work.dataset.read(index, &mut self.file).inspect_err(|_| summary.unread += 1)?;
        summary.bytes_read += sample.data.len() as u64;
        let SampleData::Encoded(bytes) = sample.data else {
            summary.without += 1;
            return Ok(());
        };
        let options = DecodeOptions::default();
        let probe = decode::probe(bytes, &options)?;
        if probe.format != ImageFormat::Jpeg {
            summary.without += 1;
            return Ok(());
        }
        let key = Store::key(bytes);
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
