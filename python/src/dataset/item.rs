//! A sample of a data set as `__getitem__` returns it: the image and the label.

use crate::dataset::rest;
use crate::dlpack::{Array, Element};
use crate::errors;
use gpufeed::dataset::FieldValue;
use gpufeed::{Label, PixelFormat, Pixels, SampleData};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};
use std::sync::Arc;

/// Reads sample `at`: the bytes of its file or its pixels as an array, and its label.
pub(super) fn read<'py>(
    py: Python<'py>,
    data: &Arc<dyn gpufeed::Dataset>,
    at: usize,
) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
    let mut buffer = Vec::new();
    let sample = py.detach(|| data.read(at, &mut buffer)).map_err(|error| errors::to_python(py, &error))?;
    let image = match sample.data {
        SampleData::Encoded(bytes) => PyBytes::new(py, bytes).into_any(),
        SampleData::Pixels(pixels) => Py::new(py, array(&pixels)?)?.into_bound(py).into_any(),
    };
    // A label of an object in Python that is neither a class nor a vector.
    let rest = sample.fields.first().filter(|_| rest::has(&**data));
    let label = match rest {
        Some(FieldValue::Bytes(rest)) => {
            py.import("gpufeed.collate")?.call_method1("label_of", (PyBytes::new(py, rest),))?
        }
        _ => label(py, &sample.label)?,
    };
    Ok((image, label))
}

/// Makes an array of rows, columns and channels from pixels.
fn array(pixels: &Pixels<'_>) -> PyResult<Array> {
    let (element, channels) = match pixels.format() {
        PixelFormat::F32 { channels } => (Element::F32, channels),
        PixelFormat::R8 => (Element::U8, 1),
        PixelFormat::Rgb8 => (Element::U8, 3),
        PixelFormat::Rgba8 => (Element::U8, 4),
    };
    let shape = vec![i64::from(pixels.height()), i64::from(pixels.width()), i64::from(channels)];
    Array::of_bytes(pixels.bytes(), shape, element)
}

/// Converts a label to Python's int, list of floats, or None.
pub(crate) fn label<'py>(py: Python<'py>, label: &Label) -> PyResult<Bound<'py, PyAny>> {
    match label {
        Label::None => Ok(py.None().into_bound(py)),
        Label::Class(class) => Ok(class.into_pyobject(py)?.into_any()),
        Label::Multi(values) => Ok(PyList::new(py, values.iter())?.into_any()),
    }
}
