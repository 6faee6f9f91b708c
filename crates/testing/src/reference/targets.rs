//! Where operators lead boxes and keypoints: the functions of torchvision's `functional/_geometry.py` in f64, as direct as
//! their formulas. A box is its edges; formats are converted before and after.

use super::affine::{Affine, Rotation};
use super::{elastic, perspective};
use gpufeed::targets::BoxFormat;
use gpufeed::transforms::{Op, PaddingMode};

/// The motion of places by one operator.
#[derive(Clone, Debug)]
pub enum Move {
    /// x becomes `width - x`; of a keypoint, the number of a pixel, `width - 1 - x`.
    FlipX { width: f64 },
    /// y becomes `height - y`; of a keypoint, `height - 1 - y`.
    FlipY { height: f64 },
    /// x and y are multiplied.
    Scale([f64; 2]),
    /// x and y are increased, in an image that may end elsewhere.
    Shift([f64; 2]),
    /// The rows of a matrix times (x, y, 1).
    Affine([[f64; 3]; 2]),
    /// The map by the coefficients a to h of [`perspective::coefficients`].
    Perspective([f64; 8]),
    /// Less the displacement of a pixel, in pixels: row by row, in an image of this (width, height).
    Displaced(Vec<[f64; 2]>, (usize, usize)),
}

impl Move {
    /// Returns what an op does to places in an image of (width, height); `None` if it leaves them.
    pub fn of(op: &Op, (width, height): (u32, u32)) -> Option<Move> {
        let (w, h) = (f64::from(width), f64::from(height));
        let size = (height as usize, width as usize);
        Some(match *op {
            Op::HorizontalFlip => Move::FlipX { width: w },
            Op::VerticalFlip => Move::FlipY { height: h },
            Op::Resize { height, width, .. } => Move::Scale([f64::from(width) / w, f64::from(height) / h]),
            Op::Crop { top, left, .. } => Move::Shift([-f64::from(left), -f64::from(top)]),
            Op::Pad { left, top, mode: PaddingMode::Constant, .. } => Move::Shift([left.into(), top.into()]),
            Op::Affine { angle, translate, scale, shear, center, .. } => {
                Move::affine(&Affine { angle, translate, scale, shear, center }, size)
            }
            Op::Rotate { angle, expand, center, .. } => Move::rotate(&Rotation { angle, expand, center }, size),
            Op::Perspective { startpoints, endpoints, .. } => {
                let points = |points: [[i32; 2]; 4]| points.map(|point| point.map(f64::from));
                Move::perspective(points(startpoints), points(endpoints))
            }
            Op::Elastic { alpha, sigma, key, .. } => {
                Move::displaced(&elastic::field(key, alpha, sigma, size), (width as usize, height as usize))
            }
            _ => return None,
        })
    }

    /// Leads places as an affine map leads pixels of an image of (height, width): by the matrix that undoes the one that says where
    /// pixels come from.
    pub fn affine(map: &Affine, (height, width): (usize, usize)) -> Move {
        let [[a, b, c], [d, e, f]] = map.inverse_matrix((height, width));
        let (x, y) = (width as f64 / 2.0, height as f64 / 2.0);
        let determinant = a * e - b * d;
        let lead =
            |u: f64, v: f64| [(e * (u - c) - b * (v - f)) / determinant, (a * (v - f) - d * (u - c)) / determinant];
        // Both points are relative to the middle.
        let ([x0, y0], [x1, y1], [x2, y2]) = (lead(-x, -y), lead(1.0 - x, -y), lead(-x, 1.0 - y));
        Move::Affine([[x1 - x0, x2 - x0, x0 + x], [y1 - y0, y2 - y0, y0 + y]])
    }

    /// Leads places as a rotation leads pixels; with `expand` the image around the turned one begins at 0.
    pub fn rotate(rotation: &Rotation, (height, width): (usize, usize)) -> Move {
        let turned = Move::affine(&rotation.map(), (height, width));
        let (w, h) = (width as f64, height as f64);
        let [left, top, ..] = turned.around([0.0, 0.0, w, h]);
        match turned {
            Move::Affine([[a, b, c], [d, e, f]]) if rotation.expand => {
                Move::Affine([[a, b, c - left], [d, e, f - top]])
            }
            turned => turned,
        }
    }

    /// Leads the start points to the end points.
    pub fn perspective(start: [[f64; 2]; 4], end: [[f64; 2]; 4]) -> Move {
        Move::Perspective(perspective::coefficients(end, start))
    }

    /// Moves places by displacements in halves of the image's sides, in an image of (width, height).
    pub fn displaced(field: &[[f64; 2]], (width, height): (usize, usize)) -> Move {
        let pixels = field.iter().map(|[x, y]| [x * width as f64 / 2.0, y * height as f64 / 2.0]);
        Move::Displaced(pixels.collect(), (width, height))
    }

    /// Returns true if boxes are cut to the image afterwards.
    pub fn cuts(&self) -> bool {
        !matches!(self, Move::FlipX { .. } | Move::FlipY { .. } | Move::Scale(_))
    }

    /// Moves the edges of a box: those around its four corners, each of which goes its own way.
    pub fn around(&self, [left, top, right, bottom]: [f64; 4]) -> [f64; 4] {
        let corners = [[left, top], [right, top], [left, bottom], [right, bottom]];
        let moved = match self {
            // These keep the order of the edges of a box whose right edge is left of its left one.
            Move::FlipX { width } => return [width - right, top, width - left, bottom],
            Move::FlipY { height } => return [left, height - bottom, right, height - top],
            Move::Scale(_) | Move::Shift(_) => {
                let ([x0, y0], [x1, y1]) = (self.point([left, top]), self.point([right, bottom]));
                return [x0, y0, x1, y1];
            }
            Move::Displaced(..) => corners.map(|corner| self.displace(corner, f64::ceil)),
            Move::Affine(_) | Move::Perspective(_) => corners.map(|corner| self.point(corner)),
        };
        let along = |axis: usize| moved.map(|corner| corner[axis]);
        let least = |places: [f64; 4]| places.into_iter().fold(f64::INFINITY, f64::min);
        let most = |places: [f64; 4]| places.into_iter().fold(f64::NEG_INFINITY, f64::max);
        [least(along(0)), least(along(1)), most(along(0)), most(along(1))]
    }

    /// Moves a keypoint.
    pub fn point(&self, [x, y]: [f64; 2]) -> [f64; 2] {
        match self {
            Move::FlipX { width } => [width - 1.0 - x, y],
            Move::FlipY { height } => [x, height - 1.0 - y],
            Move::Scale([by_x, by_y]) => [x * by_x, y * by_y],
            Move::Shift([by_x, by_y]) => [x + by_x, y + by_y],
            Move::Affine(matrix) => matrix.map(|[a, b, c]| a * x + b * y + c),
            Move::Perspective([a, b, c, d, e, f, g, h]) => {
                let z = g * x + h * y + 1.0;
                [(a * x + b * y + c) / z, (d * x + e * y + f) / z]
            }
            Move::Displaced(..) => self.displace([x, y], f64::trunc),
        }
    }

    /// Moves a place by the displacement of the pixel to which it is rounded, from which it starts then.
    fn displace(&self, [x, y]: [f64; 2], rounded: fn(f64) -> f64) -> [f64; 2] {
        let Move::Displaced(field, (width, height)) = self else { return [x, y] };
        let column = rounded(x).clamp(0.0, *width as f64 - 1.0);
        let row = rounded(y).clamp(0.0, *height as f64 - 1.0);
        let [by_x, by_y] = field[row as usize * width + column as usize];
        [column - by_x, row - by_y]
    }
}

/// Cuts the edges of a box to an image of (width, height).
pub fn cut(edges: [f64; 4], (width, height): (u32, u32)) -> [f64; 4] {
    let sides = [width, height, width, height].map(f64::from);
    std::array::from_fn(|at| edges[at].max(0.0).min(sides[at]))
}

/// The edges of a box in a format.
pub fn edges([a, b, c, d]: [f64; 4], format: BoxFormat) -> [f64; 4] {
    match format {
        BoxFormat::Xyxy => [a, b, c, d],
        BoxFormat::Xywh => [a, b, a + c, b + d],
        BoxFormat::Cxcywh => [a - c / 2.0, b - d / 2.0, a + c / 2.0, b + d / 2.0],
    }
}

/// The box of these edges in a format.
pub fn in_format([left, top, right, bottom]: [f64; 4], format: BoxFormat) -> [f64; 4] {
    let (width, height) = (right - left, bottom - top);
    match format {
        BoxFormat::Xyxy => [left, top, right, bottom],
        BoxFormat::Xywh => [left, top, width, height],
        BoxFormat::Cxcywh => [(left + right) / 2.0, (top + bottom) / 2.0, width, height],
    }
}
