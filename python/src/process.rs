//! What a library with threads has to know of the process: forks, the interpreter's end, Rust's panics; and the command.

use crate::errors;
use crate::run::{OpenRun, ROUND, warn};
use pyo3::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, LazyLock, Mutex, PoisonError, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The runs that have threads, for the interpreter's end.
static RUNS: LazyLock<Mutex<Vec<Weak<OpenRun>>>> = LazyLock::new(Mutex::default);

/// Adds a run that `end_all` ends.
pub(crate) fn register(run: Weak<OpenRun>) {
    let mut runs = RUNS.lock().unwrap_or_else(PoisonError::into_inner);
    runs.retain(|run| run.strong_count() > 0);
    runs.push(run);
}

/// Runs that were left before their threads had ended.
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
        // Taken back where no thread can be started.
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
            // It has nothing left to do. A panic of a run's end has no caller to tell.
            let _ = thread.join();
        }
        true
    }

    /// As `wait`, for the whole of its time.
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
    // Those of a parent are not in this process.
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

/// The process that made an object with threads. Its child by `fork` has a copy of the object, but none of the threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Owner(u32);

impl Owner {
    pub(crate) fn this() -> Owner {
        Owner(std::process::id())
    }

    pub(crate) fn is_here(self) -> bool {
        self == Owner::this()
    }

    /// An error in another process.
    pub(crate) fn check(self, py: Python<'_>) -> PyResult<()> {
        if self.is_here() {
            return Ok(());
        }
        let text = format!(
            "this loader belongs to process {}, and its threads were not copied by the fork to process {}; make the loader \
             after the fork, or start processes by \"spawn\"",
            self.0,
            std::process::id()
        );
        Err(errors::raise(py, "RunError", "Fork", &text))
    }
}

/// Runs work whose panic becomes an error of gpufeed's.
pub(crate) fn guard<T>(py: Python<'_>, work: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|payload| {
        let text = payload.downcast_ref::<&str>().copied();
        let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message");
        Err(errors::raise(py, "RunError", "Panic", &format!("gpufeed has panicked, please report it: {text}")))
    })
}

/// Runs the command `gpufeed` with these arguments, the program's name first; its exit status.
#[pyfunction]
pub(crate) fn command(py: Python<'_>, arguments: Vec<String>) -> PyResult<i32> {
    guard(py, || Ok(py.detach(|| i32::from(gpufeed_cli::run(arguments)))))
}
