//! Affine maps and rotation (`affine_image`, `rotate_image` in torchvision's `functional/_geometry.py`).

use super::picture::Picture;
use super::sampling::{Fill, Filter, sample};

/// The arguments of torchvision's `affine`. Angles are in degrees, lengths in pixels.
#[derive(Clone, Debug)]
pub struct Affine {
    pub angle: f64,
    pub translate: [f64; 2],
    pub scale: f64,
    pub shear: [f64; 2],
    /// The fixed point as (x, y) from the upper left corner; `None` is the image's centre.
    pub center: Option<[f64; 2]>,
}

impl Affine {
    /// The map that changes nothing.
    pub fn identity() -> Affine {
        Affine { angle: 0.0, translate: [0.0; 2], scale: 1.0, shear: [0.0; 2], center: None }
    }

    /// Returns the rows of the matrix that maps an output point to its source point, both relative to the image's
    /// centre (`_get_inverse_affine_matrix` in torchvision's `functional/_geometry.py`).
    pub fn inverse_matrix(&self, (height, width): (usize, usize)) -> [[f64; 3]; 2] {
        let [r, p, q] = [self.angle, self.shear[0], self.shear[1]].map(f64::to_radians);
        let a = (r - q).cos() / q.cos();
        let b = -(a * p.tan() + r.sin());
        let c = (r - q).sin() / q.cos();
        let d = r.cos() - c * p.tan();
        let [m0, m1, m3, m4] = [d, -b, -c, a].map(|entry| entry / self.scale);
        let [cx, cy] = match self.center {
            None => [0.0, 0.0],
            // The middle of W pixels is W/2 here, though pixels are counted from their centres elsewhere.
            Some([x, y]) => [x - width as f64 / 2.0, y - height as f64 / 2.0],
        };
        let (x, y) = (cx + self.translate[0], cy + self.translate[1]);
        [[m0, m1, cx - m0 * x - m1 * y], [m3, m4, cy - m3 * x - m4 * y]]
    }
}

/// Applies an affine map; the size stays.
pub fn affine(picture: &Picture, map: &Affine, filter: Filter, fill: Fill<'_>) -> Picture {
    let (_, height, width) = picture.shape();
    by_matrix(picture, map.inverse_matrix((height, width)), (height, width), filter, fill)
}

/// Reads the source at the matrix times the output point; each is relative to the centre of its own image
/// (`_affine_grid` in torchvision's `functional/_geometry.py`).
fn by_matrix(
    picture: &Picture,
    matrix: [[f64; 3]; 2],
    (height, width): (usize, usize),
    filter: Filter,
    fill: Fill<'_>,
) -> Picture {
    let (_, rows, columns) = picture.shape();
    sample(picture, (height, width), filter, fill, places(matrix, (rows, columns), (height, width)))
}

/// Returns the function from a pixel of an output of this (height, width) to its place in the source.
pub(super) fn places(
    matrix: [[f64; 3]; 2],
    (rows, columns): (usize, usize),
    (height, width): (usize, usize),
) -> impl Fn(f64, f64) -> (f64, f64) {
    let middle = |size: usize| (size as f64 - 1.0) / 2.0;
    move |x, y| {
        let (u, v) = (x - middle(width), y - middle(height));
        let [sx, sy] = matrix.map(|[a, b, c]| a * u + b * v + c);
        (sx + middle(columns), sy + middle(rows))
    }
}

/// The arguments of torchvision's `rotate`: degrees counter-clockwise, whether the output holds the whole turned image,
/// the fixed point.
#[derive(Clone, Debug)]
pub struct Rotation {
    pub angle: f64,
    pub expand: bool,
    pub center: Option<[f64; 2]>,
}

impl Rotation {
    pub(super) fn map(&self) -> Affine {
        Affine { angle: -self.angle, center: self.center, ..Affine::identity() }
    }

    /// Returns height and width of the output.
    pub fn size(&self, (height, width): (usize, usize)) -> (usize, usize) {
        if !self.expand {
            return (height, width);
        }
        expanded(self.map().inverse_matrix((height, width)), (height, width))
    }

    /// Returns the number of quarter turns, if the rotation moves whole pixels.
    pub(super) fn quarter_turns(&self, (height, width): (usize, usize)) -> Option<u32> {
        let angle = self.angle.rem_euclid(360.0);
        let quarter = angle == 90.0 || angle == 270.0;
        let whole = angle == 0.0 || angle == 180.0 || quarter && (self.expand || height == width);
        (self.center.is_none() && whole).then_some((angle / 90.0) as u32)
    }
}

/// Returns height and width of the box about the turned image (`_compute_affine_output_size` in torchvision's
/// `functional/_geometry.py`), in f32 as there, because a rounding decides a pixel.
fn expanded(matrix: [[f64; 3]; 2], (height, width): (usize, usize)) -> (usize, usize) {
    let (right, bottom) = (0.5 * width as f32, 0.5 * height as f32);
    let corners = [(-right, -bottom), (-right, bottom), (right, bottom), (right, -bottom)];
    let length = |row: [f64; 3], middle: f32| {
        let [a, b, c] = row.map(|entry| entry as f32);
        let places = corners.map(|(x, y)| x * a + y * b + c + middle);
        let (least, greatest) = places.iter().fold((f32::MAX, f32::MIN), |(l, g), &place| (l.min(place), g.max(place)));
        let cut = |place: f32| (place * 1e4).trunc() * 1e-4;
        (cut(greatest).ceil() - cut(least).floor()) as usize
    };
    (length(matrix[1], bottom), length(matrix[0], right))
}

/// Turns the image. Quarter turns about the centre move whole pixels, where the sides fit.
pub fn rotate(picture: &Picture, rotation: &Rotation, filter: Filter, fill: Fill<'_>) -> Picture {
    let (_, height, width) = picture.shape();
    if let Some(times) = rotation.quarter_turns((height, width)) {
        return quarter_turns(picture, times);
    }
    let matrix = rotation.map().inverse_matrix((height, width));
    by_matrix(picture, matrix, rotation.size((height, width)), filter, fill)
}

/// Turns the image `times` times by 90 degrees counter-clockwise (`torch.rot90`).
fn quarter_turns(picture: &Picture, times: u32) -> Picture {
    (0..times).fold(picture.clone(), |picture, _| {
        let (channels, height, width) = picture.shape();
        picture.build((channels, width, height), |c, y, x| picture.at(c, x, width - 1 - y))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference::Semantics;

    fn picture() -> Picture {
        Picture::from_planes((1, 2, 3), &[1, 2, 3, 4, 5, 6], Semantics::Uint8)
    }

    fn turned(angle: f64, expand: bool) -> Vec<f64> {
        let rotation = Rotation { angle, expand, center: None };
        rotate(&picture(), &rotation, Filter::Nearest, None).image.planes
    }

    #[test]
    fn quarter_turns_are_counter_clockwise() {
        assert_eq!(turned(90.0, true), [3.0, 6.0, 2.0, 5.0, 1.0, 4.0]);
        assert_eq!(turned(-90.0, true), [4.0, 1.0, 5.0, 2.0, 6.0, 3.0]);
        assert_eq!(turned(540.0, false), [6.0, 5.0, 4.0, 3.0, 2.0, 1.0]);
        assert_eq!(turned(360.0, false), picture().image.planes);
    }

    #[test]
    fn a_quarter_turn_without_expand_keeps_the_size_and_cuts() {
        let rotation = Rotation { angle: 90.0, expand: false, center: None };
        assert_eq!(rotate(&picture(), &rotation, Filter::Nearest, None).shape(), (1, 2, 3));
        assert_ne!(turned(90.0, false), turned(90.0, true));
    }

    #[test]
    fn a_translation_moves_the_content_right_and_down() {
        let map = Affine { translate: [1.0, 1.0], ..Affine::identity() };
        let moved = affine(&picture(), &map, Filter::Bilinear, None);
        assert_eq!(moved.image.planes, [0.0, 0.0, 0.0, 0.0, 1.0, 2.0]);
    }
}
