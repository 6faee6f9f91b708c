//! The whole line, from end to end, as a training loop would run it.
//!
//! Rates are taken from batch to batch of one long run, so neither its start nor the drain at its end counts: an epoch of
//! a training is thousands of batches long.

use super::statistics::Interval;
use crate::results::{Spread, median};
use cpu_time::ProcessTime;
use gpufeed::{Batch, DataLoader, Epochs};
use std::error::Error;
use std::time::{Duration, Instant};

/// Runs of the main measurement, each an equal part of its time.
const RUNS: u32 = 5;
/// Where batches take so long that not even these many fit, the time is exceeded.
const LEAST_RUNS: usize = 3;
/// Batches before anything is measured: the first ones find every queue empty.
const FIRST_BATCHES: usize = 4;

/// What a while of the line gave.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Window {
    pub(super) images: u64,
    pub(super) wall: f64,
    /// Of all threads of the process, the driver's included.
    pub(super) cpu: f64,
    /// The consumer's, for batches.
    pub(super) waited: f64,
}

impl Window {
    pub(super) fn rate(&self) -> f64 {
        self.images as f64 / self.wall.max(1e-9)
    }

    pub(super) fn cpu_per_image(&self) -> f64 {
        self.cpu / self.images.max(1) as f64
    }
}

/// A run of the loader with its consumer.
pub(super) struct Consumer {
    batches: Epochs,
    /// What it does with a batch.
    step: Duration,
    of_an_epoch: usize,
    done: usize,
}

impl Consumer {
    /// Starts a run that goes on, epoch after epoch, until it is dropped.
    pub(super) fn start(loader: &DataLoader, step: Duration) -> gpufeed::Result<Consumer> {
        Ok(Consumer { batches: loader.epochs(0..u64::MAX)?, step, of_an_epoch: loader.len(), done: 0 })
    }

    /// A batch, and how long it was waited for; `look` sees it before it is dropped.
    fn batch(&mut self, mut look: impl FnMut(&Batch)) -> Result<(u64, f64), Box<dyn Error>> {
        let start = Instant::now();
        let batch = self.batches.next().ok_or("the run ended early: this is a bug of gpufeed")??;
        let waited = start.elapsed().as_secs_f64();
        if !self.step.is_zero() {
            std::thread::sleep(self.step);
        }
        look(&batch);
        self.done += 1;
        Ok((batch.len() as u64, waited))
    }

    pub(super) fn skip(&mut self, batches: usize) -> Result<(), Box<dyn Error>> {
        (0..batches).try_for_each(|_| self.batch(|_| ()).map(drop))
    }

    /// One epoch, or as much of it as fits into `most`; says whether it was all of it.
    pub(super) fn warm_up(&mut self, most: Duration) -> Result<bool, Box<dyn Error>> {
        let start = Instant::now();
        while self.done < FIRST_BATCHES || (self.done < self.of_an_epoch && start.elapsed() < most) {
            self.skip(1)?;
        }
        Ok(self.done >= self.of_an_epoch)
    }

    /// Batches until `time` is over, one at least.
    pub(super) fn window(&mut self, time: Duration) -> Result<Window, Box<dyn Error>> {
        self.window_with(time, |_| ())
    }

    /// The same; `look` sees every batch.
    pub(super) fn window_with(
        &mut self,
        time: Duration,
        mut look: impl FnMut(&Batch),
    ) -> Result<Window, Box<dyn Error>> {
        let (start, cpu) = (Instant::now(), ProcessTime::now());
        let mut window = Window::default();
        while window.images == 0 || start.elapsed() < time {
            let (images, waited) = self.batch(&mut look)?;
            window.images += images;
            window.waited += waited;
        }
        (window.wall, window.cpu) = (start.elapsed().as_secs_f64(), cpu.elapsed().as_secs_f64());
        Ok(window)
    }
}

/// The main measurement.
pub(super) struct Measured {
    pub(super) images_per_second: Spread,
    pub(super) cpu_seconds_per_image: f64,
    pub(super) data_stall: f64,
    pub(super) cpu_seconds_per_image_runs: Vec<f64>,
    pub(super) interval: Interval,
    /// Of each run.
    pub(super) intervals: Vec<Interval>,
}

/// Warms up, then measures runs until `seconds` are over.
pub(super) fn measure(loader: &DataLoader, step: Duration, seconds: f64) -> Result<Measured, Box<dyn Error>> {
    let time = Duration::from_secs_f64(seconds);
    let mut consumer = Consumer::start(loader, step)?;
    consumer.warm_up(time)?;
    let before = loader.stats();
    let start = Instant::now();
    let (mut windows, mut intervals) = (Vec::new(), Vec::new());
    while windows.len() < LEAST_RUNS || start.elapsed() < time {
        let before = loader.stats();
        windows.push(consumer.window(time / RUNS)?);
        intervals.push(Interval::since(loader, &before));
    }
    let interval = Interval::since(loader, &before);
    let sum = |part: fn(&Window) -> f64| windows.iter().map(part).sum::<f64>();
    let cpu: Vec<f64> = windows.iter().map(Window::cpu_per_image).collect();
    Ok(Measured {
        images_per_second: Spread::of_runs(windows.iter().map(Window::rate).collect()),
        cpu_seconds_per_image: median(&cpu),
        cpu_seconds_per_image_runs: cpu,
        data_stall: sum(|window| window.waited) / sum(|window| window.wall).max(1e-9),
        interval,
        intervals,
    })
}
