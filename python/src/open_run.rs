//! Keeps a list of the loader's runs, each of which makes the batches of some epochs with threads of its own, and ends
//! the runs. Ending a run never waits for a thread for ever. All runs are ended when the Python interpreter exits.

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

/// The interval at which a waiting thread checks for signals, because Ctrl-C has to end a wait within 0.2 s.
pub(crate) const ROUND: Duration = Duration::from_millis(50);

/// The answer of a run to the request for a batch.
pub(crate) struct Returned {
    /// The batch, or an error; `None` after the last batch.
    pub(crate) batch: Option<gpufeed::Result<gpufeed::Batch>>,
    /// The state of the run after this batch.
    pub(crate) state: State,
}

/// The threads of a run, and an answer that was taken from them already, by a check whether a batch is ready.
pub(crate) struct Waiting {
    pub(crate) epochs: Epochs,
    pub(crate) found: Option<Returned>,
}

impl Waiting {
    /// Returns the next batch, the end of the run or an error; `None` if nothing comes within `time`.
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

/// A run of the loader. It has threads until it has ended.
pub(crate) struct OpenRun {
    waiting: Mutex<Option<Waiting>>,
    /// True once the run is to end. Threads that wait for a batch of the run then stop waiting.
    ending: AtomicBool,
    /// True once the end of the run, or an error, has been returned.
    pub(crate) finished: AtomicBool,
    pub(crate) turns: Option<Arc<Turns>>,
    /// The longest time that the end of the run waits for threads that are inside a data set in Python.
    pub(crate) exit_timeout: Duration,
    pub(crate) owner: Owner,
}

impl OpenRun {
    pub(crate) fn new(epochs: Epochs, turns: Option<Arc<Turns>>, exit_timeout: Duration) -> OpenRun {
        let waiting = Mutex::new(Some(Waiting { epochs, found: None }));
        let (ending, finished) = (AtomicBool::new(false), AtomicBool::new(false));
        OpenRun { waiting, ending, finished, turns, exit_timeout, owner: Owner::this() }
    }

    /// Calls `work` with the run's threads, and returns its result; `None` if the run has ended or is about to end.
    pub(crate) fn with<T>(&self, work: impl FnOnce(&mut Waiting) -> T) -> Option<T> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.as_mut().filter(|_| self.is_open()).map(work)
    }

    pub(crate) fn is_open(&self) -> bool {
        !self.ending.load(Ordering::Relaxed)
    }

    /// Begins to end the run. Call this without the interpreter's lock (GIL), which the run's threads may need to end.
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
        // In the child of a fork, the run's threads do not exist, so nothing waits for them.
        if !self.owner.is_here() {
            std::mem::forget(waiting);
            return;
        }
        let time = if self.turns.as_ref().is_some_and(|turns| turns.is_inside()) {
            // This thread is inside a read for the run: it is one of the threads that have to end, and cannot wait for
            // them.
            Duration::ZERO
        } else {
            self.exit_timeout
        };
        // The run's threads may need the interpreter's lock (GIL) to end, so this thread releases the lock if it holds
        // it. If the interpreter is exiting, nobody can get the lock any more, and the threads are left alone.
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

/// The runs that have threads. [`end_all`] ends them when the interpreter exits.
static RUNS: LazyLock<Mutex<Vec<Weak<OpenRun>>>> = LazyLock::new(Mutex::default);

/// Adds a run to the runs that [`end_all`] ends.
pub(crate) fn register(run: Weak<OpenRun>) {
    let mut runs = RUNS.lock().unwrap_or_else(PoisonError::into_inner);
    runs.retain(|run| run.strong_count() > 0);
    runs.push(run);
}

/// Runs whose threads did not end in time, so that nobody waits for them any more. [`end_all`] looks at them again.
static LEFT: LazyLock<Mutex<Vec<Ending>>> = LazyLock::new(Mutex::default);

/// The work of ending a run. It has a thread of its own, because the run's threads may be inside a data set in Python
/// that never returns.
pub(crate) struct Ending {
    /// The thread that ends the run, and a channel that closes when this thread is done; `None` once the run has ended.
    thread: Mutex<Option<(JoinHandle<()>, Receiver<()>)>>,
    began: Instant,
    time: Duration,
    owner: Owner,
}

impl Ending {
    /// Calls `end`, which ends a run, in a new thread. From now on, callers of `wait` wait at most until `time` is
    /// over.
    pub(crate) fn begin(time: Duration, end: impl FnOnce() + Send + 'static) -> Ending {
        let (ended, closes) = channel::<()>();
        // If no thread can be started, the present thread takes `end` back and calls it itself.
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

    /// Waits for at most `time` until the run has ended. Returns true if the run has ended. Call this without the
    /// interpreter's lock (GIL).
    pub(crate) fn wait(&self, time: Duration) -> bool {
        let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        let time = time.min(self.time.saturating_sub(self.began.elapsed()));
        let waits = |closes: &Receiver<()>| matches!(closes.recv_timeout(time), Err(RecvTimeoutError::Timeout));
        if thread.as_ref().is_some_and(|(_, closes)| waits(closes)) {
            return false;
        }
        if let Some((thread, _)) = thread.take() {
            // The thread has finished, so this does not block. A panic of the thread is ignored: no caller needs it.
            let _ = thread.join();
        }
        true
    }

    /// Waits until the run has ended, for at most the time that `begin` was given. Returns true if the run has ended.
    pub(crate) fn wait_all(&self) -> bool {
        self.wait(self.time)
    }

    /// Returns true once the time that `begin` was given is over: then nobody waits any longer.
    pub(crate) fn is_late(&self) -> bool {
        self.began.elapsed() >= self.time
    }
}

/// Keeps a run that has not ended in time in [`LEFT`], so that [`end_all`] looks at it again.
pub(crate) fn leave(ending: Ending) {
    LEFT.lock().unwrap_or_else(PoisonError::into_inner).push(ending);
}

/// Ends every run. Python calls this when the interpreter exits, because a thread that asks for the interpreter's lock
/// later waits for ever. Waits for each run as long as its `exit_timeout`, or until Ctrl-C. Threads that are still at
/// work after that are left alone, with a warning.
#[pyfunction]
pub(crate) fn end_all(py: Python<'_>) -> PyResult<()> {
    let runs = std::mem::take(&mut *RUNS.lock().unwrap_or_else(PoisonError::into_inner));
    let endings: Vec<Ending> = py.detach(|| runs.iter().filter_map(Weak::upgrade).map(|run| run.begin_end()).collect());
    let mut left = std::mem::take(&mut *LEFT.lock().unwrap_or_else(PoisonError::into_inner));
    // Drops what the parent process left before a fork: the parent's threads do not exist in this process.
    left.retain(|ending| ending.owner.is_here());
    let (mut stuck, mut interrupted) = (0, false);
    for ending in endings.iter().chain(&left) {
        while !py.detach(|| ending.wait(ROUND)) {
            // A user who presses Ctrl-C here wants the process to end.
            interrupted |= py.check_signals().is_err();
            if interrupted || ending.is_late() {
                stuck += 1;
                break;
            }
        }
    }
    if stuck > 0 {
        let text = format!(
            "gpufeed: {stuck} run{} left at the interpreter's exit, with threads that are still inside a data set or own code \
             (exit_timeout= of DataLoader says how long to wait for them)",
            if stuck == 1 { " is" } else { "s are" }
        );
        warn(py, &text)?;
    }
    Ok(())
}

/// Returns the number of runs with threads, for tests.
#[pyfunction]
pub(crate) fn open_runs() -> usize {
    let runs = RUNS.lock().unwrap_or_else(PoisonError::into_inner);
    runs.iter().filter_map(Weak::upgrade).filter(|run| run.is_open()).count()
}
