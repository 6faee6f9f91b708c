//! Building the seek indexes of a whole data set ahead of its first epoch.

use super::{SeekIndexes, Store, unpoisoned};
use crate::dataset::{Dataset, SampleData};
use crate::decode::{self, DecodeOptions, ImageFormat, Rect, Scale, Way};
use crate::error::{Error, Result};
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// What [`SeekIndexes::build`] has done.
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
    /// Samples that could not be read or are no images: their names, and why.
    pub failed: Vec<(String, String)>,
    /// Bytes of the samples that were read.
    pub bytes_read: u64,
    /// The file.
    pub path: PathBuf,
    /// Its bytes; 0 if no sample has an index.
    pub bytes: u64,
}

impl SeekIndexes {
    /// Builds the indexes that are missing of all samples of `dataset`, on so many threads, and writes the file.
    /// `progress` is called with the number of samples that are done; where it returns `false` the work ends early, and
    /// what is built is written.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`](crate::ErrorKind::Argument) if there is no file to write, as for `Memory` and `Off`, or `Beside`
    /// where the data set has no folder, and for 0 threads; [`ErrorKind::Io`](crate::ErrorKind::Io) if the file cannot be
    /// written; [`ErrorKind::Panic`](crate::ErrorKind::Panic) if the data set or `progress` panics, after what was built is
    /// written. Samples that fail are no error, but listed.
    pub fn build(
        &self,
        dataset: &dyn Dataset,
        threads: usize,
        progress: impl Fn(usize) -> bool + Sync,
    ) -> Result<IndexSummary> {
        if threads == 0 {
            return Err(Error::argument("threads", "0; 1 or more work"));
        }
        // Beyond this much the file is written on the way.
        let store = Store::open(self, dataset.folder(), 256 << 20);
        let Some((store, path)) = store.as_ref().and_then(|store| Some((store, store.path()?))) else {
            let reason = format!("{self:?} names no file; SeekIndexes::File(path) does");
            return Err(Error::argument("seek_indexes", reason));
        };
        let total =
            Mutex::new(IndexSummary { samples: dataset.len(), path: path.to_owned(), ..IndexSummary::default() });
        let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let work = || {
            let mut builder = Builder::default();
            let mut summary = IndexSummary::default();
            loop {
                let index = next.fetch_add(1, Relaxed);
                if index >= dataset.len() {
                    break;
                }
                if let Err(error) = builder.sample(dataset, index, store, &mut summary) {
                    summary.failed.push((dataset.name(index), error.to_string()));
                }
                if !progress(done.fetch_add(1, Relaxed) + 1) {
                    next.store(dataset.len(), Relaxed);
                }
            }
            let mut total = unpoisoned(total.lock());
            total.built += summary.built;
            total.present += summary.present;
            total.without += summary.without;
            total.bytes_read += summary.bytes_read;
            total.failed.extend(summary.failed);
        };
        let panicked = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..threads.min(dataset.len())).map(|_| scope.spawn(work)).collect();
            let ends = threads.into_iter().map(|thread| thread.join());
            ends.filter_map(|end| end.err().map(|payload| Error::panic("index", payload.as_ref()))).last()
        });
        store.save()?;
        if let Some(error) = panicked {
            return Err(error);
        }
        let mut total = unpoisoned(total.into_inner());
        total.failed.sort();
        total.bytes = std::fs::metadata(path).map_or(0, |file| file.len());
        Ok(total)
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
    fn sample(&mut self, dataset: &dyn Dataset, index: usize, store: &Store, summary: &mut IndexSummary) -> Result<()> {
        let sample = dataset.read(index, &mut self.file)?;
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
        if store.get(key, &mut self.record) {
            *if self.record.is_empty() { &mut summary.without } else { &mut summary.present } += 1;
            return Ok(());
        }
        // The scan is read to its end, but of the pixels as good as none.
        let corner = Rect { left: 0, top: 0, width: 1, height: 1 };
        let seek = decode::Seek { index: None, build: true };
        let (_, (way, built)) =
            decode::seeking(bytes, &probe, (corner, Scale::Full), &options, seek, &mut self.scratch)?;
        *if built.is_some() && way != Way::Other { &mut summary.built } else { &mut summary.without } += 1;
        store.put(key, built.map_or(Vec::new(), |index| index.to_bytes()));
        Ok(())
    }
}
