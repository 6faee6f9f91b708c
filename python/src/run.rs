//! Hands out the batches of a loader's runs.

use crate::batch::Batch;
use crate::errors::{self, inside_itself};
use crate::open_run::{self, Ending, OpenRun, ROUND, Returned, Waiting};
use crate::own_code::Costs;
use crate::process::guard;
use crate::turns::{Turns, Waits};
use crate::warnings::{warn, warn_of_library};
use gpufeed::{Epochs, State};
use pyo3::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Raises an error on a thread that is inside a read of these objects.
pub(crate) fn refuse_inside(turns: Option<&Arc<Turns>>) -> PyResult<()> {
    if turns.is_some_and(|turns| turns.is_inside()) { Err(inside_itself()) } else { Ok(()) }
}

/// Watches how long workers wait for each other. The loader warns of this once.
pub(crate) struct WatchedWaits {
    pub(crate) waits: Waits,
    /// True once the loader has warned.
    pub(crate) warned: Arc<AtomicBool>,
}

/// Watches what own code costs in an epoch. The loader warns of this once.
pub(crate) struct WatchedCosts {
    pub(crate) costs: Costs,
    /// True once the loader has warned.
    pub(crate) warned: Arc<AtomicBool>,
}

/// A run: the batches of one or more epochs.
#[pyclass(frozen, module = "gpufeed")]
pub(crate) struct Run {
    run: Arc<OpenRun>,
    num_classes: Option<usize>,
    /// `None` if no worker can wait for another, or if the warning is due or was given.
    waits: Mutex<Option<WatchedWaits>>,
    /// True if the memory of the batches can be handed over to another API.
    exports: bool,
    /// True if workers call own code.
    calls_code: bool,
    /// `None` if no own code is called, or if the warning is due or was given.
    costs: Mutex<Option<WatchedCosts>>,
    /// The warnings that are due.
    to_say: Mutex<Vec<String>>,
}

impl Run {
    pub(crate) fn new(
        epochs: Epochs,
        turns: Option<Arc<Turns>>,
        (waits, costs): (Option<WatchedWaits>, Option<WatchedCosts>),
        calls_code: bool,
        exit_timeout: Duration,
        (num_classes, exports): (Option<usize>, bool),
    ) -> Run {
        let run = Arc::new(OpenRun::new(epochs, turns, exit_timeout));
        open_run::register(Arc::downgrade(&run));
        let (waits, costs, to_say) = (Mutex::new(waits), Mutex::new(costs), Mutex::default());
        Run { run, num_classes, exports, waits, calls_code, costs, to_say }
    }

    /// After a batch, checks whether an epoch has ended in which workers have waited for each other, or have called own code.
    fn look(&self, state: &State) {
        let mut costs = self.costs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(WatchedCosts { costs: watched, warned }) = costs.as_ref()
            && let Some(sentences) = watched.sentences(state.epoch())
        {
            if !warned.swap(true, Ordering::Relaxed) {
                self.to_say.lock().unwrap_or_else(PoisonError::into_inner).extend(sentences);
            }
            *costs = None;
        }
        let mut waits = self.waits.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(WatchedWaits { waits: watched, warned }) = waits.as_mut()
            && let Some(share) = watched.share(state.epoch())
        {
            if !warned.swap(true, Ordering::Relaxed) {
                self.to_say.lock().unwrap_or_else(PoisonError::into_inner).push(waited_for_each_other(share));
            }
            *waits = None;
        }
    }

    /// Gives the warnings that are due. Call this before a batch is taken: a warning that is raised as an error would
    /// lose the batch.
    fn say(&self, py: Python<'_>) -> PyResult<()> {
        warn_of_library(py)?;
        loop {
            let text = {
                let mut due = self.to_say.lock().unwrap_or_else(PoisonError::into_inner);
                if due.is_empty() {
                    return Ok(());
                }
                due.remove(0)
            };
            warn(py, &text)?;
        }
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

    /// Waits for the threads of a run that ends, for at most `exit_timeout`. Ctrl-C ends the wait.
    fn wait_for(&self, py: Python<'_>, ending: Ending) -> PyResult<()> {
        while !py.detach(|| ending.wait(ROUND)) {
            if ending.is_late() {
                let of = if self.calls_code { "the data set or own code" } else { "the data set" };
                let inside = if self.calls_code {
                    "their call returns"
                } else if self.run.turns.is_some() {
                    "its __getitem__ returns"
                } else {
                    "their read returns"
                };
                let text = format!(
                    "gpufeed: {} s after their run was closed, threads are still inside {of}; they are left, and end once \
                     {inside} (exit_timeout= says how long to wait for them)",
                    self.run.exit_timeout.as_secs_f64()
                );
                open_run::leave(ending);
                return warn(py, &text);
            }
            if let Err(interrupt) = py.check_signals() {
                open_run::leave(ending);
                return Err(interrupt);
            }
        }
        Ok(())
    }
}

/// The warning of an epoch for this share of which workers have waited for each other.
fn waited_for_each_other(share: f64) -> String {
    format!(
        "gpufeed: workers have waited for each other for {:.0} % of an epoch, as one call at a time is inside the data set; \
         if its reads share no state, such as a file that is read from its current position, thread_safe=True (an \
         argument of DataLoader, or an attribute of the data set) lets all of them in",
        share.min(1.0) * 100.0
    )
}

#[pymethods]
impl Run {
    /// Returns the next batch, or None after the last one.
    fn next(&self, py: Python<'_>) -> PyResult<Option<Batch>> {
        self.run.owner.check(py)?;
        refuse_inside(self.run.turns.as_ref())?;
        self.say(py)?;
        let Returned { batch, state } = loop {
            match guard(py, || Ok(py.detach(|| self.run.with(|waiting| waiting.poll(ROUND)))))? {
                None if self.run.finished.load(Ordering::Relaxed) => return Ok(None),
                None => {
                    let text = "this run has ended: the loader was closed, or another iteration began";
                    return Err(errors::raise(py, "RunError", "Closed", text));
                }
                Some(None) => py.check_signals()?,
                Some(Some(returned)) => break returned,
            }
        };
        let batch = match batch {
            Some(Ok(batch)) => batch,
            // After the last batch, or after an error, nothing comes.
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
        guard(py, || Batch::new(py, batch, state, self.num_classes, self.exports)).map(Some)
    }

    /// Returns true if `next` would not wait: a batch, an error or the end is there.
    fn ready(&self, py: Python<'_>) -> PyResult<bool> {
        self.run.owner.check(py)?;
        refuse_inside(self.run.turns.as_ref())?;
        let look = |waiting: &mut Waiting| {
            waiting.found = waiting.poll(Duration::ZERO);
            waiting.found.is_some()
        };
        guard(py, || Ok(py.detach(|| self.run.with(look).unwrap_or(true))))
    }

    /// Returns the number of batches that are left; 0 after the end.
    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        self.run.owner.check(py)?;
        let left = |waiting: &mut Waiting| {
            let found = matches!(waiting.found, Some(Returned { batch: Some(Ok(_)), .. }));
            waiting.epochs.len() + usize::from(found)
        };
        Ok(py.detach(|| self.run.with(left).unwrap_or(0)))
    }

    /// Ends the run, and waits for its threads for at most `exit_timeout`. Ctrl-C ends the wait; the threads then end
    /// by themselves. Also gives the warnings that the library has logged.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.end(py)?;
        warn_of_library(py)
    }
}
