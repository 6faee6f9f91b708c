//! Targets of an image: boxes and keypoints, moved as an image's parameters move its pixels.
//!
//! [`Objects`] are those of one image. [`Moves`] are made of the ops of [`Params`](crate::transforms::Params), which every batch
//! has, and move boxes and keypoints as the functions of `torchvision.transforms.v2` do. Boxes are edges: x is in \[0, width\].
//! Keypoints are pixel numbers in flips and elastic deformations, and edges in other warps, as in torchvision.
//!
//! Two differences from torchvision, where it leads boxes elsewhere than pixels: a `CenterCrop` that is larger than the image moves
//! boxes by whole pixels, as the image; and a rotation with `expand` clamps them to the image's size, from which torchvision's may
//! differ by one.
//!
//! | file | has |
//! |---|---|
//! | `moves.rs` | [`Moves`]: all ops of an image, one after the other |
//! | `followed.rs` | [`make_params`], for lists that look at boxes |
//! | `step.rs` | what one op does to a place |
//! | `../objects/` | what is moved, and how it is written, cut and chosen |

mod followed;
mod moves;
mod step;
#[cfg(test)]
mod tests;

pub use crate::objects::{
    BoxFormat, Clamping, Coordinate, FlatObjects, ObjectOp, ObjectValues, Objects, SanitizeBoxes, TargetsOrientation,
    clamp_boxes, clamp_keypoints, convert_boxes, keypoints_inside,
};
pub use followed::make_params;
pub use moves::Moves;
