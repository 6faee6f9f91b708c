//! Copies of a sample's pixels in ranges of staging slots.

use super::job::SourceJob;
use super::layout::{bytes_of_finished, bytes_of_region, shared_region};
use super::{Stopped, Unfinished, Worker};
use crate::cpu;
use crate::geometry::Rect;
use crate::gpu::staging::{MappedRange, OpenRange};
use crate::loader::cache::{DeviceReservation, HostReservation, Reservation};
use crate::loader::executor_buffers::GpuBuffers;
use crate::loader::group::{Group, of_source};
use crate::loader::messages::{GpuMessage, Grant, InSlot, SlotRequest};
use crate::loader::scratch::Intermediates;
use crate::loader::stats::Stage;
use crate::pixels::PixelsRef;
use crate::plan::program::Program;
use crate::plan::route::View;
use crate::plan::shader_layout::PixelsAt;
use crossbeam_channel::bounded;

/// Copies the pixels of a sample to a granted range, one after the other; to further ranges of other slots where the sample
/// needs more than a slot has.
pub(super) struct SlotCopy<'a, 'b> {
    worker: &'a Worker<'b, GpuMessage>,
    gpu: &'a GpuBuffers,
    /// The number of the batch, and the batch index of the sample.
    place: (u64, usize),
    /// Bytes that the sample takes in all ranges.
    bytes: u64,
    /// Bytes that are written so far in all ranges.
    copied: u64,
    grant: Grant,
    /// Bytes of the range.
    granted: u64,
    /// Bytes of the range that are written so far.
    used: u64,
    /// The number of views, source by source, in earlier ranges.
    first: usize,
    /// The location of the pixels of each view in this range, and its program.
    views: Vec<(PixelsAt, Program)>,
    /// The region of the source that was copied last, and where it is in this range.
    last: Option<(Rect, PixelsAt)>,
    /// True if earlier ranges have views of the sample.
    divided: bool,
}

impl<'a, 'b> SlotCopy<'a, 'b> {
    /// Copies of a sample at `place` that takes `bytes`, of which the first ones go to this range; it has `views` views.
    pub(super) fn new(
        worker: &'a Worker<'b, GpuMessage>,
        gpu: &'a GpuBuffers,
        place: (u64, usize),
        bytes: u64,
        (grant, granted): (Grant, u64),
        views: usize,
    ) -> Self {
        SlotCopy {
            worker,
            gpu,
            place,
            bytes,
            copied: 0,
            grant,
            granted,
            used: 0,
            first: 0,
            views: Vec::with_capacity(views),
            last: None,
            divided: false,
        }
    }

    /// Bytes that were written.
    pub(super) fn copied(&self) -> u64 {
        self.copied
    }

    /// The sample, or the last part of it.
    pub(super) fn finish(self, reservation: Option<DeviceReservation>) -> InSlot {
        let SlotCopy { grant, first, views, .. } = self;
        InSlot { slot: grant.slot, first, views, reservation }
    }

    /// Takes back all that was copied, as the sample has failed.
    pub(super) fn give_back(self) -> Result<(), Stopped> {
        if self.divided {
            let (batch, index) = self.place;
            self.worker.send(GpuMessage::Withdraw { batch, index })?;
        }
        self.worker.send(GpuMessage::GiveBack { slot: self.grant.slot })
    }

    /// Copies what the views of a source need of its decoded pixels.
    pub(super) fn source(
        &mut self,
        job: &SourceJob<'_>,
        decoded: crate::error::Result<PixelsRef<'_>>,
        reservation: Option<Reservation<'_>>,
        between: &mut Intermediates,
    ) -> Result<Option<DeviceReservation>, Unfinished> {
        let (decoded, images) = (decoded?, &self.worker.pipeline.large_images);
        let mut host = match reservation {
            Some(Reservation::Device(reservation)) => {
                images.within(job.intermediate, between, |between| self.once(job, decoded, between))?;
                return Ok(Some(reservation));
            }
            Some(Reservation::Host(reservation)) => Some(reservation),
            None => None,
        };
        // The number of views of the sample before those of the source.
        let before = self.first + self.views.len();
        self.last = None;
        loop {
            let done = self.first + self.views.len() - before;
            let needed = images.within(job.intermediate, between, |between| {
                self.copy_views(job, decoded, host.take(), done, between)
            })?;
            // Outside of `within`: workers that have ranges may wait for the room of a large image, so one that waits for a
            // range must not hold it.
            match needed {
                Some(bytes) => self.next_range(bytes)?,
                None => return Ok(None),
            }
        }
    }

    /// Copies the pixels at which the views begin, once for all of them and for the cache.
    fn once(
        &mut self,
        job: &SourceJob<'_>,
        decoded: PixelsRef<'_>,
        between: &mut Intermediates,
    ) -> Result<(), Unfinished> {
        let Intermediates { prefix, cpu: executor, .. } = between;
        let pixels = self.worker.run_prefix(&job.route, decoded, prefix, executor)?;
        let ((begin, _), views) = (job.route.views_begin(), &job.route.views);
        let at = self.copy(pixels, (begin.width, begin.height), views.len())?;
        self.views.extend(views.iter().map(|view| (at, view.program.clone().relative_to(begin))));
        Ok(())
    }

    /// Runs the prefix on decoded pixels, inserts a sample in the cache in host memory, and copies what the views of the
    /// source need, but the first `done`. Returns the bytes for which the range has no room, where it has too little.
    fn copy_views(
        &mut self,
        job: &SourceJob<'_>,
        decoded: PixelsRef<'_>,
        reservation: Option<HostReservation<'_>>,
        done: usize,
        between: &mut Intermediates,
    ) -> Result<Option<u64>, Unfinished> {
        let Intermediates { prefix, insertion, fallback, cpu: executor } = between;
        let (worker, route) = (self.worker, &job.route);
        let pixels = worker.run_prefix(route, decoded, prefix, executor)?;
        if let Some(reservation) = reservation {
            worker.insert(reservation, route, pixels, insertion, executor);
        }
        let ((begin, float), shared) = (route.views_begin(), shared_region(route, self.gpu.slot_bytes));
        let on_gpu = route.views.iter().skip(done).filter(|view| !view.cpu_fallback);
        // The images for which a copy counts.
        let sharing = if shared.is_some() { on_gpu.count() } else { 1 };
        let groups = of_source(&worker.pipeline.groups, job.source);
        let views = groups.flat_map(|group| route.views[group.routed()].iter().map(move |view| (group, view)));
        for (group, view) in views.skip(done) {
            let region = shared.unwrap_or(view.region);
            let (at, program) = match self.last {
                _ if view.cpu_fallback => {
                    let bytes = bytes_of_finished(view);
                    if !self.has_room(bytes) {
                        return Ok(Some(bytes));
                    }
                    self.finished(group, view, pixels.region(begin, view.region), fallback, executor)?
                }
                Some((copied, at)) if copied == region => (at, view.program.clone().relative_to(region)),
                _ => {
                    let bytes = bytes_of_region(region, float);
                    if !self.has_room(bytes) {
                        return Ok(Some(bytes));
                    }
                    let at = self.copy(pixels.region(begin, region), (region.width, region.height), sharing)?;
                    self.last = Some((region, at));
                    (at, view.program.clone().relative_to(region))
                }
            };
            self.views.push((at, program));
        }
        Ok(None)
    }

    /// Finishes a view on the CPU executor, and copies its result.
    fn finished(
        &mut self,
        group: &Group,
        view: &View,
        pixels: PixelsRef<'_>,
        result: &mut Vec<f32>,
        executor: &mut cpu::CpuScratch,
    ) -> Result<(PixelsAt, Program), Unfinished> {
        self.worker.pipeline.stats.cpu_fallback();
        self.worker.clock.work(Stage::Augment, 1, || {
            cpu::run_to_floats(group.plan(), &view.program, pixels, view.region, result, executor)
        })?;
        let size = view.program.size();
        let finished = PixelsRef::Floats { data: result, stride: 4 * size.0 as usize };
        Ok((self.copy(finished, size, 1)?, Program::finished(size, self.gpu.stages(group.number))))
    }

    fn has_room(&self, bytes: u64) -> bool {
        self.used + bytes <= self.granted
    }

    /// Hands on the views in this range, and waits for a range of another slot with room for `bytes` and, as far as a slot
    /// has it, for the rest of the sample. No range is held meanwhile, so that no worker waits for another one's.
    fn next_range(&mut self, bytes: u64) -> Result<(), Stopped> {
        let ((batch, index), first, views) = (self.place, self.first, std::mem::take(&mut self.views));
        self.first += views.len();
        self.divided = true;
        // Its pixels are out of reach for the other views.
        self.last = None;
        let part = InSlot { slot: self.grant.slot, first, views, reservation: None };
        self.worker.send(GpuMessage::Part { batch, index, part })?;
        let rest = self.bytes.saturating_sub(self.copied).min(self.gpu.slot_bytes);
        (self.granted, self.used) = (rest.max(bytes), 0);
        let (reply, grant) = bounded(1);
        let request = SlotRequest { order: None, batch, bytes: self.granted, reply };
        self.worker.send(GpuMessage::Request(request))?;
        self.grant = self.worker.clock.blocked(|| grant.recv()).map_err(|_| Stopped)?;
        Ok(())
    }

    /// Copies pixels, which `images` images read, to the range after those that are written already.
    fn copy(&mut self, pixels: PixelsRef<'_>, (width, height): (u32, u32), images: usize) -> Result<PixelsAt, Stopped> {
        let (range, at) = (&self.grant.range, self.used as usize);
        let float = matches!(pixels, PixelsRef::Floats { .. });
        let bytes = bytes_of_region(Rect::whole((width, height)), float);
        let copied =
            self.worker.clock.write(images, bytes, || copy_rows(pixels, width as usize, height as usize, range, at));
        if let Err(error) = copied {
            self.worker.send(error.into())?;
            return Err(Stopped);
        }
        let offset = ((self.grant.offset + self.used) / 4) as u32;
        (self.used, self.copied) = (self.used + bytes, self.copied + bytes);
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
