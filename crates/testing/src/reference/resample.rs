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
    resize_bound([image, image], (height, width), interpolation, antialias, [0.0; 2])[0].clone()
}

/// Resizes two images; negative weights multiply the pixels of the other one. So a lower and an upper bound of an image
/// become those of the result, where places may be off by `errors` input pixels, down and across.
pub(super) fn resize_bound(
    images: [&Image; 2],
    (height, width): (usize, usize),
    interpolation: Interpolation,
    antialias: bool,
    errors: [f64; 2],
) -> [Image; 2] {
    let (channels, rows, columns) = images[0].shape();
    if (height, width) == (rows, columns) {
        return images.map(Image::clone);
    }
    // Between pixels a value rises or falls with the place: it is the least or the greatest at an end, or on a pixel.
    let taps = |input: usize, output: usize, error: f64| -> Vec<Vec<Vec<(usize, f64)>>> {
        let moved = if error == 0.0 { vec![0.0] } else { vec![0.0, -error, error] };
        let of = |i: usize| moved.iter().map(|by| taps(i, (input, output), interpolation, antialias, *by)).collect();
        (0..output).map(of).collect()
    };
    let (across, down) = (taps(columns, width, errors[1]), taps(rows, height, errors[0]));
    let sum = |places: &[Vec<(usize, f64)>], bound: usize, value: &dyn Fn(bool, usize) -> f64| {
        let sums = places
            .iter()
            .map(|taps| -> f64 { taps.iter().map(|&(from, weight)| weight * value(weight < 0.0, from)).sum() });
        sums.reduce(if bound == 0 { f64::min } else { f64::max }).expect("at least one place")
    };
    let of = |images: [&Image; 2], bound: usize, negative: bool, at: (usize, usize, usize)| {
        images[if negative { 1 - bound } else { bound }].at(at.0, at.1, at.2)
    };
    let wide = [0, 1].map(|bound| {
        Image::build((channels, rows, width), |c, y, x| {
            sum(&across[x], bound, &|negative, from| of(images, bound, negative, (c, y, from)))
        })
    });
    [0, 1].map(|bound| {
        Image::build((channels, height, width), |c, y, x| {
            sum(&down[y], bound, &|negative, from| of([&wide[0], &wide[1]], bound, negative, (c, from, x)))
        })
    })
}

/// Returns the input pixels, with their weights, whose sum is output pixel `i`, at a place `moved` input pixels further on.
pub(super) fn taps(
    i: usize,
    (input, output): (usize, usize),
    interpolation: Interpolation,
    antialias: bool,
    moved: f64,
) -> Vec<(usize, f64)> {
    let scale = input as f64 / output as f64;
    let centre = (i as f64 + 0.5) * scale + moved;
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
