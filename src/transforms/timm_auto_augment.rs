use super::params::{Context, Numbers};
use super::timm_augment_op::{TimmAugmentOp, check_ops};
use super::{Effect, GatherClass, Operator, Slots};
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// Applies one of several lists of operations, one after the other, each with its own probability: timm's `AutoAugment`,
/// as its `original`, `originalr`, `v0`, `v0r` and `3a` make it.
///
/// [`TimmAugmentOp`] says what it needs of the list of transforms.
///
/// ```
/// use gpufeed::transforms::{TimmAugmentOp, TimmAutoAugment, TimmOp};
///
/// let always = |name, magnitude| TimmAugmentOp { prob: 1.0, magnitude, ..TimmAugmentOp::new(name) };
/// let three = [(TimmOp::Solarize, 5.0), (TimmOp::Desaturate, 10.0), (TimmOp::GaussianBlurRand, 10.0)];
/// let three_augment = TimmAutoAugment::new(three.map(|(name, magnitude)| vec![always(name, magnitude)]));
/// assert_eq!(three_augment.policy.len(), 3);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TimmAutoAugment {
    /// The lists, 1 to 255, with 1 to 16 operations each.
    pub policy: Vec<Vec<TimmAugmentOp>>,
}

impl TimmAutoAugment {
    /// Applies one of these lists, of which all are equally likely.
    pub fn new(policy: impl Into<Vec<Vec<TimmAugmentOp>>>) -> Self {
        TimmAutoAugment { policy: policy.into() }
    }
}

impl Operator for TimmAutoAugment {
    const NAME: &'static str = "TimmAutoAugment";
    const KEYS: &[(&str, &str)] = &[("policy", "1 to 255 lists of 1 to 16 tables with a name each work")];

    fn validate(&self) -> Result<()> {
        if self.policy.is_empty() || self.policy.len() > 255 {
            return Err(Error::argument("policy", format!("{} lists; 1 to 255 work", self.policy.len())));
        }
        if let Some(long) = self.policy.iter().find(|list| list.len() > 16) {
            return Err(Error::argument("policy", format!("a list of {} operations; 1 to 16 work", long.len())));
        }
        self.policy.iter().try_for_each(|list| check_ops("policy", list))
    }

    fn slots(&self, slots: &mut Slots) {
        let longest = self.policy.iter().map(Vec::len).max().unwrap_or(0);
        (0..longest).for_each(|_| slots.push(Self::NAME, Effect::Gather(GatherClass::Timm)));
    }

    fn make_params(&self, context: &mut Context<'_>, numbers: &mut Numbers) -> Result<()> {
        let list = &self.policy[numbers.below(self.policy.len() as u64) as usize];
        for (slot, op) in (0..).zip(list) {
            if let Some(op) = op.draw(numbers) {
                context.emit(slot, op)?;
            }
        }
        Ok(())
    }
}
