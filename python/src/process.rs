//! The process: an error after a fork, Rust's panics as exceptions, and the command `gpufeed`.

use crate::errors;
use pyo3::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The process that made an object with threads. After a `fork`, the child has a copy of the object, but none of the
/// threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Owner(u32);

impl Owner {
    pub(crate) fn this() -> Owner {
        Owner(std::process::id())
    }

    pub(crate) fn is_here(self) -> bool {
        self == Owner::this()
    }

    /// Raises an error if this is another process.
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

/// Does `work`, and turns its panic into an error of gpufeed.
pub(crate) fn guard<T>(py: Python<'_>, work: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|payload| {
        let text = payload.downcast_ref::<&str>().copied();
        let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message");
        Err(errors::raise(py, "RunError", "Panic", &format!("gpufeed has panicked, please report it: {text}")))
    })
}

/// Runs the command `gpufeed` with these arguments, of which the first is the program's name. Returns the exit status.
#[pyfunction]
pub(crate) fn command(py: Python<'_>, arguments: Vec<String>) -> PyResult<i32> {
    guard(py, || Ok(py.detach(|| i32::from(gpufeed_cli::run(arguments)))))
}
