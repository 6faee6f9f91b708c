//! Images of different sizes in one batch: their memory, and views of it.

use crate::dlpack::Array;
use gpufeed::{Arrangement, BatchGroup, Layout};
use pyo3::exceptions::{PyIndexError, PyRuntimeError};
use pyo3::prelude::*;

/// The shape of the padded images, none where each has its own, and the shape of each image.
pub(super) type Arranged = (Vec<i64>, Vec<Vec<i64>>);

/// The shape of a group's memory.
pub(super) fn memory_shape(group: &BatchGroup<'_>) -> Vec<i64> {
    group.memory_shape().map(|length| length as i64).to_vec()
}

/// The images as they are shown: padded ones without what lies beyond the largest of the batch.
pub(super) fn images(py: Python<'_>, group: &BatchGroup<'_>, memory: &Py<Array>) -> PyResult<Py<Array>> {
    let shape: Vec<i64> = group.shape().map(|length| length as i64).to_vec();
    if group.is_listed() || shape == memory_shape(group) {
        return Ok(memory.clone_ref(py));
    }
    let strides = group.strides().map(|stride| stride as i64).to_vec();
    Py::new(py, part(memory.get(), 0, shape, Some(strides))?)
}

/// An image without padding; negative numbers count from the end.
pub(super) fn image(group: &BatchGroup<'_>, memory: &Array, index: isize) -> PyResult<Array> {
    let number = if index < 0 { group.len().checked_add_signed(index) } else { usize::try_from(index).ok() };
    let found = number.and_then(|number| Some((group.offset(number)?, shape(group, number)?)));
    let Some((first, shape)) = found else {
        return Err(PyIndexError::new_err(format!("{index}: the batch has {} images", group.len())));
    };
    let [_, plane, row, pixel] = group.strides().map(|stride| stride as i64);
    let strides = (!group.is_listed()).then(|| vec![plane, row, pixel]);
    part(memory, first, shape, strides)
}

/// Height and width of each image.
pub(super) fn sizes(group: &BatchGroup<'_>) -> PyResult<Array> {
    let sizes = (0..group.len()).filter_map(|image| group.image_size(image));
    let sizes: Vec<i64> = sizes.flat_map(|(width, height)| [i64::from(height), i64::from(width)]).collect();
    Ok(Array::of_i64(sizes, vec![group.len() as i64, 2]))
}

/// How the images lie in the memory; `None` where all have one size.
pub(super) fn arranged(group: &BatchGroup<'_>) -> Option<Arranged> {
    if group.arrangement() == Arrangement::Uniform {
        return None;
    }
    let own: Vec<i64> = group.shape().map(|length| length as i64).to_vec();
    if own == memory_shape(group)
        && (0..group.len()).all(|image| shape(group, image).is_some_and(|each| each == own[1..]))
    {
        return None;
    }
    let padded = if group.is_listed() { Vec::new() } else { own };
    Some((padded, (0..group.len()).filter_map(|image| shape(group, image)).collect()))
}

/// The shape of an image; `None` for one out of range.
fn shape(group: &BatchGroup<'_>, image: usize) -> Option<Vec<i64>> {
    let (width, height) = group.image_size(image)?;
    let [width, height, channels] = [width, height, group.channels()].map(i64::from);
    Some(match group.layout() {
        Layout::Nchw => vec![channels, height, width],
        Layout::Nhwc => vec![height, width, channels],
    })
}

fn part(memory: &Array, first: usize, shape: Vec<i64>, strides: Option<Vec<i64>>) -> PyResult<Array> {
    memory.part(first, shape, strides).ok_or_else(|| PyRuntimeError::new_err("an image beyond the memory of its batch"))
}
