use super::{Partner, one};
use serde::{Deserialize, Serialize};

/// Blends each image with its partner, in shares of one λ a batch, drawn from Beta(alpha, alpha): torchvision's `MixUp`.
///
/// Outputs are f32, f16 or bf16; bytes cannot hold a blend. [`Batch::mixed`](crate::Batch::mixed) and
/// [`Batch::soft_labels`](crate::Batch::soft_labels) have the labels.
///
/// ```
/// use gpufeed::transforms::MixUp;
///
/// assert_eq!(MixUp::default(), MixUp::new(1.0));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MixUp {
    /// The distribution's parameter, greater than 0; 1 by default, which makes λ uniform.
    #[serde(default = "one")]
    pub alpha: f64,
    /// The image with which each is mixed; that of the sample before by default.
    #[serde(default)]
    pub partner: Partner,
}

impl MixUp {
    /// Blends with the sample before.
    pub fn new(alpha: f64) -> Self {
        MixUp { alpha, partner: Partner::Previous }
    }

    /// Changes which image of the batch is the partner.
    #[must_use]
    pub fn partner(self, partner: Partner) -> Self {
        MixUp { partner, ..self }
    }
}

impl Default for MixUp {
    fn default() -> Self {
        MixUp::new(one())
    }
}
