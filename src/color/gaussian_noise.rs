//! Adds normal numbers, which are truncated for numbers of 8 bits: `gaussian_noise_image` in torchvision's
//! `functional/_misc.py`.

use super::levels::{INTEGERS, level, value};
use super::noise::normals;
use super::{Row, Step, clamp, select, split};
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

/// The number `level` with noise; `mean` and `sigma` are in 0 to 255. torch rounds the product and the sum, and truncates.
#[inline(always)]
pub(crate) fn noisy_u8(level: f32, normal: f32, mean: f32, sigma: f32) -> f32 {
    // Noise of more than 255 makes any number black or white.
    let noise = (mean + normal * sigma).clamp(-256.0, 256.0);
    let size = noise.abs();
    let nearest = (size + INTEGERS) - INTEGERS;
    let whole = select(nearest > size, nearest - 1.0, nearest);
    (level + whole.copysign(noise)).clamp(0.0, 255.0)
}

/// As `add`, on numbers of 8 bits.
#[multiversion(targets("x86_64+avx2"))]
fn add_u8(key: [u32; 2], y: u32, [mean, sigma]: [f32; 2], red: &mut [f32], green: &mut [f32], blue: &mut [f32]) {
    for (x, ((red, green), blue)) in (0..).zip(red.iter_mut().zip(green).zip(blue)) {
        let [r, g, b] = normals([x, y], key);
        *red = value(noisy_u8(level(*red), r, mean, sigma));
        *green = value(noisy_u8(level(*green), g, mean, sigma));
        *blue = value(noisy_u8(level(*blue), b, mean, sigma));
    }
}

pub(super) fn gaussian_noise_u8(step: &Step, row: Row, planes: &mut [f32]) {
    let ([first, second, one_channel], [mean, sigma, ..]) = (step.integers, step.value);
    let (red, green, blue) = split(planes);
    add_u8([first, second], row.y as u32, [mean, sigma], red, green, blue);
    if one_channel == 1 {
        green.copy_from_slice(red);
        blue.copy_from_slice(red);
    }
}
