//! The objects of a batch as arrays: boxes, keypoints and values, image by image.

use crate::dlpack::{Array, Element};
use crate::errors;
use gpufeed::targets::{BoxFormat, FlatObjects, ObjectValues};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Makes the arrays of a batch's objects by their names; `None` where its data set has none.
pub(super) fn targets<'py>(py: Python<'py>, batch: &gpufeed::Batch) -> PyResult<Option<Bound<'py, PyDict>>> {
    let flat = batch.flat_targets().map_err(|error| errors::to_python(py, &error))?;
    let Some(flat) = flat else { return Ok(None) };
    let made = PyDict::new(py);
    let FlatObjects { has_boxes, boxes, offsets, images, keypoints_each, keypoints, visibility, values, .. } = flat;
    let objects = images.len() as i64;
    if has_boxes || keypoints_each == 0 {
        made.set_item("boxes", array(py, boxes.as_flattened(), vec![boxes.len() as i64, 4])?)?;
    }
    if keypoints_each > 0 {
        // As Keypoint R-CNN takes them.
        let triple = |(&[x, y], &seen): (&[f32; 2], &u8)| [x, y, f32::from(seen)];
        let triples: Vec<f32> = keypoints.iter().zip(&visibility).flat_map(triple).collect();
        made.set_item("keypoints", array(py, &triples, vec![objects, keypoints_each as i64, 3])?)?;
    }
    for (name, values) in values {
        match values {
            ObjectValues::Integers(values) => made.set_item(name, whole(py, values)?)?,
            ObjectValues::Floats(values) => made.set_item(name, array(py, &values, vec![objects])?)?,
            _ => {}
        }
    }
    made.set_item("image", whole(py, images.into_iter().map(i64::from).collect())?)?;
    made.set_item("offsets", whole(py, offsets.into_iter().map(|at| at as i64).collect())?)?;
    Ok(Some(made))
}

/// The name of the field, the format of its boxes as torchvision writes it, the height and width of each image that shows the
/// objects, and the id of its sample.
pub(super) type Described = (String, &'static str, Vec<(u32, u32)>, Vec<u64>);

pub(super) fn described(batch: &gpufeed::Batch) -> Option<Described> {
    let field = batch.object_field()?.to_owned();
    let group = batch.groups().find(|group| group.objects().is_some())?;
    let objects = group.objects()?;
    // An image without objects may have boxes in another format, of which there are none.
    let first = objects.iter().find(|each| !each.is_empty()).or_else(|| objects.iter().find(|each| each.has_boxes()));
    let first = first.or_else(|| objects.first())?;
    let format = match first.format() {
        BoxFormat::Xyxy => "XYXY",
        BoxFormat::Xywh => "XYWH",
        BoxFormat::Cxcywh => "CXCYWH",
    };
    let of_others = first.size()?;
    let size = |objects: &gpufeed::targets::Objects| {
        let (width, height) = objects.size().unwrap_or(of_others);
        (height, width)
    };
    Some((field, format, objects.iter().map(size).collect(), group.ids().to_vec()))
}

fn array(py: Python<'_>, values: &[f32], shape: Vec<i64>) -> PyResult<Py<Array>> {
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_ne_bytes()).collect();
    Py::new(py, Array::of_bytes(&bytes, shape, Element::F32)?)
}

fn whole(py: Python<'_>, values: Vec<i64>) -> PyResult<Py<Array>> {
    let shape = vec![values.len() as i64];
    Py::new(py, Array::of_i64(values, shape))
}
