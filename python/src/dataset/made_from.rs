//! Stores how a data set was made, so that a pickle can make it again in another process.

use crate::dataset::Dataset;
use crate::opening::Opening;
use crate::python_dataset::PythonDataset;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use pyo3::{PyTraverseError, PyVisit};

/// How a data set was made. This type has no `Debug`, because an address may have credentials.
pub(crate) enum MadeFrom {
    /// Made by `gpufeed.open` from a path or an address. `test` is true for the test split.
    Opened { opening: Opening, test: bool },
    /// Made from an object in Python. The object is not stored here, because the data set itself holds it.
    Wrapped,
    /// Made from what an object of torchvision stands on: its files, or its arrays. `named` is true if it may have the names of
    /// the classes.
    OfTorchvision { object: Py<PyAny>, named: bool },
    /// Made from the data set `of` by a method such as `subset`.
    Adapted { of: Py<Dataset>, by: Adaptor },
}

impl MadeFrom {
    /// Shows Python's garbage collector the data set that this one was made from, if there is one.
    pub(crate) fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        match self {
            MadeFrom::Adapted { of, by } => {
                if let Adaptor::Concat(others) = by {
                    others.iter().try_for_each(|other| visit.call(other))?;
                }
                visit.call(of)
            }
            MadeFrom::OfTorchvision { object, .. } => visit.call(object),
            MadeFrom::Opened { .. } | MadeFrom::Wrapped => Ok(()),
        }
    }
}

/// Returns the call that opens what an object of torchvision stands on again.
pub(crate) fn of_torchvision<'py>(py: Python<'py>, object: &Py<PyAny>, named: bool) -> Again<'py> {
    Ok((py.import("gpufeed.torch_datasets")?.getattr("native")?, (object, named).into_pyobject(py)?))
}

/// A Python function, and the arguments with which it makes a data set again. `__reduce__` returns both to pickle.
type Again<'py> = PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)>;

impl Opening {
    /// Returns the call that opens the data set at this path again, or its test split if `test` is true.
    pub(crate) fn again<'py>(&self, py: Python<'py>, test: bool) -> Again<'py> {
        // Passes the path as text: Python's `Path` would turn the `//` of an address into `/`.
        let arguments = (self.path.as_os_str(), &self.keywords, test);
        Ok((py.import("gpufeed.opening")?.getattr("reopen")?, arguments.into_pyobject(py)?))
    }
}

/// The method of `Dataset` that made one data set from another, with its argument.
pub(crate) enum Adaptor {
    /// All samples, this many times.
    Repeat(usize),
    /// The samples at these indices.
    Subset(Vec<usize>),
    /// All samples, with a weight for each.
    Weights(Vec<f64>),
    /// All samples, and then those of other data sets.
    Concat(Vec<Py<Dataset>>),
}

impl Adaptor {
    /// Returns the call that makes the data set again: the same method of `Dataset`, called on the data set `of`.
    pub(crate) fn again<'py>(&self, py: Python<'py>, of: &Py<Dataset>) -> Again<'py> {
        let method = |name| py.get_type::<Dataset>().getattr(name);
        match self {
            Adaptor::Repeat(times) => Ok((method("repeat")?, (of, times).into_pyobject(py)?)),
            Adaptor::Subset(indices) => Ok((method("subset")?, (of, indices).into_pyobject(py)?)),
            Adaptor::Weights(weights) => Ok((method("with_weights")?, (of, weights).into_pyobject(py)?)),
            Adaptor::Concat(others) => {
                let all: Vec<_> = std::iter::once(of).chain(others).collect();
                Ok((method("concat")?, PyTuple::new(py, all)?))
            }
        }
    }
}

impl PythonDataset {
    /// Returns the call that makes a data set from this Python object again.
    pub(crate) fn again<'py>(&self, py: Python<'py>) -> Again<'py> {
        let wrap = py.import("gpufeed.opening")?.getattr("wrap")?;
        let arguments = (&self.object, &self.item, self.channels, &self.classes, self.thread_safe);
        Ok((wrap, arguments.into_pyobject(py)?))
    }
}
