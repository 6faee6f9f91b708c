//! The batch thread on the GPU executor: grants ranges of mapped slots in batch order, and turns each full slot into
//! one submission (copy, then the plan's passes).
//!
//! One thread, one loop: it receives messages, grants what it can, and waits for the next event: a message, a buffer
//! that the caller returns, or the GPU. It never waits for a worker while it could grant, so a slow or huge sample
//! delays its own batch and nothing else.

mod cached;
mod slots;
#[cfg(test)]
mod tests;

use super::BatchThread;
use super::pending::{FailureBudget, PendingBatch};
use crate::error::{ErrorKind, Result};
use crate::gpu::submission::Resources;
use crate::gpu::target::Target;
use crate::loader::batch_store::BatchStore;
use crate::loader::buffers::{Lease, ROUND, StuckTimer};
use crate::loader::executor_buffers::GpuBuffers;
use crate::loader::messages::{Finished, GpuMessage, InPage};
use crate::loader::pipeline::Pipeline;
use crate::loader::stats::{Clock, Stage};
use crossbeam_channel::{Receiver, RecvTimeoutError, never, select};
use slots::Slots;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::atomic::Ordering;

/// The buffers of the batch that is being assembled.
#[derive(Debug)]
struct PendingBuffers {
    /// `None` until a ring buffer is free: batches take them in order.
    targets: Option<Lease<Vec<Target>>>,
    /// Samples that have a range of a slot or are in the cache.
    granted: usize,
    /// Cached samples that are not yet submitted.
    cached: Vec<(usize, Finished<InPage>)>,
}

/// Assembles batches until the workers have ended, the caller has gone, or an error ends the run.
pub(in crate::loader) fn run(executor: &GpuBuffers, thread: BatchThread<'_, GpuMessage>) -> Result<()> {
    let mut resources = executor.take_resources()?;
    let result = GpuRun::new(executor, &thread, &mut resources).run();
    let whole = result.map_err(|error| thread.report(error)).is_ok();
    // Another run may take the slots, so no worker may still hold a range of them.
    drop(thread);
    // After an error a slot may be unmapped, or a submission half recorded: the next run makes new ones.
    if whole {
        executor.return_resources(resources);
    }
    Ok(())
}

/// The state of the batch thread.
struct GpuRun<'a> {
    executor: &'a GpuBuffers,
    thread: &'a BatchThread<'a, GpuMessage>,
    pipeline: &'a Pipeline,
    resources: &'a mut Resources,
    clock: Clock<'a>,
    batches: BTreeMap<u64, PendingBatch<PendingBuffers>>,
    slots: Slots,
    failure_budget: FailureBudget,
    stuck: StuckTimer,
}

/// The reason why the next request is not granted.
#[derive(Debug, PartialEq)]
enum Missing {
    /// No batch is under way.
    Batch,
    Request,
    Output,
    Slot,
}

impl<'a> GpuRun<'a> {
    fn new(executor: &'a GpuBuffers, thread: &'a BatchThread<'a, GpuMessage>, resources: &'a mut Resources) -> Self {
        let pipeline = thread.pipeline;
        pipeline.stats.gpu.name(executor.pass_names(&pipeline.groups));
        GpuRun {
            executor,
            thread,
            pipeline,
            resources,
            clock: pipeline.stats.batch_thread(),
            batches: BTreeMap::new(),
            slots: Slots::default(),
            failure_budget: FailureBudget::default(),
            stuck: StuckTimer::default(),
        }
    }

    /// Works until the workers have ended, the caller has gone, or an error ends the run.
    fn run(mut self) -> Result<()> {
        let result = self.serve();
        // Slots that are being filled stay mapped; their ranges are dropped once the workers have ended.
        for slot in self.slots.open() {
            self.resources.staging.give_back(slot);
        }
        result
    }

    fn serve(&mut self) -> Result<()> {
        let messages = &self.thread.inbox.messages;
        // Becomes true when the feeder and the workers have ended.
        let mut ended = false;
        loop {
            if self.thread.stop.load(Ordering::Relaxed) {
                return Ok(());
            }
            let mut missing = self.grant_all()?;
            if !self.submit_cached()? && missing != Missing::Slot {
                missing = Missing::Output;
            }
            self.submit_full(missing == Missing::Request && !ended)?;
            if !self.deliver()? {
                return Ok(());
            }
            self.clock.spent(Stage::Submit, 0);
            let message = match missing {
                Missing::Slot if self.slots.are_idle() && self.resources.staging.has_buffers() => {
                    let staging = &mut self.resources.staging;
                    self.clock.waited_for_gpu(|| staging.wait_oldest())?;
                    continue;
                }
                Missing::Output => {
                    self.executor.outputs.check(&self.thread.shares.outputs, &mut self.stuck)?;
                    let messages = if ended { &never() } else { messages };
                    match self.clock.blocked(|| self.wait_for_output(messages)) {
                        ControlFlow::Break(message) => message,
                        ControlFlow::Continue(()) => continue,
                    }
                }
                Missing::Slot | Missing::Request | Missing::Batch => {
                    self.clock.look(messages.len());
                    // A worker that sees `stop` drops its job without a message. Grants go in the order of jobs, so another
                    // worker may wait for one that never comes, and send nothing either: this wait needs a limit.
                    match self.clock.starved(|| messages.recv_timeout(ROUND)) {
                        Ok(message) => Some(message),
                        Err(RecvTimeoutError::Timeout) => continue,
                        Err(RecvTimeoutError::Disconnected) => None,
                    }
                }
            };
            match message {
                Some(message) => self.receive(message)?,
                None if ended => return Ok(()),
                // The samples in open slots are submitted and delivered.
                None => {
                    ended = true;
                    self.slots.seal_all();
                }
            }
            while let Ok(message) = messages.try_recv() {
                self.receive(message)?;
            }
        }
    }

    /// Waits for an output buffer. Also ends when a message arrives, or when no more messages can come.
    fn wait_for_output(&self, messages: &Receiver<GpuMessage>) -> ControlFlow<Option<GpuMessage>> {
        let (outputs, share) = (&self.executor.outputs, &self.thread.shares.outputs);
        select! {
            recv(messages) -> message => ControlFlow::Break(message.ok()),
            recv(outputs.returns(share)) -> buffer => {
                if let Ok(buffer) = buffer {
                    // The buffer goes back into the ring, and the loop's next round takes it.
                    outputs.put_back(buffer);
                }
                ControlFlow::Continue(())
            }
            recv(share.left()) -> _ => ControlFlow::Continue(()),
            default(ROUND) => ControlFlow::Continue(()),
        }
    }

    fn receive(&mut self, message: GpuMessage) -> Result<()> {
        match message {
            GpuMessage::Start(start, cached) => {
                let buffers = PendingBuffers { targets: None, granted: cached.len(), cached };
                self.batches.insert(start.number, PendingBatch::new(start, buffers)?);
            }
            GpuMessage::Request(request) => self.slots.request(request),
            GpuMessage::GiveBack { slot } => self.slots.give_back(slot),
            GpuMessage::Staged { batch, index, sample, failures } => {
                if let Some(pending) = self.batches.get_mut(&batch) {
                    pending.add_failures(failures);
                    let pixels = pending.add(index, sample);
                    self.slots.stage(batch, index, pixels);
                }
            }
            GpuMessage::Part { batch, index, part } => {
                if let Some(pending) = self.batches.get_mut(&batch) {
                    // The batch is complete once this part is submitted as well.
                    pending.remaining += 1;
                    self.slots.stage(batch, index, part);
                }
            }
            GpuMessage::Withdraw { batch, index } => {
                let withdrawn = self.slots.withdraw(batch, index);
                if let Some(pending) = self.batches.get_mut(&batch) {
                    pending.remaining -= withdrawn;
                }
            }
            GpuMessage::Fatal(error) => return Err(error),
        }
        Ok(())
    }

    /// True if the batch has its output buffer; takes one if one is free. Earlier batches come first: a later batch
    /// could take the last buffer while the caller waits for an earlier one.
    fn take_output(&mut self, batch: u64) -> Result<bool> {
        let (outputs, share) = (&self.executor.outputs, &self.thread.shares.outputs);
        for (_, pending) in self.batches.range_mut(..=batch).filter(|(_, pending)| pending.buffers.targets.is_none()) {
            pending.buffers.targets = outputs.try_take(share, || self.executor.targets())?;
            let Some(targets) = &pending.buffers.targets else { return Ok(false) };
            self.resources.clear_padding(&self.executor.gpu, &self.executor.kernels, targets)?;
        }
        Ok(self.batches.contains_key(&batch))
    }

    /// Hands complete batches on, in order; `false` once the caller has gone.
    fn deliver(&mut self) -> Result<bool> {
        while let Some(entry) = self.batches.first_entry().filter(|entry| entry.get().remaining == 0) {
            let mut pending = entry.remove();
            let Some(targets) = pending.buffers.targets.take() else {
                let reason = "a batch without a buffer was complete".to_owned();
                return Err(ErrorKind::Device { stage: "submit", reason }.into());
            };
            let store = BatchStore::Gpu { gpu: self.executor.gpu.clone(), targets };
            let _ = self.thread.inbox.announced.try_recv();
            let mut batch = pending.finish(self.pipeline, |_| store)?;
            self.failure_budget.count(self.pipeline, &mut batch)?;
            self.clock.spent(Stage::Submit, 0);
            if self.clock.blocked(|| self.thread.ready.send(Ok(batch)).is_err()) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
