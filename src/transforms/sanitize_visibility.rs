use super::Op;
use super::params::{Context, Numbers};
use super::{Effect, Operator, Slots};
use crate::error::{Error, Result};
use crate::objects::ObjectOp;
use serde::{Deserialize, Serialize};

/// Removes objects of whose boxes the image shows less than a share: Albumentations' `min_visibility`. It leaves pixels alone.
///
/// Wherever an operator before this one has cut a box to the image, the area that was left is divided by the box's area before the
/// cut, both in the image after that operator. The product of these quotients is the share: what is left of the box after all crops
/// and warps. Of a box that a warp has turned, the area is that of the box around its corners. A box that nothing has cut has a
/// share of 1, wherever it lies, so that `min_visibility` has no effect where [`SetClampingMode`](super::SetClampingMode) has set
/// `none`. A box that had no area when it was cut has a share of 0.
///
/// Labels, keypoints and all other values of a removed object go with it. [`SanitizeBoundingBoxes`](super::SanitizeBoundingBoxes)
/// removes boxes by their size.
///
/// ```
/// use gpufeed::targets::{BoxFormat, Moves, Objects};
/// use gpufeed::transforms::{CenterCrop, Key, SanitizeVisibility};
/// use gpufeed::{Output, Plan};
///
/// let list = [CenterCrop::new(6).into(), SanitizeVisibility::new(0.5).into()];
/// let plan = Plan::compile(&list, &Output::default())?;
/// // The crop's columns are 2 to 8: it shows a quarter of the first box, and three quarters of the second one.
/// let mut objects = Objects::of_boxes(BoxFormat::Xyxy, vec![[5.0, 3.0, 17.0, 5.0], [5.0, 3.0, 9.0, 5.0]]);
/// Moves::of(&plan.make_params(10, 10, &Key::default())?)?.objects(&mut objects)?;
/// assert_eq!(objects.boxes(), [[3.0, 1.0, 6.0, 3.0]]);
/// # Ok::<(), gpufeed::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SanitizeVisibility {
    /// The least share of a box's area, 0 to 1.
    pub min_visibility: f32,
}

impl SanitizeVisibility {
    /// Removes objects of whose boxes less than this share is left.
    pub fn new(min_visibility: f32) -> Self {
        SanitizeVisibility { min_visibility }
    }
}

impl Operator for SanitizeVisibility {
    const NAME: &'static str = "SanitizeVisibility";
    const FIXED: bool = true;
    const KEYS: &[(&str, &str)] = &[("min_visibility", "0 to 1 work")];

    fn validate(&self) -> Result<()> {
        if (0.0..=1.0).contains(&self.min_visibility) {
            return Ok(());
        }
        Err(Error::argument("min_visibility", format!("{}; 0 to 1 work", self.min_visibility)))
    }

    fn slots(&self, slots: &mut Slots) {
        slots.push(Self::NAME, Effect::Objects);
    }

    fn make_params(&self, context: &mut Context<'_>, _: &mut Numbers) -> Result<()> {
        context.emit(0, Op::Objects(ObjectOp::SanitizeVisibility { min_visibility: self.min_visibility }))
    }
}
