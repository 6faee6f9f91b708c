use super::arguments::check_fill;
use super::params::{Context, Numbers};
use super::{CropSize, Effect, Operator, Slots};
use super::{Op, PaddingMode};
use crate::error::Result;
use serde::{Deserialize, Serialize};

/// Puts a smaller image at a random place of a canvas of `size`: timm's `RandomPad`.
///
/// An axis that is long enough stays as it is, so results differ in size unless all images are smaller.
///
/// ```
/// use gpufeed::transforms::RandomPad;
///
/// let black = RandomPad::new(224);
/// let gray = RandomPad::new((224, 448)).fill([0.5; 3]); // height, width
/// # let _ = (black, gray);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RandomPad {
    /// Least height and width of the result, in pixels.
    pub size: CropSize,
    /// The border's colour in \[0, 1\]; black by default.
    #[serde(default)]
    pub fill: [f32; 3],
}

impl RandomPad {
    /// Pads to a square (`224`) or to `(height, width)` in black.
    pub fn new(size: impl Into<CropSize>) -> Self {
        RandomPad { size: size.into(), fill: [0.0; 3] }
    }

    /// Sets the border's colour.
    pub fn fill(self, fill: [f32; 3]) -> Self {
        RandomPad { fill, ..self }
    }
}

impl Operator for RandomPad {
    const NAME: &'static str = "RandomPad";

    fn validate(&self) -> Result<()> {
        check_fill(self.fill)?;
        self.size.validate()
    }

    fn slots(&self, slots: &mut Slots) {
        let CropSize { height, width } = self.size;
        slots.push(Self::NAME, Effect::Pad { mode: PaddingMode::Constant, fill: self.fill });
        let padded = |(w, h): (u32, u32)| (w.max(width), h.max(height));
        slots.set_size_or_most(slots.size.map(padded), slots.most.map(padded));
    }

    fn make_params(&self, context: &mut Context<'_>, numbers: &mut Numbers) -> Result<()> {
        let CropSize { height, width } = self.size;
        let (columns, rows) = (width.saturating_sub(context.width), height.saturating_sub(context.height));
        if (columns, rows) == (0, 0) {
            return Ok(());
        }
        // Like timm, the column comes before the row.
        let left = numbers.below(u64::from(columns) + 1) as u32;
        let top = numbers.below(u64::from(rows) + 1) as u32;
        let (right, bottom) = (columns - left, rows - top);
        context.emit(0, Op::Pad { left, top, right, bottom, mode: PaddingMode::Constant, fill: self.fill })
    }
}
