//! Estimates the memory of the whole measurement from the samples, and refuses arguments that do not fit, before any
//! worker starts.
//!
//! A loader declares some bytes. In addition, each worker grows to the largest sample that it meets. All loaders of a
//! sweep exist at the same time.

use crate::available_memory;
use crate::bench::setup::samples::Samples;
use crate::bench::setup::{BenchArguments, Setup};
use crate::units;
use gpufeed::internals::{Native, memory_of_workers};
use gpufeed::{Cache, DataLoader, Plan, Recipe};
use std::error::Error;
use std::thread::available_parallelism;

/// Bytes of a thread, without its samples.
const THREAD: u64 = 128 << 10;
/// The most images per second that a core handles.
const FAST: f64 = 1000.0;
/// A loader's workers are assumed to run for this many times `--seconds`.
const TIMES: f64 = 4.0;
/// The most batches that a loader has at a time: those that are ready, held by the caller, being filled or being copied
/// to the GPU.
const BATCHES: u64 = 8;
/// The least bytes that a cache stores for a pixel, once for pixels of bytes and once for pixels of floats.
const CACHED: (u64, u64) = (3, 16);

/// The bytes of each part of a measurement.
struct Estimate<'a> {
    samples: &'a Samples,
    /// The seconds of the main run.
    seconds: f64,
    /// The bytes that the CPU executor takes for the largest sample.
    executor: u64,
    /// The bytes of a loader without its workers.
    loader: u64,
}

impl Estimate<'_> {
    /// Returns the bytes of one worker, if there are `workers`. With more workers, each meets fewer samples, and
    /// probably none of the largest.
    fn worker(&self, workers: usize) -> u64 {
        let cores = available_parallelism().map_or(1, usize::from);
        let met = FAST * cores.min(workers) as f64 * TIMES * self.seconds / workers as f64;
        let largest = self.samples.largest + self.samples.scratch + self.executor;
        THREAD + (largest as f64 * self.samples.share_of_largest(met)) as u64
    }

    /// Returns the bytes of all loaders together, one for each number of workers.
    fn loaders(&self, workers: &[usize]) -> u64 {
        workers.iter().map(|&workers| self.loader + workers as u64 * self.worker(workers)).sum()
    }
}

/// Refuses numbers of workers, a batch or a cache that do not fit into memory. `loader` has batches of one sample.
pub(crate) fn check(
    arguments: &BenchArguments,
    setup: &Setup,
    loader: &DataLoader,
    samples: &Samples,
    workers: &[usize],
) -> Result<(), Box<dyn Error>> {
    let Some(estimate) = estimate(arguments, setup, loader, samples)? else { return Ok(()) };
    let most = workers.iter().copied().max().unwrap_or(1);
    let listed = workers.iter().map(usize::to_string).collect::<Vec<_>>().join(",");
    let [worker, loader] = [estimate.worker(most), estimate.loader].map(|bytes| units::bytes(bytes as f64));
    let what = format!("--workers {listed}, at {worker} a worker and {loader} a loader, takes");
    let threads = workers.iter().sum::<usize>() as u64;
    let lower = "--workers, --batch-size, --cache-mib or the recipe's sizes";
    Ok(available_memory::check(&what, estimate.loaders(workers), threads, lower)?)
}

/// Makes an estimate from the largest sample; `None` without samples.
fn estimate<'a>(
    arguments: &BenchArguments,
    setup: &Setup,
    loader: &DataLoader,
    samples: &'a Samples,
) -> Result<Option<Estimate<'a>>, Box<dyn Error>> {
    let plan = loader.plan();
    let area = |(width, height): (u32, u32)| u64::from(width) * u64::from(height);
    let Some(largest) = samples.params.iter().max_by_key(|params| area((params.width, params.height))) else {
        return Ok(None);
    };
    let mut native = Native::new(plan, std::slice::from_ref(largest), samples.pixel)?;
    native.run()?;
    // A worker makes the groups one after the other in the same memory; that of the first one's list is taken for all.
    let executor = native.memory() - native.output();
    let of_group = |((_, plan), (_, recipe)): ((&str, &Plan), (&str, &Recipe))| {
        let image =
            plan.largest_output().map_or(0, area) * u64::from(plan.channels()) * plan.output().dtype.bytes() as u64;
        (recipe.views * plan.crops()) as u64 * image
    };
    let sample: u64 = loader.plans().zip(loader.recipes()).map(of_group).sum();
    // The loader that was made has batches of one sample; the columns of fields are in none.
    let batch_size = setup.settings.batch_size as u64;
    let batches = BATCHES * ((batch_size - 1) * sample + batch_size * samples.columns);
    let image = (CACHED.0 * samples.area).max(CACHED.1 * plan.largest_output().map_or(0, area));
    let cached = match setup.settings.cache {
        Cache::Host(bytes) | Cache::Device(bytes) => bytes.min(image.saturating_mul(setup.data.dataset.len() as u64)),
        _ => 0,
    };
    // The memory between the stages of the plan is left out here, because a worker's estimate has it.
    let loader = loader.memory() - memory_of_workers(loader) + batches + cached;
    Ok(Some(Estimate { samples, seconds: arguments.seconds, executor, loader }))
}
