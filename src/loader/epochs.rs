//! The iterator over the batches of a run.

use super::batch::{Batch, BatchStore};
use super::pipeline::Pipeline;
use super::run::Run;
use super::stats::Stage;
use crate::error::{ErrorKind, Result};
use crate::sampler::State;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

/// The batches of one or more epochs, in order; made by [`DataLoader::epoch`](super::DataLoader::epoch) and similar
/// methods.
///
/// Dropping it ends its threads and waits for them, at any moment. After an error there are no further batches.
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
    pipeline: Arc<Pipeline>,
    run: Run,
    state: State,
    end: u64,
    started: Instant,
    /// The time at which the caller got the last batch, and its number of images.
    returned: (Instant, usize),
}

impl Epochs {
    pub(super) fn start(pipeline: &Arc<Pipeline>, mut state: State, end: u64) -> Result<Epochs> {
        if state.batch == pipeline.sampler.batches() as u64 {
            state = State { epoch: state.epoch + 1, batch: 0, ..state };
        }
        pipeline.enter()?;
        pipeline.decoder.begin_run();
        pipeline.stats.begin();
        let started = Instant::now();
        let run = Run::start(pipeline, state, end).inspect_err(|_| end_run(pipeline, started))?;
        Ok(Epochs { pipeline: Arc::clone(pipeline), run, state, end, started, returned: (started, 0) })
    }

    /// The position of the run: the next batch that is due. Save it with a checkpoint, and pass it to
    /// [`DataLoader::resume`](super::DataLoader::resume).
    pub fn state(&self) -> State {
        self.state
    }

    fn left(&self) -> usize {
        if self.run.ready.is_none() {
            return 0;
        }
        let batches = self.pipeline.sampler.batches() as u64;
        let epochs = self.end.saturating_sub(self.state.epoch);
        epochs.saturating_mul(batches).saturating_sub(self.state.batch) as usize
    }

    fn finish(&mut self) {
        if self.run.end() {
            end_run(&self.pipeline, self.started);
        }
    }
}

/// Runs after the last thread of a run has ended.
fn end_run(pipeline: &Pipeline, started: Instant) {
    pipeline.decoder.end_run();
    pipeline.level_scratch();
    pipeline.stats.end(started.elapsed());
    pipeline.leave();
}

impl Iterator for Epochs {
    type Item = Result<Batch>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.left() == 0 {
            self.finish();
            return None;
        }
        let ready = self.run.ready.as_ref()?;
        let (consumer, (since, images)) = (self.pipeline.stats.consumer(), self.returned);
        self.pipeline.stats.delay_consumer(images);
        let asked = Instant::now();
        consumer.busy(Stage::Consume, images as u64, asked.duration_since(since));
        consumer.look(ready.len());
        self.run.shares.outputs.waiting.store(true, Ordering::SeqCst);
        let received = ready.recv();
        self.run.shares.outputs.waiting.store(false, Ordering::SeqCst);
        let now = Instant::now();
        consumer.starved(now.duration_since(asked));
        self.returned = (now, 0);
        match received {
            Ok(Ok(mut batch)) => {
                match &mut batch.store {
                    BatchStore::Gpu { target, .. } => target.hand_out(),
                    BatchStore::Host(buffer) => buffer.hand_out(),
                }
                self.pipeline.stats.batch();
                consumer.bytes(Stage::Consume, batch.bytes() as u64);
                self.returned.1 = batch.len();
                self.state.batch += 1;
                if self.state.batch == self.pipeline.sampler.batches() as u64 {
                    self.state = State { epoch: self.state.epoch + 1, batch: 0, ..self.state };
                    // The end of the run saves the seek indexes as well.
                    if self.state.epoch < self.end {
                        self.pipeline.decoder.between_epochs();
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
                Some(Err(ErrorKind::Panic { stage: "pipeline", message }.into()))
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
