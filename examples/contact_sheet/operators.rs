//! What the sheet shows: each operator by itself.

use super::PICTURE;
use gpufeed::transforms::{
    AdjustGamma, AugMix, AutoAugment, BatchTransform, CenterCrop, CenterCropOrPad, ColorJitter, CustomColor, CutMix,
    ElasticTransform, ErasingValue, FiveCrop, FixedSizeCrop, GaussianBlur, GaussianNoise, Grayscale, HostCode,
    HostImage, HostValues, Interpolation, JPEG, Key, Letterbox, MixUp, MixupMode, Normalize, Pad, PadIfSmaller,
    PaddingMode, PillowGaussianBlur, RandAugment, RandomAdjustSharpness, RandomAffine, RandomApply, RandomAutocontrast,
    RandomChannelPermutation, RandomChoice, RandomCrop, RandomCropOrPad, RandomEqualize, RandomErasing,
    RandomGrayscale, RandomHorizontalFlip, RandomInvert, RandomOrder, RandomPad, RandomPerspective,
    RandomPhotometricDistort, RandomPosterize, RandomResize, RandomResizedCrop, RandomRotation, RandomShortestSize,
    RandomSizeCrop, RandomSolarize, RandomVerticalFlip, RandomZoomOut, Resize, ResizeKeepRatio, ScaleJitter, TenCrop,
    TimmAugMix, TimmAugmentOp, TimmAutoAugment, TimmMixup, TimmOp, TimmRandAugment, ToDtype, Transform, TrimBorder,
    TrivialAugmentWide,
};

/// A list of transforms, or a transform of batches.
pub(crate) struct Shown {
    pub(crate) name: &'static str,
    pub(crate) transforms: Vec<Transform>,
    pub(crate) batch: Option<BatchTransform>,
    /// True if it needs floats.
    pub(crate) floats: bool,
}

/// The operator, and what fixes the size after it.
fn then(operator: impl Into<Transform>, after: Vec<Transform>) -> Shown {
    let operator = operator.into();
    let name = operator.name();
    let transforms = std::iter::once(operator).chain(after).collect();
    Shown { name, transforms, batch: None, floats: false }
}

fn one(operator: impl Into<Transform>) -> Shown {
    // Outputs need a size that every image has: the cell's, which this one has already.
    then(operator, vec![CenterCrop::new((PICTURE.1, PICTURE.0)).into()])
}

fn in_floats(operator: impl Into<Transform>) -> Shown {
    Shown { floats: true, ..one(operator) }
}

fn mixed(batch: impl Into<BatchTransform>) -> Shown {
    let batch: BatchTransform = batch.into();
    let transforms = vec![CenterCrop::new((PICTURE.1, PICTURE.0)).into()];
    Shown { name: batch.name(), transforms, batch: Some(batch), floats: true }
}

/// Every operator, in the README's order.
pub(crate) fn all() -> Vec<Shown> {
    let wgsl = "fn warm(color: vec3<f32>, parameters: vec4<f32>) -> vec3<f32> { return color * vec3(1.1, 1.0, 0.7); }";
    let warm = CustomColor::new("warm", wgsl, |color, _| [color[0] * 1.1, color[1], color[2] * 0.7]);
    let bilinear = Interpolation::Bilinear;
    let solarize = || RandomSolarize::new(128.0).p(1.0);
    vec![
        one(Resize::new((66, 176))),
        one(CenterCrop::new(100)),
        one(RandomCrop::new(96)),
        then(Pad::new(24).padding_mode(PaddingMode::Reflect), vec![Resize::new((PICTURE.1, PICTURE.0)).into()]),
        then(RandomResizedCrop::new((132, 176)).scale(0.2, 0.6), Vec::new()),
        one(RandomHorizontalFlip::new(1.0)),
        one(RandomVerticalFlip::new(1.0)),
        one(RandomResize::new(60, 120)),
        one(RandomShortestSize::new([60, 90, 110])),
        one(ScaleJitter::new((176, 132)).scale_range(0.4, 0.8)),
        one(RandomZoomOut::new(1.0).side_range(1.5, 2.0).fill([90.0; 3])),
        one(ResizeKeepRatio::new((132, 176)).random_aspect(1.0, 0.6, 0.7)),
        one(CenterCropOrPad::new((160, 120)).padding_mode(PaddingMode::Reflect)),
        one(RandomCropOrPad::new((170, 140)).fill([90.0; 3])),
        one(RandomPad::new((170, 220)).fill([90.0; 3])),
        one(TrimBorder::new(24)),
        one(Letterbox::new(110)),
        one(RandomSizeCrop::new(60, 110)),
        one(PadIfSmaller::new((140, 200)).fill([90.0; 3])),
        one(FixedSizeCrop::new((150, 110)).fill([90.0; 3])),
        one(RandomAffine::new(30.0).translate(0.1, 0.1).scale(0.7, 1.2).shear(15.0).interpolation(bilinear)),
        one(RandomRotation::new(40.0).interpolation(bilinear).fill([255.0; 3])),
        one(RandomPerspective::new(0.6).p(1.0)),
        then(FiveCrop::new((90, 120)), Vec::new()),
        then(TenCrop::new((90, 120)), Vec::new()),
        one(ColorJitter::new(0.4, 0.4, 0.4, 0.2)),
        one(AdjustGamma::new(2.2)),
        one(Grayscale::new(3)),
        one(RandomGrayscale::new(1.0)),
        one(RandomInvert::new(1.0)),
        one(solarize()),
        one(RandomPosterize::new(2).p(1.0)),
        one(RandomChannelPermutation::new()),
        one(RandomPhotometricDistort::new(1.0)),
        in_floats(warm),
        in_floats(Normalize::IMAGENET),
        one(GaussianBlur::new(23).sigma(3.0, 3.0)),
        one(RandomAdjustSharpness::new(8.0).p(1.0)),
        one(ElasticTransform::new(200.0, 6.0)),
        one(GaussianNoise::new(0.15)),
        one(JPEG::new(5)),
        one(PillowGaussianBlur::new(3.0, 3.0)),
        one(RandomAutocontrast::new(1.0)),
        one(RandomEqualize::new(1.0)),
        one(RandAugment::new(3, 15)),
        one(TrivialAugmentWide::new()),
        one(AutoAugment::default()),
        one(AugMix::new().severity(9).all_ops(false).chain_depth(1)),
        one(TimmAugmentOp { prob: 1.0, magnitude: 9.0, ..TimmAugmentOp::new(TimmOp::SolarizeAdd) }),
        one(TimmRandAugment::new([TimmOp::Rotate, TimmOp::ColorIncreasing].map(TimmAugmentOp::new))),
        one(TimmAutoAugment::new(vec![vec![TimmAugmentOp { prob: 1.0, ..TimmAugmentOp::new(TimmOp::Desaturate) }]])),
        one(TimmAugMix::new([TimmOp::ShearX, TimmOp::Invert].map(TimmAugmentOp::new))),
        in_floats(RandomErasing::new(1.0).value(ErasingValue::Random)),
        in_floats(RandomErasing::new(1.0).value(ErasingValue::RandomColor).count(3, 3)),
        one(RandomApply::new(1.0, [GaussianBlur::new(9).sigma(2.0, 2.0)])),
        one(RandomChoice::new([Transform::from(solarize()), RandomInvert::new(1.0).into()])),
        one(RandomOrder::new([Transform::from(solarize()), RandomEqualize::new(1.0).into()])),
        one(ToDtype::new()),
        one(HostCode::new("threshold", |mut image: HostImage, _: &Key, _| {
            if let HostValues::U8(levels) = image.values_mut() {
                levels.iter_mut().for_each(|level| *level = if *level < 128 { 0 } else { 255 });
            }
            Ok(image)
        })),
        mixed(MixUp::new(4.0)),
        mixed(CutMix::new(4.0)),
        mixed(TimmMixup::new(4.0, 1.0).mode(MixupMode::Elem)),
    ]
}
