//! Operations on objects that leave the image as it is.

use super::box_format::{BoxFormat, convert_boxes, edges_of};
use super::clamp::{Clamping, clamp_boxes, clamp_keypoints, share_left};
use super::image_objects::Objects;
use super::sanitize::{SanitizeBoxes, keypoints_inside};
use serde::{Deserialize, Serialize};

/// An operation on the objects of an image: torchvision's transforms of boxes and keypoints that move no pixels.
///
/// ```
/// use gpufeed::targets::{BoxFormat, ObjectOp};
///
/// let op: ObjectOp = serde_json::from_str(r#"{"ConvertBoundingBoxFormat":{"format":"cxcywh"}}"#).unwrap();
/// assert_eq!(op, ObjectOp::ConvertBoundingBoxFormat { format: BoxFormat::Cxcywh });
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum ObjectOp {
    /// Cuts boxes to the image, as [`clamp_boxes`], unless their clamping mode is [`Clamping::None`].
    ClampBoundingBoxes,
    /// Moves keypoints to the image's pixels, as [`clamp_keypoints`].
    ClampKeyPoints,
    /// Writes boxes in another format, as [`convert_boxes`].
    ConvertBoundingBoxFormat {
        /// The new format.
        format: BoxFormat,
    },
    /// Makes boxes empty whose middle lies outside a rectangle, as `RandomIoUCrop` does: they lie in its left upper corner then.
    EmptyOutside {
        /// First column.
        left: u32,
        /// First row.
        top: u32,
        /// The number of columns.
        width: u32,
        /// The number of rows.
        height: u32,
    },
    /// Removes objects whose boxes are small or reach beyond the image, as [`SanitizeBoxes`] chooses them.
    SanitizeBoundingBoxes(SanitizeBoxes),
    /// Removes objects of which a keypoint lies outside the image, as [`keypoints_inside`] tells. Keypoints that are not labelled
    /// do not count.
    SanitizeKeyPoints,
    /// Removes objects of whose boxes the cuts of the ops before have left less than a share, as
    /// [`SanitizeVisibility`](crate::transforms::SanitizeVisibility) describes it.
    SanitizeVisibility {
        /// The least share of a box's area.
        min_visibility: f32,
    },
    /// Sets what later operations do to boxes that they lead out of the image.
    SetClampingMode {
        /// The new treatment.
        clamping_mode: Clamping,
    },
}

impl ObjectOp {
    /// The name of the transform, as torchvision spells it.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            ObjectOp::ClampBoundingBoxes => "ClampBoundingBoxes",
            ObjectOp::ClampKeyPoints => "ClampKeyPoints",
            ObjectOp::ConvertBoundingBoxFormat { .. } => "ConvertBoundingBoxFormat",
            ObjectOp::EmptyOutside { .. } => "EmptyOutside",
            ObjectOp::SanitizeBoundingBoxes(_) => "SanitizeBoundingBoxes",
            ObjectOp::SanitizeKeyPoints => "SanitizeKeyPoints",
            ObjectOp::SanitizeVisibility { .. } => "SanitizeVisibility",
            ObjectOp::SetClampingMode { .. } => "SetClampingMode",
        }
    }

    /// Applies the operation to the objects of an image of (width, height).
    pub(crate) fn apply(&self, objects: &mut Objects, size: (u32, u32)) {
        let format = objects.format();
        match self {
            ObjectOp::ClampBoundingBoxes if objects.clamping() == Clamping::None => {}
            ObjectOp::ClampBoundingBoxes => {
                for (each, share) in objects.boxes_and_shares() {
                    let whole = *each;
                    clamp_boxes(std::slice::from_mut(each), format, size);
                    if let Some(share) = share {
                        *share *= share_left(&whole, each, format);
                    }
                }
            }
            ObjectOp::ClampKeyPoints => {
                for (point, _) in objects.keypoints_mut().filter(|(_, visibility)| *visibility > 0) {
                    clamp_keypoints(std::slice::from_mut(point), size);
                }
            }
            ObjectOp::ConvertBoundingBoxFormat { format: to } => {
                convert_boxes(objects.boxes_mut(), format, *to);
                objects.set_format(*to);
            }
            ObjectOp::EmptyOutside { left, top, width, height } => {
                let corner = [*left as f32, *top as f32];
                let ends = |begin: u32, length: u32| f64::from(begin)..f64::from(begin) + f64::from(length);
                // The middle has to lie within the edges, and not on one.
                let is_in = |middle: f64, range: std::ops::Range<f64>| middle > range.start && middle < range.end;
                for (each, share) in objects.boxes_and_shares() {
                    let [x0, y0, x1, y1] = edges_of(each, format);
                    let (x, y) = (0.5 * (x0 + x1), 0.5 * (y0 + y1));
                    if !(is_in(x, ends(*left, *width)) && is_in(y, ends(*top, *height))) {
                        *each = match format {
                            BoxFormat::Xyxy => [corner[0], corner[1], corner[0], corner[1]],
                            BoxFormat::Xywh | BoxFormat::Cxcywh => [corner[0], corner[1], 0.0, 0.0],
                        };
                        if let Some(share) = share {
                            *share = 0.0;
                        }
                    }
                }
            }
            ObjectOp::SanitizeBoundingBoxes(sanitize) if objects.has_boxes() => {
                let stays = sanitize.keeps(objects.boxes(), format, size);
                objects.keep(&stays);
            }
            ObjectOp::SanitizeBoundingBoxes(_) => {}
            ObjectOp::SanitizeKeyPoints if objects.keypoints_each() > 0 => {
                let inside = keypoints_inside(objects.keypoints(), size);
                let counts: Vec<bool> = inside
                    .iter()
                    .zip(objects.visibility())
                    .map(|(inside, visibility)| *inside || *visibility == 0)
                    .collect();
                let stays: Vec<bool> = counts
                    .chunks_exact(objects.keypoints_each())
                    .map(|object| object.iter().all(|each| *each))
                    .collect();
                objects.keep(&stays);
            }
            ObjectOp::SanitizeKeyPoints => {}
            ObjectOp::SanitizeVisibility { min_visibility } => {
                let stays: Vec<bool> = objects.shares().iter().map(|share| share >= min_visibility).collect();
                objects.keep(&stays);
            }
            ObjectOp::SetClampingMode { clamping_mode } => objects.set_clamping(*clamping_mode),
        }
    }
}
