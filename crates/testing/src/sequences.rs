//! Random lists of all operators but noise of their own: policies, choices, orders and warps among those of
//! [`crate::lists`], in floats or in 8-bit numbers.

use crate::lists::{Dice, permutation_or_later};
use crate::one_channel::for_channels;
use gpufeed::Semantics;
use gpufeed::transforms::{
    AdjustGamma, AutoAugment, AutoAugmentPolicy, CenterCrop, ColorJitter, ErasingValue, Fill, GaussianBlur, Grayscale,
    Interpolation, Normalize, Pad, RandAugment, RandomAdjustSharpness, RandomAffine, RandomApply, RandomAutocontrast,
    RandomChoice, RandomCrop, RandomEqualize, RandomErasing, RandomGrayscale, RandomHorizontalFlip, RandomInvert,
    RandomOrder, RandomPerspective, RandomPhotometricDistort, RandomPosterize, RandomResize, RandomResizedCrop,
    RandomRotation, RandomShortestSize, RandomSolarize, RandomVerticalFlip, RandomZoomOut, Resize, ScaleJitter,
    ToDtype, Transform, TrivialAugmentWide,
};

/// A list, and its first transforms, which get 8-bit numbers; none do in floats.
#[derive(Clone, Debug)]
pub struct Sequence {
    pub semantics: Semantics,
    pub transforms: Vec<Transform>,
    pub in_bytes: usize,
}

/// Returns a list of one to six transforms, and a few more at its end.
pub fn sequence(dice: &mut Dice, semantics: Semantics) -> Sequence {
    let uint8 = semantics == Semantics::Uint8;
    let mut transforms: Vec<Transform> = (0..dice.between(1, 6)).map(|_| transform(dice, uint8, 0)).collect();
    let mut in_bytes = if uint8 { transforms.len() } else { 0 };
    match dice.between(0, 5) {
        0 => {
            transforms.push(ToDtype::new().into());
            transforms.extend((0..dice.between(0, 2)).map(|_| transform(dice, false, 0)));
        }
        1 => transforms.push(Normalize::IMAGENET.into()),
        2 => transforms.extend([ToDtype::new().into(), Normalize::new([0.5, 0.4, 0.1], [0.5, -0.25, 2.0]).into()]),
        3 => {
            let value = ErasingValue::Random;
            transforms.extend([ToDtype::new().into(), RandomErasing::new(0.8).value(value).into()]);
        }
        _ => {}
    }
    if !uint8 {
        in_bytes = 0;
    }
    Sequence { semantics, transforms: for_channels(3, transforms), in_bytes }
}

/// Fills are 0 to 1, or 0 to 255 in 8-bit numbers.
fn color(dice: &mut Dice, uint8: bool) -> [f32; 3] {
    match uint8 {
        false => dice.pick(&[[0.0; 3], [0.27, 0.52, 1.0], [0.9, 0.1, 0.6]]),
        true => dice.pick(&[[0.0; 3], [7.5, 131.25, 255.0], [230.0, 25.9, 152.5]]),
    }
}

fn fill(dice: &mut Dice, uint8: bool) -> Fill {
    if dice.chance(40) { Fill::None } else { Fill::Color(color(dice, uint8)) }
}

fn warp_filter(dice: &mut Dice) -> Interpolation {
    dice.pick(&[Interpolation::Nearest, Interpolation::Bilinear])
}

fn transform(dice: &mut Dice, uint8: bool, depth: u32) -> Transform {
    match dice.between(0, 31) {
        0..=4 => policy(dice, uint8),
        5..=9 => warp(dice, uint8),
        10 | 11 => neighborhood(dice),
        12 => RandomAutocontrast::new(0.7).into(),
        13 => RandomEqualize::new(0.7).into(),
        14..=17 if depth < 2 => nested(dice, uint8, depth),
        18..=20 => size(dice, uint8),
        21 => crop(dice, uint8),
        22 => ColorJitter::new(dice.hundredths(0, 60), dice.hundredths(0, 60), dice.hundredths(0, 60), 0.2).into(),
        23 => RandomPhotometricDistort::new(0.6).brightness(0.5, 1.3).hue(-0.2, 0.2).into(),
        24 => erasing(dice, uint8),
        25 if depth == 0 && dice.chance(50) => Grayscale::new(dice.pick(&[1, 3, 3])).into(),
        26 => RandomGrayscale::new(0.5).into(),
        27 => pointwise(dice, uint8),
        28 => RandomHorizontalFlip::new(0.7).into(),
        29 => RandomVerticalFlip::new(0.7).into(),
        _ => pointwise(dice, uint8),
    }
}

fn policy(dice: &mut Dice, uint8: bool) -> Transform {
    let (interpolation, fill) = (warp_filter(dice), fill(dice, uint8));
    match dice.between(0, 3) {
        0 | 1 => {
            let (num_ops, magnitude) = (dice.between(1, 3), dice.between(0, 30));
            RandAugment { interpolation, fill, ..RandAugment::new(num_ops, magnitude) }.into()
        }
        2 => TrivialAugmentWide { interpolation, fill, ..TrivialAugmentWide::new() }.into(),
        _ => {
            let policy = [AutoAugmentPolicy::ImageNet, AutoAugmentPolicy::Cifar10, AutoAugmentPolicy::Svhn];
            AutoAugment { interpolation, fill, ..AutoAugment::new(dice.pick(&policy)) }.into()
        }
    }
}

fn warp(dice: &mut Dice, uint8: bool) -> Transform {
    let (interpolation, fill) = (warp_filter(dice), fill(dice, uint8));
    let center = dice.chance(30).then(|| [dice.hundredths(0, 6000), dice.hundredths(0, 6000)]);
    match dice.between(0, 2) {
        0 => {
            let degrees = dice.pick(&[10.0, 90.0, 180.0]);
            let degrees = if dice.chance(20) { (degrees, degrees).into() } else { degrees.into() };
            let expand = dice.chance(30);
            RandomRotation { interpolation, fill, center, expand, degrees }.into()
        }
        1 => {
            let affine = RandomAffine::new(dice.pick(&[0.0, 15.0, 120.0])).interpolation(interpolation).fill(fill);
            let affine = if dice.chance(60) { affine.translate(0.3, 0.2) } else { affine };
            let affine = if dice.chance(60) { affine.scale(0.5, 1.6) } else { affine };
            let affine = if dice.chance(40) { affine.shear(20.0) } else { affine };
            let affine = if dice.chance(20) { affine.shear_y((5.0, 15.0)) } else { affine };
            RandomAffine { center, ..affine }.into()
        }
        _ => {
            let perspective = RandomPerspective::new(dice.hundredths(0, 100)).p(0.8);
            perspective.interpolation(interpolation).fill(fill).into()
        }
    }
}

fn neighborhood(dice: &mut Dice) -> Transform {
    if dice.chance(50) {
        return RandomAdjustSharpness::new(dice.hundredths(0, 300)).p(0.8).into();
    }
    let least = dice.hundredths(5, 200);
    GaussianBlur::new(2 * dice.between(0, 11) + 1).sigma(least, least + 1.0).into()
}

fn nested(dice: &mut Dice, uint8: bool, depth: u32) -> Transform {
    let list: Vec<_> = (0..dice.between(1, 3)).map(|_| transform(dice, uint8, depth + 1)).collect();
    match dice.between(0, 2) {
        0 => RandomApply::new(dice.pick(&[0.5, 0.8, 1.0]), list).into(),
        1 => RandomOrder::new(list).into(),
        _ => {
            let weights: Vec<f64> = list.iter().map(|_| dice.hundredths(1, 100)).collect();
            let choice = RandomChoice::new(list);
            if dice.chance(50) { choice.p(weights).into() } else { choice.into() }
        }
    }
}

fn size(dice: &mut Dice, uint8: bool) -> Transform {
    let (interpolation, antialias) = (dice.interpolation(), dice.chance(70));
    let (least, greatest) = (dice.between(1, 40), dice.between(41, 70));
    match dice.between(0, 6) {
        0 => RandomResize { interpolation, antialias, ..RandomResize::new(least, greatest) }.into(),
        1 => {
            let sizes = RandomShortestSize::new([least, greatest]).max_size(90);
            RandomShortestSize { interpolation, antialias, ..sizes }.into()
        }
        2 => {
            let jitter = ScaleJitter::new((greatest, least)).scale_range(0.3, 1.5);
            ScaleJitter { interpolation, antialias, ..jitter }.into()
        }
        3 => RandomZoomOut::new(0.7).side_range(1.0, dice.pick(&[1.3, 2.0])).fill(color(dice, uint8)).into(),
        4 => Resize::new(least).max_size(80).interpolation(interpolation).antialias(antialias).into(),
        _ => {
            let size = (dice.between(1, 80), dice.between(1, 80));
            Resize::new(size).interpolation(interpolation).antialias(antialias).into()
        }
    }
}

fn crop(dice: &mut Dice, uint8: bool) -> Transform {
    let (size, fill) = ((dice.between(1, 60), dice.between(1, 60)), color(dice, uint8));
    match dice.between(0, 3) {
        0 => {
            let least = dice.hundredths(5, 60);
            let crop = RandomResizedCrop::new(size).scale(least, least + 0.4);
            crop.interpolation(dice.interpolation()).antialias(dice.chance(70)).into()
        }
        1 => {
            let crop = RandomCrop::new(size).fill(fill).padding_mode(dice.mode()).pad_if_needed(true);
            if dice.chance(40) { crop.padding([dice.border(), dice.border()]).into() } else { crop.into() }
        }
        2 => CenterCrop::new(size).into(),
        _ => {
            let borders = [dice.border(), dice.border(), dice.border(), dice.border()];
            Pad::new(borders).fill(fill).padding_mode(dice.mode()).into()
        }
    }
}

fn erasing(dice: &mut Dice, uint8: bool) -> Transform {
    let value = ErasingValue::Channels(color(dice, uint8));
    RandomErasing::new(0.8).scale(0.02, dice.hundredths(10, 80)).value(value).into()
}

fn pointwise(dice: &mut Dice, uint8: bool) -> Transform {
    match dice.between(0, 4) {
        0 => RandomInvert::new(0.6).into(),
        1 => {
            let threshold: f32 = dice.pick(&[0.31, 0.48, 0.76]);
            RandomSolarize::new(if uint8 { 255.0 * threshold } else { threshold }).p(0.7).into()
        }
        2 => RandomPosterize::new(dice.between(0, 8)).p(0.7).into(),
        3 => AdjustGamma::new(dice.pick(&[0.6, 1.0, 2.2])).gain(dice.pick(&[1.0, 1.3])).into(),
        _ => permutation_or_later(dice),
    }
}
