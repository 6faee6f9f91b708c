//! COCO's annotations of objects: one JSON document for all images of a folder.
//!
//! `document.rs` parses the document, `annotations.rs` has the objects of all images, `builder.rs` opens both.

mod annotations;
mod builder;
mod document;
#[cfg(test)]
mod tests;

use std::path::Path;

use super::annotated_images::AnnotatedImages;
use super::forward::forward;
use super::{Dataset, FieldValue, Label, Sample, Stored};
use crate::error::Result;
use annotations::Annotations;

pub use builder::CocoBuilder;

/// Images with boxes and keypoints from a document in COCO's format, such as `instances_val2017.json` or
/// `person_keypoints_val2017.json`.
///
/// Samples have one [field](Dataset::fields), `objects`, and no label. Boxes are `bbox` as COCO has them: left and top edge,
/// width, height, in pixels of the stored image. `labels` are the numbers of `category_id`, as in torchvision's
/// `CocoDetection`; [`classes`](Dataset::classes) has the names by these numbers, and empty names for numbers that the document does not
/// use. Beside them are `id`, `iscrowd`, and `area` where all annotations have one. Samples are in the order of the
/// document's `images`; those without annotations have no objects. [`id`](Dataset::id) is the id of the image. Masks
/// (`segmentation`) are not read.
///
/// Images are looked for in the document's own folder, and, as COCO's archives have them, beside that folder: in `val2017` for
/// `annotations/instances_val2017.json`. [`CocoBuilder::root`] says another folder.
///
/// ```
/// use gpufeed::dataset::Coco;
/// use gpufeed::{Dataset, FieldValue};
///
/// let root = tempfile::tempdir()?;
/// let document = r#"{"images": [{"id": 9, "file_name": "9.ppm", "width": 2, "height": 1}],
///     "annotations": [{"id": 1, "image_id": 9, "category_id": 3, "bbox": [0, 0, 1, 1], "area": 1, "iscrowd": 0}],
///     "categories": [{"id": 3, "name": "car"}]}"#;
/// std::fs::write(root.path().join("instances_all.json"), document)?;
/// std::fs::write(root.path().join("9.ppm"), b"P6 2 1 255\n......")?;
///
/// let coco = Coco::open(root.path().join("instances_all.json"))?;
/// let mut buffer = Vec::new();
/// let sample = coco.read(0, &mut buffer)?;
/// let FieldValue::Objects(objects) = &sample.fields[0] else { unreachable!() };
/// assert_eq!((objects.boxes(), objects.labels()), (&[[0.0, 0.0, 1.0, 1.0]][..], Some(&[3][..])));
/// assert_eq!((coco.classes()[3].as_str(), coco.id(0)), ("car", 9));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Coco {
    images: AnnotatedImages,
    annotations: Annotations,
    are_stored: bool,
}

impl Coco {
    /// Reads the document at `path`.
    ///
    /// # Errors
    /// [`ErrorKind::Io`](crate::ErrorKind::Io) if it cannot be read; [`ErrorKind::DataFile`](crate::ErrorKind::DataFile), with the
    /// place, for what is no JSON or not COCO's, for ids of images that come twice or are not in the list, and where no folder has the
    /// images; [`ErrorKind::EmptyDataset`](crate::ErrorKind::EmptyDataset) without images.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::builder().open(path)
    }

    /// Returns a builder with more settings than [`open`](Self::open).
    pub fn builder() -> CocoBuilder {
        CocoBuilder::new()
    }

    /// Returns true if a file has a name as COCO's documents of objects have it.
    pub(super) fn is_named(name: &str) -> bool {
        let name = name.to_ascii_lowercase();
        let of_coco = ["instances_", "person_keypoints_"].iter().any(|begin| name.starts_with(begin));
        (of_coco && name.ends_with(".json")) || name.ends_with(".coco.json")
    }
}

impl Dataset for Coco {
    forward!(self => self.images; of the set);

    fn len(&self) -> usize {
        self.images.len()
    }

    fn inner(&self) -> Option<&dyn Dataset> {
        None
    }

    fn read<'a>(&'a self, index: usize, buffer: &'a mut Vec<u8>) -> Result<Sample<'a>> {
        let sample = self.images.read(index, buffer)?;
        let objects = self.annotations.objects(index).in_stored_image(self.are_stored);
        Ok(sample.with_fields(vec![FieldValue::from(objects)]))
    }

    fn name(&self, index: usize) -> String {
        self.images.name(index)
    }

    fn label(&self, index: usize) -> Option<Label> {
        Dataset::label(&self.images, index)
    }

    fn id(&self, index: usize) -> u64 {
        self.annotations.image_id(index).unwrap_or(index as u64)
    }

    fn stored(&self) -> Option<&dyn Stored> {
        self.images.stored()
    }
}
