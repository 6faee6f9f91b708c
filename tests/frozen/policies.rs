//! The operators and ops of augmentation policies, warps and neighbourhoods, as files can hold them: with each argument
//! away from its default and with each default.

use crate::operators::numbered;
use gpufeed::transforms::{
    AutoAugment, AutoAugmentPolicy, Fill, GaussianBlur, Interpolation, Op, Params, PolicyOp, RandAugment,
    RandomAdjustSharpness, RandomAffine, RandomAutocontrast, RandomChoice, RandomEqualize, RandomErasing, RandomInvert,
    RandomOrder, RandomPerspective, RandomResizedCrop, RandomRotation, RandomSolarize, ToDtype, Transform,
    TrivialAugmentWide,
};
use gpufeed::{Recipe, Semantics};

/// The operators of augmentation policies and their kin, as `operators::added` has others.
pub(crate) fn added() -> Vec<(&'static str, Vec<Transform>)> {
    let bilinear = Interpolation::Bilinear;
    let three = || -> [Transform; 3] {
        [RandomEqualize::new(0.3).into(), RandAugment::default().into(), RandomInvert::new(1.0).into()]
    };
    vec![
        (
            "random-rotation",
            vec![
                RandomRotation::new(30.0).into(),
                RandomRotation::new((-5.0, 90.0))
                    .interpolation(bilinear)
                    .expand(true)
                    .center(7.5, 9.0)
                    .fill(0.25)
                    .into(),
            ],
        ),
        (
            "random-affine",
            vec![
                RandomAffine::new(15.0).into(),
                RandomAffine::new((1.0, 2.0))
                    .translate(0.1, 0.2)
                    .scale(0.8, 1.25)
                    .shear(10.0)
                    .shear_y((-3.0, 4.0))
                    .interpolation(bilinear)
                    .fill([0.1, 0.2, 0.3])
                    .center(1.0, 2.5)
                    .into(),
            ],
        ),
        (
            "random-perspective",
            vec![
                RandomPerspective::default().into(),
                RandomPerspective::new(0.75).p(0.25).interpolation(Interpolation::Nearest).fill(Fill::None).into(),
            ],
        ),
        ("gaussian-blur", vec![GaussianBlur::new(23).into(), GaussianBlur::new(5).sigma(0.5, 1.5).into()]),
        (
            "random-adjust-sharpness",
            vec![RandomAdjustSharpness::new(2.0).into(), RandomAdjustSharpness::new(0.5).p(0.25).into()],
        ),
        ("random-autocontrast", vec![RandomAutocontrast::default().into(), RandomAutocontrast::new(0.25).into()]),
        ("random-equalize", vec![RandomEqualize::default().into(), RandomEqualize::new(0.25).into()]),
        (
            "rand-augment",
            vec![
                RandAugment::default().into(),
                RandAugment { num_magnitude_bins: 20, ..RandAugment::new(3, 12) }
                    .interpolation(bilinear)
                    .fill([0.1, 0.2, 0.3])
                    .into(),
            ],
        ),
        (
            "trivial-augment-wide",
            vec![
                TrivialAugmentWide::new().into(),
                TrivialAugmentWide::new().num_magnitude_bins(11).interpolation(bilinear).fill(0.5).into(),
            ],
        ),
        (
            "auto-augment",
            vec![
                AutoAugment::default().into(),
                AutoAugment::new(AutoAugmentPolicy::Cifar10).interpolation(bilinear).fill(0.5).into(),
                AutoAugment::new(AutoAugmentPolicy::Svhn).into(),
            ],
        ),
        (
            "random-choice",
            vec![RandomChoice::new(three()).into(), RandomChoice::new(three()).p([0.5, 0.0, 2.0]).into()],
        ),
        ("random-order", vec![RandomOrder::new(three()).into()]),
        ("to-dtype", vec![ToDtype::new().into()]),
    ]
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
