//! Pascal VOC's annotations of objects: an XML file for each image.
//!
//! `annotation.rs` parses a file, `image_set.rs` lists which images belong to a split, `builder.rs` opens all of them.

mod annotation;
mod builder;
pub(super) mod image_set;
#[cfg(test)]
mod tests;

use std::path::Path;

use super::annotated_images::AnnotatedImages;
use super::forward::forward;
use super::object_columns::ObjectColumns;
use super::{Dataset, FieldValue, Label, Sample, Stored};
use crate::error::Result;

pub use builder::VocBuilder;

/// The folder of the images, that of the annotations, and that of the lists of splits.
const IMAGES: &str = "JPEGImages";
const ANNOTATIONS: &str = "Annotations";
const IMAGE_SETS: [&str; 2] = ["ImageSets", "Main"];

/// The class at number 0, as torchvision has it: no object is of this class.
const BACKGROUND: &str = "__background__";

/// VOC's classes, of which torchvision numbers the first one 1.
const CLASSES: [&str; 20] = [
    "aeroplane",
    "bicycle",
    "bird",
    "boat",
    "bottle",
    "bus",
    "car",
    "cat",
    "chair",
    "cow",
    "diningtable",
    "dog",
    "horse",
    "motorbike",
    "person",
    "pottedplant",
    "sheep",
    "sofa",
    "train",
    "tvmonitor",
];

/// Images with boxes from XML files in Pascal VOC's format, in the folders of VOCdevkit: `VOC2012/JPEGImages/2007_000027.jpg` and
/// `VOC2012/Annotations/2007_000027.xml`; `VOC2012/ImageSets/Main/train.txt` lists the images of a split.
///
/// Samples have one [field](Dataset::fields), `objects`, and no label. Boxes are `xmin`, `ymin`, `xmax`, `ymax` as the file has
/// them, which is what torchvision's `wrap_dataset_for_transforms_v2` makes of a `VOCDetection`. VOC's own numbers are those of
/// pixels, the first one is 1, and both belong to the box; [`VocBuilder::one_based`] makes edges of them. `labels` are numbers
/// of class names, from 1 on, as torchvision has them; [`classes`](Dataset::classes) has the names, and `__background__` at 0. They
/// are VOC's 20 classes in VOC's order where no annotation has another name, else the names of all annotations in the folder, sorted.
/// Beside them are `difficult` and `truncated`, 0 or 1; a flag that an object lacks is 0, as in VOC's own devkit. Parts of
/// objects (`part`), poses, `occluded` and masks are not read.
///
/// Without a [split](VocBuilder::split) all annotations are samples, sorted by name; with one, those that its list has, in its order.
/// The annotation's `size` has to be the image's; the sample fails where it is another one.
///
/// ```
/// use gpufeed::dataset::Voc;
/// use gpufeed::{Dataset, FieldValue};
///
/// let root = tempfile::tempdir()?;
/// for folder in ["JPEGImages", "Annotations"] {
///     std::fs::create_dir(root.path().join(folder))?;
/// }
/// let annotation = "<annotation><size><width>2</width><height>1</height></size>
///     <object><name>cat</name><bndbox><xmin>1</xmin><ymin>1</ymin><xmax>2</xmax><ymax>1</ymax></bndbox></object></annotation>";
/// std::fs::write(root.path().join("Annotations/9.xml"), annotation)?;
/// std::fs::write(root.path().join("JPEGImages/9.ppm"), b"P6 2 1 255\n......")?;
///
/// let voc = Voc::open(root.path())?;
/// let mut buffer = Vec::new();
/// let sample = voc.read(0, &mut buffer)?;
/// let FieldValue::Objects(objects) = &sample.fields[0] else { unreachable!() };
/// assert_eq!((objects.boxes(), objects.labels()), (&[[1.0, 1.0, 2.0, 1.0]][..], Some(&[8][..])));
/// assert_eq!(voc.classes()[8], "cat");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Voc {
    images: AnnotatedImages,
    columns: ObjectColumns,
    /// Width and height of each image, where the annotation says it.
    sizes: Vec<Option<(u32, u32)>>,
    are_stored: bool,
}

impl Voc {
    /// Reads the annotations in the folder `path`, such as `VOCdevkit/VOC2012`, or those of a split by the path of its list,
    /// `VOCdevkit/VOC2012/ImageSets/Main/train.txt`.
    ///
    /// # Errors
    /// [`ErrorKind::Io`](crate::ErrorKind::Io) for a folder or file that cannot be read;
    /// [`ErrorKind::DataFile`](crate::ErrorKind::DataFile), with the line, for a file that is not XML or not an annotation, for numbers that
    /// cannot be read, for objects without a name or box, and for lines of a list that name no annotation or one that has no image;
    /// [`ErrorKind::EmptyDataset`](crate::ErrorKind::EmptyDataset) without annotations.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::builder().open(path)
    }

    /// Returns a builder with more settings than [`open`](Self::open).
    pub fn builder() -> VocBuilder {
        VocBuilder::new()
    }

    /// Returns true for the path of the list of a split.
    pub(super) fn is_list(path: &Path) -> bool {
        image_set::of_list(path, IMAGE_SETS).is_some()
    }

    /// Returns true if a folder has VOC's folders.
    pub(super) fn is_in(folder: &Path) -> bool {
        [IMAGES, ANNOTATIONS].iter().all(|part| folder.join(part).is_dir())
    }
}

impl Dataset for Voc {
    forward!(self => self.images; of the set);

    fn len(&self) -> usize {
        self.images.len()
    }

    fn inner(&self) -> Option<&dyn Dataset> {
        None
    }

    fn read<'a>(&'a self, index: usize, buffer: &'a mut Vec<u8>) -> Result<Sample<'a>> {
        let sample = self.images.read(index, buffer)?;
        let mut objects = self.columns.objects(index, [1.0; 2]).in_stored_image(self.are_stored);
        if let Some(size) = self.sizes.get(index).copied().flatten() {
            objects = objects.with_size(size);
        }
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
