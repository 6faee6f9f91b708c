//! Tells a caller how far a step of a pack is, and lets the caller stop the step.
//!
//! A step runs in a thread of its own, and the calling thread waits for its events. So the calling thread can run the
//! caller's code, and can return, while the step opens a source, waits for a store or uploads a shard.

use crate::error::{Error, ErrorKind, Result};
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, unbounded};
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

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
    /// The source is opened, and the folder is looked through.
    Preparing,
    /// The source has another split, which is not packed.
    OtherSplit {
        /// The samples of that split.
        samples: usize,
        /// The split that is not packed.
        split: Split,
    },
    /// Another process is at work on this part of a pack. This process waits until that one ends.
    Waiting {
        /// The part.
        part: PartNumber,
    },
    /// Samples are read, encoded and written into the pack.
    Packed {
        /// The samples that are done, including those of earlier runs.
        done: usize,
        /// All samples that are to be packed.
        all: usize,
    },
    /// Samples are compared with the source.
    Compared {
        /// The samples that are done.
        done: usize,
        /// All samples that are to be compared.
        all: usize,
    },
}

/// The caller's code, called by its own thread.
pub(super) type Listener<'a> = Box<dyn FnMut(Event) -> ControlFlow<()> + Send + 'a>;

/// How often a waiting thread looks whether it has to stop.
pub(super) const TICK: Duration = Duration::from_millis(50);
/// How long the caller waits for a step that it has stopped. A step that takes longer, such as an upload, ends in the
/// background, and has the folder's lock until then.
const GRACE: Duration = Duration::from_millis(500);

/// What a step has of its caller: the step sends events with it, and learns from it whether to stop.
pub(super) struct Watch {
    /// The threads that prepare samples for the step.
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
        // If the step was stopped, nobody receives its events any more.
        let _ = self.events.send(event);
    }
}

fn stopped() -> Error {
    ErrorKind::Stopped { what: "packing" }.into()
}

/// Does `work` in a thread, and calls the listener with its events. Events of progress reach the listener at most once
/// a tick. While `work` sends nothing, the listener gets the last event again each tick, so that it can stop the step
/// at any time.
pub(super) fn watched<T: Send + 'static>(
    listener: &mut Listener<'_>,
    threads: usize,
    work: impl FnOnce(&Watch) -> Result<T> + Send + 'static,
) -> Result<T> {
    let (events, heard) = unbounded();
    let stop = Arc::new(AtomicBool::new(false));
    let watch = Watch { threads, stopped: Arc::clone(&stop), events };
    let caught = move || {
        let done = catch_unwind(AssertUnwindSafe(|| work(&watch)));
        done.unwrap_or_else(|payload| Err(Error::panic("pack", &*payload)))
    };
    // Stops the step also if the listener panics.
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

/// Sets a flag when its scope ends, by a panic, too.
pub(super) struct SetOnDrop<'a>(pub(super) &'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Calls the listener until the step ends, or the listener stops it.
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
