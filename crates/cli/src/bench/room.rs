//! Memory that a measurement will take, worked out from the samples before any worker starts.
//!
//! Beside what a loader declares there are its workers: each grows to the largest sample that it meets. The loaders of a
//! sweep are there together, and what is measured alone has threads of its own.

use super::samples::Samples;
use super::setup::Setup;
use super::{Arguments, alone, scaling};
use crate::available_memory;
use crate::units;
use gpufeed::internals::Native;
use gpufeed::{Cache, DataLoader};
use std::error::Error;
use std::thread::available_parallelism;

/// The bytes that a thread takes beside its samples.
const A_THREAD: u64 = 128 << 10;
/// Images that a core does in a second, at the most; and how often a loader's workers are given `--seconds`.
const FAST: f64 = 1000.0;
const TIMES: f64 = 4.0;
/// Batches that a loader has at the most: those that are ready, at the caller, filled and copied up.
const BATCHES: u64 = 8;
/// The least bytes of a pixel that a cache keeps, and those of floats.
const KEPT: (u64, u64) = (3, 16);

/// Refuses numbers of workers, a batch or a cache that do not fit. `main` of `workers` is the main run's; `loader` is one with
/// a batch of one sample.
pub(super) fn check(
    (arguments, setup): (&Arguments, &Setup),
    loader: &DataLoader,
    samples: &Samples,
    (workers, main): (&[usize], usize),
) -> Result<(), Box<dyn Error>> {
    let plan = loader.plan();
    let area = |(width, height): (u32, u32)| u64::from(width) * u64::from(height);
    let Some(largest) = samples.params.iter().max_by_key(|params| area((params.width, params.height))) else {
        return Ok(());
    };
    let mut native = Native::new(plan, std::slice::from_ref(largest), samples.pixel)?;
    native.run();
    let (output, executor) = (native.output(), native.memory() - native.output());
    let cores = available_parallelism().map_or(1, usize::from);
    let met = |workers: usize| FAST * cores.min(workers) as f64 * TIMES * arguments.seconds / workers as f64;
    let share = |bytes: u64, workers: usize| (bytes as f64 * samples.share_of_largest(met(workers))) as u64;
    let worker = |workers: usize| A_THREAD + share(samples.largest + samples.scratch + executor, workers);
    let batches = BATCHES * (setup.batch_size as u64 - 1) * loader.recipe().views as u64 * output;
    let image = (KEPT.0 * samples.area).max(KEPT.1 * plan.output_size().map_or(0, area));
    let cached = match setup.cache {
        Cache::Host(bytes) | Cache::Device(bytes) => bytes.min(image.saturating_mul(setup.source.dataset.len() as u64)),
        _ => 0,
    };
    let line = loader.memory() + batches + cached;
    let lines = |workers: &[usize]| workers.iter().map(|&workers| line + workers as u64 * worker(workers)).sum::<u64>();
    // Where stages are measured alone, each thread keeps the results of several images.
    let threads = |workers: usize, images: usize| workers as u64 * (worker(workers) + images as u64 * output);
    let most = workers.iter().copied().max().unwrap_or(1);
    let in_turns = lines(workers) + threads(most, scaling::IN_A_ROW);
    let stages = if arguments.quick { 0 } else { lines(&[main]) + threads(main, alone::IN_A_ROW) };
    let listed = workers.iter().map(usize::to_string).collect::<Vec<_>>().join(",");
    let [a_worker, line] = [worker(most), line].map(|bytes| units::bytes(bytes as f64));
    let what = format!("--workers {listed}, at {a_worker} a worker and {line} a loader, takes");
    let all = workers.iter().sum::<usize>().max(2 * most) as u64;
    Ok(available_memory::check(
        &what,
        in_turns.max(stages),
        all,
        "--workers, --batch-size, --cache-mib or the recipe's sizes",
    )?)
}
