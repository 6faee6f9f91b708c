//! Perspective (`perspective_image` in torchvision's `functional/_geometry.py`).

use super::picture::Picture;
use super::sampling::{Fill, Filter, sample};

/// Returns the coefficients a to h of the map from `end` to `start`, four points (x, y) each
/// (`_get_perspective_coeffs` in torchvision's `transforms/functional.py`): the solution of eight equations in f64,
/// rounded to f32.
///
/// A point (x, y) of `end` maps to ((a x + b y + c) / z, (d x + e y + f) / z) with z = g x + h y + 1.
pub fn coefficients(start: [[f64; 2]; 4], end: [[f64; 2]; 4]) -> [f64; 8] {
    let mut equations = Vec::new();
    for ([sx, sy], [x, y]) in start.into_iter().zip(end) {
        equations.push([x, y, 1.0, 0.0, 0.0, 0.0, -sx * x, -sx * y, sx]);
        equations.push([0.0, 0.0, 0.0, x, y, 1.0, -sy * x, -sy * y, sy]);
    }
    solve(equations).map(|coefficient| f64::from(coefficient as f32))
}

/// Solves eight linear equations, each eight factors and the right side, by elimination with the largest pivot first.
fn solve(mut equations: Vec<[f64; 9]>) -> [f64; 8] {
    for k in 0..8 {
        let size = |equation: &[f64; 9]| equation[k].abs();
        let pivot = (k..8).max_by(|&i, &j| size(&equations[i]).total_cmp(&size(&equations[j]))).expect("eight rows");
        equations.swap(k, pivot);
        let row = equations[k];
        for (i, equation) in equations.iter_mut().enumerate() {
            let factor = equation[k] / row[k];
            if i != k {
                equation.iter_mut().zip(row).for_each(|(entry, other)| *entry -= factor * other);
            }
        }
    }
    std::array::from_fn(|k| equations[k][8] / equations[k][k])
}

/// Maps the image by the coefficients of [`coefficients`]; the size stays. Points are pixel numbers, while the grid
/// takes the centre of a pixel at ½ (`_perspective_grid` in torchvision's `functional/_geometry.py`).
pub fn perspective(picture: &Picture, coefficients: [f64; 8], filter: Filter, fill: Fill<'_>) -> Picture {
    let (_, height, width) = picture.shape();
    sample(picture, (height, width), filter, fill, |x, y| place(coefficients, x, y))
}

/// Returns the place in the source of an output pixel.
pub(super) fn place([a, b, c, d, e, f, g, h]: [f64; 8], x: f64, y: f64) -> (f64, f64) {
    let (x, y) = (x + 0.5, y + 0.5);
    let z = g * x + h * y + 1.0;
    ((a * x + b * y + c) / z - 0.5, (d * x + e * y + f) / z - 0.5)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference::Semantics;

    const SQUARE: [[f64; 2]; 4] = [[0.0, 0.0], [3.0, 0.0], [3.0, 3.0], [0.0, 3.0]];

    #[test]
    fn the_coefficients_map_each_end_point_to_its_start_point() {
        let end = [[1.0, 2.0], [9.0, 1.0], [7.0, 8.0], [0.0, 6.0]];
        let [a, b, c, d, e, f, g, h] = coefficients(SQUARE, end);
        for ([sx, sy], [x, y]) in SQUARE.into_iter().zip(end) {
            let z = g * x + h * y + 1.0;
            assert!(((a * x + b * y + c) / z - sx).abs() < 1e-5, "{x} {y}");
            assert!(((d * x + e * y + f) / z - sy).abs() < 1e-5, "{x} {y}");
        }
    }

    #[test]
    fn points_moved_by_whole_pixels_move_the_image() {
        let end = SQUARE.map(|[x, y]| [x + 1.0, y]);
        let picture = Picture::from_planes((1, 1, 4), &[10, 20, 30, 40], Semantics::Uint8);
        let moved = perspective(&picture, coefficients(SQUARE, end), Filter::Nearest, None);
        assert_eq!(moved.image.planes, [0.0, 10.0, 20.0, 30.0]);
    }
}
