//! Issues Python warnings: the Python package's own, and those that the Rust library has logged.

use gpufeed_cli::internals::collected_warning;
use pyo3::exceptions::PyRuntimeWarning;
use pyo3::prelude::*;
use std::ffi::CString;

/// Issues a Python warning. It shows the line that called the package's Python function, which called this module.
pub(crate) fn warn(py: Python<'_>, text: &str) -> PyResult<()> {
    PyErr::warn(py, &py.get_type::<PyRuntimeWarning>(), &CString::new(text.replace('\0', "\\0"))?, 2)
}

/// The library's log events that do not become Python warnings, because the Python package warns of them in its own
/// words: facts that a data set noticed when it was opened, two `Normalize` in a list, and samples that fail (to format
/// a sample's exception here would take the interpreter's lock). Each entry is an event's module and one of its fields.
pub(crate) const SAID: &[(&str, &str)] = &[
    ("gpufeed::dataset::notice", ""),
    ("gpufeed::loader::builder::groups", "second"),
    ("gpufeed::loader::worker", "sample"),
];

/// Issues the warnings that the library has logged since the last call, for example of a cache that cannot be written,
/// of links that are not followed, or of columns that are not read in a file that was opened late.
#[pyfunction]
pub(crate) fn warn_of_library(py: Python<'_>) -> PyResult<()> {
    while let Some(text) = collected_warning() {
        warn(py, &format!("gpufeed: {text}"))?;
    }
    Ok(())
}
