//! The operations of torchvision's augmentation policies (`transforms/v2/_auto_augment.py`), and their magnitudes.

use super::Effect;
use super::arguments::{Interpolation, PolicyOp};
use super::op::Op;
use super::params::Context;
use crate::error::{Error, Result};
use crate::pillow::{affine_matrix, rotation_matrix};
use crate::random::Numbers;

use PolicyOp::{
    AutoContrast, Brightness, Color, Contrast, Equalize, Identity, Invert, Posterize, Rotate, Sharpness, ShearX,
    ShearY, Solarize, TranslateX, TranslateY,
};

/// The operations of RandAugment and TrivialAugmentWide, in torchvision's order.
pub(super) const OPERATIONS: [PolicyOp; 14] = [
    Identity,
    ShearX,
    ShearY,
    TranslateX,
    TranslateY,
    Rotate,
    Brightness,
    Color,
    Contrast,
    Sharpness,
    Posterize,
    Solarize,
    AutoContrast,
    Equalize,
];

/// The operations of AugMix, of which `all_ops` leaves out none and its absence the last four.
pub(super) const MIXED_OPERATIONS: [PolicyOp; 13] = [
    ShearX,
    ShearY,
    TranslateX,
    TranslateY,
    Rotate,
    Posterize,
    Solarize,
    AutoContrast,
    Equalize,
    Brightness,
    Color,
    Contrast,
    Sharpness,
];

/// The greatest magnitudes of a policy.
#[derive(Clone, Copy, Debug)]
pub(super) struct Space {
    pub(super) shear: f32,
    /// The greatest translation: a share of the side, or pixels.
    pub(super) translate: Translate,
    pub(super) rotate: f32,
    /// Of brightness, colour, contrast and sharpness.
    pub(super) factor: f32,
    /// The number of bits from which posterize goes down, and by how many at the last bin.
    pub(super) bits: (f32, f32),
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Translate {
    Share(f64),
    Pixels(f32),
}

impl Space {
    /// Of RandAugment and AutoAugment.
    pub(super) const RAND_AUGMENT: Space =
        Space { shear: 0.3, translate: Translate::Share(150.0 / 331.0), rotate: 30.0, factor: 0.9, bits: (8.0, 4.0) };
    /// Of TrivialAugmentWide.
    pub(super) const TRIVIAL_AUGMENT_WIDE: Space =
        Space { shear: 0.99, translate: Translate::Pixels(32.0), rotate: 135.0, factor: 0.99, bits: (8.0, 6.0) };

    /// Of AugMix.
    pub(super) const AUG_MIX: Space =
        Space { shear: 0.3, translate: Translate::Share(1.0 / 3.0), rotate: 30.0, factor: 0.9, bits: (4.0, 4.0) };

    /// Returns the magnitude of `op` at bin `bin` of `bins`, for an image of (width, height), and true if its sign is
    /// drawn at random. `None` if the operation has no magnitude.
    pub(super) fn magnitude(
        &self,
        op: PolicyOp,
        bin: u32,
        bins: u32,
        (width, height): (u32, u32),
    ) -> Option<(f32, bool)> {
        let translate = |side: u32| match self.translate {
            Translate::Share(share) => (share * f64::from(side)) as f32,
            Translate::Pixels(pixels) => pixels,
        };
        Some(match op {
            ShearX | ShearY => (linspace(0.0, self.shear, bin, bins), true),
            TranslateX => (linspace(0.0, translate(width), bin, bins), true),
            TranslateY => (linspace(0.0, translate(height), bin, bins), true),
            Rotate => (linspace(0.0, self.rotate, bin, bins), true),
            Brightness | Color | Contrast | Sharpness => (linspace(0.0, self.factor, bin, bins), true),
            Posterize => {
                let (bits, less) = self.bits;
                let step = bin as f32 / ((bins.max(2) - 1) as f32 / less);
                ((bits - step).round_ties_even(), false)
            }
            Solarize => (linspace(1.0, 0.0, bin, bins), false),
            Identity | AutoContrast | Equalize | Invert => return None,
        })
    }

    /// Draws the sign of an operation, and returns its magnitude with that sign; 0 for an operation without one.
    pub(super) fn draw(&self, op: PolicyOp, bin: u32, bins: u32, size: (u32, u32), numbers: &mut Numbers) -> f32 {
        let negative = numbers.unit() <= 0.5;
        match self.magnitude(op, bin, bins, size) {
            Some((magnitude, true)) if negative => -magnitude,
            Some((magnitude, _)) => magnitude,
            None => 0.0,
        }
    }
}

/// Element `i` of `torch.linspace(from, to, count)` in f32: the first half is counted from the start, the second from the
/// end. torch multiplies and adds with one rounding on every CPU that has an instruction for it (AVX2 and later). With
/// two, `TrivialAugmentWide`'s 15th translation would be 16 pixels, where torch's 15.999999 is cut to 15.
fn linspace(from: f32, to: f32, i: u32, count: u32) -> f32 {
    if count < 2 {
        return from;
    }
    let step = (to - from) / (count - 1) as f32;
    if i < count / 2 { step.mul_add(i as f32, from) } else { (-step).mul_add((count - 1 - i) as f32, to) }
}

pub(super) fn check_bins(bins: u32) -> Result<()> {
    if (2..=1 << 16).contains(&bins) {
        return Ok(());
    }
    Err(Error::argument("num_magnitude_bins", format!("{bins}; 2 to {} work", 1 << 16)))
}

/// The effect of a policy's operations.
pub(super) fn effect(interpolation: Interpolation) -> Effect {
    if interpolation == Interpolation::Bicubic { Effect::BicubicPolicy } else { Effect::Policy }
}

/// Emits the op of a policy's slot, unless it leaves the image as it is.
pub(super) fn emit(context: &mut Context<'_>, slot: u16, op: Op) -> Result<()> {
    match op {
        Op::Policy { id: Identity, .. } => Ok(()),
        op => context.emit(slot, op),
    }
}

/// The op that an operation of a policy stands for in an image of (width, height); `None` if it changes nothing.
/// `greatest` is the number of white. Bicubic warps are Pillow's.
pub(crate) fn resolve(
    id: PolicyOp,
    magnitude: f32,
    interpolation: Interpolation,
    fill: Option<[f32; 3]>,
    size: (u32, u32),
    greatest: f64,
) -> Option<Op> {
    let m = f64::from(magnitude);
    let is_pillow = interpolation == Interpolation::Bicubic;
    let affine = |translate: [f64; 2], shear: [f64; 2], center: Option<[f64; 2]>| {
        if is_pillow {
            return pillow(affine_matrix(0.0, translate, 1.0, shear, center.unwrap_or(middle(size))), fill);
        }
        Op::Affine { angle: 0.0, translate, scale: 1.0, shear, center, interpolation, fill }
    };
    let corner = Some([0.0; 2]);
    Some(match id {
        Identity => return None,
        ShearX => affine([0.0; 2], [libm::atan(m).to_degrees(), 0.0], corner),
        ShearY => affine([0.0; 2], [0.0, libm::atan(m).to_degrees()], corner),
        TranslateX => affine([m.trunc(), 0.0], [0.0; 2], None),
        TranslateY => affine([0.0, m.trunc()], [0.0; 2], None),
        Rotate if is_pillow => pillow(rotation_matrix(m, middle(size)), fill),
        Rotate => Op::Rotate { angle: m, expand: false, center: None, interpolation, fill },
        Brightness => Op::Brightness { factor: (1.0 + m) as f32 },
        Color => Op::Saturation { factor: (1.0 + m) as f32 },
        Contrast => Op::Contrast { factor: (1.0 + m) as f32 },
        Sharpness => Op::Sharpness { factor: 1.0 + m },
        Posterize => Op::Posterize { bits: m as u32 },
        Solarize => Op::Solarize { threshold: (greatest * m) as f32 },
        AutoContrast => Op::Autocontrast,
        Equalize => Op::Equalize,
        Invert => Op::Invert,
    })
}

/// The middle of an image of (width, height), in pixels from the left and from above.
pub(super) fn middle((width, height): (u32, u32)) -> [f64; 2] {
    [f64::from(width) * 0.5, f64::from(height) * 0.5]
}

/// A bicubic warp by Pillow, whose fill is black where torchvision's is `None`.
pub(super) fn pillow(matrix: [f64; 6], fill: Option<[f32; 3]>) -> Op {
    Op::PillowAffine { matrix, interpolation: Interpolation::Bicubic, fill: fill.unwrap_or_default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn magnitudes_are_those_of_the_paper_at_the_ends() {
        let space = Space::RAND_AUGMENT;
        let at = |op, bin| space.magnitude(op, bin, 31, (331, 662)).unwrap().0;
        assert_eq!([at(Rotate, 0), at(Rotate, 30), at(ShearX, 30), at(Brightness, 30)], [0.0, 30.0, 0.3, 0.9]);
        assert_eq!([at(TranslateX, 30), at(TranslateY, 30)], [150.0, 300.0]);
        assert_eq!([at(Posterize, 0), at(Posterize, 9), at(Posterize, 30)], [8.0, 7.0, 4.0]);
        assert_eq!([at(Solarize, 0), at(Solarize, 30)], [1.0, 0.0]);
        assert!(space.magnitude(Equalize, 9, 31, (1, 1)).is_none());
    }
}
