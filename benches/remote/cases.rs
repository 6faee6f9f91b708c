//! A way of reading the same samples, and what it takes.

use crate::one_request::OneRequest;
use cpu_time::ProcessTime;
use gpufeed::dataset::{Parquet, ShardIndexes};
use gpufeed::decode::{Orientation, SeekIndexes};
use gpufeed::{Backend, DataLoader, Dataset, Order, TarShards, recipe};
use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

pub(crate) const BATCH: usize = 64;
/// The stall is measured after the first tenth of an epoch's batches.
const FIRST_WINDOW: usize = 10;

/// Where the samples come from.
pub(crate) enum Source {
    /// The path or address of tar shards or Parquet files.
    Address(String),
    /// A request for each image: the server, and of each sample its file and the range of its bytes there.
    OneRequest(String, Vec<(String, Range<u64>)>),
}

pub(crate) struct Case {
    pub(crate) name: &'static str,
    source: Source,
    cache: Option<PathBuf>,
    empty: bool,
}

/// The time and the requests of an epoch.
pub(crate) struct Measured {
    /// Images a second, from the first batch on.
    pub(crate) rate: f64,
    pub(crate) cpu_ms: f64,
    /// Requests an image.
    pub(crate) requests: f64,
    /// Until the first batch was there, with opening the data set.
    pub(crate) first: Duration,
    /// The part of the time that the consumer waited, after the first window.
    pub(crate) stall: f64,
    remote: String,
}

impl Case {
    pub(crate) fn new(name: &'static str, source: Source) -> Case {
        Case { name, source, cache: None, empty: false }
    }

    /// With a cache on disk, as it is.
    pub(crate) fn cache(self, folder: &Path) -> Case {
        Case { cache: Some(folder.to_owned()), ..self }
    }

    /// With a cache on disk that is empty.
    pub(crate) fn empty(self, folder: &Path) -> Case {
        Case { cache: Some(folder.to_owned()), empty: true, ..self }
    }

    /// Opens the data set, with the indexes of its shards in a folder: a first call makes them.
    pub(crate) fn open(&self, folder: &Path) -> Box<dyn Dataset> {
        let indexes = ShardIndexes::Folder(folder.to_owned());
        match &self.source {
            Source::OneRequest(server, ranges) => Box::new(OneRequest::new(server, ranges.clone())),
            Source::Address(address) if address.ends_with(".tar") => {
                Box::new(TarShards::builder().indexes(indexes).open(address).unwrap())
            }
            Source::Address(address) => Box::new(Parquet::builder().indexes(indexes).open(address).unwrap()),
        }
    }

    /// Reads an epoch with one worker. A consumer that trains sleeps for a `step` after each batch.
    pub(crate) fn measure(&self, indexes: &Path, order: Option<Order>, step: Option<Duration>) -> Measured {
        if let Some(folder) = self.cache.as_ref().filter(|_| self.empty) {
            let _ = std::fs::remove_dir_all(folder);
        }
        let (start, cpu) = (Instant::now(), ProcessTime::now());
        let builder = DataLoader::builder(self.open(indexes))
            .recipe(recipe::named("imagenet-train").unwrap())
            .batch_size(BATCH)
            .workers(1)
            // torchvision also ignores the EXIF orientation.
            .exif(Orientation::Ignore)
            .seek_indexes(SeekIndexes::File(indexes.join("seek-indexes")));
        let builder = match order {
            Some(order) => builder.shuffle(true).order(order),
            None => builder,
        };
        let builder = match &self.cache {
            Some(folder) => builder.remote_cache(folder, 1 << 40),
            None => builder,
        };
        let loader = builder.build(&Backend::Cpu).unwrap();
        let mut epoch = loader.epoch(1).unwrap();
        let mut images = epoch.next().unwrap().unwrap().len();
        let (before, first, began) = (images, start.elapsed(), Instant::now());
        let (mut batches, mut waited, mut measured) = (1, Duration::ZERO, Duration::ZERO);
        let expected = loader.len().div_ceil(FIRST_WINDOW);
        loop {
            let asked = Instant::now();
            let Some(batch) = epoch.next() else { break };
            let wait = asked.elapsed();
            images += batch.unwrap().len();
            batches += 1;
            if let Some(step) = step {
                std::thread::sleep(step);
            }
            if batches > expected {
                waited += wait;
                measured += asked.elapsed();
            }
        }
        let rate = (images - before) as f64 / began.elapsed().as_secs_f64();
        let cpu_ms = 1e3 * cpu.elapsed().as_secs_f64() / images as f64;
        let remote = loader.stats().remote.clone();
        let requests = match &self.source {
            Source::OneRequest(..) => 1.0,
            Source::Address(_) => remote.as_ref().map_or(0.0, |remote| remote.requests as f64 / images as f64),
        };
        let stall = waited.as_secs_f64() / measured.as_secs_f64();
        Measured { rate, cpu_ms, requests, first, stall, remote: remote.map_or_else(String::new, |of| of.to_string()) }
    }
}

impl fmt::Display for Measured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Measured { rate, cpu_ms, requests, first, stall, remote } = self;
        write!(
            f,
            "{rate:.0} images/s, {cpu_ms:.3} CPU-ms, {requests:.4} requests an image, first batch {:.2} s, stall {:.1} %; {remote}",
            first.as_secs_f64(),
            100.0 * stall
        )
    }
}

/// A number of several rounds.
pub(crate) struct Spread(Vec<f64>);

pub(crate) fn spread(mut values: Vec<f64>) -> Spread {
    values.sort_by(f64::total_cmp);
    Spread(values)
}

impl Spread {
    /// The median, and the least and greatest.
    pub(crate) fn show(&self, digits: usize) -> String {
        let [least, .., greatest] = self.0[..] else { return format!("{:.digits$}", self.0[0]) };
        format!("{:.digits$} ({least:.digits$}-{greatest:.digits$})", self.0[self.0.len() / 2])
    }
}
