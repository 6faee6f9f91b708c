//! The objects of images as Python gives them: columns of numbers, as bytes.

use gpufeed::targets::{BoxFormat, Clamping, ObjectValues, Objects};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// A list of values with its name. True means that they are whole numbers, int64; else they are float32.
pub(crate) type Values<'py> = (String, bool, Bound<'py, PyBytes>);

/// The keypoints of each object, their columns and rows as float32, and the visibility of each as a byte.
type Keypoints<'py> = (usize, Bound<'py, PyBytes>, Bound<'py, PyBytes>);

/// The objects of one image, as `gpufeed/sample_objects.py` makes them: the format of boxes, width and height of the image if they
/// are said, whether boxes are cut to the image, boxes, keypoints, values.
pub(crate) type Given<'py> =
    (String, Option<(u32, u32)>, bool, Option<Bound<'py, PyBytes>>, Option<Keypoints<'py>>, Vec<Values<'py>>);

/// Makes the objects of an image.
///
/// # Errors
/// Lists that do not have an entry for each object.
pub(crate) fn objects((format, size, clamps, boxes, keypoints, values): Given<'_>) -> gpufeed::Result<Objects> {
    let with_points = |objects: Option<Objects>| -> gpufeed::Result<Objects> {
        let Some((each, points, seen)) = keypoints else { return Ok(objects.unwrap_or_default()) };
        let (points, seen) = (pairs(&floats(points.as_bytes())), seen.as_bytes().to_vec());
        match objects {
            Some(objects) => objects.with_keypoints(each, points, seen),
            None => Objects::of_keypoints(each, points, seen),
        }
    };
    let of_boxes = boxes.map(|boxes| Objects::of_boxes(box_format(&format), fours(&floats(boxes.as_bytes()))));
    let mut made = with_points(of_boxes)?;
    for (name, are_whole, bytes) in values {
        made = made.with_values(name, object_values(are_whole, bytes.as_bytes()))?;
    }
    if let Some(size) = size {
        made = made.with_size(size);
    }
    Ok(if clamps { made } else { made.with_clamping(Clamping::None) })
}

/// The format of this name, which the Python package has checked.
pub(crate) fn box_format(name: &str) -> BoxFormat {
    match name {
        "xywh" => BoxFormat::Xywh,
        "cxcywh" => BoxFormat::Cxcywh,
        _ => BoxFormat::Xyxy,
    }
}

/// Reads values: int64 if they are whole numbers, else float32.
pub(crate) fn object_values(are_whole: bool, bytes: &[u8]) -> ObjectValues {
    if are_whole {
        ObjectValues::Integers(bytes.as_chunks().0.iter().map(|number| i64::from_ne_bytes(*number)).collect())
    } else {
        ObjectValues::Floats(floats(bytes))
    }
}

/// Reads boxes: four numbers of float32 each.
pub(crate) fn boxes(bytes: &[u8]) -> Vec<[f32; 4]> {
    fours(&floats(bytes))
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks().0.iter().map(|number| f32::from_ne_bytes(*number)).collect()
}

fn fours(numbers: &[f32]) -> Vec<[f32; 4]> {
    numbers.as_chunks().0.to_vec()
}

fn pairs(numbers: &[f32]) -> Vec<[f32; 2]> {
    numbers.as_chunks().0.to_vec()
}
