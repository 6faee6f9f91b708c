use super::params::{Context, Numbers, first_slots};
use super::{Operator, Slots, Transform};
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// Applies one transform of a list: torchvision's `RandomChoice`.
///
/// ```
/// use gpufeed::transforms::{RandAugment, RandomChoice, Transform, TrivialAugmentWide};
///
/// let either: [Transform; 2] = [RandAugment::default().into(), TrivialAugmentWide::default().into()];
/// let choice = RandomChoice::new(either).p([0.3, 0.7]);
/// # let _ = choice;
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RandomChoice {
    /// The weight of each transform; they are divided by their sum. By default all are equal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p: Option<Vec<f64>>,
    /// The list; none of its operators may change the number of channels.
    pub transforms: Vec<Transform>,
}

impl RandomChoice {
    /// Applies each of `transforms` with the same probability.
    pub fn new(transforms: impl IntoIterator<Item = impl Into<Transform>>) -> Self {
        RandomChoice { p: None, transforms: transforms.into_iter().map(Into::into).collect() }
    }

    /// Sets the weight of each transform.
    pub fn p(self, p: impl Into<Vec<f64>>) -> Self {
        RandomChoice { p: Some(p.into()), ..self }
    }

    /// Draws the number of a transform.
    fn choose(&self, numbers: &mut Numbers) -> usize {
        let count = self.transforms.len();
        let weight = |i: usize| self.p.as_ref().map_or(1.0, |p| p[i]);
        let mut rest = numbers.unit() * (0..count).map(weight).sum::<f64>();
        for i in 0..count {
            rest -= weight(i);
            if rest < 0.0 {
                return i;
            }
        }
        // Rounding may leave a rest after the last one: it belongs to the last that has a weight.
        (0..count).rev().find(|&i| weight(i) > 0.0).unwrap_or(0)
    }
}

impl Operator for RandomChoice {
    const NAME: &'static str = "RandomChoice";
    const KEYS: &[(&str, &str)] = &[("p", "a weight >= 0 for each transform works")];

    fn validate(&self) -> Result<()> {
        super::check_list(&self.transforms)?;
        let Some(p) = &self.p else { return Ok(()) };
        if p.len() != self.transforms.len() {
            let reason = format!("{} weights for {} transforms; one each works", p.len(), self.transforms.len());
            return Err(Error::argument("p", reason));
        }
        let sum: f64 = p.iter().sum();
        if p.iter().any(|weight| *weight < 0.0) || !(sum > 0.0 && sum.is_finite()) {
            return Err(Error::argument("p", format!("{p:?}; weights >= 0 work, of which one is more than 0")));
        }
        Ok(())
    }

    fn slots(&self, slots: &mut Slots) {
        let (optional, before) = (slots.optional, (slots.size, slots.most));
        slots.optional = true;
        let mut known = None;
        for transform in &self.transforms {
            (slots.size, slots.most) = before;
            transform.slots(slots);
            // A size is certain if every choice has it.
            if let Some((size, most)) = known {
                slots.join(size, most);
            }
            known = Some((slots.size, slots.most));
        }
        slots.optional = optional;
    }

    fn make_params(&self, context: &mut Context<'_>, numbers: &mut Numbers) -> Result<()> {
        let chosen = self.choose(numbers);
        context.make_params_of(chosen, &self.transforms[chosen], first_slots(&self.transforms)[chosen])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transforms::{Key, RandomHorizontalFlip};

    #[test]
    fn choices_follow_their_weights() {
        let flip = || RandomHorizontalFlip::new(1.0);
        let choice = RandomChoice::new([flip(), flip(), flip(), flip()]).p([0.0, 3.0, 1.0, 0.0]);
        let mut counts = [0; 4];
        for sample in 0..4000 {
            counts[choice.choose(&mut Key { sample, ..Key::default() }.numbers(0))] += 1;
        }
        assert_eq!((counts[0], counts[3]), (0, 0));
        assert!((2850..3150).contains(&counts[1]), "{counts:?}");
    }
}
