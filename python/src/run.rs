//! Runs of a loader: the next batch, and the end, which waits for no thread for ever.

use crate::batch::Batch;
use crate::errors::{self, inside_itself};
use crate::process::{self, Ending, Owner, guard};
use crate::turns::{Turns, Waits};
use gpufeed::{Epochs, State};
use gpufeed_cli::internals::collected_warning;
use pyo3::exceptions::PyRuntimeWarning;
use pyo3::prelude::*;
use std::ffi::CString;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;
use std::time::Duration;

/// How long a wait lasts before Python may handle signals. Ctrl-C is to end it within 0.2 s.
pub(crate) const ROUND: Duration = Duration::from_millis(50);

/// An error on a thread that is inside a read of these objects.
pub(crate) fn refuse_inside(turns: Option<&Arc<Turns>>) -> PyResult<()> {
    if turns.is_some_and(|turns| turns.is_inside()) { Err(inside_itself()) } else { Ok(()) }
}

/// An item of a run, and the state after it.
type Item = (Option<gpufeed::Result<gpufeed::Batch>>, State);

/// A run's threads, and an item that `ready` has found already.
struct Waiting {
    epochs: Epochs,
    found: Option<Item>,
}

impl Waiting {
    /// The next item, if it is there within `time`.
    fn poll(&mut self, time: Duration) -> Option<Item> {
        if let Some(found) = self.found.take() {
            return Some(found);
        }
        match self.epochs.next_within(time) {
            Poll::Pending => None,
            Poll::Ready(item) => Some((item, self.epochs.state())),
        }
    }
}

/// A run with its threads, until it has ended.
pub(crate) struct OpenRun {
    waiting: Mutex<Option<Waiting>>,
    /// True once somebody wants the run to end: a wait returns.
    ending: AtomicBool,
    /// True after the last batch.
    finished: AtomicBool,
    turns: Option<Arc<Turns>>,
    /// How long its end waits for threads that are inside a data set in Python.
    exit_timeout: Duration,
    owner: Owner,
}

impl OpenRun {
    fn new(epochs: Epochs, turns: Option<Arc<Turns>>, exit_timeout: Duration) -> OpenRun {
        let waiting = Mutex::new(Some(Waiting { epochs, found: None }));
        let (ending, finished) = (AtomicBool::new(false), AtomicBool::new(false));
        OpenRun { waiting, ending, finished, turns, exit_timeout, owner: Owner::this() }
    }

    /// Works with the run, unless it has ended or is to end.
    fn with<T>(&self, work: impl FnOnce(&mut Waiting) -> T) -> Option<T> {
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
            // This thread is one of those that end.
            Duration::ZERO
        } else {
            self.exit_timeout
        };
        // Its threads may need the interpreter's lock to end, which this thread may hold; at the interpreter's end nobody can
        // get it any more.
        let mut waiting = Some(waiting);
        let ended = Python::try_attach(|py| {
            let waiting = waiting.take();
            py.detach(|| {
                let ending = Ending::begin(time, move || drop(waiting));
                if !ending.wait_all() {
                    process::leave(ending);
                }
            });
        });
        if ended.is_none() {
            std::mem::forget(waiting);
        }
    }
}

/// A run: the batches of one or more epochs.
#[pyclass(frozen, module = "gpufeed")]
pub(crate) struct Run {
    run: Arc<OpenRun>,
    num_classes: Option<usize>,
    /// How much workers wait for each other, and true once the loader has said so; `None` where nobody waits, or it was said.
    waits: Mutex<Option<(Waits, Arc<AtomicBool>)>>,
    /// A warning that is due: how much workers have waited.
    to_say: Mutex<Option<f64>>,
}

impl Run {
    pub(crate) fn new(
        epochs: Epochs,
        turns: Option<Arc<Turns>>,
        waits: Option<(Waits, Arc<AtomicBool>)>,
        exit_timeout: Duration,
        num_classes: Option<usize>,
    ) -> Run {
        let run = Arc::new(OpenRun::new(epochs, turns, exit_timeout));
        process::register(Arc::downgrade(&run));
        Run { run, num_classes, waits: Mutex::new(waits), to_say: Mutex::new(None) }
    }

    /// Looks, after a batch, whether an epoch has ended in which workers have waited for each other.
    fn look(&self, state: &State) {
        let mut waits = self.waits.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((of, warned)) = waits.as_mut()
            && let Some(share) = of.share(state.epoch())
        {
            if !warned.swap(true, Ordering::Relaxed) {
                *self.to_say.lock().unwrap_or_else(PoisonError::into_inner) = Some(share);
            }
            *waits = None;
        }
    }

    /// Says what is due: before a batch is taken, which a warning that is an error would lose.
    fn say(&self, py: Python<'_>) -> PyResult<()> {
        warn_of_library(py)?;
        let Some(share) = self.to_say.lock().unwrap_or_else(PoisonError::into_inner).take() else { return Ok(()) };
        let text = format!(
            "gpufeed: workers have waited for each other for {:.0} % of an epoch, as one call at a time is inside the data set; \
             if its reads share no state, such as a file that is read from its current position, thread_safe=True (an \
             argument of DataLoader, or an attribute of the data set) lets all of them in",
            share.min(1.0) * 100.0
        );
        warn(py, &text)
    }

    /// Ends the run and waits for its threads.
    fn end(&self, py: Python<'_>) -> PyResult<()> {
        if !self.run.owner.is_here() {
            return Ok(());
        }
        refuse_inside(self.run.turns.as_ref())?;
        let ending = py.detach(|| self.run.begin_end());
        self.wait_for(py, ending)
    }

    /// Waits for the threads of a run that ends, as long as `exit_timeout`. Ctrl-C ends the wait.
    fn wait_for(&self, py: Python<'_>, ending: Ending) -> PyResult<()> {
        while !py.detach(|| ending.wait(ROUND)) {
            if ending.is_late() {
                let inside = if self.run.turns.is_some() { "its __getitem__ returns" } else { "their read returns" };
                let text = format!(
                    "gpufeed: {} s after their run was closed, threads are still inside the data set; they are left, and end once \
                     {inside} (exit_timeout= says how long to wait for them)",
                    self.run.exit_timeout.as_secs_f64()
                );
                process::leave(ending);
                return warn(py, &text);
            }
            if let Err(interrupt) = py.check_signals() {
                process::leave(ending);
                return Err(interrupt);
            }
        }
        Ok(())
    }
}

/// Warns; the warning shows the line of Python that called the native module.
pub(crate) fn warn(py: Python<'_>, text: &str) -> PyResult<()> {
    PyErr::warn(py, &py.get_type::<PyRuntimeWarning>(), &CString::new(text.replace('\0', "\\0"))?, 2)
}

/// The library's warnings that the package says in words of its own, by their modules and a field: what a data set noticed when
/// it was opened, two `Normalize` in a list, samples that fail. The text of an exception takes the interpreter's lock.
pub(crate) const SAID: &[(&str, &str)] = &[
    ("gpufeed::dataset::notice", ""),
    ("gpufeed::loader::builder::build", "second"),
    ("gpufeed::loader::worker", "sample"),
];

/// Warns of what the library has logged since the last call: what files that are opened late do not read, a cache that cannot be
/// written, links that are not followed, and its like.
#[pyfunction]
pub(crate) fn warn_of_library(py: Python<'_>) -> PyResult<()> {
    while let Some(text) = collected_warning() {
        warn(py, &format!("gpufeed: {}", text))?;
    }
    Ok(())
}

#[pymethods]
impl Run {
    /// The next batch, or None after the last one.
    fn next(&self, py: Python<'_>) -> PyResult<Option<Batch>> {
        self.run.owner.check(py)?;
        refuse_inside(self.run.turns.as_ref())?;
        self.say(py)?;
        let (item, state) = loop {
            match guard(py, || Ok(py.detach(|| self.run.with(|waiting| waiting.poll(ROUND)))))? {
                None if self.run.finished.load(Ordering::Relaxed) => return Ok(None),
                None => {
                    let text = "this run has ended: the loader was closed, or another iteration began";
                    return Err(errors::raise(py, "RunError", "Closed", text));
                }
                Some(None) => py.check_signals()?,
                Some(Some(item)) => break item,
            }
        };
        let batch = match item {
            Some(Ok(batch)) => batch,
            // Nothing comes after the last batch, or after an error.
            ended => {
                self.run.finished.store(true, Ordering::Relaxed);
                let waited = self.end(py);
                let Some(Err(error)) = ended else { return waited.and_then(|()| warn_of_library(py)).map(|()| None) };
                let error = errors::to_python(py, &error);
                return Err(match waited {
                    Ok(()) => error,
                    Err(interrupt) => {
                        interrupt.set_context(py, Some(error));
                        interrupt
                    }
                });
            }
        };
        self.look(&state);
        guard(py, || Batch::new(py, batch, state, self.num_classes)).map(Some)
    }

    /// True if `next` would not wait: a batch, an error or the end is there.
    fn ready(&self, py: Python<'_>) -> PyResult<bool> {
        self.run.owner.check(py)?;
        refuse_inside(self.run.turns.as_ref())?;
        let look = |waiting: &mut Waiting| {
            waiting.found = waiting.poll(Duration::ZERO);
            waiting.found.is_some()
        };
        guard(py, || Ok(py.detach(|| self.run.with(look).unwrap_or(true))))
    }

    /// Batches that are left; 0 after the end.
    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        self.run.owner.check(py)?;
        let left =
            |waiting: &mut Waiting| waiting.epochs.len() + usize::from(matches!(waiting.found, Some((Some(Ok(_)), _))));
        Ok(py.detach(|| self.run.with(left).unwrap_or(0)))
    }

    /// Ends the run and waits for its threads, as long as `exit_timeout`. Ctrl-C ends the wait; the threads then end by
    /// themselves. Says what the library has logged.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.end(py)?;
        warn_of_library(py)
    }
}
