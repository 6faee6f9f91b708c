use super::arguments::{Fill, check_bicubic, check_warp_or_pillow};
use super::op::Op;
use super::params::{Context, Numbers};
use super::policy::{self, OPERATIONS, Space};
use super::{Interpolation, Operator, Slots};
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// Applies random operations of one magnitude: torchvision's `RandAugment` (Cubuk, Zoph, Shlens and Le, "RandAugment:
/// Practical Automated Data Augmentation with a Reduced Search Space", 2020).
///
/// ```
/// use gpufeed::transforms::RandAugment;
///
/// let augment = RandAugment::default();
/// assert_eq!((augment.num_ops, augment.magnitude, augment.num_magnitude_bins), (2, 9, 31));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RandAugment {
    /// Operations on each image, 0 to 16; 2 by default.
    pub num_ops: u32,
    /// The bin of the magnitude; 9 by default.
    pub magnitude: u32,
    /// The number of bins; 31 by default.
    pub num_magnitude_bins: u32,
    /// `Nearest`, the default, `Bilinear`, or `Bicubic`, which torchvision has for PIL images alone: such warps are Pillow's,
    /// on 8-bit numbers ([`Op::PillowAffine`]).
    pub interpolation: Interpolation,
    /// The colour that warps leave outside the image: torchvision's `None` by default.
    pub fill: Fill,
}

impl Default for RandAugment {
    fn default() -> Self {
        RandAugment::new(2, 9)
    }
}

impl RandAugment {
    /// Applies `num_ops` operations of the magnitude at bin `magnitude` of 31.
    pub fn new(num_ops: u32, magnitude: u32) -> Self {
        RandAugment {
            num_ops,
            magnitude,
            num_magnitude_bins: 31,
            interpolation: Interpolation::Nearest,
            fill: Fill::None,
        }
    }

    warp_setters!("Sets the interpolation of warps.", "Sets the colour that warps leave outside the image.");
}

impl Operator for RandAugment {
    const NAME: &'static str = "RandAugment";
    const KEYS: &[(&str, &str)] =
        &[("num_ops", "0 to 16 work"), ("magnitude", "0 to one less than num_magnitude_bins work")];

    fn validate(&self) -> Result<()> {
        if self.num_ops > 16 {
            return Err(Error::argument("num_ops", format!("{}; 0 to 16 work", self.num_ops)));
        }
        policy::check_bins(self.num_magnitude_bins)?;
        if self.magnitude >= self.num_magnitude_bins {
            let most = self.num_magnitude_bins - 1;
            let reason = format!("{}; 0 to {most} work with {} bins", self.magnitude, self.num_magnitude_bins);
            return Err(Error::argument("magnitude", reason));
        }
        check_warp_or_pillow(self.interpolation, self.fill)
    }

    fn validate_range(&self, uint8: bool) -> Result<()> {
        check_bicubic(self.interpolation, uint8)
    }

    fn slots(&self, slots: &mut Slots) {
        (0..self.num_ops).for_each(|_| slots.push(Self::NAME, policy::effect(self.interpolation)));
    }

    fn make_params(&self, context: &mut Context<'_>, numbers: &mut Numbers) -> Result<()> {
        let (bin, bins) = (self.magnitude, self.num_magnitude_bins);
        let (interpolation, fill) = (self.interpolation, self.fill.color());
        for slot in 0..self.num_ops {
            let id = OPERATIONS[numbers.below(OPERATIONS.len() as u64) as usize];
            let magnitude = Space::RAND_AUGMENT.draw(id, bin, bins, (context.width, context.height), numbers);
            policy::emit(context, slot as u16, Op::Policy { id, magnitude, interpolation, fill })?;
        }
        Ok(())
    }
}
