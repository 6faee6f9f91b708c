//! Random lists where images have one channel: their three numbers become equal, as plans ask for it.

use gpufeed::transforms::{ErasingValue, Fill, Transform};

/// Makes equal the three numbers of each transform that gets images of one channel, of a list for images of so many.
pub fn for_channels(mut channels: u32, mut transforms: Vec<Transform>) -> Vec<Transform> {
    for transform in &mut transforms {
        if channels == 1 {
            equalise(transform);
        }
        if let Transform::Grayscale(grayscale) = transform {
            channels = grayscale.num_output_channels;
        }
    }
    transforms
}

fn equalise(transform: &mut Transform) {
    let first = |numbers: &mut [f32; 3]| *numbers = [numbers[0]; 3];
    match transform {
        Transform::Normalize(normalize) => [&mut normalize.mean, &mut normalize.std].into_iter().for_each(first),
        Transform::Pad(pad) => first(&mut pad.fill),
        Transform::RandomCrop(crop) => first(&mut crop.fill),
        Transform::CenterCropOrPad(crop) => first(&mut crop.fill),
        Transform::RandomCropOrPad(crop) => first(&mut crop.fill),
        Transform::PadIfSmaller(pad) => first(&mut pad.fill),
        Transform::FixedSizeCrop(crop) => first(&mut crop.fill),
        Transform::Letterbox(letterbox) => letterbox.fill.iter_mut().for_each(first),
        Transform::RandomPad(pad) => first(&mut pad.fill),
        Transform::RandomZoomOut(zoom) => first(&mut zoom.fill),
        Transform::RandomErasing(erasing) => {
            if let ErasingValue::Channels(values) = &mut erasing.value {
                first(values);
            }
        }
        Transform::TimmAugmentOp(op) => first(&mut op.fill),
        Transform::TimmAugMix(policy) => policy.ops.iter_mut().for_each(|op| first(&mut op.fill)),
        Transform::TimmAutoAugment(policy) => policy.policy.iter_mut().flatten().for_each(|op| first(&mut op.fill)),
        Transform::TimmRandAugment(policy) => policy.ops.iter_mut().for_each(|op| first(&mut op.fill)),
        Transform::RandomApply(list) => list.transforms.iter_mut().for_each(equalise),
        Transform::RandomChoice(list) => list.transforms.iter_mut().for_each(equalise),
        Transform::RandomOrder(list) => list.transforms.iter_mut().for_each(equalise),
        _ => {
            if let Some(Fill::Color(color)) = fill_of(transform) {
                first(color);
            }
        }
    }
}

fn fill_of(transform: &mut Transform) -> Option<&mut Fill> {
    match transform {
        Transform::AugMix(policy) => Some(&mut policy.fill),
        Transform::AutoAugment(policy) => Some(&mut policy.fill),
        Transform::RandAugment(policy) => Some(&mut policy.fill),
        Transform::TrivialAugmentWide(policy) => Some(&mut policy.fill),
        Transform::ElasticTransform(elastic) => Some(&mut elastic.fill),
        Transform::RandomAffine(affine) => Some(&mut affine.fill),
        Transform::RandomPerspective(perspective) => Some(&mut perspective.fill),
        Transform::RandomRotation(rotation) => Some(&mut rotation.fill),
        _ => None,
    }
}
