//! The operations of timm's policies (`timm/data/auto_augment.py`), and what a level of each stands for. `plan/timm.rs`
//! has what they do to pixels.

use crate::random::Numbers;
use serde::{Deserialize, Serialize};

use TimmOp::{
    AutoContrast, Brightness, BrightnessIncreasing, Color, ColorIncreasing, Contrast, ContrastIncreasing, Desaturate,
    Equalize, GaussianBlur, GaussianBlurRand, Invert, Posterize, PosterizeIncreasing, PosterizeOriginal, Rotate,
    Sharpness, SharpnessIncreasing, ShearX, ShearY, Solarize, SolarizeAdd, SolarizeIncreasing, TranslateX,
    TranslateXRel, TranslateY, TranslateYRel,
};

/// An operation of timm's policies, by timm's name. Each has Pillow's arithmetic on 8-bit numbers, to the byte.
///
/// Each takes one number, the argument of timm's function, which a level from 0 to 10 stands for.
///
/// ```
/// use gpufeed::transforms::TimmOp;
///
/// assert_eq!(serde_json::to_string(&TimmOp::TranslateXRel).unwrap(), "\"TranslateXRel\"");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum TimmOp {
    /// Stretches each channel to the whole range; takes no number.
    AutoContrast,
    /// Equalises the histogram of each channel; takes no number.
    Equalize,
    /// Inverts the numbers of each channel; takes no number.
    Invert,
    /// Turns counter-clockwise by the number in degrees; level 10 is 30, with a random sign.
    Rotate,
    /// Keeps so many bits; level 0 is 0, level 10 is 4. 0 bits are black, and 8 or more change nothing.
    Posterize,
    /// Keeps so many bits; level 0 is 4, level 10 is 0.
    PosterizeIncreasing,
    /// Keeps so many bits; level 0 is 4, level 10 is 8.
    PosterizeOriginal,
    /// Inverts numbers from this one on; level 10 is 256.
    Solarize,
    /// Inverts numbers from this one on; level 0 is 256, level 10 is 0.
    SolarizeIncreasing,
    /// Adds this number to those below 128, up to 255; level 10 is 110.
    SolarizeAdd,
    /// Blends with the gray image: 0 is gray, 1 the image; levels 0 to 10 are 0.1 to 1.9.
    Color,
    /// The same number; level 10 is 0.1 or 1.9.
    ColorIncreasing,
    /// Blends with the mean of the gray image, a whole number; levels 0 to 10 are 0.1 to 1.9.
    Contrast,
    /// The same number; level 10 is 0.1 or 1.9.
    ContrastIncreasing,
    /// Multiplies numbers; levels 0 to 10 are 0.1 to 1.9.
    Brightness,
    /// The same number; level 10 is 0.1 or 1.9.
    BrightnessIncreasing,
    /// Blends with the smoothed image; levels 0 to 10 are 0.1 to 1.9.
    Sharpness,
    /// The same number; level 10 is 0.1 or 1.9.
    SharpnessIncreasing,
    /// Shears along x by the tangent of an angle; level 10 is 0.3, with a random sign.
    ShearX,
    /// Shears along y by the same rule.
    ShearY,
    /// Moves to the left by so many pixels, which need not be whole; level 10 is `translate_const`, with a random sign.
    TranslateX,
    /// Moves up by the same rule.
    TranslateY,
    /// Moves to the left by this share of the width; level 10 is `translate_pct`, with a random sign.
    TranslateXRel,
    /// Moves up by this share of the height.
    TranslateYRel,
    /// Takes so much of the colour away: 0 is the image, 1 is gray; levels 0 to 10 are 0.5 to 1.
    Desaturate,
    /// Blurs by this radius in pixels; levels 0 to 10 are 0.1 to 2.
    GaussianBlur,
    /// Blurs by a radius in pixels, which is uniform from 0.1 to a fifth of the level.
    GaussianBlurRand,
}

/// The level that is a whole operation.
pub(super) const WHOLE: f64 = 10.0;

impl TimmOp {
    /// Draws the argument that `level` stands for. `translations` are the greatest ones, in pixels and as a share of the
    /// side.
    pub(super) fn argument(self, level: f64, translations: (f64, f64), numbers: &mut Numbers) -> f64 {
        let share = level / WHOLE;
        let mut signed = |number: f64| if numbers.unit() > 0.5 { -number } else { number };
        // `as` cuts as Python's `int` does.
        let bits = (share * 4.0) as i32;
        let threshold = ((share * 256.0) as i32).min(256);
        match self {
            AutoContrast | Equalize | Invert => 0.0,
            Rotate => signed(share * 30.0),
            Posterize => bits.into(),
            PosterizeIncreasing => (4 - bits).into(),
            PosterizeOriginal => (4 + bits).into(),
            Solarize => threshold.into(),
            SolarizeIncreasing => (256 - threshold).into(),
            SolarizeAdd => ((share * 110.0) as i32).min(128).into(),
            Color | Contrast | Brightness | Sharpness => share * 1.8 + 0.1,
            ColorIncreasing | ContrastIncreasing | BrightnessIncreasing | SharpnessIncreasing => {
                (1.0 + signed(share * 0.9)).max(0.1)
            }
            ShearX | ShearY => signed(share * 0.3),
            TranslateX | TranslateY => signed(share * translations.0),
            TranslateXRel | TranslateYRel => signed(share * translations.1),
            Desaturate => between(share, 0.5, 1.0),
            GaussianBlur => between(share, 0.1, 2.0),
            GaussianBlurRand => numbers.uniform(0.1, 2.0 * between(share, 0.0, 1.0)),
        }
    }

    /// True if it moves pixels.
    pub(crate) fn is_warp(self) -> bool {
        matches!(self, Rotate | ShearX | ShearY | TranslateX | TranslateY | TranslateXRel | TranslateYRel)
    }
}

/// The number at `share` of a range, inside of it.
fn between(share: f64, least: f64, greatest: f64) -> f64 {
    (least + (greatest - least) * share).min(greatest).max(least)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transforms::Key;

    /// The arguments that a level stands for, in both signs.
    fn arguments(op: TimmOp, level: f64) -> Vec<f64> {
        let draw = |sample| op.argument(level, (100.0, 0.45), &mut Key { sample, ..Key::default() }.numbers(0));
        let mut all: Vec<f64> = (0..40).map(draw).collect();
        all.sort_by(f64::total_cmp);
        all.dedup();
        all
    }

    #[test]
    fn levels_stand_for_timms_arguments() {
        for (op, level, expected) in [
            (Rotate, 10.0, vec![-30.0, 30.0]),
            (ShearY, 5.0, vec![-0.15, 0.15]),
            (TranslateX, 9.0, vec![-90.0, 90.0]),
            (TranslateYRel, 10.0, vec![-0.45, 0.45]),
            (Posterize, 2.0, vec![0.0]),
            (Posterize, 9.9, vec![3.0]),
            (PosterizeIncreasing, 9.9, vec![1.0]),
            (PosterizeOriginal, 8.0, vec![7.0]),
            (Solarize, 5.0, vec![128.0]),
            (Solarize, 30.0, vec![256.0]),
            (SolarizeIncreasing, 9.0, vec![26.0]),
            (SolarizeAdd, 9.0, vec![99.0]),
            (SolarizeAdd, 30.0, vec![128.0]),
            (Color, 0.0, vec![0.1]),
            (Sharpness, 10.0, vec![1.9]),
            (BrightnessIncreasing, 10.0, vec![0.1, 1.9]),
            (Desaturate, 10.0, vec![1.0]),
            (GaussianBlur, 0.0, vec![0.1]),
            (Equalize, 7.0, vec![0.0]),
        ] {
            let found = arguments(op, level);
            let near = |(found, expected): (&f64, &f64)| (found - expected).abs() < 1e-12;
            let equal = found.len() == expected.len() && found.iter().zip(&expected).all(near);
            assert!(equal, "{op:?} at {level}: {found:?}");
        }
        let radii = arguments(GaussianBlurRand, 10.0);
        assert!(radii.len() == 40 && radii[0] >= 0.1 && radii[39] <= 2.0, "{radii:?}");
    }
}
