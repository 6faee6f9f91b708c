//! The counters of a loader, always on: those of each thread, and their sums.

use super::idle::idle;
use super::latency::Histogram;
use super::running::Running;
use super::stage::Stage;
use super::thread_counters::{Clock, Delays, ThreadCounters};
use super::{GpuTime, PoolStats, QueueStats, SlotStats, StageStats, Stats};
use crate::decode::DecodePath;
use crate::gpu::Compile;
use crate::gpu::timing::Times;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// The counters of a loader, shared by all its runs.
#[derive(Debug)]
pub(in crate::loader) struct Counters {
    workers: Box<[ThreadCounters]>,
    feed: ThreadCounters,
    batch_thread: ThreadCounters,
    pub(in crate::loader) consumer: ThreadCounters,
    delays: Delays,
    images: AtomicU64,
    batches: AtomicU64,
    failed: AtomicU64,
    cpu_fallback: AtomicU64,
    index_hits: AtomicU64,
    other_decoders: AtomicU64,
    cache_hits: AtomicU64,
    /// Slots that were submitted, and the bytes of the samples in them.
    slots: (AtomicU64, AtomicU64),
    latency: Histogram,
    running: Running,
    /// The time at which the loader was built, and the idle time of the cores until then.
    start: (Instant, Option<Duration>),
    pub(in crate::loader) gpu: Times,
}

/// The capacities of a run's queues of jobs and batches.
#[derive(Clone, Copy, Debug)]
pub(in crate::loader) struct Capacities {
    pub(in crate::loader) jobs: usize,
    pub(in crate::loader) inbox: usize,
    pub(in crate::loader) ready: usize,
    /// Announced batches that are not yet in the queue of ready ones.
    pub(in crate::loader) announced: usize,
}

impl Counters {
    /// Counters for runs of `workers` workers.
    pub(in crate::loader) fn new(workers: usize) -> Self {
        Counters {
            workers: (0..workers).map(|_| ThreadCounters::default()).collect(),
            feed: ThreadCounters::default(),
            batch_thread: ThreadCounters::default(),
            consumer: ThreadCounters::default(),
            delays: Delays::default(),
            images: AtomicU64::new(0),
            batches: AtomicU64::new(0),
            failed: AtomicU64::new(0),
            cpu_fallback: AtomicU64::new(0),
            index_hits: AtomicU64::new(0),
            other_decoders: AtomicU64::new(0),
            cache_hits: AtomicU64::new(0),
            slots: (AtomicU64::new(0), AtomicU64::new(0)),
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

    pub(in crate::loader) fn batch_thread(&self) -> Clock<'_> {
        Clock::new(&self.batch_thread, &self.delays)
    }

    /// Delays the consumer, by its delay for `images` images.
    pub(in crate::loader) fn delay_consumer(&self, images: usize) {
        self.delays.pass(Stage::Consume, images as u64);
    }

    pub(in crate::loader) fn delay(&self, stage: Stage, time: Duration) {
        self.delays.set(stage, time);
    }

    /// Counts a finished sample of `views` images.
    pub(in crate::loader) fn images(&self, views: usize) {
        self.images.fetch_add(views as u64, Relaxed);
    }

    /// Counts a batch that became ready `time` after it was announced.
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

    /// Counts a submitted slot with `bytes` bytes of samples.
    pub(in crate::loader) fn slot(&self, bytes: u64) {
        self.slots.0.fetch_add(1, Relaxed);
        self.slots.1.fetch_add(bytes, Relaxed);
    }

    fn slot_stats(&self) -> SlotStats {
        let sum = |counter: fn(&ThreadCounters) -> &AtomicU64| {
            self.workers.iter().map(|worker| counter(worker).load(Relaxed)).sum::<u64>()
        };
        let (copied, copying) = self.gpu.copies();
        SlotStats {
            slots: self.slots.0.load(Relaxed),
            bytes: self.slots.1.load(Relaxed),
            written: sum(|worker| &worker.written),
            writing: Duration::from_nanos(sum(|worker| &worker.writing)),
            copied,
            copying,
        }
    }

    pub(in crate::loader) fn begin(&self) {
        self.running.begin();
    }

    pub(in crate::loader) fn end(&self, time: Duration) {
        self.running.end(time);
    }

    pub(in crate::loader) fn read(&self, capacities: Capacities) -> Stats {
        // The feeder makes the parameters of samples that are in GPU memory.
        let threads = || self.workers.iter().chain([&self.feed, &self.batch_thread, &self.consumer]);
        let stages: Vec<StageStats> = Stage::ALL.map(|stage| stage_stats(stage, threads())).into();
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
                pool("upload", &[&self.batch_thread]),
                // The caller's time between two batches counts as work.
                pool("consumer", &[&self.consumer]),
            ],
            queues: vec![
                queue("jobs", capacities.jobs, self.workers.iter()),
                queue("inbox", capacities.inbox, [&self.batch_thread]),
                queue("ready", capacities.ready, [&self.consumer]),
            ],
            latency: self.latency.read(),
            gpu: GpuTime::new(&self.gpu, self.batch_thread.waits().for_gpu),
            slots: self.slot_stats(),
            compile: Compile::default(),
            remote: None,
            stages,
        }
    }
}

fn stage_stats<'a>(stage: Stage, threads: impl Iterator<Item = &'a ThreadCounters>) -> StageStats {
    let mut sums = [0; 5];
    for thread in threads {
        let counts = &thread.stages[stage as usize];
        let busy = counts.busy.load(Relaxed);
        // Images that were not divided count as similar to divided ones, including the time between images.
        let divided =
            thread.other.load(Relaxed) + thread.stages.iter().map(|counts| counts.busy.load(Relaxed)).sum::<u64>();
        let share = busy as f64 / divided.max(1) as f64;
        let busy = busy + (share * thread.undivided.load(Relaxed) as f64) as u64;
        let others = [&counts.items, &counts.bytes, &counts.sampled_busy, &counts.sampled_cpu].map(|n| n.load(Relaxed));
        sums.iter_mut().zip([busy].into_iter().chain(others)).for_each(|(sum, value)| *sum += value);
    }
    let [busy, items, bytes, sampled_busy, sampled_cpu] = sums;
    StageStats::new(stage, items, Duration::from_nanos(busy), bytes, (sampled_busy, sampled_cpu))
}

fn pool(name: &'static str, threads: &[&ThreadCounters]) -> PoolStats {
    let waits: Vec<_> = threads.iter().map(|thread| thread.waits()).collect();
    let busy = |thread: &&ThreadCounters| {
        let stages = thread.stages.iter().map(|counts| counts.busy.load(Relaxed)).sum::<u64>();
        thread.other.load(Relaxed) + thread.undivided.load(Relaxed) + stages
    };
    PoolStats {
        name,
        threads: threads.len(),
        busy: Duration::from_nanos(threads.iter().map(busy).sum()),
        starved: waits.iter().map(|waits| waits.starved).sum(),
        blocked: waits.iter().map(|waits| waits.blocked).sum(),
    }
}

fn queue<'a>(name: &'static str, capacity: usize, threads: impl IntoIterator<Item = &'a ThreadCounters>) -> QueueStats {
    let (mut looks, mut found) = (0, 0);
    for thread in threads {
        looks += thread.looks.load(Relaxed);
        found += thread.found.load(Relaxed);
    }
    QueueStats::new(name, capacity, looks, found)
}
