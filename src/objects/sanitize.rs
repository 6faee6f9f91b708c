//! Which boxes and keypoints are worth keeping.

use super::box_format::{BoxFormat, edges_of};
use super::coordinate::Coordinate;
use serde::{Deserialize, Serialize};

/// Chooses the boxes that are large enough and lie in their image: torchvision's `SanitizeBoundingBoxes`.
///
/// ```
/// use gpufeed::targets::{BoxFormat, SanitizeBoxes};
///
/// let boxes = [[0.0f32, 0.0, 5.0, 5.0], [3.0, 3.0, 3.5, 8.0], [5.0, 5.0, 11.0, 9.0]];
/// assert_eq!(SanitizeBoxes::default().keeps(&boxes, BoxFormat::Xyxy, (10, 10)), [true, false, false]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SanitizeBoxes {
    /// The least width and height that a box may have, in pixels; 1 by default.
    pub min_size: f32,
    /// The least area, in pixels; 1 by default.
    pub min_area: f32,
}

impl Default for SanitizeBoxes {
    fn default() -> Self {
        SanitizeBoxes { min_size: 1.0, min_area: 1.0 }
    }
}

impl SanitizeBoxes {
    /// Returns for each box whether it stays: its sides and its area are large enough, and it reaches nowhere beyond an image of
    /// (width, height). A box with a number that is none does not stay.
    pub fn keeps<C: Coordinate>(&self, boxes: &[[C; 4]], format: BoxFormat, size: (u32, u32)) -> Vec<bool> {
        let (width, height) = (f64::from(size.0), f64::from(size.1));
        let keeps = |each: &[C; 4]| {
            let [left, top, right, bottom] = edges_of(each, format);
            let (w, h) = (C::rounded(right - left), C::rounded(bottom - top));
            let is_large = w.min(h) >= self.min_size.into() && C::rounded(w * h) >= self.min_area.into();
            let within = |edges: [f64; 2], side: f64| edges.iter().all(|edge| (0.0..=side).contains(edge));
            is_large && within([left, right], width) && within([top, bottom], height)
        };
        boxes.iter().map(keeps).collect()
    }
}

/// Returns for each keypoint whether it lies in an image of (width, height): torchvision's `SanitizeKeyPoints`. x is in
/// \[0, width) and y in \[0, height) then.
///
/// ```
/// use gpufeed::targets::keypoints_inside;
///
/// assert_eq!(keypoints_inside(&[[9.5f32, 0.0], [10.0, 0.0], [0.0, -0.5]], (10, 10)), [true, false, false]);
/// ```
pub fn keypoints_inside<C: Coordinate>(points: &[[C; 2]], (width, height): (u32, u32)) -> Vec<bool> {
    let inside = |value: C, side: u32| (0.0..f64::from(side)).contains(&value.get());
    points.iter().map(|&[x, y]| inside(x, width) && inside(y, height)).collect()
}
