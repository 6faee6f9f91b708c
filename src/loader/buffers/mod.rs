//! The memory of batches: rings of buffers, host memory, and the budget.
//!
//! `ring.rs` is the ring of output buffers, `host.rs` host memory in chunks, `budget.rs` the memory that a loader
//! declares.

mod budget;
mod host;
mod ring;

pub(super) use budget::{BESIDES, Budget, Workers};
pub use host::HostBufferHook;
pub(super) use host::{HostBuffer, HostMemory};
pub(super) use ring::{Buffer, BufferRing, Lease, ROUND, RunShare, StuckTimer};

use std::sync::Arc;

/// A run's shares of its executor's rings.
#[derive(Clone, Debug, Default)]
pub(super) struct RunShares {
    /// Share of the ring of batches that reach the caller.
    pub(super) outputs: Arc<RunShare>,
    /// Share of the ring of host memory whose content is copied to a GPU.
    pub(super) host: Arc<RunShare>,
}
