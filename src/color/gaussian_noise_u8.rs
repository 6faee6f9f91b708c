//! Adds normal numbers to numbers of 8 bits, truncated: `gaussian_noise_image` in torchvision's `functional/_misc.py`.

use super::levels::{INTEGERS, level, value};
use super::noise::normals;
use super::{Row, Step, select, split};
use multiversion::multiversion;

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

/// Changes row `y`, all three channels. The planes are arguments: the compiler sees then that they are apart.
#[multiversion(targets("x86_64+avx2"))]
fn add(key: [u32; 2], y: u32, [mean, sigma]: [f32; 2], red: &mut [f32], green: &mut [f32], blue: &mut [f32]) {
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
    add([first, second], row.y as u32, [mean, sigma], red, green, blue);
    if one_channel == 1 {
        green.copy_from_slice(red);
        blue.copy_from_slice(red);
    }
}
