use super::arguments::check_side;
use super::params::{Context, Numbers};
use super::{Effect, Op, Operator, Slots};
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// Crops to a random size at a random place: DETR's `RandomSizeCrop`.
///
/// Width and height are drawn one after the other, each from `min_size` to `max_size` or to the image's side, if that is less. A side
/// below `min_size`, which DETR refuses, is kept whole. Results differ in size, so a later transform has to fix it, or the batch's
/// [`Arrangement`](crate::Arrangement) has room for all.
///
/// ```
/// use gpufeed::transforms::{RandomShortestSize, RandomSizeCrop, Transform};
///
/// let sizes = (480..=800).step_by(32);
/// let detr: [Transform; 3] = [
///     RandomShortestSize::new([400, 500, 600]).into(),
///     RandomSizeCrop::new(384, 600).into(),
///     RandomShortestSize::new(sizes).max_size(1333).into(),
/// ];
/// # let _ = detr;
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RandomSizeCrop {
    /// The least side of the result, in pixels.
    pub min_size: u32,
    /// The greatest side of the result, in pixels.
    pub max_size: u32,
}

impl RandomSizeCrop {
    /// Makes crops whose sides have `min_size` to `max_size` pixels.
    pub fn new(min_size: u32, max_size: u32) -> Self {
        RandomSizeCrop { min_size, max_size }
    }
}

impl Operator for RandomSizeCrop {
    const NAME: &'static str = "RandomSizeCrop";
    const KEYS: &[(&str, &str)] =
        &[("min_size", "a number of pixels works"), ("max_size", "a number of pixels from min_size on works")];

    fn validate(&self) -> Result<()> {
        check_side("min_size", self.min_size)?;
        check_side("max_size", self.max_size)?;
        if self.max_size < self.min_size {
            let reason = format!("{} is less than min_size, {}", self.max_size, self.min_size);
            return Err(Error::argument("max_size", reason));
        }
        Ok(())
    }

    fn slots(&self, slots: &mut Slots) {
        slots.push(Self::NAME, Effect::Crop);
        slots.set_size_or_most(None, Some((self.max_size, self.max_size)));
    }

    fn make_params(&self, context: &mut Context<'_>, numbers: &mut Numbers) -> Result<()> {
        let mut side = |side: u32| {
            let most = side.min(self.max_size);
            let least = most.min(self.min_size);
            least + numbers.below(u64::from(most - least) + 1) as u32
        };
        let (width, height) = (side(context.width), side(context.height));
        let top = numbers.below(u64::from(context.height - height) + 1) as u32;
        let left = numbers.below(u64::from(context.width - width) + 1) as u32;
        context.emit(0, Op::Crop { top, left, height, width })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transforms::Key;
    use crate::{Output, Plan};
    use std::collections::HashSet;

    #[test]
    fn sides_and_places_are_drawn() {
        let plan = Plan::compile(&[RandomSizeCrop::new(8, 11).into()], &Output::default()).unwrap();
        assert_eq!((plan.output_size(), plan.largest_output()), (None, Some((11, 11))));
        let mut seen = HashSet::new();
        for sample in 0..2000 {
            let params = plan.make_params(12, 9, &Key { sample, ..Key::default() }).unwrap();
            plan.program(&params).unwrap();
            let [Op::Crop { top, left, height, width }] =
                params.ops.iter().map(|op| op.op.clone()).collect::<Vec<_>>()[..]
            else {
                panic!("{params:?}")
            };
            assert!((8..=11).contains(&width) && (8..=9).contains(&height), "{params:?}");
            assert!(left + width <= 12 && top + height <= 9, "{params:?}");
            seen.insert((top, left, height, width));
        }
        // Widths of 8 to 11 have 5, 4, 3 and 2 places, heights of 8 and 9 have 2 and 1.
        assert_eq!(seen.len(), 14 * 3);
    }

    #[test]
    fn a_side_below_the_least_is_whole() {
        let plan = Plan::compile(&[RandomSizeCrop::new(8, 11).into()], &Output::default()).unwrap();
        let params = plan.make_params(5, 30, &Key::default()).unwrap();
        assert!(matches!(params.ops[0].op, Op::Crop { left: 0, width: 5, .. }), "{params:?}");
    }
}
