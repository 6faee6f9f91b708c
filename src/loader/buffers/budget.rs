//! The declared memory: the bytes of a run, and the largest number of output buffers.

use crate::advice::{self, Setting};
use crate::error::{Error, ErrorKind, Result};

/// Bytes between the stages of a plan that a worker may take besides the budget, as it takes its file and its decoded
/// image. Ordinary images have less.
pub(in crate::loader) const BESIDES: u64 = 64 << 20;

/// What each worker of a run takes between the stages of the plan, whatever the image.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::loader) struct Workers {
    pub(in crate::loader) count: u64,
    pub(in crate::loader) bytes: u64,
}

/// The loader's memory budget, and the bytes that its parts need.
#[derive(Clone, Copy, Debug)]
pub(in crate::loader) struct Budget {
    pub(in crate::loader) limit: u64,
    /// Bytes of one run's slots and workspace.
    fixed: u64,
    output: u64,
    outputs: usize,
    workers: Workers,
}

impl Budget {
    /// A budget for runs with `outputs` output buffers of `output` bytes, `fixed` bytes of slots and workspace, and
    /// `workers`.
    ///
    /// # Errors
    /// `ErrorKind::DoesNotFit` if not even one run fits.
    pub(in crate::loader) fn new(
        limit: u64,
        outputs: usize,
        fixed: u64,
        output: u64,
        workers: Workers,
    ) -> Result<Budget> {
        let budget = Budget { limit, fixed, output, outputs, workers };
        budget.check(1, outputs)?;
        Ok(budget)
    }

    /// A budget for buffers whose memory is counted elsewhere.
    pub(in crate::loader) fn unlimited(output: u64) -> Budget {
        Budget { limit: u64::MAX, fixed: 0, output, outputs: 0, workers: Workers::default() }
    }

    /// Bytes of one run.
    pub(in crate::loader) fn of_a_run(&self) -> u64 {
        self.counted().saturating_add(self.output.saturating_mul(self.outputs as u64))
    }

    /// Bytes of a run's workers between the stages of the plan, if they are more than what is besides the budget.
    pub(in crate::loader) fn of_workers(&self) -> u64 {
        let Workers { count, bytes } = self.workers;
        if bytes > BESIDES { count.saturating_mul(bytes) } else { 0 }
    }

    /// The bytes between the stages of the plan that each worker may keep: what the plan needs whatever the image, and
    /// its share of what the budget has left.
    pub(in crate::loader) fn share(&self) -> u64 {
        let rest = self.limit.saturating_sub(self.of_a_run()) / self.workers.count.max(1);
        self.workers.bytes.saturating_add(rest).max(BESIDES)
    }

    /// Bytes of a run besides its output buffers that count in the limit.
    fn counted(&self) -> u64 {
        self.fixed.saturating_add(self.of_workers())
    }

    /// The most output buffers while `runs` are under way.
    pub(in crate::loader) fn most(&self, runs: usize) -> usize {
        let rest = self.limit.saturating_sub(self.counted().saturating_mul(runs.max(1) as u64));
        (rest / self.output.max(1)).min(1 << 20) as usize
    }

    /// An error if the budget has no room for `runs` at once, each with `base` output buffers.
    pub(in crate::loader) fn check(&self, runs: usize, base: usize) -> Result<()> {
        let a_run = self.output.saturating_mul(base as u64).saturating_add(self.counted());
        let needed = a_run.saturating_mul(runs as u64);
        if needed <= self.limit {
            return Ok(());
        }
        use Setting::{BatchSize, ListSizes, OutputSize, QueueDepth, Views, Workers};
        let (what, settings): (_, &[_]) = match (runs, self.counted() > self.fixed) {
            (1, false) => ("a run of the loader", &[BatchSize, QueueDepth, Views, OutputSize]),
            (1, true) => (
                "a run of the loader, with the images between the stages of its plan in each worker,",
                &[Workers, ListSizes, BatchSize, QueueDepth, Views, OutputSize],
            ),
            _ => ("a run of the loader beside those under way", &[BatchSize, QueueDepth]),
        };
        let whose = "the memory budget";
        let error = Error::from(ErrorKind::DoesNotFit { what, needed, limit: self.limit, whose, settings });
        Err(error.advise(advice::raise(Setting::MemoryBudget)))
    }
}

impl std::fmt::Display for Budget {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
        write!(
            f,
            "memory: {:.1} MiB = {} output buffers of {:.1} MiB + {:.1} MiB of slots and workspace",
            mib(self.of_a_run()),
            self.outputs,
            mib(self.output),
            mib(self.fixed),
        )?;
        let Workers { count, bytes } = self.workers;
        let threads = if count == 1 { "worker" } else { "workers" };
        if self.of_workers() > 0 {
            write!(f, " + {count} {threads} with {:.1} MiB between stages, or more by the image", mib(bytes))?;
        }
        write!(f, "; up to {} output buffers within the budget of {:.0} MiB", self.most(1), mib(self.limit))?;
        // A row or two are not worth a word.
        if self.of_workers() == 0 && bytes > 1 << 16 {
            write!(
                f,
                "; besides it {count} {threads} with {:.1} MiB between stages, or more by the image",
                mib(bytes)
            )?;
        }
        writeln!(f)
    }
}
