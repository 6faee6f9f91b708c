//! The machine, and whether it had anything else to do.

use crate::results::Machine;
use cpu_time::ProcessTime;
use std::time::Instant;
use sysinfo::System;

/// What other processes take, from its making on.
pub(super) struct Neighbours {
    system: System,
    start: Instant,
    own: ProcessTime,
}

impl Neighbours {
    pub(super) fn watch() -> Neighbours {
        let mut system = System::new();
        system.refresh_cpu_usage();
        Neighbours { system, start: Instant::now(), own: ProcessTime::now() }
    }

    /// Cores that others kept busy; `None` where the system does not say.
    pub(super) fn cores_busy(mut self) -> Option<f64> {
        let wall = self.start.elapsed();
        if wall < sysinfo::MINIMUM_CPU_UPDATE_INTERVAL {
            return None;
        }
        self.system.refresh_cpu_usage();
        let all = f64::from(self.system.global_cpu_usage()) / 100.0 * self.system.cpus().len() as f64;
        let own = self.own.elapsed().as_secs_f64() / wall.as_secs_f64();
        (!self.system.cpus().is_empty()).then_some((all - own).max(0.0))
    }
}

/// Without what others take.
pub(super) fn describe() -> Machine {
    let mut system = System::new();
    system.refresh_cpu_all();
    system.refresh_memory();
    let unknown = || "unknown".to_owned();
    let cpu = system.cpus().first().map(|cpu| cpu.brand().trim().to_owned());
    Machine {
        os: System::long_os_version().or_else(System::name).unwrap_or_else(unknown),
        cpu: cpu.filter(|name| !name.is_empty()).unwrap_or_else(unknown),
        cores: std::thread::available_parallelism().map_or(1, usize::from),
        memory_bytes: system.total_memory(),
        other_cores_busy: 0.0,
    }
}
