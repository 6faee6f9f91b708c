use super::op::Op;
use super::params::{Context, Numbers};
use super::{Effect, Operator, Slots};
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// Computes `(x - mean) / std` per channel: torchvision's `Normalize`.
///
/// ```
/// use gpufeed::transforms::Normalize;
///
/// let mnist = Normalize::new([0.1307; 3], [0.3081; 3]);
/// assert_eq!(Normalize::IMAGENET.mean, [0.485, 0.456, 0.406]);
/// # let _ = mnist;
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Normalize {
    /// Means. On one channel three different ones are an error, when a plan is made.
    pub mean: [f32; 3],
    /// Standard deviations, finite and not 0. On one channel three different ones are an error, when a plan is made.
    pub std: [f32; 3],
}

impl Normalize {
    /// The statistics of ImageNet, as every torchvision model expects them.
    pub const IMAGENET: Normalize = Normalize { mean: [0.485, 0.456, 0.406], std: [0.229, 0.224, 0.225] };

    /// Takes means and standard deviations, for values in \[0, 1\].
    pub const fn new(mean: [f32; 3], std: [f32; 3]) -> Self {
        Normalize { mean, std }
    }
}

impl Operator for Normalize {
    const NAME: &'static str = "Normalize";
    const FIXED: bool = true;
    const KEYS: &[(&str, &str)] = &[("std", "three finite numbers other than 0 work")];

    fn validate(&self) -> Result<()> {
        if self.std.iter().any(|s| *s == 0.0 || !s.is_finite()) {
            return Err(Error::argument("std", format!("{:?}; finite numbers other than 0 work", self.std)));
        }
        if self.mean.iter().any(|m| !m.is_finite()) {
            return Err(Error::argument("mean", format!("{:?}; finite numbers work", self.mean)));
        }
        Ok(())
    }

    fn slots(&self, slots: &mut Slots) {
        slots.push(Self::NAME, Effect::Normalize);
    }

    fn make_params(&self, context: &mut Context<'_>, _: &mut Numbers) -> Result<()> {
        context.emit(0, Op::Normalize { mean: self.mean, std: self.std })
    }
}
