//! Lists with `FiveCrop` or `TenCrop`, which make several outputs of each view.
//!
//! The key of an output has its number among those of its sample as `view`: crop `c` of view `v` is `v * crops + c`.
//! All random numbers are those of view `v`, so the crops of a view differ only in their crop.

use super::Plan;
use super::program::Program;
use crate::error::{Error, Result};
use crate::geometry::Rect;
use crate::transforms::{Params, Transform};

/// The crops of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Crops {
    /// 1 without a transform that makes several.
    pub(super) count: u32,
    /// The index in the list of the transform that makes them, if there is one.
    transform: Option<usize>,
}

impl Crops {
    /// Finds the transform that makes several crops, and checks its place in the list.
    pub(super) fn new(transforms: &[Transform]) -> Result<Crops> {
        let mut crops = Crops { count: 1, transform: None };
        for (number, transform) in transforms.iter().enumerate() {
            if let Some(several) = crops.transform.map(|index| transforms[index].name())
                && !transform.is_fixed()
            {
                let reason = format!(
                    "{} (transform {}) comes after {several}: only transforms that draw nothing work there ({}); put it \
                     before {several}",
                    transform.name(),
                    number + 1,
                    Transform::fixed_names().join(", ")
                );
                return Err(Error::argument("transforms", reason));
            }
            if let Some(name) = inside_a_list(transform) {
                let reason = format!(
                    "{name} inside RandomApply, RandomChoice or RandomOrder would give batches a random number of images; \
                     put it into the list itself"
                );
                return Err(Error::argument("transforms", reason));
            }
            if transform.crops() > 1 {
                crops = Crops { count: transform.crops(), transform: Some(number) };
            }
        }
        Ok(crops)
    }
}

/// The name of a transform that makes several crops inside the list of another one.
fn inside_a_list(transform: &Transform) -> Option<&'static str> {
    transform
        .nested()
        .iter()
        .find_map(|inner| if inner.crops() > 1 { Some(inner.name()) } else { inside_a_list(inner) })
}

impl Plan {
    /// Outputs of each view: 5 with [`FiveCrop`](crate::transforms::FiveCrop), 10 with
    /// [`TenCrop`](crate::transforms::TenCrop), else 1.
    pub fn crops(&self) -> usize {
        self.crops.count as usize
    }

    /// The pixels that `program`, with these parameters, and the other crops of its view read: all that the transforms
    /// before the crops need. They are known from the parameters of any one crop, so that a replay of it takes the same
    /// route. `program` begins at `stage`.
    pub(super) fn region_of_crops(&self, params: &Params, stage: usize, program: &Program) -> Result<Rect> {
        let Some(index) = self.crops.transform else { return Ok(program.region()) };
        let ops = params.ops.partition_point(|op| op.slot < self.first_slots[index]);
        let uncropped = Program::compose_ops(self, (params.width, params.height), &params.ops[..ops])?;
        Ok(uncropped.divided(stage).1.region())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Output;
    use crate::transforms::{FiveCrop, Key, RandomHorizontalFlip, RandomResizedCrop, TenCrop};

    #[test]
    fn the_crops_of_a_view_share_their_draws_and_their_region() {
        let list: [Transform; 3] =
            [RandomResizedCrop::new(40).into(), RandomHorizontalFlip::new(0.5).into(), TenCrop::new(30).into()];
        let plan = Plan::compile(&list, &Output::default()).unwrap();
        let params = |view| plan.make_params(90, 80, &Key { seed: 3, view, ..Key::default() }).unwrap();
        let region = |params: &Params| plan.region_of_crops(params, 0, &plan.program(params).unwrap()).unwrap();
        let first_ops = |params: &Params| params.ops.iter().filter(|op| op.slot < 3).cloned().collect::<Vec<_>>();
        let (first, other) = (params(0), params(10));
        for crop in 1..10 {
            let params = params(crop);
            assert!(params != first && first_ops(&params) == first_ops(&first));
            assert_eq!(region(&params), region(&first));
            let own = plan.source_region(&params).unwrap();
            assert!(own.width < region(&first).width, "{own:?}");
        }
        assert!(first_ops(&other) != first_ops(&first) && region(&other) != region(&first));
        // The numbers of a view are those of a list without crops.
        let plain = Plan::compile(&list[..2], &Output::default()).unwrap();
        let plain = plain.make_params(90, 80, &Key { seed: 3, view: 1, ..Key::default() }).unwrap();
        assert_eq!(first_ops(&other), plain.ops);
    }

    #[test]
    fn numbers_made_ahead_are_those_of_the_view() {
        let list: [Transform; 2] = [RandomResizedCrop::new(40).into(), FiveCrop::new(30).into()];
        let plan = Plan::compile(&list, &Output::default()).unwrap();
        let keys: Vec<Key> = (0..40).map(|view| Key { sample: 7, view, ..Key::default() }).collect();
        let mut ahead = plan.ahead();
        ahead.draw(&keys);
        for (image, key) in keys.iter().enumerate() {
            let alone = plan.make_params(90, 80, key).unwrap();
            assert_eq!(plan.make_params_ahead((90, 80), key, ahead.of(image)).unwrap(), alone);
        }
    }
}
