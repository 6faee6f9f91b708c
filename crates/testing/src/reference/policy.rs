//! The operations of RandAugment and its kin, and AugMix's mixture (torchvision's `transforms/v2/_auto_augment.py`).

use super::affine::{Affine, Rotation, affine, rotate};
use super::neighborhood::adjust_sharpness;
use super::picture::{Picture, Semantics};
use super::pointwise::{adjust_brightness, adjust_contrast, adjust_saturation, invert, posterize, solarize};
use super::sampling::{Fill, Filter};
use super::statistics::{autocontrast, equalize};

/// Applies an operation with its magnitude, which has its sign (`_apply_image_or_video_transform` of
/// `_AutoAugmentBase`).
///
/// # Panics
/// If there is no operation of that name.
pub fn operation(picture: &Picture, id: &str, magnitude: f64, filter: Filter, fill: Fill<'_>) -> Picture {
    let m = magnitude;
    let sheared = |shear| Affine { shear, center: Some([0.0, 0.0]), ..Affine::identity() };
    let moved = |translate| Affine { translate, ..Affine::identity() };
    let warped = |map: Affine| affine(picture, &map, filter, fill);
    match id {
        "Identity" => picture.clone(),
        "ShearX" => warped(sheared([m.atan().to_degrees(), 0.0])),
        "ShearY" => warped(sheared([0.0, m.atan().to_degrees()])),
        "TranslateX" => warped(moved([m.trunc(), 0.0])),
        "TranslateY" => warped(moved([0.0, m.trunc()])),
        "Rotate" => rotate(picture, &Rotation { angle: m, expand: false, center: None }, filter, fill),
        "Brightness" => adjust_brightness(picture, 1.0 + m),
        "Color" => adjust_saturation(picture, 1.0 + m),
        "Contrast" => adjust_contrast(picture, 1.0 + m),
        "Sharpness" => adjust_sharpness(picture, 1.0 + m),
        "Posterize" => posterize(picture, m as u32),
        "Solarize" => solarize(picture, picture.semantics.bound() * m),
        "AutoContrast" => autocontrast(picture),
        "Equalize" => equalize(picture),
        "Invert" => invert(picture),
        other => panic!("no operation {other:?}"),
    }
}

/// Adds the images of AugMix's chains to the image: m0 · image + Σ (weight · m1) · chain, in f32 and in that order
/// (`AugMix.transform`). Bytes are cut to whole numbers.
pub fn mix(picture: &Picture, m: [f64; 2], weights: &[f64], chains: &[Picture]) -> Picture {
    let [m0, m1] = m.map(|share| share as f32);
    picture.build(picture.shape(), |c, y, x| {
        let mixed = weights.iter().zip(chains).fold(m0 * picture.at(c, y, x) as f32, |sum, (weight, chain)| {
            sum + (*weight as f32 * m1) * chain.at(c, y, x) as f32
        });
        match picture.semantics {
            Semantics::Float => mixed.into(),
            Semantics::Uint8 => mixed.trunc().into(),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_translation_is_by_whole_pixels() {
        let picture = Picture::from_planes((1, 1, 4), &[10, 20, 30, 40], Semantics::Uint8);
        let moved = operation(&picture, "TranslateX", -1.9, Filter::Nearest, None);
        assert_eq!(moved.image.planes, [20.0, 30.0, 40.0, 0.0]);
    }

    #[test]
    fn magnitude_zero_of_the_colour_operations_changes_nothing() {
        let picture = Picture::from_planes((3, 1, 2), &[10, 20, 30, 40, 50, 255], Semantics::Uint8);
        for id in ["Identity", "Brightness", "Color", "Contrast", "Sharpness"] {
            assert_eq!(operation(&picture, id, 0.0, Filter::Nearest, None), picture, "{id}");
        }
        // The threshold is the bound, which still inverts white.
        assert_eq!(operation(&picture, "Solarize", 1.0, Filter::Nearest, None).at(2, 0, 1), 0.0);
    }

    #[test]
    fn equal_chains_give_the_image_again() {
        let picture = Picture::from_planes((1, 1, 2), &[16, 240], Semantics::Uint8);
        let chains = [picture.clone(), picture.clone()];
        assert_eq!(mix(&picture, [0.5, 0.5], &[0.5, 0.5], &chains), picture);
    }
}
