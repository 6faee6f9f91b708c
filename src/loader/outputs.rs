//! The ring of output buffers: the line's one return edge.
//!
//! A buffer is with the line, in the queue of ready batches, or held by the caller; dropping the batch returns it. The
//! ring grows only while the caller holds more than one batch, and only up to the memory budget.

use crate::error::{ErrorKind, Result};
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, unbounded};
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
    /// The caller waits in `next`.
    pub(super) waiting: AtomicBool,
    base: usize,
    most: usize,
    budget: u64,
}

/// A buffer on loan; dropping it returns it.
#[derive(Debug)]
pub(super) struct Lease<T> {
    buffer: Option<T>,
    ring: Arc<Outputs<T>>,
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
        }
    }
}

/// Notices when nothing can ever come back.
#[derive(Debug, Default)]
pub(super) struct Stuck(Option<Instant>);

impl<T> Outputs<T> {
    /// A ring of `base` buffers that may grow to `most`.
    pub(super) fn new(base: usize, most: usize, budget: u64) -> Arc<Self> {
        Arc::new(Outputs {
            returns: unbounded(),
            made: AtomicUsize::new(0),
            held: AtomicUsize::new(0),
            waiting: AtomicBool::new(false),
            base,
            most,
            budget,
        })
    }

    /// Adds a buffer.
    pub(super) fn add(&self, buffer: T) {
        self.made.fetch_add(1, Ordering::SeqCst);
        let _ = self.returns.0.send(buffer);
    }

    fn lease(self: &Arc<Self>, buffer: T) -> Lease<T> {
        Lease { buffer: Some(buffer), ring: Arc::clone(self), held: false }
    }

    /// A free buffer, or a new one where the ring may grow.
    pub(super) fn try_take(self: &Arc<Self>, make: impl FnOnce() -> Result<T>) -> Result<Option<Lease<T>>> {
        if let Ok(buffer) = self.returns.1.try_recv() {
            return Ok(Some(self.lease(buffer)));
        }
        let wanted = self.base + self.held.load(Ordering::SeqCst).saturating_sub(1);
        let room = |made: usize| (made < wanted.min(self.most)).then_some(made + 1);
        if self.made.fetch_update(Ordering::SeqCst, Ordering::SeqCst, room).is_err() {
            return Ok(None);
        }
        match make() {
            Ok(buffer) => Ok(Some(self.lease(buffer))),
            Err(error) => {
                self.made.fetch_sub(1, Ordering::SeqCst);
                Err(error)
            }
        }
    }

    /// Waits for a buffer; `None` once `stop` is set.
    pub(super) fn take(self: &Arc<Self>, stop: &AtomicBool, make: impl Fn() -> Result<T>) -> Result<Option<Lease<T>>> {
        let mut stuck = Stuck::default();
        loop {
            if stop.load(Ordering::Relaxed) {
                return Ok(None);
            }
            if let Some(lease) = self.try_take(&make)? {
                return Ok(Some(lease));
            }
            self.check(&mut stuck)?;
            match self.returns.1.recv_timeout(Duration::from_millis(10)) {
                Ok(buffer) => return Ok(Some(self.lease(buffer))),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
            }
        }
    }

    /// An error once the caller has waited too long while holding every buffer that may exist.
    pub(super) fn check(&self, stuck: &mut Stuck) -> Result<()> {
        let held = self.held.load(Ordering::SeqCst);
        if !self.waiting.load(Ordering::SeqCst) || held < self.made.load(Ordering::SeqCst) {
            stuck.0 = None;
            return Ok(());
        }
        if stuck.0.get_or_insert_with(Instant::now).elapsed() < PATIENCE {
            return Ok(());
        }
        Err(ErrorKind::OutputsHeld { held, budget: self.budget }.into())
    }

    /// Buffers that come back, for whoever waits for several things at once.
    pub(super) fn returns(&self) -> &Receiver<T> {
        &self.returns.1
    }

    /// Puts back what came from `returns`, as a lease.
    pub(super) fn adopt(self: &Arc<Self>, buffer: T) -> Lease<T> {
        self.lease(buffer)
    }
}
