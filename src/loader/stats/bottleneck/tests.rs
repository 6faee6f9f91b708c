//! Pipelines made up of numbers, with known answers.

use super::*;
use crate::loader::stats::{GpuTime, PoolStats, QueueStats, StageStats};

/// A model of a pipeline that runs for 10 s.
struct Model {
    workers: usize,
    cores: usize,
    /// Seconds an image: reading off the core, the workers' CPU, upload, GPU, consumer.
    wait: f64,
    work: f64,
    upload: f64,
    gpu: f64,
    consume: f64,
}

const FREE: Model =
    Model { workers: 1, cores: 2, wait: 0.0, work: 0.001, upload: 0.00001, gpu: 0.00001, consume: 0.00001 };

impl Model {
    /// The rate that the slowest resource allows.
    fn rate(&self) -> f64 {
        let pool = self.workers as f64 / (self.wait + self.work);
        let cores = self.cores as f64 / (self.work + self.upload);
        [pool, cores, 1.0 / self.upload, 1.0 / self.gpu, 1.0 / self.consume].into_iter().fold(f64::INFINITY, f64::min)
    }

    fn stats(&self) -> Stats {
        let seconds = 10.0;
        let images = self.rate() * seconds;
        let time = |per_image: f64| Duration::from_secs_f64(per_image * images);
        let ns = |per_image: f64| (1e9 * per_image) as u64;
        // Having more threads than cores stretches computing time.
        let stretch =
            if self.wait == 0.0 && self.workers > self.cores { self.workers as f64 / self.cores as f64 } else { 1.0 };
        let stage = |stage, wait: f64, cpu: f64| {
            let busy = wait + stretch * cpu;
            StageStats::new(stage, images as u64, time(busy), 0, (ns(busy), ns(cpu)))
        };
        let pool = |name, threads: usize, busy: Duration, blocked: bool| {
            let rest = Duration::from_secs_f64(seconds * threads as f64).saturating_sub(busy);
            let (starved, blocked) = if blocked { (Duration::ZERO, rest) } else { (rest, Duration::ZERO) };
            PoolStats { name, threads, busy, starved, blocked }
        };
        let queue = |name, full: bool| QueueStats::new(name, 2, 100, if full { 190 } else { 10 });
        let by_consumer = self.consume * self.rate() > 0.95;
        let work = stretch * self.work;
        Stats {
            workers: self.workers,
            cores: self.cores,
            images: images as u64,
            running: Duration::from_secs_f64(seconds),
            cpu: time(self.work + self.upload),
            stages: vec![
                stage(Stage::Read, self.wait, 0.01 * self.work),
                stage(Stage::Params, 0.0, 0.0),
                stage(Stage::Decode, 0.0, 0.99 * self.work),
            ],
            pools: vec![
                pool("workers", self.workers, time(self.wait + work), true),
                pool("upload", 1, time(self.upload), false),
                pool("consumer", 1, time(self.consume), false),
            ],
            queues: vec![queue("jobs", true), queue("ready", by_consumer)],
            gpu: GpuTime { clock: GpuClock::Timestamps, busy: time(self.gpu), ..GpuTime::default() },
            ..Stats::default()
        }
    }
}

fn limit(model: &Model) -> (Option<Resource>, Bottleneck) {
    let found = model.stats().bottleneck();
    (found.resource, found)
}

#[test]
fn each_resource_in_turn() {
    let slow = [
        (Resource::Disk, Model { wait: 0.01, ..FREE }),
        (Resource::Cpu, Model { work: 0.01, ..FREE }),
        (Resource::Cpu, Model { work: 0.01, workers: 2, ..FREE }),
        (Resource::Cpu, Model { work: 0.01, workers: 8, ..FREE }),
        (Resource::Upload, Model { upload: 0.01, ..FREE }),
        (Resource::Gpu, Model { gpu: 0.01, ..FREE }),
        (Resource::Consumer, Model { consume: 0.01, ..FREE }),
    ];
    for (wanted, model) in slow {
        let (found, bottleneck) = limit(&model);
        assert_eq!(found, Some(wanted), "{bottleneck}");
    }
}

#[test]
fn waits_for_remote_bytes_are_the_networks() {
    let model = Model { wait: 0.01, ..FREE };
    let mut stats = model.stats();
    let images = stats.images;
    let remote = |share: f64| RemoteStats {
        waited: Duration::from_secs_f64(share * model.wait * images as f64),
        bytes: 2_000_000_000,
        requests: images / 50,
        retries: 3,
        ..RemoteStats::default()
    };
    stats.remote = Some(remote(0.95));
    let found = stats.bottleneck();
    assert_eq!(found.resource, Some(Resource::Network), "{found}");
    let text = found.to_string();
    assert!(text.starts_with("the network limits: 1 worker spent"), "{text}");
    assert!(text.contains("200 MB/s") && text.contains("0.020 requests an image, 3 of them retries"), "{text}");
    assert!(text.contains("remote_cache") && !text.contains("read_ahead"), "{text}");
    let share = |resource| found.utilisation.iter().find(|(other, _)| *other == resource).unwrap().1;
    assert!(share(Resource::Network) > 0.8 && share(Resource::Disk) < 0.1, "{:?}", found.utilisation);
    stats.remote = Some(RemoteStats { evicted_unread: 7, ..remote(0.95) });
    assert!(stats.bottleneck().to_string().contains("a larger read_ahead, as 7 blocks"));
    // Where the bytes of a remote set are on this disk, the disk limits.
    stats.remote = Some(remote(0.1));
    assert_eq!(stats.bottleneck().resource, Some(Resource::Disk));
}

#[test]
fn predictions_are_what_the_model_then_gives() {
    let models = [
        Model { work: 0.01, ..FREE },
        Model { work: 0.01, cores: 16, workers: 3, ..FREE },
        // With a few more workers the GPU becomes the limit.
        Model { work: 0.01, gpu: 0.008, ..FREE },
        Model { wait: 0.01, ..FREE },
        Model { wait: 0.01, workers: 7, ..FREE },
    ];
    for mut model in models {
        let before = model.rate();
        let change = limit(&model).1.change.unwrap();
        model.workers += 1;
        assert!(change.what.starts_with(&format!("{} workers", model.workers)), "{}", change.what);
        let gain = model.rate() / before - 1.0;
        assert!((change.gain - gain).abs() < 0.02, "{}: predicted {:.3}, then {gain:.3}", change.what, change.gain);
    }
}

#[test]
fn many_workers_meet_what_limits_next() {
    let stats = Model { work: 0.01, cores: 16, upload: 0.002, ..FREE }.stats();
    let gain = stats.gain_of_workers(16).unwrap();
    assert!((gain - 4.0).abs() < 0.1, "one thread uploads 5 times as much at the most: {gain}");
    assert_eq!(Stats::default().gain_of_workers(2), None);
}

#[test]
fn threads_that_spin_at_their_queues_are_no_work() {
    let mut stats = Model { work: 0.01, gpu: 1e-9, ..FREE }.stats();
    stats.gpu = GpuTime::default();
    // One worker works; the waiting ones spin on the other core.
    stats.cpu = stats.running.mul_f64(1.95);
    let gain = stats.gain_of_workers(2).unwrap();
    assert!((gain - 1.0).abs() < 0.03, "{gain}");
    // If the caller works, the second core may be busy with its work.
    stats.pools[2].starved = stats.running.mul_f64(0.5);
    let gain = stats.gain_of_workers(2).unwrap();
    assert!(gain < 0.1, "{gain}");
}

#[test]
fn copies_are_the_uploads_and_not_the_gpus() {
    let mut stats = Model { upload: 0.0035, gpu: 0.003, ..FREE }.stats();
    // The passes take a third of the time, the pipeline waits for two thirds.
    stats.gpu.waited = stats.running.mul_f64(0.64);
    stats.pools[1].busy = stats.running.mul_f64(0.32);
    stats.gpu.busy = stats.running.mul_f64(0.30);
    let found = stats.bottleneck();
    assert_eq!(found.resource, Some(Resource::Upload), "{found}");
}

#[test]
fn a_disk_without_a_sampled_image() {
    let mut stats = Model { wait: 0.2, workers: 4, ..FREE }.stats();
    for stage in &mut stats.stages {
        stage.cpu = None;
    }
    assert_eq!(stats.bottleneck().resource, Some(Resource::Disk));
}

#[test]
fn since_nothing_is_all() {
    let stats = Model { work: 0.01, ..FREE }.stats();
    let all = stats.since(&Stats::default());
    assert_eq!((all.stages.len(), all.pools.len(), all.queues.len()), (3, 3, 2));
    let (all, stats) = (all.bottleneck(), stats.bottleneck());
    assert_eq!((all.resource, all.change), (stats.resource, stats.change));
}

#[test]
fn no_more_workers_than_cores_help() {
    let change = limit(&Model { work: 0.01, workers: 2, ..FREE }).1.change.unwrap();
    assert_eq!(change.what, "one more core and worker");
    assert!((change.gain - 0.5).abs() < 0.02, "{}", change.gain);
}

#[test]
fn a_cached_data_set_is_proposed_where_cores_are_busy_too() {
    let model = Model { wait: 0.006, work: 0.005, workers: 4, cores: 2, ..FREE };
    let change = limit(&model).1.change.unwrap();
    // Four workers already use both cores nine tenths of the time: a fifth worker, or a disk, gains little.
    assert!(change.what.contains("page cache") && change.gain < 0.12, "{change:?}");
}

#[test]
fn unexplained_where_signs_disagree() {
    let mut stats = Model { work: 0.01, ..FREE }.stats();
    stats.queues[1] = QueueStats::new("ready", 2, 100, 190);
    let found = stats.bottleneck();
    assert_eq!((found.resource, found.change.is_none()), (None, true), "{found}");
    assert!(found.reason.contains("batches wait for the caller"), "{found}");

    // All threads are idle for half of the time.
    let mut stats = Model { work: 0.01, ..FREE }.stats();
    stats.pools.iter_mut().for_each(|pool| pool.starved += stats.running);
    stats.running *= 2;
    let found = stats.bottleneck();
    assert_eq!(found.resource, None, "{found}");
    assert!(found.reason.contains("nothing is in use all the time; most is the CPU"), "{found}");
}

#[test]
fn waits_stand_in_for_timestamps() {
    let mut stats = Model { gpu: 0.01, ..FREE }.stats();
    let waited = stats.running.mul_f64(0.97);
    stats.gpu = GpuTime { clock: GpuClock::Waits, busy: waited, waited, ..GpuTime::default() };
    assert_eq!(stats.bottleneck().resource, Some(Resource::Gpu));
    // Occasional waits are not a limit.
    let mut stats = Model { work: 0.01, ..FREE }.stats();
    let waited = stats.running.mul_f64(0.02);
    stats.gpu = GpuTime { clock: GpuClock::Waits, busy: waited, waited, ..GpuTime::default() };
    assert_eq!(stats.bottleneck().resource, Some(Resource::Cpu));
}

/// A pipeline with one worker on two cores, of which other processes use `busy`.
fn beside_others(busy: f64) -> Stats {
    let mut stats = Model { work: 0.01, ..FREE }.stats();
    stats.watched = stats.running;
    stats.idle = Some(stats.running.mul_f64((1.0 - busy).max(0.0)));
    stats
}

#[test]
fn cores_that_others_use_are_not_idle() {
    let found = beside_others(1.0).bottleneck();
    assert_eq!(found.resource, Some(Resource::Cpu), "{found}");
    assert!(found.reason.ends_with("0.0 of 2 cores idle, 1.0 busy otherwise"), "{found}");
    assert_eq!(found.change.as_ref().map(|change| change.what.as_str()), Some("one more core and worker"), "{found}");
    let gain = beside_others(1.0).gain_of_workers(2).unwrap();
    assert!(gain.abs() < 0.02, "{gain}");

    let free = beside_others(0.0).bottleneck();
    assert!(free.reason.ends_with("1.0 of 2 cores idle"), "{free}");
    assert!(free.change.as_ref().is_some_and(|change| change.what == "2 workers" && change.gain > 0.9), "{free}");
    // If the system does not count idle time, every core that this process does not use counts as idle.
    let unknown = Model { work: 0.01, ..FREE }.stats().bottleneck();
    assert_eq!((unknown.change, unknown.reason), (free.change, free.reason));
}

#[test]
fn idle_time_is_that_between_two_looks() {
    let early = beside_others(0.0);
    let mut late = early.clone();
    late.images *= 2;
    late.running *= 2;
    late.cpu *= 2;
    late.watched *= 2;
    late.stages.iter_mut().for_each(|stage| stage.busy *= 2);
    late.pools
        .iter_mut()
        .for_each(|pool| (pool.busy, pool.blocked, pool.starved) = (2 * pool.busy, 2 * pool.blocked, 2 * pool.starved));
    // No core was idle in the second half.
    let between = late.since(&early);
    assert_eq!((between.idle, between.watched), (Some(Duration::ZERO), early.watched));
    // A period of 50 ms is too short for the system's clock of idle time, so its idle time is not used.
    let mut moment = beside_others(1.0);
    moment.watched = Duration::from_millis(50);
    assert!(moment.gain_of_workers(2).unwrap() > 0.9);
}

#[test]
fn who_waits_for_samples_finds_a_core_among_busy_ones() {
    let mut stats = Model { wait: 0.01, work: 0.0005, ..FREE }.stats();
    stats.watched = stats.running;
    stats.idle = Some(Duration::ZERO);
    let change = stats.bottleneck().change.unwrap();
    assert!(change.what.starts_with("2 workers") && change.gain > 0.9, "{change:?}");
}
