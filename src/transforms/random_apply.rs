use super::arguments::check_probability;
use super::params::{Context, Numbers, first_slots};
use super::{Operator, Slots, Transform};
use crate::error::Result;
use serde::{Deserialize, Serialize};

/// Applies a whole list with probability `p`: torchvision's `RandomApply`.
///
/// ```
/// use gpufeed::transforms::{ColorJitter, RandomApply};
///
/// let simclr = RandomApply::new(0.8, [ColorJitter::new(0.8, 0.8, 0.8, 0.2)]);
/// assert_eq!(simclr.p, 0.8);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RandomApply {
    /// Probability in \[0, 1\]; 0.5 by default.
    #[serde(default = "super::half")]
    pub p: f64,
    /// The list; none of its operators may change the number of channels or make several crops.
    pub transforms: Vec<Transform>,
}

impl RandomApply {
    /// Applies `transforms` with probability `p`.
    pub fn new(p: f64, transforms: impl IntoIterator<Item = impl Into<Transform>>) -> Self {
        RandomApply { p, transforms: transforms.into_iter().map(Into::into).collect() }
    }
}

impl Operator for RandomApply {
    const NAME: &'static str = "RandomApply";

    fn validate(&self) -> Result<()> {
        check_probability(self.p)?;
        super::check_list(&self.transforms)
    }

    fn slots(&self, slots: &mut Slots) {
        let (optional, size, most) = (slots.optional, slots.size, slots.most);
        slots.optional = true;
        // Inside the list, sizes are those after applying it. After the list, only sizes that are certain in both cases
        // are known; a list that is always applied has one case.
        self.transforms.iter().for_each(|transform| transform.slots(slots));
        slots.optional = optional;
        if self.p < 1.0 {
            slots.join(size, most);
        }
    }

    fn make_params(&self, context: &mut Context<'_>, numbers: &mut Numbers) -> Result<()> {
        if numbers.chance(self.p) {
            context.make_params_of_list(&self.transforms, &first_slots(&self.transforms))
        } else {
            Ok(())
        }
    }
}
