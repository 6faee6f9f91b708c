use super::Op;
use super::params::{Context, Numbers};
use super::{Effect, Operator, Slots};
use crate::error::{Error, Result};
use crate::objects::{ObjectOp, SanitizeBoxes};
use serde::{Deserialize, Serialize};

/// Removes objects whose boxes are small or reach beyond the image: torchvision's `SanitizeBoundingBoxes`. It leaves pixels alone.
///
/// Labels, keypoints and all other values of a removed object go with it, where torchvision removes what its `labels_getter` names.
/// An image of which no object is left stays in its batch.
///
/// ```
/// use gpufeed::targets::{BoxFormat, Moves, Objects};
/// use gpufeed::transforms::{Key, SanitizeBoundingBoxes};
/// use gpufeed::{Output, Plan};
///
/// let plan = Plan::compile(&[SanitizeBoundingBoxes::new().min_size(2.0).into()], &Output::default())?;
/// let mut objects = Objects::of_boxes(BoxFormat::Xyxy, vec![[0.0, 0.0, 5.0, 5.0], [3.0, 3.0, 4.5, 8.0]]);
/// Moves::of(&plan.make_params(10, 10, &Key::default())?)?.objects(&mut objects)?;
/// assert_eq!(objects.boxes(), [[0.0, 0.0, 5.0, 5.0]]);
/// # Ok::<(), gpufeed::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SanitizeBoundingBoxes {
    /// The least width and height that a box may have, in pixels; at least 1.
    #[serde(default = "one")]
    pub min_size: f32,
    /// The least area, in pixels; at least 1.
    #[serde(default = "one")]
    pub min_area: f32,
}

fn one() -> f32 {
    1.0
}

impl Default for SanitizeBoundingBoxes {
    fn default() -> Self {
        SanitizeBoundingBoxes::new()
    }
}

impl SanitizeBoundingBoxes {
    /// Removes objects whose box has a side or an area of less than 1 pixel, or reaches beyond the image.
    pub fn new() -> Self {
        SanitizeBoundingBoxes { min_size: 1.0, min_area: 1.0 }
    }

    /// Sets the least width and height.
    pub fn min_size(self, min_size: f32) -> Self {
        SanitizeBoundingBoxes { min_size, ..self }
    }

    /// Sets the least area.
    pub fn min_area(self, min_area: f32) -> Self {
        SanitizeBoundingBoxes { min_area, ..self }
    }
}

impl Operator for SanitizeBoundingBoxes {
    const NAME: &'static str = "SanitizeBoundingBoxes";
    const FIXED: bool = true;
    const KEYS: &[(&str, &str)] =
        &[("min_size", "a finite number >= 1 works"), ("min_area", "a finite number >= 1 works")];

    fn validate(&self) -> Result<()> {
        for (name, value) in [("min_size", self.min_size), ("min_area", self.min_area)] {
            if !value.is_finite() || value < 1.0 {
                return Err(Error::argument(name, format!("{value}; a finite number >= 1 works")));
            }
        }
        Ok(())
    }

    fn slots(&self, slots: &mut Slots) {
        slots.push(Self::NAME, Effect::Objects);
    }

    fn make_params(&self, context: &mut Context<'_>, _: &mut Numbers) -> Result<()> {
        context.emit(
            0,
            Op::Objects(ObjectOp::SanitizeBoundingBoxes(SanitizeBoxes {
                min_size: self.min_size,
                min_area: self.min_area,
            })),
        )
    }
}
