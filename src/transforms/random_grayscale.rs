use super::arguments::check_probability;
use super::op::Op;
use super::params::{Context, Numbers};
use super::{Effect, Operator, Slots};
use crate::color::opcode;
use crate::error::Result;
use serde::{Deserialize, Serialize};

/// Converts to gray with probability `p`, with the same number of channels: torchvision's `RandomGrayscale`.
///
/// ```
/// use gpufeed::transforms::RandomGrayscale;
///
/// assert_eq!(RandomGrayscale::default().p, 0.1);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RandomGrayscale {
    /// Probability in \[0, 1\]; 0.1 by default.
    pub p: f64,
}

impl RandomGrayscale {
    /// Converts with probability `p`.
    pub fn new(p: f64) -> Self {
        RandomGrayscale { p }
    }
}

impl Default for RandomGrayscale {
    fn default() -> Self {
        RandomGrayscale { p: 0.1 }
    }
}

impl Operator for RandomGrayscale {
    const NAME: &'static str = "RandomGrayscale";

    fn validate(&self) -> Result<()> {
        check_probability(self.p)
    }

    fn slots(&self, slots: &mut Slots) {
        slots.push(Self::NAME, Effect::Color(opcode::GRAYSCALE));
    }

    fn make_params(&self, context: &mut Context<'_>, numbers: &mut Numbers) -> Result<()> {
        // One channel is gray already; torchvision returns it unchanged.
        if numbers.chance(self.p) && context.channels == 3 {
            context.emit(0, Op::Grayscale { channels: 3 })?;
        }
        Ok(())
    }
}
