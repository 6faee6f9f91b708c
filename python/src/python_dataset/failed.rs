//! Why a sample of an object in Python was not read.

use gpufeed::{Error, ErrorKind};
use pyo3::exceptions::PyException;
use pyo3::prelude::*;

/// The reason why a sample was not read.
pub(crate) enum Failed {
    /// The run has to stop.
    Stops,
    /// The sample has failed with this exception.
    Sample(PyErr),
    /// The run ends with this exception: `KeyboardInterrupt` and its like, or an error in the data set itself.
    Run(PyErr),
}

impl Failed {
    /// Decides what an exception of the object means for the run.
    pub(crate) fn raised(py: Python<'_>, error: PyErr) -> Failed {
        let ends =
            !error.is_instance_of::<PyException>(py) || error.value(py).hasattr("_ends_the_run").unwrap_or(false);
        if ends { Failed::Run(error) } else { Failed::Sample(error) }
    }

    pub(super) fn again(&self, py: Python<'_>) -> Failed {
        match self {
            Failed::Stops => Failed::Stops,
            Failed::Sample(error) => Failed::Sample(error.clone_ref(py)),
            Failed::Run(error) => Failed::Run(error.clone_ref(py)),
        }
    }
}

impl From<Failed> for Error {
    fn from(failed: Failed) -> Error {
        match failed {
            Failed::Stops => ErrorKind::Fatal { source: "the run has ended".into() },
            Failed::Sample(error) => ErrorKind::Foreign { source: Box::new(error) },
            Failed::Run(error) => ErrorKind::Fatal { source: Box::new(error) },
        }
        .into()
    }
}
