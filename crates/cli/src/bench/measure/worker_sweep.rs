//! Measures the pipeline with different numbers of workers. They take turns, so that other work on the machine disturbs
//! all of them equally.

use super::pipeline::{Consumer, Window};
use crate::bench::setup::Setup;
use crate::results::Sweep;
use crate::results::{Spread, median};
use gpufeed::DataLoader;
use std::error::Error;
use std::time::Duration;

/// The number of turns of each number of workers.
const ROUNDS: u32 = 5;
/// The share of a turn's time in which the pipeline fills before the measurement.
const WARM_UP: f64 = 0.25;

/// Measures each number of `workers`, smallest first, for `seconds` in all.
pub(crate) fn measure(setup: &Setup, workers: &[usize], seconds: f64) -> Result<Vec<Sweep>, Box<dyn Error>> {
    let mut workers = workers.to_vec();
    workers.sort_unstable();
    workers.dedup();
    let turn = seconds / f64::from(ROUNDS) / workers.len() as f64;
    let [warm_up, time] = [WARM_UP * turn, (1.0 - WARM_UP) * turn].map(Duration::from_secs_f64);
    let loaders = workers.iter().map(|&workers| setup.loader(workers)).collect::<gpufeed::Result<Vec<DataLoader>>>()?;
    let mut windows = vec![Vec::new(); workers.len()];
    for _ in 0..ROUNDS {
        for (loader, windows) in loaders.iter().zip(&mut windows) {
            let mut consumer = Consumer::start(loader, setup.step)?;
            consumer.warm_up(warm_up)?;
            windows.push(consumer.window(time)?);
        }
    }
    let row = |(workers, windows): (usize, Vec<Window>)| Sweep {
        workers,
        images_per_second: Spread::of_runs(windows.iter().map(Window::rate).collect()),
        cpu_seconds_per_image: median(&windows.iter().map(Window::cpu_per_image).collect::<Vec<_>>()),
    };
    Ok(workers.into_iter().zip(windows).map(row).collect())
}
