//! A ring of output buffers: the only way in which memory flows back through the pipeline.
//!
//! A buffer is in the pipeline, in the queue of ready batches, or held by the caller. Dropping the batch returns it.
//! The ring grows only while the caller holds more than one batch, and only up to the memory budget.
//!
//! Concurrent runs share the ring. Each may have at most `base` buffers in its pipeline, and the ring grows by that
//! number for each run: a run whose batches nobody takes leaves the other runs their buffers.

use super::budget::Budget;
use crate::error::{ErrorKind, Result};
use crate::gpu::exported::ComesBack;
use crossbeam_channel::{Receiver, Sender, bounded, never, select, unbounded};
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// The time for which the caller may wait while it holds every buffer, before that becomes an error.
const PATIENCE: Duration = Duration::from_secs(1);

/// A kind of buffer that rings hold.
pub(in crate::loader) trait Buffer {
    /// Whether the buffer may be filled again. One that is [spent](ComesBack::Spent) is freed, and the ring may make another;
    /// one that [never](ComesBack::Never) comes back counts as one that the caller holds.
    fn comes_back(&self) -> ComesBack {
        ComesBack::Free
    }
}

/// A ring of buffers.
#[derive(Debug)]
pub(in crate::loader) struct BufferRing<T> {
    /// Unbounded, so that returning a buffer never blocks; holds at most `most` buffers.
    returns: (Sender<T>, Receiver<T>),
    /// Buffers that belong to the ring, wherever they are.
    made: AtomicUsize,
    /// The number of buffers in batches that the caller holds.
    held: AtomicUsize,
    /// The number of runs in progress.
    runs: AtomicUsize,
    /// True once the buffers of one run were made.
    filled: Mutex<bool>,
    base: usize,
    budget: Budget,
}

/// The interval at which a waiting thread checks for `stop`, and for a caller that holds every buffer.
pub(in crate::loader) const ROUND: Duration = Duration::from_millis(10);

/// One run's share of a ring.
#[derive(Debug)]
pub(in crate::loader) struct RunShare {
    /// The number of this run's buffers that are not with the caller yet.
    in_pipeline: AtomicUsize,
    /// True while the caller waits in `next`.
    pub(in crate::loader) waiting: AtomicBool,
    /// Gets a message when a buffer has left the pipeline, because there may now be room for another one.
    left: (Sender<()>, Receiver<()>),
}

impl Default for RunShare {
    fn default() -> Self {
        RunShare { in_pipeline: AtomicUsize::new(0), waiting: AtomicBool::new(false), left: bounded(1) }
    }
}

impl RunShare {
    fn leave_pipeline(&self) {
        self.in_pipeline.fetch_sub(1, Ordering::SeqCst);
        // The channel holds one message, which stands for all buffers that have left.
        let _ = self.left.0.try_send(());
    }

    /// Receives a message whenever a buffer has left the pipeline.
    pub(in crate::loader) fn left(&self) -> &Receiver<()> {
        &self.left.1
    }
}

/// A buffer of a ring. Dropping it returns it.
#[derive(Debug)]
pub(in crate::loader) struct Lease<T: Buffer> {
    buffer: Option<T>,
    ring: Arc<BufferRing<T>>,
    share: Arc<RunShare>,
    held: bool,
}

impl<T: Buffer> std::ops::Deref for Lease<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.buffer.as_ref().expect("only into_inner() and drop() take it")
    }
}

impl<T: Buffer> Lease<T> {
    /// The buffer, to change it.
    pub(in crate::loader) fn get_mut(&mut self) -> &mut T {
        self.buffer.as_mut().expect("only into_inner() and drop() take it")
    }

    /// Counts the buffer as one that the caller has.
    pub(in crate::loader) fn hand_out(&mut self) {
        self.held = true;
        self.ring.held.fetch_add(1, Ordering::SeqCst);
        self.share.leave_pipeline();
    }

    /// Takes the buffer out of the ring.
    pub(in crate::loader) fn into_inner(mut self) -> T {
        self.ring.made.fetch_sub(1, Ordering::SeqCst);
        self.buffer.take().expect("taken once: self is consumed")
    }
}

impl<T: Buffer> Drop for Lease<T> {
    fn drop(&mut self) {
        if let Some(buffer) = self.buffer.take() {
            match buffer.comes_back() {
                // Both ends of the channel live in the ring, so sending cannot fail.
                ComesBack::Free => drop(self.ring.returns.0.send(buffer)),
                ComesBack::Spent => {
                    self.ring.made.fetch_sub(1, Ordering::SeqCst);
                }
                ComesBack::Never => return,
            }
        }
        if self.held {
            self.ring.held.fetch_sub(1, Ordering::SeqCst);
        } else {
            self.share.leave_pipeline();
        }
    }
}

/// Measures how long no buffer has been able to come back.
#[derive(Debug, Default)]
pub(in crate::loader) struct StuckTimer(Option<Instant>);

impl<T: Buffer> BufferRing<T> {
    /// A ring with `base` buffers for each run, which may grow within `budget`.
    pub(in crate::loader) fn new(base: usize, budget: Budget) -> Arc<Self> {
        Arc::new(BufferRing {
            returns: unbounded(),
            made: AtomicUsize::new(0),
            held: AtomicUsize::new(0),
            runs: AtomicUsize::new(0),
            filled: Mutex::new(false),
            base,
            budget,
        })
    }

    /// Begins a run; an error if the budget has no room for it.
    pub(in crate::loader) fn enter(&self) -> Result<()> {
        let runs = self.runs.fetch_add(1, Ordering::SeqCst) + 1;
        if let Err(error) = self.budget.check(runs, self.base) {
            self.leave();
            return Err(error);
        }
        // Surplus buffers, from when the ring had grown, make room for the run's slots.
        while self.made.load(Ordering::SeqCst) > self.budget.most(runs) && self.returns.1.try_recv().is_ok() {
            self.made.fetch_sub(1, Ordering::SeqCst);
        }
        Ok(())
    }

    /// Ends a run.
    pub(in crate::loader) fn leave(&self) {
        self.runs.fetch_sub(1, Ordering::SeqCst);
    }

    /// Makes the buffers of one run, unless an earlier call has: all of them or, after an error, none.
    pub(in crate::loader) fn fill(&self, make: impl Fn() -> Result<T>) -> Result<()> {
        let mut filled = self.filled.lock();
        if !*filled {
            let buffers = (0..self.base).map(|_| make()).collect::<Result<Vec<T>>>()?;
            self.made.fetch_add(buffers.len(), Ordering::SeqCst);
            buffers.into_iter().for_each(|buffer| self.put_back(buffer));
            *filled = true;
        }
        Ok(())
    }

    fn lease(self: &Arc<Self>, share: &Arc<RunShare>, buffer: T) -> Lease<T> {
        share.in_pipeline.fetch_add(1, Ordering::SeqCst);
        Lease { buffer: Some(buffer), ring: Arc::clone(self), share: Arc::clone(share), held: false }
    }

    /// True if the run has all buffers that it may have before its caller takes a batch.
    pub(in crate::loader) fn is_full(&self, share: &RunShare) -> bool {
        share.in_pipeline.load(Ordering::SeqCst) >= self.base
    }

    /// The most buffers that may exist now.
    fn most(&self) -> usize {
        self.budget.most(self.runs.load(Ordering::SeqCst))
    }

    /// A free buffer, or a new one if the ring may grow.
    pub(in crate::loader) fn try_take(
        self: &Arc<Self>,
        share: &Arc<RunShare>,
        make: impl FnOnce() -> Result<T>,
    ) -> Result<Option<Lease<T>>> {
        if self.is_full(share) {
            return Ok(None);
        }
        if let Ok(buffer) = self.returns.1.try_recv() {
            return Ok(Some(self.lease(share, buffer)));
        }
        let (runs, held) = (self.runs.load(Ordering::SeqCst), self.held.load(Ordering::SeqCst));
        let wanted = (self.base * runs + held.saturating_sub(1)).min(self.most());
        let room = |made: usize| (made < wanted).then_some(made + 1);
        if self.made.fetch_update(Ordering::SeqCst, Ordering::SeqCst, room).is_err() {
            return Ok(None);
        }
        match make() {
            Ok(buffer) => Ok(Some(self.lease(share, buffer))),
            Err(error) => {
                self.made.fetch_sub(1, Ordering::SeqCst);
                Err(error)
            }
        }
    }

    /// Waits for a buffer; `None` once `stop` is set.
    pub(in crate::loader) fn take(
        self: &Arc<Self>,
        share: &Arc<RunShare>,
        stop: &AtomicBool,
        make: impl Fn() -> Result<T>,
    ) -> Result<Option<Lease<T>>> {
        let mut stuck = StuckTimer::default();
        loop {
            if stop.load(Ordering::Relaxed) {
                return Ok(None);
            }
            if let Some(lease) = self.try_take(share, &make)? {
                return Ok(Some(lease));
            }
            self.check(share, &mut stuck)?;
            self.wait(share, ROUND);
        }
    }

    /// Waits until a buffer comes back or leaves the pipeline; `false` after `most`.
    fn wait(&self, share: &RunShare, most: Duration) -> bool {
        select! {
            recv(self.returns(share)) -> buffer => {
                buffer.into_iter().for_each(|buffer| self.put_back(buffer));
                true
            }
            recv(share.left()) -> _ => true,
            default(most) => false,
        }
    }

    /// An error once the caller has waited too long while it holds all of the run's buffers and the ring may not grow.
    pub(in crate::loader) fn check(&self, share: &RunShare, stuck: &mut StuckTimer) -> Result<()> {
        let idle = share.waiting.load(Ordering::SeqCst) && share.in_pipeline.load(Ordering::SeqCst) == 0;
        if !idle || self.made.load(Ordering::SeqCst) < self.most() {
            stuck.0 = None;
            return Ok(());
        }
        if stuck.0.get_or_insert_with(Instant::now).elapsed() < PATIENCE {
            return Ok(());
        }
        let held = self.held.load(Ordering::SeqCst);
        Err(ErrorKind::OutputsHeld { held, budget: self.budget.limit }.into())
    }

    /// Receives buffers that come back, for a thread that also waits for other channels, such as [`RunShare::left`];
    /// receives nothing while the run is full.
    pub(in crate::loader) fn returns(&self, share: &RunShare) -> Receiver<T> {
        if self.is_full(share) { never() } else { self.returns.1.clone() }
    }

    /// Puts a buffer from `returns` back, for `try_take` to find.
    pub(in crate::loader) fn put_back(&self, buffer: T) {
        let _ = self.returns.0.send(buffer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Buffer for ComesBack {
        fn comes_back(&self) -> ComesBack {
            *self
        }
    }

    #[test]
    fn a_buffer_that_never_comes_back_counts_as_held_and_a_spent_one_as_gone() {
        for (comes_back, held, made, free) in
            [(ComesBack::Spent, 0, 0, 0), (ComesBack::Never, 1, 1, 0), (ComesBack::Free, 0, 1, 1)]
        {
            let ring = BufferRing::new(1, Budget::unlimited(1));
            ring.enter().unwrap();
            let run = Arc::new(RunShare::default());
            let mut lease = ring.try_take(&run, || Ok(comes_back)).unwrap().unwrap();
            lease.hand_out();
            drop(lease);
            let counted = [&ring.held, &ring.made].map(|count| count.load(Ordering::SeqCst));
            assert_eq!(counted, [held, made], "{comes_back:?}");
            assert_eq!(ring.returns.1.len(), free);
        }
    }

    #[test]
    fn a_run_that_waits_hears_when_the_caller_takes_a_batch_and_when_it_returns_one() {
        let forever = Duration::from_secs(60);
        let ring = BufferRing::new(1, Budget::unlimited(1));
        ring.enter().unwrap();
        let run = Arc::new(RunShare::default());
        let take = || ring.try_take(&run, || Ok(ComesBack::Free)).unwrap();
        let mut lease = take().unwrap();
        assert!(take().is_none(), "the run has all that it may have");
        assert!(!ring.wait(&run, Duration::ZERO), "nothing has happened");
        lease.hand_out();
        assert!(ring.wait(&run, forever));
        assert!(take().is_none(), "the ring may not grow while the caller has one batch alone");
        assert!(!ring.wait(&run, Duration::ZERO));
        drop(lease);
        assert!(ring.wait(&run, forever));
        let lease = take().unwrap();
        drop(lease);
        assert!(ring.wait(&run, forever), "a batch that never left the pipeline");
    }
}
