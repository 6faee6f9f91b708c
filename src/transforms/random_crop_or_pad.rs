use super::arguments::check_fill;
use super::params::{Context, Numbers};
use super::{CropSize, Operator, Slots};
use super::{Op, PaddingMode};
use crate::error::Result;
use serde::{Deserialize, Serialize};

/// Crops to a rectangle at a random position, or puts a smaller image at a random place: timm's `RandomCropOrPad`.
///
/// An axis that is too short is padded to `size`, a random share of the missing pixels before the image, the others
/// after it. [`RandomCrop`](super::RandomCrop) with `pad_if_needed` pads by all of them on both sides.
///
/// ```
/// use gpufeed::transforms::{PaddingMode, RandomCropOrPad};
///
/// let mirrored = RandomCropOrPad::new(224).padding_mode(PaddingMode::Reflect);
/// let gray = RandomCropOrPad::new((224, 448)).fill([0.5; 3]); // height, width
/// # let _ = (mirrored, gray);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RandomCropOrPad {
    /// Height and width of the result, in pixels.
    pub size: CropSize,
    /// The border's colour in \[0, 1\], for the constant mode; black by default.
    #[serde(default)]
    pub fill: [f32; 3],
    /// The pixels of the border; `Constant` by default.
    #[serde(default)]
    pub padding_mode: PaddingMode,
}

impl RandomCropOrPad {
    /// Makes a crop to a square (`224`) or to `(height, width)`, with a black border.
    pub fn new(size: impl Into<CropSize>) -> Self {
        RandomCropOrPad { size: size.into(), fill: [0.0; 3], padding_mode: PaddingMode::Constant }
    }

    border_setters!();
}

impl Operator for RandomCropOrPad {
    const NAME: &'static str = "RandomCropOrPad";

    fn validate(&self) -> Result<()> {
        check_fill(self.fill)?;
        self.size.validate()
    }

    fn slots(&self, slots: &mut Slots) {
        self.size.slots_of_crop(Self::NAME, self.padding_mode, self.fill, slots);
    }

    fn make_params(&self, context: &mut Context<'_>, numbers: &mut Numbers) -> Result<()> {
        let CropSize { height, width } = self.size;
        // Like timm, the row comes before the column.
        let mut place = |side: u32, target: u32| numbers.below(u64::from(side.abs_diff(target)) + 1) as u32;
        let (y, x) = (place(context.height, height), place(context.width, width));
        let (rows, columns) = (height.saturating_sub(context.height), width.saturating_sub(context.width));
        if (rows, columns) != (0, 0) {
            let (top, left) = (y.min(rows), x.min(columns));
            let (mode, fill) = (self.padding_mode, self.fill);
            context.emit(0, Op::Pad { left, top, right: columns - left, bottom: rows - top, mode, fill })?;
        }
        // The place is in the border of an axis that was too short.
        let (top, left) = (if rows > 0 { 0 } else { y }, if columns > 0 { 0 } else { x });
        context.emit(1, Op::Crop { top, left, height, width })
    }
}
