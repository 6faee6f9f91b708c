//! Time to the first batch, in new processes: in one that has run before, shaders are compiled and memory is there.

use super::setup::Setup;
use crate::results::median;
use serde::{Deserialize, Serialize};
use std::error::Error;
use std::ffi::OsString;
use std::process::{Command, Stdio};
use std::time::Instant;

/// New processes.
const PROCESSES: usize = 3;

/// What such a process prints.
#[derive(Serialize, Deserialize)]
struct First {
    /// From `build` to the first batch; on a GPU until its work is done.
    seconds: f64,
}

/// The part of the new process: prints its time as JSON.
pub(super) fn print(setup: &Setup, workers: usize) -> Result<(), Box<dyn Error>> {
    let start = Instant::now();
    let loader = setup.loader(workers)?;
    let first = loader.epoch(0)?.next().ok_or("no batch")??;
    if let Some(gpu) = setup.gpu() {
        gpu.device().poll(gpufeed::wgpu::PollType::wait_indefinitely())?;
    }
    let seconds = start.elapsed().as_secs_f64();
    drop(first);
    say!("{}", serde_json::to_string(&First { seconds })?);
    Ok(())
}

/// The median of several processes with the command's arguments, the program first.
pub(super) fn measure(given: &[OsString]) -> Result<f64, Box<dyn Error>> {
    let (program, arguments) = given.split_first().ok_or("no program is named")?;
    let mut times = Vec::new();
    for _ in 0..PROCESSES {
        let mut command = Command::new(program);
        command.args(arguments).arg("--first-batch").stdin(Stdio::null());
        let output = command.output()?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            let said = said.trim();
            return Err(format!("time to first batch: the new process ended with {}: {said}", output.status).into());
        }
        let first: First = serde_json::from_slice(&output.stdout)
            .map_err(|error| format!("time to first batch: the new process did not print its time: {error}"))?;
        times.push(first.seconds);
    }
    Ok(median(&times))
}
