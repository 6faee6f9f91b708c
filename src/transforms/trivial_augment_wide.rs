use super::arguments::{Fill, check_bicubic, check_warp_or_pillow};
use super::op::Op;
use super::params::{Context, Numbers};
use super::policy::{self, OPERATIONS, Space};
use super::{Interpolation, Operator, Slots};
use crate::error::Result;
use serde::{Deserialize, Serialize};

/// Applies one random operation of a random magnitude: torchvision's `TrivialAugmentWide` (Müller and Hutter,
/// "TrivialAugment: Tuning-free Yet State-of-the-Art Data Augmentation", 2021).
///
/// ```
/// use gpufeed::transforms::TrivialAugmentWide;
///
/// assert_eq!(TrivialAugmentWide::default().num_magnitude_bins, 31);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TrivialAugmentWide {
    /// The number of magnitudes to choose from; 31 by default.
    pub num_magnitude_bins: u32,
    /// `Nearest`, the default, `Bilinear`, or `Bicubic`, which torchvision has for PIL images alone: such warps are Pillow's,
    /// on 8-bit numbers ([`Op::PillowAffine`]).
    pub interpolation: Interpolation,
    /// The colour that warps leave outside the image: torchvision's `None` by default.
    pub fill: Fill,
}

impl Default for TrivialAugmentWide {
    fn default() -> Self {
        TrivialAugmentWide::new()
    }
}

impl TrivialAugmentWide {
    /// Chooses from 31 magnitudes.
    pub fn new() -> Self {
        TrivialAugmentWide { num_magnitude_bins: 31, interpolation: Interpolation::Nearest, fill: Fill::None }
    }

    /// Sets the number of magnitudes to choose from.
    pub fn num_magnitude_bins(self, num_magnitude_bins: u32) -> Self {
        TrivialAugmentWide { num_magnitude_bins, ..self }
    }

    warp_setters!("Sets the interpolation of warps.", "Sets the colour that warps leave outside the image.");
}

impl Operator for TrivialAugmentWide {
    const NAME: &'static str = "TrivialAugmentWide";

    fn validate(&self) -> Result<()> {
        policy::check_bins(self.num_magnitude_bins)?;
        check_warp_or_pillow(self.interpolation, self.fill)
    }

    fn validate_range(&self, uint8: bool) -> Result<()> {
        check_bicubic(self.interpolation, uint8)
    }

    fn slots(&self, slots: &mut Slots) {
        slots.push(Self::NAME, policy::effect(self.interpolation));
    }

    fn make_params(&self, context: &mut Context<'_>, numbers: &mut Numbers) -> Result<()> {
        let id = OPERATIONS[numbers.below(OPERATIONS.len() as u64) as usize];
        let bins = self.num_magnitude_bins;
        let bin = numbers.below(bins.into()) as u32;
        let magnitude = Space::TRIVIAL_AUGMENT_WIDE.draw(id, bin, bins, (context.width, context.height), numbers);
        let (interpolation, fill) = (self.interpolation, self.fill.color());
        policy::emit(context, 0, Op::Policy { id, magnitude, interpolation, fill })
    }
}
