use super::Op;
use super::params::{Context, Numbers};
use super::{Effect, Operator, Slots};
use crate::error::Result;
use crate::objects::ObjectOp;
use serde::{Deserialize, Serialize};

/// Moves keypoints to the pixels of the image: torchvision's `ClampKeyPoints`. It leaves pixels alone, and keypoints that are not
/// labelled.
///
/// ```
/// use gpufeed::targets::{Moves, Objects};
/// use gpufeed::transforms::{Key, ClampKeyPoints};
/// use gpufeed::{Output, Plan};
///
/// let plan = Plan::compile(&[ClampKeyPoints::new().into()], &Output::default())?;
/// let mut objects = Objects::of_keypoints(1, vec![[-2.0, 12.5]], vec![2])?;
/// Moves::of(&plan.make_params(10, 10, &Key::default())?)?.objects(&mut objects)?;
/// assert_eq!(objects.keypoints(), [[0.0, 9.0]]);
/// # Ok::<(), gpufeed::Error>(())
/// ```
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClampKeyPoints {}

impl ClampKeyPoints {
    /// The operator, which has no arguments.
    pub fn new() -> Self {
        ClampKeyPoints {}
    }
}

impl Operator for ClampKeyPoints {
    const NAME: &'static str = "ClampKeyPoints";
    const FIXED: bool = true;

    fn validate(&self) -> Result<()> {
        Ok(())
    }

    fn slots(&self, slots: &mut Slots) {
        slots.push(Self::NAME, Effect::Objects);
    }

    fn make_params(&self, context: &mut Context<'_>, _: &mut Numbers) -> Result<()> {
        context.emit(0, Op::Objects(ObjectOp::ClampKeyPoints))
    }
}
