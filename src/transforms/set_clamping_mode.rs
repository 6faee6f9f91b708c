use super::Op;
use super::params::{Context, Numbers};
use super::{Effect, Operator, Slots};
use crate::error::Result;
use crate::objects::{Clamping, ObjectOp};
use serde::{Deserialize, Serialize};

/// Sets what later operators do to boxes that they lead out of the image: torchvision's `SetClampingMode`. It leaves pixels alone.
///
/// ```
/// use gpufeed::targets::{BoxFormat, Clamping, Moves, Objects};
/// use gpufeed::transforms::{CenterCrop, Key, SetClampingMode};
/// use gpufeed::{Output, Plan};
///
/// let list = [SetClampingMode::new(Clamping::None).into(), CenterCrop::new(6).into()];
/// let plan = Plan::compile(&list, &Output::default())?;
/// let mut objects = Objects::of_boxes(BoxFormat::Xyxy, vec![[0.0, 3.0, 5.0, 5.0]]);
/// Moves::of(&plan.make_params(10, 10, &Key::default())?)?.objects(&mut objects)?;
/// assert_eq!(objects.boxes(), [[-2.0, 1.0, 3.0, 3.0]]);
/// # Ok::<(), gpufeed::Error>(())
/// ```
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetClampingMode {
    /// `soft` cuts boxes to the image, `none` leaves them as they are.
    pub clamping_mode: Clamping,
}

impl SetClampingMode {
    /// Sets the treatment of boxes by later operators.
    pub fn new(clamping_mode: Clamping) -> Self {
        SetClampingMode { clamping_mode }
    }
}

impl Operator for SetClampingMode {
    const NAME: &'static str = "SetClampingMode";
    const FIXED: bool = true;
    const KEYS: &[(&str, &str)] = &[("clamping_mode", "soft and none work")];

    fn validate(&self) -> Result<()> {
        Ok(())
    }

    fn slots(&self, slots: &mut Slots) {
        slots.push(Self::NAME, Effect::Objects);
    }

    fn make_params(&self, context: &mut Context<'_>, _: &mut Numbers) -> Result<()> {
        context.emit(0, Op::Objects(ObjectOp::SetClampingMode { clamping_mode: self.clamping_mode }))
    }
}
