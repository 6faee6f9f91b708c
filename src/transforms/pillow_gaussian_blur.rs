use super::arguments::MAX_RADIUS;
use super::op::Op;
use super::params::{Context, Numbers};
use super::{Effect, GatherClass, Operator, Slots};
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// Blurs with Pillow's `ImageFilter.GaussianBlur` of a random radius, as the code of SimCLR, MoCo and DINO does.
///
/// Pillow averages three times across and three times down, and rounds each time, so its pixels differ from those of
/// [`GaussianBlur`](super::GaussianBlur) by up to 17 levels. It works on 8-bit numbers alone
/// ([`Semantics::Uint8`](crate::Semantics::Uint8)), before [`ToDtype`](super::ToDtype) and [`Normalize`](super::Normalize);
/// the bytes are Pillow's.
///
/// ```
/// use gpufeed::transforms::{PillowGaussianBlur, RandomApply};
/// use gpufeed::{Output, Plan, Semantics};
///
/// // MoCo v2: half of the images.
/// let blur = RandomApply::new(0.5, [PillowGaussianBlur::new(0.1, 2.0)]);
/// assert!(Plan::compile_as(Semantics::Uint8, 3, &[blur.into()], &Output::default()).is_ok());
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PillowGaussianBlur {
    /// The range of Pillow's radius, the standard deviation in pixels, the same across and down: 0 to 1,000,000.
    pub radius: [f64; 2],
}

impl PillowGaussianBlur {
    /// Blurs with a radius in a range.
    pub fn new(least: f64, greatest: f64) -> Self {
        PillowGaussianBlur { radius: [least, greatest] }
    }
}

impl Operator for PillowGaussianBlur {
    const NAME: &'static str = "PillowGaussianBlur";
    const KEYS: &[(&str, &str)] = &[("radius", "[least, greatest] with 0 <= least <= greatest <= 1,000,000 works")];

    fn validate(&self) -> Result<()> {
        let [least, greatest] = self.radius;
        if 0.0 <= least && least <= greatest && greatest <= MAX_RADIUS {
            return Ok(());
        }
        let works = "0 <= least <= greatest <= 1,000,000 works";
        Err(Error::argument("radius", format!("[{least}, {greatest}]; {works}")))
    }

    fn slots(&self, slots: &mut Slots) {
        // Rows, then columns: a shader has one of them.
        (0..2).for_each(|_| slots.push(Self::NAME, Effect::Gather(GatherClass::PillowBlur)));
    }

    fn make_params(&self, context: &mut Context<'_>, numbers: &mut Numbers) -> Result<()> {
        let radius = numbers.uniform(self.radius[0], self.radius[1]);
        context.emit(0, Op::PillowBlur { radius: [radius, 0.0] })?;
        context.emit(1, Op::PillowBlur { radius: [0.0, radius] })
    }
}
