use super::BatchTransform;
use crate::error::{Error, Result};
use crate::random::Numbers;
use serde::{Deserialize, Serialize};

/// The most choices inside each other: paths of random numbers have eight levels, and nothing needs more than one.
const DEPTH: usize = 4;

/// Applies one of several transforms to each batch: torchvision's `RandomChoice`. In TOML its type is `RandomChoice`.
///
/// DeiT's mixing, with weights that are divided by their sum:
///
/// ```
/// use gpufeed::transforms::{BatchTransform, CutMix, MixUp};
///
/// let deit = BatchTransform::choice([MixUp::new(0.8).into(), CutMix::new(1.0).into()]).p([0.5, 0.5]);
/// assert_eq!(deit.transforms.len(), 2);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BatchChoice {
    /// A weight for each transform: finite, not negative, not all 0. All equal by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p: Option<Vec<f64>>,
    /// 1 to 255 transforms.
    pub transforms: Vec<BatchTransform>,
}

impl BatchChoice {
    /// Chooses all of them equally often.
    pub fn new(transforms: impl IntoIterator<Item = BatchTransform>) -> Self {
        BatchChoice { p: None, transforms: transforms.into_iter().collect() }
    }

    /// Sets the weights, one for each transform.
    #[must_use]
    pub fn p(self, weights: impl Into<Vec<f64>>) -> Self {
        BatchChoice { p: Some(weights.into()), ..self }
    }

    pub(super) fn validate(&self) -> Result<()> {
        let count = self.transforms.len();
        if !(1..=255).contains(&count) {
            return Err(Error::argument("transforms", format!("{count} of them; 1 to 255 work")));
        }
        if self.depth() > DEPTH {
            let reason = format!("{} choices inside each other; up to {DEPTH} work", self.depth());
            return Err(Error::argument("transforms", reason));
        }
        if let Some(weights) = &self.p {
            let sum: f64 = weights.iter().sum();
            let positive = weights.iter().all(|weight| *weight >= 0.0) && sum > 0.0 && sum.is_finite();
            if weights.len() != count || !positive {
                let reason =
                    format!("{weights:?} for {count} transforms; one finite number >= 0 for each works, not all 0");
                return Err(Error::argument("p", reason));
            }
        }
        self.transforms.iter().try_for_each(BatchTransform::validate)
    }

    fn depth(&self) -> usize {
        let nested = self.transforms.iter().map(|transform| match transform {
            BatchTransform::RandomChoice(choice) => choice.depth(),
            _ => 0,
        });
        1 + nested.max().unwrap_or(0)
    }

    /// Draws one of the transforms, with its number.
    pub(super) fn choose(&self, numbers: &mut Numbers) -> Option<(usize, &BatchTransform)> {
        let number = match &self.p {
            None => numbers.below(self.transforms.len() as u64) as usize,
            Some(weights) => weighted(weights, numbers.unit()),
        };
        self.transforms.get(number).map(|transform| (number, transform))
    }
}

impl std::fmt::Display for BatchChoice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (number, transform) in self.transforms.iter().enumerate() {
            let separator = if number > 0 { ", " } else { "" };
            let weight = self.p.as_ref().and_then(|weights| weights.get(number)).unwrap_or(&1.0);
            write!(f, "{separator}{transform} by {weight}")?;
        }
        Ok(())
    }
}

/// The first entry at which the sum of the weights exceeds the share `unit`, below 1, of their whole sum.
fn weighted(weights: &[f64], unit: f64) -> usize {
    let target = unit * weights.iter().sum::<f64>();
    let mut sum = 0.0;
    let chosen = weights.iter().position(|weight| {
        sum += weight;
        target < sum
    });
    // Rounding can make `target` the whole sum.
    chosen.or_else(|| weights.iter().rposition(|weight| *weight > 0.0)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_divide_the_unit_interval() {
        let weights = [0.0, 1.0, 0.0, 3.0, 0.0];
        let chosen = [0.0, 0.2499, 0.25, 0.999_999].map(|unit| weighted(&weights, unit));
        assert_eq!(chosen, [1, 1, 3, 3]);
        assert_eq!(weighted(&weights, 1.0), 3, "an entry of weight 0 is never chosen");
    }
}
