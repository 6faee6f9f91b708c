//! A worker's jobs on the CPU executor: the samples of neighbouring positions, augmented into a chunk of the batch's
//! memory.

use super::job::{SampleJob, SourceJob};
use super::{SampleWriter, Stopped, Unfinished, Worker};
use crate::cpu;
use crate::loader::cache::Reservation;
use crate::loader::messages::{ChunkJob, CpuMessage};
use crate::loader::scratch::{Intermediates, PixelScratch, WorkerScratch};
use crate::loader::stats::Stage;
use crate::pixels::PixelsRef;
use bytes::BytesMut;

/// Augments a sample into its part of each group's chunk.
struct ImageWriter<'a> {
    /// The chunk of each group.
    out: &'a mut [BytesMut],
    /// The number of the sample among those of the chunk.
    sample: usize,
}

/// Runs one job.
pub(in crate::loader) fn work(
    worker: &Worker<'_, CpuMessage>,
    job: ChunkJob,
    scratch: &mut WorkerScratch,
) -> Result<(), Stopped> {
    let ChunkJob { batch, epoch, first, positions, mut out } = job;
    let (mut failures, mut samples) = (Vec::new(), Vec::with_capacity(positions.len()));
    worker.begin_job(&positions);
    for (sample, position) in positions.iter().enumerate() {
        let mut writer = ImageWriter { out: &mut out, sample };
        samples.push(worker.finish_position(epoch, position, first + sample, scratch, &mut failures, &mut writer)?);
    }
    worker.send(CpuMessage::Augmented { batch, first, samples, failures, out })
}

impl SampleWriter<CpuMessage> for ImageWriter<'_> {
    type Written = ();

    fn write(
        &mut self,
        worker: &Worker<'_, CpuMessage>,
        job: &SampleJob<'_>,
        mut reservation: Option<Reservation<'_>>,
        scratch: &mut PixelScratch,
    ) -> Result<(), Unfinished> {
        let PixelScratch { decoder, gathered, between } = scratch;
        let images = &worker.pipeline.large_images;
        // One source after the other, in the same memory.
        for job in job.sources() {
            let decoded = worker.decode(job, decoder, gathered)?;
            let reservation = reservation.take();
            let augmented = images
                .within(job.intermediate, between, |between| self.augment(worker, job, decoded, reservation, between));
            augmented?;
        }
        Ok(())
    }
}

impl ImageWriter<'_> {
    /// Runs the stages of the plans on the decoded pixels of a source.
    fn augment(
        &mut self,
        worker: &Worker<'_, CpuMessage>,
        job: &SourceJob<'_>,
        decoded: PixelsRef<'_>,
        reservation: Option<Reservation<'_>>,
        between: &mut Intermediates,
    ) -> crate::error::Result<()> {
        let Intermediates { prefix, insertion, cpu: executor, .. } = between;
        let pixels = worker.run_prefix(&job.route, decoded, prefix, executor)?;
        if let Some(Reservation::Host(reservation)) = reservation {
            worker.insert(reservation, &job.route, pixels, insertion, executor);
        }
        let (pipeline, clock) = (worker.pipeline, &worker.clock);
        let (begin, _) = job.route.views_begin();
        clock.work(Stage::Augment, job.route.views.len(), || {
            let groups = pipeline.groups.iter().zip(&mut *self.out);
            for (group, out) in groups.filter(|(group, _)| group.source == job.source) {
                let (bytes, views) = (group.sample_bytes(), &job.route.views[group.routed()]);
                let out = &mut out[self.sample * bytes..(self.sample + 1) * bytes];
                clock.bytes(Stage::Augment, bytes as u64);
                for (view, image) in views.iter().zip(out.chunks_exact_mut(group.image_bytes())) {
                    let pixels = pixels.region(begin, view.region);
                    cpu::run(group.plan(), &view.program, pixels, view.region, image, executor)?;
                }
            }
            Ok(())
        })
    }
}
