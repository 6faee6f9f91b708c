//! Samples prepared by several threads, handed on in their order.

use rayon::iter::{IntoParallelIterator as _, ParallelIterator as _};
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use super::recode::Recoder;

/// Samples in memory for each thread, so that a slow one does not keep the others waiting.
const EACH: usize = 8;

pub(super) struct Workers {
    pool: ThreadPool,
    /// One a thread: no two ask for the same one.
    recoders: Vec<Mutex<Recoder>>,
}

impl Workers {
    pub(super) fn new(threads: usize) -> Result<Workers, rayon::ThreadPoolBuildError> {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build()?;
        Ok(Workers { pool, recoders: (0..threads).map(|_| Mutex::default()).collect() })
    }

    /// Samples that are worth a call of [`map`](Self::map).
    pub(super) fn at_once(&self) -> usize {
        EACH * self.recoders.len()
    }

    pub(super) fn map<T: Send>(
        &self,
        samples: Range<usize>,
        work: impl Fn(&mut Recoder, usize) -> Result<T, Box<dyn std::error::Error + Send + Sync>> + Sync,
    ) -> Vec<Result<T, Box<dyn std::error::Error + Send + Sync>>> {
        self.pool.install(|| {
            let one = |index| {
                let thread = rayon::current_thread_index().unwrap_or_default();
                // What a panic leaves in it is overwritten before it is read.
                let mut recoder = self.recoders[thread].lock().unwrap_or_else(PoisonError::into_inner);
                work(&mut recoder, index)
            };
            samples.into_par_iter().map(one).collect()
        })
    }
}
