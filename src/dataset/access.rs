//! Defines `Access`, by which a loader announces to a data set which samples are read next. This helps if the samples
//! are in a store, or if reading several samples together costs less than reading each alone.

use crate::storage::Remote;

/// Takes announcements of which samples are read next. A data set has an `Access` if its samples are in a store or on a
/// web server, or if reading several samples together costs less than reading each alone.
/// [`Dataset::access`](super::Dataset::access) returns it. Indices are those of the data set whose `access` was called.
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
    /// store. A loader that shuffles such samples needs an explicit order ([`DataLoaderBuilder::order`]). By default,
    /// returns true if there are [`remotes`](Self::remotes).
    ///
    /// [`DataLoaderBuilder::order`]: crate::DataLoaderBuilder::order
    fn is_remote(&self) -> bool {
        !self.remotes().is_empty()
    }

    /// Returns the most samples that a worker of the CPU executor reads for one job; 1 by default.
    ///
    /// A number above 1 helps if several samples together cost less than one after the other, as behind a lock or a
    /// connection. A job then has four samples or more, if this number and the batch size allow it. A worker calls
    /// [`begin_job`](Self::begin_job) with the samples of its job, before it reads them one by one.
    fn job_samples(&self) -> usize {
        1
    }

    /// Announces which samples the calling thread reads next, in this order. It is called only if
    /// [`job_samples`](Self::job_samples) is above 1. Samples that are cached already are not announced. If the run
    /// ends, some announced samples are not read. This method returns no error: `read` returns the errors of the
    /// announced samples. Does nothing by default.
    fn begin_job(&self, indices: &[usize]) {
        let _ = indices;
    }

    /// Returns how many samples ahead of reading a loader announces by [`prefetch`](Self::prefetch); 0 by default,
    /// which means none.
    fn prefetch_samples(&self) -> usize {
        0
    }

    /// Announces which samples are read next, in about this order. Each call goes on where the last call ended, so a
    /// sample is announced once. Only one thread at a time calls this method, which has to return at once; errors come
    /// from `read`. Some of the samples are not read if the run ends or if they are cached. Does nothing by default.
    fn prefetch(&self, indices: &[usize]) {
        let _ = indices;
    }

    /// Returns the connections through which the data set reads from stores and web servers; none by default. Through
    /// these connections a loader sets how much is read ahead, and reads the counters of what was read. A data set that
    /// is made of other data sets returns the connections of all of them.
    fn remotes(&self) -> Vec<Remote> {
        Vec::new()
    }
}
