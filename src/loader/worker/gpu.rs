//! A worker's jobs on the GPU executor: the pixels of one sample, copied into a staging slot for the shaders.

use super::job::{SampleJob, SourceJob};
use super::{SampleWriter, Stopped, Unfinished, Worker};
use crate::cpu;
use crate::geometry::Rect;
use crate::gpu::staging::{MappedRange, OpenRange};
use crate::loader::cache::{DeviceReservation, Reservation};
use crate::loader::executor_buffers::GpuBuffers;
use crate::loader::group::of_source;
use crate::loader::messages::{GpuMessage, Grant, InSlot, SlotJob, SlotRequest};
use crate::loader::pipeline::Pipeline;
use crate::loader::scratch::{Intermediates, PixelScratch, WorkerScratch};
use crate::loader::stats::Stage;
use crate::pixels::PixelsRef;
use crate::plan::cpu_fallback::pixel_bytes;
use crate::plan::program::Program;
use crate::plan::route::View;
use crate::plan::shader_layout::PixelsAt;
use crossbeam_channel::bounded;

/// Images begin at multiples of this in a slot: whole `vec4<f32>`s. Mapped ranges need multiples of 8.
const IMAGE_ALIGNMENT: u64 = 16;

/// Requests room in a slot, waits for it, and copies a sample's pixels into it.
struct SlotWriter<'a> {
    gpu: &'a GpuBuffers,
    batch: u64,
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
    let (mut failures, mut writer) = (Vec::new(), SlotWriter { gpu, batch, order: Some(order) });
    let sample = worker.finish_position(epoch, &position, index, scratch, &mut failures, &mut writer)?;
    worker.send(GpuMessage::Staged { batch, index, sample, failures })
}

impl SampleWriter<GpuMessage> for SlotWriter<'_> {
    type Written = InSlot;

    /// Writes a sample. All views begin at the same pixels: these are copied once if they are inserted in the cache,
    /// else each view's region is copied. The crops of a view share one copy.
    fn write(
        &mut self,
        worker: &Worker<'_, GpuMessage>,
        job: &SampleJob<'_>,
        reservation: Option<Reservation<'_>>,
        scratch: &mut PixelScratch,
    ) -> Result<InSlot, Unfinished> {
        let PixelScratch { decoder, gathered, between } = scratch;
        let clock = &worker.clock;
        let bytes = match &reservation {
            Some(Reservation::Device(_)) => {
                let (begin, float) = job.first.route.views_begin();
                pixel_bytes(begin, float).next_multiple_of(IMAGE_ALIGNMENT)
            }
            _ => job.sources().map(|job| bytes_of_source(worker.pipeline, job)).sum(),
        };
        let (reply, grant) = bounded(1);
        // The size is known before decoding, so the grant has usually arrived when the pixels are decoded.
        worker.send(GpuMessage::Request(SlotRequest { order: self.order.take(), batch: self.batch, bytes, reply }))?;
        let decoded = worker.decode(&job.first, decoder, gathered);
        let grant = clock.blocked(|| grant.recv()).map_err(|_| Stopped)?;
        let slot = grant.slot;
        let views = Vec::with_capacity(job.params.len());
        let mut copy = SlotCopy { worker, gpu: self.gpu, grant, used: 0, views };
        let mut copied = copy.source(&job.first, decoded, reservation, between);
        // The other sources follow in the same memory of the worker and the same range of the slot.
        for other in &job.others {
            if copied.is_err() {
                break;
            }
            let decoded = worker.decode(other, decoder, gathered);
            copied = copy.source(other, decoded, None, between).and(copied);
        }
        if let Err(Unfinished::Failed(_)) = copied {
            worker.send(GpuMessage::GiveBack { slot })?;
        }
        let reservation = copied?;
        clock.bytes(Stage::Copy, bytes);
        Ok(InSlot { slot, views: copy.views, reservation })
    }
}

/// Bytes in a slot of all views of a source.
fn bytes_of_source(pipeline: &Pipeline, job: &SourceJob<'_>) -> u64 {
    let (_, float) = job.route.views_begin();
    slot_bytes(&job.route.views, pipeline.crops(job.source), float)
}

/// Bytes of all views in a slot; `crops` has the number of each view's, which read one region that is there once.
fn slot_bytes(views: &[View], crops: impl Iterator<Item = usize>, float: bool) -> u64 {
    let of_crops = |crops: &[View]| {
        let finished = crops.iter().filter(|view| view.cpu_fallback).map(|view| {
            let (width, height) = view.program.size();
            (16 * u64::from(width) * u64::from(height)).next_multiple_of(IMAGE_ALIGNMENT)
        });
        let region = crops.iter().find(|view| !view.cpu_fallback).map(|view| pixel_bytes(view.region, float));
        finished.sum::<u64>() + region.unwrap_or(0).next_multiple_of(IMAGE_ALIGNMENT)
    };
    let mut first = 0;
    let bytes = crops.map(|crops| {
        let of_view = views.get(first..first + crops).unwrap_or_default();
        first += crops;
        of_crops(of_view)
    });
    bytes.sum()
}

/// Copies pixels to a granted range, one image after the other.
struct SlotCopy<'a, 'b> {
    worker: &'a Worker<'b, GpuMessage>,
    gpu: &'a GpuBuffers,
    grant: Grant,
    /// Bytes of the range that are written so far.
    used: u64,
    /// The location of each view's pixels, and its program, source by source.
    views: Vec<(PixelsAt, Program)>,
}

/// The region of the last crop that was copied, and where it is in the slot.
struct CopiedRegion {
    region: Rect,
    at: PixelsAt,
}

impl SlotCopy<'_, '_> {
    /// Copies what the views of a source need of its decoded pixels.
    fn source(
        &mut self,
        job: &SourceJob<'_>,
        decoded: crate::error::Result<PixelsRef<'_>>,
        reservation: Option<Reservation<'_>>,
        between: &mut Intermediates,
    ) -> Result<Option<DeviceReservation>, Unfinished> {
        let (decoded, images) = (decoded?, &self.worker.pipeline.large_images);
        images.within(job.intermediate, between, |between| self.decoded(job, decoded, reservation, between))
    }

    /// Runs the prefix on decoded pixels, and copies what the views need of its result.
    fn decoded(
        &mut self,
        job: &SourceJob<'_>,
        decoded: PixelsRef<'_>,
        reservation: Option<Reservation<'_>>,
        between: &mut Intermediates,
    ) -> Result<Option<DeviceReservation>, Unfinished> {
        let Intermediates { prefix, insertion, fallback, cpu: executor } = between;
        let (begin, _) = job.route.views_begin();
        let pixels = self.worker.run_prefix(&job.route, decoded, prefix, executor)?;
        let reservation = match reservation {
            Some(Reservation::Device(reservation)) => {
                self.once(pixels, begin, &job.route.views)?;
                Some(reservation)
            }
            Some(Reservation::Host(reservation)) => {
                self.worker.insert(reservation, &job.route, pixels, insertion, executor);
                None
            }
            None => None,
        };
        if reservation.is_none() {
            for group in of_source(&self.worker.pipeline.groups, job.source) {
                for crops in job.route.views[group.routed()].chunks(group.plan().crops()) {
                    let mut copied = None;
                    for view in crops {
                        self.view(
                            group.number,
                            view,
                            pixels.region(begin, view.region),
                            &mut copied,
                            fallback,
                            executor,
                        )?;
                    }
                }
            }
        }
        Ok(reservation)
    }

    /// Copies the pixels once for all views.
    fn once(&mut self, pixels: PixelsRef<'_>, region: Rect, views: &[View]) -> Result<(), Stopped> {
        let at = self.copy(pixels, (region.width, region.height), views.len())?;
        self.views.extend(views.iter().map(|view| (at, view.program.clone().relative_to(region))));
        Ok(())
    }

    /// Copies the pixels of a view of the group `number`, unless an earlier crop of the view has (`copied`), or its result
    /// if the CPU executor finishes it.
    fn view(
        &mut self,
        number: usize,
        view: &View,
        pixels: PixelsRef<'_>,
        copied: &mut Option<CopiedRegion>,
        result: &mut Vec<f32>,
        executor: &mut cpu::CpuScratch,
    ) -> Result<(), Unfinished> {
        let pipeline = self.worker.pipeline;
        let (at, program) = if view.cpu_fallback {
            pipeline.stats.cpu_fallback();
            self.worker.clock.work(Stage::Augment, 1, || {
                cpu::run_to_floats(pipeline.groups[number].plan(), &view.program, pixels, view.region, result, executor)
            })?;
            let size = view.program.size();
            let finished = PixelsRef::Floats { data: result, stride: 4 * size.0 as usize };
            (self.copy(finished, size, 1)?, Program::finished(size, self.gpu.stages(number)))
        } else {
            let at = match *copied {
                Some(CopiedRegion { region, at }) if region == view.region => at,
                _ => self.copy(pixels, (view.region.width, view.region.height), 1)?,
            };
            *copied = Some(CopiedRegion { region: view.region, at });
            (at, view.program.clone().relative_to(view.region))
        };
        self.views.push((at, program));
        Ok(())
    }

    fn copy(&mut self, pixels: PixelsRef<'_>, (width, height): (u32, u32), views: usize) -> Result<PixelsAt, Stopped> {
        let (range, at) = (&self.grant.range, self.used as usize);
        let float = matches!(pixels, PixelsRef::Floats { .. });
        let bytes = pixel_bytes(Rect { left: 0, top: 0, width, height }, float);
        let copied =
            self.worker.clock.write(views, bytes, || copy_rows(pixels, width as usize, height as usize, range, at));
        if let Err(error) = copied {
            self.worker.send(error.into())?;
            return Err(Stopped);
        }
        let offset = ((self.grant.offset + self.used) / 4) as u32;
        self.used += bytes.next_multiple_of(IMAGE_ALIGNMENT);
        Ok(PixelsAt { offset, stride: width, float })
    }
}

/// Copies row by row into write-combined memory, from byte `at` of the range on, in one sequential pass.
fn copy_rows(
    pixels: PixelsRef<'_>,
    width: usize,
    height: usize,
    range: &MappedRange,
    at: usize,
) -> crate::error::Result<()> {
    let mut range = range.open()?;
    let (bytes, row, stride): (&[u8], usize, usize) = match pixels {
        PixelsRef::Bytes { data, stride, size: 3 } => {
            for y in 0..height {
                widen(&data[y * stride..][..3 * width], at + 4 * width * y, &mut range);
            }
            return Ok(());
        }
        PixelsRef::Bytes { data, stride, .. } => (data, 4 * width, stride),
        PixelsRef::Floats { data, stride } => (bytemuck::cast_slice(data), 16 * width, 4 * stride),
    };
    if row == stride {
        range.write(at, &bytes[..row * height]);
        return Ok(());
    }
    for y in 0..height {
        range.write(at + y * row, &bytes[y * stride..][..row]);
    }
    Ok(())
}

/// RGB8 to RGBA8, one block of pixels at a time.
fn widen(row: &[u8], offset: usize, range: &mut OpenRange<'_>) {
    const PIXELS: usize = 128;
    let mut block = [255; 4 * PIXELS];
    for (i, pixels) in row.chunks(3 * PIXELS).enumerate() {
        for (to, from) in block.as_chunks_mut::<4>().0.iter_mut().zip(pixels.as_chunks::<3>().0) {
            to[..3].copy_from_slice(from);
        }
        range.write(offset + 4 * PIXELS * i, &block[..pixels.len() / 3 * 4]);
    }
}
