use super::params::{Context, Numbers};
use super::{CropSize, Operator, Slots};
use super::{Op, PaddingMode};
use crate::error::Result;
use serde::{Deserialize, Serialize};

/// Crops to the middle. Smaller images are padded with black first: torchvision's `CenterCrop`.
///
/// ```
/// use gpufeed::transforms::CenterCrop;
///
/// let square = CenterCrop::new(224);
/// let wide = CenterCrop::new((224, 448)); // height, width
/// # let _ = (square, wide);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CenterCrop {
    /// Height and width of the crop, in pixels.
    pub size: CropSize,
}

impl CenterCrop {
    /// Makes a crop to a square (`224`) or to `(height, width)`.
    pub fn new(size: impl Into<CropSize>) -> Self {
        CenterCrop { size: size.into() }
    }
}

/// Returns (before, after), the padding that widens `side` to at least `target`; the odd pixel goes after.
pub(super) fn padding(side: u32, target: u32) -> (u32, u32) {
    let missing = target.saturating_sub(side);
    (missing / 2, missing.div_ceil(2))
}

/// Computes Python's `int(round((side - target) / 2.0))`: halves go to the even number.
pub(super) fn offset(side: u32, target: u32) -> u32 {
    (f64::from(side - target) / 2.0).round_ties_even() as u32
}

impl Operator for CenterCrop {
    const NAME: &'static str = "CenterCrop";
    const FIXED: bool = true;

    fn validate(&self) -> Result<()> {
        self.size.validate()
    }

    fn slots(&self, slots: &mut Slots) {
        self.size.slots_of_crop(Self::NAME, PaddingMode::Constant, [0.0; 3], slots);
    }

    fn make_params(&self, context: &mut Context<'_>, _: &mut Numbers) -> Result<()> {
        let CropSize { height, width } = self.size;
        let ((left, right), (top, bottom)) = (padding(context.width, width), padding(context.height, height));
        if (left, right, top, bottom) != (0, 0, 0, 0) {
            context.emit(0, Op::Pad { left, top, right, bottom, mode: PaddingMode::Constant, fill: [0.0; 3] })?;
        }
        let (top, left) = (offset(context.height, height), offset(context.width, width));
        context.emit(1, Op::Crop { top, left, height, width })
    }
}
