//! The iterator over the batches of a run.

use super::batch::Batch;
use super::batch_store::BatchStore;
use super::feed::BatchRange;
use super::pipeline::Pipeline;
use super::run::Run;
use super::stats::Stage;
use crate::error::{ErrorKind, Result};
use crate::sampler::{OpenLists, State};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Poll;
use std::time::{Duration, Instant};

use crossbeam_channel::{RecvTimeoutError, TryRecvError};

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
    /// Of orders that are given epoch by epoch.
    lists: Option<OpenLists>,
    /// The epoch of the batch that is due, and its number there.
    epoch: u64,
    batch: u64,
    end: u64,
    started: Instant,
    /// The time at which the caller got the last batch, and its number of images.
    returned: (Instant, usize),
}

impl Epochs {
    /// Starts a run.
    pub(super) fn start(pipeline: &Arc<Pipeline>, BatchRange { epoch, batch, end }: BatchRange) -> Result<Epochs> {
        let ended = batch == pipeline.sampler.batches() as u64;
        let (epoch, batch) = if ended { (epoch + 1, 0) } else { (epoch, batch) };
        let mut first = None;
        if epoch < end {
            pipeline.sampler.check_epoch(epoch)?;
            first = pipeline.sampler.given_epoch(epoch)?;
        }
        pipeline.enter()?;
        pipeline.decoder.begin_run();
        pipeline.stats.begin();
        let started = Instant::now();
        let (lists, range) = (pipeline.sampler.open(epoch..end), BatchRange { epoch, batch, end });
        let run = Run::start(pipeline, range, first).inspect_err(|_| end_run(pipeline, started))?;
        let (pipeline, returned) = (Arc::clone(pipeline), (started, 0));
        Ok(Epochs { pipeline, run, lists, epoch, batch, end, started, returned })
    }

    /// The position of the run: the next batch that is due. Save it with a checkpoint, and pass it to
    /// [`DataLoader::resume`](super::DataLoader::resume).
    pub fn state(&self) -> State {
        self.pipeline.sampler.state(self.epoch, self.batch)
    }

    /// As [`next`](Iterator::next), but waits no longer than `time`: [`Poll::Pending`] if the batch is not ready by then,
    /// `Ready(None)` after the last one. For a caller that has to look after other things meanwhile, such as signals.
    ///
    /// After an error the run's threads end by themselves, and are waited for as the iterator is dropped.
    ///
    /// A caller that holds all output buffers gets [`ErrorKind::OutputsHeld`](crate::ErrorKind::OutputsHeld) as from
    /// `next`, provided that it waits most of the time.
    ///
    /// ```
    /// use gpufeed::transforms::CenterCrop;
    /// use gpufeed::{Backend, DataLoader, InMemory, Label, PixelFormat};
    /// use std::task::Poll;
    /// use std::time::Duration;
    ///
    /// let mut data = InMemory::new();
    /// data.push_pixels(4, 4, PixelFormat::Rgb8, vec![0; 48], Label::None)?;
    /// let loader = DataLoader::builder(data).transform(CenterCrop::new(2)).build(&Backend::Cpu)?;
    /// let mut epoch = loader.epoch(0)?;
    /// loop {
    ///     match epoch.next_within(Duration::from_millis(50)) {
    ///         Poll::Ready(Some(batch)) => println!("{:?}", batch?.shape()),
    ///         Poll::Ready(None) => break,
    ///         Poll::Pending => println!("waiting"),
    ///     }
    /// }
    /// # Ok::<(), gpufeed::Error>(())
    /// ```
    pub fn next_within(&mut self, time: Duration) -> Poll<Option<Result<Batch>>> {
        self.wait(Some(time))
    }

    fn left(&self) -> usize {
        if self.run.ready.is_none() {
            return 0;
        }
        let batches = self.pipeline.sampler.batches() as u64;
        let epochs = self.end.saturating_sub(self.epoch);
        epochs.saturating_mul(batches).saturating_sub(self.batch) as usize
    }

    /// The next batch, waited for as long as `time`, or for as long as it takes.
    fn wait(&mut self, time: Option<Duration>) -> Poll<Option<Result<Batch>>> {
        if self.left() == 0 {
            // After an error, a caller that gave a time is not to wait for the threads here.
            if time.is_none() || self.run.ready.is_some() {
                self.finish();
            }
            return Poll::Ready(None);
        }
        let Some(ready) = &self.run.ready else { return Poll::Ready(None) };
        // All earlier batches are handed out, so that nobody but the caller, who waits here, could give the list.
        let due = self.lists.as_ref().filter(|_| self.batch == 0 && ready.is_empty());
        if let Some(error) = due.and_then(|_| self.pipeline.sampler.missing(self.epoch)) {
            self.run.stop();
            return Poll::Ready(Some(Err(error)));
        }
        let (consumer, (since, images)) = (&self.pipeline.stats.consumer, self.returned);
        self.pipeline.stats.delay_consumer(images);
        let asked = Instant::now();
        consumer.busy(Stage::Consume, images as u64, asked.duration_since(since));
        let found = ready.len();
        self.run.shares.outputs.waiting.store(true, Ordering::SeqCst);
        let received = match time {
            None => ready.recv().map_err(|_| RecvTimeoutError::Disconnected),
            // Without a system call, for a caller that never waits.
            Some(Duration::ZERO) => ready.try_recv().map_err(|error| match error {
                TryRecvError::Empty => RecvTimeoutError::Timeout,
                TryRecvError::Disconnected => RecvTimeoutError::Disconnected,
            }),
            Some(time) => ready.recv_timeout(time),
        };
        self.run.shares.outputs.waiting.store(false, Ordering::SeqCst);
        let now = Instant::now();
        consumer.starved(now.duration_since(asked));
        self.returned = (now, 0);
        if !matches!(received, Err(RecvTimeoutError::Timeout)) {
            consumer.look(found);
        }
        Poll::Ready(Some(match received {
            Ok(Ok(batch)) => Ok(self.hand_out(batch)),
            Ok(Err(error)) => {
                // Another thread may be inside a data set for long.
                if time.is_some() {
                    self.run.stop()
                } else {
                    self.finish()
                }
                Err(error)
            }
            Err(RecvTimeoutError::Timeout) => return Poll::Pending,
            Err(RecvTimeoutError::Disconnected) => {
                self.finish();
                let message = "every thread has ended before the last batch".to_owned();
                Err(ErrorKind::Panic { stage: "pipeline", message }.into())
            }
        }))
    }

    /// Counts the batch as the caller's, and goes on to the next.
    fn hand_out(&mut self, mut batch: Batch) -> Batch {
        match &mut batch.store {
            BatchStore::Gpu { targets, .. } => targets.hand_out(),
            BatchStore::Host(buffer) => buffer.hand_out(),
        }
        self.pipeline.stats.batch();
        self.pipeline.stats.consumer.bytes(Stage::Consume, batch.bytes() as u64);
        self.returned.1 = batch.groups().map(|group| group.len()).sum();
        if let Some(lists) = self.lists.as_ref().filter(|_| self.batch == 0) {
            lists.reach(self.epoch);
        }
        self.batch += 1;
        if self.batch == self.pipeline.sampler.batches() as u64 {
            (self.epoch, self.batch) = (self.epoch + 1, 0);
            // The end of the run saves the seek indexes as well.
            if self.epoch < self.end {
                self.pipeline.decoder.between_epochs();
            }
        }
        batch
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
        match self.wait(None) {
            Poll::Ready(item) => item,
            // Without a limit, `wait` returns no earlier than there is a batch, an error or the end.
            Poll::Pending => None,
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
