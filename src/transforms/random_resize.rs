use super::arguments::MAX_SIDE;
use super::params::{Context, Numbers};
use super::resize::{ComputedResize, on};
use super::{Effect, Interpolation, Operator, Resize, Slots};
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// Resizes the shorter side to a random number of pixels: torchvision's `RandomResize`.
///
/// The longer side follows from the ratio, rounded down. As in torchvision, `max_size` itself is never drawn. Results
/// differ in size, so a later transform has to fix it.
///
/// ```
/// use gpufeed::transforms::{RandomCrop, RandomResize, Transform};
///
/// let list: [Transform; 2] = [RandomResize::new(256, 481).into(), RandomCrop::new(224).into()];
/// # let _ = list;
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RandomResize {
    /// The least shorter side.
    pub min_size: u32,
    /// One more than the greatest shorter side.
    pub max_size: u32,
    /// The filter; bilinear by default.
    #[serde(default)]
    pub interpolation: Interpolation,
    /// Widens the filter with the reduction; on by default, ignored by the nearest modes.
    #[serde(default = "on")]
    pub antialias: bool,
}

impl RandomResize {
    /// Makes a bilinear, antialiased resize of the shorter side to `min_size`..`max_size` pixels, `max_size` excluded.
    pub fn new(min_size: u32, max_size: u32) -> Self {
        RandomResize { min_size, max_size, interpolation: Interpolation::Bilinear, antialias: true }
    }

    resize_setters!();
}

impl Operator for RandomResize {
    const NAME: &'static str = "RandomResize";

    fn validate(&self) -> Result<()> {
        super::arguments::check_side("min_size", self.min_size)?;
        if self.max_size <= self.min_size || self.max_size > MAX_SIDE {
            let RandomResize { min_size, max_size, .. } = self;
            let reason = format!("{max_size} pixels; more than min_size = {min_size}, up to {MAX_SIDE}, work");
            return Err(Error::argument("max_size", reason));
        }
        Ok(())
    }

    fn slots(&self, slots: &mut Slots) {
        slots.push(Self::NAME, Effect::Resize { interpolation: self.interpolation, antialias: self.antialias });
        slots.set_size(None);
    }

    fn make_params(&self, context: &mut Context<'_>, numbers: &mut Numbers) -> Result<()> {
        let short = self.min_size + numbers.below(u64::from(self.max_size - self.min_size)) as u32;
        let size = Resize::new(short).output_size(context.width, context.height);
        let RandomResize { interpolation, antialias, .. } = *self;
        ComputedResize { transform: Self::NAME, advice: "set a smaller max_size", interpolation, antialias }
            .emit(context, size)
    }
}
