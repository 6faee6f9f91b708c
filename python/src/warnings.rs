//! Gives Python's warnings: those of the package, and those that the library has logged.

use gpufeed_cli::internals::collected_warning;
use pyo3::exceptions::PyRuntimeWarning;
use pyo3::prelude::*;
use std::ffi::CString;

/// Gives a warning. It shows the line of Python that called the native module.
pub(crate) fn warn(py: Python<'_>, text: &str) -> PyResult<()> {
    PyErr::warn(py, &py.get_type::<PyRuntimeWarning>(), &CString::new(text.replace('\0', "\\0"))?, 2)
}

/// The library's warnings that the package gives in its own words, by their modules and a field. They are facts that a
/// data set noticed when it was opened, two `Normalize` in a list, and samples that fail. Formatting the text of an
/// exception would take the interpreter's lock.
pub(crate) const SAID: &[(&str, &str)] = &[
    ("gpufeed::dataset::notice", ""),
    ("gpufeed::loader::builder::build", "second"),
    ("gpufeed::loader::worker", "sample"),
];

/// Gives the warnings that the library has logged since the last call. Such are a cache that cannot be written, links
/// that are not followed, or columns that a file opened late does not read.
#[pyfunction]
pub(crate) fn warn_of_library(py: Python<'_>) -> PyResult<()> {
    while let Some(text) = collected_warning() {
        warn(py, &format!("gpufeed: {text}"))?;
    }
    Ok(())
}
