//! A worker's jobs on the GPU executor: the pixels of one sample, copied into a staging slot for the shaders.

use super::job::SampleJob;
use super::layout::{bytes_of_region, bytes_of_views};
use super::slot_copy::SlotCopy;
use super::{SampleWriter, Stopped, Unfinished, Worker};
use crate::loader::cache::Reservation;
use crate::loader::executor_buffers::GpuBuffers;
use crate::loader::messages::{GpuMessage, InSlot, SlotJob, SlotRequest};
use crate::loader::scratch::{PixelScratch, WorkerScratch};
use crate::loader::stats::Stage;
use crossbeam_channel::bounded;

/// Requests room in a slot, waits for it, and copies a sample's pixels into it.
struct SlotWriter<'a> {
    gpu: &'a GpuBuffers,
    batch: u64,
    /// The batch index of the sample.
    index: usize,
    /// The number of the sample for its first request; `None` for repeated requests after a failure.
    order: Option<u64>,
}

/// Runs one job.
pub(in crate::loader) fn work(
    gpu: &GpuBuffers,
    worker: &Worker<'_, GpuMessage>,
    job: SlotJob,
    scratch: &mut WorkerScratch,
) -> Result<(), Stopped> {
    let SlotJob { order, batch, epoch, index, position } = job;
    let (mut failures, mut writer) = (Vec::new(), SlotWriter { gpu, batch, index, order: Some(order) });
    let sample = worker.finish_position(epoch, &position, index, scratch, &mut failures, &mut writer)?;
    worker.send(GpuMessage::Staged { batch, index, sample, failures })
}

impl SampleWriter<GpuMessage> for SlotWriter<'_> {
    type Written = InSlot;

    /// Writes a sample. All views begin at the same pixels: these are copied once if they are inserted in the cache, else
    /// the views share a copy of what they read of a source, or have copies of their own where these are smaller.
    fn write(
        &mut self,
        worker: &Worker<'_, GpuMessage>,
        job: &SampleJob<'_>,
        reservation: Option<Reservation<'_>>,
        scratch: &mut PixelScratch,
    ) -> Result<InSlot, Unfinished> {
        let PixelScratch { decoder, gathered, between } = scratch;
        let (clock, of_a_slot) = (&worker.clock, self.gpu.slot_bytes);
        let bytes = match &reservation {
            Some(Reservation::Device(_)) => {
                let (begin, float) = job.first.route.views_begin();
                bytes_of_region(begin, float)
            }
            _ => job.sources().map(|job| bytes_of_views(&job.route, of_a_slot)).sum(),
        };
        // A sample that needs more than a slot has goes on in further ones.
        let granted = bytes.min(of_a_slot);
        let (reply, grant) = bounded(1);
        let order = self.order.take();
        // The size is known before decoding, so the grant has usually arrived when the pixels are decoded.
        worker.send(GpuMessage::Request(SlotRequest { order, batch: self.batch, bytes: granted, reply }))?;
        let decoded = worker.decode(&job.first, decoder, gathered);
        let grant = clock.blocked(|| grant.recv()).map_err(|_| Stopped)?;
        let place = (self.batch, self.index);
        let mut copy = SlotCopy::new(worker, self.gpu, place, bytes, (grant, granted), job.params.len());
        let mut copied = copy.source(&job.first, decoded, reservation, between);
        // Each further source is decoded into the worker's memory of the one before, and comes after it in the slot.
        for other in &job.others {
            if copied.is_err() {
                break;
            }
            let decoded = worker.decode(other, decoder, gathered);
            copied = copy.source(other, decoded, None, between).and(copied);
        }
        match copied {
            Ok(reservation) => {
                clock.bytes(Stage::Copy, copy.copied());
                Ok(copy.finish(reservation))
            }
            Err(Unfinished::Failed(error)) => {
                copy.give_back()?;
                Err(error.into())
            }
            Err(Unfinished::Stopped) => Err(Unfinished::Stopped),
        }
    }
}
