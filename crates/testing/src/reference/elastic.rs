//! The displacements of `ElasticTransform` (`make_params` in torchvision's `_geometry.py`), from the numbers that
//! `Op::Elastic` documents.

use super::erase::philox;
use super::neighborhood::{blur_kernel, reflected};

/// Returns [dx, dy] of every pixel, row by row, in torchvision's units: halves of the image's sides.
pub fn field(key: [u32; 2], alpha: [f64; 2], sigma: [f64; 2], (height, width): (usize, usize)) -> Vec<[f64; 2]> {
    let number = |x: usize, y: usize, axis: usize| {
        let words = philox([x as u64 / 2, y as u64, 0, 0], key.map(u64::from));
        let k = words[x % 2 * 2 + axis] >> 8;
        k as f64 / f64::from(1 << 23) - 1.0
    };
    let plane = |axis: usize| {
        let numbers: Vec<f64> = (0..height * width).map(|i| number(i % width, i / width, axis)).collect();
        let blurred = if sigma[axis] > 0.0 { blur(&numbers, sigma, sigma[axis], (height, width)) } else { numbers };
        let side = [width, height][axis] as f64;
        blurred.into_iter().map(|value| value * alpha[axis] / side).collect::<Vec<_>>()
    };
    plane(0).into_iter().zip(plane(1)).map(|(dx, dy)| [dx, dy]).collect()
}

/// Blurs with `sigma` across and down, in a square kernel whose side `of` decides.
fn blur(numbers: &[f64], sigma: [f64; 2], of: f64, (height, width): (usize, usize)) -> Vec<f64> {
    let side = (8.0 * of + 1.0) as usize;
    let side = if side.is_multiple_of(2) { side + 1 } else { side };
    let [across, down] = sigma.map(|sigma| blur_kernel(side, sigma));
    let offset = |i: usize, j: usize| (i + j) as i64 - (side / 2) as i64;
    let rows: Vec<f64> = (0..height * width)
        .map(|i| {
            let (y, x) = (i / width, i % width);
            let tap = |(j, weight): (usize, &f64)| weight * numbers[y * width + reflected(offset(x, j), width as i64)];
            across.iter().enumerate().map(tap).sum()
        })
        .collect();
    (0..height * width)
        .map(|i| {
            let (y, x) = (i / width, i % width);
            let tap = |(j, weight): (usize, &f64)| weight * rows[reflected(offset(y, j), height as i64) * width + x];
            down.iter().enumerate().map(tap).sum()
        })
        .collect()
}
