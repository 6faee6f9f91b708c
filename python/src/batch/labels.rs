//! The labels of a batch as an array.

use crate::dlpack::Array;
use crate::errors;
use gpufeed::{Error, ErrorKind, Label};
use pyo3::prelude::*;

/// Returns every `step`th label of a batch as an array; of a batch that was mixed all soft labels. Python's errors.
pub(super) fn labels(batch: &gpufeed::Batch, num_classes: Option<usize>, step: usize) -> PyResult<Option<Array>> {
    array_of(batch, num_classes, step).map_err(|error| Python::attach(|py| errors::to_python(py, &error)))
}

fn array_of(batch: &gpufeed::Batch, num_classes: Option<usize>, step: usize) -> Result<Option<Array>, Error> {
    if let Some(num_classes) = num_classes {
        let rows = batch.soft_labels(num_classes)?;
        return Ok(Some(Array::of_f32(rows, vec![batch.len() as i64, num_classes as i64])));
    }
    let images = batch.len().div_ceil(step) as i64;
    let of_step = || batch.labels().iter().step_by(step);
    let differ = |label: &Label| {
        let reason = format!("the labels of a batch differ: {:?} and {label:?}", batch.labels()[0]);
        Error::from(ErrorKind::Argument { setting: "dataset", reason })
    };
    match batch.labels().first() {
        None | Some(Label::None) => match of_step().find(|label| !matches!(label, Label::None)) {
            None => Ok(None),
            Some(label) => Err(differ(label)),
        },
        Some(Label::Class(_)) => {
            let class = |label: &Label| match label {
                Label::Class(class) => Ok(i64::from(*class)),
                label => Err(differ(label)),
            };
            Ok(Some(Array::of_i64(of_step().map(class).collect::<Result<_, _>>()?, vec![images])))
        }
        Some(Label::Multi(first)) => {
            let mut values = Vec::with_capacity(batch.labels().len() / step * first.len());
            for label in of_step() {
                match label {
                    Label::Multi(row) if row.len() == first.len() => values.extend_from_slice(row),
                    label => return Err(differ(label)),
                }
            }
            Ok(Some(Array::of_f32(values, vec![images, first.len() as i64])))
        }
    }
}
