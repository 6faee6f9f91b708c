use super::Op;
use super::params::{Context, Numbers};
use super::{Effect, Operator, Slots};
use crate::error::Result;
use crate::objects::ObjectOp;
use serde::{Deserialize, Serialize};

/// Cuts boxes to the image: torchvision's `ClampBoundingBoxes`. It leaves pixels alone.
///
/// Operators that move boxes cut them anyway. Neither they nor this one do where
/// [`SetClampingMode`](super::SetClampingMode) has set `none`.
///
/// ```
/// use gpufeed::targets::{BoxFormat, Moves, Objects};
/// use gpufeed::transforms::{Key, ClampBoundingBoxes};
/// use gpufeed::{Output, Plan};
///
/// let plan = Plan::compile(&[ClampBoundingBoxes::new().into()], &Output::default())?;
/// let mut objects = Objects::of_boxes(BoxFormat::Xyxy, vec![[-2.0, 3.0, 20.0, 5.0]]);
/// Moves::of(&plan.make_params(10, 10, &Key::default())?)?.objects(&mut objects)?;
/// assert_eq!(objects.boxes(), [[0.0, 3.0, 10.0, 5.0]]);
/// # Ok::<(), gpufeed::Error>(())
/// ```
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClampBoundingBoxes {}

impl ClampBoundingBoxes {
    /// The operator, which has no arguments.
    pub fn new() -> Self {
        ClampBoundingBoxes {}
    }
}

impl Operator for ClampBoundingBoxes {
    const NAME: &'static str = "ClampBoundingBoxes";
    const FIXED: bool = true;

    fn validate(&self) -> Result<()> {
        Ok(())
    }

    fn slots(&self, slots: &mut Slots) {
        slots.push(Self::NAME, Effect::Objects);
    }

    fn make_params(&self, context: &mut Context<'_>, _: &mut Numbers) -> Result<()> {
        context.emit(0, Op::Objects(ObjectOp::ClampBoundingBoxes))
    }
}
