//! Labels and paths that a data set knows without reading its samples, under torchvision's names.

use crate::dataset::label;
use gpufeed::Label;
use pyo3::exceptions::PyAttributeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use std::sync::Arc;

/// Returns the labels of all samples.
///
/// # Errors
/// An `AttributeError` if the data set knows them only by reading the samples, so that `hasattr` is false.
pub(super) fn targets<'py>(py: Python<'py>, data: &Arc<dyn gpufeed::Dataset>) -> PyResult<Bound<'py, PyList>> {
    let labels = labels(py, data, "targets")?;
    let labels = labels.iter().map(|found| label(py, found)).collect::<PyResult<Vec<_>>>()?;
    PyList::new(py, labels)
}

/// Returns the path and the label of each sample.
///
/// # Errors
/// An `AttributeError` if not every sample is a file of its own.
pub(super) fn samples<'py>(py: Python<'py>, data: &Arc<dyn gpufeed::Dataset>) -> PyResult<Bound<'py, PyList>> {
    let stored = data.stored();
    let paths: Option<Vec<_>> = (0..data.len()).map(|index| stored?.file(index)).collect();
    let Some(paths) = paths else {
        let reason = "samples: not every sample of this data set is a file of its own; targets has the labels, where they are \
                      known without reading samples";
        return Err(PyAttributeError::new_err(reason));
    };
    let labels = labels(py, data, "samples")?;
    let pairs = paths.iter().zip(&labels);
    let pairs = pairs.map(|(path, found)| Ok((path.as_os_str(), label(py, found)?)));
    PyList::new(py, pairs.collect::<PyResult<Vec<_>>>()?)
}

fn labels(py: Python<'_>, data: &Arc<dyn gpufeed::Dataset>, what: &str) -> PyResult<Vec<Label>> {
    let all = || (0..data.len()).map(|index| data.label(index)).collect::<Option<Vec<_>>>();
    py.detach(all).ok_or_else(|| {
        let reason = "the labels of this data set are known only by reading its samples: [label for _, label in data]";
        PyAttributeError::new_err(format!("{what}: {reason}"))
    })
}

/// Returns the number of each class by its name.
pub(super) fn class_to_idx<'py>(py: Python<'py>, data: &Arc<dyn gpufeed::Dataset>) -> PyResult<Bound<'py, PyDict>> {
    let numbers = PyDict::new(py);
    for (number, name) in data.classes().iter().enumerate() {
        numbers.set_item(name, number)?;
    }
    Ok(numbers)
}
