//! Tells a caller how far a step of a pack is, and lets the caller stop the step. A step is one call, such as
//! `Packer::pack` or `Packer::plan`.
//!
//! A step runs in a thread of its own, and the calling thread waits for the step's events. So the calling thread can
//! run the caller's code, and can return, while the step opens a source, waits for a store or uploads a shard.

use crate::error::{Error, ErrorKind, Result};
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, unbounded};
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use tracing::dispatcher;

use super::number::PartNumber;
use crate::dataset::Split;

/// What a [`Packer`](super::Packer) reports while it is at work.
///
/// ```
/// use gpufeed::pack::Event;
///
/// let event = Event::Packed { done: 3, all: 4 };
/// assert!(matches!(event, Event::Packed { done, all } if done < all));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// The source is being opened, and the folder to pack into is being examined.
    Preparing,
    /// The source has another split, which is not packed.
    OtherSplit {
        /// The number of samples in that split.
        samples: usize,
        /// The split that is not packed.
        split: Split,
    },
    /// Another process is at work on this part of a pack. This process waits until the other one ends.
    Waiting {
        /// The number of the part.
        part: PartNumber,
    },
    /// Samples are read, encoded and written into the pack.
    Packed {
        /// The number of samples that are done, including those of earlier runs.
        done: usize,
        /// The number of all samples that are to be packed.
        all: usize,
    },
    /// Samples of the pack are compared with the source.
    Compared {
        /// The number of samples that are done.
        done: usize,
        /// The number of all samples that are to be compared.
        all: usize,
    },
}

/// The caller's function that receives the events. It is called on the caller's own thread.
pub(super) type Listener<'a> = Box<dyn FnMut(Event) -> ControlFlow<()> + Send + 'a>;

/// The interval at which a waiting thread checks whether it has to stop, and at which events of progress are passed on.
pub(super) const TICK: Duration = Duration::from_millis(50);
/// How long the caller waits for the end of a step that it has stopped. A step that takes longer, such as one that
/// uploads a shard, ends in the background, and holds the folder's lock until then.
const GRACE: Duration = Duration::from_millis(500);

/// The link from a step to its caller: the step sends events through it, and asks it whether to stop.
pub(super) struct Watch {
    /// The number of threads that prepare samples for the step.
    pub(super) threads: usize,
    stopped: Arc<AtomicBool>,
    events: Sender<Event>,
}

impl Watch {
    /// Fails if the caller has stopped the step.
    pub(super) fn check(&self) -> Result<()> {
        if self.stopped.load(Ordering::Relaxed) { Err(stopped()) } else { Ok(()) }
    }

    pub(super) fn say(&self, event: Event) {
        // Sending fails if the step was stopped, because nobody receives its events any more.
        let _ = self.events.send(event);
    }
}

fn stopped() -> Error {
    ErrorKind::Stopped { what: "packing" }.into()
}

/// Runs `work` in a new thread. Meanwhile calls the listener, on the calling thread, with the events that `work` sends,
/// with events of progress at most once every [`TICK`]. While `work` sends nothing, the listener gets the last event
/// again every [`TICK`], so that it can stop the step at any time.
pub(super) fn watched<T: Send + 'static>(
    listener: &mut Listener<'_>,
    threads: usize,
    work: impl FnOnce(&Watch) -> Result<T> + Send + 'static,
) -> Result<T> {
    let (events, heard) = unbounded();
    let stop = Arc::new(AtomicBool::new(false));
    let watch = Watch { threads, stopped: Arc::clone(&stop), events };
    // The subscriber of the caller's thread also gets the log events of the step's thread.
    let collector = dispatcher::get_default(Clone::clone);
    let caught = move || {
        let work = || dispatcher::with_default(&collector, || work(&watch));
        let done = catch_unwind(AssertUnwindSafe(work));
        done.unwrap_or_else(|payload| Err(Error::panic("pack", &*payload)))
    };
    // Sets `stop` when this function returns, so that the step stops also if the listener panics.
    let _stops = SetOnDrop(&stop);
    let thread = thread::Builder::new().name("gpufeed-pack".to_owned()).spawn(caught);
    let thread = thread.map_err(|source| Error::io("a thread to pack", source))?;
    if let ControlFlow::Break(()) = listen(&heard, listener) {
        stop.store(true, Ordering::Relaxed);
        let end = Instant::now() + GRACE;
        while !thread.is_finished() {
            if Instant::now() > end {
                return Err(stopped());
            }
            thread::sleep(TICK / 10);
        }
    }
    thread.join().unwrap_or_else(|payload| Err(Error::panic("pack", &*payload)))
}

/// Sets a flag to true when this value is dropped, also by a panic.
pub(super) struct SetOnDrop<'a>(pub(super) &'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Calls the listener with the step's events until the step ends (`Continue`), or until the listener stops it
/// (`Break`).
fn listen(heard: &Receiver<Event>, listener: &mut Listener<'_>) -> ControlFlow<()> {
    let (mut last, mut called) = (Event::Preparing, Instant::now());
    listener(last)?;
    loop {
        let event = match heard.recv_timeout(TICK) {
            Ok(event) => event,
            Err(RecvTimeoutError::Timeout) => last,
            Err(RecvTimeoutError::Disconnected) => return ControlFlow::Continue(()),
        };
        let at_once = match event {
            Event::Packed { done, all } | Event::Compared { done, all } => done == all,
            Event::Preparing | Event::OtherSplit { .. } | Event::Waiting { .. } => true,
        };
        if !matches!(event, Event::OtherSplit { .. }) {
            last = event;
        }
        if at_once || called.elapsed() >= TICK {
            listener(event)?;
            called = Instant::now();
        }
    }
}

#[cfg(test)]
impl Watch {
    /// Makes a `Watch` for a step that nobody listens to.
    pub(super) fn unheard() -> Watch {
        Watch { threads: 1, stopped: Arc::default(), events: unbounded().0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_stopped_while_it_says_nothing() {
        let (ended, has_ended) = unbounded();
        let mut calls = 0;
        let mut listener: Listener<'_> = Box::new(|event| {
            assert_eq!(event, Event::Preparing);
            calls += 1;
            if calls < 3 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        let error = watched(&mut listener, 1, move |watch| {
            while watch.check().is_ok() {
                thread::sleep(TICK / 10);
            }
            ended.send(()).unwrap();
            watch.check()
        });
        assert!(matches!(error.unwrap_err().kind(), ErrorKind::Stopped { .. }));
        assert!(has_ended.try_recv().is_ok(), "it has ended before the caller goes on");
    }

    #[test]
    fn a_step_that_hangs_does_not_hold_its_caller() {
        let (end, ends) = unbounded::<()>();
        let begin = Instant::now();
        let mut listener: Listener<'_> = Box::new(|_| ControlFlow::Break(()));
        let error = watched(&mut listener, 1, move |_| Ok(ends.recv().is_ok())).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Stopped { .. }) && begin.elapsed() < Duration::from_secs(5));
        drop(end);
    }

    #[test]
    fn each_event_is_heard_but_for_progress_in_between() {
        let mut heard = Vec::new();
        let mut listener: Listener<'_> = Box::new(|event| {
            heard.push(event);
            ControlFlow::Continue(())
        });
        let other_split = Event::OtherSplit { samples: 3, split: Split::Test };
        let done = watched(&mut listener, 1, move |watch| {
            watch.say(other_split);
            thread::sleep(4 * TICK);
            (0..=10_000).for_each(|done| watch.say(Event::Packed { done, all: 10_000 }));
            Ok(7)
        });
        drop(listener);
        assert_eq!((done.unwrap(), heard[0]), (7, Event::Preparing));
        assert_eq!(heard.iter().filter(|event| **event == other_split).count(), 1, "it is said once");
        assert_eq!(heard.last(), Some(&Event::Packed { done: 10_000, all: 10_000 }));
        assert!(heard.len() < 1000, "{}", heard.len());
    }

    #[test]
    fn a_panic_is_an_error() {
        let mut listener: Listener<'_> = Box::new(|_| ControlFlow::Continue(()));
        let error = watched::<()>(&mut listener, 1, |_| panic!("a bug")).unwrap_err().to_string();
        assert_eq!(error, "stage pack panicked: a bug");
    }
}
