//! A run: the threads of the line for a range of epochs, and the iterator at its end.

use super::assembly::Message;
use super::batch::{Batch, Store};
use super::collect::{self, CopyUp};
use super::feed::Feeder;
use super::line::{Execution, Line, Runs};
use super::stats::Stage;
use super::upload::Uploader;
use super::worker;
use crate::error::{Error, ErrorKind, Result};
use crate::sampler::State;
use crossbeam_channel::{Receiver, Sender, bounded, never};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Instant;

/// The batches of one or more epochs, in order; made by [`DataLoader::epoch`](super::DataLoader::epoch) and its like.
///
/// Dropping it, at any moment, ends its threads and waits for them. After an error there are no further batches.
///
/// ```
/// use gpufeed::transforms::CenterCrop;
/// use gpufeed::{Backend, DataLoader, InMemory, Label, PixelFormat};
///
/// let mut data = InMemory::new();
/// for class in 0..5 {
///     data.push_pixels(4, 4, PixelFormat::Rgb8, vec![0; 48], Label::Class(class))?;
/// }
/// let loader = DataLoader::builder(data).transform(CenterCrop::new(2)).batch_size(2).build(&Backend::Cpu)?;
/// let mut epoch = loader.epoch(0)?;
/// assert_eq!(epoch.len(), 3);
/// epoch.next().unwrap()?;
/// let state = epoch.state(); // saved with a checkpoint
/// drop(epoch);
/// assert_eq!(loader.resume(&state)?.len(), 2);
/// # Ok::<(), gpufeed::Error>(())
/// ```
#[derive(Debug)]
pub struct Epochs {
    line: Arc<Line>,
    runs: Runs,
    /// `None` once the run has ended.
    ready: Option<Receiver<Result<Batch>>>,
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
    state: State,
    end: u64,
    started: Instant,
    /// When the caller got the last batch, and how many images those were.
    returned: (Instant, usize),
}

impl Epochs {
    pub(super) fn start(line: &Arc<Line>, mut state: State, end: u64) -> Result<Epochs> {
        if state.batch == line.sampler.batches() as u64 {
            state = State { epoch: state.epoch + 1, batch: 0, ..state };
        }
        let capacities = line.capacities();
        let (ready_in, ready) = bounded(capacities.ready);
        line.enter()?;
        // Indexes that others have saved since.
        if let Some(seek) = &line.seek {
            seek.store().refresh();
        }
        line.stats.begin();
        let started = Instant::now();
        let runs = Runs::default();
        let mut run = Epochs {
            line: Arc::clone(line),
            runs: runs.clone(),
            ready: Some(ready),
            stop: Arc::new(AtomicBool::new(false)),
            threads: Vec::new(),
            state,
            end,
            started,
            returned: (started, 0),
        };
        let (jobs_in, jobs) = bounded(capacities.jobs);
        let (inbox_in, inbox) = bounded(capacities.inbox);

        // Where samples lie in GPU memory nothing else holds the feeder back.
        let (announce, announced) = bounded(capacities.announced);
        let (stop, to_collector, of_feed) = (Arc::clone(&run.stop), inbox_in.clone(), runs.clone());
        run.spawn("gpufeed-feed".to_owned(), "feeding", &ready_in, move |line| {
            let feeder =
                Feeder { line, runs: &of_feed, jobs: &jobs_in, out: &to_collector, announce: &announce, stop: &stop };
            feeder.run(state, end)
        })?;
        for number in 0..line.workers {
            let (jobs, out, stop) = (jobs.clone(), inbox_in.clone(), Arc::clone(&run.stop));
            let ready_in = ready_in.clone();
            run.spawn(format!("gpufeed-work-{number}"), "worker", &ready_in, move |line| {
                let mut scratch = line.take_scratch();
                let work = || worker::run(line, number, &jobs, &out, &stop, &mut scratch);
                match catch_unwind(AssertUnwindSafe(work)) {
                    Ok(()) => line.return_scratch(scratch),
                    // By way of the inbox, where the end of the line may be waiting for this very worker.
                    Err(payload) => {
                        let _ = out.send(Message::Fatal(Error::panic("worker", payload.as_ref())));
                    }
                }
                Ok(())
            })?;
        }
        drop((jobs, inbox_in));
        let (stop, batches) = (Arc::clone(&run.stop), ready_in.clone());
        run.spawn("gpufeed-batch".to_owned(), "upload", &ready_in, move |line| {
            let inbox = Drained { inbox, announced, stop: &stop };
            assemble(line, &runs, inbox, &batches, &stop)
        })?;
        Ok(run)
    }

    /// Starts a thread whose errors and panics arrive at the caller.
    fn spawn(
        &mut self,
        name: String,
        stage: &'static str,
        ready: &Sender<Result<Batch>>,
        work: impl FnOnce(&Line) -> Result<()> + Send + 'static,
    ) -> Result<()> {
        let (line, ready, stop) = (Arc::clone(&self.line), ready.clone(), Arc::clone(&self.stop));
        let body = move || {
            let result = catch_unwind(AssertUnwindSafe(|| work(&line)));
            let error = match result {
                Ok(Ok(())) => return,
                Ok(Err(error)) => error,
                Err(payload) => Error::panic(stage, payload.as_ref()),
            };
            stop.store(true, Ordering::Relaxed);
            // The caller may be gone; then nobody asks.
            let _ = ready.send(Err(error));
        };
        let thread = std::thread::Builder::new().name(name).spawn(body);
        let thread =
            thread.map_err(|error| ErrorKind::Device { stage: "starting a thread", reason: error.to_string() })?;
        self.threads.push(thread);
        Ok(())
    }

    /// Where the run stands: the next batch that is due. Save it with a checkpoint, hand it to
    /// [`DataLoader::resume`](super::DataLoader::resume).
    pub fn state(&self) -> State {
        self.state
    }

    fn left(&self) -> usize {
        if self.ready.is_none() {
            return 0;
        }
        let batches = self.line.sampler.batches() as u64;
        let epochs = self.end.saturating_sub(self.state.epoch);
        epochs.saturating_mul(batches).saturating_sub(self.state.batch) as usize
    }

    fn finish(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let ended_now = self.ready.take().is_some();
        for thread in self.threads.drain(..) {
            // Panics were caught inside and have been reported.
            let _ = thread.join();
        }
        if ended_now {
            // Of a run that ends within an epoch, too: the next process needs not build them again.
            if let Some(seek) = &self.line.seek {
                seek.after_run();
            }
            self.line.level_scratch();
            self.line.stats.end(self.started.elapsed());
            self.line.leave();
        }
    }
}

impl Iterator for Epochs {
    type Item = Result<Batch>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.left() == 0 {
            self.finish();
            return None;
        }
        let ready = self.ready.as_ref()?;
        let (consumer, (since, images)) = (self.line.stats.consumer(), self.returned);
        self.line.stats.delay_consumer(images);
        let asked = Instant::now();
        consumer.busy(Stage::Consume, images as u64, asked.duration_since(since));
        consumer.look(ready.len());
        self.runs.outputs.waiting.store(true, Ordering::SeqCst);
        let received = ready.recv();
        self.runs.outputs.waiting.store(false, Ordering::SeqCst);
        let now = Instant::now();
        consumer.starved(now.duration_since(asked));
        self.returned = (now, 0);
        match received {
            Ok(Ok(mut batch)) => {
                match &mut batch.store {
                    Store::Gpu { target, .. } => target.hand_out(),
                    Store::Host(buffer) => buffer.hand_out(),
                }
                self.line.stats.batch();
                consumer.bytes(Stage::Consume, batch.bytes() as u64);
                self.returned.1 = batch.len();
                self.state.batch += 1;
                if self.state.batch == self.line.sampler.batches() as u64 {
                    self.state = State { epoch: self.state.epoch + 1, batch: 0, ..self.state };
                    // At the end of the run all is saved that is new.
                    if let Some(seek) = self.line.seek.as_ref().filter(|_| self.state.epoch < self.end) {
                        seek.between_epochs();
                    }
                }
                Some(Ok(batch))
            }
            Ok(Err(error)) => {
                self.finish();
                Some(Err(error))
            }
            Err(_) => {
                self.finish();
                let message = "every thread has ended before the last batch".to_owned();
                Some(Err(ErrorKind::Panic { stage: "line", message }.into()))
            }
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left(), Some(self.left()))
    }
}

impl ExactSizeIterator for Epochs {}

impl Drop for Epochs {
    fn drop(&mut self) {
        self.finish();
    }
}

/// The inbox of a run. However the run ends, it is emptied until the last worker is gone: a bounded channel without a
/// receiver keeps its messages, and a request that is kept keeps its worker waiting for the grant.
struct Drained<'a> {
    inbox: Receiver<Message>,
    /// What the feeder waits for.
    announced: Receiver<()>,
    stop: &'a AtomicBool,
}

impl Drop for Drained<'_> {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.announced = never();
        self.inbox.iter().for_each(drop);
    }
}

/// The end of the line, as the execution asks for it.
fn assemble(
    line: &Line,
    runs: &Runs,
    inbox: Drained<'_>,
    ready: &Sender<Result<Batch>>,
    stop: &AtomicBool,
) -> Result<()> {
    match &line.execution {
        Execution::Host { .. } => collect::run(line, (&inbox.inbox, &inbox.announced), ready, stop, None),
        Execution::HostToGpu { gpu, outputs, .. } => {
            let mut staging = line.take_copy_staging()?;
            let up = CopyUp { gpu, outputs, run: &runs.outputs, staging: &mut staging };
            let result = collect::run(line, (&inbox.inbox, &inbox.announced), ready, stop, Some(up));
            // What an error leaves (a buffer that is not mapped, half a submission) is no use to the next run.
            result.inspect(|()| line.return_copy_staging(staging))
        }
        Execution::Gpu { kernels, outputs, .. } => {
            let mut resources = line.take_resources()?;
            let uploader = Uploader::new(line, kernels, (outputs, &runs.outputs), &mut resources, ready, stop);
            let result = uploader.run((&inbox.inbox, &inbox.announced));
            // Another run may take the slots: no worker may hold a range of them any more.
            drop(inbox);
            result.inspect(|()| line.return_resources(resources))
        }
    }
}
