//! The values that each key of a `[[transform]]` table accepts, for errors about values of a wrong type. Keys of one
//! operator alone are beside it (`Operator::KEYS`). The operators check values of the right type.

use crate::transforms::Transform;
use crate::transforms::arguments::MAX_SIDE;

/// Describes the values that work for `key` of the operator `transform`.
pub(super) fn works(transform: &str, key: &str) -> Option<String> {
    if let Some(works) = Transform::own_key(transform, key) {
        return Some(works.to_owned());
    }
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
        (_, "max_size") => "a whole number of pixels greater than size works",
        ("ElasticTransform" | "RandomPerspective", "interpolation") => "Nearest and Bilinear work",
        (_, "interpolation") if warps => "Nearest, Bilinear and Bicubic work",
        (_, "fill") if warps => "a number, three of them, or \"None\" works",
        (_, "degrees" | "shear" | "shear_y") => "a number >= 0 or [least, greatest] with least <= greatest works",
        (_, "alpha") => "a finite number > 0 works",
        (_, "num_magnitude_bins") => "2 to 65536 work",
        (_, "center") => "[x, y] in pixels works",
        (_, "kernel_size") => "an odd number of pixels, or two, [columns, rows], work",
        (_, "sigma") => "a number > 0 or [least, greatest] with 0 < least <= greatest works",
        (_, "interpolation") => "Nearest, NearestExact, Bilinear and Bicubic work",
        (_, "padding_mode") => "Constant, Edge, Reflect and Symmetric work",
        (_, "all_ops" | "antialias" | "clip" | "pad_if_needed" | "expand" | "vertical_flip") => "true and false work",
        (_, "p") => "0 to 1 work",
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
        (_, "mean" | "fill") => "three finite numbers work",
        (_, "transforms") => "1 to 255 tables [[transform.transforms]] work",
        _ => return None,
    })
}

/// Describes the values that work for `key` of a transform of batches.
pub(super) fn works_for_batches(key: &str) -> Option<String> {
    let text = match key {
        "alpha" => "a finite number > 0 works",
        "partner" => "Previous and Reversed work",
        "mixup_alpha" | "cutmix_alpha" => "a finite number >= 0 works",
        "cutmix_minmax" => "[least, greatest] with 0 <= least < greatest <= 1 works",
        "prob" | "switch_prob" => "0 to 1 work",
        "mode" => "\"batch\", \"pair\" and \"elem\" work",
        "correct_lam" => "true and false work",
        "label_smoothing" => "0 to below 1 work",
        "p" => "a list of one finite number >= 0 for each transform works, not all 0",
        "transforms" => "1 to 255 tables [[batch_transform.transforms]] work",
        _ => return None,
    };
    Some(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::{works, works_for_batches};
    use crate::transforms::{BatchTransform, CutMix, MixUp};
    use gpufeed_testing::operators::OPERATORS;

    #[test]
    fn every_key_of_every_operator_says_what_works() {
        for operator in OPERATORS {
            for text in operator.recipes() {
                let recipe: toml::Table = text.parse().unwrap();
                for key in recipe["transform"][0].as_table().unwrap().keys().filter(|key| *key != "type") {
                    assert!(works(operator.name, key).is_some(), "{}.{key}", operator.name);
                }
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
