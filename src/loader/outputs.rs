//! The ring of output buffers: the line's one return edge.
//!
//! A buffer is with the line, in the queue of ready batches, or held by the caller; dropping the batch returns it. The
//! ring grows only while the caller holds more than one batch, and only up to the memory budget.
//!
//! Runs beside each other share the ring. Each may have `base` buffers in its line and no more, and the ring grows by
//! as many for each of them: a run whose batches nobody takes leaves the others theirs.

use super::budget::Budget;
use crate::error::{ErrorKind, Result};
use crossbeam_channel::{Receiver, Sender, bounded, never, select, unbounded};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// How long the caller may wait with every buffer in its own hands before that is called an error.
const PATIENCE: Duration = Duration::from_secs(1);

/// See the module.
#[derive(Debug)]
pub(super) struct Outputs<T> {
    /// Unbounded, so that returning a buffer never blocks; it holds `most` buffers at the most.
    returns: (Sender<T>, Receiver<T>),
    /// Buffers that exist and belong to the ring.
    made: AtomicUsize,
    /// Buffers in batches that the caller has.
    held: AtomicUsize,
    /// Runs under way.
    runs: AtomicUsize,
    base: usize,
    budget: Budget,
}

/// How long nobody looks whether the run has been stopped, or waits in vain.
pub(super) const ROUND: Duration = Duration::from_millis(10);

/// One run's part in the ring.
#[derive(Debug)]
pub(super) struct Run {
    /// Its buffers that the caller does not have yet.
    in_line: AtomicUsize,
    /// Its caller waits in `next`.
    pub(super) waiting: AtomicBool,
    /// Says that one of them has left the line: there may be room for another one.
    left: (Sender<()>, Receiver<()>),
}

impl Default for Run {
    fn default() -> Self {
        Run { in_line: AtomicUsize::new(0), waiting: AtomicBool::new(false), left: bounded(1) }
    }
}

impl Run {
    fn leave_line(&self) {
        self.in_line.fetch_sub(1, Ordering::SeqCst);
        // One message says it for all that have left.
        let _ = self.left.0.try_send(());
    }

    /// A message whenever a buffer has left the line.
    pub(super) fn left(&self) -> &Receiver<()> {
        &self.left.1
    }
}

/// A buffer on loan; dropping it returns it.
#[derive(Debug)]
pub(super) struct Lease<T> {
    buffer: Option<T>,
    ring: Arc<Outputs<T>>,
    run: Arc<Run>,
    held: bool,
}

impl<T> std::ops::Deref for Lease<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.buffer.as_ref().expect("only keep() and drop() take it")
    }
}

impl<T> Lease<T> {
    /// Changes the buffer.
    pub(super) fn with(&mut self, work: impl FnOnce(&mut T)) {
        work(self.buffer.as_mut().expect("only keep() and drop() take it"));
    }

    /// From now on the caller has it.
    pub(super) fn hand_out(&mut self) {
        self.held = true;
        self.ring.held.fetch_add(1, Ordering::SeqCst);
        self.run.leave_line();
    }

    /// Takes it out of the ring for good.
    pub(super) fn keep(mut self) -> T {
        self.ring.made.fetch_sub(1, Ordering::SeqCst);
        self.buffer.take().expect("taken once: self is consumed")
    }
}

impl<T> Drop for Lease<T> {
    fn drop(&mut self) {
        if let Some(buffer) = self.buffer.take() {
            // Both ends live in the ring, so this cannot fail.
            let _ = self.ring.returns.0.send(buffer);
        }
        if self.held {
            self.ring.held.fetch_sub(1, Ordering::SeqCst);
        } else {
            self.run.leave_line();
        }
    }
}

/// Notices when nothing can ever come back.
#[derive(Debug, Default)]
pub(super) struct Stuck(Option<Instant>);

impl<T> Outputs<T> {
    /// A ring of `base` buffers for each run that may grow within `budget`.
    pub(super) fn new(base: usize, budget: Budget) -> Arc<Self> {
        Arc::new(Outputs {
            returns: unbounded(),
            made: AtomicUsize::new(0),
            held: AtomicUsize::new(0),
            runs: AtomicUsize::new(0),
            base,
            budget,
        })
    }

    /// A run begins: everything that a run needs must be there for it, too.
    pub(super) fn enter(&self) -> Result<()> {
        let runs = self.runs.fetch_add(1, Ordering::SeqCst) + 1;
        if let Err(error) = self.budget.check(runs, self.base) {
            self.leave();
            return Err(error);
        }
        // Buffers that the ring had grown by make room for the run's slots.
        while self.made.load(Ordering::SeqCst) > self.budget.most(runs) && self.returns.1.try_recv().is_ok() {
            self.made.fetch_sub(1, Ordering::SeqCst);
        }
        Ok(())
    }

    /// A run has ended.
    pub(super) fn leave(&self) {
        self.runs.fetch_sub(1, Ordering::SeqCst);
    }

    /// Adds a buffer.
    pub(super) fn add(&self, buffer: T) {
        self.made.fetch_add(1, Ordering::SeqCst);
        let _ = self.returns.0.send(buffer);
    }

    fn lease(self: &Arc<Self>, run: &Arc<Run>, buffer: T) -> Lease<T> {
        run.in_line.fetch_add(1, Ordering::SeqCst);
        Lease { buffer: Some(buffer), ring: Arc::clone(self), run: Arc::clone(run), held: false }
    }

    /// Whether the run has all the buffers that it may have before its caller takes a batch.
    pub(super) fn is_full(&self, run: &Run) -> bool {
        run.in_line.load(Ordering::SeqCst) >= self.base
    }

    /// Buffers that may exist now.
    fn most(&self) -> usize {
        self.budget.most(self.runs.load(Ordering::SeqCst))
    }

    /// A free buffer, or a new one where the ring may grow.
    pub(super) fn try_take(
        self: &Arc<Self>,
        run: &Arc<Run>,
        make: impl FnOnce() -> Result<T>,
    ) -> Result<Option<Lease<T>>> {
        if self.is_full(run) {
            return Ok(None);
        }
        if let Ok(buffer) = self.returns.1.try_recv() {
            return Ok(Some(self.lease(run, buffer)));
        }
        let (runs, held) = (self.runs.load(Ordering::SeqCst), self.held.load(Ordering::SeqCst));
        let wanted = (self.base * runs + held.saturating_sub(1)).min(self.most());
        let room = |made: usize| (made < wanted).then_some(made + 1);
        if self.made.fetch_update(Ordering::SeqCst, Ordering::SeqCst, room).is_err() {
            return Ok(None);
        }
        match make() {
            Ok(buffer) => Ok(Some(self.lease(run, buffer))),
            Err(error) => {
                self.made.fetch_sub(1, Ordering::SeqCst);
                Err(error)
            }
        }
    }

    /// Waits for a buffer; `None` once `stop` is set.
    pub(super) fn take(
        self: &Arc<Self>,
        run: &Arc<Run>,
        stop: &AtomicBool,
        make: impl Fn() -> Result<T>,
    ) -> Result<Option<Lease<T>>> {
        let mut stuck = Stuck::default();
        loop {
            if stop.load(Ordering::Relaxed) {
                return Ok(None);
            }
            if let Some(lease) = self.try_take(run, &make)? {
                return Ok(Some(lease));
            }
            self.check(run, &mut stuck)?;
            self.wait(run, ROUND);
        }
    }

    /// Until a buffer comes back or leaves the line; whether that was within `most`.
    fn wait(&self, run: &Run, most: Duration) -> bool {
        select! {
            recv(self.returns(run)) -> buffer => {
                buffer.into_iter().for_each(|buffer| self.put_back(buffer));
                true
            }
            recv(run.left()) -> _ => true,
            default(most) => false,
        }
    }

    /// An error once the caller has waited too long although the run has no buffer left and none may be made.
    pub(super) fn check(&self, run: &Run, stuck: &mut Stuck) -> Result<()> {
        let idle = run.waiting.load(Ordering::SeqCst) && run.in_line.load(Ordering::SeqCst) == 0;
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

    /// Buffers that come back, for whoever waits for several things at once, [`Run::left`] among them; never any while
    /// the run is full.
    pub(super) fn returns(&self, run: &Run) -> Receiver<T> {
        if self.is_full(run) { never() } else { self.returns.1.clone() }
    }

    /// Puts back what came from `returns`, where `try_take` finds it.
    pub(super) fn put_back(&self, buffer: T) {
        let _ = self.returns.0.send(buffer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_waits_hears_when_the_caller_takes_a_batch_and_when_it_returns_one() {
        let forever = Duration::from_secs(60);
        let ring = Outputs::new(1, Budget::unlimited(1));
        ring.enter().unwrap();
        let run = Arc::new(Run::default());
        let take = || ring.try_take(&run, || Ok("a buffer")).unwrap();
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
        assert!(ring.wait(&run, forever), "a batch that never left the line");
    }
}
