use super::Op;
use super::params::{Context, Numbers};
use super::{Effect, Operator, Slots};
use crate::error::Result;
use crate::objects::{BoxFormat, ObjectOp};
use serde::{Deserialize, Serialize};

/// Writes boxes in another format: torchvision's `ConvertBoundingBoxFormat`. It leaves pixels alone.
///
/// ```
/// use gpufeed::targets::{BoxFormat, Moves, Objects};
/// use gpufeed::transforms::{Key, ConvertBoundingBoxFormat};
/// use gpufeed::{Output, Plan};
///
/// let plan = Plan::compile(&[ConvertBoundingBoxFormat::new(BoxFormat::Cxcywh).into()], &Output::default())?;
/// let mut objects = Objects::of_boxes(BoxFormat::Xyxy, vec![[2.0, 2.0, 6.0, 4.0]]);
/// Moves::of(&plan.make_params(10, 10, &Key::default())?)?.objects(&mut objects)?;
/// assert_eq!(objects.boxes(), [[4.0, 3.0, 4.0, 2.0]]);
/// # Ok::<(), gpufeed::Error>(())
/// ```
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConvertBoundingBoxFormat {
    /// The format in which boxes are written from here on.
    pub format: BoxFormat,
}

impl ConvertBoundingBoxFormat {
    /// Writes boxes in this format.
    pub fn new(format: BoxFormat) -> Self {
        ConvertBoundingBoxFormat { format }
    }
}

impl Operator for ConvertBoundingBoxFormat {
    const NAME: &'static str = "ConvertBoundingBoxFormat";
    const FIXED: bool = true;
    const KEYS: &[(&str, &str)] = &[("format", "xyxy, xywh and cxcywh work")];

    fn validate(&self) -> Result<()> {
        Ok(())
    }

    fn slots(&self, slots: &mut Slots) {
        slots.push(Self::NAME, Effect::Objects);
    }

    fn make_params(&self, context: &mut Context<'_>, _: &mut Numbers) -> Result<()> {
        context.emit(0, Op::Objects(ObjectOp::ConvertBoundingBoxFormat { format: self.format }))
    }
}
