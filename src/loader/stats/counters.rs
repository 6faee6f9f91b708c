//! The counters of a loader, always on: a lane for each thread, and what they sum up to.

use super::idle::idle;
use super::lane::{Clock, Delays, Lane};
use super::latency::Histogram;
use super::running::Running;
use super::stage::Stage;
use super::{GpuTime, PoolStats, QueueStats, StageStats, Stats};
use crate::decode::DecodePath;
use crate::gpu::timing::Times;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// See the module.
#[derive(Debug)]
pub(in crate::loader) struct Counters {
    workers: Box<[Lane]>,
    feed: Lane,
    upload: Lane,
    consumer: Lane,
    delays: Delays,
    images: AtomicU64,
    batches: AtomicU64,
    failed: AtomicU64,
    cpu_fallback: AtomicU64,
    index_hits: AtomicU64,
    other_decoders: AtomicU64,
    cache_hits: AtomicU64,
    latency: Histogram,
    running: Running,
    /// When the loader was built, and how long the cores had been idle by then.
    start: (Instant, Option<Duration>),
    pub(in crate::loader) gpu: Times,
}

/// How many jobs and batches the queues of a run hold.
#[derive(Clone, Copy, Debug)]
pub(in crate::loader) struct Capacities {
    pub(in crate::loader) jobs: usize,
    pub(in crate::loader) inbox: usize,
    pub(in crate::loader) ready: usize,
    /// Batches between their announcement and the queue of ready ones.
    pub(in crate::loader) announced: usize,
}

impl Counters {
    /// For runs of so many workers.
    pub(in crate::loader) fn new(workers: usize) -> Self {
        Counters {
            workers: (0..workers).map(|_| Lane::default()).collect(),
            feed: Lane::default(),
            upload: Lane::default(),
            consumer: Lane::default(),
            delays: Delays::default(),
            images: AtomicU64::new(0),
            batches: AtomicU64::new(0),
            failed: AtomicU64::new(0),
            cpu_fallback: AtomicU64::new(0),
            index_hits: AtomicU64::new(0),
            other_decoders: AtomicU64::new(0),
            cache_hits: AtomicU64::new(0),
            latency: Histogram::default(),
            running: Running::default(),
            start: (Instant::now(), idle()),
            gpu: Times::default(),
        }
    }

    pub(in crate::loader) fn worker(&self, number: usize) -> Clock<'_> {
        Clock::new(&self.workers[number], &self.delays)
    }

    pub(in crate::loader) fn feed(&self) -> Clock<'_> {
        Clock::new(&self.feed, &self.delays)
    }

    pub(in crate::loader) fn upload(&self) -> Clock<'_> {
        Clock::new(&self.upload, &self.delays)
    }

    pub(in crate::loader) fn consumer(&self) -> &Lane {
        &self.consumer
    }

    /// The caller is gone for longer, by so many images.
    pub(in crate::loader) fn delay_consumer(&self, images: usize) {
        self.delays.pass(Stage::Consume, images as u64);
    }

    pub(in crate::loader) fn delay(&self, stage: Stage, time: Duration) {
        self.delays.set(stage, time);
    }

    /// A sample is finished, with so many outputs.
    pub(in crate::loader) fn images(&self, views: usize) {
        self.images.fetch_add(views as u64, Relaxed);
    }

    /// A batch is ready, so long after it was announced.
    pub(in crate::loader) fn ready(&self, time: Duration) {
        self.latency.add(time);
    }

    pub(in crate::loader) fn batch(&self) {
        self.batches.fetch_add(1, Relaxed);
    }

    pub(in crate::loader) fn failed(&self) {
        self.failed.fetch_add(1, Relaxed);
    }

    pub(in crate::loader) fn cpu_fallback(&self) {
        self.cpu_fallback.fetch_add(1, Relaxed);
    }

    /// Counts a file that was decoded.
    pub(in crate::loader) fn decoded(&self, path: DecodePath) {
        match path {
            DecodePath::Indexed => self.index_hits.fetch_add(1, Relaxed),
            DecodePath::FromStart => 0,
            DecodePath::Other => self.other_decoders.fetch_add(1, Relaxed),
        };
    }

    /// Counts samples that came from the cache.
    pub(in crate::loader) fn cache_hits(&self, samples: usize) {
        self.cache_hits.fetch_add(samples as u64, Relaxed);
    }

    pub(in crate::loader) fn begin(&self) {
        self.running.begin();
    }

    pub(in crate::loader) fn end(&self, time: Duration) {
        self.running.end(time);
    }

    pub(in crate::loader) fn read(&self, capacities: Capacities) -> Stats {
        // The feeder draws for samples that lie in GPU memory.
        let lanes = || self.workers.iter().chain([&self.feed, &self.upload, &self.consumer]);
        let stages: Vec<StageStats> = Stage::ALL.map(|stage| stage_stats(stage, lanes())).into();
        let (running, cpu) = self.running.read();
        let bytes = |stage: Stage| stages[stage as usize].bytes;
        Stats {
            workers: self.workers.len(),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            images: self.images.load(Relaxed),
            batches: self.batches.load(Relaxed),
            failed: self.failed.load(Relaxed),
            cpu_fallback: self.cpu_fallback.load(Relaxed),
            index_hits: self.index_hits.load(Relaxed),
            other_decoders: self.other_decoders.load(Relaxed),
            cache_hits: self.cache_hits.load(Relaxed),
            bytes_read: bytes(Stage::Read),
            bytes_uploaded: bytes(Stage::Submit),
            bytes_written: bytes(Stage::Consume),
            running,
            cpu,
            idle: idle().zip(self.start.1).map(|(now, then)| now.saturating_sub(then)),
            watched: self.start.0.elapsed(),
            pools: vec![
                pool("feed", &[&self.feed]),
                pool("workers", &self.workers.iter().collect::<Vec<_>>()),
                pool("upload", &[&self.upload]),
                // Its own time between two batches is work, as far as the line can tell.
                pool("consumer", &[&self.consumer]),
            ],
            queues: vec![
                queue("jobs", capacities.jobs, self.workers.iter()),
                queue("inbox", capacities.inbox, [&self.upload]),
                queue("ready", capacities.ready, [&self.consumer]),
            ],
            latency: self.latency.read(),
            gpu: GpuTime::new(&self.gpu, self.upload.waits().for_gpu),
            stages,
        }
    }
}

fn stage_stats<'a>(stage: Stage, lanes: impl Iterator<Item = &'a Lane>) -> StageStats {
    let mut sums = [0; 5];
    for lane in lanes {
        let counts = &lane.stages[stage as usize];
        let busy = counts.busy.load(Relaxed);
        // Images that were not divided are taken to be like those that were, what lies between them included.
        let divided =
            lane.other.load(Relaxed) + lane.stages.iter().map(|counts| counts.busy.load(Relaxed)).sum::<u64>();
        let share = busy as f64 / divided.max(1) as f64;
        let busy = busy + (share * lane.undivided.load(Relaxed) as f64) as u64;
        let others = [&counts.items, &counts.bytes, &counts.sampled_busy, &counts.sampled_cpu].map(|n| n.load(Relaxed));
        sums.iter_mut().zip([busy].into_iter().chain(others)).for_each(|(sum, value)| *sum += value);
    }
    let [busy, items, bytes, sampled_busy, sampled_cpu] = sums;
    StageStats::new(stage, items, Duration::from_nanos(busy), bytes, (sampled_busy, sampled_cpu))
}

fn pool(name: &'static str, lanes: &[&Lane]) -> PoolStats {
    let waits: Vec<_> = lanes.iter().map(|lane| lane.waits()).collect();
    let busy = |lane: &&Lane| {
        let stages = lane.stages.iter().map(|counts| counts.busy.load(Relaxed)).sum::<u64>();
        lane.other.load(Relaxed) + lane.undivided.load(Relaxed) + stages
    };
    PoolStats {
        name,
        threads: lanes.len(),
        busy: Duration::from_nanos(lanes.iter().map(busy).sum()),
        starved: waits.iter().map(|waits| waits.starved).sum(),
        blocked: waits.iter().map(|waits| waits.blocked).sum(),
    }
}

fn queue<'a>(name: &'static str, capacity: usize, lanes: impl IntoIterator<Item = &'a Lane>) -> QueueStats {
    let (mut looks, mut found) = (0, 0);
    for lane in lanes {
        looks += lane.looks.load(Relaxed);
        found += lane.found.load(Relaxed);
    }
    QueueStats::new(name, capacity, looks, found)
}
