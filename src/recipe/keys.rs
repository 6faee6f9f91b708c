//! The values that each key of a `[[transform]]` table accepts, for errors about values of a wrong type. The operators
//! check values of the right type.

use crate::transforms::arguments::MAX_SIDE;

/// Describes the values that work for `key` of the operator `transform`.
pub(super) fn works(transform: &str, key: &str) -> Option<String> {
    let text = match (transform, key) {
        ("Resize", "size") => format!("a short side in pixels or [height, width], each 1 to {MAX_SIDE}, works"),
        (_, "size") => format!("a side in pixels or [height, width], each 1 to {MAX_SIDE}, works"),
        ("RandomResize", "min_size") => format!("1 to {MAX_SIDE} pixels work"),
        (_, "min_size") => format!("pixels or a list of them, each 1 to {MAX_SIDE}, works"),
        ("RandomShortestSize", "max_size") => format!("1 to {MAX_SIDE} pixels work"),
        (_, "target_size") => format!("[width, height], each 1 to {MAX_SIDE}, works"),
        (_, "padding") => format!(
            "pixels, [left and right, top and bottom] or [left, top, right, bottom], each 0 to {MAX_SIDE}, works"
        ),
        _ => return words(transform, key).map(str::to_owned),
    };
    Some(text)
}

/// Describes the values of keys that have no limit of pixels.
fn words(transform: &str, key: &str) -> Option<&'static str> {
    let warps = matches!(
        transform,
        "AugMix"
            | "AutoAugment"
            | "ElasticTransform"
            | "RandAugment"
            | "RandomAffine"
            | "RandomPerspective"
            | "RandomRotation"
            | "TrivialAugmentWide"
    );
    Some(match (transform, key) {
        ("RandomResize", "max_size") => "a whole number of pixels greater than min_size works",
        (_, "scale_range") => "[least, greatest] with 0 < least <= greatest works",
        (_, "side_range") => "[least, greatest] with 1 <= least <= greatest works",
        (_, "max_size") => "a whole number of pixels greater than size works",
        (_, "interpolation") if warps => "Nearest and Bilinear work",
        (_, "fill") if warps => "a number, three of them, or \"None\" works",
        (_, "degrees" | "shear" | "shear_y") => "a number >= 0 or [least, greatest] with least <= greatest works",
        (_, "severity") => "1 to 10 work",
        (_, "mixture_width") => "1 to 64 work",
        (_, "chain_depth") => "1 to 64 work, and -1 for 1 to 3 at random",
        ("ElasticTransform", "alpha") => "a number or [x, y], each -1,000,000 to 1,000,000, works",
        (_, "alpha") => "a finite number > 0 works",
        (_, "num_ops") => "0 to 16 work",
        (_, "magnitude") => "0 to one less than num_magnitude_bins work",
        (_, "num_magnitude_bins") => "2 to 65536 work",
        (_, "policy") => "ImageNet, Cifar10 and Svhn work",
        (_, "center") => "[x, y] in pixels works",
        (_, "translate") => "two shares in [0, 1] work",
        (_, "distortion_scale") => "0 to 1 work",
        (_, "kernel_size") => "an odd number of pixels, or two, [columns, rows], work",
        ("ElasticTransform", "sigma") => {
            "a number or [x, y], each more than 0 and up to 100,000, works, or 0 for both axes"
        }
        ("GaussianNoise", "mean") => "-1,000,000 to 1,000,000 work",
        ("GaussianNoise", "sigma") => "0 to 1,000,000 work",
        (_, "sigma") => "a number > 0 or [least, greatest] with 0 < least <= greatest works",
        (_, "quality") => "1 to 100 or [least, greatest] with 1 <= least <= greatest <= 100 works",
        (_, "sharpness_factor") => "a finite number >= 0 works",
        ("ToDtype", "dtype") => "F32 works",
        ("ToDtype", "scale") => "true works: floats are in [0, 1]",
        ("RandomAffine", "scale") => "[least, greatest] with 0 < least <= greatest works",
        (_, "interpolation") => "Nearest, NearestExact, Bilinear and Bicubic work",
        (_, "padding_mode") => "Constant, Edge, Reflect and Symmetric work",
        (_, "all_ops" | "antialias" | "clip" | "pad_if_needed" | "expand" | "vertical_flip") => "true and false work",
        ("RandomChoice", "p") => "a weight >= 0 for each transform works",
        ("RandomOrder", "transforms") => "1 to 16 tables [[transform.transforms]] work",
        (_, "p") => "0 to 1 work",
        ("RandomErasing", "scale") => "[least, greatest] with 0 <= least <= greatest <= 1 works",
        (_, "scale") => "[least, greatest] with 0 <= least <= greatest works",
        (_, "ratio") => "[least, greatest] with 0 < least <= greatest works",
        ("RandomPhotometricDistort", "brightness" | "contrast" | "saturation") => {
            "[least, greatest] with 0 <= least <= greatest works"
        }
        ("RandomPhotometricDistort", "hue") => "[least, greatest] in [-0.5, 0.5] works",
        (_, "brightness" | "contrast" | "saturation") => {
            "a number >= 0 or [least, greatest] with 0 <= least <= greatest works"
        }
        (_, "hue") => "a number in [0, 0.5] or [least, greatest] in [-0.5, 0.5] works",
        (_, "threshold") => "0 to 1 work",
        (_, "gamma") => "a finite number >= 0 works",
        (_, "gain") => "a finite number works",
        (_, "bits") => "0 to 8 work",
        (_, "num_output_channels") => "1 and 3 work",
        (_, "mean" | "fill") => "three finite numbers work",
        (_, "std") => "three finite numbers other than 0 work",
        (_, "value") => "a finite number, three of them, or \"random\" works",
        (_, "transforms") => "1 to 255 tables [[transform.transforms]] work",
        _ => return None,
    })
}

/// Describes the values that work for `key` of a transform of batches.
pub(super) fn works_for_batches(key: &str) -> Option<String> {
    let text = match key {
        "alpha" => "a finite number > 0 works",
        "partner" => "Previous and Reversed work",
        "p" => "a list of one finite number >= 0 for each transform works, not all 0",
        "transforms" => "1 to 255 tables [[batch_transform.transforms]] work",
        _ => return None,
    };
    Some(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::{works, works_for_batches};
    use crate::transforms::{
        AdjustGamma, AugMix, AutoAugment, BatchTransform, CenterCrop, ColorJitter, CutMix, ElasticTransform, FiveCrop,
        GaussianBlur, GaussianNoise, Grayscale, JPEG, MixUp, Normalize, Pad, RandAugment, RandomAdjustSharpness,
        RandomAffine, RandomApply, RandomAutocontrast, RandomChannelPermutation, RandomChoice, RandomCrop,
        RandomEqualize, RandomErasing, RandomGrayscale, RandomHorizontalFlip, RandomInvert, RandomOrder,
        RandomPerspective, RandomPhotometricDistort, RandomPosterize, RandomResize, RandomResizedCrop, RandomRotation,
        RandomShortestSize, RandomSolarize, RandomVerticalFlip, RandomZoomOut, Resize, ScaleJitter, TenCrop, ToDtype,
        Transform, TrivialAugmentWide,
    };

    #[test]
    fn every_key_of_every_operator_says_what_works() {
        let all: [Transform; 42] = [
            AdjustGamma::new(2.2).into(),
            CenterCrop::new(1).into(),
            ColorJitter::default().into(),
            ElasticTransform::default().into(),
            FiveCrop::new(1).into(),
            Grayscale::default().into(),
            JPEG::new(50).into(),
            Normalize::IMAGENET.into(),
            Pad::new(1).into(),
            RandomApply::new(0.5, [CenterCrop::new(1)]).into(),
            RandomChannelPermutation::new().into(),
            RandomCrop::new(1).padding(1).into(),
            RandomErasing::default().into(),
            RandomGrayscale::default().into(),
            RandomHorizontalFlip::default().into(),
            RandomInvert::default().into(),
            RandomPhotometricDistort::default().into(),
            RandomPosterize::new(1).into(),
            RandomResize::new(1, 2).into(),
            RandomResizedCrop::new(1).into(),
            RandomShortestSize::new([1]).max_size(1).into(),
            RandomSolarize::new(0.5).into(),
            RandomVerticalFlip::default().into(),
            RandomZoomOut::default().into(),
            Resize::new(1).max_size(2).into(),
            GaussianBlur::new(3).into(),
            GaussianNoise::default().into(),
            RandomAdjustSharpness::new(2.0).into(),
            RandomAffine::new(1.0).translate(0.1, 0.1).scale(0.5, 1.5).shear(1.0).shear_y(1.0).center(1.0, 1.0).into(),
            RandomAutocontrast::default().into(),
            RandomEqualize::default().into(),
            RandomPerspective::default().into(),
            RandomRotation::new(1.0).center(1.0, 1.0).into(),
            ToDtype::new().into(),
            AugMix::default().into(),
            AutoAugment::default().into(),
            RandomChoice::new([CenterCrop::new(1)]).p([1.0]).into(),
            RandomOrder::new([CenterCrop::new(1)]).into(),
            RandAugment::default().into(),
            TrivialAugmentWide::default().into(),
            ScaleJitter::new((1, 1)).into(),
            TenCrop::new(1).into(),
        ];
        for transform in all {
            let toml::Value::Table(table) = toml::Value::try_from(&transform).unwrap() else { panic!("{transform:?}") };
            for key in table.keys().filter(|key| *key != "type") {
                assert!(works(transform.name(), key).is_some(), "{}.{key}", transform.name());
            }
        }
    }

    #[test]
    fn every_key_of_every_transform_of_batches_says_what_works() {
        let choice = BatchTransform::choice([MixUp::new(1.0).into()]).p([1.0]);
        for transform in [MixUp::new(1.0).into(), CutMix::new(1.0).into(), BatchTransform::RandomChoice(choice)] {
            let toml::Value::Table(table) = toml::Value::try_from(&transform).unwrap() else { panic!("{transform:?}") };
            for key in table.keys().filter(|key| *key != "type") {
                assert!(works_for_batches(key).is_some(), "{}.{key}", transform.name());
            }
        }
    }
}
