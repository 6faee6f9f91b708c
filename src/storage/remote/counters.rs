//! Counts the requests, bytes and waits of a connection to stores.

use crate::storage::RemoteStats;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

#[derive(Debug, Default)]
pub(super) struct Counters {
    pub(super) requests: AtomicU64,
    pub(super) bytes: AtomicU64,
    pub(super) retries: AtomicU64,
    pub(super) blocks: AtomicU64,
    pub(super) cache_hits: AtomicU64,
    waited: AtomicU64,
}

impl Counters {
    /// Adds the time that a worker has waited for a block.
    pub(super) fn waited(&self, time: Duration) {
        self.waited.fetch_add(time.as_nanos() as u64, Relaxed);
    }

    /// Returns the counters. `evicted_unread` is 0 here, because the table of blocks in `blocks.rs` counts it.
    pub(super) fn stats(&self) -> RemoteStats {
        RemoteStats {
            requests: self.requests.load(Relaxed),
            bytes: self.bytes.load(Relaxed),
            retries: self.retries.load(Relaxed),
            blocks: self.blocks.load(Relaxed),
            cache_hits: self.cache_hits.load(Relaxed),
            evicted_unread: 0,
            waited: Duration::from_nanos(self.waited.load(Relaxed)),
        }
    }
}

/// Adds one to a counter.
pub(super) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Relaxed);
}
