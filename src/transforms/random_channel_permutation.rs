use super::op::Op;
use super::params::{Context, Numbers};
use super::{Effect, Operator, Slots};
use crate::color::opcode;
use crate::error::Result;
use serde::{Deserialize, Serialize};

/// Permutes the channels, each of the six orders equally likely: torchvision's `RandomChannelPermutation`.
///
/// It always applies; one of the six orders leaves the image unchanged. To apply it with a probability, put it in a
/// [`RandomApply`](super::RandomApply).
///
/// ```
/// use gpufeed::transforms::{RandomApply, RandomChannelPermutation};
///
/// let sometimes = RandomApply::new(0.5, [RandomChannelPermutation::new()]);
/// # let _ = sometimes;
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct RandomChannelPermutation {}

impl RandomChannelPermutation {
    /// Makes the operator, which has no arguments.
    pub fn new() -> Self {
        RandomChannelPermutation {}
    }
}

impl Operator for RandomChannelPermutation {
    const NAME: &'static str = "RandomChannelPermutation";

    fn validate(&self) -> Result<()> {
        Ok(())
    }

    fn slots(&self, slots: &mut Slots) {
        slots.push(Self::NAME, Effect::Color(opcode::PERMUTE_CHANNELS));
    }

    fn make_params(&self, context: &mut Context<'_>, numbers: &mut Numbers) -> Result<()> {
        // A single channel has only one order, so nothing is drawn.
        if context.channels == 1 {
            return Ok(());
        }
        let permutation = numbers.permutation::<3>().map(|channel| channel as u32);
        context.emit(0, Op::PermuteChannels { permutation })
    }
}
