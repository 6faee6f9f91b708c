//! Counts what was read from object stores and web servers.

use std::fmt;
use std::time::Duration;

/// Counters of what data sets have read from object stores and web servers, in [`Stats::remote`](crate::Stats::remote).
///
/// ```no_run
/// # fn show(loader: &gpufeed::DataLoader) {
/// if let Some(remote) = &loader.stats().remote {
///     println!("{remote}: {:.4} requests an image", remote.requests as f64 / loader.stats().images as f64);
/// }
/// # }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RemoteStats {
    /// Requests to servers, including retries.
    pub requests: u64,
    /// Bytes that came in the bodies of the servers' answers.
    pub bytes: u64,
    /// Requests that were repeated because the attempt before had failed, or its answer was cut short.
    pub retries: u64,
    /// Blocks of 8 MiB that came into memory: from servers, or from the cache on disk if another process fetched them.
    pub blocks: u64,
    /// Reads from the cache on disk. Usually a read takes only the part of a block that one sample needs.
    pub cache_hits: u64,
    /// Blocks that left memory although announced samples in them were not read yet, so that the blocks are fetched
    /// again. `read_ahead` is then too small for the order of the samples.
    pub evicted_unread: u64,
    /// The time that workers waited for bytes, summed over all workers.
    pub waited: Duration,
}

impl RemoteStats {
    /// Adds the counters of another connection to these.
    pub(crate) fn add(&mut self, other: &RemoteStats) {
        self.requests += other.requests;
        self.bytes += other.bytes;
        self.retries += other.retries;
        self.blocks += other.blocks;
        self.cache_hits += other.cache_hits;
        self.evicted_unread += other.evicted_unread;
        self.waited += other.waited;
    }

    /// Returns what was counted since `earlier`, an earlier state of the same counters.
    pub(crate) fn since(&self, earlier: &RemoteStats) -> RemoteStats {
        RemoteStats {
            requests: self.requests.saturating_sub(earlier.requests),
            bytes: self.bytes.saturating_sub(earlier.bytes),
            retries: self.retries.saturating_sub(earlier.retries),
            blocks: self.blocks.saturating_sub(earlier.blocks),
            cache_hits: self.cache_hits.saturating_sub(earlier.cache_hits),
            evicted_unread: self.evicted_unread.saturating_sub(earlier.evicted_unread),
            waited: self.waited.saturating_sub(earlier.waited),
        }
    }
}

impl fmt::Display for RemoteStats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RemoteStats { requests, bytes, retries, blocks, cache_hits, evicted_unread, waited } = self;
        write!(
            f,
            "{} MB in {requests} requests ({retries} retries), {blocks} blocks in memory ({evicted_unread} left it unread), {cache_hits} reads from the cache on disk, workers waited {:.1} s",
            bytes / 1_000_000,
            waited.as_secs_f64()
        )
    }
}
