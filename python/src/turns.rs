//! Lets threads take turns at calling an object in Python: one call at a time for each object, unless its reads share
//! no state.
//!
//! Nothing waits for a turn while it has the interpreter's lock, because the thread that has the turn needs that lock.

use gpufeed::internals::{self, RunStop};
use pyo3::prelude::*;
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, LazyLock, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

/// A thread that waits for its turn checks at this interval whether its run has to stop.
const ROUND: Duration = Duration::from_millis(50);

/// A read whose run has ended may keep the turn at least this long, so that a slow read can return.
const LEAST_PATIENCE: Duration = Duration::from_secs(5);

/// The turn of one object.
#[derive(Default)]
struct Turn {
    /// The read that has the turn.
    taken: Mutex<Option<Read>>,
    free: Condvar,
}

/// A read under way, with the run of its thread. The run may be closed before the read returns. `None` on a thread that
/// is no worker.
struct Read(Option<RunStop>);

impl Read {
    /// Returns true if nothing waits for this read any more: its run was closed, or has ended by an error.
    fn is_left(&self) -> bool {
        self.0.as_ref().is_some_and(RunStop::is_set)
    }
}

/// Turns, by the process and the object's address. The child of a fork makes turns of its own, because a turn that a
/// thread of the parent had taken would never be free in the child.
type Known = HashMap<(u32, usize), Weak<Turn>>;

/// The turns that exist. Two loaders over the same object share its turn.
static TURNS: LazyLock<Mutex<Known>> = LazyLock::new(Mutex::default);

thread_local! {
    /// The objects whose reads are under way on this thread, innermost last.
    static INSIDE: RefCell<Vec<Arc<[usize]>>> = const { RefCell::new(Vec::new()) };
}

/// The objects of a data set, and the turns that its reads take.
pub(crate) struct Turns {
    /// The turns, sorted by their objects' addresses. All threads take them in this order.
    turns: Vec<Arc<Turn>>,
    /// The addresses of all objects, also of those without turns.
    parts: Arc<[usize]>,
    /// The nanoseconds that threads have waited for a turn.
    waited: AtomicU64,
    /// The nanoseconds for which a read whose run has ended may keep a turn.
    patience: AtomicU64,
}

/// The reason why a read cannot begin.
pub(crate) enum Refused {
    /// This thread is inside a read of the same object.
    Inside,
    /// The run of this thread has to stop.
    Stops,
    /// Another read has kept the turn for this long, although its run has ended.
    Stuck(Duration),
    /// A signal has come while this thread waited, which is no worker.
    Interrupted(PyErr),
}

impl Turns {
    /// `parts` are all objects that a read may call. True means that the object takes turns. The caller has to keep the
    /// objects alive.
    pub(crate) fn new(parts: &[(Py<PyAny>, bool)]) -> Turns {
        let process = std::process::id();
        let mut takes: Vec<usize> =
            parts.iter().filter(|(_, takes)| *takes).map(|(object, _)| object.as_ptr() as usize).collect();
        takes.sort_unstable();
        takes.dedup();
        let mut all = TURNS.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|_, turn| turn.strong_count() > 0);
        let turns = takes.into_iter().map(|address| {
            let known = all.entry((process, address)).or_default();
            known.upgrade().unwrap_or_else(|| {
                let made = Arc::new(Turn::default());
                *known = Arc::downgrade(&made);
                made
            })
        });
        let turns = turns.collect();
        let parts = parts.iter().map(|(object, _)| object.as_ptr() as usize).collect();
        Turns { turns, parts, waited: AtomicU64::new(0), patience: AtomicU64::new(LEAST_PATIENCE.as_nanos() as u64) }
    }

    /// Sets how long a read whose run has ended may keep a turn from others: this time, but at least 5 s.
    pub(crate) fn set_patience(&self, time: Duration) {
        let nanoseconds = u64::try_from(time.max(LEAST_PATIENCE).as_nanos()).unwrap_or(u64::MAX);
        self.patience.store(nanoseconds, Ordering::Relaxed);
    }

    /// Begins a read: waits for the turns. Call this without the interpreter's lock.
    pub(crate) fn enter(&self) -> Result<Inside<'_>, Refused> {
        if self.is_inside() {
            return Err(Refused::Inside);
        }
        let mut held = Vec::with_capacity(self.turns.len());
        for turn in &self.turns {
            held.push(self.take(turn)?);
        }
        INSIDE.with_borrow_mut(|inside| inside.push(Arc::clone(&self.parts)));
        Ok(Inside { _held: held })
    }

    fn take<'a>(&self, turn: &'a Turn) -> Result<Held<'a>, Refused> {
        let mut taken = turn.taken.lock().unwrap_or_else(PoisonError::into_inner);
        if taken.is_some() {
            let began = Instant::now();
            let patience = Duration::from_nanos(self.patience.load(Ordering::Relaxed));
            // When this thread first saw that the turn belongs to a read whose run has ended.
            let mut left: Option<Instant> = None;
            while let Some(read) = &*taken {
                left = read.is_left().then(|| left.unwrap_or_else(Instant::now));
                if left.is_some_and(|since| since.elapsed() >= patience) {
                    return Err(Refused::Stuck(patience));
                }
                match internals::stops() {
                    Some(true) => return Err(Refused::Stops),
                    Some(false) => {}
                    // This may be the main thread, so Ctrl-C ends its wait.
                    None => {
                        drop(taken);
                        let signals = Python::try_attach(|py| py.check_signals()).unwrap_or(Ok(()));
                        signals.map_err(Refused::Interrupted)?;
                        taken = turn.taken.lock().unwrap_or_else(PoisonError::into_inner);
                        if taken.is_none() {
                            break;
                        }
                    }
                }
                taken = turn.free.wait_timeout(taken, ROUND).unwrap_or_else(PoisonError::into_inner).0;
            }
            self.waited.fetch_add(began.elapsed().as_nanos() as u64, Ordering::Relaxed);
        }
        *taken = Some(Read(internals::stops_with()));
        Ok(Held(turn))
    }

    /// Returns true on a thread that is inside a read of one of these objects.
    pub(crate) fn is_inside(&self) -> bool {
        INSIDE.with_borrow(|inside| inside.iter().any(|parts| parts.iter().any(|part| self.parts.contains(part))))
    }

    /// Returns the time that threads have waited for a turn, added up.
    pub(crate) fn waited(&self) -> Duration {
        Duration::from_nanos(self.waited.load(Ordering::Relaxed))
    }

    /// Returns true if reads may have to wait for each other.
    pub(crate) fn takes_turns(&self) -> bool {
        !self.turns.is_empty()
    }
}

/// A read under way, which has its turns until this is dropped.
pub(crate) struct Inside<'a> {
    _held: Vec<Held<'a>>,
}

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        INSIDE.with_borrow_mut(Vec::pop);
    }
}

struct Held<'a>(&'a Turn);

impl Drop for Held<'_> {
    fn drop(&mut self) {
        *self.0.taken.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.0.free.notify_one();
    }
}

/// Measures the share of an epoch for which a run's workers wait for each other.
pub(crate) struct Waits {
    turns: Arc<Turns>,
    workers: usize,
    /// The current epoch: its number, its beginning, and the time that workers had waited before it.
    epoch: u64,
    began: Instant,
    before: Duration,
}

/// Below this time, waiting is not worth a warning.
const WORTH_A_WORD: Duration = Duration::from_millis(100);

impl Waits {
    pub(crate) fn new(turns: Arc<Turns>, workers: usize, epoch: u64) -> Waits {
        let (began, before) = (Instant::now(), turns.waited());
        Waits { turns, workers, epoch, began, before }
    }

    /// Called after each batch, with the epoch of the next batch. At the end of an epoch in which the workers that had
    /// no turn have waited for more than half of the time, returns that share.
    pub(crate) fn share(&mut self, due: u64) -> Option<f64> {
        if due == self.epoch {
            return None;
        }
        let (now, waited) = (Instant::now(), self.turns.waited());
        let (time, waits) = (now - self.began, waited.saturating_sub(self.before));
        (self.epoch, self.began, self.before) = (due, now, waited);
        let share = waits.as_secs_f64() / (time.as_secs_f64() * (self.workers - 1) as f64);
        (self.workers > 1 && waits >= WORTH_A_WORD && share > 0.5).then_some(share)
    }
}
