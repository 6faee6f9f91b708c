//! The objects that an image shows: a box, keypoints and values of each. Users see this room as part of `gpufeed::targets`.
//!
//! | file | has |
//! |---|---|
//! | `image_objects.rs` | [`Objects`], those of one image; `values.rs` has [`ObjectValues`] |
//! | `flat.rs` | [`FlatObjects`], those of several images |
//! | `json.rs`, `names.rs` | objects of a JSON document; the names of boxes, keypoints and classes in it |
//! | `object_op.rs` | [`ObjectOp`]: an operation on objects that leaves the image as it is |
//! | `box_format.rs` | [`BoxFormat`], and how one becomes another |
//! | `coordinate.rs` | [`Coordinate`]: the numbers of which places are made |
//! | `clamp.rs` | [`Clamping`], [`clamp_boxes`], [`clamp_keypoints`] |
//! | `sanitize.rs` | [`SanitizeBoxes`], and which keypoints lie in an image |
//! | `targets_orientation.rs` | [`TargetsOrientation`]: the image in which an annotation's places are |

mod box_format;
mod clamp;
mod coordinate;
mod flat;
mod image_objects;
mod json;
mod names;
mod object_op;
mod sanitize;
mod targets_orientation;
mod values;

pub use box_format::{BoxFormat, convert_boxes};
pub(crate) use box_format::{edges_of, intersection_over_union};
pub use clamp::{Clamping, clamp_boxes, clamp_keypoints};
pub(crate) use clamp::{cut, share_left};
pub use coordinate::Coordinate;
pub use flat::FlatObjects;
pub use image_objects::Objects;
pub(crate) use json::{from_json, to_json};
#[cfg(feature = "parquet")]
pub(crate) use names::{is_label, is_place, labels_among};
pub use object_op::ObjectOp;
pub use sanitize::{SanitizeBoxes, keypoints_inside};
pub use targets_orientation::TargetsOrientation;
pub(crate) use targets_orientation::settle;
pub use values::ObjectValues;
