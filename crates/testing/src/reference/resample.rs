//! Reference of resizing: first along every row, then along every column; each output pixel is a weighted sum of its
//! taps.

use super::Image;
use gpufeed::transforms::Interpolation;

pub(super) fn resize(
    image: &Image,
    (height, width): (usize, usize),
    interpolation: Interpolation,
    antialias: bool,
) -> Image {
    if (height, width) == (image.height, image.width) {
        return image.clone();
    }
    let taps = |input: usize, output: usize| -> Vec<Vec<(usize, f64)>> {
        (0..output).map(|i| taps(i, input, output, interpolation, antialias)).collect()
    };
    let (across, down) = (taps(image.width, width), taps(image.height, height));
    let rows = Image::build((image.channels, image.height, width), |c, y, x| {
        across[x].iter().map(|&(from, weight)| weight * image.at(c, y, from)).sum()
    });
    Image::build((image.channels, height, width), |c, y, x| {
        down[y].iter().map(|&(from, weight)| weight * rows.at(c, from, x)).sum()
    })
}

/// Returns the input pixels, with their weights, whose sum is output pixel `i`.
pub(super) fn taps(
    i: usize,
    input: usize,
    output: usize,
    interpolation: Interpolation,
    antialias: bool,
) -> Vec<(usize, f64)> {
    let scale = input as f64 / output as f64;
    let centre = (i as f64 + 0.5) * scale;
    let clamped = |j: f64| j.clamp(0.0, input as f64 - 1.0) as usize;
    match interpolation {
        // torch multiplies in f32, which may give the pixel next to that of the exact product.
        Interpolation::Nearest => {
            let scale = input as f32 / output as f32;
            vec![(clamped((i as f32 * scale).floor().into()), 1.0)]
        }
        Interpolation::NearestExact => {
            let scale = input as f32 / output as f32;
            vec![(clamped(((i as f32 + 0.5) * scale).floor().into()), 1.0)]
        }
        Interpolation::Bilinear if antialias => wide(centre, scale, 1.0, input, triangle),
        Interpolation::Bicubic if antialias => wide(centre, scale, 2.0, input, |x| cubic(x, -0.5)),
        Interpolation::Bilinear => {
            let at = (centre - 0.5).max(0.0);
            let first = at.floor();
            [0.0, 1.0].map(|k| (clamped(first + k), triangle(at - first - k))).to_vec()
        }
        Interpolation::Bicubic => {
            let at = centre - 0.5;
            let first = at.floor();
            [-1.0, 0.0, 1.0, 2.0].map(|k| (clamped(first + k), cubic(at - first - k, -0.75))).to_vec()
        }
    }
}

/// Returns the taps of a filter of half-width `reach`, widened by `scale` where the image shrinks; the weights sum to 1
/// also where the image's edge cuts the filter.
fn wide(centre: f64, scale: f64, reach: f64, input: usize, filter: impl Fn(f64) -> f64) -> Vec<(usize, f64)> {
    let stretch = scale.max(1.0);
    let near = |j: &usize| (*j as f64 + 0.5 - centre).abs() < reach * stretch;
    let weights: Vec<(usize, f64)> =
        (0..input).filter(near).map(|j| (j, filter((j as f64 + 0.5 - centre) / stretch))).collect();
    let sum: f64 = weights.iter().map(|(_, weight)| weight).sum();
    weights.into_iter().map(|(j, weight)| (j, weight / sum)).collect()
}

fn triangle(x: f64) -> f64 {
    (1.0 - x.abs()).max(0.0)
}

/// Keys' cubic convolution kernel with the parameter `a`.
fn cubic(x: f64, a: f64) -> f64 {
    let x = x.abs();
    match x {
        _ if x <= 1.0 => (a + 2.0) * x.powi(3) - (a + 3.0) * x.powi(2) + 1.0,
        _ if x < 2.0 => a * (x.powi(3) - 5.0 * x.powi(2) + 8.0 * x - 4.0),
        _ => 0.0,
    }
}
