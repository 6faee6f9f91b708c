//! The runs that have threads, and their ends: none waits for a thread for ever, and all end with the interpreter.

use crate::process::Owner;
use crate::turns::Turns;
use crate::warnings::warn;
use gpufeed::{Epochs, State};
use pyo3::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, LazyLock, Mutex, PoisonError, Weak};
use std::task::Poll;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The longest wait between two looks at signals: Ctrl-C has to end a wait within 0.2 s.
pub(crate) const ROUND: Duration = Duration::from_millis(50);

/// The answer of a run.
pub(crate) struct Returned {
    /// `None` after the last batch.
    pub(crate) batch: Option<gpufeed::Result<gpufeed::Batch>>,
    /// The state after it.
    pub(crate) state: State,
}

/// A run's threads, and a batch that `ready` has found already.
pub(crate) struct Waiting {
    pub(crate) epochs: Epochs,
    pub(crate) found: Option<Returned>,
}

impl Waiting {
    /// The next batch, the end or an error, if it is there within `time`.
    pub(crate) fn poll(&mut self, time: Duration) -> Option<Returned> {
        if let Some(found) = self.found.take() {
            return Some(found);
        }
        match self.epochs.next_within(time) {
            Poll::Pending => None,
            Poll::Ready(batch) => Some(Returned { batch, state: self.epochs.state() }),
        }
    }
}

/// A run with its threads, until it has ended.
pub(crate) struct OpenRun {
    waiting: Mutex<Option<Waiting>>,
    /// True once somebody wants the run to end: a wait returns.
    ending: AtomicBool,
    /// True after the last batch.
    pub(crate) finished: AtomicBool,
    pub(crate) turns: Option<Arc<Turns>>,
    /// The longest wait of the run's end for threads that are inside a data set in Python.
    pub(crate) exit_timeout: Duration,
    pub(crate) owner: Owner,
}

impl OpenRun {
    pub(crate) fn new(epochs: Epochs, turns: Option<Arc<Turns>>, exit_timeout: Duration) -> OpenRun {
        let waiting = Mutex::new(Some(Waiting { epochs, found: None }));
        let (ending, finished) = (AtomicBool::new(false), AtomicBool::new(false));
        OpenRun { waiting, ending, finished, turns, exit_timeout, owner: Owner::this() }
    }

    /// Works with the run, unless it has ended or is to end.
    pub(crate) fn with<T>(&self, work: impl FnOnce(&mut Waiting) -> T) -> Option<T> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.as_mut().filter(|_| self.is_open()).map(work)
    }

    pub(crate) fn is_open(&self) -> bool {
        !self.ending.load(Ordering::Relaxed)
    }

    /// Begins to end the run: without the interpreter's lock, which its threads may need.
    pub(crate) fn begin_end(self: &Arc<Self>) -> Ending {
        self.ending.store(true, Ordering::Relaxed);
        if !self.owner.is_here() {
            return Ending::ended();
        }
        let run = Arc::clone(self);
        let end = move || {
            let waiting = run.waiting.lock().unwrap_or_else(PoisonError::into_inner).take();
            drop(waiting);
        };
        Ending::begin(self.exit_timeout, end)
    }
}

impl Drop for OpenRun {
    fn drop(&mut self) {
        let waiting = self.waiting.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        let Some(waiting) = waiting else { return };
        // In another process there are no threads to wait for.
        if !self.owner.is_here() {
            std::mem::forget(waiting);
            return;
        }
        let time = if self.turns.as_ref().is_some_and(|turns| turns.is_inside()) {
            // This thread is one of the threads that have to end, so waiting would be in vain.
            Duration::ZERO
        } else {
            self.exit_timeout
        };
        // The threads may need the interpreter's lock to end, and this thread may hold it. At the interpreter's end nobody can
        // get the lock any more.
        let mut waiting = Some(waiting);
        let ended = Python::try_attach(|py| {
            let waiting = waiting.take();
            py.detach(|| {
                let ending = Ending::begin(time, move || drop(waiting));
                if !ending.wait_all() {
                    leave(ending);
                }
            });
        });
        if ended.is_none() {
            std::mem::forget(waiting);
        }
    }
}

/// The runs that have threads, for the interpreter's end.
static RUNS: LazyLock<Mutex<Vec<Weak<OpenRun>>>> = LazyLock::new(Mutex::default);

/// Adds a run that `end_all` ends.
pub(crate) fn register(run: Weak<OpenRun>) {
    let mut runs = RUNS.lock().unwrap_or_else(PoisonError::into_inner);
    runs.retain(|run| run.strong_count() > 0);
    runs.push(run);
}

/// Runs whose ends nobody waits for any more, although their threads have not ended.
static LEFT: LazyLock<Mutex<Vec<Ending>>> = LazyLock::new(Mutex::default);

/// A run that ends, on a thread of its own: the run's threads may be inside a data set in Python that never returns.
pub(crate) struct Ending {
    /// The thread, and a channel that closes as it is done; `None` once the run has ended.
    thread: Mutex<Option<(JoinHandle<()>, Receiver<()>)>>,
    began: Instant,
    time: Duration,
    owner: Owner,
}

impl Ending {
    /// Begins `end`, for which others wait as long as `time`.
    pub(crate) fn begin(time: Duration, end: impl FnOnce() + Send + 'static) -> Ending {
        let (ended, closes) = channel::<()>();
        // If no thread can be started, this one takes the run back.
        let end = Arc::new(Mutex::new(Some(end)));
        let take = |end: &Mutex<Option<_>>| end.lock().unwrap_or_else(PoisonError::into_inner).take();
        let there = Arc::clone(&end);
        let work = move || {
            if let Some(end) = take(&there) {
                end();
            }
            drop(ended);
        };
        let thread = std::thread::Builder::new().name("gpufeed-end".to_owned()).spawn(work).ok();
        if thread.is_none()
            && let Some(end) = take(&end)
        {
            end();
        }
        let thread = Mutex::new(thread.map(|thread| (thread, closes)));
        Ending { thread, began: Instant::now(), time, owner: Owner::this() }
    }

    pub(crate) fn ended() -> Ending {
        Ending { thread: Mutex::new(None), began: Instant::now(), time: Duration::ZERO, owner: Owner::this() }
    }

    /// Waits until the run has ended, no longer than `time`; true if it has. To be called without the interpreter's lock.
    pub(crate) fn wait(&self, time: Duration) -> bool {
        let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        let time = time.min(self.time.saturating_sub(self.began.elapsed()));
        let waits = |closes: &Receiver<()>| matches!(closes.recv_timeout(time), Err(RecvTimeoutError::Timeout));
        if thread.as_ref().is_some_and(|(_, closes)| waits(closes)) {
            return false;
        }
        if let Some((thread, _)) = thread.take() {
            // The thread has nothing left to do. A panic of it would reach no caller.
            let _ = thread.join();
        }
        true
    }

    /// Waits as `wait` does, for as long as the run allows.
    pub(crate) fn wait_all(&self) -> bool {
        self.wait(self.time)
    }

    /// True once nobody is to wait any more.
    pub(crate) fn is_late(&self) -> bool {
        self.began.elapsed() >= self.time
    }
}

/// Nobody waits for this run any more.
pub(crate) fn leave(ending: Ending) {
    LEFT.lock().unwrap_or_else(PoisonError::into_inner).push(ending);
}

/// Ends every run, at the interpreter's end: a thread that asks for the interpreter's lock after that waits for ever. Waits as
/// long as the runs' `exit_timeout` says, or until Ctrl-C, and then leaves the threads.
#[pyfunction]
pub(crate) fn end_all(py: Python<'_>) -> PyResult<()> {
    let runs = std::mem::take(&mut *RUNS.lock().unwrap_or_else(PoisonError::into_inner));
    let endings: Vec<Ending> = py.detach(|| runs.iter().filter_map(Weak::upgrade).map(|run| run.begin_end()).collect());
    let mut left = std::mem::take(&mut *LEFT.lock().unwrap_or_else(PoisonError::into_inner));
    // The threads of a parent process are not in this one.
    left.retain(|ending| ending.owner.is_here());
    let (mut stuck, mut interrupted) = (0, false);
    for ending in endings.iter().chain(&left) {
        while !py.detach(|| ending.wait(ROUND)) {
            // Who presses Ctrl-C here wants the process to end.
            interrupted |= py.check_signals().is_err();
            if interrupted || ending.is_late() {
                stuck += 1;
                break;
            }
        }
    }
    if stuck > 0 {
        let text = format!(
            "gpufeed: {stuck} run{} left at the interpreter's exit, with threads that are still inside a data set \
             (exit_timeout= of DataLoader says how long to wait for them)",
            if stuck == 1 { " is" } else { "s are" }
        );
        warn(py, &text)?;
    }
    Ok(())
}

/// The number of runs with threads, for tests.
#[pyfunction]
pub(crate) fn open_runs() -> usize {
    let runs = RUNS.lock().unwrap_or_else(PoisonError::into_inner);
    runs.iter().filter_map(Weak::upgrade).filter(|run| run.is_open()).count()
}
