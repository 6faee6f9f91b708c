//! Every operator with every argument, and every op with every number, as files can hold them.
//!
//! An operator that is added has the list of its row in `crates/testing/src/operators.rs`: its file and lines are new,
//! so no frozen one changes.

use gpufeed::targets::{BoxFormat, Clamping, ObjectOp, SanitizeBoxes};
use gpufeed::transforms::{
    BatchTransform, CenterCrop, ColorJitter, CutMix, Erased, ErasingValue, FiveCrop, Grayscale, Identity,
    Interpolation, Mix, MixUp, Mixed, MixupMode, Normalize, Op, Pad, PaddingMode, Params, ParamsOp, Partner,
    RandomApply, RandomChannelPermutation, RandomCrop, RandomErasing, RandomGrayscale, RandomHorizontalFlip,
    RandomInvert, RandomPosterize, RandomResizedCrop, RandomSolarize, RandomVerticalFlip, Resize, TenCrop, TimmMixup,
    Transform,
};
use gpufeed::{DType, Layout, Output, Recipe};
use gpufeed_testing::operators::{FIRST, OPERATORS, examples};

/// The operators of the first frozen version, each argument away from its default.
pub(crate) fn recipe() -> Recipe {
    Recipe {
        name: "every operator".into(),
        description: "no \"use\"\nfor training".into(),
        transforms: transforms(),
        output: Some(Output { layout: Layout::Nhwc, dtype: DType::F16 }),
        semantics: None,
        arrangement: None,
        views: 3,
        batch_transform: None,
        mosaic: None,
        groups: Vec::new(),
    }
}

fn transforms() -> Vec<Transform> {
    let inner: Transform = RandomApply::new(0.4, [RandomSolarize::new(0.3)]).into();
    vec![
        Resize::new((140, 150)).interpolation(Interpolation::Bicubic).antialias(false).into(),
        Resize::new(130).max_size(144).interpolation(Interpolation::NearestExact).into(),
        Pad::new(3).into(),
        Pad::new([1, 2, 3, 4]).fill([0.1, 0.2, 0.3]).padding_mode(PaddingMode::Reflect).into(),
        RandomCrop::new((88, 87)).padding([2, 3]).fill([0.7; 3]).pad_if_needed(true).into(),
        RandomCrop::new(76).padding_mode(PaddingMode::Symmetric).into(),
        RandomResizedCrop::new((65, 64)).scale(0.3, 0.9).ratio(0.9, 1.3).antialias(false).into(),
        RandomHorizontalFlip::new(0.3).into(),
        RandomVerticalFlip::new(0.7).into(),
        ColorJitter::new(0.1, (0.5, 1.5), 0.3, (-0.1, 0.2)).into(),
        RandomApply::new(0.6, [ColorJitter::new(0.4, 0.0, 0.0, 0.5).into(), inner]).into(),
        RandomGrayscale::new(0.15).into(),
        RandomInvert::new(0.25).into(),
        RandomSolarize::new(0.4).p(0.35).into(),
        RandomPosterize::new(3).p(0.45).into(),
        RandomChannelPermutation::new().into(),
        RandomErasing::new(0.55).scale(0.1, 0.2).ratio(0.5, 2.0).value([0.1, 0.9, 0.5]).into(),
        RandomErasing::new(0.65).value(ErasingValue::Random).into(),
        CenterCrop::new((60, 62)).into(),
        Grayscale::new(1).into(),
        Normalize::new([0.485, 0.1307, 1e-7], [0.229, -1.0, 3e10]).into(),
    ]
}

/// The operators that were added later: names of files and lines, and lists with each argument away from its default
/// and with each default.
pub(crate) fn added() -> Vec<(String, Vec<Transform>)> {
    let five_crop: Vec<Transform> =
        vec![RandomResizedCrop::new(90).into(), FiveCrop::new((70, 80)).into(), Normalize::IMAGENET.into()];
    let mut added: Vec<_> = [
        "AdjustGamma",
        "RandomResize",
        "RandomShortestSize",
        "ScaleJitter",
        "RandomZoomOut",
        "RandomPhotometricDistort",
    ]
    .map(of_table)
    .into();
    added.push(("five-crop".to_owned(), five_crop));
    added.extend(["GaussianNoise", "ElasticTransform", "JPEG"].map(of_table));
    added.push(("ten-crop".to_owned(), vec![TenCrop::new(200).into()]));
    added.push(("ten-crop-vertical".to_owned(), vec![TenCrop::new((200, 190)).vertical_flip(true).into()]));
    added
}

/// The operators whose rows were added to the table after its first ones.
pub(crate) fn later() -> impl Iterator<Item = (String, Vec<Transform>)> {
    OPERATORS[FIRST..].iter().map(|operator| of_table(operator.name))
}

/// The examples of an operator, `RandomResize`, and their name, `random-resize`.
pub(crate) fn of_table(name: &str) -> (String, Vec<Transform>) {
    let mut kebab = String::new();
    for (before, letter) in std::iter::once('A').chain(name.chars()).zip(name.chars()) {
        if letter.is_uppercase() && before.is_lowercase() {
            kebab.push('-');
        }
        kebab.extend(letter.to_lowercase());
    }
    (kebab, examples(name))
}

/// Every batch transform, with each argument away from its default and with each default.
pub(crate) fn mixing() -> Recipe {
    let all = [
        MixUp::new(0.8).partner(Partner::Reversed).into(),
        CutMix::new(0.25).partner(Partner::Previous).into(),
        BatchTransform::choice([MixUp::default().into(), CutMix::default().into()]).into(),
        Identity {}.into(),
    ];
    let choice = BatchTransform::choice(all).p([0.5, 1.0, 1.5, 0.0]);
    let transforms = vec![CenterCrop::new(224).into()];
    Recipe { transforms, batch_transform: Some(choice.into()), ..Recipe::default() }
}

/// timm's transform of batches, with each argument away from its default and with each default.
pub(crate) fn timm_mixup() -> Recipe {
    let each = TimmMixup::new(0.8, 0.3).cutmix_minmax(0.2, 0.75).prob(0.9).switch_prob(0.4).mode(MixupMode::Elem);
    let all = [
        each.correct_lam(false).label_smoothing(0.1).into(),
        TimmMixup::new(0.0, 1.0).mode(MixupMode::Pair).into(),
        TimmMixup::new(1.0, 0.0).into(),
    ];
    let transforms = vec![CenterCrop::new(224).into()];
    Recipe { transforms, batch_transform: Some(BatchTransform::choice(all).into()), ..Recipe::default() }
}

/// Parameters of mixed images.
pub(crate) fn mixed_params() -> [Params; 2] {
    let mixes = [
        Mix::MixUp { lambda: 0.568 },
        Mix::CutMix { top: 1, left: 2, height: 30, width: 40, lambda: 0.976_083_984_375 },
    ];
    mixes.map(|mix| {
        let partner = Mixed { mix, index: 7, id: u64::MAX, params: added_params() };
        Params { mixed: Some(Box::new(partner)), ..added_params() }
    })
}

/// The ops of the operators that were added later.
pub(crate) fn added_params() -> Params {
    numbered(vec![Op::AdjustGamma { gamma: 2.2, gain: 1.0 }, Op::AdjustGamma { gamma: 0.45, gain: 1.25 }])
}

/// The ops of the operators that were added after those.
pub(crate) fn later_params() -> Params {
    numbered(vec![
        Op::GaussianNoise { mean: 0.0, sigma: 0.1, clip: true, key: [1, u32::MAX] },
        Op::GaussianNoise { mean: -0.5, sigma: 0.25, clip: false, key: [0, 2] },
        Op::Jpeg { quality: 75 },
        Op::Elastic {
            alpha: [50.0, 20.5],
            sigma: [5.0, 2.5],
            key: [u32::MAX, 7],
            interpolation: Interpolation::Bilinear,
            fill: Some([0.0; 3]),
        },
        Op::Elastic {
            alpha: [-1.0, 0.0],
            sigma: [0.0; 2],
            key: [1, 2],
            interpolation: Interpolation::Nearest,
            fill: None,
        },
    ])
}

/// The ops that change objects alone.
pub(crate) fn object_params() -> Params {
    let sanitize = SanitizeBoxes { min_size: 1.0, min_area: 2.5 };
    let ops = [
        ObjectOp::ClampBoundingBoxes,
        ObjectOp::ClampKeyPoints,
        ObjectOp::ConvertBoundingBoxFormat { format: BoxFormat::Cxcywh },
        ObjectOp::EmptyOutside { left: 1, top: 2, width: 3, height: 4 },
        ObjectOp::SanitizeBoundingBoxes(sanitize),
        ObjectOp::SanitizeKeyPoints,
        ObjectOp::SetClampingMode { clamping_mode: Clamping::None },
    ];
    numbered(ops.map(Op::Objects).to_vec())
}

/// The ops of objects that were added later.
pub(crate) fn later_object_params() -> Params {
    numbered(vec![Op::Objects(ObjectOp::SanitizeVisibility { min_visibility: 0.25 })])
}

/// The ops of the first frozen version; they need not fit together.
pub(crate) fn params() -> Params {
    let fill = [0.1, 0.2, 0.3];
    let ops = vec![
        Op::Crop { top: 1, left: 2, height: 300, width: 400 },
        Op::Pad { left: 1, top: 2, right: 3, bottom: 4, mode: PaddingMode::Constant, fill },
        Op::Pad { left: 0, top: 0, right: 0, bottom: 9, mode: PaddingMode::Edge, fill: [0.0; 3] },
        Op::Pad { left: 5, top: 6, right: 7, bottom: 8, mode: PaddingMode::Reflect, fill: [1.0; 3] },
        Op::Pad { left: 5, top: 6, right: 7, bottom: 8, mode: PaddingMode::Symmetric, fill: [-1.5e-7; 3] },
        Op::Resize { height: 60, width: 70, interpolation: Interpolation::Nearest, antialias: true },
        Op::Resize { height: 61, width: 71, interpolation: Interpolation::NearestExact, antialias: false },
        Op::Resize { height: 62, width: 72, interpolation: Interpolation::Bilinear, antialias: true },
        Op::Resize { height: 63, width: 73, interpolation: Interpolation::Bicubic, antialias: false },
        Op::HorizontalFlip,
        Op::VerticalFlip,
        Op::Brightness { factor: 1.1 },
        Op::Contrast { factor: 0.3 },
        Op::Saturation { factor: 1.0 / 3.0 },
        Op::Hue { factor: -0.25 },
        Op::Grayscale { channels: 3 },
        Op::Invert,
        Op::Solarize { threshold: 0.7 },
        Op::Posterize { bits: 5 },
        Op::PermuteChannels { permutation: [2, 0, 1] },
        Op::Custom { parameters: [0.5, -2.0, 1e-30, 3e30] },
        Op::Erase { top: 3, left: 4, height: 5, width: 6, value: Erased::Color(fill) },
        Op::Erase { top: 3, left: 4, height: 5, width: 6, value: Erased::Noise { key: [1, u32::MAX] } },
        Op::Normalize { mean: [0.485, 0.456, 0.406], std: [0.229, 0.224, 0.225] },
    ];
    numbered(ops)
}

pub(crate) fn numbered(ops: Vec<Op>) -> Params {
    let ops = (0..).zip(ops).map(|(slot, op)| ParamsOp { slot, op });
    Params { width: 500, height: 375, ops: ops.collect(), ..Params::default() }
}
