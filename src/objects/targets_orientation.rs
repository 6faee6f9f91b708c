//! The image in which the places of an annotation are: as its file stores it, or as it is displayed.

use serde::{Deserialize, Serialize};

/// The image to which the coordinates of an annotation refer, where a file has an EXIF orientation. It decides where the
/// annotation's own width and height do not: of squares, of images that are turned by 180° or mirrored, and where the annotation
/// has no size.
///
/// ```no_run
/// use gpufeed::dataset::Coco;
/// use gpufeed::targets::TargetsOrientation;
///
/// // Drawn in a browser, which turns photographs as their EXIF says.
/// let builder = Coco::builder().targets_orientation(TargetsOrientation::Displayed);
/// let coco = builder.open("annotations/instances_train.json")?;
/// # Ok::<(), gpufeed::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TargetsOrientation {
    /// The image as its file stores it, before it is turned. A loader turns the places with the image.
    Stored,
    /// The image as it is displayed: turned, unless the loader's setting `exif` leaves images as they are stored.
    Displayed,
}

impl TargetsOrientation {
    pub(crate) fn is_stored(self) -> bool {
        self == TargetsOrientation::Stored
    }
}
