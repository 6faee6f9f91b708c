//! The process's memory while the pipeline runs steadily.

use super::pipeline::Consumer;
use crate::bench::setup::Setup;
use crate::results::Memory;
use gpufeed::DataLoader;
use std::error::Error;
use std::time::{Duration, Instant};
use sysinfo::{Pid, ProcessRefreshKind, ProcessesToUpdate, System};

/// The least number of epochs to watch after the first. More follow until the time is over.
const EPOCHS: usize = 3;
/// If an epoch takes longer than this fraction of the time, the fraction counts as an epoch.
const EPOCH_FRACTION: u32 = 4;

/// Reads the process's resident memory.
struct Resident {
    system: System,
    pid: Pid,
}

impl Resident {
    fn new() -> Result<Resident, Box<dyn Error>> {
        let pid = sysinfo::get_current_pid().map_err(|reason| format!("memory: {reason}"))?;
        Ok(Resident { system: System::new(), pid })
    }

    fn bytes(&mut self) -> Option<u64> {
        let what = ProcessRefreshKind::nothing().with_memory();
        self.system.refresh_processes_specifics(ProcessesToUpdate::Some(&[self.pid]), false, what);
        self.system.process(self.pid).map(sysinfo::Process::memory)
    }
}

fn median(mut samples: Vec<u64>) -> Option<u64> {
    samples.sort_unstable();
    samples.get(samples.len() / 2).copied()
}

/// Runs the pipeline for `seconds`: a warm-up epoch, then epochs whose memory is read with every batch.
pub(crate) fn measure(
    setup: &Setup,
    loader: &DataLoader,
    seconds: f64,
    notes: &mut Vec<String>,
) -> Result<Memory, Box<dyn Error>> {
    let time = Duration::from_secs_f64(seconds);
    let mut resident = Resident::new()?;
    let mut consumer = Consumer::start(loader, setup.step)?;
    if !consumer.warm_up(time)? {
        let reason =
            "an epoch takes longer than its part of --seconds: \"after the first epoch\" is after a part of it";
        notes.push(format!("memory: {reason}"));
    }
    let made = || setup.gpu().map_or(0, gpufeed::Gpu::buffers_made);
    let made_before = made();
    let start = Instant::now();
    let mut epochs = Vec::new();
    while epochs.len() < EPOCHS || start.elapsed() < time {
        let (mut samples, mut batches) = (Vec::new(), 0);
        let epoch = Instant::now();
        while batches < loader.len() && (batches == 0 || epoch.elapsed() < time / EPOCH_FRACTION) {
            consumer.window_with(Duration::ZERO, |_| samples.extend(resident.bytes()))?;
            batches += 1;
        }
        epochs.push(samples);
    }
    let gpu_buffers_made = made() - made_before;
    if setup.gpu().is_none() {
        notes.push("memory: there is no GPU in this run, so gpu_buffers_made is 0".to_owned());
    }
    let peak = epochs.iter().flatten().max().copied();
    let ends = epochs.first().cloned().and_then(median).zip(epochs.last().cloned().and_then(median));
    let (Some(steady), Some(peak), Some((first, last))) = (median(epochs.concat()), peak, ends) else {
        notes.push("memory: the system does not say what the process takes; steady, peak and drift are 0".to_owned());
        return Ok(Memory { declared_bytes: loader.memory(), gpu_buffers_made, ..Memory::default() });
    };
    Ok(Memory {
        steady_bytes: steady,
        peak_bytes: peak,
        drift_bytes: last as i64 - first as i64,
        declared_bytes: loader.memory(),
        gpu_buffers_made,
    })
}
