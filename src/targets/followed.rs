//! Parameters that depend on the boxes of an image.

use super::moves::Moves;
use crate::error::Result;
use crate::objects::{Objects, edges_of};
use crate::plan::Plan;
use crate::transforms::params::FollowBoxes;
use crate::transforms::{Key, Op, Params};

/// The objects of an image, moved by each op of a list as it is made.
struct FollowedBoxes(Objects);

impl FollowedBoxes {
    fn new(objects: &Objects) -> FollowedBoxes {
        let mut objects = objects.clone();
        // Each op is followed by itself, so the shares of boxes have to outlive it.
        objects.begin_shares();
        FollowedBoxes(objects)
    }
}

impl FollowBoxes for FollowedBoxes {
    fn follow(&mut self, op: &Op, size: (u32, u32)) -> Result<()> {
        Moves::new([op], size)?.objects(&mut self.0)
    }

    fn edges(&self) -> Vec<[f64; 4]> {
        self.0.boxes().iter().map(|each| edges_of(each, self.0.format())).collect()
    }
}

/// Makes the parameters of an image of (width, height) that shows these objects, as [`Plan::make_params`] does of one without. Only
/// [`RandomIoUCrop`](crate::transforms::RandomIoUCrop) and [`BBoxSafeRandomCrop`](crate::transforms::BBoxSafeRandomCrop) draw
/// otherwise then.
///
/// ```
/// use gpufeed::targets::{BoxFormat, Moves, Objects, make_params};
/// use gpufeed::transforms::{Key, RandomIoUCrop};
/// use gpufeed::{Output, Plan};
///
/// let plan = Plan::compile(&[RandomIoUCrop::new().into()], &Output::default())?;
/// let mut objects = Objects::of_boxes(BoxFormat::Xyxy, vec![[20.0, 20.0, 60.0, 60.0]]);
/// let params = make_params(&plan, (100, 80), &Key::default(), &objects)?;
/// Moves::of(&params)?.objects(&mut objects)?;
/// # Ok::<(), gpufeed::Error>(())
/// ```
///
/// # Errors
/// Those of [`Plan::make_params`] and of [`Moves`].
pub fn make_params(plan: &Plan, size: (u32, u32), key: &Key, objects: &Objects) -> Result<Params> {
    plan.make_params_for(size, key, &mut FollowedBoxes::new(objects))
}
