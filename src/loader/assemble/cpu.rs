//! The batch thread on the CPU executor: joins the chunks of each batch, and hands the batches on in order, in host
//! memory or copied to GPU buffers (software adapters).

use super::BatchThread;
use super::pending::{FailureBudget, PendingBatch};
use crate::cpu;
use crate::error::Result;
use crate::gpu::staging::Staging;
use crate::gpu::target::Target;
use crate::loader::batch_store::BatchStore;
use crate::loader::buffers::{HostBuffer, Lease};
use crate::loader::executor_buffers::{CopyUp, CpuBuffers};
use crate::loader::messages::CpuMessage;
use crate::loader::pipeline::Pipeline;
use crate::loader::stats::{Clock, Stage};
use bytes::BytesMut;
use std::collections::BTreeMap;

/// The memory of the batch that is being assembled.
#[derive(Debug)]
struct Chunks {
    lease: Lease<HostBuffer>,
    /// Filled chunks, by their group and the batch index of their first sample.
    filled: BTreeMap<(usize, usize), BytesMut>,
}

/// Assembles batches until the workers have ended, the caller has gone, or an error ends the run.
pub(in crate::loader) fn run(executor: &CpuBuffers, thread: &BatchThread<'_, CpuMessage>) -> Result<()> {
    let result = match &executor.copy_up {
        None => assemble(thread, None),
        Some(up) => {
            let mut staging = up.take_staging(thread.pipeline.batch_bytes)?;
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
                    let chunks = (0..).zip(out).map(|(group, chunk)| ((group, first), chunk));
                    pending.buffers.filled.extend(chunks);
                }
            }
            CpuMessage::Fatal(error) => return Err(error),
        }
        while let Some(entry) = batches.first_entry().filter(|entry| entry.get().remaining == 0) {
            let mut pending = entry.remove();
            let Chunks { lease, filled } = &mut pending.buffers;
            lease.get_mut().join(std::mem::take(filled).into_values());
            clear_padding(pipeline, &mut pending);
            if let Some(mixing) = pending.completion(pipeline, 0).mixing {
                let dtype = pipeline.plan().output().dtype;
                cpu::mix::mix(&mixing, dtype, pending.buffers.lease.get_mut().batch_mut());
            }
            let copied = match &mut up {
                None => None,
                Some((up, staging)) => match copy(thread, (up, staging), &pending, &clock)? {
                    Some(targets) => Some(BatchStore::Gpu { gpu: up.gpu.clone(), targets }),
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

/// Sets the padding of images that are smaller than the largest of their batch to 0.
fn clear_padding(pipeline: &Pipeline, pending: &mut PendingBatch<Chunks>) {
    for group in pipeline.groups.iter().filter(|group| group.plan().padded_to().is_some()) {
        let (sizes, padded) = group.sizes(pending.params(group));
        let images = &mut pending.buffers.lease.get_mut().batch_mut()[group.begin..];
        group.clear_padding(images, &sizes, padded);
    }
}

/// Copies a batch to a GPU's buffers, one for each group; `None` once the run has ended.
fn copy(
    thread: &BatchThread<'_, CpuMessage>,
    (up, staging): (&CopyUp, &mut Staging),
    pending: &PendingBatch<Chunks>,
    clock: &Clock<'_>,
) -> Result<Option<Lease<Vec<Target>>>> {
    let BatchThread { pipeline, shares, stop, .. } = thread;
    clock.spent(Stage::Submit, 0);
    let taken = clock.blocked(|| up.outputs.take(&shares.outputs, stop, || up.targets()))?;
    let Some(targets) = taken else { return Ok(None) };
    let (host, samples) = (pending.buffers.lease.batch(), pending.start.samples);
    for (group, target) in pipeline.groups.iter().zip(&*targets) {
        let slot = clock.waited_for_gpu(|| staging.take())?;
        let (images, bytes) = ((samples * group.outputs) as u64, samples * group.sample_bytes());
        let _span = tracing::trace_span!("submit", images, bytes).entered();
        staging.copy_to(slot, &host[group.begin..group.begin + bytes], target)?;
        clock.spent(Stage::Submit, images);
        clock.bytes(Stage::Submit, bytes as u64);
    }
    Ok(Some(targets))
}
