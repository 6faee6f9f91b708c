//! Stores how a data set was made, so that a pickle can make it again in another process.

use crate::dataset::Dataset;
use crate::opening::Opening;
use crate::python_dataset::PythonDataset;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use pyo3::{PyTraverseError, PyVisit};

/// How a data set was made. This type has no `Debug`, because an address may have credentials.
pub(crate) enum MadeFrom {
    /// By `gpufeed.open` of a path or an address; `test` is true for the test split.
    Opened { opening: Opening, test: bool },
    /// From an object in Python. The data set itself holds that object.
    Wrapped,
    /// From another data set.
    Adapted { of: Py<Dataset>, by: Adaptor },
}

impl MadeFrom {
    /// Shows the garbage collector the data set of which this one was made.
    pub(crate) fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        match self {
            MadeFrom::Adapted { of, .. } => visit.call(of),
            MadeFrom::Opened { .. } | MadeFrom::Wrapped => Ok(()),
        }
    }
}

/// A function and its arguments that make a data set again, as `__reduce__` returns them.
type Again<'py> = PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)>;

impl Opening {
    /// Returns how to make the data set of this path again, or its test split.
    pub(crate) fn again<'py>(&self, py: Python<'py>, test: bool) -> Again<'py> {
        // A `Path` of Python would turn the two slashes of an address into one.
        let arguments = (self.path.as_os_str(), &self.keywords, test);
        Ok((py.import("gpufeed.opening")?.getattr("reopen")?, arguments.into_pyobject(py)?))
    }
}

/// The change that makes one data set of another.
pub(crate) enum Adaptor {
    /// All samples, this many times.
    Repeat(usize),
    /// The samples at these indices.
    Subset(Vec<usize>),
    /// All samples, with a weight for each.
    Weights(Vec<f64>),
}

impl Adaptor {
    /// Returns how to make the data set again from `of`, by the method that is called like this change.
    pub(crate) fn again<'py>(&self, py: Python<'py>, of: &Py<Dataset>) -> Again<'py> {
        let method = |name| py.get_type::<Dataset>().getattr(name);
        match self {
            Adaptor::Repeat(times) => Ok((method("repeat")?, (of, times).into_pyobject(py)?)),
            Adaptor::Subset(indices) => Ok((method("subset")?, (of, indices).into_pyobject(py)?)),
            Adaptor::Weights(weights) => Ok((method("with_weights")?, (of, weights).into_pyobject(py)?)),
        }
    }
}

impl PythonDataset {
    /// Returns how to make the data set of this object again.
    pub(crate) fn again<'py>(&self, py: Python<'py>) -> Again<'py> {
        let wrap = py.import("gpufeed.opening")?.getattr("wrap")?;
        let arguments = (&self.object, &self.item, self.channels, &self.classes, self.thread_safe);
        Ok((wrap, arguments.into_pyobject(py)?))
    }
}
