//! The resource that limits the pipeline, and the gain that a change is predicted to bring.
//!
//! The operational law: a resource that is in use for a share U of the time could do 1 / U of the present rate, and the
//! pipeline runs at the rate of its slowest resource. So the resource that is in use all the time is the limit. The
//! queues must agree: full before it, empty after it. If no resource is in use all the time, or the queues disagree,
//! the answer is "unexplained". The method follows Plumber (arXiv 2111.04131) and DS-Analyzer (arXiv 2007.06775).

use super::{GpuClock, Stage, Stats};
use crate::storage::RemoteStats;
use std::fmt;
use std::time::Duration;

/// A rate within this share of a resource's capacity is limited by that resource.
const SATURATED: f64 = 0.9;
/// A queue that is fuller than this is full.
const FULL: f64 = 0.8;
/// A queue that is emptier than this is empty.
const EMPTY: f64 = 0.2;
/// A pipeline that waits less than this share of the time for the GPU finds the GPU idle.
const NOTICED: f64 = 0.1;
/// The system counts idle time in hundredths of a second: over a shorter time the share is too inexact.
const COUNTED: Duration = Duration::from_millis(200);

/// A resource that can limit a pipeline.
///
/// ```
/// assert_eq!(gpufeed::Resource::Consumer.to_string(), "the consumer");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Resource {
    /// Waiting for samples: the disk, or a data set that takes time to return them.
    Disk,
    /// Waiting for bytes of object stores and web servers.
    Network,
    /// The cores, or the workers that may use them: decoding, and augmenting on the CPU executor.
    Cpu,
    /// The batch thread, which fills and submits slots, or copies batches to the GPU.
    Upload,
    /// The GPU's passes.
    Gpu,
    /// The caller, who takes batches later than they are ready.
    Consumer,
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Resource::Disk => "the disk",
            Resource::Network => "the network",
            Resource::Cpu => "the CPU",
            Resource::Upload => "the upload",
            Resource::Gpu => "the GPU",
            Resource::Consumer => "the consumer",
        })
    }
}

/// The result of [`Stats::bottleneck`]; prints itself as one sentence.
///
/// ```no_run
/// # fn show(loader: &gpufeed::DataLoader) {
/// let bottleneck = loader.stats().bottleneck();
/// println!("{bottleneck}");
/// for (resource, share) in &bottleneck.utilisation {
///     println!("{resource}: {:.0} % in use", 100.0 * share);
/// }
/// # }
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Bottleneck {
    /// The resource that limits; `None` if the numbers disagree, or nothing has run.
    pub resource: Option<Resource>,
    /// The evidence for the resource, or the reason for which there is no answer.
    pub reason: String,
    /// The share of each resource's capacity that is in use, 0 to 1; a resource could do 1 / share of the present rate.
    pub utilisation: Vec<(Resource, f64)>,
    /// The single change with the largest predicted gain, if one is predicted to gain more than 2 %.
    pub change: Option<Change>,
}

/// A change, and its predicted gain.
///
/// ```no_run
/// # fn show(loader: &gpufeed::DataLoader) {
/// if let Some(change) = loader.stats().bottleneck().change {
///     println!("{}: {:+.0} %", change.what, 100.0 * change.gain);
/// }
/// # }
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Change {
    /// The change to make, in words.
    pub what: String,
    /// The relative gain: 0.94 is 94 % more images a second.
    pub gain: f64,
}

impl fmt::Display for Bottleneck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.resource {
            Some(resource) => write!(f, "{resource} limits: {}", self.reason)?,
            None => write!(f, "unexplained: {}", self.reason)?,
        }
        match &self.change {
            Some(Change { what, gain }) => write!(f, "; {what}: {:+.0} %", 100.0 * gain),
            None => Ok(()),
        }
    }
}

/// The statistics as shares of the time during which runs were under way.
struct Shares {
    seconds: f64,
    workers: f64,
    cores: f64,
    /// Shares of the workers' time: waiting for samples, and all work (waiting for samples included).
    waiting: f64,
    working: f64,
    /// The part of `waiting` for remote bytes; `None` if the data set has no connection.
    network: Option<f64>,
    blocked: f64,
    /// CPU time of the process, in cores.
    cpu: f64,
    /// Idle cores: no process uses them.
    idle: f64,
    /// Cores that this process uses or could use.
    usable: f64,
    upload: f64,
    gpu: f64,
    by_timestamps: bool,
    consumer: f64,
    jobs: f64,
    ready: f64,
}

impl Shares {
    fn new(stats: &Stats) -> Shares {
        let seconds = stats.running.as_secs_f64().max(1e-9);
        let share = |time: Duration| time.as_secs_f64() / seconds;
        let workers = stats.workers.max(1) as f64;
        let pool = stats.pool("workers");
        let submitting = share(stats.pool("upload").busy);
        let waited = share(stats.gpu.waited);
        // A GPU that makes the pipeline wait works all the time, except while the pipeline prepares work for it.
        let by_waits = if waited >= NOTICED { waited + submitting } else { waited };
        let (gpu, upload, by_timestamps) = match stats.gpu.clock {
            GpuClock::Timestamps => {
                let by_clock = share(stats.gpu.busy);
                // Timestamps measure passes alone: the rest of the wait is for the copies of slots.
                if by_clock < 0.5 * by_waits {
                    (by_clock, submitting.max(by_waits), true)
                } else {
                    (by_clock.max(by_waits), submitting, by_clock >= by_waits)
                }
            }
            _ => (by_waits, submitting, false),
        };
        let consumer = (1.0 - stats.data_stall()).max(0.0);
        let mut cpu = share(stats.cpu);
        // A thread that waits for a queue spins before it sleeps, which is CPU time without work. If neither GPU nor
        // caller is at work, the busy times of the threads bound it.
        if stats.gpu.clock == GpuClock::None && consumer < NOTICED {
            cpu = cpu.min(stats.pools.iter().map(|pool| share(pool.busy)).sum());
        }
        let cores = stats.cores.max(1) as f64;
        let (waiting, working) = (share(waits_of_reading(stats)) / workers, share(pool.busy) / workers);
        let network = stats.remote.as_ref().map(|remote| (share(remote.waited) / workers).min(waiting));
        let mut idle = (cores - cpu).max(0.0);
        if let Some(time) = stats.idle.filter(|_| stats.watched >= COUNTED) {
            // Cores on which this process spins are available to it.
            let spinning = share(stats.cpu) - cpu;
            idle = idle.min(time.as_secs_f64() / stats.watched.as_secs_f64() + spinning);
        }
        // A thread that waits for samples needs a core only for moments, which it gets even if all cores are busy.
        let usable = if waiting > 0.5 * working { cores } else { cpu + idle };
        Shares {
            seconds,
            workers,
            cores,
            waiting,
            working,
            network,
            blocked: share(pool.blocked) / workers,
            cpu,
            idle,
            usable,
            upload: upload.min(1.0),
            gpu: gpu.min(1.0),
            by_timestamps,
            consumer,
            jobs: stats.queue("jobs"),
            ready: stats.queue("ready"),
        }
    }

    /// The share of each resource's capacity that is in use.
    fn utilisation(&self) -> Vec<(Resource, f64)> {
        let waits = match self.network {
            Some(network) => vec![(Resource::Disk, self.waiting - network), (Resource::Network, network)],
            None => vec![(Resource::Disk, self.waiting)],
        };
        let others = [
            (Resource::Cpu, (self.working - self.waiting).max(self.cpu / self.cores).min(1.0)),
            (Resource::Upload, self.upload),
            (Resource::Gpu, self.gpu),
            (Resource::Consumer, self.consumer),
        ];
        waits.into_iter().chain(others).collect()
    }

    /// The predicted rate, relative to the present one, with `workers` workers whose work takes `work` times as long.
    fn rate(&self, workers: f64, work: f64) -> f64 {
        let others = [self.upload, self.gpu, self.consumer].map(|share| 1.0 / share.max(1e-6));
        // Workers wait for samples at the same time, but compute only on cores.
        let cpu = self.usable / self.cpu.max(1e-6);
        // A saturated pool still waits now and then; it will wait as much with other numbers of workers.
        let working = if self.working >= SATURATED { 1.0 } else { self.working };
        let pool = workers / (self.workers * working * work).max(1e-6);
        others.into_iter().fold(cpu.min(pool), f64::min)
    }

    /// The relative rate that the other resources would allow, and the one of them that would limit.
    fn rate_without(&self, own: Resource) -> (f64, Resource) {
        let others = self.utilisation().into_iter().filter(|(other, _)| *other != own);
        let (next, share) = others.fold((Resource::Consumer, 0.0), |a, b| if b.1 > a.1 { b } else { a });
        (1.0 / share.max(0.01), next)
    }

    fn network_limits(&self, remote: &RemoteStats, images: u64) -> (String, Option<Change>) {
        let reason = format!(
            "{} spent {} of the time waiting for remote bytes: {:.0} MB/s came, in {:.3} requests an image, {} of them retries",
            plural(self.workers, "worker"),
            percent(self.network.unwrap_or_default()),
            remote.bytes as f64 / 1e6 / self.seconds,
            remote.requests as f64 / images.max(1) as f64,
            remote.retries,
        );
        let there = self.rate(self.workers, 1.0 - self.network.unwrap_or_default() / self.working.max(1e-9));
        let what = match remote.evicted_unread {
            0 => "samples that are there at once (remote_cache, a nearer store)".to_owned(),
            blocks => format!(
                "a larger read_ahead, as {blocks} blocks left memory before all their samples were read, or remote_cache"
            ),
        };
        (reason, change(what, there))
    }

    fn disk_limits(&self) -> (String, Option<Change>) {
        let reason = format!(
            "{} spent {} of the time waiting for samples",
            plural(self.workers, "worker"),
            percent(self.waiting)
        );
        let one_more = self.rate(self.workers + 1.0, 1.0);
        // A setting is better advice than a purchase, as long as there is a core for it.
        if self.usable - self.cpu >= 0.5 && one_more > 1.02 {
            (reason, change(format!("{:.0} workers, whose waits overlap", self.workers + 1.0), one_more))
        } else {
            let cached = self.rate(self.workers, 1.0 - self.waiting / self.working.max(1e-9));
            (reason, change("samples that are there at once (page cache, a faster disk)".to_owned(), cached))
        }
    }
}

/// A change to the relative rate `rate`, if it gains more than 2 %.
fn change(what: String, rate: f64) -> Option<Change> {
    Some(Change { what, gain: rate - 1.0 }).filter(|change| change.gain > 0.02)
}

/// The time that reading spends off the core, beyond the stretch that all stages have if there are more threads than
/// cores.
fn waits_of_reading(stats: &Stats) -> Duration {
    let stretched = |stages: &[Stage]| {
        let (mut busy, mut cpu) = (0.0, 0.0);
        for stage in stages.iter().map(|stage| stats.stage(*stage)) {
            busy += stage.busy.as_secs_f64();
            cpu += stage.cpu.unwrap_or(stage.busy).as_secs_f64();
        }
        if cpu > 0.0 { busy / cpu } else { 1.0 }
    };
    let read = stats.stage(Stage::Read);
    if read.cpu.is_none() {
        // No image of this period was sampled: all time that the workers spend off the core counts as reading.
        return stats.pool("workers").busy.saturating_sub(stats.cpu).min(read.busy);
    }
    let on_core = read.cpu.unwrap_or(read.busy).mul_f64(stretched(&[Stage::Decode, Stage::Augment, Stage::Copy]));
    read.busy.saturating_sub(on_core)
}

fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}

fn plural(number: f64, what: &str) -> String {
    format!("{number:.0} {what}{}", if number == 1.0 { "" } else { "s" })
}

impl Stats {
    /// Finds the resource that limits the pipeline, the shares of the others, and the change that would gain most.
    ///
    /// Use it on a second or more of steady work: `loader.stats().since(&earlier)` leaves out the start of a run.
    pub fn bottleneck(&self) -> Bottleneck {
        let shares = Shares::new(self);
        let utilisation = shares.utilisation();
        let unexplained =
            |reason: String| Bottleneck { resource: None, reason, utilisation: utilisation.clone(), change: None };
        if self.images == 0 || shares.seconds < 1e-6 {
            return unexplained("nothing has run yet".to_owned());
        }
        // Workers wait for samples and compute in turn, so neither alone fills their time.
        let pool = shares.working.max(shares.cpu / shares.cores).min(1.0);
        let pooled = match shares.waiting > 0.5 * shares.working {
            true if shares.network.is_some_and(|network| network > 0.5 * shares.waiting) => Resource::Network,
            true => Resource::Disk,
            false => Resource::Cpu,
        };
        let candidates = [
            (Resource::Consumer, shares.consumer),
            (Resource::Gpu, shares.gpu),
            (Resource::Upload, shares.upload),
            (pooled, pool),
        ];
        // A full resource blocks the ones before it, so of two that are full the later one limits.
        let largest = candidates.iter().map(|(_, share)| *share).fold(0.0, f64::max);
        let Some((resource, share)) = candidates.into_iter().find(|(_, share)| *share >= SATURATED.max(largest - 0.05))
        else {
            let (resource, share) =
                candidates.into_iter().fold((Resource::Cpu, 0.0), |a, b| if b.1 > a.1 { b } else { a });
            return unexplained(format!("nothing is in use all the time; most is {resource}, {}", percent(share)));
        };
        if let Err(reason) = self.queues_agree(resource, &shares) {
            return unexplained(format!("{resource} is in use {} of the time, but {reason}", percent(share)));
        }
        let (reason, change) = self.explain_limit(resource, &shares);
        Bottleneck { resource: Some(resource), reason, utilisation, change }
    }

    /// The predicted gain of another number of workers: 0.94 is 94 % more images a second. `None` if the bottleneck is
    /// unexplained.
    ///
    /// The prediction assumes that every core does as much as one does now, and counts only cores that other processes
    /// leave idle (as far as [`idle`](Self::idle) tells). Virtual cores that share a real one do less: 0.85 to 1 times
    /// as much on the machine of `benches/LOG.md`.
    pub fn gain_of_workers(&self, workers: usize) -> Option<f64> {
        self.bottleneck().resource?;
        Some(Shares::new(self).rate(workers as f64, 1.0) - 1.0)
    }

    /// An error unless the queues before the limiting resource are full and those after it are empty.
    fn queues_agree(&self, resource: Resource, shares: &Shares) -> Result<(), String> {
        let ready = || format!("batches wait for the caller (the queue is {} full)", percent(shares.ready));
        match resource {
            Resource::Consumer if shares.ready < FULL => {
                Err(format!("it finds the queue of batches only {} full", percent(shares.ready)))
            }
            Resource::Consumer => Ok(()),
            _ if shares.ready > EMPTY => Err(ready()),
            Resource::Upload | Resource::Gpu if shares.blocked < EMPTY && shares.cpu < SATURATED * shares.cores => {
                // On the CPU executor the workers run out of memory to fill instead of being blocked.
                let starved = self.pool("workers").starved.as_secs_f64() / (shares.seconds * shares.workers);
                if starved < EMPTY { Err("the workers in front of it do not wait".to_owned()) } else { Ok(()) }
            }
            Resource::Disk | Resource::Network | Resource::Cpu if shares.jobs < FULL / 2.0 => {
                Err(format!("the queue in front of the workers is only {} full", percent(shares.jobs)))
            }
            _ => Ok(()),
        }
    }

    /// The evidence that `resource` limits, and the change that would gain most.
    fn explain_limit(&self, resource: Resource, shares: &Shares) -> (String, Option<Change>) {
        match resource {
            Resource::Disk => shares.disk_limits(),
            Resource::Network => {
                shares.network_limits(self.remote.as_ref().unwrap_or(&RemoteStats::default()), self.images)
            }
            Resource::Cpu => self.cpu_limits(shares),
            Resource::Upload => {
                let (rate, next) = shares.rate_without(resource);
                let reason = format!("it is in use {} of the time", percent(shares.upload));
                let what = format!("fewer bytes (batches of f16 or u8, smaller regions), until {next} limits, at most");
                (reason, change(what, rate))
            }
            Resource::Gpu => {
                let (rate, next) = shares.rate_without(resource);
                let clock = if shares.by_timestamps { "by its timestamps" } else { "by the pipeline's waits" };
                let reason = format!("it is busy {} of the time, {clock}", percent(shares.gpu));
                let what = format!("fewer steps, a smaller output or a faster GPU, until {next} limits, at most");
                (reason, change(what, rate))
            }
            Resource::Consumer => {
                let (rate, _) = shares.rate_without(resource);
                let could = rate * self.images_per_second();
                let reason = format!(
                    "it waits for batches only {} of the time; the pipeline could deliver {could:.0} images/s",
                    percent(self.data_stall())
                );
                (reason, None)
            }
        }
    }

    fn cpu_limits(&self, shares: &Shares) -> (String, Option<Change>) {
        let decode = self.stage(Stage::Decode).busy.as_secs_f64();
        let augment = self.stage(Stage::Augment).busy.as_secs_f64();
        let what = if augment > decode { "augmenting" } else { "decoding" };
        let of_work = decode.max(augment) / self.pool("workers").busy.as_secs_f64().max(1e-9);
        let busy = format!("{} busy {}", plural(shares.workers, "worker"), percent(shares.working));
        let taken = (shares.cores - shares.cpu - shares.idle).max(0.0);
        let taken = if taken < 0.05 { String::new() } else { format!(", {taken:.1} busy otherwise") };
        let reason = format!(
            "{busy}, {} of that {what}, {:.1} of {} idle{taken}",
            percent(of_work),
            shares.idle,
            plural(shares.cores, "core")
        );
        let one_more = shares.rate(shares.workers + 1.0, 1.0);
        if shares.idle >= 0.5 && one_more > 1.02 {
            (reason, change(format!("{:.0} workers", shares.workers + 1.0), one_more))
        } else {
            let more = Shares { usable: shares.usable + 1.0, ..*shares };
            (reason, change("one more core and worker".to_owned(), more.rate(shares.workers + 1.0, 1.0)))
        }
    }
}

#[cfg(test)]
mod tests;
