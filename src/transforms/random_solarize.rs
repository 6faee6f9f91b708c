use super::arguments::check_probability;
use super::op::Op;
use super::params::{Context, Numbers};
use super::{Effect, Operator, Slots};
use crate::advice::{self, Reason};
use crate::color::opcode;
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// Inverts values at or above a threshold, in each channel, with probability `p`: torchvision's `RandomSolarize`.
///
/// ```
/// use gpufeed::transforms::RandomSolarize;
///
/// let byol = RandomSolarize::new(0.5).p(0.2);
/// assert_eq!(RandomSolarize::new(0.5).p, 0.5);
/// # let _ = byol;
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RandomSolarize {
    /// Threshold in \[0, 1\]: a byte's 128 is 128 / 255 here.
    pub threshold: f32,
    /// Probability in \[0, 1\]; 0.5 by default.
    #[serde(default = "super::half")]
    pub p: f64,
}

impl RandomSolarize {
    /// Solarizes at `threshold` with probability 0.5.
    pub fn new(threshold: f32) -> Self {
        RandomSolarize { threshold, p: super::half() }
    }

    /// Sets the probability, 0.5 by default.
    pub fn p(self, p: f64) -> Self {
        RandomSolarize { p, ..self }
    }
}

impl Operator for RandomSolarize {
    const NAME: &'static str = "RandomSolarize";
    const KEYS: &[(&str, &str)] = &[("threshold", "0 to 1 work")];

    fn validate(&self) -> Result<()> {
        check_probability(self.p)?;
        if (0.0..=255.0).contains(&self.threshold) {
            Ok(())
        } else {
            let reason = Reason::new(format!("{}; 0 to 1 work", self.threshold));
            Err(Error::argument("threshold", reason.advise(advice::UINT8_LEVELS)))
        }
    }

    fn validate_range(&self, uint8: bool) -> Result<()> {
        if uint8 || self.threshold <= 1.0 {
            return Ok(());
        }
        let reason = Reason::new(format!("{}; 0 to 1 work on floats", self.threshold));
        Err(Error::argument("threshold", reason.advise(advice::UINT8_LEVELS)))
    }

    fn slots(&self, slots: &mut Slots) {
        slots.push(Self::NAME, Effect::Color(opcode::SOLARIZE));
    }

    fn make_params(&self, context: &mut Context<'_>, numbers: &mut Numbers) -> Result<()> {
        if numbers.chance(self.p) { context.emit(0, Op::Solarize { threshold: self.threshold }) } else { Ok(()) }
    }
}
