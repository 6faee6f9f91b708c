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

#[multiversion(targets("x86_64+avx2"))]
pub(super) fn gaussian_noise(step: &Step, row: Row, planes: &mut [f32]) {
    let ([first, second, one_channel], [mean, sigma, clip, _]) = (step.integers, step.value);
    let (red, green, blue) = split(planes);
    for (x, ((red, green), blue)) in (0..).zip(red.iter_mut().zip(green).zip(blue)) {
        let [r, g, b] = normals([x, row.y as u32], [first, second], one_channel == 1);
        let noisy = |value: f32, normal: f32| noisy(value, normal, mean, sigma, clip == 1.0);
        (*red, *green, *blue) = (noisy(*red, r), noisy(*green, g), noisy(*blue, b));
    }
}
