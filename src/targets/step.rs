//! Moves of boxes and keypoints by one op, after the functions of `torchvision/transforms/v2/functional/_geometry.py`.

use crate::cpu::gather::elastic::displacement;
use crate::elastic::Elastic;
use crate::error::Result;
use crate::objects::{BoxFormat, Coordinate, cut, edges_of};
use crate::transforms::{Interpolation, Op, PaddingMode};
use crate::warp::{Map, inverse_matrix};

/// One op, for places in an image of a known size. Ops that move no place have no step.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// Mirrored left and right in an image of this width.
    FlipX(f64),
    /// Mirrored top and bottom in an image of this height.
    FlipY(f64),
    /// Multiplied along x and along y.
    Scale([f64; 2]),
    /// Moved along x and along y; boxes are clamped.
    Shift([f64; 2]),
    /// Led elsewhere, each place for itself; boxes are clamped.
    Warp(Forward),
}

/// Where a warp leads a place: the other way than [`Map`], which says where a pixel comes from.
#[derive(Clone, Debug)]
pub(super) enum Forward {
    /// `x' = m0 x + m1 y + m2`, `y' = m3 x + m4 y + m5`.
    Affine([f64; 6]),
    /// The same, both divided by `m6 x + m7 y + m8`.
    Perspective([f64; 9]),
    /// Moved back by a pixel's displacement, in an image of this (width, height).
    Elastic(Elastic, (u32, u32)),
    /// As `Elastic`, by a list of displacements: x and y of each pixel.
    #[cfg(test)]
    Field(std::rc::Rc<Vec<f32>>, (u32, u32)),
}

/// Where boxes and keypoints differ: in the pixel whose displacement counts.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    Corner,
    Keypoint,
}

impl Step {
    /// Makes the step of an op on an image of (width, height); `None` if it moves no place.
    ///
    /// # Errors
    /// The reason for which it cannot move boxes and keypoints.
    pub(super) fn of(op: &Op, (width, height): (u32, u32)) -> std::result::Result<Option<Step>, String> {
        let (w, h) = (f64::from(width), f64::from(height));
        Ok(Some(match *op {
            Op::HorizontalFlip => Step::FlipX(w),
            Op::VerticalFlip => Step::FlipY(h),
            // torch keeps the ratios in f32.
            Op::Resize { height, width, .. } => {
                Step::Scale([f64::from(width) / w, f64::from(height) / h].map(|ratio| f64::from(ratio as f32)))
            }
            Op::Crop { top, left, .. } => Step::Shift([-f64::from(left), -f64::from(top)]),
            Op::Pad { left, top, mode: PaddingMode::Constant, .. } => Step::Shift([left.into(), top.into()]),
            Op::Pad { mode, .. } => {
                return Err(format!(
                    "padding by {mode:?} shows parts of the image again, which no box follows; PaddingMode::Constant works"
                ));
            }
            Op::Affine { angle, translate, scale, shear, center, .. } => {
                let center = center.unwrap_or([w * 0.5, h * 0.5]);
                Step::Warp(Forward::Affine(inverse(inverse_matrix(angle, translate, scale, shear, center))?))
            }
            Op::Rotate { expand: true, center: Some(_), .. } => {
                return Err(
                    "with `expand` and a center, torchvision leads boxes elsewhere than pixels; leave the center out"
                        .to_owned(),
                );
            }
            Op::Rotate { angle, expand, center, .. } => {
                let center = center.unwrap_or([w * 0.5, h * 0.5]);
                let mut matrix = inverse(inverse_matrix(-angle, [0.0; 2], 1.0, [0.0; 2], center))?;
                if expand {
                    // The turned image begins at 0.
                    let corners = [[0.0, 0.0], [0.0, h], [w, h], [w, 0.0]].map(|[x, y]| affine(&matrix, x, y));
                    for (axis, entry) in [(0, 2), (1, 5)] {
                        matrix[entry] -= corners.iter().map(|corner| corner[axis]).fold(f64::INFINITY, f64::min);
                    }
                }
                Step::Warp(Forward::Affine(matrix))
            }
            Op::Perspective { startpoints, endpoints, .. } => {
                let Some(Map::Perspective([a, b, c, d, e, f, g, h])) = Map::perspective(startpoints, endpoints) else {
                    return Err("its points lie on a line: there is no such perspective".to_owned());
                };
                Step::Warp(Forward::Perspective(inverse_perspective([a, b, c, d, e, f, g, h, 1.0])?))
            }
            Op::Elastic { alpha, sigma, key, interpolation, fill } => {
                let nearest = interpolation == Interpolation::Nearest;
                Step::Warp(Forward::Elastic(Elastic { alpha, sigma, key, nearest, fill }, (width, height)))
            }
            // Pillow's matrix is for the middles of pixels, which are edges and a half.
            Op::PillowAffine { matrix, .. } => Step::Warp(Forward::Affine(inverse(matrix)?)),
            Op::Policy { .. } | Op::Mixture { .. } | Op::Timm { .. } | Op::TimmMixture { .. } => {
                return Err("operations of a policy move pixels and no targets, in torchvision as well".to_owned());
            }
            Op::HostCode { .. } => return Err("nobody knows whether your code moves pixels".to_owned()),
            Op::Objects(_)
            | Op::Brightness { .. }
            | Op::Contrast { .. }
            | Op::Saturation { .. }
            | Op::Hue { .. }
            | Op::Grayscale { .. }
            | Op::Invert
            | Op::Solarize { .. }
            | Op::AdjustGamma { .. }
            | Op::Posterize { .. }
            | Op::PermuteChannels { .. }
            | Op::Custom { .. }
            | Op::GaussianNoise { .. }
            | Op::Erase { .. }
            | Op::GaussianBlur { .. }
            | Op::PillowBlur { .. }
            | Op::Sharpness { .. }
            | Op::Jpeg { .. }
            | Op::Autocontrast
            | Op::Equalize
            | Op::Normalize { .. } => return Ok(None),
        }))
    }

    /// Moves a box, and cuts it to an image of this (width, height) if there is one and the op may lead it out of its image.
    ///
    /// # Errors
    /// [`ErrorKind::OutOfMemory`](crate::ErrorKind::OutOfMemory).
    pub(super) fn bounding_box<C: Coordinate>(
        &self,
        each: [C; 4],
        format: BoxFormat,
        cut_to: Option<(u32, u32)>,
    ) -> Result<[C; 4]> {
        let [a, b, c, d] = each.map(C::get);
        // In the box's own format, as torchvision: whole numbers are cut there.
        let moved = match (self, format) {
            (Step::FlipX(width), BoxFormat::Xyxy) => [width - c, b, width - a, d],
            (Step::FlipX(width), BoxFormat::Xywh) => [width - C::rounded(a + c), b, c, d],
            (Step::FlipX(width), BoxFormat::Cxcywh) => [width - a, b, c, d],
            (Step::FlipY(height), BoxFormat::Xyxy) => [a, height - d, c, height - b],
            (Step::FlipY(height), BoxFormat::Xywh) => [a, height - C::rounded(b + d), c, d],
            (Step::FlipY(height), BoxFormat::Cxcywh) => [a, height - b, c, d],
            (Step::Scale([x, y]), _) => [a * x, b * y, c * x, d * y],
            (Step::Shift([x, y]), _) => {
                let moved = if format == BoxFormat::Xyxy { [a + x, b + y, c + x, d + y] } else { [a + x, b + y, c, d] };
                let moved = moved.map(C::rounded);
                cut_to.map_or(moved, |size| format.of_edges::<C>(cut(format.edges::<C>(moved), size)))
            }
            (Step::Warp(forward), _) => {
                let (takes_whole, gives_whole) = if C::IS_WHOLE { forward.whole_edges() } else { (false, false) };
                let edges = if takes_whole { edges_of(&each, format) } else { format.edges::<C>([a, b, c, d]) };
                let mut edges = forward.around(edges)?;
                if gives_whole {
                    edges = edges.map(|edge| C::of(edge).get());
                }
                let moved = format.of_edges::<C>(cut_to.map_or(edges, |size| cut(edges, size)));
                if gives_whole { moved.map(f64::floor) } else { moved }
            }
        };
        Ok(moved.map(C::of))
    }

    /// Moves a keypoint.
    ///
    /// # Errors
    /// [`ErrorKind::OutOfMemory`](crate::ErrorKind::OutOfMemory).
    pub(super) fn keypoint<C: Coordinate>(&self, place: [C; 2]) -> Result<[C; 2]> {
        let [x, y] = place.map(C::get);
        let moved = match self {
            // The number of a pixel, not an edge.
            Step::FlipX(width) => [width - 1.0 - x, y],
            Step::FlipY(height) => [x, height - 1.0 - y],
            Step::Scale([by_x, by_y]) => [x * by_x, y * by_y],
            Step::Shift([by_x, by_y]) => [x + by_x, y + by_y],
            Step::Warp(forward) => forward.at([x, y], Place::Keypoint)?,
        };
        Ok(moved.map(C::of))
    }
}

impl Forward {
    /// Says when torchvision cuts the edges of a box of whole numbers: before it moves them, and after it has moved them.
    fn whole_edges(&self) -> (bool, bool) {
        match self {
            Forward::Affine(_) => (false, false),
            Forward::Perspective(_) => (true, false),
            _ => (true, true),
        }
    }

    /// The edges of the box around the corners of a box, each led where it goes.
    fn around(&self, [left, top, right, bottom]: [f64; 4]) -> Result<[f64; 4]> {
        let mut edges = [f64::INFINITY, f64::INFINITY, f64::NEG_INFINITY, f64::NEG_INFINITY];
        for corner in [[left, top], [right, top], [right, bottom], [left, bottom]] {
            let [x, y] = self.at(corner, Place::Corner)?;
            edges = [least(edges[0], x), least(edges[1], y), most(edges[2], x), most(edges[3], y)];
        }
        Ok(edges)
    }

    fn at(&self, [x, y]: [f64; 2], place: Place) -> Result<[f64; 2]> {
        Ok(match self {
            Forward::Affine(matrix) => affine(matrix, x, y),
            Forward::Perspective(m) => {
                let z = m[6] * x + m[7] * y + m[8];
                [(m[0] * x + m[1] * y + m[2]) / z, (m[3] * x + m[4] * y + m[5]) / z]
            }
            Forward::Elastic(elastic, size) => {
                let pixel = displaced_pixel([x, y], place, *size);
                displaced(pixel, displacement(elastic, *size, pixel)?)
            }
            #[cfg(test)]
            Forward::Field(field, size) => {
                let (column, row) = displaced_pixel([x, y], place, *size);
                let at = 2 * (row * size.0 + column) as usize;
                displaced((column, row), [field[at], field[at + 1]])
            }
        })
    }
}

/// The pixel whose displacement a place takes: torchvision rounds corners up and cuts keypoints, within the image.
fn displaced_pixel([x, y]: [f64; 2], place: Place, (width, height): (u32, u32)) -> (u32, u32) {
    let along = |value: f64, side: u32| {
        let whole = if place == Place::Corner { value.ceil() } else { value.trunc() };
        whole.clamp(0.0, f64::from(side.max(1) - 1)) as u32
    };
    (along(x, width), along(y, height))
}

/// The lesser number; none if one of them is none, as in torch, where a corner that is nowhere leaves no box.
fn least(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() { f64::NAN } else { a.min(b) }
}

/// As [`least`], the greater one.
fn most(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() { f64::NAN } else { a.max(b) }
}

fn displaced((column, row): (u32, u32), [x, y]: [f32; 2]) -> [f64; 2] {
    [f64::from(column) - f64::from(x), f64::from(row) - f64::from(y)]
}

fn affine(m: &[f64; 6], x: f64, y: f64) -> [f64; 2] {
    [m[0] * x + m[1] * y + m[2], m[3] * x + m[4] * y + m[5]]
}

/// The matrix that undoes another one.
fn inverse([a, b, c, d, e, f]: [f64; 6]) -> std::result::Result<[f64; 6], String> {
    let determinant = a * e - b * d;
    if determinant == 0.0 || !determinant.is_finite() {
        return Err("it leads the whole image to a line, on which no box has an area".to_owned());
    }
    let (a, b, d, e) = (e / determinant, -b / determinant, -d / determinant, a / determinant);
    Ok([a, b, -(a * c + b * f), d, e, -(d * c + e * f)])
}

/// The matrix of three rows that undoes another one, up to a factor, which a division removes.
fn inverse_perspective([a, b, c, d, e, f, g, h, i]: [f64; 9]) -> std::result::Result<[f64; 9], String> {
    let adjugate = [
        [e * i - f * h, c * h - b * i, b * f - c * e],
        [f * g - d * i, a * i - c * g, c * d - a * f],
        [d * h - e * g, b * g - a * h, a * e - b * d],
    ];
    let determinant = a * adjugate[0][0] + b * adjugate[1][0] + c * adjugate[2][0];
    if determinant == 0.0 || !determinant.is_finite() {
        return Err("its points lie on a line: there is no such perspective".to_owned());
    }
    let flat: [f64; 9] = std::array::from_fn(|at| adjugate[at / 3][at % 3] / determinant);
    Ok(flat)
}
