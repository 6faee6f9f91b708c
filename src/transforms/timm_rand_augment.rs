use super::params::{Context, Numbers};
use super::timm_augment_op::{TimmAugmentOp, check_ops};
use super::{Effect, GatherClass, Operator, Slots};
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// Applies some operations of a list, each with its own probability: timm's `RandAugment`, as its `rand-m9-mstd0.5-inc1`
/// makes it.
///
/// Without weights each of `num_layers` operations is any of the list, so one may come twice. With weights none comes
/// twice. [`TimmAugmentOp`] says what it needs of the list of transforms.
///
/// ```
/// use gpufeed::transforms::{TimmAugmentOp, TimmOp, TimmRandAugment};
///
/// let ops = [TimmOp::Rotate, TimmOp::SolarizeAdd].map(TimmAugmentOp::new);
/// assert_eq!(TimmRandAugment::new(ops).num_layers, 2);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TimmRandAugment {
    /// The number of operations, 0 to 16; 2 by default.
    #[serde(default = "two")]
    pub num_layers: u32,
    /// The weight of each operation, for operations that do not come twice; they are divided by their sum. None by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub choice_weights: Option<Vec<f64>>,
    /// The list of operations, 1 to 255.
    pub ops: Vec<TimmAugmentOp>,
}

fn two() -> u32 {
    2
}

impl TimmRandAugment {
    /// Applies two of the operations.
    pub fn new(ops: impl IntoIterator<Item = TimmAugmentOp>) -> Self {
        TimmRandAugment { num_layers: two(), choice_weights: None, ops: ops.into_iter().collect() }
    }

    /// Sets the number of operations.
    pub fn num_layers(self, num_layers: u32) -> Self {
        TimmRandAugment { num_layers, ..self }
    }

    /// Sets the weight of each operation; then none comes twice.
    pub fn choice_weights(self, weights: impl Into<Vec<f64>>) -> Self {
        TimmRandAugment { choice_weights: Some(weights.into()), ..self }
    }

    /// Draws the operations of an image.
    fn choose(&self, numbers: &mut Numbers) -> Vec<&TimmAugmentOp> {
        let Some(weights) = &self.choice_weights else {
            let mut any = || &self.ops[numbers.below(self.ops.len() as u64) as usize];
            return (0..self.num_layers).map(|_| any()).collect();
        };
        let mut left = weights.clone();
        let mut one = || {
            let mut rest = numbers.unit() * left.iter().sum::<f64>();
            let below = |weight: &f64| {
                rest -= weight;
                rest < 0.0
            };
            let found = left.iter().position(below);
            // Rounding may leave a rest after the last one.
            let number = found.or_else(|| left.iter().rposition(|weight| *weight > 0.0)).unwrap_or(0);
            left[number] = 0.0;
            &self.ops[number]
        };
        (0..self.num_layers).map(|_| one()).collect()
    }
}

impl Operator for TimmRandAugment {
    const NAME: &'static str = "TimmRandAugment";
    const KEYS: &[(&str, &str)] = &[
        ("num_layers", "0 to 16 work"),
        ("choice_weights", "a weight >= 0 for each operation works"),
        ("ops", "1 to 255 tables with a name each work"),
    ];

    fn validate(&self) -> Result<()> {
        check_ops("ops", &self.ops)?;
        if self.num_layers > 16 {
            return Err(Error::argument("num_layers", format!("{}; 0 to 16 work", self.num_layers)));
        }
        let Some(weights) = &self.choice_weights else { return Ok(()) };
        let wrong = |reason: String| Err(Error::argument("choice_weights", reason));
        if weights.len() != self.ops.len() {
            return wrong(format!("{} weights for {} operations; one each works", weights.len(), self.ops.len()));
        }
        let sum: f64 = weights.iter().sum();
        if weights.iter().any(|weight| *weight < 0.0) || !(sum > 0.0 && sum.is_finite()) {
            return wrong(format!("{weights:?}; weights >= 0 work, of which one is more than 0"));
        }
        let possible = weights.iter().filter(|weight| **weight > 0.0).count();
        if possible < self.num_layers as usize {
            let reason = format!("{possible} of them are more than 0; num_layers = {} needs as many", self.num_layers);
            return wrong(reason);
        }
        Ok(())
    }

    fn slots(&self, slots: &mut Slots) {
        (0..self.num_layers).for_each(|_| slots.push(Self::NAME, Effect::Gather(GatherClass::Timm)));
    }

    fn make_params(&self, context: &mut Context<'_>, numbers: &mut Numbers) -> Result<()> {
        for (slot, chosen) in (0..).zip(self.choose(numbers)) {
            if let Some(op) = chosen.draw(numbers) {
                context.emit(slot, op)?;
            }
        }
        Ok(())
    }
}
