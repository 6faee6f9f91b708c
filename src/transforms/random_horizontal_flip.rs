use super::arguments::check_probability;
use super::op::Op;
use super::params::{Context, Numbers};
use super::{Effect, Operator, Slots};
use crate::error::Result;
use serde::{Deserialize, Serialize};

/// Mirrors left and right with probability `p`: torchvision's `RandomHorizontalFlip`.
///
/// ```
/// use gpufeed::transforms::RandomHorizontalFlip;
///
/// assert_eq!(RandomHorizontalFlip::default().p, 0.5);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RandomHorizontalFlip {
    /// Probability in \[0, 1\]; 0.5 by default.
    pub p: f64,
}

impl RandomHorizontalFlip {
    /// Flips with probability `p`.
    pub fn new(p: f64) -> Self {
        RandomHorizontalFlip { p }
    }
}

impl Default for RandomHorizontalFlip {
    fn default() -> Self {
        RandomHorizontalFlip { p: 0.5 }
    }
}

impl Operator for RandomHorizontalFlip {
    const NAME: &'static str = "RandomHorizontalFlip";

    fn validate(&self) -> Result<()> {
        check_probability(self.p)
    }

    fn slots(&self, slots: &mut Slots) {
        slots.push(Self::NAME, Effect::Flip);
    }

    fn make_params(&self, context: &mut Context<'_>, numbers: &mut Numbers) -> Result<()> {
        if numbers.chance(self.p) { context.emit(0, Op::HorizontalFlip) } else { Ok(()) }
    }
}
