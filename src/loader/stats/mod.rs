//! Where the time goes: counters that are always on, and what they say.

mod bottleneck;
mod counters;
mod idle;
mod lane;
mod latency;
pub(crate) mod measure;
mod running;
mod stage;

pub use bottleneck::{Bottleneck, Change, Resource};
pub(super) use counters::{Capacities, Counters};
pub(super) use lane::Clock;
pub use latency::Latency;
pub use stage::Stage;

use crate::gpu::timing::Times;
use std::fmt;
use std::time::Duration;

/// What a loader has done since it was built, or between two looks at it ([`since`](Self::since)).
///
/// Times are sums over threads. Runs beside each other are summed up too, so rates are those of one run.
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
    /// Threads that decode.
    pub workers: usize,
    /// Cores that the process may use.
    pub cores: usize,
    /// Images finished by the workers.
    pub images: u64,
    /// Batches that the caller received.
    pub batches: u64,
    /// Samples that failed and were replaced.
    pub failed: u64,
    /// Images that the CPU executor finished on the GPU backend, whatever the slots' size: those that read more than 16
    /// MiB of source pixels, have an intermediate above 64 MiB, or are reduced so much that a thread would loop 60,000
    /// times.
    pub cpu_fallback: u64,
    /// Files that were decoded from inside by their seek index; the others of an epoch after the first were read whole,
    /// or are no JPEGs.
    pub index_hits: u64,
    /// Files that another decoder than the JPEG engine has decoded: other formats, and progressive or CMYK JPEGs.
    pub other_decoders: u64,
    /// Samples that came from the [cache](crate::Cache), unread and undecoded.
    pub cache_hits: u64,
    /// Bytes of the samples, as the data set gave them.
    pub bytes_read: u64,
    /// Bytes that went where the GPU reads them: source pixels where it augments, finished batches where the CPU does.
    pub bytes_uploaded: u64,
    /// Bytes of the batches that the caller received.
    pub bytes_written: u64,
    /// Time during which runs were under way.
    pub running: Duration,
    /// CPU time of the whole process in that time: the caller's and the graphics driver's threads too.
    pub cpu: Duration,
    /// Time in which the machine's cores had nothing to do, summed up over them, since the loader was built or between the
    /// two looks; waits for disks are among it. `None` where the system does not say: Linux does.
    pub idle: Option<Duration>,
    /// Wall time of the same.
    watched: Duration,
    /// What each stage took, in the order of the line.
    pub stages: Vec<StageStats>,
    /// How the threads' time divides: `feed`, `workers`, `upload`, `consumer`.
    pub pools: Vec<PoolStats>,
    /// How full the queues were: `jobs`, `inbox`, `ready`.
    pub queues: Vec<QueueStats>,
    /// How long batches took.
    pub latency: Latency,
    /// What the GPU took.
    pub gpu: GpuTime,
}

/// A stage's part in [`Stats`].
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
    /// Which.
    pub stage: Stage,
    /// Images; the attempts that failed count, too.
    pub items: u64,
    /// Time that it took, waits for its own disk or core included. Of images shorter than 50 µs one in eight is divided into
    /// stages, and the others are taken to be like it.
    pub busy: Duration,
    /// Of that, time on a core: estimated from one image of 32, of short ones one of 256; `None` without such an image.
    pub cpu: Option<Duration>,
    /// Bytes that it gave.
    pub bytes: u64,
    /// Nanoseconds of the sampled images: all, and on a core.
    sampled: (u64, u64),
}

/// Threads that do the same, in [`Stats`].
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
    /// `feed`, `workers`, `upload` or `consumer`.
    pub name: &'static str,
    /// How many there are.
    pub threads: usize,
    /// At work.
    pub busy: Duration,
    /// Waiting for something to do.
    pub starved: Duration,
    /// Waiting until what comes next has room.
    pub blocked: Duration,
}

/// A queue's part in [`Stats`].
///
/// ```no_run
/// # fn show(loader: &gpufeed::DataLoader) {
/// for queue in &loader.stats().queues {
///     println!("{}: {:.0} % of {} places taken", queue.name, 100.0 * queue.occupancy, queue.capacity);
/// }
/// # }
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct QueueStats {
    /// `jobs` (to the workers), `inbox` (to the thread that assembles), `ready` (to the caller).
    pub name: &'static str,
    /// Its places.
    pub capacity: usize,
    /// Share of them that was taken when its reader came to take one, on average; of `inbox`, when it came to wait.
    pub occupancy: f64,
    looks: u64,
    found: u64,
}

/// What the GPU took for the passes of a loader.
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
    /// Where `busy` comes from.
    pub clock: GpuClock,
    /// Of all passes by timestamps; else the time that the line waited for the GPU, which is less than it took.
    pub busy: Duration,
    /// The line's waits for the GPU, whatever the clock.
    pub waited: Duration,
    /// By timestamps; empty without.
    pub passes: Vec<PassTime>,
    /// The same, whether they are to be trusted or not.
    sums: Vec<PassTime>,
    submissions: [u64; 3],
}

/// How the GPU's time was measured.
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
    /// The device's own timestamps at the borders of passes.
    Timestamps,
    /// Wall time that the line waited: the device has no timestamps, or gave some that cannot be.
    Waits,
}

/// One pass of a plan, in [`GpuTime`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PassTime {
    /// The pass, as the plan prints it.
    pub name: String,
    /// Of its timed dispatches.
    pub time: Duration,
    /// How many those are.
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
        gpu.judge();
        gpu
    }

    /// Sums up, or falls back on the waits.
    fn judge(&mut self) {
        let [all, timed, impossible] = self.submissions;
        self.busy = self.waited;
        self.clock = match (all, timed) {
            (0, _) if self.waited.is_zero() => GpuClock::None,
            // One of a hundred may be torn by a driver's reset of its clock; more than that is a clock not to be trusted.
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
        gpu.judge();
        gpu
    }
}

fn each<T: Clone>(now: &[T], then: &[T], since: fn(&T, &T) -> T) -> Vec<T> {
    let pairs = now.iter().enumerate().map(|(i, now)| (now, then.get(i)));
    pairs.map(|(now, then)| then.map_or_else(|| now.clone(), |then| since(now, then))).collect()
}

impl Stats {
    /// Images a second while runs were under way.
    pub fn images_per_second(&self) -> f64 {
        self.images as f64 / self.running.as_secs_f64().max(1e-9)
    }

    /// Of the whole process, the graphics driver's threads included.
    pub fn cpu_seconds_per_image(&self) -> f64 {
        self.cpu.as_secs_f64() / self.images.max(1) as f64
    }

    /// Share of the time that the caller waited for batches.
    pub fn data_stall(&self) -> f64 {
        (self.pool("consumer").starved.as_secs_f64() / self.running.as_secs_f64().max(1e-9)).min(1.0)
    }

    /// What was done between `earlier` and this.
    pub fn since(&self, earlier: &Stats) -> Stats {
        let less = |now: u64, then: u64| now.saturating_sub(then);
        Stats {
            workers: self.workers,
            cores: self.cores,
            images: less(self.images, earlier.images),
            batches: less(self.batches, earlier.batches),
            failed: less(self.failed, earlier.failed),
            cpu_fallback: less(self.cpu_fallback, earlier.cpu_fallback),
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
            // Nothing was done before a default one.
            stages: each(&self.stages, &earlier.stages, StageStats::since),
            pools: each(&self.pools, &earlier.pools, PoolStats::since),
            queues: each(&self.queues, &earlier.queues, QueueStats::since),
            latency: self.latency.since(&earlier.latency),
            gpu: self.gpu.since(&earlier.gpu),
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
        write!(f, "\nbatch latency: p50 {p50:.1?}, p90 {p90:.1?}, p99 {p99:.1?}")
    }
}
