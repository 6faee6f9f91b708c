//! Adds normal numbers: the native twin of `shaders/color/gaussian_noise.wgsl`.

use super::noise::normals;
use super::{Row, Step, clamp, split};
use multiversion::multiversion;

/// A value with noise.
#[inline(always)]
pub(crate) fn noisy(value: f32, normal: f32, mean: f32, sigma: f32, clip: bool) -> f32 {
    let noisy = value + (mean + sigma * normal);
    super::select(clip, clamp(noisy), noisy)
}

/// Changes row `y`, all three channels. The planes are arguments: the compiler sees then that they are apart.
#[multiversion(targets("x86_64+avx2"))]
fn add(
    key: [u32; 2],
    y: u32,
    ([mean, sigma], clip): ([f32; 2], bool),
    red: &mut [f32],
    green: &mut [f32],
    blue: &mut [f32],
) {
    for (x, ((red, green), blue)) in (0..).zip(red.iter_mut().zip(green).zip(blue)) {
        let [r, g, b] = normals([x, y], key);
        *red = noisy(*red, r, mean, sigma, clip);
        *green = noisy(*green, g, mean, sigma, clip);
        *blue = noisy(*blue, b, mean, sigma, clip);
    }
}

pub(super) fn gaussian_noise(step: &Step, row: Row, planes: &mut [f32]) {
    let ([first, second, one_channel], [mean, sigma, clip, _]) = (step.integers, step.value);
    let (red, green, blue) = split(planes);
    add([first, second], row.y as u32, ([mean, sigma], clip == 1.0), red, green, blue);
    if one_channel == 1 {
        green.copy_from_slice(red);
        blue.copy_from_slice(red);
    }
}
