//! How a data set was made, and how a pickle makes it again in another process.

use crate::dataset::Dataset;
use crate::opening::Opening;
use crate::python_dataset::PythonDataset;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use pyo3::{PyTraverseError, PyVisit};

/// The origin of a data set. This type has no `Debug`, because an address may have credentials.
pub(crate) enum MadeFrom {
    /// A path or an address, by `gpufeed.open`; `test` is true for the test split.
    Opened { opening: Opening, test: bool },
    /// From an object in Python, which is the data set's own.
    Wrapped,
    /// From another data set.
    Adapted { of: Py<Dataset>, by: Adaptor },
}

impl MadeFrom {
    /// Shows the collector the data set of which another was made.
    pub(crate) fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        match self {
            MadeFrom::Adapted { of, .. } => visit.call(of),
            MadeFrom::Opened { .. } | MadeFrom::Wrapped => Ok(()),
        }
    }
}

/// A function and its arguments, which make a data set again: what `__reduce__` returns.
type Again<'py> = PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)>;

impl Opening {
    /// The data set of this path, or its test split.
    pub(crate) fn again<'py>(&self, py: Python<'py>, test: bool) -> Again<'py> {
        // A `Path` of Python would make one slash of an address's two.
        let arguments = (self.path.as_os_str(), &self.keywords, test);
        Ok((py.import("gpufeed.opening")?.getattr("reopen")?, arguments.into_pyobject(py)?))
    }
}

/// The change that makes one data set of another.
pub(crate) enum Adaptor {
    /// All samples so many times.
    Repeat(usize),
    /// The samples at these indices.
    Subset(Vec<usize>),
    /// With a weight for each sample.
    Weights(Vec<f64>),
}

impl Adaptor {
    /// Makes the data set again of `of`, by the method with the name of this change.
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
    /// The data set of this object.
    pub(crate) fn again<'py>(&self, py: Python<'py>) -> Again<'py> {
        let wrap = py.import("gpufeed.opening")?.getattr("wrap")?;
        let arguments = (&self.object, &self.item, self.channels, &self.classes, self.thread_safe);
        Ok((wrap, arguments.into_pyobject(py)?))
    }
}
