//! The objects of one image.

use super::box_format::{BoxFormat, edges_of};
use super::clamp::Clamping;
use super::values::{OF_IMAGE, ObjectValues, keep};
use crate::error::{Error, Result};
use crate::geometry::{backwards, swaps_axes};
use std::sync::Arc;

/// The names of places, and of what says to which image objects belong.
const RESERVED: [&str; 6] = ["boxes", "bbox", "bboxes", "keypoints", "image", "offsets"];

/// The most objects of one image.
const MOST_OBJECTS: usize = 65_535;

/// The objects of one image: a box of each, keypoints of each, or both, and values such as labels. They are in pixels of the
/// image.
///
/// ```
/// use gpufeed::targets::{BoxFormat, ObjectValues, Objects};
///
/// let boxes = vec![[10.0, 20.0, 30.0, 50.0], [0.0, 0.0, 5.0, 5.0]];
/// let objects = Objects::of_boxes(BoxFormat::Xyxy, boxes)
///     .with_labels(vec![3, 1])?
///     .with_values("area", ObjectValues::Floats(vec![600.0, 25.0]))?;
/// assert_eq!((objects.len(), objects.labels()), (2, Some(&[3, 1][..])));
/// # Ok::<(), gpufeed::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Objects {
    count: usize,
    format: BoxFormat,
    clamping: Clamping,
    boxes: Option<Vec<[f32; 4]>>,
    keypoints: Option<Keypoints>,
    values: Vec<(Arc<str>, ObjectValues)>,
    size: Option<(u32, u32)>,
    /// True if places are those of the stored image, before it is turned by its EXIF orientation.
    stored: bool,
    /// The share of each box that cuts have left; `None` where no operation asks for it.
    shares: Option<Vec<f32>>,
}

/// Keypoints of all objects, object by object.
#[derive(Clone, Debug, PartialEq)]
struct Keypoints {
    /// Keypoints of each object.
    each: usize,
    points: Vec<[f32; 2]>,
    visibility: Vec<u8>,
}

impl Objects {
    /// Objects with a box each.
    pub fn of_boxes(format: BoxFormat, boxes: Vec<[f32; 4]>) -> Objects {
        Objects { count: boxes.len(), format, boxes: Some(boxes), ..Objects::default() }
    }

    /// Objects with `each` keypoints each and no box. See [`with_keypoints`](Self::with_keypoints).
    ///
    /// # Errors
    /// [`ErrorKind::Argument`](crate::ErrorKind::Argument) for lists of other lengths.
    pub fn of_keypoints(each: usize, points: Vec<[f32; 2]>, visibility: Vec<u8>) -> Result<Objects> {
        let count = points.len().checked_div(each).unwrap_or(0);
        Objects { count, ..Objects::default() }.with_keypoints(each, points, visibility)
    }

    /// Adds `each` keypoints to each object, \[column, row\], and the visibility of each as COCO has it: 0 is not labelled, 1
    /// hidden, 2 visible. Operators leave keypoints that are not labelled where they are.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`](crate::ErrorKind::Argument) if the lists do not have `each` entries for each object.
    pub fn with_keypoints(self, each: usize, points: Vec<[f32; 2]>, visibility: Vec<u8>) -> Result<Objects> {
        let count = self.count.saturating_mul(each);
        if (points.len(), visibility.len()) != (count, count) {
            let reason = format!(
                "{} objects with {each} keypoints each have {count} keypoints, but there are {} and the visibility of {}",
                self.count,
                points.len(),
                visibility.len()
            );
            return Err(Error::argument("keypoints", reason));
        }
        Ok(Objects { keypoints: Some(Keypoints { each, points, visibility }), ..self })
    }

    /// Adds the class of each object, as the values of the name `labels`.
    ///
    /// # Errors
    /// Those of [`with_values`](Self::with_values).
    pub fn with_labels(self, labels: Vec<i64>) -> Result<Objects> {
        self.with_values("labels", ObjectValues::Integers(labels))
    }

    /// Adds a value to each object under a name. Values stay with their object when others are removed.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`](crate::ErrorKind::Argument) for another number of values than objects, and for a name that is
    /// there already.
    pub fn with_values(mut self, name: impl Into<Arc<str>>, values: ObjectValues) -> Result<Objects> {
        let name = name.into();
        if values.len() != self.count {
            let reason = format!("{name:?} has {} values, but the image has {} objects", values.len(), self.count);
            return Err(Error::argument("objects", reason));
        }
        if self.values(&name).is_some() {
            return Err(Error::argument("objects", format!("two values have the name {name:?}")));
        }
        if RESERVED.contains(&&*name) || OF_IMAGE.contains(&&*name) {
            let reason =
                format!("{name:?} is the name of something else in documents and batches; give the values another one");
            return Err(Error::argument("objects", reason));
        }
        self.values.push((name, values));
        Ok(self)
    }

    /// Sets the (width, height) of the image in which boxes and keypoints are places, where the annotation says it.
    pub fn with_size(self, size: (u32, u32)) -> Objects {
        Objects { size: Some(size), ..self }
    }

    /// Sets what happens to boxes that an operator leads out of the image; by default they are cut to it.
    pub fn with_clamping(self, clamping: Clamping) -> Objects {
        Objects { clamping, ..self }
    }

    /// Says of places whether they are those of the stored image, before it is turned by its EXIF orientation; by default they
    /// are those of the image as it is shown. An annotation whose [`size`](Self::with_size) fits one of the two alone decides for
    /// itself.
    pub fn in_stored_image(self, stored: bool) -> Objects {
        Objects { stored, ..self }
    }

    /// The number of objects.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Returns true if the image has no objects.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The box of each object; empty where they have none.
    pub fn boxes(&self) -> &[[f32; 4]] {
        self.boxes.as_deref().unwrap_or(&[])
    }

    /// Returns true if each object has a box.
    pub fn has_boxes(&self) -> bool {
        self.boxes.is_some()
    }

    /// The meaning of a box's numbers.
    pub fn format(&self) -> BoxFormat {
        self.format
    }

    /// The treatment of boxes that an operator leads out of the image.
    pub fn clamping(&self) -> Clamping {
        self.clamping
    }

    /// The number of keypoints of each object.
    pub fn keypoints_each(&self) -> usize {
        self.keypoints.as_ref().map_or(0, |keypoints| keypoints.each)
    }

    /// The keypoints of all objects, \[column, row\], object by object.
    pub fn keypoints(&self) -> &[[f32; 2]] {
        self.keypoints.as_ref().map_or(&[], |keypoints| &keypoints.points)
    }

    /// The visibility of each keypoint: 0 is not labelled, 1 hidden, 2 visible.
    pub fn visibility(&self) -> &[u8] {
        self.keypoints.as_ref().map_or(&[], |keypoints| &keypoints.visibility)
    }

    /// The class of each object, if there are whole numbers of the name `labels`.
    pub fn labels(&self) -> Option<&[i64]> {
        match self.values("labels") {
            Some(ObjectValues::Integers(labels)) => Some(labels),
            _ => None,
        }
    }

    /// The values of this name, one for each object.
    pub fn values(&self, name: &str) -> Option<&ObjectValues> {
        self.named_values().find(|(own, _)| *own == name).map(|(_, values)| values)
    }

    /// All values with their names, in the order in which they were added.
    pub fn named_values(&self) -> impl Iterator<Item = (&str, &ObjectValues)> {
        self.values.iter().map(|(name, values)| (&**name, values))
    }

    /// The (width, height) of the image in which boxes and keypoints are places, if the annotation says it.
    pub fn size(&self) -> Option<(u32, u32)> {
        self.size
    }

    pub(crate) fn are_in_stored_image(&self) -> bool {
        self.stored
    }

    /// Gives the objects of a stored image of (width, height) places in the image that is turned by this EXIF orientation.
    pub(crate) fn turn(&mut self, orientation: u8, (width, height): (u32, u32)) {
        let swaps = swaps_axes(orientation);
        let (columns_back, rows_back) = backwards(orientation);
        let (across, down) = if swaps { (height, width) } else { (width, height) };
        let (across, down) = (f64::from(across), f64::from(down));
        // `last` is what lies between the largest place and the image's edge: 0 for edges, 1 for the numbers of pixels.
        let turned = |[x, y]: [f64; 2], last: f64| {
            let [x, y] = if swaps { [y, x] } else { [x, y] };
            [if columns_back { across - last - x } else { x }, if rows_back { down - last - y } else { y }]
        };
        let format = self.format;
        for each in self.boxes_mut() {
            let [left, top, right, bottom] = edges_of(each, format);
            let ([a, b], [c, d]) = (turned([left, top], 0.0), turned([right, bottom], 0.0));
            *each = format.of_edges::<f32>([a.min(c), b.min(d), a.max(c), b.max(d)]).map(|edge| edge as f32);
        }
        for (point, _) in self.keypoints_mut().filter(|(_, visibility)| *visibility > 0) {
            *point = turned(point.map(f64::from), 1.0).map(|place| place as f32);
        }
        self.stored = false;
    }

    pub(super) fn set_format(&mut self, format: BoxFormat) {
        self.format = format;
    }

    pub(super) fn set_clamping(&mut self, clamping: Clamping) {
        self.clamping = clamping;
    }

    pub(crate) fn set_size(&mut self, size: (u32, u32)) {
        self.size = Some(size);
    }

    pub(crate) fn boxes_mut(&mut self) -> &mut [[f32; 4]] {
        self.boxes.as_deref_mut().unwrap_or(&mut [])
    }

    /// Begins to note the share of each box that cuts leave; returns false if that is noted already.
    pub(crate) fn begin_shares(&mut self) -> bool {
        let begins = self.shares.is_none();
        if begins {
            self.shares = Some(vec![1.0; self.boxes().len()]);
        }
        begins
    }

    pub(crate) fn end_shares(&mut self) {
        self.shares = None;
    }

    /// The share of each box that cuts have left; empty where it is not noted.
    pub(super) fn shares(&self) -> &[f32] {
        self.shares.as_deref().unwrap_or(&[])
    }

    /// The boxes, with the share of each that cuts have left, where it is noted.
    pub(crate) fn boxes_and_shares(&mut self) -> impl Iterator<Item = (&mut [f32; 4], Option<&mut f32>)> {
        let mut shares = self.shares.iter_mut().flatten();
        self.boxes.iter_mut().flatten().map(move |each| (each, shares.next()))
    }

    /// The keypoints, with the visibility of each.
    pub(crate) fn keypoints_mut(&mut self) -> impl Iterator<Item = (&mut [f32; 2], u8)> {
        let keypoints = self.keypoints.as_mut();
        keypoints.into_iter().flat_map(|all| all.points.iter_mut().zip(all.visibility.iter().copied()))
    }

    /// Adds the objects of another image, whose places are those of the same image by now.
    ///
    /// # Errors
    /// The reason why they do not belong together: other formats, values, or numbers of keypoints.
    pub(crate) fn append(&mut self, other: Objects) -> std::result::Result<(), String> {
        // An image without objects still says which values objects have, unless it lacks the field.
        let has_form = |objects: &Objects| objects.boxes.is_some() || objects.keypoints.is_some();
        if self.is_empty() && (!other.is_empty() || !has_form(self)) {
            *self = other;
            return Ok(());
        }
        if other.is_empty() {
            return Ok(());
        }
        let shape = |objects: &Objects| {
            let values = objects.named_values().map(|(name, values)| (name.to_owned(), values.empty()));
            let values = values.collect::<Vec<_>>();
            (objects.has_boxes(), objects.format, objects.clamping, objects.keypoints_each(), values)
        };
        let (own, its) = (shape(self), shape(&other));
        if own != its {
            return Err(format!("the objects of its samples have not the same form: {own:?} and {its:?}"));
        }
        self.count += other.count;
        if let (Some(boxes), Some(more)) = (&mut self.boxes, other.boxes) {
            boxes.extend(more);
        }
        if let (Some(keypoints), Some(more)) = (&mut self.keypoints, other.keypoints) {
            keypoints.points.extend(more.points);
            keypoints.visibility.extend(more.visibility);
        }
        for ((_, values), (_, more)) in self.values.iter_mut().zip(&other.values) {
            values.extend(more);
        }
        Ok(())
    }

    /// Leaves the objects that stay, with their keypoints and values.
    pub(super) fn keep(&mut self, stays: &[bool]) {
        if stays.iter().all(|stays| *stays) {
            return;
        }
        self.count = stays.iter().filter(|stays| **stays).count();
        if let Some(boxes) = &mut self.boxes {
            keep(boxes, stays);
        }
        if let Some(shares) = &mut self.shares {
            keep(shares, stays);
        }
        if let Some(Keypoints { each, points, visibility }) = &mut self.keypoints {
            let stays: Vec<bool> = stays.iter().flat_map(|stays| std::iter::repeat_n(*stays, *each)).collect();
            keep(points, &stays);
            keep(visibility, &stays);
        }
        self.values.iter_mut().for_each(|(_, values)| values.keep(stays));
    }

    /// Bytes in memory.
    pub(crate) fn bytes(&self) -> usize {
        let values = self.values.iter().map(|(_, values)| values.bytes()).sum::<usize>();
        size_of_val(self.boxes()) + size_of_val(self.keypoints()) + self.visibility().len() + values
    }

    /// Checks what no operator can move: numbers that are none, and more objects than a batch can count.
    ///
    /// # Errors
    /// The reason, with the object's number.
    pub(crate) fn check(&self) -> std::result::Result<(), String> {
        if self.count > MOST_OBJECTS {
            return Err(format!("{} objects; up to {MOST_OBJECTS} work in one image", self.count));
        }
        if let Some(number) = self.boxes().iter().position(|each| each.iter().any(|number| !number.is_finite())) {
            return Err(format!("the box of object {number} is {:?}: four finite numbers work", self.boxes()[number]));
        }
        let each = self.keypoints_each().max(1);
        if let Some(number) = self.keypoints().iter().position(|point| point.iter().any(|number| !number.is_finite())) {
            let (object, point) = (number / each, number % each);
            return Err(format!(
                "keypoint {point} of object {object} is {:?}: two finite numbers work",
                self.keypoints()[number]
            ));
        }
        Ok(())
    }
}
