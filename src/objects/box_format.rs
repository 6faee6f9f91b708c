//! How a box is written: torchvision's `BoundingBoxFormat`.

use super::coordinate::Coordinate;
use serde::{Deserialize, Serialize};

/// The meaning of a box's four numbers, in pixels.
///
/// ```
/// use gpufeed::targets::{BoxFormat, convert_boxes};
///
/// let mut boxes = [[10.0f32, 20.0, 30.0, 50.0]];
/// convert_boxes(&mut boxes, BoxFormat::Xyxy, BoxFormat::Cxcywh);
/// assert_eq!(boxes, [[20.0, 35.0, 20.0, 30.0]]);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BoxFormat {
    /// Left, top, right and bottom edge: Pascal VOC's, and what torchvision's detectors take.
    #[default]
    Xyxy,
    /// Left and top edge, width, height: COCO's.
    Xywh,
    /// The middle's column and row, width, height: YOLO's and DETR's.
    Cxcywh,
}

impl BoxFormat {
    /// The edges of a box in this format. Sums are rounded as torch rounds them, so that a box that was cut to its image ends
    /// there again.
    pub(crate) fn edges<C: Coordinate>(self, [a, b, c, d]: [f64; 4]) -> [f64; 4] {
        match self {
            BoxFormat::Xyxy => [a, b, c, d],
            BoxFormat::Xywh => [a, b, C::rounded(a + c), C::rounded(b + d)],
            BoxFormat::Cxcywh => {
                let (left, top) = (C::rounded(a - c / 2.0), C::rounded(b - d / 2.0));
                [left, top, C::rounded(left + c), C::rounded(top + d)]
            }
        }
    }

    /// The box of these edges in this format.
    pub(crate) fn of_edges<C: Coordinate>(self, edges: [f64; 4]) -> [f64; 4] {
        let [left, top, right, bottom] = edges.map(C::rounded);
        let (width, height) = (C::rounded(right - left), C::rounded(bottom - top));
        match self {
            BoxFormat::Xyxy => [left, top, right, bottom],
            BoxFormat::Xywh => [left, top, width, height],
            BoxFormat::Cxcywh => {
                [C::rounded(2.0 * left + width) / 2.0, C::rounded(2.0 * top + height) / 2.0, width, height]
            }
        }
    }
}

/// The edges of a box; of whole numbers cut to whole ones, as torchvision cuts them.
pub(crate) fn edges_of<C: Coordinate>(each: &[C; 4], format: BoxFormat) -> [f64; 4] {
    let edges = format.edges::<C>(each.map(C::get));
    if C::IS_WHOLE { edges.map(f64::trunc) } else { edges }
}

/// The intersection of two boxes over their union, by their edges: torchvision's `box_iou`. NaN where both are empty.
pub(crate) fn intersection_over_union(a: &[f64; 4], b: &[f64; 4]) -> f64 {
    let area = |each: &[f64; 4]| (each[2] - each[0]) * (each[3] - each[1]);
    let across = (a[2].min(b[2]) - a[0].max(b[0])).max(0.0);
    let down = (a[3].min(b[3]) - a[1].max(b[1])).max(0.0);
    across * down / (area(a) + area(b) - across * down)
}

/// Writes boxes in another format: torchvision's `convert_bounding_box_format`. Of whole numbers, edges are cut towards zero, and
/// the middle of two edges is rounded down.
///
/// ```
/// use gpufeed::targets::{BoxFormat, convert_boxes};
///
/// let mut whole = [[10i64, 10, 5, 5]];
/// convert_boxes(&mut whole, BoxFormat::Cxcywh, BoxFormat::Xyxy);
/// assert_eq!(whole, [[7, 7, 12, 12]]);
/// ```
pub fn convert_boxes<C: Coordinate>(boxes: &mut [[C; 4]], from: BoxFormat, to: BoxFormat) {
    if from == to {
        return;
    }
    for each in boxes {
        let written = to.of_edges::<C>(edges_of(each, from));
        *each = if C::IS_WHOLE { written.map(f64::floor) } else { written }.map(C::of);
    }
}
