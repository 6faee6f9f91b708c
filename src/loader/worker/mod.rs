//! A worker thread: takes jobs; reads, decodes and, on the CPU executor, augments their samples.
//!
//! `read.rs` reads a sample, `content.rs` reads the headers of its images, `job.rs` makes its parameters and chooses their
//! routes, `decode.rs` decodes them, `canvas.rs` those of a mosaic, whose other samples `others.rs` reads, `cpu.rs` and `gpu.rs` write it into its batch, the latter by `layout.rs`, what a sample
//! takes in a slot, and `slot_copy.rs`. Failed samples are replaced here.

mod canvas;
mod content;
mod cpu;
mod decode;
mod gpu;
mod job;
mod layout;
mod others;
mod read;
mod slot_copy;

pub(super) use canvas::pixels;
pub(super) use content::{Canvas, Content};
pub(super) use cpu::work as work_chunk;
pub(super) use gpu::work as work_slot;
pub(super) use others::read as read_others;

use super::OnError;
use super::batch::Failure;
use super::cache::{HostReservation, Reservation};
use super::messages::Finished;
use super::pipeline::Pipeline;
use super::scratch::{Gathered, PixelScratch, WorkerScratch};
use super::stats::{Clock, Stage};
use crate::advice::FactsAlone;
use crate::cpu::prefix::{PrefixBuffers, run_prefix};
use crate::error::{Error, ErrorKind};
use crate::pixels::PixelsRef;
use crate::plan::route::Route;
use crate::plan::split::Executor;
use crate::quote::Shown;
use crate::sampler::Position;
use crate::storage::is_network_failure;
use crate::transforms::Key;
use crossbeam_channel::{Receiver, Sender};
use job::{SampleJob, SourceJob};
use read::ReadSample;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};

/// The most candidates for one position before the run ends: a data set that fails this often is broken.
const MAX_CANDIDATES: u64 = 16;

/// The run has ended: a worker returns, without an error of its own.
#[derive(Debug)]
pub(super) struct Stopped;

/// The reason why a sample is not finished.
enum Unfinished {
    /// The sample has failed with this error.
    Failed(Error),
    /// The run has ended.
    Stopped,
}

impl From<Error> for Unfinished {
    fn from(error: Error) -> Self {
        Unfinished::Failed(error)
    }
}

impl From<Stopped> for Unfinished {
    fn from(Stopped: Stopped) -> Self {
        Unfinished::Stopped
    }
}

/// Writes the pixels of a sample into its batch; each executor has its own.
trait SampleWriter<M> {
    /// The location of the written pixels, for the batch thread.
    type Written;

    fn write(
        &mut self,
        worker: &Worker<'_, M>,
        job: &SampleJob<'_>,
        reservation: Option<Reservation<'_>>,
        scratch: &mut PixelScratch,
    ) -> Result<Self::Written, Unfinished>;
}

/// A worker thread's view of the run.
pub(super) struct Worker<'a, M> {
    pub(super) pipeline: &'a Pipeline,
    inbox: &'a Sender<M>,
    /// The clock of this thread, which also has its current stage for the report of a panic.
    pub(super) clock: Clock<'a>,
}

impl<'a, M> Worker<'a, M> {
    /// Worker `number` of the pipeline, whose messages go to `inbox`.
    pub(super) fn new(pipeline: &'a Pipeline, number: usize, inbox: &'a Sender<M>) -> Self {
        Worker { pipeline, inbox, clock: pipeline.stats.worker(number) }
    }

    /// Works until there are no more jobs, the run stops, or a channel has closed. `work` runs one job.
    pub(super) fn run<J>(
        self,
        jobs: &Receiver<J>,
        stop: &AtomicBool,
        scratch: &mut WorkerScratch,
        work: impl Fn(&Self, J, &mut WorkerScratch) -> Result<(), Stopped>,
    ) {
        loop {
            let Ok(job) = self.clock.receive(jobs) else { return };
            if stop.load(Ordering::Relaxed) || work(&self, job, scratch).is_err() {
                return;
            }
        }
    }
}

impl<M: From<Error>> Worker<'_, M> {
    pub(super) fn send(&self, message: M) -> Result<(), Stopped> {
        self.clock.send(self.inbox, message).map_err(|_| Stopped)
    }

    /// Announces the samples of a job to a data set that wants to know them.
    fn begin_job(&self, positions: &[Position]) {
        let Some(access) = self.pipeline.dataset.access().filter(|access| access.job_samples() > 1) else { return };
        let cache = &self.pipeline.cache;
        let uncached = |index: &usize| cache.in_host_memory(*index).is_none();
        let indices: Vec<usize> = positions.iter().map(|position| position.index).filter(uncached).collect();
        if indices.is_empty() {
            return;
        }
        self.clock.item();
        self.clock.work(Stage::Read, 0, || access.begin_job(&indices));
    }

    /// Finishes the sample at a position of the epoch, whose batch index is `index`, or one that replaces it.
    fn finish_position<W: SampleWriter<M>>(
        &self,
        epoch: u64,
        position: &Position,
        index: usize,
        scratch: &mut WorkerScratch,
        failures: &mut Vec<Failure>,
        writer: &mut W,
    ) -> Result<Finished<W::Written>, Stopped> {
        let pipeline = self.pipeline;
        for attempt in 0..MAX_CANDIDATES {
            let (sample, key) = pipeline.candidate(epoch, position, attempt);
            let finished = catch_unwind(AssertUnwindSafe(|| self.sample(sample, &key, scratch, writer)));
            let error = match finished {
                Ok(Ok(finished)) => return Ok(finished),
                Ok(Err(Unfinished::Stopped)) => return Err(Stopped),
                Ok(Err(Unfinished::Failed(error))) => error,
                // A panic may have left the data set or an operator in any state, so the run ends.
                Err(payload) => {
                    let error = Error::panic(self.clock.stage().name(), payload.as_ref());
                    return Err(self.end_run(sample, &key, error));
                }
            };
            let name = pipeline.dataset.name(sample);
            let facts = error.in_words_of(&FactsAlone);
            tracing::warn!(sample = key.sample, name = %Shown(&name), error = facts, "sample failed");
            let ends =
                matches!(pipeline.settings.on_error, OnError::Fail) || is_network_failure(&error) || error.is_fatal();
            if attempt + 1 == MAX_CANDIDATES || ends {
                return Err(self.end_run(sample, &key, error));
            }
            pipeline.stats.failed();
            // As labels and ids it counts the images of the first group.
            let batch_index = index * pipeline.first().outputs;
            failures.push(Failure { batch_index, id: key.sample, name, error });
        }
        Err(Stopped)
    }

    /// Ends the run with the error of a sample.
    fn end_run(&self, sample: usize, key: &Key, source: Error) -> Stopped {
        let name = self.pipeline.dataset.name(sample);
        let error: Error = ErrorKind::Sample { id: key.sample, name, source }.into();
        self.send(M::from(error)).err().unwrap_or(Stopped)
    }

    /// Takes one sample from the data set to its batch.
    fn sample<W: SampleWriter<M>>(
        &self,
        index: usize,
        key: &Key,
        scratch: &mut WorkerScratch,
        writer: &mut W,
    ) -> Result<Finished<W::Written>, Unfinished> {
        let (pipeline, clock, WorkerScratch { file, others, pixels }) = (self.pipeline, &self.clock, scratch);
        clock.item();
        let is_cached = pipeline.cache.in_host_memory(index).is_some();
        let images = if is_cached { 0 } else { pipeline.outputs };
        let mut sample = clock.work(Stage::Read, images, || ReadSample::read(pipeline, index, key, file, others))?;
        clock.bytes(Stage::Read, sample.bytes());
        let (mut job, mut reservation) =
            clock.work(Stage::Params, pipeline.outputs, || SampleJob::new(pipeline, &mut sample, key))?;
        let objects = match &pipeline.objects {
            Some(objects) => {
                clock.work(Stage::Params, 0, || objects.moved(&pipeline.groups, &mut sample.fields, &job.params))?
            }
            None => Vec::new(),
        };
        let written = loop {
            match writer.write(self, &job, reservation.take(), pixels) {
                Ok(written) => break written,
                Err(Unfinished::Stopped) => return Err(Unfinished::Stopped),
                Err(Unfinished::Failed(error)) => match job.retry(pipeline)? {
                    Some(next) => job = next,
                    None => return Err(error.into()),
                },
            }
        };
        pipeline.stats.images(pipeline.outputs);
        let ReadSample { label, fields, .. } = sample;
        Ok(Finished { index, id: key.sample, label, fields, params: job.params, objects, pixels: written })
    }

    /// The pixels of an image of a job, decoded as its route says.
    fn decode<'s>(
        &self,
        job: &SourceJob<'s>,
        decoder: &'s mut crate::decode::DecoderScratch,
        gathered: &'s mut Gathered,
    ) -> crate::error::Result<PixelsRef<'s>> {
        let is_cached = matches!(job.content, Content::Cached(_));
        let images = if is_cached { 0 } else { job.route.views.len() };
        let pixels = self
            .clock
            .work(Stage::Decode, images, || pixels(self.pipeline, &job.content, job.route.read, decoder, gathered))
            .map_err(|error| self.pipeline.sources[job.source].named(error))?;
        if !is_cached {
            self.clock.bytes(Stage::Decode, job.route.decoded_bytes());
        }
        Ok(pixels)
    }

    /// The pixels at which the views begin.
    fn run_prefix<'s>(
        &self,
        route: &Route,
        pixels: PixelsRef<'s>,
        buffers: &'s mut PrefixBuffers,
        executor: &mut crate::cpu::CpuScratch,
    ) -> crate::error::Result<PixelsRef<'s>> {
        let Some(prefix) = &route.on_worker else { return Ok(pixels) };
        self.clock
            .work(Stage::Augment, 0, || run_prefix(self.pipeline.plan(), prefix, pixels, route.read, buffers, executor))
    }

    /// Inserts a sample in the cache in host memory: the pixels at which its views begin, or a prefix's result. Without
    /// memory for it the sample streams, as one for which the cache has no room.
    fn insert(
        &self,
        reservation: HostReservation<'_>,
        route: &Route,
        pixels: PixelsRef<'_>,
        buffers: &mut PrefixBuffers,
        executor: &mut crate::cpu::CpuScratch,
    ) {
        let prefix = route.to_cache.as_ref().and_then(|insertion| insertion.prefix.as_ref());
        let computes = prefix.is_some() || self.pipeline.first().split.executor() == Executor::Cpu;
        let inserted = self.clock.work(if computes { Stage::Augment } else { Stage::Copy }, 0, || match prefix {
            None => reservation.insert(pixels),
            Some(prefix) => {
                let plan = self.pipeline.plan();
                reservation.insert(run_prefix(plan, prefix, pixels, route.read, buffers, executor)?)
            }
        });
        if let Err(error) = inserted {
            tracing::warn!(error = error.in_words_of(&FactsAlone), "a sample is not cached");
        }
    }
}
