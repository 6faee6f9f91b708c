//! Labels and paths that a data set knows without reading its samples, under torchvision's names.

use crate::dataset::item::label;
use gpufeed::Label;
use pyo3::exceptions::PyAttributeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use pyo3::{PyTraverseError, PyVisit};
use std::sync::{Arc, OnceLock};

/// The lists that were asked for. Programs index them in loops, as torchvision's, so that each is made once.
#[derive(Default)]
pub(super) struct KnownLists {
    targets: OnceLock<Py<PyList>>,
    samples: OnceLock<Py<PyList>>,
}

impl KnownLists {
    /// Returns the labels of all samples of the data set that `data` returns.
    ///
    /// # Errors
    /// An `AttributeError` if the data set knows them only by reading the samples, so that `hasattr` is false.
    pub(super) fn targets<'py>(
        &self,
        py: Python<'py>,
        data: impl FnOnce() -> PyResult<Arc<dyn gpufeed::Dataset>>,
    ) -> PyResult<Bound<'py, PyList>> {
        made_once(py, &self.targets, || targets(py, &data()?))
    }

    /// Returns the path and the label of each sample.
    ///
    /// # Errors
    /// An `AttributeError` if not every sample is a file of its own.
    pub(super) fn samples<'py>(
        &self,
        py: Python<'py>,
        data: impl FnOnce() -> PyResult<Arc<dyn gpufeed::Dataset>>,
    ) -> PyResult<Bound<'py, PyList>> {
        made_once(py, &self.samples, || samples(py, &data()?))
    }

    /// Shows the lists to the garbage collector: a program may put anything into them.
    pub(super) fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        [&self.targets, &self.samples].into_iter().filter_map(OnceLock::get).try_for_each(|list| visit.call(list))
    }
}

/// Returns the list that was made first. No lock is held while one is made, as that lets other threads go on.
fn made_once<'py>(
    py: Python<'py>,
    kept: &OnceLock<Py<PyList>>,
    make: impl FnOnce() -> PyResult<Bound<'py, PyList>>,
) -> PyResult<Bound<'py, PyList>> {
    if let Some(list) = kept.get() {
        return Ok(list.bind(py).clone());
    }
    let made = make()?;
    Ok(kept.get_or_init(|| made.unbind()).bind(py).clone())
}

fn targets<'py>(py: Python<'py>, data: &Arc<dyn gpufeed::Dataset>) -> PyResult<Bound<'py, PyList>> {
    let labels = labels(py, data, "targets")?;
    let labels = labels.iter().map(|found| label(py, found)).collect::<PyResult<Vec<_>>>()?;
    PyList::new(py, labels)
}

fn samples<'py>(py: Python<'py>, data: &Arc<dyn gpufeed::Dataset>) -> PyResult<Bound<'py, PyList>> {
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
