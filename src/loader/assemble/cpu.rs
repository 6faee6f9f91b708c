//! The batch thread on the CPU executor: joins the chunks of each batch, and hands the batches on in order, in host
//! memory or copied to GPU buffers (software adapters).

use super::BatchThread;
use super::pending::{FailureBudget, PendingBatch};
use crate::cpu;
use crate::error::Result;
use crate::gpu::staging::Staging;
use crate::gpu::target::Target;
use crate::loader::batch::BatchStore;
use crate::loader::buffers::{HostBuffer, Lease};
use crate::loader::executor_buffers::{CopyUp, CpuBuffers};
use crate::loader::messages::CpuMessage;
use crate::loader::stats::{Clock, Stage};
use bytes::BytesMut;
use std::collections::BTreeMap;

/// The memory of the batch that is being assembled.
#[derive(Debug)]
struct Chunks {
    lease: Lease<HostBuffer>,
    /// Filled chunks, by the batch index of their first sample.
    filled: BTreeMap<usize, BytesMut>,
}

/// Assembles batches until the workers have ended, the caller has gone, or an error ends the run.
pub(in crate::loader) fn run(executor: &CpuBuffers, thread: &BatchThread<'_, CpuMessage>) -> Result<()> {
    let result = match &executor.copy_up {
        None => assemble(thread, None),
        Some(up) => {
            let mut staging = up.take_staging(thread.pipeline.batch_bytes())?;
            let result = assemble(thread, Some((up, &mut staging)));
            // After an error a buffer may be unmapped, or a submission half recorded: the next run makes new ones.
            result.inspect(|()| up.return_staging(staging))
        }
    };
    result.unwrap_or_else(|error| thread.report(error));
    Ok(())
}

fn assemble(thread: &BatchThread<'_, CpuMessage>, mut up: Option<(&CopyUp, &mut Staging)>) -> Result<()> {
    let BatchThread { pipeline, inbox, ready, .. } = thread;
    let mut batches: BTreeMap<u64, PendingBatch<Chunks>> = BTreeMap::new();
    let mut failure_budget = FailureBudget::default();
    let clock = pipeline.stats.batch_thread();
    loop {
        clock.spent(Stage::Submit, 0);
        clock.look(inbox.messages.len());
        let Ok(message) = clock.starved(|| inbox.messages.recv()) else { return Ok(()) };
        match message {
            CpuMessage::Start(start, lease) => {
                let chunks = Chunks { lease, filled: BTreeMap::new() };
                batches.insert(start.number, PendingBatch::new(start, chunks)?);
            }
            CpuMessage::Augmented { batch, first, samples, failures, out } => {
                if let Some(pending) = batches.get_mut(&batch) {
                    pending.remaining -= samples.len();
                    (first..).zip(samples).for_each(|(index, sample)| pending.add(index, sample));
                    pending.add_failures(failures);
                    pending.buffers.filled.insert(first, out);
                }
            }
            CpuMessage::Fatal(error) => return Err(error),
        }
        while let Some(entry) = batches.first_entry().filter(|entry| entry.get().remaining == 0) {
            let mut pending = entry.remove();
            let Chunks { lease, filled } = &mut pending.buffers;
            lease.get_mut().join(std::mem::take(filled).into_values());
            if let Some(mixing) = pending.completion(pipeline).mixing {
                let dtype = pipeline.plan().output().dtype;
                cpu::mix::mix(&mixing, dtype, pending.buffers.lease.get_mut().batch_mut());
            }
            let copied = match &mut up {
                None => None,
                Some((up, staging)) => match copy(thread, (up, staging), &pending.buffers.lease, &clock)? {
                    Some(target) => Some(BatchStore::Gpu { gpu: up.gpu.clone(), target }),
                    None => return Ok(()),
                },
            };
            let _ = inbox.announced.try_recv();
            let mut batch = pending.finish(pipeline, |chunks| copied.unwrap_or(BatchStore::Host(chunks.lease)))?;
            failure_budget.count(pipeline, &mut batch)?;
            clock.spent(Stage::Submit, 0);
            if clock.blocked(|| ready.send(Ok(batch)).is_err()) {
                return Ok(());
            }
        }
    }
}

/// Copies a batch to a GPU buffer; `None` once the run has ended.
fn copy(
    thread: &BatchThread<'_, CpuMessage>,
    (up, staging): (&CopyUp, &mut Staging),
    host: &HostBuffer,
    clock: &Clock<'_>,
) -> Result<Option<Lease<Target>>> {
    let BatchThread { pipeline, shares, stop, .. } = thread;
    let bytes = pipeline.batch_bytes();
    clock.spent(Stage::Submit, 0);
    let make = || Target::plain(&up.gpu, bytes);
    let Some(target) = clock.blocked(|| up.outputs.take(&shares.outputs, stop, make))? else { return Ok(None) };
    let slot = clock.waited_for_gpu(|| staging.take())?;
    let bytes = host.batch().len();
    let images = (bytes / pipeline.plan().image_bytes(pipeline.size).max(1)) as u64;
    let _span = tracing::trace_span!("submit", images, bytes).entered();
    staging.copy_to(slot, host.batch(), &target.output)?;
    clock.spent(Stage::Submit, images);
    clock.bytes(Stage::Submit, bytes as u64);
    Ok(Some(target))
}
