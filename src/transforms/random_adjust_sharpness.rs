use super::arguments::check_probability;
use super::op::Op;
use super::params::{Context, Numbers};
use super::{Effect, GatherClass, Operator, Slots};
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// Changes the sharpness by a fixed factor, with probability `p`: torchvision's `RandomAdjustSharpness`.
///
/// ```
/// use gpufeed::transforms::RandomAdjustSharpness;
///
/// assert_eq!(RandomAdjustSharpness::new(2.0).p, 0.5);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RandomAdjustSharpness {
    /// At least 0: 0 smooths, 1 changes nothing, 2 doubles the sharpness.
    pub sharpness_factor: f64,
    /// Probability in \[0, 1\]; 0.5 by default.
    #[serde(default = "super::half")]
    pub p: f64,
}

impl RandomAdjustSharpness {
    /// Changes the sharpness by this factor, with probability 0.5.
    pub fn new(sharpness_factor: f64) -> Self {
        RandomAdjustSharpness { sharpness_factor, p: super::half() }
    }

    /// Sets the probability, 0.5 by default.
    pub fn p(self, p: f64) -> Self {
        RandomAdjustSharpness { p, ..self }
    }
}

impl Operator for RandomAdjustSharpness {
    const NAME: &'static str = "RandomAdjustSharpness";
    const KEYS: &[(&str, &str)] = &[("sharpness_factor", "a finite number >= 0 works")];

    fn validate(&self) -> Result<()> {
        check_probability(self.p)?;
        if self.sharpness_factor >= 0.0 && self.sharpness_factor.is_finite() {
            return Ok(());
        }
        Err(Error::argument("sharpness_factor", format!("{}; a finite number >= 0 works", self.sharpness_factor)))
    }

    fn slots(&self, slots: &mut Slots) {
        slots.push(Self::NAME, Effect::Gather(GatherClass::Sharpen));
    }

    fn make_params(&self, context: &mut Context<'_>, numbers: &mut Numbers) -> Result<()> {
        let factor = self.sharpness_factor;
        if numbers.chance(self.p) { context.emit(0, Op::Sharpness { factor }) } else { Ok(()) }
    }
}
