use super::arguments::{Fill, PolicyOp, check_bicubic, check_warp_or_pillow};
use super::op::Op;
use super::params::{Context, Numbers};
use super::policy::{self, Space};
use super::{Interpolation, Operator, Slots};
use crate::error::Result;
use PolicyOp::{
    AutoContrast, Brightness, Color, Contrast, Equalize, Invert, Posterize, Rotate, Sharpness, ShearX, ShearY,
    Solarize, TranslateX, TranslateY,
};
use serde::{Deserialize, Serialize};

/// The data set for which a policy of [`AutoAugment`] was learned.
///
/// ```
/// use gpufeed::transforms::AutoAugmentPolicy;
///
/// assert_eq!(AutoAugmentPolicy::default(), AutoAugmentPolicy::ImageNet);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum AutoAugmentPolicy {
    /// The policy found for ImageNet.
    #[default]
    ImageNet,
    /// The policy found for CIFAR-10.
    Cifar10,
    /// Street View House Numbers.
    Svhn,
}

/// Applies one of 25 learned pairs of operations: torchvision's `AutoAugment` (Cubuk, Zoph, Mané, Vasudevan and Le,
/// "AutoAugment: Learning Augmentation Policies from Data", 2019).
///
/// ```
/// use gpufeed::transforms::{AutoAugment, AutoAugmentPolicy};
///
/// assert_eq!(AutoAugment::default(), AutoAugment::new(AutoAugmentPolicy::ImageNet));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AutoAugment {
    /// The policy; ImageNet's by default.
    pub policy: AutoAugmentPolicy,
    /// `Nearest`, the default, `Bilinear`, or `Bicubic`, which torchvision has for PIL images alone: such warps are Pillow's,
    /// on 8-bit numbers ([`Op::PillowAffine`]).
    pub interpolation: Interpolation,
    /// The colour that warps leave outside the image: torchvision's `None` by default.
    pub fill: Fill,
}

impl Default for AutoAugment {
    fn default() -> Self {
        AutoAugment::new(AutoAugmentPolicy::ImageNet)
    }
}

impl AutoAugment {
    /// Applies a policy, with nearest-neighbour warps.
    pub fn new(policy: AutoAugmentPolicy) -> Self {
        AutoAugment { policy, interpolation: Interpolation::Nearest, fill: Fill::None }
    }

    warp_setters!("Sets the interpolation of warps.", "Sets the colour that warps leave outside the image.");
}

/// The bins of the magnitudes.
const BINS: u32 = 10;

impl Operator for AutoAugment {
    const NAME: &'static str = "AutoAugment";
    const KEYS: &[(&str, &str)] = &[("policy", "ImageNet, Cifar10 and Svhn work")];

    fn validate(&self) -> Result<()> {
        check_warp_or_pillow(self.interpolation, self.fill)
    }

    fn validate_range(&self, uint8: bool) -> Result<()> {
        check_bicubic(self.interpolation, uint8)
    }

    fn slots(&self, slots: &mut Slots) {
        (0..2).for_each(|_| slots.push(Self::NAME, policy::effect(self.interpolation)));
    }

    fn make_params(&self, context: &mut Context<'_>, numbers: &mut Numbers) -> Result<()> {
        let pairs = match self.policy {
            AutoAugmentPolicy::ImageNet => &IMAGENET,
            AutoAugmentPolicy::Cifar10 => &CIFAR10,
            AutoAugmentPolicy::Svhn => &SVHN,
        };
        let pair = pairs[numbers.below(pairs.len() as u64) as usize];
        let (interpolation, fill) = (self.interpolation, self.fill.color());
        for (slot, (id, p, bin)) in (0..).zip(pair) {
            let (applies, size) = (numbers.unit() <= p, (context.width, context.height));
            let magnitude = Space::RAND_AUGMENT.draw(id, bin, BINS, size, numbers);
            if applies {
                policy::emit(context, slot, Op::Policy { id, magnitude, interpolation, fill })?;
            }
        }
        Ok(())
    }
}

/// Two operations, each with its probability and the bin of its magnitude.
type Pair = [(PolicyOp, f64, u32); 2];

#[rustfmt::skip]
const IMAGENET: [Pair; 25] = [
    [(Posterize, 0.4, 8), (Rotate, 0.6, 9)],
    [(Solarize, 0.6, 5), (AutoContrast, 0.6, 0)],
    [(Equalize, 0.8, 0), (Equalize, 0.6, 0)],
    [(Posterize, 0.6, 7), (Posterize, 0.6, 6)],
    [(Equalize, 0.4, 0), (Solarize, 0.2, 4)],
    [(Equalize, 0.4, 0), (Rotate, 0.8, 8)],
    [(Solarize, 0.6, 3), (Equalize, 0.6, 0)],
    [(Posterize, 0.8, 5), (Equalize, 1.0, 0)],
    [(Rotate, 0.2, 3), (Solarize, 0.6, 8)],
    [(Equalize, 0.6, 0), (Posterize, 0.4, 6)],
    [(Rotate, 0.8, 8), (Color, 0.4, 0)],
    [(Rotate, 0.4, 9), (Equalize, 0.6, 0)],
    [(Equalize, 0.0, 0), (Equalize, 0.8, 0)],
    [(Invert, 0.6, 0), (Equalize, 1.0, 0)],
    [(Color, 0.6, 4), (Contrast, 1.0, 8)],
    [(Rotate, 0.8, 8), (Color, 1.0, 2)],
    [(Color, 0.8, 8), (Solarize, 0.8, 7)],
    [(Sharpness, 0.4, 7), (Invert, 0.6, 0)],
    [(ShearX, 0.6, 5), (Equalize, 1.0, 0)],
    [(Color, 0.4, 0), (Equalize, 0.6, 0)],
    [(Equalize, 0.4, 0), (Solarize, 0.2, 4)],
    [(Solarize, 0.6, 5), (AutoContrast, 0.6, 0)],
    [(Invert, 0.6, 0), (Equalize, 1.0, 0)],
    [(Color, 0.6, 4), (Contrast, 1.0, 8)],
    [(Equalize, 0.8, 0), (Equalize, 0.6, 0)],
];

#[rustfmt::skip]
const CIFAR10: [Pair; 25] = [
    [(Invert, 0.1, 0), (Contrast, 0.2, 6)],
    [(Rotate, 0.7, 2), (TranslateX, 0.3, 9)],
    [(Sharpness, 0.8, 1), (Sharpness, 0.9, 3)],
    [(ShearY, 0.5, 8), (TranslateY, 0.7, 9)],
    [(AutoContrast, 0.5, 0), (Equalize, 0.9, 0)],
    [(ShearY, 0.2, 7), (Posterize, 0.3, 7)],
    [(Color, 0.4, 3), (Brightness, 0.6, 7)],
    [(Sharpness, 0.3, 9), (Brightness, 0.7, 9)],
    [(Equalize, 0.6, 0), (Equalize, 0.5, 0)],
    [(Contrast, 0.6, 7), (Sharpness, 0.6, 5)],
    [(Color, 0.7, 7), (TranslateX, 0.5, 8)],
    [(Equalize, 0.3, 0), (AutoContrast, 0.4, 0)],
    [(TranslateY, 0.4, 3), (Sharpness, 0.2, 6)],
    [(Brightness, 0.9, 6), (Color, 0.2, 8)],
    [(Solarize, 0.5, 2), (Invert, 0.0, 0)],
    [(Equalize, 0.2, 0), (AutoContrast, 0.6, 0)],
    [(Equalize, 0.2, 0), (Equalize, 0.6, 0)],
    [(Color, 0.9, 9), (Equalize, 0.6, 0)],
    [(AutoContrast, 0.8, 0), (Solarize, 0.2, 8)],
    [(Brightness, 0.1, 3), (Color, 0.7, 0)],
    [(Solarize, 0.4, 5), (AutoContrast, 0.9, 0)],
    [(TranslateY, 0.9, 9), (TranslateY, 0.7, 9)],
    [(AutoContrast, 0.9, 0), (Solarize, 0.8, 3)],
    [(Equalize, 0.8, 0), (Invert, 0.1, 0)],
    [(TranslateY, 0.7, 9), (AutoContrast, 0.9, 0)],
];

#[rustfmt::skip]
const SVHN: [Pair; 25] = [
    [(ShearX, 0.9, 4), (Invert, 0.2, 0)],
    [(ShearY, 0.9, 8), (Invert, 0.7, 0)],
    [(Equalize, 0.6, 0), (Solarize, 0.6, 6)],
    [(Invert, 0.9, 0), (Equalize, 0.6, 0)],
    [(Equalize, 0.6, 0), (Rotate, 0.9, 3)],
    [(ShearX, 0.9, 4), (AutoContrast, 0.8, 0)],
    [(ShearY, 0.9, 8), (Invert, 0.4, 0)],
    [(ShearY, 0.9, 5), (Solarize, 0.2, 6)],
    [(Invert, 0.9, 0), (AutoContrast, 0.8, 0)],
    [(Equalize, 0.6, 0), (Rotate, 0.9, 3)],
    [(ShearX, 0.9, 4), (Solarize, 0.3, 3)],
    [(ShearY, 0.8, 8), (Invert, 0.7, 0)],
    [(Equalize, 0.9, 0), (TranslateY, 0.6, 6)],
    [(Invert, 0.9, 0), (Equalize, 0.6, 0)],
    [(Contrast, 0.3, 3), (Rotate, 0.8, 4)],
    [(Invert, 0.8, 0), (TranslateY, 0.0, 2)],
    [(ShearY, 0.7, 6), (Solarize, 0.4, 8)],
    [(Invert, 0.6, 0), (Rotate, 0.8, 4)],
    [(ShearY, 0.3, 7), (TranslateX, 0.9, 3)],
    [(ShearX, 0.1, 6), (Invert, 0.6, 0)],
    [(Solarize, 0.7, 2), (TranslateY, 0.6, 7)],
    [(ShearY, 0.8, 4), (Invert, 0.8, 0)],
    [(ShearX, 0.7, 9), (TranslateY, 0.8, 3)],
    [(ShearY, 0.8, 5), (AutoContrast, 0.7, 0)],
    [(ShearX, 0.7, 2), (Invert, 0.1, 0)],
];
