use super::arguments::check_probability;
use super::op::Op;
use super::params::{Context, Numbers};
use super::{Effect, GatherClass, Operator, Slots};
use crate::error::Result;
use serde::{Deserialize, Serialize};

/// Equalises the histogram of each channel, with probability `p`: torchvision's `RandomEqualize`.
///
/// ```
/// use gpufeed::transforms::RandomEqualize;
///
/// assert_eq!(RandomEqualize::default().p, 0.5);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RandomEqualize {
    /// Probability in \[0, 1\]; 0.5 by default.
    pub p: f64,
}

impl Default for RandomEqualize {
    fn default() -> Self {
        RandomEqualize::new(super::half())
    }
}

impl RandomEqualize {
    /// Applies it with probability `p`.
    pub fn new(p: f64) -> Self {
        RandomEqualize { p }
    }
}

impl Operator for RandomEqualize {
    const NAME: &'static str = "RandomEqualize";

    fn validate(&self) -> Result<()> {
        check_probability(self.p)
    }

    fn slots(&self, slots: &mut Slots) {
        slots.push(Self::NAME, Effect::Gather(GatherClass::Tables));
    }

    fn make_params(&self, context: &mut Context<'_>, numbers: &mut Numbers) -> Result<()> {
        if numbers.chance(self.p) { context.emit(0, Op::Equalize) } else { Ok(()) }
    }
}
