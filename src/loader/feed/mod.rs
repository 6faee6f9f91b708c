//! The feeder thread: announces each batch to the batch thread, and divides it into jobs for the workers.
//!
//! `cpu.rs` groups small samples into chunks. `gpu.rs` gives each sample a job of its own, except those in the GPU's
//! cache. `look_ahead.rs` announces to a data set in a store what comes later.

mod cpu;
mod gpu;
mod look_ahead;

use super::buffers::RunShares;
use super::messages::BatchStart;
use super::pipeline::Pipeline;
use super::stats::Clock;
use crate::allocate::BATCH;
use crate::error::Result;
use crate::random::ahead::Ahead;
use crate::sampler::{EpochOrder, Position};
use crossbeam_channel::Sender;
use look_ahead::LookAhead;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// The most bytes of a small sample. A larger one is a job of its own: 64 small ones are a quarter of a megabyte.
pub(super) const SMALL: u64 = 4 << 10;

/// The batches of a run: from batch `batch` of epoch `epoch` on, to the last one of the epoch before `end`.
#[derive(Clone, Copy, Debug)]
pub(super) struct BatchRange {
    pub(super) epoch: u64,
    pub(super) batch: u64,
    pub(super) end: u64,
}

/// The feeder thread's view of the run.
pub(super) struct Feeder<'a, M> {
    pub(super) pipeline: &'a Pipeline,
    pub(super) shares: &'a RunShares,
    pub(super) inbox: &'a Sender<M>,
    /// Bounded: has one entry for each announced batch that is not finished. It alone limits the feeder's lead over
    /// batches whose samples are all in GPU memory.
    pub(super) announced: &'a Sender<()>,
    pub(super) stop: &'a AtomicBool,
    pub(super) clock: Clock<'a>,
    /// The random numbers of cached samples, many at once, for each group.
    ahead: Vec<Ahead>,
    /// The number of samples handed out in this run.
    order: u64,
}

impl<'a, M> Feeder<'a, M> {
    pub(super) fn new(
        pipeline: &'a Pipeline,
        shares: &'a RunShares,
        inbox: &'a Sender<M>,
        announced: &'a Sender<()>,
        stop: &'a AtomicBool,
    ) -> Self {
        let ahead = pipeline.groups.iter().map(|group| group.plan().ahead()).collect();
        let clock = pipeline.stats.feed();
        Feeder { pipeline, shares, inbox, announced, stop, clock, ahead, order: 0 }
    }

    /// Feeds these batches, or until the run stops. `first` is the order of the first epoch, if it was given. `announce`
    /// announces a batch to the batch thread and divides it into jobs; it returns `None` once the run has ended.
    pub(super) fn run<J>(
        mut self,
        batches: BatchRange,
        mut first: Option<EpochOrder>,
        jobs_in: &Sender<J>,
        announce: impl Fn(&mut Self, BatchStart, Vec<Position>) -> Result<Option<Vec<J>>>,
    ) -> Result<()> {
        let mut number = 0;
        let mut look_ahead = LookAhead::new(self.pipeline, batches);
        for epoch in batches.epoch..batches.end {
            let stops = || self.stop.load(Ordering::Relaxed);
            let order = match first.take() {
                Some(order) => order,
                None => {
                    let Some(order) = self.pipeline.sampler.epoch_when_known(epoch, stops)? else { return Ok(()) };
                    order
                }
            };
            let begin = if epoch == batches.epoch { batches.batch } else { 0 };
            for index in begin as usize..order.batches() {
                let (batch, mut positions) = (order.batch(index), Vec::new());
                BATCH.reserve(&mut positions, batch.size_hint().0)?;
                positions.extend(batch);
                let valid = positions.iter().filter(|position| !position.padding).count();
                look_ahead.before(positions.len());
                self.clock.other();
                if self.clock.blocked(|| self.announced.send(()).is_err()) {
                    return Ok(());
                }
                let (index, samples, at) = (index as u64, positions.len(), Instant::now());
                let mix = positions.first().and_then(|first| self.pipeline.batch_params(epoch, first, samples));
                let start = BatchStart { number, epoch, index, samples, valid, mix, at };
                let Some(jobs) = announce(&mut self, start, positions)? else { return Ok(()) };
                for job in jobs {
                    if self.stop.load(Ordering::Relaxed) || self.clock.send(jobs_in, job).is_err() {
                        return Ok(());
                    }
                }
                number += 1;
            }
        }
        Ok(())
    }

    /// Sends a message to the batch thread; `false` if that thread has ended.
    fn send(&self, message: M) -> bool {
        self.clock.blocked(|| self.inbox.send(message).is_ok())
    }
}
