//! Where the time goes: one atomic counter a stage, always on.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The stages that are timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    Starved,
    Read,
    Draw,
    Decode,
    Augment,
    Blocked,
    Put,
    Upload,
    Next,
}

const STAGES: usize = 9;

impl Stage {
    /// As errors name it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Stage::Read => "read",
            Stage::Draw => "draw",
            Stage::Decode => "decode",
            Stage::Augment => "augment",
            Stage::Put => "put",
            Stage::Upload => "upload",
            Stage::Starved | Stage::Blocked => "worker",
            Stage::Next => "next",
        }
    }
}

/// The counters of a loader.
#[derive(Debug, Default)]
pub(super) struct Counters {
    nanoseconds: [AtomicU64; STAGES],
    images: AtomicU64,
    bytes: AtomicU64,
    batches: AtomicU64,
    failed: AtomicU64,
    reduced: AtomicU64,
    /// Time during which a run was under way.
    running: AtomicU64,
}

impl Counters {
    pub(super) fn time<T>(&self, stage: Stage, work: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let result = work();
        self.add(stage, start.elapsed());
        result
    }

    pub(super) fn add(&self, stage: Stage, time: Duration) {
        self.nanoseconds[stage as usize].fetch_add(time.as_nanos() as u64, Ordering::Relaxed);
    }

    pub(super) fn image(&self, bytes: u64) {
        self.images.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(super) fn batch(&self) {
        self.batches.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn failed(&self) {
        self.failed.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn reduced(&self) {
        self.reduced.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn ran(&self, time: Duration) {
        self.running.fetch_add(time.as_nanos() as u64, Ordering::Relaxed);
    }

    pub(super) fn read(&self, workers: usize) -> Stats {
        let time = |stage: Stage| Duration::from_nanos(self.nanoseconds[stage as usize].load(Ordering::Relaxed));
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Stats {
            workers,
            images: count(&self.images),
            batches: count(&self.batches),
            output_bytes: count(&self.bytes),
            failed: count(&self.failed),
            reduced: count(&self.reduced),
            running: Duration::from_nanos(count(&self.running)),
            read: time(Stage::Read),
            draw: time(Stage::Draw),
            decode: time(Stage::Decode),
            augment: time(Stage::Augment),
            put: time(Stage::Put),
            starved: time(Stage::Starved),
            blocked: time(Stage::Blocked),
            upload: time(Stage::Upload),
            next: time(Stage::Next),
        }
    }
}

/// What a loader has done since it was built: times are sums over all workers.
///
/// ```no_run
/// # fn show(loader: &gpufeed::DataLoader) {
/// let stats = loader.stats();
/// println!("{stats}");
/// println!("limited by {}", stats.limit());
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct Stats {
    /// Threads that decode.
    pub workers: usize,
    /// Images finished by the workers.
    pub images: u64,
    /// Batches that the caller received.
    pub batches: u64,
    /// Bytes of the outputs of those images.
    pub output_bytes: u64,
    /// Samples that failed and were replaced.
    pub failed: u64,
    /// Images that the CPU executor finished on the GPU backend, whatever the slots' size: those that read more than 16
    /// MiB of source pixels, have an intermediate above 64 MiB, or are reduced so much that a thread would loop 60,000
    /// times.
    pub reduced: u64,
    /// Time during which epochs were under way.
    pub running: Duration,
    /// Workers: reading samples.
    pub read: Duration,
    /// Workers: probing headers and drawing parameters.
    pub draw: Duration,
    /// Workers: decoding.
    pub decode: Duration,
    /// Workers: augmenting (CPU executor).
    pub augment: Duration,
    /// Workers: copying into slots (GPU).
    pub put: Duration,
    /// Workers: waiting for a job, since the batches ahead are not yet taken.
    pub starved: Duration,
    /// Workers: waiting for room in a slot.
    pub blocked: Duration,
    /// The uploader: recording and submitting, and copying batches up.
    pub upload: Duration,
    /// The caller: waiting in `next`.
    pub next: Duration,
}

impl Stats {
    /// Images a second while epochs were under way.
    pub fn images_per_second(&self) -> f64 {
        self.images as f64 / self.running.as_secs_f64().max(1e-9)
    }

    /// What limits the line: the resource whose users hardly ever wait.
    pub fn limit(&self) -> &'static str {
        let running = self.running.as_secs_f64().max(1e-9);
        let worker_time = running * self.workers.max(1) as f64;
        if self.next.as_secs_f64() < 0.1 * running {
            return "the consumer: batches are ready before they are asked for";
        }
        if self.blocked.as_secs_f64() > 0.25 * worker_time {
            return "upload and GPU: workers wait for room in a slot";
        }
        let stages = [
            (self.read, "reading: the disk or file system"),
            (self.decode, "decoding: the workers' CPU cores"),
            (self.augment, "augmenting: the workers' CPU cores"),
            (self.put, "copying into slots: memory bandwidth"),
        ];
        stages.iter().max_by_key(|(time, _)| *time).map_or("nothing yet", |(_, name)| name)
    }
}

impl std::fmt::Display for Stats {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let images = self.images.max(1) as f64;
        let ms = |time: Duration| time.as_secs_f64() * 1e3 / images;
        write!(
            f,
            "{} images in {:.2} s: {:.0} images/s; ",
            self.images,
            self.running.as_secs_f64(),
            self.images_per_second()
        )?;
        write!(
            f,
            "ms an image: read {:.3}, draw {:.3}, decode {:.3}, augment {:.3}, put {:.3}, starved {:.3}, blocked {:.3}; upload {:.3}; next {:.3}; {} failed, {} reduced on the CPU",
            ms(self.read),
            ms(self.draw),
            ms(self.decode),
            ms(self.augment),
            ms(self.put),
            ms(self.starved),
            ms(self.blocked),
            ms(self.upload),
            ms(self.next),
            self.failed,
            self.reduced
        )
    }
}
