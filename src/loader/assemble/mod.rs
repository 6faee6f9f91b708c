//! The batch thread: assembles the workers' samples into batches, and hands these on in order.
//!
//! `pending.rs` is a batch under way. On the CPU executor (`cpu.rs`) the workers augment into host memory. On the GPU
//! (`gpu/`) they fill staging slots, which `gpu/slots.rs` submits, and `gpu/cached.rs` submits samples that are in the
//! GPU's cache. A batch that is to be mixed is mixed once its last sample is there.

pub(super) mod cpu;
pub(super) mod gpu;
mod pending;

use super::batch::Batch;
use super::buffers::RunShares;
use super::pipeline::Pipeline;
use crate::error::{Error, Result};
use crossbeam_channel::{Receiver, Sender, never};
use std::sync::atomic::{AtomicBool, Ordering};

/// The batch thread's view of the run.
pub(super) struct BatchThread<'a, M> {
    pub(super) pipeline: &'a Pipeline,
    pub(super) shares: &'a RunShares,
    pub(super) inbox: Inbox<'a, M>,
    pub(super) ready: &'a Sender<Result<Batch>>,
    pub(super) stop: &'a AtomicBool,
}

impl<M> BatchThread<'_, M> {
    /// Hands an error to the caller. Workers are waited for after that: one may be inside a data set for long.
    fn report(&self, error: Error) {
        self.stop.store(true, Ordering::Relaxed);
        // If the caller has dropped the iterator, sending fails, and nobody needs the error.
        let _ = self.ready.send(Err(error));
    }
}

/// The messages to the batch thread. However the run ends, they are received until the last worker has ended: a request
/// left in the channel would leave its worker waiting for the grant forever.
pub(super) struct Inbox<'a, M> {
    pub(super) messages: Receiver<M>,
    /// A bounded channel with one entry for each batch under way; the feeder waits while it is full.
    pub(super) announced: Receiver<()>,
    pub(super) stop: &'a AtomicBool,
}

impl<M> Drop for Inbox<'_, M> {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.announced = never();
        self.messages.iter().for_each(drop);
    }
}
