use super::arguments::check_probability;
use super::op::Op;
use super::params::{Context, Numbers};
use super::{Effect, GatherClass, Operator, Slots};
use crate::error::Result;
use serde::{Deserialize, Serialize};

/// Stretches each channel to the whole range, with probability `p`: torchvision's `RandomAutocontrast`.
///
/// ```
/// use gpufeed::transforms::RandomAutocontrast;
///
/// assert_eq!(RandomAutocontrast::default().p, 0.5);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RandomAutocontrast {
    /// Probability in \[0, 1\]; 0.5 by default.
    pub p: f64,
}

impl Default for RandomAutocontrast {
    fn default() -> Self {
        RandomAutocontrast::new(super::half())
    }
}

impl RandomAutocontrast {
    /// Applies it with probability `p`.
    pub fn new(p: f64) -> Self {
        RandomAutocontrast { p }
    }
}

impl Operator for RandomAutocontrast {
    const NAME: &'static str = "RandomAutocontrast";

    fn validate(&self) -> Result<()> {
        check_probability(self.p)
    }

    fn slots(&self, slots: &mut Slots) {
        slots.push(Self::NAME, Effect::Gather(GatherClass::Tables));
    }

    fn make_params(&self, context: &mut Context<'_>, numbers: &mut Numbers) -> Result<()> {
        if numbers.chance(self.p) { context.emit(0, Op::Autocontrast) } else { Ok(()) }
    }
}
