//! A worker: takes neighbouring places of a batch; reads, probes, draws and decodes each sample, and puts the pixels where
//! they belong.

use super::OnError;
use super::assembly::{Grant, Message, Request};
use super::batch::Failure;
use super::cache::DeviceClaim;
use super::drafted::Drafted;
use super::line::Line;
use super::prepare::{Facts, Prepared};
use super::scratch::{Parts, Scratch};
use super::stats::{Clock, Stage};
use crate::cpu;
use crate::error::{Error, ErrorKind, Result};
use crate::geometry::Scale;
use crate::gpu::staging::{MappedRange, OpenRange};
use crate::pixels::PixelsRef;
use crate::plan::params::Source;
use crate::plan::program::Program;
use crate::sampler::Position;
use crate::shown::Shown;
use crate::transforms::Key;
use bytes::BytesMut;
use crossbeam_channel::{Receiver, Sender, bounded};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};

/// Neighbouring places of one batch: many small samples at a time, or one.
#[derive(Debug)]
pub(super) struct Job {
    /// The first sample's number in this run.
    pub(super) order: u64,
    pub(super) batch: u64,
    /// The first place.
    pub(super) place: usize,
    pub(super) epoch: u64,
    /// One for each place.
    pub(super) positions: Vec<Position>,
    /// Where to augment to; without it the pixels go to a slot of the staging ring, one sample a job.
    pub(super) piece: Option<BytesMut>,
}

/// Replacements that are tried for one place before the run ends: a data set that fails so often is broken.
const MOST_ATTEMPTS: u64 = 16;

/// Why a worker stops without an error of its own.
struct Stopped;

/// What comes of a sample: its own error, or the end of the run.
type Outcome<T> = Result<Result<T>, Stopped>;

/// Works until there is no job, the run stops, or the line cannot go on.
pub(super) fn run(
    line: &Line,
    number: usize,
    jobs: &Receiver<Job>,
    out: &Sender<Message>,
    stop: &AtomicBool,
    scratch: &mut Scratch,
) {
    let worker = Worker { line, out, clock: line.stats.worker(number) };
    loop {
        let Ok(job) = worker.clock.receive(jobs) else { return };
        if stop.load(Ordering::Relaxed) || worker.job(job, scratch).is_err() {
            return;
        }
    }
}

struct Worker<'a> {
    line: &'a Line,
    out: &'a Sender<Message>,
    /// Knows the stage, too, for the report of a panic.
    clock: Clock<'a>,
}

/// A sample in the staging ring.
struct Uploaded {
    slot: usize,
    views: Vec<(Source, Program)>,
    claim: Option<DeviceClaim>,
}

impl Worker<'_> {
    fn send(&self, message: Message) -> Result<(), Stopped> {
        self.clock.send(self.out, message).map_err(|_| Stopped)
    }

    fn job(&self, job: Job, scratch: &mut Scratch) -> Result<(), Stopped> {
        let Job { order, batch, place, epoch, positions, piece } = job;
        let mut failures = Vec::new();
        let Some(mut piece) = piece else {
            let Some(position) = positions.first() else { return Ok(()) };
            // The first request of a place carries its number: slots are granted in the order of the batches.
            let mut order = Some(order);
            let work = |prepared: &Prepared<'_>, drafted: &mut Drafted, parts: &mut Parts<'_>| {
                self.put(prepared, drafted, parts, (&mut order, batch))
            };
            let (facts, uploaded) = self.place((epoch, position), place, scratch, &mut failures, work)?;
            let Uploaded { slot, views, claim } = uploaded;
            return self.send(Message::Uploaded { batch, place, facts, failures, slot, views, claim });
        };
        let mut facts = Vec::with_capacity(positions.len());
        let bytes = self.line.sample_bytes();
        for (i, position) in positions.iter().enumerate() {
            let out = &mut piece[i * bytes..(i + 1) * bytes];
            let work = |prepared: &Prepared<'_>, drafted: &mut Drafted, parts: &mut Parts<'_>| {
                Ok(self.augment(prepared, drafted, out, parts))
            };
            facts.push(self.place((epoch, position), place + i, scratch, &mut failures, work)?.0);
        }
        self.send(Message::Augmented { batch, place, facts, failures, piece })
    }

    /// Tries one candidate after the other until `work` has served a place.
    fn place<T>(
        &self,
        (epoch, position): (u64, &Position),
        place: usize,
        scratch: &mut Scratch,
        failures: &mut Vec<Failure>,
        mut work: impl FnMut(&Prepared<'_>, &mut Drafted, &mut Parts<'_>) -> Outcome<T>,
    ) -> Result<(Facts, T), Stopped> {
        for attempt in 0..MOST_ATTEMPTS {
            let (index, key) = self.line.candidate(epoch, position, attempt);
            let error = match catch_unwind(AssertUnwindSafe(|| self.sample(index, &key, scratch, &mut work))) {
                // The data set's or an operator's: nobody knows what state it has left, so the run ends.
                Err(payload) => {
                    let source = Error::panic(self.clock.stage().name(), payload.as_ref());
                    return self.give_up(index, key, source);
                }
                Ok(Err(Stopped)) => return Err(Stopped),
                Ok(Ok(Ok(done))) => return Ok(done),
                Ok(Ok(Err(error))) => error,
            };
            let name = self.line.dataset.name(index);
            tracing::warn!(sample = key.sample, name = %Shown(&name), %error, "sample failed");
            if attempt + 1 == MOST_ATTEMPTS || matches!(self.line.on_error, OnError::Fail) {
                return self.give_up(index, key, error);
            }
            self.line.stats.failed();
            failures.push(Failure { place: place * self.line.views, id: key.sample, name, error });
        }
        Err(Stopped)
    }

    fn give_up<T>(&self, index: usize, key: Key, source: Error) -> Result<T, Stopped> {
        let name = self.line.dataset.name(index);
        self.send(Message::Fatal(ErrorKind::Sample { id: key.sample, name, source }.into()))?;
        Err(Stopped)
    }

    /// One candidate, from its file to its place.
    fn sample<T>(
        &self,
        index: usize,
        key: &Key,
        scratch: &mut Scratch,
        work: &mut impl FnMut(&Prepared<'_>, &mut Drafted, &mut Parts<'_>) -> Outcome<T>,
    ) -> Outcome<(Facts, T)> {
        let (line, clock) = (self.line, &self.clock);
        let (file, mut parts) = scratch.parts();
        clock.item();
        let read = if line.is_on_host(index) { 0 } else { line.views };
        let prepared = match clock.work(Stage::Read, read, || line.prepare(index, file)) {
            Ok(prepared) => prepared,
            Err(error) => return Ok(Err(error)),
        };
        clock.bytes(Stage::Read, prepared.bytes_read());
        let mut drafted = match clock.work(Stage::Params, line.views, || line.draft(&prepared, key)) {
            Ok(drafted) => drafted,
            Err(error) => return Ok(Err(error)),
        };
        let mut done = work(&prepared, &mut drafted, &mut parts)?;
        if done.is_err() && drafted.unclaim() {
            // What an epoch reads decides whether a sample fails, not what is kept.
            done = work(&prepared, &mut drafted, &mut parts)?;
        }
        if done.is_err() && drafted.scale != Scale::Full {
            // The damage may lie outside of the data that the region takes at full size.
            drafted = match line.at_full_size(drafted) {
                Ok(drafted) => drafted,
                Err(error) => return Ok(Err(error)),
            };
            done = work(&prepared, &mut drafted, &mut parts)?;
        }
        Ok(done.map(|done| {
            line.stats.images(line.views);
            let params = drafted.views.into_iter().map(|view| view.params).collect();
            (Facts { id: key.sample, label: prepared.label.clone(), params }, done)
        }))
    }

    /// Decodes and augments into the batch's memory.
    fn augment(
        &self,
        prepared: &Prepared<'_>,
        drafted: &mut Drafted,
        out: &mut [u8],
        parts: &mut Parts<'_>,
    ) -> Result<()> {
        let line = self.line;
        let Parts { decode, seek, bytes, floats, cpu: executor, reduced, rounded, kept } = parts;
        let claim = line.claim_on_host(prepared, drafted);
        let mut pixels = self.clock.work(Stage::Decode, prepared.decodes(line.views), || {
            line.pixels(prepared, drafted, (decode, seek), (bytes, floats))
        })?;
        if !prepared.is_kept() {
            self.clock.bytes(Stage::Decode, drafted.decoded_bytes());
        }
        if drafted.head.is_some() {
            pixels = self.clock.work(Stage::Augment, 0, || line.round(drafted, pixels, reduced, rounded, executor));
        }
        if let Some(claim) = claim {
            pixels =
                self.clock.work(Stage::Augment, 0, || line.keep(claim, drafted, pixels, (reduced, kept), executor));
        }
        self.clock.bytes(Stage::Augment, out.len() as u64);
        self.clock.work(Stage::Augment, line.views, || {
            let images = out.chunks_exact_mut(line.plan.image_bytes(line.size));
            for (view, image) in drafted.views.iter().zip(images) {
                let pixels = view.pixels(drafted, pixels);
                cpu::run(&line.plan, &view.program, pixels, view.region, image, executor);
            }
        });
        Ok(())
    }

    /// Decodes, waits for the grant, and copies what the GPU will read into it: each view's region, or once what is kept of
    /// the sample.
    fn put(
        &self,
        prepared: &Prepared<'_>,
        drafted: &mut Drafted,
        parts: &mut Parts<'_>,
        (order, batch): (&mut Option<u64>, u64),
    ) -> Outcome<Uploaded> {
        let (line, clock) = (self.line, &self.clock);
        let Parts { decode, seek, bytes: gathered, floats, cpu: executor, reduced, rounded, kept } = parts;
        let on_device = line.claim_on_device(prepared, drafted);
        let streamed = if on_device.is_some() { Ok(Vec::new()) } else { line.streamed(drafted) };
        let programs = match streamed {
            Ok(programs) => programs,
            Err(error) => return Ok(Err(error)),
        };
        let on_host = line.claim_on_host(prepared, drafted);
        let bytes = on_device.as_ref().map_or_else(|| drafted.slot_bytes(), |(_, keeping)| keeping.slot_bytes(drafted));
        let (reply, grant) = bounded(1);
        // The number of bytes is known before decoding, so the grant is usually here when the pixels are.
        self.send(Message::Request(Request { order: order.take(), batch, bytes, reply }))?;
        let decoded = clock.work(Stage::Decode, prepared.decodes(line.views), || {
            line.pixels(prepared, drafted, (decode, seek), (gathered, floats))
        });
        let Grant { range, slot, mut offset } = clock.blocked(|| grant.recv()).map_err(|_| Stopped)?;
        let mut pixels = match decoded {
            Ok(pixels) => pixels,
            Err(error) => {
                self.send(Message::GiveBack { slot })?;
                return Ok(Err(error));
            }
        };
        if !prepared.is_kept() {
            clock.bytes(Stage::Decode, drafted.decoded_bytes());
        }
        if drafted.head.is_some() {
            pixels = clock.work(Stage::Augment, 0, || line.round(drafted, pixels, reduced, rounded, executor));
        }
        if let Some(claim) = on_host {
            let source = (pixels, drafted.region);
            let stage = if line.plan.keeps_exact() { Stage::Augment } else { Stage::Copy };
            clock.work(stage, 0, || line.keep_beside(claim, source, (reduced, kept), executor));
        }
        clock.bytes(Stage::Copy, bytes);
        let copy = |pixels: PixelsRef<'_>, (width, height): (u32, u32), at: u64, views: usize| {
            let copied =
                clock.work(Stage::Copy, views, || copy(pixels, width as usize, height as usize, &range, at as usize));
            copied.or_else(|error| {
                self.send(Message::Fatal(error))?;
                Err(Stopped)
            })
        };
        let source = |offset: u64, stride: u32, pixels: PixelsRef<'_>| {
            let float = matches!(pixels, PixelsRef::Floats { .. });
            Source { offset: (offset / 4) as u32, stride, float }
        };
        let mut views = Vec::with_capacity(drafted.views.len());
        if let Some((claim, keeping)) = on_device {
            let (pixels, region, programs) = clock
                .work(Stage::Augment, 0, || keeping.sent(line, (pixels, drafted.region), (reduced, kept), executor));
            copy(pixels, (region.width, region.height), 0, programs.len())?;
            for program in programs {
                views.push((source(offset, region.width, pixels), program.relative_to(region)));
            }
            return Ok(Ok(Uploaded { slot, views, claim: Some(claim) }));
        }
        let mut at = 0;
        for (view, program) in drafted.views.iter().zip(programs) {
            let mut pixels = view.pixels(drafted, pixels);
            let (size, program) = if view.reduce() {
                line.stats.cpu_fallback();
                clock.work(Stage::Augment, 1, || {
                    cpu::run_to_floats(&line.plan, &view.program, pixels, view.region, reduced, executor);
                });
                let (width, height) = view.program.size();
                pixels = PixelsRef::Floats { data: reduced, stride: 4 * width as usize };
                ((width, height), Program::finished((width, height), program.stages.len()))
            } else {
                let region = view.region;
                ((region.width, region.height), program.relative_to(region))
            };
            copy(pixels, size, at, 1)?;
            views.push((source(offset, size.0, pixels), program));
            at += view.slot_bytes();
            offset += view.slot_bytes();
        }
        Ok(Ok(Uploaded { slot, views, claim: None }))
    }
}

/// Row by row into write-combined memory from byte `at` of the range on, in one sequential pass.
fn copy(pixels: PixelsRef<'_>, width: usize, height: usize, range: &MappedRange, at: usize) -> Result<()> {
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

/// RGB8 to RGBA8, a few pixels at a time.
fn widen(row: &[u8], offset: usize, range: &mut OpenRange) {
    const PIXELS: usize = 128;
    let mut block = [255; 4 * PIXELS];
    for (i, pixels) in row.chunks(3 * PIXELS).enumerate() {
        for (to, from) in block.as_chunks_mut::<4>().0.iter_mut().zip(pixels.as_chunks::<3>().0) {
            to[..3].copy_from_slice(from);
        }
        range.write(offset + 4 * PIXELS * i, &block[..pixels.len() / 3 * 4]);
    }
}
