//! The memory of batches: the rings that it circulates in, host memory, and the budget.

mod budget;
mod host;
mod ring;

pub(super) use budget::Budget;
pub(super) use host::HostBuffer;
pub(super) use ring::{BufferRing, Lease, ROUND, RunShare, StuckTimer};

use std::sync::Arc;

/// A run's shares of the rings of its executor.
#[derive(Clone, Debug, Default)]
pub(super) struct RunShares {
    /// Of the batches that reach the caller.
    pub(super) outputs: Arc<RunShare>,
    /// Of the host memory whose content is copied to a GPU.
    pub(super) host: Arc<RunShare>,
}
