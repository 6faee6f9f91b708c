//! The names that documents give to boxes, keypoints and classes.

use super::box_format::BoxFormat;

/// The names of boxes, with the format that boxes have under this name.
pub(super) const BOXES: [(&str, BoxFormat); 3] =
    [("boxes", BoxFormat::Xyxy), ("bbox", BoxFormat::Xywh), ("bboxes", BoxFormat::Xywh)];

pub(super) const KEYPOINTS: &str = "keypoints";

/// The names of classes, of which the first one that is there becomes `labels`.
pub(super) const LABELS: [&str; 8] =
    ["labels", "label", "category_id", "category", "categories", "class", "classes", "class_id"];

/// Returns true for the name of boxes or keypoints.
pub(crate) fn is_place(name: &str) -> bool {
    name == KEYPOINTS || BOXES.iter().any(|(boxes, _)| *boxes == name)
}

/// Returns true for a name of classes.
pub(crate) fn is_label(name: &str) -> bool {
    LABELS.contains(&name)
}

/// Returns the name whose values become `labels`, of those that satisfy `is_there`.
pub(crate) fn labels_among(is_there: impl Fn(&str) -> bool) -> Option<&'static str> {
    LABELS.into_iter().find(|name| is_there(name))
}
