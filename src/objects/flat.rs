//! The objects of several images in one list of each kind.

use super::box_format::BoxFormat;
use super::image_objects::Objects;
use super::values::ObjectValues;
use crate::error::{Error, Result};

/// The objects of several images, image by image, as losses take them that work on all boxes of a batch at once.
///
/// ```
/// use gpufeed::targets::{BoxFormat, FlatObjects, Objects};
///
/// let first = Objects::of_boxes(BoxFormat::Xyxy, vec![[0.0, 0.0, 1.0, 1.0], [2.0, 2.0, 3.0, 4.0]]);
/// let second = Objects::of_boxes(BoxFormat::Xyxy, vec![]);
/// let third = Objects::of_boxes(BoxFormat::Xyxy, vec![[5.0, 5.0, 6.0, 6.0]]);
/// let flat = FlatObjects::of(&[first, second, third])?;
/// assert_eq!((flat.boxes.len(), flat.offsets, flat.images), (3, vec![0, 2, 2, 3], vec![0, 0, 2]));
/// # Ok::<(), gpufeed::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FlatObjects {
    /// The meaning of a box's numbers.
    pub format: BoxFormat,
    /// True if each object has a box.
    pub has_boxes: bool,
    /// The boxes of all objects; empty where they have none.
    pub boxes: Vec<[f32; 4]>,
    /// Where the objects of each image begin, and last the number of all objects: those of image i are `offsets[i]` to
    /// `offsets[i + 1]`.
    pub offsets: Vec<usize>,
    /// The number of the image that shows the object.
    pub images: Vec<u32>,
    /// The number of keypoints of each object.
    pub keypoints_each: usize,
    /// The keypoints of all objects, \[column, row\], object by object.
    pub keypoints: Vec<[f32; 2]>,
    /// The visibility of each keypoint: 0 is not labelled, 1 hidden, 2 visible.
    pub visibility: Vec<u8>,
    /// The values of all objects, by their names.
    pub values: Vec<(String, ObjectValues)>,
}

impl FlatObjects {
    /// Joins the objects of images.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`](crate::ErrorKind::Argument) if the objects of an image have other values than those of another one,
    /// values of another type, boxes in another format, or keypoints in another number. Images without objects fit any.
    pub fn of(images: &[Objects]) -> Result<FlatObjects> {
        let mut flat = FlatObjects { offsets: vec![0], ..FlatObjects::default() };
        let mut first: Option<usize> = None;
        for (number, objects) in images.iter().enumerate() {
            if !objects.is_empty() {
                let of_first = *first.get_or_insert(number);
                flat.begin_or_check(objects, (of_first, number))?;
                flat.boxes.extend(objects.boxes());
                flat.keypoints.extend(objects.keypoints());
                flat.visibility.extend(objects.visibility());
                flat.images.extend(std::iter::repeat_n(number as u32, objects.len()));
                for (name, values) in &mut flat.values {
                    let added = objects.values(name).is_some_and(|more| values.extend(more));
                    if !added {
                        return Err(unlike(name, (of_first, number), "values of this name and type in one alone"));
                    }
                }
            }
            flat.offsets.push(flat.images.len());
        }
        if first.is_none()
            && let Some(objects) = images.iter().find(|each| each.has_boxes() || each.keypoints_each() > 0)
        {
            flat.begin(objects);
        }
        Ok(flat)
    }

    fn begin(&mut self, objects: &Objects) {
        (self.format, self.has_boxes) = (objects.format(), objects.has_boxes());
        self.keypoints_each = objects.keypoints_each();
        self.values = empty_values(objects);
    }

    /// Takes what the first objects have, or checks that others have the same.
    fn begin_or_check(&mut self, objects: &Objects, (first, number): (usize, usize)) -> Result<()> {
        if first == number {
            self.begin(objects);
            return Ok(());
        }
        let both = (first, number);
        if objects.has_boxes() != self.has_boxes {
            return Err(unlike("boxes", both, "boxes in one alone"));
        }
        if objects.has_boxes() && objects.format() != self.format {
            return Err(unlike("boxes", both, &format!("{:?} and {:?}", self.format, objects.format())));
        }
        if objects.keypoints_each() != self.keypoints_each {
            let counts = format!("{} and {} for each object", self.keypoints_each, objects.keypoints_each());
            return Err(unlike("keypoints", both, &counts));
        }
        if objects.named_values().count() != self.values.len() {
            let names = |names: Vec<&str>| if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            let own = names(self.values.iter().map(|(name, _)| &**name).collect());
            let its = names(objects.named_values().map(|(name, _)| name).collect());
            return Err(unlike("objects", both, &format!("values of the names {own}, and {its}")));
        }
        Ok(())
    }
}

fn empty_values(objects: &Objects) -> Vec<(String, ObjectValues)> {
    objects.named_values().map(|(name, values)| (name.to_owned(), values.empty())).collect()
}

fn unlike(what: &str, (first, number): (usize, usize), found: &str) -> Error {
    let reason = format!(
        "images {first} and {number} of the batch have no like {what}: {found}; objects of all images have the same"
    );
    Error::argument("fields", reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_that_are_not_alike_are_refused() {
        let plain = || Objects::of_boxes(BoxFormat::Xyxy, vec![[0.0; 4]]);
        let labelled = || plain().with_labels(vec![1]).unwrap();
        let error = |other: Objects| FlatObjects::of(&[labelled(), Objects::default(), other]).unwrap_err().to_string();
        assert!(
            error(plain())
                .contains("images 0 and 2 of the batch have no like objects: values of the names labels, and none")
        );
        let floats = plain().with_values("labels", ObjectValues::Floats(vec![1.0])).unwrap();
        assert!(error(floats).contains("no like labels: values of this name and type in one alone"));
        let other = Objects::of_boxes(BoxFormat::Xywh, vec![[0.0; 4]]).with_labels(vec![1]).unwrap();
        assert!(error(other).contains("no like boxes: Xyxy and Xywh"));
        let points = labelled().with_keypoints(2, vec![[0.0; 2]; 2], vec![2; 2]).unwrap();
        assert!(error(points).contains("no like keypoints: 0 and 2 for each object"));
        let alone = Objects::of_keypoints(2, vec![[0.0; 2]; 2], vec![2; 2]).unwrap().with_labels(vec![1]).unwrap();
        assert!(error(alone).contains("no like boxes: boxes in one alone"));
        let flat = FlatObjects::of(&[labelled(), labelled()]).unwrap();
        assert_eq!(flat.values, [("labels".to_owned(), ObjectValues::Integers(vec![1, 1]))]);
        // Images without objects still say what objects have.
        let none = Objects::of_boxes(BoxFormat::Cxcywh, vec![]).with_labels(vec![]).unwrap();
        let none = none.with_keypoints(17, vec![], vec![]).unwrap();
        let flat = FlatObjects::of(&[Objects::default(), none.clone(), none]).unwrap();
        assert_eq!((flat.format, flat.offsets, flat.values.len()), (BoxFormat::Cxcywh, vec![0, 0, 0, 0], 1));
        assert_eq!((flat.has_boxes, flat.keypoints_each), (true, 17));
    }
}
