//! The declared memory: the bytes of a run, and the largest number of output buffers.

use crate::error::{ErrorKind, Result};

/// The loader's memory budget, and the bytes that its parts need.
#[derive(Clone, Copy, Debug)]
pub(in crate::loader) struct Budget {
    pub(in crate::loader) limit: u64,
    /// Bytes of one run's slots and workspace.
    fixed: u64,
    output: u64,
    outputs: usize,
}

impl Budget {
    /// A budget for runs with `outputs` output buffers of `output` bytes and `fixed` bytes of slots and workspace.
    ///
    /// # Errors
    /// `ErrorKind::DoesNotFit` if not even one run fits.
    pub(in crate::loader) fn new(limit: u64, outputs: usize, fixed: u64, output: u64) -> Result<Budget> {
        let budget = Budget { limit, fixed, output, outputs };
        budget.check(1, outputs)?;
        Ok(budget)
    }

    /// A budget for buffers whose memory is counted elsewhere.
    pub(in crate::loader) fn unlimited(output: u64) -> Budget {
        Budget { limit: u64::MAX, fixed: 0, output, outputs: 0 }
    }

    /// Bytes of one run.
    pub(in crate::loader) fn of_a_run(&self) -> u64 {
        self.fixed.saturating_add(self.output.saturating_mul(self.outputs as u64))
    }

    /// The most output buffers while `runs` are under way.
    pub(in crate::loader) fn most(&self, runs: usize) -> usize {
        let rest = self.limit.saturating_sub(self.fixed.saturating_mul(runs.max(1) as u64));
        (rest / self.output.max(1)).min(1 << 20) as usize
    }

    /// An error if the budget has no room for `runs` at once, each with `base` output buffers.
    pub(in crate::loader) fn check(&self, runs: usize, base: usize) -> Result<()> {
        let a_run = self.output.saturating_mul(base as u64).saturating_add(self.fixed);
        let needed = a_run.saturating_mul(runs as u64);
        if needed <= self.limit {
            return Ok(());
        }
        let (what, setting) = if runs == 1 {
            ("a run of the loader", "batch_size, queue_depth, views or the output size, or raise memory_budget")
        } else {
            ("one more run of the loader", "batch_size or queue_depth, raise memory_budget, or end other runs first")
        };
        Err(ErrorKind::DoesNotFit { what, needed, limit: self.limit, whose: "memory_budget", setting }.into())
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
