//! The declared memory: what a run takes, and how many output buffers there may be.

use crate::error::{ErrorKind, Result};

/// Where the memory goes.
#[derive(Clone, Copy, Debug)]
pub(in crate::loader) struct Budget {
    pub(in crate::loader) limit: u64,
    /// Slots, workspace: of one run.
    fixed: u64,
    output: u64,
    outputs: usize,
}

impl Budget {
    /// For runs with `outputs` output buffers of `output` bytes and `fixed` bytes of slots and workspace.
    ///
    /// # Errors
    /// `ErrorKind::DoesNotFit` if not even one run fits.
    pub(in crate::loader) fn new(limit: u64, outputs: usize, fixed: u64, output: u64) -> Result<Budget> {
        let budget = Budget { limit, fixed, output, outputs };
        budget.check(1, outputs)?;
        Ok(budget)
    }

    /// For buffers that are counted elsewhere.
    pub(in crate::loader) fn unlimited(output: u64) -> Budget {
        Budget { limit: u64::MAX, fixed: 0, output, outputs: 0 }
    }

    /// What one run takes.
    pub(in crate::loader) fn of_a_run(&self) -> u64 {
        self.fixed.saturating_add(self.output.saturating_mul(self.outputs as u64))
    }

    /// Output buffers that there may be while `runs` are under way.
    pub(in crate::loader) fn most(&self, runs: usize) -> usize {
        let rest = self.limit.saturating_sub(self.fixed.saturating_mul(runs.max(1) as u64));
        (rest / self.output.max(1)).min(1 << 20) as usize
    }

    /// Whether `runs` with `base` output buffers each may be under way beside each other.
    pub(in crate::loader) fn check(&self, runs: usize, base: usize) -> Result<()> {
        let a_run = self.output.saturating_mul(base as u64).saturating_add(self.fixed);
        let needed = a_run.saturating_mul(runs as u64);
        if needed <= self.limit {
            return Ok(());
        }
        let (what, setting) = if runs == 1 {
            ("the line", "memory_budget, or lower batch_size, queue_depth, views or the output size")
        } else {
            ("one more run of the loader", "memory_budget, or end the runs that are under way first")
        };
        Err(ErrorKind::DoesNotFit { what, needed, limit: self.limit, whose: "the memory_budget", setting }.into())
    }
}

impl std::fmt::Display for Budget {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
        writeln!(
            f,
            "memory: {:.1} MiB = {} output buffers of {:.1} MiB + {:.1} MiB of slots and workspace; up to {} output buffers within the budget of {:.0} MiB",
            mib(self.of_a_run()),
            self.outputs,
            mib(self.output),
            mib(self.fixed),
            self.most(1),
            mib(self.limit)
        )
    }
}
