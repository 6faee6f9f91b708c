//! Converts gpufeed's errors to Python's exceptions. The classes are in `gpufeed/errors.py`.

use crate::advice::Keywords;
use gpufeed::{Error, ErrorKind};
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::types::PyType;
use std::time::Duration;

/// Returns the name of an error's class, and the name of its kind.
fn class(kind: &ErrorKind) -> (&'static str, &'static str) {
    match kind {
        ErrorKind::Io { .. } => ("FileError", "Io"),
        ErrorKind::DataFile { .. } => ("DataError", "DataFile"),
        ErrorKind::Argument { .. } => ("ArgumentError", "Argument"),
        ErrorKind::Foreign { .. } | ErrorKind::Fatal { .. } => ("DataError", "Foreign"),
        ErrorKind::EmptyDataset { .. } => ("DataError", "EmptyDataset"),
        ErrorKind::FileTooLarge { .. } => ("DataError", "FileTooLarge"),
        ErrorKind::Decode { .. } => ("DataError", "Decode"),
        ErrorKind::TruncatedImage { .. } => ("DataError", "TruncatedImage"),
        ErrorKind::TooManyPixels { .. } => ("DataError", "TooManyPixels"),
        ErrorKind::TooMuchMemory { .. } => ("DataError", "TooMuchMemory"),
        ErrorKind::NoMemory { .. } => ("OutOfMemoryError", "NoMemory"),
        ErrorKind::NoHostMemory { .. } => ("OutOfMemoryError", "NoHostMemory"),
        ErrorKind::IntermediateTooLarge { .. } => ("OutOfMemoryError", "IntermediateTooLarge"),
        ErrorKind::Transform { .. } => ("DataError", "Transform"),
        ErrorKind::HostCode { .. } => ("DataError", "HostCode"),
        ErrorKind::Snippet { .. } => ("ArgumentError", "Snippet"),
        // An error of memory is not an error of the data set.
        ErrorKind::Sample { source, .. } if is_memory(source) => ("OutOfMemoryError", "Sample"),
        ErrorKind::TooManyFailures { last, .. } if is_memory(last) => ("OutOfMemoryError", "TooManyFailures"),
        ErrorKind::Sample { .. } => ("DataError", "Sample"),
        ErrorKind::TooManyFailures { .. } => ("DataError", "TooManyFailures"),
        ErrorKind::NoAdapter { .. } => ("RunError", "NoAdapter"),
        ErrorKind::Device { .. } => ("RunError", "Device"),
        ErrorKind::OutOfMemory { .. } => ("OutOfMemoryError", "OutOfMemory"),
        ErrorKind::DoesNotFit { .. } => ("OutOfMemoryError", "DoesNotFit"),
        ErrorKind::OutputsHeld { .. } => ("OutOfMemoryError", "OutputsHeld"),
        ErrorKind::Pack { .. } => ("DataError", "Pack"),
        ErrorKind::OtherSettings { .. } => ("DataError", "OtherSettings"),
        ErrorKind::Stopped { .. } => ("RunError", "Stopped"),
        ErrorKind::Panic { .. } => ("RunError", "Panic"),
        _ => ("Error", "Other"),
    }
}

/// Returns true if Python shows this error as an `OutOfMemoryError`.
fn is_memory(error: &Error) -> bool {
    class(error.kind()).0 == "OutOfMemoryError"
}

/// Makes an exception of a class of `gpufeed.errors`.
pub(crate) fn raise(py: Python<'_>, class: &str, kind: &str, text: &str) -> PyErr {
    let made = || -> PyResult<PyErr> {
        let class = py.import("gpufeed.errors")?.getattr(class)?.cast_into::<PyType>()?;
        let exception = class.call1((text,))?;
        exception.setattr("kind", kind)?;
        Ok(PyErr::from_value(exception))
    };
    made().unwrap_or_else(|error| error)
}

/// Converts an error of the library to an exception. For a data set in Python, its own exception becomes the cause.
pub(crate) fn to_python(py: Python<'_>, error: &Error) -> PyErr {
    if let Some(ends) = that_ends_the_run(py, error) {
        return ends;
    }
    let (class, kind) = class(error.kind());
    let raised = raise(py, class, kind, &error.in_words_of(&Keywords));
    if let Some(cause) = cause(py, error) {
        raised.set_cause(py, Some(cause));
    }
    if let ErrorKind::Io { path, source } = error.kind() {
        // Sets the attributes that users of OSError look for.
        let value = raised.value(py);
        let _ = value.setattr("filename", path.to_string_lossy());
        let _ = value.setattr("errno", source.raw_os_error());
    }
    raised
}

/// Returns an exception of a data set in Python that reaches the user unchanged. Such are `KeyboardInterrupt`,
/// `SystemExit`, `GeneratorExit` and others that are no `Exception`, and gpufeed's own.
fn that_ends_the_run(py: Python<'_>, error: &Error) -> Option<PyErr> {
    match error.kind() {
        ErrorKind::Fatal { source } => source
            .downcast_ref::<PyErr>()
            .filter(|error| {
                !error.is_instance_of::<PyException>(py) || error.value(py).hasattr("_ends_the_run").unwrap_or(false)
            })
            .map(|error| error.clone_ref(py)),
        ErrorKind::Sample { source, .. } => that_ends_the_run(py, source),
        _ => None,
    }
}

/// Finds the exception of a data set or of own code in Python, wherever it is in the error.
pub(crate) fn cause(py: Python<'_>, error: &Error) -> Option<PyErr> {
    match error.kind() {
        ErrorKind::Foreign { source } | ErrorKind::Fatal { source } => {
            source.downcast_ref::<PyErr>().map(|error| error.clone_ref(py))
        }
        ErrorKind::Sample { source, .. }
        | ErrorKind::HostCode { source, .. }
        | ErrorKind::TooManyFailures { last: source, .. } => cause(py, source),
        _ => None,
    }
}

/// Makes the exception for a loader that is used inside its own data set.
pub(crate) fn inside_itself() -> PyErr {
    let text = "a data set's __getitem__ uses a loader of this very data set, which would wait for itself; read other samples \
                there by the data set's own methods, or by a loader of other data";
    ends_the_run("Inside", text)
}

/// Makes the exception for own code whose call cannot begin, because one of a closed run does not return.
pub(crate) fn code_stuck(name: &str, time: Duration) -> PyErr {
    let text = format!(
        "{name} cannot be called: a call of an iteration that has ended is still inside own code, and has not returned for {} s since; \
         mend what it waits for (exit_timeout= says how long to wait)",
        time.as_secs_f64()
    );
    ends_the_run("Stuck", &text)
}

/// Makes the exception for own code that uses a loader which calls it.
pub(crate) fn code_inside_itself(name: &str) -> PyErr {
    let text =
        format!("{name} uses a loader that calls it, which would wait for itself; use a loader of another list there");
    ends_the_run("Inside", &text)
}

/// Makes the exception for a read that cannot begin, because a read of a closed run does not return.
pub(crate) fn stuck(time: Duration) -> PyErr {
    let text = format!(
        "no read of the data set can begin: one of an iteration that has ended is still inside it, and has not returned for {} s \
         since; mend what it waits for (exit_timeout= says how long to wait; thread_safe=True lets several reads in at once)",
        time.as_secs_f64()
    );
    ends_the_run("Stuck", &text)
}

/// Makes an exception of gpufeed that reaches the user unchanged.
fn ends_the_run(kind: &str, text: &str) -> PyErr {
    Python::attach(|py| {
        let error = raise(py, "RunError", kind, text);
        // Marks the error as one that ends the run, and not as the failure of a sample.
        match error.value(py).setattr("_ends_the_run", true) {
            Ok(()) => error,
            Err(other) => other,
        }
    })
}
