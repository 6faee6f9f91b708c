//! Samples that are worth announcing before they are read: those of a store, and those that cost less together.

use crate::storage::Remote;

/// A data set whose samples are worth announcing before they are read: those of a store or a web server,
/// and those of which several cost less together. [`Dataset::access`](super::Dataset::access) returns it. Indices are
/// those of the data set that returned it.
///
/// ```
/// use gpufeed::dataset::Access;
///
/// /// Reads several samples by one call into a database.
/// struct Rows;
///
/// impl Access for Rows {
///     fn job_samples(&self) -> usize {
///         32
///     }
///
///     fn begin_job(&self, indices: &[usize]) {
///         println!("reads {indices:?} now, and holds them for this thread");
///     }
/// }
///
/// assert!(!Rows.is_remote());
/// ```
pub trait Access: Send + Sync {
    /// Returns true if the samples are not on this machine and come in pieces that each cost time, as from an object
    /// store. A loader that shuffles such data asks for an order ([`DataLoaderBuilder::order`]). True by default if
    /// there are [`remotes`](Self::remotes).
    ///
    /// [`DataLoaderBuilder::order`]: crate::DataLoaderBuilder::order
    fn is_remote(&self) -> bool {
        !self.remotes().is_empty()
    }

    /// Returns the most samples that a worker of the CPU executor reads for one job; 1 by default.
    ///
    /// More helps where several samples together cost less than one after the other, as behind a lock or a connection.
    /// A job then has at least four samples, or the whole batch where that is smaller. A worker calls
    /// [`begin_job`](Self::begin_job) with the samples of its job, before it reads them one by one.
    fn job_samples(&self) -> usize {
        1
    }

    /// Announces which samples the calling thread reads next, in this order; only where
    /// [`job_samples`](Self::job_samples) is above 1. Samples that are cached already are left out, and some of those
    /// named may not be read, if the run ends. An error belongs to `read`. Does nothing by default.
    fn begin_job(&self, indices: &[usize]) {
        let _ = indices;
    }

    /// Returns how many samples ahead of reading a loader announces by [`prefetch`](Self::prefetch); 0 by default,
    /// which means none.
    fn prefetch_samples(&self) -> usize {
        0
    }

    /// Announces which samples are read next, in about this order, each once: those that follow the samples of the last
    /// call. One thread at a time calls this method, which returns at once; errors come from `read`. Some of the samples may
    /// not be read, if the run ends or they are cached. Does nothing by default.
    fn prefetch(&self, indices: &[usize]) {
        let _ = indices;
    }

    /// Returns the connections through which the data set reads from stores and web servers; none by default. Through
    /// them a loader sets how much is read ahead, and reads the counters. A data set made of others returns theirs.
    fn remotes(&self) -> Vec<Remote> {
        Vec::new()
    }
}
