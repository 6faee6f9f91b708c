//! Measures the process's memory while the pipeline runs steadily.

use super::pipeline::Consumer;
use crate::bench::setup::Setup;
use crate::results::Memory;
use gpufeed::DataLoader;
use std::error::Error;
use std::time::{Duration, Instant};
use sysinfo::{Process, ProcessRefreshKind, ProcessesToUpdate, System};

/// Runs the pipeline for `seconds` after a warm-up epoch, and looks at the process's resident memory with every batch.
pub(crate) fn measure(
    setup: &Setup,
    loader: &DataLoader,
    seconds: f64,
    notes: &mut Vec<String>,
) -> Result<Memory, Box<dyn Error>> {
    let time = Duration::from_secs_f64(seconds);
    let pid = sysinfo::get_current_pid().map_err(|reason| format!("memory: {reason}"))?;
    let mut system = System::new();
    let mut consumer = Consumer::start(loader, setup.step)?;
    if !consumer.warm_up(time)? {
        let reason =
            "an epoch takes longer than its part of --seconds, so the memory was read before the first epoch had ended";
        notes.push(format!("memory: {reason}"));
    }
    let (start, mut samples) = (Instant::now(), Vec::new());
    loop {
        consumer.skip(1)?;
        let what = ProcessRefreshKind::nothing().with_memory();
        system.refresh_processes_specifics(ProcessesToUpdate::Some(&[pid]), false, what);
        samples.extend(system.process(pid).map(Process::memory));
        if start.elapsed() >= time {
            break;
        }
    }
    samples.sort_unstable();
    let declared_bytes = loader.memory();
    let (Some(&steady_bytes), Some(&peak_bytes)) = (samples.get(samples.len() / 2), samples.last()) else {
        notes.push("memory: the system does not say what the process takes; steady and peak are 0".to_owned());
        return Ok(Memory { declared_bytes, ..Memory::default() });
    };
    Ok(Memory { steady_bytes, peak_bytes, declared_bytes })
}
