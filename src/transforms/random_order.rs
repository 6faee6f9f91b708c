use super::params::{Context, Numbers, first_slots};
use super::{Operator, Slots, Transform};
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// The most transforms of a [`RandomOrder`]: a plan has room for each of them at each position.
const MOST: usize = 16;

/// Applies all transforms of a list in a random order: torchvision's `RandomOrder`.
///
/// ```
/// use gpufeed::transforms::{RandomAdjustSharpness, RandomInvert, RandomOrder, Transform};
///
/// let list: [Transform; 2] = [RandomInvert::new(0.5).into(), RandomAdjustSharpness::new(2.0).into()];
/// let order = RandomOrder::new(list);
/// # let _ = order;
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RandomOrder {
    /// The list, of up to 16; none of its operators may change the number of channels.
    pub transforms: Vec<Transform>,
}

impl RandomOrder {
    /// Applies `transforms` in a random order.
    pub fn new(transforms: impl IntoIterator<Item = impl Into<Transform>>) -> Self {
        RandomOrder { transforms: transforms.into_iter().map(Into::into).collect() }
    }
}

impl Operator for RandomOrder {
    const NAME: &'static str = "RandomOrder";
    const KEYS: &[(&str, &str)] = &[("transforms", "1 to 16 tables [[transform.transforms]] work")];

    fn validate(&self) -> Result<()> {
        super::check_list(&self.transforms)?;
        if self.transforms.len() > MOST {
            return Err(Error::argument("transforms", format!("{} of them; 1 to {MOST} work", self.transforms.len())));
        }
        Ok(())
    }

    fn slots(&self, slots: &mut Slots) {
        let (optional, before, most) = (slots.optional, slots.size, slots.most);
        slots.optional = true;
        let (mut certain, mut is_bounded) = (true, true);
        // Any transform may be at each position.
        for position in 0..self.transforms.len() {
            // The transforms at the positions before may have changed the size.
            let size = before.filter(|_| position == 0 || certain);
            for transform in &self.transforms {
                (slots.size, slots.most) = (size, most);
                transform.slots(slots);
                certain &= slots.size == size;
                is_bounded &= slots.most == most;
            }
        }
        slots.optional = optional;
        slots.set_size_or_most(before.filter(|_| certain), most.filter(|_| is_bounded));
    }

    fn make_params(&self, context: &mut Context<'_>, numbers: &mut Numbers) -> Result<()> {
        let mut order: Vec<usize> = (0..self.transforms.len()).collect();
        // Fisher-Yates.
        for i in (1..order.len()).rev() {
            order.swap(i, numbers.below(i as u64 + 1) as usize);
        }
        let mut slots = Slots::default();
        self.transforms.iter().for_each(|transform| transform.slots(&mut slots));
        let (first, all) = (first_slots(&self.transforms), slots.list.len() as u16);
        for (position, i) in (0..).zip(order) {
            context.make_params_of(i, &self.transforms[i], position * all + first[i])?;
        }
        Ok(())
    }
}
