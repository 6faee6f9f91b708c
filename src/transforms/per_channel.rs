//! The numbers of which operators have one for each of three channels.

use super::{ErasingValue, Fill, PaddingMode, Transform};

/// An argument's name and its numbers.
type Numbers = (&'static str, [f32; 3]);

fn of_fill(fill: Fill) -> Vec<Numbers> {
    fill.color().map(|color| ("fill", color)).into_iter().collect()
}

fn of_border(mode: PaddingMode, fill: [f32; 3]) -> Vec<Numbers> {
    if mode == PaddingMode::Constant { vec![("fill", fill)] } else { Vec::new() }
}

impl Transform {
    /// The arguments with a number for each channel, those that are in use. Operators inside of this one have their own.
    pub(crate) fn per_channel(&self) -> Vec<Numbers> {
        match self {
            Transform::Normalize(normalize) => vec![("mean", normalize.mean), ("std", normalize.std)],
            Transform::Pad(pad) => of_border(pad.padding_mode, pad.fill),
            Transform::RandomCrop(crop) if crop.padding.is_some() || crop.pad_if_needed => {
                of_border(crop.padding_mode, crop.fill)
            }
            Transform::CenterCropOrPad(crop) => of_border(crop.padding_mode, crop.fill),
            Transform::RandomCropOrPad(crop) => of_border(crop.padding_mode, crop.fill),
            Transform::PadIfSmaller(pad) => of_border(pad.padding_mode, pad.fill),
            Transform::FixedSizeCrop(crop) => of_border(crop.padding_mode, crop.fill),
            Transform::Letterbox(letterbox) => letterbox.fill.map(|fill| ("fill", fill)).into_iter().collect(),
            Transform::RandomPad(pad) => vec![("fill", pad.fill)],
            Transform::RandomZoomOut(zoom) => vec![("fill", zoom.fill)],
            Transform::RandomErasing(erasing) => match erasing.value {
                ErasingValue::Channels(values) => vec![("value", values)],
                ErasingValue::All(_) | ErasingValue::Random | ErasingValue::RandomColor => Vec::new(),
            },
            Transform::AugMix(policy) => of_fill(policy.fill),
            Transform::AutoAugment(policy) => of_fill(policy.fill),
            Transform::RandAugment(policy) => of_fill(policy.fill),
            Transform::TrivialAugmentWide(policy) => of_fill(policy.fill),
            Transform::TimmAugmentOp(op) => vec![("fill", op.fill)],
            Transform::TimmAugMix(policy) => policy.ops.iter().map(|op| ("fill", op.fill)).collect(),
            Transform::TimmAutoAugment(policy) => policy.policy.iter().flatten().map(|op| ("fill", op.fill)).collect(),
            Transform::TimmRandAugment(policy) => policy.ops.iter().map(|op| ("fill", op.fill)).collect(),
            Transform::ElasticTransform(elastic) => of_fill(elastic.fill),
            Transform::RandomAffine(affine) => of_fill(affine.fill),
            Transform::RandomPerspective(perspective) => of_fill(perspective.fill),
            Transform::RandomRotation(rotation) => of_fill(rotation.fill),
            _ => Vec::new(),
        }
    }
}
