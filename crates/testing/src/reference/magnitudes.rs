//! The magnitudes of the policies (`_AUGMENTATION_SPACE` of RandAugment, TrivialAugmentWide, AutoAugment and AugMix in
//! torchvision's `transforms/v2/_auto_augment.py`).

/// A class of policies. Each has its own ranges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    RandAugment,
    TrivialAugmentWide,
    AutoAugment,
    AugMix,
}

/// The magnitudes of one operation.
#[derive(Clone, Debug, PartialEq)]
pub struct Magnitudes {
    /// Whether a draw may negate the magnitude.
    pub signed: bool,
    /// The magnitude of each bin, as an f32; `None` for an operation without one.
    pub values: Option<Vec<f64>>,
}

/// Returns `bins` equal steps from `from` to `to` as `torch.linspace` computes them in f32: the first half from the
/// start, the second from the end, with products and sums that are rounded once.
fn linspace(from: f64, to: f64, bins: usize) -> Vec<f64> {
    let (from, to) = (from as f32, to as f32);
    let step = (to - from) / (bins - 1) as f32;
    let number = |bin: usize| match bin < bins / 2 {
        true => step.mul_add(bin as f32, from),
        false => (-step).mul_add((bins - 1 - bin) as f32, to),
    };
    (0..bins).map(|bin| f64::from(number(bin))).collect()
}

/// Returns the bits that each bin keeps: `most` minus the bin divided by `divisor`, rounded half to even.
fn bits(most: f64, divisor: f64, bins: usize) -> Vec<f64> {
    (0..bins).map(|bin| (most - bin as f64 / divisor).round_ties_even()).collect()
}

impl Policy {
    fn largest_shear(self) -> f64 {
        if self == Policy::TrivialAugmentWide { 0.99 } else { 0.3 }
    }

    fn largest_angle(self) -> f64 {
        if self == Policy::TrivialAugmentWide { 135.0 } else { 30.0 }
    }

    fn largest_factor(self) -> f64 {
        if self == Policy::TrivialAugmentWide { 0.99 } else { 0.9 }
    }

    /// `length` is the image's width or height at the policy's start.
    fn largest_translation(self, length: usize) -> f64 {
        match self {
            Policy::RandAugment | Policy::AutoAugment => 150.0 / 331.0 * length as f64,
            Policy::TrivialAugmentWide => 32.0,
            Policy::AugMix => length as f64 / 3.0,
        }
    }

    fn bits(self, bins: usize) -> Vec<f64> {
        match self {
            Policy::RandAugment | Policy::AutoAugment => bits(8.0, (bins as f64 - 1.0) / 4.0, bins),
            Policy::TrivialAugmentWide => bits(8.0, (bins as f64 - 1.0) / 6.0, bins),
            Policy::AugMix => bits(4.0, (bins as f64 - 1.0) / 4.0, bins),
        }
    }

    /// Returns the magnitudes of an operation for an image of `height` × `width` pixels; `None` if the policy does not
    /// have it.
    pub fn magnitudes(self, id: &str, bins: usize, (height, width): (usize, usize)) -> Option<Magnitudes> {
        let signed = |largest: f64| (true, Some(linspace(0.0, largest, bins)));
        let (signed, values) = match id {
            "ShearX" | "ShearY" => signed(self.largest_shear()),
            "TranslateX" => signed(self.largest_translation(width)),
            "TranslateY" => signed(self.largest_translation(height)),
            "Rotate" => signed(self.largest_angle()),
            "Brightness" | "Color" | "Contrast" | "Sharpness" => signed(self.largest_factor()),
            "Posterize" => (false, Some(self.bits(bins))),
            "Solarize" => (false, Some(linspace(1.0, 0.0, bins))),
            "AutoContrast" | "Equalize" => (false, None),
            "Identity" if matches!(self, Policy::RandAugment | Policy::TrivialAugmentWide) => (false, None),
            "Invert" if self == Policy::AutoAugment => (false, None),
            _ => return None,
        };
        Some(Magnitudes { signed, values })
    }
}
