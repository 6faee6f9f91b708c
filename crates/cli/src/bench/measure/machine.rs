//! Describes the machine, and measures the load of other processes during a measurement.

use crate::results::Machine;
use cpu_time::ProcessTime;
use std::time::Instant;
use sysinfo::System;

/// Watches the CPU time of other processes from its creation on.
pub(crate) struct OtherLoad {
    system: System,
    start: Instant,
    own: ProcessTime,
}

impl OtherLoad {
    pub(crate) fn watch() -> OtherLoad {
        let mut system = System::new();
        system.refresh_cpu_usage();
        OtherLoad { system, start: Instant::now(), own: ProcessTime::now() }
    }

    /// Returns the cores that other processes kept busy; `None` if the system does not report it.
    pub(crate) fn cores_busy(mut self) -> Option<f64> {
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

/// Describes the machine. The load of other processes is left at 0.
pub(crate) fn describe() -> Machine {
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
