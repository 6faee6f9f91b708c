use super::op::Op;
use super::params::{Context, Numbers};
use super::{Effect, Operator, Slots};
use crate::color::opcode;
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// Adds normal noise to every value: torchvision's `GaussianNoise`.
///
/// The normal numbers come from gpufeed's own generator ([`Op::GaussianNoise`]). `mean` and `sigma` are shares of the
/// whole range, also on 8-bit numbers ([`Semantics::Uint8`](crate::Semantics::Uint8)); noise on these is truncated to
/// whole numbers.
///
/// ```
/// use gpufeed::transforms::GaussianNoise;
///
/// let noise = GaussianNoise::default();
/// assert_eq!((noise.mean, noise.sigma, noise.clip), (0.0, 0.1, true));
/// let unclipped = GaussianNoise::new(0.05).mean(0.01).clip(false);
/// # let _ = unclipped;
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GaussianNoise {
    /// Mean of the noise, in -1,000,000 to 1,000,000; 0 by default.
    pub mean: f64,
    /// Standard deviation of the noise, in 0 to 1,000,000; 0.1 by default.
    pub sigma: f64,
    /// True, the default, if results are clamped to \[0, 1\]. 8-bit numbers always are clamped to 0 to 255.
    pub clip: bool,
}

impl Default for GaussianNoise {
    fn default() -> Self {
        GaussianNoise::new(0.1)
    }
}

impl GaussianNoise {
    /// Adds noise of this standard deviation and mean 0, and clips.
    pub fn new(sigma: f64) -> Self {
        GaussianNoise { mean: 0.0, sigma, clip: true }
    }

    /// Sets the mean of the noise.
    pub fn mean(self, mean: f64) -> Self {
        GaussianNoise { mean, ..self }
    }

    /// Sets whether results are clamped to \[0, 1\].
    pub fn clip(self, clip: bool) -> Self {
        GaussianNoise { clip, ..self }
    }
}

impl Operator for GaussianNoise {
    const NAME: &'static str = "GaussianNoise";
    const KEYS: &[(&str, &str)] = &[("mean", "-1,000,000 to 1,000,000 work"), ("sigma", "0 to 1,000,000 work")];

    fn validate(&self) -> Result<()> {
        if !(-1e6..=1e6).contains(&self.mean) {
            return Err(Error::argument("mean", format!("{}; -1,000,000 to 1,000,000 work", self.mean)));
        }
        if !(0.0..=1e6).contains(&self.sigma) {
            return Err(Error::argument("sigma", format!("{}; 0 to 1,000,000 work", self.sigma)));
        }
        Ok(())
    }

    fn slots(&self, slots: &mut Slots) {
        slots.push(Self::NAME, Effect::Color(opcode::GAUSSIAN_NOISE));
    }

    fn make_params(&self, context: &mut Context<'_>, numbers: &mut Numbers) -> Result<()> {
        let GaussianNoise { mean, sigma, clip } = *self;
        context.emit(0, Op::GaussianNoise { mean, sigma, clip, key: numbers.key() })
    }
}
