//! The line with different numbers of workers. They take turns, so that what else the machine does disturbs all alike.

use super::line::{Consumer, Window};
use super::scaling::Work;
use super::setup::Setup;
use super::statistics::Interval;
use crate::results::Sweep;
use crate::results::{Spread, median};
use gpufeed::DataLoader;
use std::error::Error;
use std::time::Duration;

/// Turns of each number of workers.
const ROUNDS: u32 = 5;
/// Of a turn's time, for filling the line before anything is measured.
const WARM_UP: f64 = 0.25;
/// As much of a turn's time beside it, for the workers' work alone.
const ALONE: f64 = 0.75;

/// One number of workers.
pub(super) struct Step {
    pub(super) row: Sweep,
    /// What the statistics saw in the last turn.
    pub(super) interval: Interval,
    /// Of each turn: images a second of one core, when so many threads do the workers' work and nothing else.
    pub(super) alone: Vec<f64>,
}

/// Measures each of `workers`, smallest first, for `seconds` in all; `work` alone in the same turns.
pub(super) fn measure(
    setup: &Setup,
    work: &Work<'_>,
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
    let mut alone = vec![Vec::new(); workers.len()];
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
        for (&workers, alone) in workers.iter().zip(&mut alone) {
            alone.push(work.per_core(workers, Duration::from_secs_f64(ALONE * turn))?);
        }
    }
    let row = |(workers, windows): (usize, Vec<Window>)| Sweep {
        workers,
        images_per_second: Spread::of_runs(windows.iter().map(Window::rate).collect()),
        cpu_seconds_per_image: median(&windows.iter().map(Window::cpu_per_image).collect::<Vec<_>>()),
    };
    let rows = workers.into_iter().zip(windows).map(row);
    let steps = rows.zip(intervals).zip(alone);
    Ok(steps.map(|((row, interval), alone)| Step { row, interval, alone }).collect())
}
