//! The image in which the places of an annotation are: as its file stores it, or as it is displayed.

use super::image_objects::Objects;
use crate::geometry::swaps_axes;
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

/// Checks objects and gives them places in their image as it is decoded, of this size, turned by this EXIF orientation. Returns the
/// image in which their places were.
///
/// # Errors
/// The reason: numbers that are none, and an image whose size is not the one that the annotation says.
pub(crate) fn settle(objects: &mut Objects, shown: (u32, u32), orientation: u8) -> Result<TargetsOrientation, String> {
    objects.check()?;
    let stored = if swaps_axes(orientation) { (shown.1, shown.0) } else { shown };
    let is_stored = match objects.size() {
        Some(said) if said != shown && said != stored => {
            return Err(format!(
                "the objects are those of an image of {}x{} pixels, but the image has {}x{}",
                said.0, said.1, shown.0, shown.1
            ));
        }
        Some(said) if shown != stored => said == stored,
        _ => objects.are_in_stored_image(),
    };
    if is_stored {
        objects.turn(orientation, stored);
    }
    objects.set_size(shown);
    Ok(if is_stored { TargetsOrientation::Stored } else { TargetsOrientation::Displayed })
}
