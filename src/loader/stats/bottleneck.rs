//! Which resource limits the line, and what a change would bring.
//!
//! The operational law: a resource that is in use for a share U of the time could do 1 / U of the present rate, and the
//! line goes as fast as the least of them. So the one in use all the time limits. The queues must agree: full in front
//! of it, empty behind it. Where nothing is in use all the time, or the queues say otherwise, the answer is
//! "unexplained". The method follows Plumber (arXiv 2111.04131) and DS-Analyzer (arXiv 2007.06775).

use super::{GpuClock, Stage, Stats};
use std::fmt;
use std::time::Duration;

/// A rate within this share of a resource's capacity is limited by it.
const SATURATED: f64 = 0.9;
/// A queue that is fuller than this is full.
const FULL: f64 = 0.8;
/// A queue that is emptier than this is empty.
const EMPTY: f64 = 0.2;
/// A line that waits less than this share of the time for the GPU finds it idle.
const NOTICED: f64 = 0.1;
/// The system counts idle time in hundredths of a second: for a shorter time the share is too inexact.
const COUNTED: Duration = Duration::from_millis(200);

/// What a line can be limited by.
///
/// ```
/// assert_eq!(gpufeed::Resource::Consumer.to_string(), "the consumer");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Resource {
    /// Waiting for samples: the disk, the network, or a data set that takes its time.
    Disk,
    /// The cores, or the workers that may use them: decoding, and augmenting where the CPU does it.
    Cpu,
    /// The one thread that fills and submits slots, or copies batches up.
    Upload,
    /// The GPU's passes.
    Gpu,
    /// The caller.
    Consumer,
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Resource::Disk => "the disk",
            Resource::Cpu => "the CPU",
            Resource::Upload => "the upload",
            Resource::Gpu => "the GPU",
            Resource::Consumer => "the consumer",
        })
    }
}

/// What [`Stats::bottleneck`] found; prints itself as one sentence.
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
    /// The resource that limits; `None` where the signs disagree, or nothing has run.
    pub resource: Option<Resource>,
    /// What it was seen by, or why there is no answer.
    pub reason: String,
    /// Of each resource, the share of its capacity in use; a resource could do 1 / share of the present rate.
    pub utilisation: Vec<(Resource, f64)>,
    /// The single change that would bring most, as far as these numbers tell.
    pub change: Option<Change>,
}

/// A change, and what it is predicted to bring.
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
    /// What to change.
    pub what: String,
    /// Relative: 0.94 is 94 % more images a second.
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

/// The line's numbers as shares of the time it ran.
struct Shares {
    seconds: f64,
    workers: f64,
    cores: f64,
    /// Of the workers' time: waiting for samples, and all their work together.
    waiting: f64,
    working: f64,
    blocked: f64,
    /// Of one core.
    cpu: f64,
    /// Cores that no process uses.
    idle: f64,
    /// Cores that this process uses or can have.
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
        // A GPU that is waited for works all the time that the line does not spend on finding work for it.
        let by_waits = if waited >= NOTICED { waited + submitting } else { waited };
        let (gpu, upload, by_timestamps) = match stats.gpu.clock {
            GpuClock::Timestamps => {
                let by_clock = share(stats.gpu.busy);
                // Timestamps know passes alone: what the line waits for beside them is the copy of its slots.
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
        // A thread that waits for a queue spins before it sleeps, which is no work. Where nobody else is at work, the line's
        // own times say how much there is.
        if stats.gpu.clock == GpuClock::None && consumer < NOTICED {
            cpu = cpu.min(stats.pools.iter().map(|pool| share(pool.busy)).sum());
        }
        let cores = stats.cores.max(1) as f64;
        let (waiting, working) = (share(waits_of_reading(stats)) / workers, share(pool.busy) / workers);
        let mut idle = (cores - cpu).max(0.0);
        if let Some(time) = stats.idle.filter(|_| stats.watched >= COUNTED) {
            // Those that this process spins on are its own.
            let spinning = share(stats.cpu) - cpu;
            idle = idle.min(time.as_secs_f64() / stats.watched.as_secs_f64() + spinning);
        }
        // Who waits for samples needs a core for moments, and gets it from whoever is there.
        let usable = if waiting > 0.5 * working { cores } else { cpu + idle };
        Shares {
            seconds,
            workers,
            cores,
            waiting,
            working,
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

    /// The share of its capacity that each resource has in use.
    fn utilisation(&self) -> Vec<(Resource, f64)> {
        vec![
            (Resource::Disk, self.waiting),
            (Resource::Cpu, (self.working - self.waiting).max(self.cpu / self.cores).min(1.0)),
            (Resource::Upload, self.upload),
            (Resource::Gpu, self.gpu),
            (Resource::Consumer, self.consumer),
        ]
    }

    /// How many times the present rate there would be with so many workers, whose work takes so much of what it takes now.
    fn rate(&self, workers: f64, work: f64) -> f64 {
        let others = [self.upload, self.gpu, self.consumer].map(|share| 1.0 / share.max(1e-6));
        // Workers wait for samples beside each other, but compute only on cores.
        let cpu = self.usable / self.cpu.max(1e-6);
        // What a saturated pool still waits for at its borders, it will wait for again.
        let working = if self.working >= SATURATED { 1.0 } else { self.working };
        let pool = workers / (self.workers * working * work).max(1e-6);
        others.into_iter().fold(cpu.min(pool), f64::min)
    }
}

/// The time that reading takes off the core, beyond what every stage takes because there are more threads than cores.
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
        // No image of this while was sampled: what the workers do off the core is taken for reading.
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
    /// Which resource limits the line, how far the others are from it, and the single change that would bring most.
    ///
    /// Look at a second or more of steady work: `loader.stats().since(&earlier)` leaves the start of a run out.
    pub fn bottleneck(&self) -> Bottleneck {
        let shares = Shares::new(self);
        let utilisation = shares.utilisation();
        let unexplained =
            |reason: String| Bottleneck { resource: None, reason, utilisation: utilisation.clone(), change: None };
        if self.images == 0 || shares.seconds < 1e-6 {
            return unexplained("nothing has run yet".to_owned());
        }
        // Workers wait for samples and compute in turn: neither alone fills their time.
        let pool = shares.working.max(shares.cpu / shares.cores).min(1.0);
        let pooled = if shares.waiting > 0.5 * shares.working { Resource::Disk } else { Resource::Cpu };
        let candidates = [
            (Resource::Consumer, shares.consumer),
            (Resource::Gpu, shares.gpu),
            (Resource::Upload, shares.upload),
            (pooled, pool),
        ];
        // A full resource blocks what is in front of it, so of two that are full the later one limits.
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
        let (reason, change) = self.found(resource, &shares);
        Bottleneck { resource: Some(resource), reason, utilisation, change }
    }

    /// What another number of workers is predicted to bring: 0.94 is 94 % more images a second. `None` where the line is
    /// unexplained.
    ///
    /// It counts on every core doing what one does now, and on no core that other processes keep busy (as far as
    /// [`idle`](Self::idle) tells); see [`gain_of_workers_at`](Self::gain_of_workers_at).
    pub fn gain_of_workers(&self, workers: usize) -> Option<f64> {
        self.gain_of_workers_at(workers, 1.0)
    }

    /// The same where a core does `core_speed` of what it does now when so many are at work: virtual cores that share a
    /// real one, clocks that fall, memory that is shared. `gpufeed bench` measures it: 0.85 to 1 on the machine of
    /// `benches/LOG.md`.
    pub fn gain_of_workers_at(&self, workers: usize, core_speed: f64) -> Option<f64> {
        self.bottleneck().resource?;
        let shares = Shares::new(self);
        let of_work = shares.waiting / shares.working.max(1e-9);
        // Waits for samples are not the cores'.
        let work = of_work + (1.0 - of_work) / core_speed.max(1e-6);
        Some(Shares { usable: shares.usable * core_speed, ..shares }.rate(workers as f64, work) - 1.0)
    }

    /// Full queues in front of what limits, empty ones behind it.
    fn queues_agree(&self, resource: Resource, shares: &Shares) -> Result<(), String> {
        let ready = || format!("batches wait for the caller (the queue is {} full)", percent(shares.ready));
        match resource {
            Resource::Consumer if shares.ready < FULL => {
                Err(format!("it finds the queue of batches only {} full", percent(shares.ready)))
            }
            Resource::Consumer => Ok(()),
            _ if shares.ready > EMPTY => Err(ready()),
            Resource::Upload | Resource::Gpu if shares.blocked < EMPTY && shares.cpu < SATURATED * shares.cores => {
                // Behind the CPU executor the workers run out of memory to fill instead.
                let starved = self.pool("workers").starved.as_secs_f64() / (shares.seconds * shares.workers);
                if starved < EMPTY { Err("the workers in front of it do not wait".to_owned()) } else { Ok(()) }
            }
            Resource::Disk | Resource::Cpu if shares.jobs < FULL / 2.0 => {
                Err(format!("the queue in front of the workers is only {} full", percent(shares.jobs)))
            }
            _ => Ok(()),
        }
    }

    fn found(&self, resource: Resource, shares: &Shares) -> (String, Option<Change>) {
        let Shares { workers, cores, .. } = *shares;
        let change =
            |what: String, rate: f64| Some(Change { what, gain: rate - 1.0 }).filter(|change| change.gain > 0.02);
        let one_more = shares.rate(workers + 1.0, 1.0);
        let unbounded = |own: Resource| {
            let others = shares.utilisation().into_iter().filter(|(other, _)| *other != own);
            let (next, share) = others.fold((Resource::Consumer, 0.0), |a, b| if b.1 > a.1 { b } else { a });
            (1.0 / share.max(0.01), next)
        };
        match resource {
            Resource::Disk => {
                let cached = shares.rate(workers, 1.0 - shares.waiting / shares.working.max(1e-9));
                let reason = format!(
                    "{} spent {} of the time waiting for samples",
                    plural(workers, "worker"),
                    percent(shares.waiting)
                );
                // A setting before a purchase, as long as there is a core for it.
                if shares.usable - shares.cpu >= 0.5 && one_more > 1.02 {
                    (reason, change(format!("workers({:.0}), whose waits overlap", workers + 1.0), one_more))
                } else {
                    (reason, change("samples that are there at once (page cache, a faster disk)".to_owned(), cached))
                }
            }
            Resource::Cpu => {
                let decode = self.stage(Stage::Decode).busy.as_secs_f64();
                let augment = self.stage(Stage::Augment).busy.as_secs_f64();
                let what = if augment > decode { "augmenting" } else { "decoding" };
                let of_work = decode.max(augment) / self.pool("workers").busy.as_secs_f64().max(1e-9);
                let busy = format!("{} busy {}", plural(workers, "worker"), percent(shares.working));
                let taken = (cores - shares.cpu - shares.idle).max(0.0);
                let taken = if taken < 0.05 { String::new() } else { format!(", {taken:.1} busy otherwise") };
                let reason = format!(
                    "{busy}, {} of that {what}, {:.1} of {} idle{taken}",
                    percent(of_work),
                    shares.idle,
                    plural(cores, "core")
                );
                if shares.idle >= 0.5 && one_more > 1.02 {
                    (reason, change(format!("workers({:.0})", workers + 1.0), one_more))
                } else {
                    let more = Shares { usable: shares.usable + 1.0, ..*shares };
                    (reason, change("one more core and worker".to_owned(), more.rate(workers + 1.0, 1.0)))
                }
            }
            Resource::Upload => {
                let (rate, next) = unbounded(resource);
                let reason = format!("it is in use {} of the time", percent(shares.upload));
                (
                    reason,
                    change(
                        format!("fewer bytes (DType::F16 or U8, smaller regions), until {next} limits, at most"),
                        rate,
                    ),
                )
            }
            Resource::Gpu => {
                let (rate, next) = unbounded(resource);
                let clock = if shares.by_timestamps { "by its timestamps" } else { "by the line's waits" };
                let reason = format!("it is busy {} of the time, {clock}", percent(shares.gpu));
                (
                    reason,
                    change(
                        format!("fewer steps, a smaller output or a faster GPU, until {next} limits, at most"),
                        rate,
                    ),
                )
            }
            Resource::Consumer => {
                let (rate, _) = unbounded(resource);
                let could = rate * self.images_per_second();
                let reason = format!(
                    "it waits for batches only {} of the time; the line could give {could:.0} images/s",
                    percent(self.data_stall())
                );
                (reason, None)
            }
        }
    }
}

#[cfg(test)]
mod tests;
