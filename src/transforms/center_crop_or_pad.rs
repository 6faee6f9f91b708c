use super::arguments::check_fill;
use super::center_crop::{offset, padding};
use super::params::{Context, Numbers};
use super::{CropSize, Operator, Slots};
use super::{Op, PaddingMode};
use crate::error::Result;
use serde::{Deserialize, Serialize};

/// Crops to the middle, and pads smaller images with any border first: timm's `CenterCropOrPad`.
///
/// With the default, a black border, it is [`CenterCrop`](super::CenterCrop).
///
/// ```
/// use gpufeed::transforms::{CenterCropOrPad, PaddingMode};
///
/// let gray = CenterCropOrPad::new(224).fill([0.485, 0.456, 0.406]);
/// let mirrored = CenterCropOrPad::new((224, 448)).padding_mode(PaddingMode::Reflect); // height, width
/// # let _ = (gray, mirrored);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CenterCropOrPad {
    /// Height and width of the result, in pixels.
    pub size: CropSize,
    /// The border's colour in \[0, 1\], for the constant mode; black by default.
    #[serde(default)]
    pub fill: [f32; 3],
    /// The pixels of the border; `Constant` by default.
    #[serde(default)]
    pub padding_mode: PaddingMode,
}

impl CenterCropOrPad {
    /// Makes a crop to a square (`224`) or to `(height, width)`, with a black border.
    pub fn new(size: impl Into<CropSize>) -> Self {
        CenterCropOrPad { size: size.into(), fill: [0.0; 3], padding_mode: PaddingMode::Constant }
    }

    border_setters!();
}

impl Operator for CenterCropOrPad {
    const NAME: &'static str = "CenterCropOrPad";
    const FIXED: bool = true;

    fn validate(&self) -> Result<()> {
        check_fill(self.fill)?;
        self.size.validate()
    }

    fn slots(&self, slots: &mut Slots) {
        self.size.slots_of_crop(Self::NAME, self.padding_mode, self.fill, slots);
    }

    fn make_params(&self, context: &mut Context<'_>, _: &mut Numbers) -> Result<()> {
        let CropSize { height, width } = self.size;
        let ((left, right), (top, bottom)) = (padding(context.width, width), padding(context.height, height));
        if (left, right, top, bottom) != (0, 0, 0, 0) {
            let (mode, fill) = (self.padding_mode, self.fill);
            context.emit(0, Op::Pad { left, top, right, bottom, mode, fill })?;
        }
        let (top, left) = (offset(context.height, height), offset(context.width, width));
        context.emit(1, Op::Crop { top, left, height, width })
    }
}
