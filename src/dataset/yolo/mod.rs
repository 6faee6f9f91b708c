//! YOLO's annotations of objects as Ultralytics has them: a text file for each image.
//!
//! `label_file.rs` parses such a file, `document.rs` a `data.yaml`, of which `yaml.rs` makes a tree; `places.rs` finds the images of
//! a split, and `builder.rs` opens all of it.

mod builder;
mod document;
mod label_file;
mod places;
#[cfg(test)]
mod tests;
mod yaml;

use std::path::Path;

use super::annotated_images::AnnotatedImages;
use super::forward::forward;
use super::object_columns::ObjectColumns;
use super::{Dataset, FieldValue, Label, Sample, SampleData, Stored};
use crate::decode::{DecodeOptions, probe};
use crate::error::Result;
use crate::geometry::swaps_axes;
use crate::objects::{Objects, TargetsOrientation};

pub use builder::YoloBuilder;

/// The folder of the images, and that of the annotations.
const IMAGES: &str = "images";
const LABELS: &str = "labels";

/// Images with boxes, or boxes and keypoints, from text files as Ultralytics' YOLO reads them: `labels/train/1.txt` for
/// `images/train/1.jpg`, with a line `class cx cy w h` for each object, in shares of the image's width and height.
///
/// A set is opened by its `data.yaml`, of which `path`, the splits `train`, `val` and others, `names`, `nc` and `kpt_shape` are read, or
/// by a folder that has such a file or has the folders `images` and `labels`.
///
/// Samples have one [field](Dataset::fields), `objects`, and no label. Boxes are given in pixels of the image as it is
/// displayed, in YOLO's format [`Cxcywh`](crate::targets::BoxFormat::Cxcywh): each is multiplied by the width and height in
/// the image's header as the sample is read. `labels` are the numbers in the files, from 0 on, and [`classes`](Dataset::classes) has
/// their names. An image without a file, or with an empty one, has no objects. Numbers outside of 0 to 1 and objects that come twice
/// are kept.
///
/// Lines of three points or more, `class x1 y1 x2 y2 x3 y3 ...`, are polygons of masks: the box is that of the polygon, and a
/// [notice](Dataset::notices) says that the polygon itself is not read. With `kpt_shape`, `[17, 3]` or `[17, 2]`, lines are
/// `class cx cy w h` and so many keypoints of x, y and visibility, or of x and y. Of the latter those with a number below 0 have the
/// visibility 0, as in Ultralytics, others 2.
///
/// ```
/// use gpufeed::dataset::Yolo;
/// use gpufeed::{Dataset, FieldValue};
///
/// let root = tempfile::tempdir()?;
/// for folder in ["images", "labels"] {
///     std::fs::create_dir(root.path().join(folder))?;
/// }
/// std::fs::write(root.path().join("images/9.ppm"), b"P6 2 1 255\n......")?;
/// std::fs::write(root.path().join("labels/9.txt"), "1 0.5 0.5 1 1\n")?;
/// std::fs::write(root.path().join("data.yaml"), "train: images\nnames: [cat, dog]\n")?;
///
/// let yolo = Yolo::open(root.path().join("data.yaml"))?;
/// let mut buffer = Vec::new();
/// let sample = yolo.read(0, &mut buffer)?;
/// let FieldValue::Objects(objects) = &sample.fields[0] else { unreachable!() };
/// assert_eq!((objects.boxes(), objects.labels()), (&[[1.0, 0.5, 2.0, 1.0]][..], Some(&[1][..])));
/// assert_eq!(yolo.classes()[1], "dog");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Yolo {
    images: AnnotatedImages,
    /// In shares of the image's sides.
    columns: ObjectColumns,
    orientation: TargetsOrientation,
}

impl Yolo {
    /// Reads the training split of the set whose `data.yaml`, or whose folder, is at `path`. A folder with `images` and `labels` and
    /// without such a file has the splits that `images` has as folders, and is one whole without them.
    ///
    /// # Errors
    /// [`ErrorKind::Io`](crate::ErrorKind::Io) for a folder or file that cannot be read;
    /// [`ErrorKind::DataFile`](crate::ErrorKind::DataFile), with the line, for a file that is not YAML, names or splits that are missing,
    /// lines of annotations that have other numbers than those above, classes beyond the names, and where no image has a file of
    /// annotations; [`ErrorKind::EmptyDataset`](crate::ErrorKind::EmptyDataset) without images.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::builder().open(path)
    }

    /// Returns a builder with more settings than [`open`](Self::open).
    pub fn builder() -> YoloBuilder {
        YoloBuilder::new()
    }

    /// Returns true if a folder has YOLO's folders, or a `data.yaml` beside those of splits.
    pub(super) fn is_in(folder: &Path) -> bool {
        let has = |part: &str| folder.join(part).is_dir();
        let of_splits = || ["train", "train/images", "images/train"].iter().any(|part| has(part));
        (has(IMAGES) && has(LABELS)) || (places::document_in(folder).is_some() && (has(IMAGES) || of_splits()))
    }

    /// The objects of an image that has some, in pixels.
    fn objects_in(&self, index: usize, image: &[u8]) -> Result<Objects> {
        // The loader's own limits decide whether the image is decoded.
        let mut options = DecodeOptions::default();
        (options.max_pixels, options.max_decode_bytes) = (u64::MAX, u64::MAX);
        let probe = probe(image, &options)?;
        let are_stored = self.orientation.is_stored();
        let shown = (probe.width, probe.height);
        let size = if are_stored && swaps_axes(probe.orientation()) { (shown.1, shown.0) } else { shown };
        let objects = self.columns.objects(index, [size.0, size.1].map(f64::from));
        Ok(objects.with_size(size).in_stored_image(are_stored))
    }
}

impl Dataset for Yolo {
    forward!(self => self.images; of the set);

    fn len(&self) -> usize {
        self.images.len()
    }

    fn inner(&self) -> Option<&dyn Dataset> {
        None
    }

    fn read<'a>(&'a self, index: usize, buffer: &'a mut Vec<u8>) -> Result<Sample<'a>> {
        let sample = self.images.read(index, buffer)?;
        let objects = match &sample.data {
            SampleData::Encoded(image) if self.columns.has_objects(index) => self.objects_in(index, image)?,
            _ => self.columns.objects(index, [1.0; 2]),
        };
        Ok(sample.with_fields(vec![FieldValue::from(objects)]))
    }

    fn name(&self, index: usize) -> String {
        self.images.name(index)
    }

    fn label(&self, index: usize) -> Option<Label> {
        Dataset::label(&self.images, index)
    }

    fn stored(&self) -> Option<&dyn Stored> {
        self.images.stored()
    }
}
