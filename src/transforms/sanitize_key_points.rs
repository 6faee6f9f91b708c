use super::Op;
use super::params::{Context, Numbers};
use super::{Effect, Operator, Slots};
use crate::error::Result;
use crate::objects::ObjectOp;
use serde::{Deserialize, Serialize};

/// Removes objects of which a keypoint lies outside the image: torchvision's `SanitizeKeyPoints`. It leaves pixels alone.
///
/// Keypoints that are not labelled do not count. All values of a removed object go with it.
///
/// ```
/// use gpufeed::targets::{Moves, Objects};
/// use gpufeed::transforms::{Key, SanitizeKeyPoints};
/// use gpufeed::{Output, Plan};
///
/// let plan = Plan::compile(&[SanitizeKeyPoints::new().into()], &Output::default())?;
/// let mut objects = Objects::of_keypoints(1, vec![[-2.0, 1.0], [3.0, 4.0]], vec![2, 2])?;
/// Moves::of(&plan.make_params(10, 10, &Key::default())?)?.objects(&mut objects)?;
/// assert_eq!(objects.keypoints(), [[3.0, 4.0]]);
/// # Ok::<(), gpufeed::Error>(())
/// ```
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SanitizeKeyPoints {}

impl SanitizeKeyPoints {
    /// The operator, which has no arguments.
    pub fn new() -> Self {
        SanitizeKeyPoints {}
    }
}

impl Operator for SanitizeKeyPoints {
    const NAME: &'static str = "SanitizeKeyPoints";
    const FIXED: bool = true;

    fn validate(&self) -> Result<()> {
        Ok(())
    }

    fn slots(&self, slots: &mut Slots) {
        slots.push(Self::NAME, Effect::Objects);
    }

    fn make_params(&self, context: &mut Context<'_>, _: &mut Numbers) -> Result<()> {
        context.emit(0, Op::Objects(ObjectOp::SanitizeKeyPoints))
    }
}
