//! What a library with threads has to know of the process: forks, the interpreter's end, Rust's panics; and the command.

use crate::errors;
use crate::loader::OpenRun;
use pyo3::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{LazyLock, Mutex, PoisonError, Weak};

/// The runs that have threads, for the interpreter's end.
static RUNS: LazyLock<Mutex<Vec<Weak<OpenRun>>>> = LazyLock::new(Mutex::default);

/// Adds a run that `end_all` ends.
pub(crate) fn register(run: Weak<OpenRun>) {
    let mut runs = RUNS.lock().unwrap_or_else(PoisonError::into_inner);
    runs.retain(|run| run.strong_count() > 0);
    runs.push(run);
}

/// Ends every run, at the interpreter's end: a thread that asks for the interpreter's lock after that would wait for ever.
#[pyfunction]
pub(crate) fn end_all(py: Python<'_>) {
    py.detach(|| {
        let runs = std::mem::take(&mut *RUNS.lock().unwrap_or_else(PoisonError::into_inner));
        runs.iter().filter_map(Weak::upgrade).for_each(|run| run.end());
    });
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
