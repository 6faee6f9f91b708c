//! Boxes and keypoints that reach beyond their image.

use super::box_format::{BoxFormat, edges_of};
use super::coordinate::Coordinate;
use serde::{Deserialize, Serialize};

/// The treatment of a box that an operation has led out of its image: torchvision's `clamping_mode`.
///
/// ```
/// use gpufeed::targets::{BoxFormat, Clamping, Moves};
/// use gpufeed::transforms::Op;
///
/// let moves = Moves::new([&Op::Crop { top: 0, left: 4, height: 8, width: 4 }], (8, 8)).unwrap();
/// let (mut cut, mut kept) = ([[2.0f32, 2.0, 6.0, 6.0]], [[2.0f32, 2.0, 6.0, 6.0]]);
/// moves.boxes(&mut cut, BoxFormat::Xyxy, Clamping::Soft).unwrap();
/// moves.boxes(&mut kept, BoxFormat::Xyxy, Clamping::None).unwrap();
/// assert_eq!((cut, kept), ([[0.0, 2.0, 2.0, 6.0]], [[-2.0, 2.0, 2.0, 6.0]]));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Clamping {
    /// Cuts boxes to the image. For boxes whose sides are parallel to the image's, torchvision's `"soft"` and `"hard"` are this.
    #[default]
    Soft,
    /// Leaves boxes as they are.
    None,
}

/// Edges cut to an image of (width, height).
pub(crate) fn cut([left, top, right, bottom]: [f64; 4], size: (u32, u32)) -> [f64; 4] {
    let (width, height) = (f64::from(size.0), f64::from(size.1));
    [left.clamp(0.0, width), top.clamp(0.0, height), right.clamp(0.0, width), bottom.clamp(0.0, height)]
}

/// The share of a box's area that a cut has left. Differences of the last bits of its edges count for none.
pub(crate) fn share_left(whole: &[f32; 4], cut: &[f32; 4], format: BoxFormat) -> f32 {
    let area = |each: &[f32; 4]| {
        let [left, top, right, bottom] = edges_of(each, format);
        (right - left) * (bottom - top)
    };
    let (before, after) = (area(whole), area(cut));
    if whole == cut || (before > 0.0 && after > before * (1.0 - 1e-6)) {
        return 1.0;
    }
    if before > 0.0 { (after / before) as f32 } else { 0.0 }
}

/// Cuts boxes to an image of (width, height): torchvision's `ClampBoundingBoxes`. Edges are in \[0, width\] and \[0, height\]
/// then; a box outside has no area.
///
/// ```
/// use gpufeed::targets::{BoxFormat, clamp_boxes};
///
/// let mut boxes = [[-2.0f32, 3.0, 20.0, 5.0]];
/// clamp_boxes(&mut boxes, BoxFormat::Xyxy, (10, 10));
/// assert_eq!(boxes, [[0.0, 3.0, 10.0, 5.0]]);
/// ```
pub fn clamp_boxes<C: Coordinate>(boxes: &mut [[C; 4]], format: BoxFormat, size: (u32, u32)) {
    for each in boxes {
        *each = format.of_edges::<C>(cut(format.edges::<C>(each.map(C::get)), size)).map(C::of);
    }
}

/// Moves keypoints to the pixels of an image of (width, height): torchvision's `ClampKeyPoints`. They are in \[0, width - 1\] and
/// \[0, height - 1\] then.
///
/// ```
/// use gpufeed::targets::clamp_keypoints;
///
/// let mut points = [[-2.0f32, 12.5]];
/// clamp_keypoints(&mut points, (10, 10));
/// assert_eq!(points, [[0.0, 9.0]]);
/// ```
pub fn clamp_keypoints<C: Coordinate>(points: &mut [[C; 2]], (width, height): (u32, u32)) {
    let last = |side: u32| f64::from(side.max(1) - 1);
    for each in points {
        let [x, y] = each.map(C::get);
        *each = [x.clamp(0.0, last(width)), y.clamp(0.0, last(height))].map(C::of);
    }
}
