//! A worker: takes a place of a batch, reads, probes, draws, decodes, and puts the pixels where they belong.

use super::OnError;
use super::assembly::{Content, Grant, Message, Request};
use super::batch::Failure;
use super::line::Line;
use super::prepare::{Drafted, Facts, Parts, Scratch, View};
use super::stats::{Clock, Stage};
use crate::cpu;
use crate::dataset::SampleData;
use crate::error::{Error, ErrorKind, Result};
use crate::gpu::staging::{MappedRange, OpenRange};
use crate::plan::params::Source;
use crate::sampler::Slot;
use bytes::BytesMut;
use crossbeam_channel::{Receiver, Sender, bounded};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};

/// One place of one batch.
#[derive(Debug)]
pub(super) struct Job {
    /// The sample's number in this run.
    pub(super) order: u64,
    pub(super) batch: u64,
    pub(super) place: usize,
    pub(super) epoch: u64,
    pub(super) slot: Slot,
    /// Where to augment to; without it the pixels go to a slot.
    pub(super) piece: Option<BytesMut>,
}

/// Replacements that are tried for one place before the run ends: a data set that fails so often is broken.
const MOST_ATTEMPTS: u64 = 16;

/// Why a worker stops without an error of its own.
struct Stopped;

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

impl Worker<'_> {
    fn send(&self, message: Message) -> Result<(), Stopped> {
        self.clock.send(self.out, message).map_err(|_| Stopped)
    }

    fn job(&self, mut job: Job, scratch: &mut Scratch) -> Result<(), Stopped> {
        let mut failures = Vec::new();
        // The first request of a place carries its number: slots are granted in the order of the batches.
        let mut order = Some(job.order);
        for attempt in 0..MOST_ATTEMPTS {
            let (index, key) = self.line.candidate(job.epoch, &job.slot, attempt);
            let work = AssertUnwindSafe(|| self.sample(index, &key, &mut job, &mut order, scratch));
            match catch_unwind(work) {
                Ok(Err(Stopped)) => return Err(Stopped),
                // The data set's or an operator's: nobody knows what state it has left, so the run ends.
                Err(payload) => {
                    let source = panic_error(self.clock.stage().name(), payload.as_ref());
                    let name = self.line.dataset.name(index);
                    self.send(Message::Fatal(ErrorKind::Sample { id: key.sample, name, source }.into()))?;
                    return Err(Stopped);
                }
                Ok(Ok(Ok((facts, content)))) => {
                    let Job { batch, place, .. } = job;
                    return self.send(Message::Done { batch, place, facts, failures, content });
                }
                Ok(Ok(Err(error))) => {
                    let name = self.line.dataset.name(index);
                    tracing::warn!(sample = key.sample, %name, %error, "sample failed");
                    let last = attempt + 1 == MOST_ATTEMPTS;
                    if last || matches!(self.line.on_error, OnError::Fail) {
                        self.send(Message::Fatal(ErrorKind::Sample { id: key.sample, name, source: error }.into()))?;
                        return Err(Stopped);
                    }
                    self.line.stats.failed();
                    let place = job.place * self.line.views;
                    failures.push(Failure { place, id: key.sample, name, error });
                }
            }
        }
        Ok(())
    }

    /// One candidate, from its file to its place. The outer error means that the run is over.
    fn sample(
        &self,
        index: usize,
        key: &crate::transforms::Key,
        job: &mut Job,
        order: &mut Option<u64>,
        scratch: &mut Scratch,
    ) -> Result<Result<(Facts, Content)>, Stopped> {
        let (line, clock) = (self.line, &self.clock);
        let (file, parts) = scratch.parts();
        clock.item();
        let sample = match clock.work(Stage::Read, line.views, || line.dataset.read(index, file)) {
            Ok(sample) => sample,
            Err(error) => return Ok(Err(error)),
        };
        clock.bytes(Stage::Read, sample.data.len() as u64);
        let drafted = match clock.work(Stage::Draw, line.views, || line.draft(&sample.data, key)) {
            Ok(drafted) => drafted,
            Err(error) => return Ok(Err(error)),
        };
        let content = match job.piece.take() {
            Some(mut piece) => match self.augment(&sample.data, &drafted, &mut piece, parts) {
                Ok(()) => Content::Augmented(piece),
                Err(error) => {
                    job.piece = Some(piece);
                    return Ok(Err(error));
                }
            },
            None => {
                let (reply, grant) = bounded(1);
                let request = Request { order: order.take(), batch: job.batch, bytes: drafted.slot_bytes(), reply };
                self.send(Message::Request(request))?;
                // The number of bytes is known before decoding, so the grant is usually here when the pixels are.
                match self.put(&sample.data, &drafted, parts, &grant)? {
                    Ok(content) => content,
                    Err(error) => return Ok(Err(error)),
                }
            }
        };
        line.stats.images(line.views);
        let drawn = drafted.views.into_iter().map(|view| view.drawn).collect();
        Ok(Ok((Facts { id: key.sample, label: sample.label, drawn }, content)))
    }

    /// Decodes and augments into the batch's memory.
    fn augment(&self, data: &SampleData<'_>, drafted: &Drafted, piece: &mut [u8], parts: Parts<'_>) -> Result<()> {
        let line = self.line;
        let pixels = self.clock.work(Stage::Decode, line.views, || {
            line.pixels(data, drafted, parts.decode, (parts.bytes, parts.floats))
        })?;
        self.clock.bytes(Stage::Decode, drafted.decoded_bytes());
        self.clock.bytes(Stage::Augment, piece.len() as u64);
        self.clock.work(Stage::Augment, line.views, || {
            let images = piece.chunks_exact_mut(line.plan.image_bytes(line.size));
            for (view, image) in drafted.views.iter().zip(images) {
                let pixels = view.pixels(drafted, pixels);
                cpu::run(&line.plan, &view.program, pixels, view.region, image, parts.cpu);
            }
        });
        Ok(())
    }

    /// Decodes, waits for the grant, and copies the region into it.
    fn put(
        &self,
        data: &SampleData<'_>,
        drafted: &Drafted,
        parts: Parts<'_>,
        grant: &Receiver<Grant>,
    ) -> Result<Result<Content>, Stopped> {
        let (line, clock) = (self.line, &self.clock);
        let decoded = clock
            .work(Stage::Decode, line.views, || line.pixels(data, drafted, parts.decode, (parts.bytes, parts.floats)));
        let Grant { range, slot, mut offset } = clock.blocked(|| grant.recv()).map_err(|_| Stopped)?;
        let pixels = match decoded {
            Ok(pixels) => pixels,
            Err(error) => {
                self.send(Message::GiveBack { slot })?;
                return Ok(Err(error));
            }
        };
        clock.bytes(Stage::Decode, drafted.decoded_bytes());
        clock.bytes(Stage::Put, drafted.slot_bytes());
        let mut views = Vec::with_capacity(drafted.views.len());
        let mut at = 0;
        for view in &drafted.views {
            let mut pixels = view.pixels(drafted, pixels);
            let (width, height, program) = if view.reduce() {
                line.stats.reduced();
                clock.work(Stage::Augment, 1, || {
                    cpu::run_to_floats(&line.plan, &view.program, pixels, view.region, parts.reduced, parts.cpu);
                });
                let (width, height) = view.program.size();
                pixels = cpu::Pixels::Floats { data: parts.reduced, stride: 4 * width as usize };
                (width, height, view.program.finished())
            } else {
                let View { region, program, .. } = view;
                let mut program = program.clone();
                program.stages[0].sampling = program.stages[0].sampling.relative_to(*region);
                (region.width, region.height, program)
            };
            let copied = clock.work(Stage::Put, 1, || copy(pixels, width as usize, height as usize, &range, at));
            if let Err(error) = copied {
                self.send(Message::Fatal(error))?;
                return Err(Stopped);
            }
            let float = matches!(pixels, cpu::Pixels::Floats { .. });
            views.push((Source { offset: (offset / 4) as u32, stride: width, float }, program));
            at += view.slot_bytes() as usize;
            offset += view.slot_bytes();
        }
        Ok(Ok(Content::Slot { slot, views }))
    }
}

/// Row by row into write-combined memory from byte `at` of the range on, in one sequential pass.
fn copy(pixels: cpu::Pixels<'_>, width: usize, height: usize, range: &MappedRange, at: usize) -> Result<()> {
    let mut range = range.open()?;
    let (bytes, row, stride): (&[u8], usize, usize) = match pixels {
        cpu::Pixels::Bytes { data, stride, size: 3 } => {
            for y in 0..height {
                widen(&data[y * stride..][..3 * width], at + 4 * width * y, &mut range);
            }
            return Ok(());
        }
        cpu::Pixels::Bytes { data, stride, .. } => (data, 4 * width, stride),
        cpu::Pixels::Floats { data, stride } => (bytemuck::cast_slice(data), 16 * width, 4 * stride),
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

/// Turns a panic's payload into an error that names the stage.
pub(super) fn panic_error(stage: &'static str, payload: &(dyn std::any::Any + Send)) -> Error {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let message = text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".to_owned());
    ErrorKind::Panic { stage, message }.into()
}
