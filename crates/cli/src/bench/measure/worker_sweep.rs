//! The pipeline with different numbers of workers. They take turns, so that other work on the machine disturbs all
//! equally.

use super::core_speed::WorkerTask;
use super::loader_stats::Interval;
use super::pipeline::{Consumer, Window};
use crate::bench::setup::Setup;
use crate::results::Sweep;
use crate::results::{Spread, median};
use gpufeed::DataLoader;
use std::error::Error;
use std::time::Duration;

/// Turns of each number of workers.
const ROUNDS: u32 = 5;
/// Share of a turn's time that fills the pipeline before the measurement.
const WARM_UP: f64 = 0.25;
/// Time for the worker task by itself, relative to a turn's time and in addition to it.
const TASK: f64 = 0.75;

/// One number of workers.
pub(crate) struct Step {
    pub(crate) row: Sweep,
    /// The loader's statistics of the last turn.
    pub(crate) interval: Interval,
    /// Images per second of one core in each turn, when this many threads run the worker task and nothing else.
    pub(crate) core_rates: Vec<f64>,
}

/// Measures each number of `workers`, smallest first, for `seconds` in all. The same turns measure `task` by itself.
pub(crate) fn measure(
    setup: &Setup,
    task: &WorkerTask<'_>,
    workers: &[usize],
    seconds: f64,
) -> Result<Vec<Step>, Box<dyn Error>> {
    let mut workers = workers.to_vec();
    workers.sort_unstable();
    workers.dedup();
    let turn = seconds / f64::from(ROUNDS) / workers.len() as f64;
    let [warm_up, time] = [WARM_UP * turn, (1.0 - WARM_UP) * turn].map(Duration::from_secs_f64);
    let loaders = workers.iter().map(|&workers| setup.loader(workers)).collect::<gpufeed::Result<Vec<DataLoader>>>()?;
    let mut windows = vec![Vec::new(); workers.len()];
    let mut core_rates = vec![Vec::new(); workers.len()];
    let mut intervals = Vec::new();
    for _ in 0..ROUNDS {
        intervals.clear();
        for (loader, windows) in loaders.iter().zip(&mut windows) {
            let mut consumer = Consumer::start(loader, setup.step)?;
            consumer.warm_up(warm_up)?;
            let before = loader.stats();
            windows.push(consumer.window(time)?);
            intervals.push(Interval::since(loader, &before));
        }
        for (&workers, rates) in workers.iter().zip(&mut core_rates) {
            rates.push(task.per_core(workers, Duration::from_secs_f64(TASK * turn))?);
        }
    }
    let row = |(workers, windows): (usize, Vec<Window>)| Sweep {
        workers,
        images_per_second: Spread::of_runs(windows.iter().map(Window::rate).collect()),
        cpu_seconds_per_image: median(&windows.iter().map(Window::cpu_per_image).collect::<Vec<_>>()),
    };
    let rows = workers.into_iter().zip(windows).map(row);
    let steps = rows.zip(intervals).zip(core_rates);
    Ok(steps.map(|((row, interval), core_rates)| Step { row, interval, core_rates }).collect())
}
