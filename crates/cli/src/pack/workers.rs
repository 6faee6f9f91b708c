//! Prepares samples on several threads and returns them in order.

use rayon::iter::{IntoParallelIterator as _, ParallelIterator as _};
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use super::recode::Recoder;

/// Samples in memory per thread, so that a slow sample does not stop the other threads.
const EACH: usize = 8;

pub(super) struct Workers {
    pool: ThreadPool,
    /// One recoder per thread. The locks are never contended.
    recoders: Vec<Mutex<Recoder>>,
}

impl Workers {
    pub(super) fn new(threads: usize) -> Result<Workers, rayon::ThreadPoolBuildError> {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build()?;
        Ok(Workers { pool, recoders: (0..threads).map(|_| Mutex::default()).collect() })
    }

    /// Returns the number of samples for one call of [`map`](Self::map).
    pub(super) fn at_once(&self) -> usize {
        EACH * self.recoders.len()
    }

    /// Calls `work` for all samples and returns the results in order.
    pub(super) fn map<T: Send>(
        &self,
        samples: Range<usize>,
        work: impl Fn(&mut Recoder, usize) -> Result<T, Box<dyn std::error::Error + Send + Sync>> + Sync,
    ) -> Vec<Result<T, Box<dyn std::error::Error + Send + Sync>>> {
        self.pool.install(|| {
            let one = |index| {
                let thread = rayon::current_thread_index().unwrap_or_default();
                // After a panic the recoder's old content is overwritten before it is read.
                let mut recoder = self.recoders[thread].lock().unwrap_or_else(PoisonError::into_inner);
                work(&mut recoder, index)
            };
            samples.into_par_iter().map(one).collect()
        })
    }

    /// Calls `work` for all of `numbers` and returns the results in order.
    pub(super) fn each<T: Send>(&self, numbers: Range<usize>, work: impl Fn(usize) -> T + Sync + Send) -> Vec<T> {
        self.pool.install(|| numbers.into_par_iter().map(work).collect())
    }
}
