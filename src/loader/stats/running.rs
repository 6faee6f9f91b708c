//! The time in which runs were under way, and the CPU time of the process in it; also readable during a run.

use cpu_time::ProcessTime;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::{Duration, Instant};

/// Times are in nanoseconds. Two runs that begin or end at the same instant may be counted slightly wrong, which is
/// good enough for statistics.
#[derive(Debug)]
pub(super) struct Running {
    base: Instant,
    active: AtomicU64,
    /// Wall time of the runs that have ended, summed over runs.
    ended: AtomicU64,
    /// The sum of the times at which the active runs began.
    began: AtomicU64,
    /// CPU time while a run was active, and the process's CPU clock when the first of the active runs began.
    cpu: AtomicU64,
    cpu_began: AtomicU64,
}

impl Default for Running {
    fn default() -> Self {
        let zero = || AtomicU64::new(0);
        let (active, ended, began, cpu, cpu_began) = (zero(), zero(), zero(), zero(), zero());
        Running { base: Instant::now(), active, ended, began, cpu, cpu_began }
    }
}

/// CPU time of all threads of the process, including the graphics driver's.
fn process() -> u64 {
    ProcessTime::try_now().map_or(0, |time| time.as_duration().as_nanos() as u64)
}

impl Running {
    fn now(&self) -> u64 {
        self.base.elapsed().as_nanos() as u64
    }

    pub(super) fn begin(&self) {
        self.began.fetch_add(self.now(), SeqCst);
        if self.active.fetch_add(1, SeqCst) == 0 {
            self.cpu_began.store(process(), SeqCst);
        }
    }

    /// Ends a run that took `time`.
    pub(super) fn end(&self, time: Duration) {
        let time = time.as_nanos() as u64;
        if self.active.fetch_sub(1, SeqCst) == 1 {
            self.cpu.fetch_add(process().saturating_sub(self.cpu_began.load(SeqCst)), SeqCst);
        }
        self.began.fetch_sub(self.now().saturating_sub(time), SeqCst);
        self.ended.fetch_add(time, SeqCst);
    }

    /// Wall time, summed over runs, and CPU time.
    pub(super) fn read(&self) -> (Duration, Duration) {
        let active = self.active.load(SeqCst);
        let under_way = active.saturating_mul(self.now()).saturating_sub(self.began.load(SeqCst));
        let computing = if active > 0 { process().saturating_sub(self.cpu_began.load(SeqCst)) } else { 0 };
        let wall = self.ended.load(SeqCst) + if active > 0 { under_way } else { 0 };
        (Duration::from_nanos(wall), Duration::from_nanos(self.cpu.load(SeqCst) + computing))
    }
}
