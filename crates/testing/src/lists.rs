//! Makes random lists of transforms. Any operator may follow any other, and the arguments have an effect on images of
//! up to 90 pixels a side.

use gpufeed::transforms::{
    AdjustGamma, CenterCrop, ColorJitter, ErasingValue, GaussianNoise, Grayscale, Interpolation, Normalize, Pad,
    PaddingMode, RandomApply, RandomChannelPermutation, RandomCrop, RandomErasing, RandomGrayscale,
    RandomHorizontalFlip, RandomInvert, RandomPhotometricDistort, RandomPosterize, RandomResize, RandomResizedCrop,
    RandomShortestSize, RandomSolarize, RandomVerticalFlip, RandomZoomOut, Resize, ScaleJitter, Transform,
};

pub use super::dice::Dice;
use super::one_channel::for_channels;
use super::operators::{FIRST, OF_OBJECTS, OPERATORS, UINT8_ALONE};

impl Dice {
    pub fn chance(&mut self, percent: u32) -> bool {
        self.between(1, 100) <= percent
    }

    pub(crate) fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.between(0, of.len() as u32 - 1) as usize]
    }

    /// Returns a random multiple of 0.01, from `low` to `high` hundredths.
    pub(crate) fn hundredths(&mut self, low: u32, high: u32) -> f64 {
        f64::from(self.between(low, high)) / 100.0
    }

    pub(crate) fn mode(&mut self) -> PaddingMode {
        self.pick(&[PaddingMode::Constant, PaddingMode::Edge, PaddingMode::Reflect, PaddingMode::Symmetric])
    }

    pub(crate) fn interpolation(&mut self) -> Interpolation {
        use Interpolation::{Bicubic, Bilinear, Nearest, NearestExact};
        self.pick(&[Bilinear, Bilinear, Bicubic, Nearest, NearestExact])
    }

    fn fill(&mut self) -> [f32; 3] {
        // None of these fill colours lies at a threshold at which `transform` solarizes or posterizes.
        self.pick(&[[0.0; 3], [0.27, 0.52, 1.0], [0.9, 0.1, 0.6]])
    }

    /// Returns the width of a border: mostly a few pixels, at times more than the image has.
    pub(crate) fn border(&mut self) -> u32 {
        if self.chance(20) { self.between(0, 40) } else { self.between(0, 5) }
    }
}

/// Returns a list of one to seven transforms, with `Normalize` only if `normalize` is true.
pub fn list(dice: &mut Dice, normalize: bool) -> Vec<Transform> {
    for_channels(3, (0..dice.between(1, 7)).map(|_| transform(dice, normalize, 0)).collect())
}

fn transform(dice: &mut Dice, normalize: bool, depth: u32) -> Transform {
    loop {
        return match dice.between(0, 25) {
            0 | 1 => resize(dice).into(),
            2 => random_resized_crop(dice).into(),
            3 => pad(dice).into(),
            4 => random_crop(dice).into(),
            5 => CenterCrop::new((dice.between(1, 60), dice.between(1, 60))).into(),
            6 | 7 => color_jitter(dice).into(),
            8 => RandomHorizontalFlip::new(0.7).into(),
            9 => RandomVerticalFlip::new(0.7).into(),
            10 => RandomGrayscale::new(0.5).into(),
            // A number of channels that depends on chance is refused, so `Grayscale` is not put inside `RandomApply`.
            11 if depth == 0 && dice.chance(50) => Grayscale::new(dice.pick(&[1, 3, 3])).into(),
            12 | 13 if depth < 2 => {
                let count = dice.between(1, 3);
                let transforms: Vec<_> = (0..count).map(|_| transform(dice, normalize, depth + 1)).collect();
                RandomApply::new(dice.pick(&[0.5, 0.5, 0.8, 1.0]), transforms).into()
            }
            14 if normalize && dice.chance(60) => standardise(dice).into(),
            15 => RandomInvert::new(0.6).into(),
            16 => RandomSolarize::new(dice.pick(&[0.31, 0.48, 0.76])).p(0.7).into(),
            17 => RandomPosterize::new(dice.between(0, 4)).p(0.7).into(),
            18 => permutation_or_later(dice),
            19 | 20 => random_erasing(dice).into(),
            21 => AdjustGamma::new(dice.pick(&[0.6, 1.0, 2.2])).gain(dice.pick(&[1.0, 1.3])).into(),
            22 => random_size(dice),
            23 => RandomZoomOut::new(0.7).side_range(1.0, dice.pick(&[1.3, 2.0])).fill(dice.fill()).into(),
            24 => RandomPhotometricDistort::new(0.6).brightness(0.5, 1.3).hue(-0.2, 0.2).into(),
            25 => GaussianNoise::new(dice.pick(&[0.05, 0.3])).mean(0.1).clip(dice.chance(70)).into(),
            _ => continue,
        };
    }
}

/// Returns a permutation of channels, or an example of a later row of the table, of an operator that works on floats and changes
/// pixels.
/// Takes no number of `dice`, so that a row that is added changes nothing else in any list.
pub(crate) fn permutation_or_later(dice: &Dice) -> Transform {
    let mut own = Dice(!dice.0);
    let is_out = |name| UINT8_ALONE.contains(&name) || OF_OBJECTS.contains(&name);
    let later: Vec<_> = OPERATORS[FIRST..].iter().filter(|row| !is_out(row.name)).collect();
    let examples = match own.below(1 + later.len()) {
        0 => vec![RandomChannelPermutation::new().into()],
        row => later[row - 1].transforms(),
    };
    examples[own.below(examples.len())].clone()
}

fn resize(dice: &mut Dice) -> Resize {
    let resize = match dice.between(0, 3) {
        0 => Resize::new(dice.between(1, 40)).max_size(60),
        _ => Resize::new((dice.between(1, 60), dice.between(1, 60))),
    };
    resize.interpolation(dice.interpolation()).antialias(dice.chance(70))
}

fn random_size(dice: &mut Dice) -> Transform {
    let (least, greatest) = (dice.between(1, 30), dice.between(31, 50));
    let (interpolation, antialias) = (dice.interpolation(), dice.chance(70));
    match dice.between(0, 2) {
        0 => RandomResize { interpolation, antialias, ..RandomResize::new(least, greatest) }.into(),
        1 => {
            let sizes = RandomShortestSize::new([least, greatest]).max_size(60);
            RandomShortestSize { interpolation, antialias, ..sizes }.into()
        }
        _ => {
            let jitter = ScaleJitter::new((greatest, least)).scale_range(0.3, 1.5);
            ScaleJitter { interpolation, antialias, ..jitter }.into()
        }
    }
}

fn random_resized_crop(dice: &mut Dice) -> RandomResizedCrop {
    let least = dice.hundredths(5, 60);
    RandomResizedCrop::new((dice.between(1, 50), dice.between(1, 50)))
        .scale(least, least + 0.4)
        .interpolation(dice.interpolation())
        .antialias(dice.chance(70))
}

fn pad(dice: &mut Dice) -> Pad {
    Pad::new([dice.border(), dice.border(), dice.border(), dice.border()]).fill(dice.fill()).padding_mode(dice.mode())
}

fn random_crop(dice: &mut Dice) -> RandomCrop {
    let crop = RandomCrop::new((dice.between(1, 50), dice.between(1, 50))).fill(dice.fill()).padding_mode(dice.mode());
    // Without `pad_if_needed`, images that are too small are refused, and the tests count them.
    let crop = crop.pad_if_needed(dice.chance(85));
    if dice.chance(40) { crop.padding([dice.border(), dice.border()]) } else { crop }
}

fn random_erasing(dice: &mut Dice) -> RandomErasing {
    let value = match dice.between(0, 2) {
        0 => ErasingValue::Random,
        1 => ErasingValue::All(dice.pick(&[0.0, 0.6])),
        // Some of these values are outside of [0, 1], so they are no colours.
        _ => ErasingValue::Channels(dice.pick(&[[0.9, 0.2, 0.35], [-1.3, 0.65, 2.1]])),
    };
    RandomErasing::new(0.8).scale(0.02, dice.hundredths(10, 80)).value(value)
}

fn standardise(dice: &mut Dice) -> Normalize {
    if dice.chance(50) { Normalize::IMAGENET } else { Normalize::new([0.5, 0.4, 0.1], [0.5, -0.25, 2.0]) }
}

fn color_jitter(dice: &mut Dice) -> ColorJitter {
    let mut amount = |percent, most| if dice.chance(percent) { dice.hundredths(0, most) } else { 0.0 };
    ColorJitter::new(amount(70, 60), amount(60, 60), amount(70, 60), amount(50, 50))
}
