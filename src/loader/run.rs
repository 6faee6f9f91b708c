//! The threads of a run: a feeder, workers, and the batch thread.

use super::assemble::{self, BatchThread, Inbox};
use super::batch::Batch;
use super::buffers::RunShares;
use super::executor_buffers::{CpuBuffers, ExecutorBuffers, GpuBuffers};
use super::feed::{BatchRange, Feeder};
use super::messages::{BatchStart, ChunkJob, CpuMessage, GpuMessage, SlotJob};
use super::pipeline::{Execution, Pipeline};
use super::scratch::WorkerScratch;
use super::worker::{self, Stopped, Worker};
use crate::error::{Error, ErrorKind, Result};
use crate::sampler::{EpochOrder, Position};
use crossbeam_channel::{Receiver, Sender, bounded};
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

/// The part of a run that differs between the two executors: the work of each thread.
trait ExecutorThreads: ExecutorBuffers + Send + Sync + 'static {
    /// The messages of feeder and workers to the batch thread; errors end the run.
    type Message: From<Error> + Send + 'static;
    /// The job that the feeder sends to a worker.
    type Job: Send + 'static;

    /// Feeder: announces a batch, and divides it into jobs. `None` once the run has ended.
    fn announce(
        &self,
        feeder: &mut Feeder<'_, Self::Message>,
        start: BatchStart,
        positions: Vec<Position>,
    ) -> Result<Option<Vec<Self::Job>>>;

    /// Worker: finishes the samples of a job.
    fn work(
        &self,
        worker: &Worker<'_, Self::Message>,
        job: Self::Job,
        scratch: &mut WorkerScratch,
    ) -> Result<(), Stopped>;

    /// Batch thread: assembles batches until the workers have ended, the caller has gone, or an error ends the run.
    fn assemble(&self, thread: BatchThread<'_, Self::Message>) -> Result<()>;
}

impl ExecutorThreads for CpuBuffers {
    type Message = CpuMessage;
    type Job = ChunkJob;

    fn announce(
        &self,
        feeder: &mut Feeder<'_, CpuMessage>,
        start: BatchStart,
        positions: Vec<Position>,
    ) -> Result<Option<Vec<ChunkJob>>> {
        feeder.announce_chunks(self, start, positions)
    }

    fn work(&self, worker: &Worker<'_, CpuMessage>, job: ChunkJob, scratch: &mut WorkerScratch) -> Result<(), Stopped> {
        worker::work_chunk(worker, job, scratch)
    }

    fn assemble(&self, thread: BatchThread<'_, CpuMessage>) -> Result<()> {
        assemble::cpu::run(self, &thread)
    }
}

impl ExecutorThreads for GpuBuffers {
    type Message = GpuMessage;
    type Job = SlotJob;

    fn announce(
        &self,
        feeder: &mut Feeder<'_, GpuMessage>,
        start: BatchStart,
        positions: Vec<Position>,
    ) -> Result<Option<Vec<SlotJob>>> {
        feeder.announce_positions(self, start, positions)
    }

    fn work(&self, worker: &Worker<'_, GpuMessage>, job: SlotJob, scratch: &mut WorkerScratch) -> Result<(), Stopped> {
        worker::work_slot(self, worker, job, scratch)
    }

    fn assemble(&self, thread: BatchThread<'_, GpuMessage>) -> Result<()> {
        assemble::gpu::run(self, thread)
    }
}

thread_local! {
    /// Of a worker: true once its run is to stop.
    static STOP: RefCell<Option<Arc<AtomicBool>>> = const { RefCell::new(None) };
}

/// For data sets that wait: true in a worker whose run is to stop, as nobody needs the sample any more; `None` on a thread
/// that is no worker.
pub fn stops() -> Option<bool> {
    STOP.with_borrow(|stop| stop.as_ref().map(|stop| stop.load(Ordering::Relaxed)))
}

/// Whether a run is to stop, for other threads than its own.
#[derive(Clone, Debug)]
pub struct RunStop(Arc<AtomicBool>);

impl RunStop {
    /// True once the run is to stop.
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// As [`stops`], to be kept while this thread is inside a data set; `None` on a thread that is no worker.
pub fn stops_with() -> Option<RunStop> {
    STOP.with_borrow(|stop| stop.clone().map(RunStop))
}

/// The threads of a run, and the queue at their end.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) shares: RunShares,
    /// `None` once the run has ended or is to stop.
    pub(super) ready: Option<Receiver<Result<Batch>>>,
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
    /// True once the threads have ended.
    ended: bool,
}

impl Run {
    /// Starts the threads. `first` is the order of the first epoch, if it was given.
    pub(super) fn start(pipeline: &Arc<Pipeline>, batches: BatchRange, first: Option<EpochOrder>) -> Result<Run> {
        let (ready_in, ready) = bounded(pipeline.capacities().ready);
        let mut run = Run {
            shares: RunShares::default(),
            ready: Some(ready),
            stop: Arc::new(AtomicBool::new(false)),
            threads: Vec::new(),
            ended: false,
        };
        let started = match &pipeline.execution {
            Execution::Cpu(assembler) => run.spawn_all(pipeline, assembler, &ready_in, batches, first),
            Execution::Gpu(assembler) => run.spawn_all(pipeline, assembler, &ready_in, batches, first),
        };
        if started.is_err() {
            run.end();
        }
        started.map(|()| run)
    }

    fn spawn_all<A: ExecutorThreads>(
        &mut self,
        pipeline: &Arc<Pipeline>,
        assembler: &Arc<A>,
        ready: &Sender<Result<Batch>>,
        batches: BatchRange,
        first: Option<EpochOrder>,
    ) -> Result<()> {
        let capacities = pipeline.capacities();
        let (jobs_in, jobs) = bounded(capacities.jobs);
        let (inbox_in, messages) = bounded(capacities.inbox);
        let (announced_in, announced) = bounded(capacities.announced);
        let (feeding, shares, stop, inbox) =
            (Arc::clone(assembler), self.shares.clone(), Arc::clone(&self.stop), inbox_in.clone());
        self.spawn(pipeline, "gpufeed-feed".to_owned(), "feeding", ready, move |pipeline| {
            let feeder = Feeder::new(pipeline, &shares, &inbox, &announced_in, &stop);
            feeder.run(batches, first, &jobs_in, |feeder, start, positions| feeding.announce(feeder, start, positions))
        })?;
        for number in 0..pipeline.workers {
            let (assembler, stop, jobs, inbox) =
                (Arc::clone(assembler), Arc::clone(&self.stop), jobs.clone(), inbox_in.clone());
            self.spawn(pipeline, format!("gpufeed-work-{number}"), "worker", ready, move |pipeline| {
                STOP.set(Some(Arc::clone(&stop)));
                let mut scratch = pipeline.take_scratch();
                let work =
                    |worker: &Worker<'_, _>, job, scratch: &mut WorkerScratch| assembler.work(worker, job, scratch);
                let run = || Worker::new(pipeline, number, &inbox).run(&jobs, &stop, &mut scratch, work);
                match catch_unwind(AssertUnwindSafe(run)) {
                    Ok(()) => pipeline.return_scratch(scratch),
                    // The error goes through the inbox, because the batch thread may be waiting for this worker.
                    Err(payload) => {
                        let _ = inbox.send(Error::panic("worker", payload.as_ref()).into());
                    }
                }
                Ok(())
            })?;
        }
        drop((jobs, inbox_in));
        let (assembler, shares, stop, batches) =
            (Arc::clone(assembler), self.shares.clone(), Arc::clone(&self.stop), ready.clone());
        self.spawn(pipeline, "gpufeed-batch".to_owned(), "submit", ready, move |pipeline| {
            let inbox = Inbox { messages, announced, stop: &stop };
            assembler.assemble(BatchThread { pipeline, shares: &shares, inbox, ready: &batches, stop: &stop })
        })
    }

    /// Starts a thread whose errors and panics arrive at the caller.
    fn spawn(
        &mut self,
        pipeline: &Arc<Pipeline>,
        name: String,
        stage: &'static str,
        ready: &Sender<Result<Batch>>,
        work: impl FnOnce(&Pipeline) -> Result<()> + Send + 'static,
    ) -> Result<()> {
        let (pipeline, ready, stop) = (Arc::clone(pipeline), ready.clone(), Arc::clone(&self.stop));
        let body = move || {
            let result = catch_unwind(AssertUnwindSafe(|| work(&pipeline)));
            let error = match result {
                Ok(Ok(())) => return,
                Ok(Err(error)) => error,
                Err(payload) => Error::panic(stage, payload.as_ref()),
            };
            stop.store(true, Ordering::Relaxed);
            // If the caller has dropped the iterator, sending fails, and nobody needs the error.
            let _ = ready.send(Err(error));
        };
        let thread = std::thread::Builder::new().name(name).spawn(body);
        let thread =
            thread.map_err(|error| ErrorKind::Device { stage: "starting a thread", reason: error.to_string() })?;
        self.threads.push(thread);
        Ok(())
    }

    /// Tells the threads to stop, and does not wait for them.
    pub(super) fn stop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.ready = None;
    }

    /// Stops the threads and waits for them, but for one of themselves; `false` if they had ended before.
    pub(super) fn end(&mut self) -> bool {
        self.stop();
        // A data set may end the run that reads it: its thread cannot wait for itself, nor for the others, which wait for it.
        let here = std::thread::current().id();
        let inside = self.threads.iter().any(|thread| thread.thread().id() == here);
        for thread in self.threads.drain(..).filter(|_| !inside) {
            // Panics were caught in the thread and have been reported.
            let _ = thread.join();
        }
        !std::mem::replace(&mut self.ended, true)
    }
}
