use super::arguments::check_probability;
use super::op::Op;
use super::params::{Context, Numbers};
use super::{Effect, Operator, Slots};
use crate::color::opcode;
use crate::error::Result;
use serde::{Deserialize, Serialize};

/// Inverts the colours with probability `p`: torchvision's `RandomInvert`.
///
/// ```
/// use gpufeed::transforms::RandomInvert;
///
/// assert_eq!(RandomInvert::default().p, 0.5);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RandomInvert {
    /// Probability in \[0, 1\]; 0.5 by default.
    pub p: f64,
}

impl RandomInvert {
    /// Inverts with probability `p`.
    pub fn new(p: f64) -> Self {
        RandomInvert { p }
    }
}

impl Default for RandomInvert {
    fn default() -> Self {
        RandomInvert { p: 0.5 }
    }
}

impl Operator for RandomInvert {
    const NAME: &'static str = "RandomInvert";

    fn validate(&self) -> Result<()> {
        check_probability(self.p)
    }

    fn slots(&self, slots: &mut Slots) {
        slots.push(Self::NAME, Effect::Color(opcode::INVERT));
    }

    fn make_params(&self, context: &mut Context<'_>, numbers: &mut Numbers) -> Result<()> {
        if numbers.chance(self.p) { context.emit(0, Op::Invert) } else { Ok(()) }
    }
}
