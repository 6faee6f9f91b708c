use super::arguments::check_probability;
use super::op::Op;
use super::params::{Context, Numbers};
use super::{Effect, Operator, Slots};
use crate::error::Result;
use serde::{Deserialize, Serialize};

/// Mirrors top and bottom with probability `p`: torchvision's `RandomVerticalFlip`.
///
/// ```
/// use gpufeed::transforms::RandomVerticalFlip;
///
/// assert_eq!(RandomVerticalFlip::default().p, 0.5);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RandomVerticalFlip {
    /// Probability in \[0, 1\]; 0.5 by default.
    pub p: f64,
}

impl RandomVerticalFlip {
    /// Flips with probability `p`.
    pub fn new(p: f64) -> Self {
        RandomVerticalFlip { p }
    }
}

impl Default for RandomVerticalFlip {
    fn default() -> Self {
        RandomVerticalFlip { p: 0.5 }
    }
}

impl Operator for RandomVerticalFlip {
    const NAME: &'static str = "RandomVerticalFlip";

    fn validate(&self) -> Result<()> {
        check_probability(self.p)
    }

    fn slots(&self, slots: &mut Slots) {
        slots.push(Self::NAME, Effect::Flip);
    }

    fn make_params(&self, context: &mut Context<'_>, numbers: &mut Numbers) -> Result<()> {
        if numbers.chance(self.p) { context.emit(0, Op::VerticalFlip) } else { Ok(()) }
    }
}
