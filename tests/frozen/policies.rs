//! The operators and ops of augmentation policies, warps and neighbourhoods, as files can hold them: with each argument
//! away from its default and with each default.

use crate::operators::{numbered, of_table};
use gpufeed::transforms::{
    Interpolation, Op, Params, PolicyOp, RandomAffine, RandomErasing, RandomResizedCrop, RandomSolarize, ToDtype,
    Transform,
};
use gpufeed::{Recipe, Semantics};

/// The operators of augmentation policies and their kin, as `operators::added` has others.
pub(crate) fn added() -> Vec<(String, Vec<Transform>)> {
    let names = [
        "RandomRotation",
        "RandomAffine",
        "RandomPerspective",
        "GaussianBlur",
        "RandomAdjustSharpness",
        "RandomAutocontrast",
        "RandomEqualize",
        "RandAugment",
        "TrivialAugmentWide",
        "AutoAugment",
        "RandomChoice",
        "RandomOrder",
    ];
    names.map(of_table).into_iter().chain([("to-dtype".to_owned(), vec![ToDtype::new().into()])]).collect()
}

/// A recipe in 8-bit numbers.
pub(crate) fn uint8() -> Recipe {
    let transforms = vec![
        RandomResizedCrop::new(224).into(),
        RandomAffine::new(9.0).fill([124.0, 116.5, 104.0]).into(),
        RandomSolarize::new(128.0).into(),
        ToDtype::new().into(),
        RandomErasing::new(0.1).into(),
    ];
    Recipe { transforms, semantics: Some(Semantics::Uint8), ..Recipe::default() }
}

/// The ops of [`added`].
pub(crate) fn added_params() -> Params {
    let (nearest, bilinear) = (Interpolation::Nearest, Interpolation::Bilinear);
    let (fill, center) = (Some([0.1, 0.2, 0.3]), Some([7.5, 9.0]));
    let mut ops = vec![
        Op::Affine {
            angle: 12.5,
            translate: [-3.0, 4.0],
            scale: 0.8,
            shear: [1.0 / 3.0, -7.0],
            center,
            interpolation: bilinear,
            fill,
        },
        Op::Rotate { angle: -30.125, expand: true, center: None, interpolation: nearest, fill: None },
        Op::Perspective {
            startpoints: [[0, 0], [499, 0], [499, 374], [0, 374]],
            endpoints: [[3, -4], [480, 9], [470, 360], [10, 350]],
            interpolation: bilinear,
            fill: Some([0.0; 3]),
        },
        Op::GaussianBlur { kernel_size: [5, 23], sigma: [0.1, 2.0] },
        Op::Sharpness { factor: 1.9 },
        Op::Autocontrast,
        Op::Equalize,
    ];
    use PolicyOp::{
        AutoContrast, Brightness, Color, Contrast, Equalize, Identity, Invert, Posterize, Rotate, Sharpness, ShearX,
        ShearY, Solarize, TranslateX, TranslateY,
    };
    let all = [
        (Identity, 0.0),
        (ShearX, -0.09),
        (ShearY, 0.3),
        (TranslateX, 27.190_332),
        (TranslateY, -20.39),
        (Rotate, 9.0),
        (Brightness, -0.27),
        (Color, 0.27),
        (Contrast, 0.9),
        (Sharpness, -0.9),
        (Posterize, 7.0),
        (Solarize, 0.7),
        (AutoContrast, 0.0),
        (Equalize, 0.0),
        (Invert, 0.0),
    ];
    ops.extend(all.map(|(id, magnitude)| Op::Policy { id, magnitude, interpolation: nearest, fill: None }));
    numbered(ops)
}
