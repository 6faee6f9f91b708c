//! Colour operators in both semantics (torchvision's `functional/_color.py`). Floats are computed by `color.rs`; bytes
//! are computed in f32 as torch does, and then cut to whole numbers.

use super::picture::{Picture, Semantics, to_byte};
use super::{Image, color};
use gpufeed::transforms::Op;

/// The gray level of a pixel of three bytes: 0.2989 R + 0.587 G + 0.114 B, cut to a whole number
/// (`_rgb_to_grayscale_image`). torch rounds each multiply-add once.
pub(super) fn gray_byte(picture: &Picture, y: usize, x: usize) -> f64 {
    if picture.shape().0 == 1 {
        return picture.at(0, y, x);
    }
    let [r, g, b] = [0, 1, 2].map(|c| picture.at(c, y, x) as f32);
    f64::from(0.114f32.mul_add(b, 0.587f32.mul_add(g, r * 0.2989)).trunc())
}

/// x · ratio + other · (1 - ratio) for bytes (`_blend`). The second product and the sum are rounded once, together.
pub(super) fn blended(value: f64, other: f64, ratio: f64) -> f64 {
    f64::from((other as f32).mul_add((1.0 - ratio) as f32, value as f32 * ratio as f32))
}

fn is_float(picture: &Picture) -> bool {
    picture.semantics == Semantics::Float
}

/// Applies an op that changes colours; `None` for another op. Factors are those of floats.
pub fn apply(picture: &Picture, op: &Op) -> Option<Picture> {
    Some(match *op {
        Op::Brightness { factor } => adjust_brightness(picture, factor.into()),
        Op::Contrast { factor } => adjust_contrast(picture, factor.into()),
        Op::Saturation { factor } => adjust_saturation(picture, factor.into()),
        Op::Hue { factor } => adjust_hue(picture, factor.into()),
        Op::Grayscale { channels } => rgb_to_grayscale(picture, channels as usize),
        Op::Invert => invert(picture),
        Op::Solarize { threshold } => solarize(picture, threshold.into()),
        Op::AdjustGamma { gamma, gain } => {
            in_floats(picture, |image| color::adjust_gamma(image, gamma.into(), gain.into()))
        }
        Op::Posterize { bits } => posterize(picture, bits),
        Op::PermuteChannels { permutation } => permute_channels(picture, permutation.map(|channel| channel as usize)),
        _ => return None,
    })
}

/// Computes in floats: bytes become floats, and bytes again.
fn in_floats(picture: &Picture, change: impl Fn(&Image) -> Image) -> Picture {
    if is_float(picture) {
        return picture.with_image(change(&picture.image));
    }
    picture.with_image(change(&picture.map(|byte| byte / 255.0).image)).map(|value| to_byte(value.clamp(0.0, 1.0)))
}

/// Multiplies by `factor` (`adjust_brightness_image`).
pub fn adjust_brightness(picture: &Picture, factor: f64) -> Picture {
    if is_float(picture) {
        return picture.with_image(color::brightness(&picture.image, factor));
    }
    picture.truncated(picture.shape(), |c, y, x| f64::from(picture.at(c, y, x) as f32 * factor as f32))
}

/// Blends with the mean of the gray image (`adjust_contrast_image`). The mean of bytes is rounded to f32.
pub fn adjust_contrast(picture: &Picture, factor: f64) -> Picture {
    if is_float(picture) {
        return picture.with_image(color::contrast(&picture.image, factor));
    }
    let (_, height, width) = picture.shape();
    let sum: f64 = (0..height * width).map(|i| gray_byte(picture, i / width, i % width)).sum();
    let mean = sum / (height * width) as f64;
    picture.truncated(picture.shape(), |c, y, x| blended(picture.at(c, y, x), mean, factor))
}

/// Blends with the gray image (`adjust_saturation_image`). One channel stays as it is.
pub fn adjust_saturation(picture: &Picture, factor: f64) -> Picture {
    if picture.shape().0 == 1 {
        return picture.clone();
    }
    if is_float(picture) {
        return picture.with_image(color::saturation(&picture.image, factor));
    }
    picture.truncated(picture.shape(), |c, y, x| blended(picture.at(c, y, x), gray_byte(picture, y, x), factor))
}

/// Shifts the hue by a fraction of a turn (`adjust_hue_image`). One channel stays.
pub fn adjust_hue(picture: &Picture, factor: f64) -> Picture {
    if picture.shape().0 == 1 {
        return picture.clone();
    }
    in_floats(picture, |image| color::hue(image, factor))
}

/// Keeps the upper `bits` bits (`posterize_image`).
pub fn posterize(picture: &Picture, bits: u32) -> Picture {
    if is_float(picture) {
        return picture.with_image(color::posterize(&picture.image, bits));
    }
    let mask = if bits >= 8 { 255 } else { ((1u32 << bits) - 1) << (8 - bits) };
    picture.map(|byte| f64::from(byte as u32 & mask))
}

/// Inverts the values at or above `threshold`, compared in f32 (`solarize_image`).
pub fn solarize(picture: &Picture, threshold: f64) -> Picture {
    let bound = picture.semantics.bound();
    picture.map(|value| if value as f32 >= threshold as f32 { bound - value } else { value })
}

/// The bound minus the value (`invert_image`).
pub fn invert(picture: &Picture) -> Picture {
    picture.map(|value| picture.semantics.bound() - value)
}

/// The gray image in one channel or in three (`rgb_to_grayscale_image`). A gray image stays, or is repeated.
pub fn rgb_to_grayscale(picture: &Picture, channels: usize) -> Picture {
    if is_float(picture) {
        return picture.with_image(color::grayscale(&picture.image, channels));
    }
    let (_, height, width) = picture.shape();
    picture.build((channels, height, width), |_, y, x| gray_byte(picture, y, x))
}

/// Takes channel `permutation[c]` for channel `c` (`permute_channels_image`). One channel stays.
fn permute_channels(picture: &Picture, permutation: [usize; 3]) -> Picture {
    picture.build(picture.shape(), |c, y, x| picture.at(if picture.shape().0 == 1 { 0 } else { permutation[c] }, y, x))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pixel(rgb: [u8; 3]) -> Picture {
        Picture::from_planes((3, 1, 1), &rgb, Semantics::Uint8)
    }

    /// TRANSFORMS.md, section 4: the integer formula holds for all colours but three.
    #[test]
    fn gray_is_the_integer_formula_but_for_three_colours() {
        let mut others = Vec::new();
        for r in 0..=255u32 {
            for g in 0..=255u32 {
                for b in 0..=255u32 {
                    let fused = 0.114f32.mul_add(b as f32, 0.587f32.mul_add(g as f32, r as f32 * 0.2989)) as u32;
                    if fused != (2989 * r + 5870 * g + 1140 * b) / 10000 {
                        others.push((r, g, b));
                    }
                }
            }
        }
        assert_eq!(others, [(250, 9, 228), (250, 13, 146), (250, 47, 199)]);
        assert_eq!(gray_byte(&pixel([250, 9, 228]), 0, 0), 105.0, "one below the formula");
    }

    #[test]
    fn thresholds_of_bytes_are_compared_in_f32() {
        assert_eq!(solarize(&pixel([67, 68, 69]), 255.0 * 0.26666668).image.planes, [67.0, 187.0, 186.0]);
        assert_eq!(solarize(&pixel([254, 255, 0]), 255.0).image.planes, [254.0, 0.0, 0.0]);
    }

    #[test]
    fn no_bits_are_black_and_eight_change_nothing() {
        assert_eq!(posterize(&pixel([1, 128, 255]), 0).image.planes, [0.0; 3]);
        assert_eq!(posterize(&pixel([1, 128, 255]), 8), pixel([1, 128, 255]));
        assert_eq!(posterize(&pixel([127, 128, 255]), 1).image.planes, [0.0, 128.0, 128.0]);
    }
}
