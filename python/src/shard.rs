//! Finds the rank by the launcher's variables, as the library does.

use crate::errors;
use gpufeed::Shard;
use pyo3::prelude::*;
use pyo3::types::PyString;

/// Returns the rank, the world and the variables that say so. `variable` returns the value of a variable by its name,
/// or None.
#[pyfunction]
pub(crate) fn launched(py: Python<'_>, variable: &Bound<'_, PyAny>) -> PyResult<(usize, usize, &'static str)> {
    let value = |name: &str| {
        // A value that is not Unicode counts as set, but is no number.
        let value = variable.call1((name,)).ok()?.cast_into::<PyString>().ok()?;
        Some(value.to_string_lossy().into_owned())
    };
    match Shard::of_variables(value) {
        Ok(shard) => Ok((shard.rank, shard.world, shard.source)),
        Err(error) => {
            let by_hand = "pass shard=(rank, world), or shard=None for all samples";
            let text = format!("{}; {by_hand}", error.kind());
            Err(errors::raise(py, "ArgumentError", "Argument", &text))
        }
    }
}
