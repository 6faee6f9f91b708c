//! Measures the time to the first batch, in new processes: once a process has run a loader, shaders are compiled and
//! memory is allocated already.

use crate::bench::setup::Setup;
use crate::results::median;
use serde::{Deserialize, Serialize};
use std::error::Error;
use std::ffi::OsString;
use std::process::{Command, Stdio};
use std::time::Instant;

/// The number of new processes.
const PROCESSES: usize = 3;

/// The JSON that a new process prints.
#[derive(Serialize, Deserialize)]
struct FirstBatch {
    /// The time from `build` to the first batch. With a GPU, it ends when the batch's work is done.
    seconds: f64,
}

/// Measures the time in this process and prints it as JSON. The new processes call this.
pub(crate) fn print(setup: &Setup, workers: usize) -> Result<(), Box<dyn Error>> {
    let start = Instant::now();
    let loader = setup.loader(workers)?;
    let first = loader.epoch(0)?.next().ok_or("no batch")??;
    if let Some(gpu) = setup.gpu() {
        gpu.device().poll(gpufeed::wgpu::PollType::wait_indefinitely())?;
    }
    let seconds = start.elapsed().as_secs_f64();
    drop(first);
    say!("{}", serde_json::to_string(&FirstBatch { seconds })?);
    Ok(())
}

/// Starts new processes with this process's arguments, and returns the median of their times. `given` are these
/// arguments, of which the first is the program.
pub(crate) fn measure(given: &[OsString]) -> Result<f64, Box<dyn Error>> {
    let (program, arguments) = given.split_first().ok_or("no program is named")?;
    let mut times = Vec::new();
    for _ in 0..PROCESSES {
        let mut command = Command::new(program);
        command.args(arguments).arg("--first-batch").stdin(Stdio::null());
        let output = command.output()?;
        if !output.status.success() {
            let errors = String::from_utf8_lossy(&output.stderr);
            let errors = errors.trim();
            return Err(format!("time to first batch: the new process ended with {}: {errors}", output.status).into());
        }
        let first: FirstBatch = serde_json::from_slice(&output.stdout)
            .map_err(|error| format!("time to first batch: the new process did not print its time: {error}"))?;
        times.push(first.seconds);
    }
    Ok(median(&times))
}
