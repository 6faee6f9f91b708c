use super::arguments::check_probability;
use super::op::Op;
use super::params::{Context, Numbers};
use super::{Effect, Operator, Slots};
use crate::color::opcode;
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// Reduces each channel to 2^bits levels, with probability `p`: torchvision's `RandomPosterize` on floats.
///
/// The levels are `0, 1/L, …, (L - 1)/L` with L = 2^bits, so white becomes `(L - 1)/L`, and 0 bits make the image
/// black.
///
/// For bytes, torchvision preserves the upper bits instead: level k is the byte 256 k/L. As a float that level is k/L,
/// which [`DType::U8`](crate::DType::U8) converts to 256 k/L - 1, in torchvision too. So except for the L-th part of
/// the 256 bytes that becomes black, the results are one below those of torchvision's `uint8` path: 50 % of the bytes
/// with 1 bit, 75 % with 2, 94 % with 4.
///
/// ```
/// use gpufeed::transforms::RandomPosterize;
///
/// let four_levels = RandomPosterize::new(2).p(1.0);
/// assert_eq!(RandomPosterize::new(2).p, 0.5);
/// # let _ = four_levels;
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RandomPosterize {
    /// The bits that are kept of each number, 0 to 8.
    pub bits: u32,
    /// Probability in \[0, 1\]; 0.5 by default.
    #[serde(default = "super::half")]
    pub p: f64,
}

impl RandomPosterize {
    /// Reduces to `bits` bits with probability 0.5.
    pub fn new(bits: u32) -> Self {
        RandomPosterize { bits, p: super::half() }
    }

    /// Sets the probability, 0.5 by default.
    pub fn p(self, p: f64) -> Self {
        RandomPosterize { p, ..self }
    }
}

impl Operator for RandomPosterize {
    const NAME: &'static str = "RandomPosterize";
    const KEYS: &[(&str, &str)] = &[("bits", "0 to 8 work")];

    fn validate(&self) -> Result<()> {
        check_probability(self.p)?;
        match self.bits {
            0..=8 => Ok(()),
            bits => Err(Error::argument("bits", format!("{bits}; 0 to 8 work"))),
        }
    }

    fn slots(&self, slots: &mut Slots) {
        slots.push(Self::NAME, Effect::Color(opcode::POSTERIZE));
    }

    fn make_params(&self, context: &mut Context<'_>, numbers: &mut Numbers) -> Result<()> {
        if numbers.chance(self.p) { context.emit(0, Op::Posterize { bits: self.bits }) } else { Ok(()) }
    }
}
