//! The values of a batch's fields.

use crate::dlpack::{Array, Element};
use gpufeed::ColumnValues;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};

/// Makes the value of a column for Python: a list, or an array of numbers.
pub(super) fn column<'py>(py: Python<'py>, values: &ColumnValues, samples: usize) -> PyResult<Bound<'py, PyAny>> {
    Ok(match values {
        ColumnValues::Text(texts) => PyList::new(py, texts)?.into_any(),
        ColumnValues::Json(texts) => {
            let loads = py.import("json")?.getattr("loads")?;
            let parsed = |text: &Option<String>| match text {
                Some(text) => loads.call1((text,)),
                None => Ok(py.None().into_bound(py)),
            };
            PyList::new(py, texts.iter().map(parsed).collect::<PyResult<Vec<_>>>()?)?.into_any()
        }
        ColumnValues::Bytes(all) => {
            PyList::new(py, all.iter().map(|bytes| bytes.as_ref().map(|bytes| PyBytes::new(py, bytes))))?.into_any()
        }
        ColumnValues::Numbers { number_type, shape, bytes } => {
            let shape = std::iter::once(samples).chain(shape.iter().copied()).map(|length| length as i64).collect();
            Py::new(py, Array::of_bytes(bytes, shape, Element::from(*number_type))?)?.into_bound(py).into_any()
        }
        _ => return Err(PyValueError::new_err("a column of a kind that this version of the package does not know")),
    })
}
