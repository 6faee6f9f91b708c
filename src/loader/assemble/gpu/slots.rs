//! Staging slots on the batch thread: which worker may write where, and when a slot is submitted.

use super::{GpuRun, Missing, PendingBuffers};
use crate::error::{ErrorKind, Result};
use crate::gpu::cache_pages::Page;
use crate::gpu::encode::{CacheCopy, Item};
use crate::gpu::submission::{FullSlot, Part};
use crate::loader::assemble::pending::PendingBatch;
use crate::loader::executor_buffers::GpuBuffers;
use crate::loader::messages::{Grant, InSlot, SlotRequest};
use crate::loader::pipeline::Pipeline;
use crate::loader::stats::Stage;
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// The slots that are being filled, and the requests for ranges of them.
#[derive(Debug, Default)]
pub(super) struct Slots {
    filling: Vec<FillingSlot>,
    /// Requests by the number of the sample in this run.
    pending: BTreeMap<u64, SlotRequest>,
    /// Repeated requests, for positions whose sample has failed.
    repeated: VecDeque<SlotRequest>,
    next_order: u64,
}

#[derive(Debug)]
struct FillingSlot {
    slot: usize,
    /// Granted bytes.
    used: u64,
    /// Ranges that workers are still writing.
    outstanding: usize,
    /// The samples in the slot, and the parts of others: their batch, and their batch index.
    samples: Vec<(u64, usize, InSlot)>,
    /// True once no further range is granted.
    sealed: bool,
}

impl FillingSlot {
    /// True once no range is granted any more, and no worker writes.
    fn is_full(&self) -> bool {
        self.sealed && self.outstanding == 0
    }
}

impl Slots {
    pub(super) fn request(&mut self, request: SlotRequest) {
        match request.order {
            Some(order) => {
                self.pending.insert(order, request);
            }
            None => self.repeated.push_back(request),
        }
    }

    pub(super) fn give_back(&mut self, slot: usize) {
        if let Some(filling) = self.filling.iter_mut().find(|filling| filling.slot == slot) {
            filling.outstanding -= 1;
        }
    }

    /// Adds a sample, or a part of one, that a worker has written, with its batch index.
    pub(super) fn stage(&mut self, batch: u64, index: usize, sample: InSlot) {
        if let Some(filling) = self.filling.iter_mut().find(|filling| filling.slot == sample.slot) {
            filling.outstanding -= 1;
            filling.samples.push((batch, index, sample));
        }
    }

    /// Takes back the parts of a sample that has failed, unless they are submitted: the sample that replaces it is
    /// submitted after those. Returns their number.
    pub(super) fn withdraw(&mut self, batch: u64, index: usize) -> usize {
        let mut withdrawn = 0;
        for filling in &mut self.filling {
            let before = filling.samples.len();
            filling.samples.retain(|sample| (sample.0, sample.1) != (batch, index));
            withdrawn += before - filling.samples.len();
        }
        withdrawn
    }

    pub(super) fn seal_all(&mut self) {
        self.filling.iter_mut().for_each(|filling| filling.sealed = true);
    }

    /// True if no worker writes into a slot, so that only the GPU can return one.
    pub(super) fn are_idle(&self) -> bool {
        self.filling.iter().all(|filling| filling.outstanding == 0)
    }

    /// The places of sealed slots into which no worker writes.
    fn full(&self) -> Vec<usize> {
        (0..self.filling.len()).filter(|&at| self.filling[at].is_full()).collect()
    }

    /// The slots that are being filled.
    pub(super) fn open(&self) -> impl Iterator<Item = usize> + '_ {
        self.filling.iter().map(|filling| filling.slot)
    }

    /// The next request to grant. A repeated request comes first: its batch is due before any other.
    fn next(&self) -> Option<&SlotRequest> {
        self.repeated.front().or_else(|| self.pending.get(&self.next_order))
    }

    fn take_next(&mut self) -> Option<SlotRequest> {
        self.repeated.pop_front().or_else(|| {
            let request = self.pending.remove(&self.next_order);
            self.next_order += u64::from(request.is_some());
            request
        })
    }
}

impl GpuRun<'_> {
    /// Grants requests in batch order until something is missing.
    pub(super) fn grant_all(&mut self) -> Result<Missing> {
        loop {
            let Some(request) = self.slots.next() else {
                return Ok(if self.batches.is_empty() { Missing::Batch } else { Missing::Request });
            };
            let (batch, bytes) = (request.batch, request.bytes);
            if !self.take_output(batch)? {
                return Ok(Missing::Output);
            }
            let Some(open) = self.open_slot(bytes)? else { return Ok(Missing::Slot) };
            let Some(request) = self.slots.take_next() else { return Ok(Missing::Request) };
            let filling = &mut self.slots.filling[open];
            let range = self.resources.staging.range(filling.slot, filling.used, bytes);
            let grant = Grant { range, slot: filling.slot, offset: filling.used };
            filling.used += bytes;
            filling.outstanding += 1;
            if let Some(pending) = self.batches.get_mut(&batch) {
                pending.buffers.granted += usize::from(request.order.is_some());
                // The last sample of a batch (or its replacement) seals the slot: the batch need not wait for the next
                // one.
                filling.sealed |= pending.buffers.granted == pending.start.samples;
            }
            if request.reply.send(grant).is_err() {
                // The worker has ended, because the run is ending.
                filling.outstanding -= 1;
            }
        }
    }

    /// A slot with room for `bytes`. Seals slots that have no room.
    fn open_slot(&mut self, bytes: u64) -> Result<Option<usize>> {
        let filling = &mut self.slots.filling;
        let max_samples = self.executor.slot_samples;
        if let Some(open) = filling.iter().position(|slot| !slot.sealed) {
            let slot = &mut filling[open];
            let samples = slot.samples.len() + slot.outstanding;
            if slot.used + bytes <= self.resources.slot_bytes && samples < max_samples {
                return Ok(Some(open));
            }
            slot.sealed = true;
        }
        let Some(slot) = self.resources.staging.try_take()? else { return Ok(None) };
        filling.push(FillingSlot { slot, used: 0, outstanding: 0, samples: Vec::new(), sealed: false });
        Ok(Some(filling.len() - 1))
    }

    /// Submits the sealed slots into which no worker writes, each by itself; or, where the device has been set to merge
    /// them, as many at once as are full. `more_come` is true while workers are about to fill further slots.
    pub(super) fn submit_full(&mut self, more_come: bool) -> Result<()> {
        let most = self.executor.gpu.caps().merged_slots;
        loop {
            self.give_back_empty();
            let mut full = self.slots.full();
            if full.is_empty() || (more_come && full.len() < most && self.may_hold(&full)?) {
                return Ok(());
            }
            full.truncate(most);
            // From the last one on, as each moves those behind it.
            let mut fillings: Vec<_> = full.into_iter().rev().map(|at| self.slots.filling.remove(at)).collect();
            fillings.reverse();
            let samples = fillings.iter().flat_map(|filling| &filling.samples);
            let images = samples.map(|(.., sample)| sample.views.len()).sum::<usize>() as u64;
            let bytes = fillings.iter().map(|filling| filling.used).sum::<u64>();
            fillings.iter().for_each(|filling| self.pipeline.stats.slot(filling.used));
            // The span counts the messages and grants since the last submission as well.
            let _span = tracing::trace_span!("submit", images, bytes).entered();
            let computing = self.submit(fillings)?;
            self.clock.spent_with_gpu(Stage::Submit, images, computing);
            self.clock.bytes(Stage::Submit, bytes);
        }
    }

    /// Gives back the full slots of which no worker could use its range.
    fn give_back_empty(&mut self) {
        let is_empty = |filling: &FillingSlot| filling.is_full() && filling.samples.is_empty();
        while let Some(at) = self.slots.filling.iter().position(is_empty) {
            let FillingSlot { slot, .. } = self.slots.filling.remove(at);
            self.resources.staging.give_back(slot);
        }
    }

    /// The rule for slots that wait for others: the device has done all that it was given, so that it is not what the
    /// pipeline waits for, and no batch would be complete by them.
    fn may_hold(&mut self, full: &[usize]) -> Result<bool> {
        let mut held = BTreeMap::new();
        for (batch, ..) in full.iter().flat_map(|&at| &self.slots.filling[at].samples) {
            *held.entry(*batch).or_insert(0) += 1;
        }
        let completes =
            |(batch, held): (&u64, &usize)| self.batches.get(batch).is_none_or(|pending| pending.remaining <= *held);
        Ok(!held.iter().any(completes) && self.resources.staging.is_idle()?)
    }

    /// Makes one submission of slots: for each the copy, the passes of each batch in the slot, and the packing of complete
    /// batches. Returns how long the driver computed on this thread.
    fn submit(&mut self, mut fillings: Vec<FillingSlot>) -> Result<Duration> {
        // The batches that a slot completes.
        let mut completed = Vec::new();
        for FillingSlot { slot, samples, .. } in &mut fillings {
            samples.sort_by_key(|&(batch, index, _)| (batch, index));
            for (batch, ..) in samples {
                if let Some(pending) = self.batches.get_mut(batch) {
                    pending.remaining -= 1;
                    if pending.remaining == 0 {
                        completed.push((*slot, *batch));
                    }
                }
            }
        }
        let pages = self.pages();
        let slot = |filling| full_slot(self.pipeline, &self.batches, &pages, filling, &completed);
        let slots = fillings.iter().map(slot).collect::<Result<_>>()?;
        let GpuBuffers { gpu, kernels, .. } = self.executor;
        let computing = self.resources.submit(gpu, kernels, slots, &self.pipeline.stats.gpu)?;
        let samples = fillings.into_iter().flat_map(|filling| filling.samples);
        samples.filter_map(|(.., sample)| sample.reservation).for_each(|reservation| reservation.insert());
        Ok(computing)
    }
}

/// What a slot has for each of its batches; `completed` are slots with the batches that they complete.
fn full_slot<'s>(
    pipeline: &Pipeline,
    batches: &'s BTreeMap<u64, PendingBatch<PendingBuffers>>,
    pages: &[Page],
    filling: &'s FillingSlot,
    completed: &[(usize, u64)],
) -> Result<FullSlot<'s>> {
    let FillingSlot { slot, used, samples, .. } = filling;
    let mut parts = Vec::new();
    for of_batch in samples.chunk_by(|a, b| a.0 == b.0) {
        let batch = of_batch[0].0;
        let pending = batches.get(&batch);
        let Some((pending, targets)) = pending.and_then(|batch| Some((batch, batch.buffers.targets.as_ref()?))) else {
            let reason = "a sample of a batch without a buffer was staged".to_owned();
            return Err(ErrorKind::Device { stage: "submit", reason }.into());
        };
        for (number, (group, target)) in pipeline.groups.iter().zip(&**targets).enumerate() {
            let mut items = Vec::with_capacity(of_batch.len() * group.outputs);
            for (_, index, sample) in of_batch {
                // All views begin at the same pixels, so only the first view copies them to the cache.
                let range = sample.reservation.as_ref().map(|reservation| reservation.range()).filter(|_| number == 0);
                let mut to_cache =
                    range.map(|range| CacheCopy { page: pages[range.page].clone(), range: range.clone() });
                items.extend(sample.of(group.staged()).map(|(view, (pixels, program))| Item {
                    program,
                    pixels: *pixels,
                    index: index * group.outputs + view,
                    to_cache: to_cache.take(),
                }));
            }
            let complete = completed.contains(&(*slot, batch)).then(|| pending.completion(pipeline, number));
            parts.push(Part { group: number, items, target, complete });
        }
    }
    Ok(FullSlot { slot: *slot, used: *used, parts })
}
