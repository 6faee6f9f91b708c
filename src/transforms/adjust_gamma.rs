use super::op::Op;
use super::params::{Context, Numbers};
use super::{Effect, Operator, Slots};
use crate::color::opcode;
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// Computes `gain * x ^ gamma` for each channel, with fixed arguments: torchvision's function `adjust_gamma`.
///
/// A gamma above 1 makes shadows darker, one below 1 makes them lighter. As in torchvision, the result is clamped to
/// \[0, 1\] unless the gain is 1, and 0 to the power of 0 is 1. Values below 0, which a bicubic resize may produce,
/// count as 0; torchvision returns NaN for most of them.
///
/// ```
/// use gpufeed::transforms::AdjustGamma;
///
/// let lighter = AdjustGamma::new(1.0 / 2.2);
/// assert_eq!(lighter.gain, 1.0);
/// let strong = AdjustGamma::new(2.2).gain(1.5);
/// # let _ = strong;
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AdjustGamma {
    /// The exponent: finite, at least 0.
    pub gamma: f32,
    /// The factor: finite; 1 by default.
    #[serde(default = "one")]
    pub gain: f32,
}

fn one() -> f32 {
    1.0
}

impl AdjustGamma {
    /// Raises every value to the power of `gamma`, with a gain of 1.
    pub fn new(gamma: f32) -> Self {
        AdjustGamma { gamma, gain: one() }
    }

    /// Sets the gain, 1 by default.
    pub fn gain(self, gain: f32) -> Self {
        AdjustGamma { gain, ..self }
    }
}

impl Operator for AdjustGamma {
    const NAME: &'static str = "AdjustGamma";
    const FIXED: bool = true;
    const KEYS: &[(&str, &str)] = &[("gamma", "a finite number >= 0 works"), ("gain", "a finite number works")];

    fn validate(&self) -> Result<()> {
        if !(0.0..=f32::MAX).contains(&self.gamma) {
            return Err(Error::argument("gamma", format!("{}; a finite number >= 0 works", self.gamma)));
        }
        if !self.gain.is_finite() {
            return Err(Error::argument("gain", format!("{}; a finite number works", self.gain)));
        }
        Ok(())
    }

    fn slots(&self, slots: &mut Slots) {
        slots.push(Self::NAME, Effect::Color(opcode::ADJUST_GAMMA));
    }

    fn make_params(&self, context: &mut Context<'_>, _: &mut Numbers) -> Result<()> {
        context.emit(0, Op::AdjustGamma { gamma: self.gamma, gain: self.gain })
    }
}
