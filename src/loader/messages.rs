//! The messages between the threads of a run: the feeder's jobs for the workers, and the messages of feeder and workers
//! to the batch thread. Each executor has its own.

use super::batch::Failure;
use super::buffers::{HostBuffer, Lease};
use super::cache::DeviceReservation;
use crate::dataset::{FieldValue, Label};
use crate::error::Error;
use crate::gpu::staging::MappedRange;
use crate::objects::Objects;
use crate::plan::program::Program;
use crate::plan::shader_layout::PixelsAt;
use crate::sampler::Position;
use crate::transforms::{BatchParams, Params};
use bytes::BytesMut;
use crossbeam_channel::Sender;
use std::ops::Range;
use std::time::Instant;

/// A batch that is announced: the feeder is about to hand out its samples.
#[derive(Debug)]
pub(super) struct BatchStart {
    /// The number of the batch in this run.
    pub(super) number: u64,
    pub(super) epoch: u64,
    /// The number of the batch in the epoch.
    pub(super) index: u64,
    pub(super) samples: usize,
    /// Samples that are not padding.
    pub(super) valid: usize,
    /// How the batch is mixed.
    pub(super) mix: Option<BatchParams>,
    pub(super) at: Instant,
}

/// A finished sample, and the location of its pixels.
#[derive(Debug)]
pub(super) struct Finished<P> {
    /// Its index in the data set.
    pub(super) index: usize,
    pub(super) id: u64,
    pub(super) label: Label,
    /// The values of the data set's fields.
    pub(super) fields: Vec<FieldValue<'static>>,
    /// The parameters of each view.
    pub(super) params: Vec<Params>,
    /// The objects in each view of the groups that show them; empty without a field of objects.
    pub(super) objects: Vec<Objects>,
    pub(super) pixels: P,
}

/// A job on the CPU executor: neighbouring positions of one batch. Either many small samples, or one.
#[derive(Debug)]
pub(super) struct ChunkJob {
    pub(super) batch: u64,
    pub(super) epoch: u64,
    /// The batch index of the first position.
    pub(super) first: usize,
    pub(super) positions: Vec<Position>,
    /// The part of the batch's memory that the samples fill, for each group.
    pub(super) out: Vec<BytesMut>,
}

/// A job on the GPU executor: one position of a batch.
#[derive(Debug)]
pub(super) struct SlotJob {
    /// The number of the sample in this run: ranges of slots are granted in this order.
    pub(super) order: u64,
    pub(super) batch: u64,
    pub(super) epoch: u64,
    /// The batch index of the position.
    pub(super) index: usize,
    pub(super) position: Position,
}

/// Messages to the batch thread on the CPU executor.
#[derive(Debug)]
pub(super) enum CpuMessage {
    /// A batch is announced, with the memory that is divided into its chunks.
    Start(BatchStart, Lease<HostBuffer>),
    /// The samples from batch index `first` on are augmented, in `out`.
    Augmented { batch: u64, first: usize, samples: Vec<Finished<()>>, failures: Vec<Failure>, out: Vec<BytesMut> },
    /// The run ends with this error.
    Fatal(Error),
}

/// Messages to the batch thread on the GPU executor.
#[derive(Debug)]
pub(super) enum GpuMessage {
    /// A batch is announced, with its samples that are in the GPU's cache.
    Start(BatchStart, Vec<(usize, Finished<InPage>)>),
    /// A worker knows how many bytes its sample needs in a slot.
    Request(SlotRequest),
    /// A worker could not use the range that it was granted.
    GiveBack { slot: usize },
    /// The first views of the sample with batch index `index`, which needs more than a slot has, are in a slot.
    Part { batch: u64, index: usize, part: InSlot },
    /// The sample of which parts were sent has failed.
    Withdraw { batch: u64, index: usize },
    /// The sample with batch index `index` is in a slot.
    Staged { batch: u64, index: usize, sample: Finished<InSlot>, failures: Vec<Failure> },
    /// The run ends with this error.
    Fatal(Error),
}

/// A sample's pixels in a staging slot, or a part of them.
#[derive(Debug)]
pub(super) struct InSlot {
    pub(super) slot: usize,
    /// The number of the first view among those of the sample, source by source: 0 for a whole sample.
    pub(super) first: usize,
    /// The pixels and the program of each view.
    pub(super) views: Vec<(PixelsAt, Program)>,
    /// Room in the GPU's cache, to which the pixels are copied as well.
    pub(super) reservation: Option<DeviceReservation>,
}

impl InSlot {
    /// The views that are also in `views`, a range of those of the sample, with the number of each from its first one on.
    pub(super) fn of(&self, views: Range<usize>) -> impl Iterator<Item = (usize, &(PixelsAt, Program))> {
        let before = views.start.saturating_sub(self.first);
        let numbers = self.first.saturating_sub(views.start)..views.len();
        numbers.zip(self.views.iter().skip(before))
    }
}

/// A sample's pixels in a page of the GPU's cache.
#[derive(Debug)]
pub(super) struct InPage {
    /// The number of the page.
    pub(super) page: usize,
    /// The pixels and the program of each view.
    pub(super) views: Vec<(PixelsAt, Program)>,
}

/// A worker's request for a range of a slot.
#[derive(Debug)]
pub(super) struct SlotRequest {
    /// The number of the sample in this run; `None` for a repeated request for the same position.
    pub(super) order: Option<u64>,
    pub(super) batch: u64,
    pub(super) bytes: u64,
    pub(super) reply: Sender<Grant>,
}

/// A range of a mapped slot, for one worker.
#[derive(Debug)]
pub(super) struct Grant {
    pub(super) range: MappedRange,
    pub(super) slot: usize,
    /// The first byte in the slot.
    pub(super) offset: u64,
}

impl From<Error> for CpuMessage {
    fn from(error: Error) -> Self {
        CpuMessage::Fatal(error)
    }
}

impl From<Error> for GpuMessage {
    fn from(error: Error) -> Self {
        GpuMessage::Fatal(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two groups, of 2 and 3 views, whose sample is in three parts.
    #[test]
    fn each_part_has_its_views_of_each_group() {
        let part = |views: Range<usize>| {
            let view = |number: usize| {
                let pixels = PixelsAt { offset: number as u32, stride: 1, float: false };
                (pixels, Program::finished((1, 1), 1))
            };
            InSlot { slot: 0, first: views.start, views: views.map(view).collect(), reservation: None }
        };
        let found = |part: &InSlot, group| -> Vec<_> {
            part.of(group).map(|(number, (pixels, _))| (number, pixels.offset)).collect()
        };
        for (views, first, second) in [
            (0..5, vec![(0, 0), (1, 1)], vec![(0, 2), (1, 3), (2, 4)]),
            (0..1, vec![(0, 0)], vec![]),
            (1..4, vec![(1, 1)], vec![(0, 2), (1, 3)]),
            (4..5, vec![], vec![(2, 4)]),
            (2..2, vec![], vec![]),
        ] {
            let part = part(views);
            assert_eq!((found(&part, 0..2), found(&part, 2..5)), (first, second), "{part:?}");
        }
    }
}
