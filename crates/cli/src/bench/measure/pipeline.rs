//! Runs the whole pipeline as a training loop would.
//!
//! Rates are taken from batch to batch within one long run. Its start, and the end at which its queues run empty, do
//! not count, because an epoch of a training is thousands of batches long.

use super::loader_stats::Interval;
use crate::results::{Spread, median};
use cpu_time::ProcessTime;
use gpufeed::{DataLoader, Epochs};
use std::error::Error;
use std::time::{Duration, Instant};

/// The number of runs of the main measurement. Each has an equal part of its time.
const RUNS: u32 = 5;
/// The least number of runs. If batches are slow, so many runs take longer than the given time.
const LEAST_RUNS: usize = 3;
/// The batches before the measurement. They do not count, because the first ones find every queue empty.
const FIRST_BATCHES: usize = 4;

/// Counts of the pipeline over a period of time.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Window {
    pub(crate) images: u64,
    /// Seconds of the window.
    pub(crate) wall: f64,
    /// The CPU seconds of all threads of the process, including the driver's.
    pub(crate) cpu: f64,
    /// The seconds for which the consumer waited for batches.
    pub(crate) waited: f64,
}

impl Window {
    pub(crate) fn rate(&self) -> f64 {
        self.images as f64 / self.wall.max(1e-9)
    }

    pub(crate) fn cpu_per_image(&self) -> f64 {
        self.cpu / self.images.max(1) as f64
    }
}

/// A run of the loader, and the thread that takes its batches.
pub(crate) struct Consumer {
    batches: Epochs,
    /// The time that the consumer sleeps for each batch.
    step: Duration,
    batches_per_epoch: usize,
    done: usize,
}

impl Consumer {
    /// Starts a run that goes on, epoch after epoch, until the consumer is dropped.
    pub(crate) fn start(loader: &DataLoader, step: Duration) -> gpufeed::Result<Consumer> {
        Ok(Consumer { batches: loader.epochs(0..u64::MAX)?, step, batches_per_epoch: loader.len(), done: 0 })
    }

    /// Takes a batch. Returns the number of the images of all its groups, and the seconds of the wait for it.
    fn batch(&mut self) -> Result<(u64, f64), Box<dyn Error>> {
        let start = Instant::now();
        let batch = self.batches.next().ok_or("the run ended early: this is a bug of gpufeed")??;
        let waited = start.elapsed().as_secs_f64();
        if !self.step.is_zero() {
            std::thread::sleep(self.step);
        }
        self.done += 1;
        let images: usize = batch.groups().map(|group| group.len()).sum();
        Ok((images as u64, waited))
    }

    pub(crate) fn skip(&mut self, batches: usize) -> Result<(), Box<dyn Error>> {
        (0..batches).try_for_each(|_| self.batch().map(drop))
    }

    /// Runs one epoch, or as much of it as fits into `most`. Returns true if the epoch was completed.
    pub(crate) fn warm_up(&mut self, most: Duration) -> Result<bool, Box<dyn Error>> {
        let start = Instant::now();
        while self.done < FIRST_BATCHES || (self.done < self.batches_per_epoch && start.elapsed() < most) {
            self.skip(1)?;
        }
        Ok(self.done >= self.batches_per_epoch)
    }

    /// Takes batches until `time` is over, but at least one.
    pub(crate) fn window(&mut self, time: Duration) -> Result<Window, Box<dyn Error>> {
        let (start, cpu) = (Instant::now(), ProcessTime::now());
        let mut window = Window::default();
        while window.images == 0 || start.elapsed() < time {
            let (images, waited) = self.batch()?;
            window.images += images;
            window.waited += waited;
        }
        (window.wall, window.cpu) = (start.elapsed().as_secs_f64(), cpu.elapsed().as_secs_f64());
        Ok(window)
    }
}

/// The results of the main measurement.
pub(crate) struct Measured {
    pub(crate) images_per_second: Spread,
    pub(crate) cpu_seconds_per_image: f64,
    pub(crate) data_stall: f64,
    pub(crate) cpu_seconds_per_image_runs: Vec<f64>,
    /// The statistics of all runs together.
    pub(crate) interval: Interval,
    /// The statistics of each run.
    pub(crate) intervals: Vec<Interval>,
}

/// Warms up, then measures runs until `seconds` are over.
pub(crate) fn measure(loader: &DataLoader, step: Duration, seconds: f64) -> Result<Measured, Box<dyn Error>> {
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
