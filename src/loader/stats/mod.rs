//! Statistics: counters that are always on, and the conclusions from them.
//!
//! `thread_counters.rs` times a thread's sections, the stages of `stage.rs`, and `counters.rs` adds up those of all
//! threads. `latency.rs` is the latency of batches, `running.rs` the time of runs, `idle.rs` the machine's idle cores,
//! `slots.rs` the time of staging slots; `bottleneck.rs` says what limits.

mod bottleneck;
mod counters;
mod idle;
mod latency;
mod running;
mod slots;
mod stage;
mod thread_counters;

pub use bottleneck::{Bottleneck, Change, Resource};
pub(super) use counters::{Capacities, Counters};
pub use latency::Latency;
pub use slots::SlotStats;
pub use stage::Stage;
pub(super) use thread_counters::Clock;

use crate::gpu::Compile;
use crate::gpu::timing::Times;
use crate::storage::RemoteStats;
use std::fmt;
use std::time::Duration;

/// The work of a loader since it was built, or between two snapshots ([`since`](Self::since)).
///
/// Times are sums over threads. Concurrent runs are summed up too, so rates are those of one run.
///
/// ```no_run
/// # fn show(loader: &gpufeed::DataLoader) {
/// let before = loader.stats();
/// // Some batches later:
/// let stats = loader.stats().since(&before);
/// println!("{stats}");
/// println!("{}", stats.bottleneck());
/// # }
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Stats {
    /// Threads that decode, of each running epoch.
    pub workers: usize,
    /// Cores that the process may use.
    pub cores: usize,
    /// Images finished by the workers.
    pub images: u64,
    /// Batches that the caller received.
    pub batches: u64,
    /// Samples that failed and were replaced.
    pub failed: u64,
    /// Images that the CPU executor finished on the GPU backend, whatever the size of the slots: those that read more
    /// than 16 MiB of source pixels, have an intermediate above 64 MiB, or are downscaled so much that a shader thread
    /// would loop 60,000 times.
    pub cpu_fallback: u64,
    /// Files of which only a region was decoded, by their seek index. After the first epoch, the other files were read
    /// whole, or are not JPEGs.
    pub index_hits: u64,
    /// Files decoded by another decoder than the JPEG engine: those of other formats.
    pub other_decoders: u64,
    /// Samples that came from the [cache](crate::Cache), without reading or decoding.
    pub cache_hits: u64,
    /// Bytes of the samples, as the data set returned them.
    pub bytes_read: u64,
    /// Bytes copied for the GPU: source pixels if it augments, finished batches if the CPU executor does.
    pub bytes_uploaded: u64,
    /// Bytes of the batches that the caller received.
    pub bytes_written: u64,
    /// Time in which runs were under way.
    pub running: Duration,
    /// CPU time of the whole process in that time, including the threads of the caller and of the graphics driver.
    pub cpu: Duration,
    /// Idle time of the machine's cores, summed over them, since the loader was built or between the two snapshots;
    /// includes waits for disks. `None` if the system does not count it: Linux does.
    pub idle: Option<Duration>,
    /// The wall time of the period in which idle cores were counted.
    watched: Duration,
    /// The times of each stage, in the order of the pipeline.
    pub stages: Vec<StageStats>,
    /// The times of the threads' pools: `feed`, `workers`, `upload` (the batch thread), `consumer`.
    pub pools: Vec<PoolStats>,
    /// The occupancy of the queues: `jobs`, `inbox`, `ready`.
    pub queues: Vec<QueueStats>,
    /// The latency of batches.
    pub latency: Latency,
    /// The time of the GPU.
    pub gpu: GpuTime,
    /// The staging slots of a GPU that augments; zeros elsewhere.
    pub slots: SlotStats,
    /// The loader's shaders; zeros if the CPU executor runs.
    pub compile: Compile,
    /// Counters of object stores and web servers; `None` if the data set reads from this machine alone.
    pub remote: Option<RemoteStats>,
}

/// One stage, in [`Stats`].
///
/// ```no_run
/// # fn show(loader: &gpufeed::DataLoader) {
/// for stage in &loader.stats().stages {
///     println!("{}: {:?} for {} images", stage.stage, stage.busy, stage.items);
/// }
/// # }
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct StageStats {
    /// The stage that these times belong to.
    pub stage: Stage,
    /// Images, failed attempts included.
    pub items: u64,
    /// Time of the stage, including waits for its own disk or core. Of images shorter than 50 µs one in eight is
    /// divided into stages, and the others count as similar to it.
    pub busy: Duration,
    /// The part of `busy` on a core: estimated from one image in 32, of short images one in 256; `None` without such an
    /// image.
    pub cpu: Option<Duration>,
    /// Bytes that the stage has moved.
    pub bytes: u64,
    /// Nanoseconds of the sampled images: in total, and on a core.
    sampled: (u64, u64),
}

/// A pool of threads with the same task, in [`Stats`].
///
/// ```no_run
/// # fn show(loader: &gpufeed::DataLoader) {
/// for pool in &loader.stats().pools {
///     println!("{}: busy {:?}, starved {:?}, blocked {:?}", pool.name, pool.busy, pool.starved, pool.blocked);
/// }
/// # }
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PoolStats {
    /// `feed`, `workers`, `upload` (the batch thread) or `consumer`.
    pub name: &'static str,
    /// The number of threads in the pool.
    pub threads: usize,
    /// The time that the threads worked.
    pub busy: Duration,
    /// Time waiting for input.
    pub starved: Duration,
    /// Time waiting until the next stage has room.
    pub blocked: Duration,
}

/// A queue, in [`Stats`].
///
/// ```no_run
/// # fn show(loader: &gpufeed::DataLoader) {
/// for queue in &loader.stats().queues {
///     println!("{}: {:.0} % of {} entries filled", queue.name, 100.0 * queue.occupancy, queue.capacity);
/// }
/// # }
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct QueueStats {
    /// `jobs` (to the workers), `inbox` (to the batch thread), `ready` (to the caller).
    pub name: &'static str,
    /// The most entries that it can hold.
    pub capacity: usize,
    /// The average share of the capacity, 0 to 1, that was filled when the reader came to take an entry; for `inbox`,
    /// when the reader came to wait.
    pub occupancy: f64,
    looks: u64,
    found: u64,
}

/// The time of the GPU for the passes of a loader.
///
/// ```no_run
/// # fn show(loader: &gpufeed::DataLoader) {
/// let gpu = loader.stats().gpu;
/// println!("{:?} by {:?}", gpu.busy, gpu.clock);
/// for pass in &gpu.passes {
///     println!("{}: {:?} in {} dispatches", pass.name, pass.time, pass.count);
/// }
/// # }
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct GpuTime {
    /// The source of `busy`.
    pub clock: GpuClock,
    /// The time of all passes by timestamps; else the time that the pipeline waited for the GPU, which is less.
    pub busy: Duration,
    /// The time that the pipeline waited for the GPU, whatever the clock.
    pub waited: Duration,
    /// The passes, by timestamps; empty without them.
    pub passes: Vec<PassTime>,
    /// The passes by timestamps, also if these cannot be trusted.
    sums: Vec<PassTime>,
    submissions: [u64; 3],
}

/// The clock by which the GPU's time was measured.
///
/// ```
/// assert_eq!(gpufeed::GpuClock::default(), gpufeed::GpuClock::None);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum GpuClock {
    /// No GPU has worked.
    #[default]
    None,
    /// The device's own timestamps, at the beginning and the end of passes.
    Timestamps,
    /// Wall time that the pipeline waited: the device has no timestamps, or impossible ones.
    Waits,
}

/// One pass of a plan, in [`GpuTime`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PassTime {
    /// The name of the pass, as the plan prints it.
    pub name: String,
    /// The time of its timed dispatches.
    pub time: Duration,
    /// The number of timed dispatches.
    pub count: u64,
}

impl StageStats {
    fn new(stage: Stage, items: u64, busy: Duration, bytes: u64, sampled: (u64, u64)) -> Self {
        let share = (sampled.0 > 0).then(|| (sampled.1 as f64 / sampled.0 as f64).min(1.0));
        StageStats { stage, items, busy, cpu: share.map(|share| busy.mul_f64(share)), bytes, sampled }
    }

    fn since(&self, earlier: &StageStats) -> StageStats {
        let less = |now: u64, then: u64| now.saturating_sub(then);
        let sampled = (less(self.sampled.0, earlier.sampled.0), less(self.sampled.1, earlier.sampled.1));
        let (items, bytes) = (less(self.items, earlier.items), less(self.bytes, earlier.bytes));
        StageStats::new(self.stage, items, self.busy.saturating_sub(earlier.busy), bytes, sampled)
    }
}

impl PoolStats {
    fn since(&self, earlier: &PoolStats) -> PoolStats {
        PoolStats {
            name: self.name,
            threads: self.threads,
            busy: self.busy.saturating_sub(earlier.busy),
            starved: self.starved.saturating_sub(earlier.starved),
            blocked: self.blocked.saturating_sub(earlier.blocked),
        }
    }
}

impl QueueStats {
    fn new(name: &'static str, capacity: usize, looks: u64, found: u64) -> Self {
        let occupancy = found as f64 / (looks.max(1) as f64 * capacity.max(1) as f64);
        QueueStats { name, capacity, occupancy, looks, found }
    }

    fn since(&self, earlier: &QueueStats) -> QueueStats {
        let (looks, found) = (self.looks.saturating_sub(earlier.looks), self.found.saturating_sub(earlier.found));
        QueueStats::new(self.name, self.capacity, looks, found)
    }
}

impl GpuTime {
    fn new(times: &Times, waited: Duration) -> Self {
        let mut gpu = GpuTime { waited, submissions: times.submissions(), ..GpuTime::default() };
        gpu.sums = times.passes().into_iter().map(|(name, time, count)| PassTime { name, time, count }).collect();
        gpu.choose_clock();
        gpu
    }

    /// Chooses the clock of `busy`, and sums the times of that clock.
    fn choose_clock(&mut self) {
        let [all, timed, impossible] = self.submissions;
        self.busy = self.waited;
        self.clock = match (all, timed) {
            (0, _) if self.waited.is_zero() => GpuClock::None,
            // A driver that resets its clock may spoil one in a hundred; a clock with more impossible times cannot be
            // trusted.
            (_, 1..) if 100 * impossible <= timed => GpuClock::Timestamps,
            _ => GpuClock::Waits,
        };
        if self.clock == GpuClock::Timestamps {
            self.passes = self.sums.clone();
            self.busy = self.passes.iter().map(|pass| pass.time).sum::<Duration>().mul_f64(all as f64 / timed as f64);
        }
    }

    fn since(&self, earlier: &GpuTime) -> GpuTime {
        let before = |name: &str| earlier.sums.iter().find(|pass| pass.name == name);
        let pass = |pass: &PassTime| match before(&pass.name) {
            Some(then) => PassTime {
                name: pass.name.clone(),
                time: pass.time.saturating_sub(then.time),
                count: pass.count.saturating_sub(then.count),
            },
            None => pass.clone(),
        };
        let mut gpu = GpuTime {
            waited: self.waited.saturating_sub(earlier.waited),
            sums: self.sums.iter().map(pass).collect(),
            submissions: std::array::from_fn(|i| self.submissions[i].saturating_sub(earlier.submissions[i])),
            ..GpuTime::default()
        };
        gpu.choose_clock();
        gpu
    }
}

fn each<T: Clone>(now: &[T], then: &[T], since: fn(&T, &T) -> T) -> Vec<T> {
    let pairs = now.iter().enumerate().map(|(i, now)| (now, then.get(i)));
    pairs.map(|(now, then)| then.map_or_else(|| now.clone(), |then| since(now, then))).collect()
}

impl Stats {
    /// Images a second, in the time in which runs were under way.
    pub fn images_per_second(&self) -> f64 {
        self.images as f64 / self.running.as_secs_f64().max(1e-9)
    }

    /// CPU time of the whole process for an image, in seconds; includes the threads of the graphics driver.
    pub fn cpu_seconds_per_image(&self) -> f64 {
        self.cpu.as_secs_f64() / self.images.max(1) as f64
    }

    /// The share of the time that the caller waited for batches, 0 to 1.
    pub fn data_stall(&self) -> f64 {
        (self.pool("consumer").starved.as_secs_f64() / self.running.as_secs_f64().max(1e-9)).min(1.0)
    }

    /// The work between `earlier` and this.
    pub fn since(&self, earlier: &Stats) -> Stats {
        let less = |now: u64, then: u64| now.saturating_sub(then);
        Stats {
            workers: self.workers,
            cores: self.cores,
            images: less(self.images, earlier.images),
            batches: less(self.batches, earlier.batches),
            failed: less(self.failed, earlier.failed),
            cpu_fallback: less(self.cpu_fallback, earlier.cpu_fallback),
            compile: self.compile,
            index_hits: less(self.index_hits, earlier.index_hits),
            other_decoders: less(self.other_decoders, earlier.other_decoders),
            cache_hits: less(self.cache_hits, earlier.cache_hits),
            bytes_read: less(self.bytes_read, earlier.bytes_read),
            bytes_uploaded: less(self.bytes_uploaded, earlier.bytes_uploaded),
            bytes_written: less(self.bytes_written, earlier.bytes_written),
            running: self.running.saturating_sub(earlier.running),
            cpu: self.cpu.saturating_sub(earlier.cpu),
            idle: self.idle.map(|idle| idle.saturating_sub(earlier.idle.unwrap_or_default())),
            watched: self.watched.saturating_sub(earlier.watched),
            // A default snapshot, without stages, is one before all work.
            stages: each(&self.stages, &earlier.stages, StageStats::since),
            pools: each(&self.pools, &earlier.pools, PoolStats::since),
            queues: each(&self.queues, &earlier.queues, QueueStats::since),
            latency: self.latency.since(&earlier.latency),
            gpu: self.gpu.since(&earlier.gpu),
            slots: self.slots.since(&earlier.slots),
            remote: self
                .remote
                .as_ref()
                .map(|now| now.since(earlier.remote.as_ref().unwrap_or(&RemoteStats::default()))),
        }
    }

    fn stage(&self, stage: Stage) -> StageStats {
        self.stages.get(stage as usize).cloned().unwrap_or(StageStats::new(stage, 0, Duration::ZERO, 0, (0, 0)))
    }

    fn pool(&self, name: &'static str) -> PoolStats {
        let found = self.pools.iter().find(|pool| pool.name == name).cloned();
        let zero = Duration::ZERO;
        found.unwrap_or(PoolStats { name, threads: 1, busy: zero, starved: zero, blocked: zero })
    }

    fn queue(&self, name: &'static str) -> f64 {
        self.queues.iter().find(|queue| queue.name == name).map_or(0.0, |queue| queue.occupancy)
    }
}

impl fmt::Display for Stats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let images = self.images.max(1) as f64;
        writeln!(
            f,
            "{} images in {:.2} s: {:.0} images/s, {:.3} CPU-ms an image; {} failed, {} finished on the CPU for the GPU, {} by seek index, {} by other decoders",
            self.images,
            self.running.as_secs_f64(),
            self.images_per_second(),
            1e3 * self.cpu_seconds_per_image(),
            self.failed,
            self.cpu_fallback,
            self.index_hits,
            self.other_decoders
        )?;
        f.write_str("ms an image:")?;
        for stage in self.stages.iter().filter(|stage| stage.items > 0) {
            write!(f, " {} {:.3}", stage.stage, 1e3 * stage.busy.as_secs_f64() / images)?;
        }
        if self.gpu.clock != GpuClock::None {
            let clock = if self.gpu.clock == GpuClock::Timestamps { "timestamps" } else { "waits" };
            write!(f, " GPU {:.3} ({clock})", 1e3 * self.gpu.busy.as_secs_f64() / images)?;
        }
        f.write_str("\nbusy/starved/blocked %:")?;
        let running = self.running.as_secs_f64().max(1e-9);
        for PoolStats { name, threads, busy, starved, blocked } in &self.pools {
            let share = |time: &Duration| 100.0 * time.as_secs_f64() / (running * *threads as f64);
            write!(f, " {name} {:.0}/{:.0}/{:.0}", share(busy), share(starved), share(blocked))?;
        }
        let Latency { p50, p90, p99, .. } = &self.latency;
        write!(f, "\nbatch latency: p50 {p50:.1?}, p90 {p90:.1?}, p99 {p99:.1?}")?;
        if self.slots.slots > 0 {
            write!(f, "\nstaging: {}", self.slots)?;
        }
        self.remote.as_ref().map_or(Ok(()), |remote| write!(f, "\nremote: {remote}"))
    }
}
