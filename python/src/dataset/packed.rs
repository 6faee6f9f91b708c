//! Data sets of objects in Python as they are packed: what samples have beside image and label are fields.

use crate::dataset::rest;
use crate::errors;
use crate::interpreter_end::{attach, call};
use gpufeed::dataset::{Field, FieldKind, FieldValue, NumberType, Numbers};
use gpufeed::targets::Objects;
use gpufeed::{Dataset, ErrorKind, Label, Pixels, Result, Sample, SampleData};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};
use std::sync::Arc;

/// The module that knows what is in the pickle of a sample.
const MODULE: &str = "gpufeed.packed_parts";

/// The most samples that are asked which fields there are, because a value may be None in the first ones.
const LOOKED_AT: usize = 16;

/// Returns the data set as it is packed: the pickles of an object in Python become fields. The first samples say which.
///
/// # Errors
/// An exception that ends the run, as KeyboardInterrupt; values that no field can hold.
pub(crate) fn as_packed(py: Python<'_>, data: Arc<dyn Dataset>) -> PyResult<Arc<dyn Dataset>> {
    if !rest::has(&*data) || data.is_empty() {
        return Ok(data);
    }
    let module = py.import(MODULE)?;
    let kinds = module.getattr("kinds")?;
    let mut fields: Vec<Field> = Vec::new();
    for index in 0..data.len().min(LOOKED_AT) {
        let mut buffer = Vec::new();
        let sample = match py.detach(|| data.read(index, &mut buffer)) {
            Ok(sample) => sample,
            Err(error) if matches!(error.kind(), ErrorKind::Fatal { .. }) => return Err(errors::to_python(py, &error)),
            // The pack leaves the sample out, and names it.
            Err(_) => continue,
        };
        let mut is_known = true;
        for (name, kind) in kinds.call1((pickle(py, &sample),))?.extract::<Vec<(String, Option<String>)>>()? {
            if fields.iter().any(|field| field.name() == name) {
                continue;
            }
            let Some(kind) = kind else {
                is_known = false;
                continue;
            };
            let field = Field::new(name).kind(kind_of(&kind));
            // A batch has numbers in one array, so every sample has to have them.
            fields.push(if kind == "numbers" { field } else { field.optional() });
        }
        if is_known {
            break;
        }
    }
    let parts = module.getattr("parts")?.unbind();
    let pickled = fields.len();
    let objects = data.fields().iter().position(|field| field.values() == Some(FieldKind::Objects));
    let of_objects = objects.map(|at| data.fields()[at].clone());
    if let Some(field) = of_objects.as_ref().filter(|own| fields.iter().any(|field| field.name() == own.name())) {
        let reason =
            format!("{:?} is the name of the objects of its samples, and of another field of them", field.name());
        return Err(PyTypeError::new_err(reason));
    }
    fields.extend(of_objects);
    Ok(Arc::new(AsPacked { data, fields, pickled, objects, parts }))
}

/// A data set whose fields are the pickle of all that samples have beside image and label, and the objects of their images.
struct AsPacked {
    data: Arc<dyn Dataset>,
    fields: Vec<Field>,
    /// The number of fields whose values are in the pickle; one of objects follows.
    pickled: usize,
    /// The place of the objects among the fields of the data set.
    objects: Option<usize>,
    /// Returns the values of fields in a pickle.
    parts: Py<PyAny>,
}

/// A value of a field. An image is a file.
enum Value {
    Image(Vec<u8>),
    Other(FieldValue<'static>),
}

/// A value as Python gives it: its kind, its bytes or its text, and of numbers their type and shape.
type Part<'py> = (String, Bound<'py, PyAny>, Option<(String, Vec<usize>)>);

impl Dataset for AsPacked {
    fn len(&self) -> usize {
        self.data.len()
    }

    fn read<'a>(&'a self, index: usize, buffer: &'a mut Vec<u8>) -> Result<Sample<'a>> {
        let mut own = Vec::new();
        let sample = self.data.read(index, &mut own)?;
        let values = attach(|py| self.values(py, &sample));
        let values = values.map_err(|error| ErrorKind::Argument { setting: "fields", reason: error.to_string() })?;
        // The buffer holds the sample's own image, and then those of fields.
        let (form, image) = match sample.data {
            SampleData::Encoded(bytes) => (None, bytes),
            SampleData::Pixels(pixels) => (Some((pixels.width(), pixels.height(), pixels.format())), pixels.bytes()),
        };
        buffer.clear();
        buffer.extend_from_slice(image);
        let mut ends = vec![buffer.len()];
        for value in &values {
            if let Value::Image(file) = value {
                buffer.extend_from_slice(file);
                ends.push(buffer.len());
            }
        }
        let (buffer, label) = (&*buffer, sample.label.clone());
        let data = match form {
            None => SampleData::Encoded(&buffer[..ends[0]]),
            Some((width, height, format)) => {
                SampleData::Pixels(Pixels::new(width, height, format, &buffer[..ends[0]])?)
            }
        };
        let mut images = ends.windows(2).map(|ends| SampleData::Encoded(&buffer[ends[0]..ends[1]]));
        let fields = values.into_iter().map(|value| match value {
            Value::Other(value) => value,
            Value::Image(_) => images.next().map_or(FieldValue::Absent, FieldValue::Image),
        });
        let objects = self.objects.map(|at| match sample.fields.get(at) {
            Some(FieldValue::Objects(objects)) => FieldValue::from(Objects::clone(objects)),
            _ => FieldValue::Absent,
        });
        Ok(Sample::new(data, label).with_fields(fields.chain(objects).collect()))
    }

    fn name(&self, index: usize) -> String {
        self.data.name(index)
    }

    fn inner(&self) -> Option<&dyn Dataset> {
        Some(&*self.data)
    }

    fn fields(&self) -> &[Field] {
        &self.fields
    }
}

impl AsPacked {
    fn values(&self, py: Python<'_>, sample: &Sample<'_>) -> PyResult<Vec<Value>> {
        let names: Vec<_> = self.fields[..self.pickled].iter().map(Field::name).collect();
        let labelled = sample.label != Label::None;
        let arguments: Bound<'_, PyTuple> = (pickle(py, sample), labelled, names).into_pyobject(py)?;
        let parts: Vec<Option<Part<'_>>> = call(self.parts.bind(py), &arguments)?.extract()?;
        parts.into_iter().map(|part| part.map_or(Ok(Value::Other(FieldValue::Absent)), value)).collect()
    }
}

/// Returns the pickle of a sample, if it has one.
fn pickle<'py>(py: Python<'py>, sample: &Sample<'_>) -> Option<Bound<'py, PyBytes>> {
    match sample.fields.first() {
        Some(FieldValue::Bytes(bytes)) => Some(PyBytes::new(py, bytes)),
        _ => None,
    }
}

fn kind_of(name: &str) -> FieldKind {
    match name {
        "text" => FieldKind::Text,
        "json" => FieldKind::Json,
        "numbers" => FieldKind::Numbers,
        "image" => FieldKind::Image,
        _ => FieldKind::Bytes,
    }
}

fn value((kind, content, of_numbers): Part<'_>) -> PyResult<Value> {
    let bytes = || Ok::<_, PyErr>(content.cast::<PyBytes>()?.as_bytes().to_vec());
    Ok(Value::Other(match (kind_of(&kind), of_numbers) {
        (FieldKind::Text, _) => FieldValue::Text(content.extract::<String>()?.into()),
        (FieldKind::Json, _) => FieldValue::Json(content.extract::<String>()?.into()),
        (FieldKind::Numbers, Some((name, shape))) => {
            let number_type = number_type(&name);
            let number_type =
                number_type.ok_or_else(|| PyTypeError::new_err(format!("no numbers of the type {name}")))?;
            let numbers = Numbers::new(number_type, shape, bytes()?);
            FieldValue::Numbers(numbers.map_err(|error| errors::to_python(content.py(), &error))?)
        }
        (FieldKind::Image, _) => return Ok(Value::Image(bytes()?)),
        _ => FieldValue::Bytes(bytes()?.into()),
    }))
}

fn number_type(name: &str) -> Option<NumberType> {
    use NumberType::{Bool, F16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};
    [Bool, U8, I8, U16, I16, U32, I32, U64, I64, F16, F32, F64].into_iter().find(|kind| kind.name() == name)
}
