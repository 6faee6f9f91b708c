//! The size of a crop.

use super::arguments::{self, PaddingMode};
use super::{Effect, Slots};
use crate::error::Result;
use serde::{Deserialize, Serialize};

/// Height and width of a crop; `224.into()` is a square, `(height, width).into()` is torchvision's order.
///
/// ```
/// use gpufeed::transforms::{CenterCrop, CropSize};
///
/// assert_eq!(CenterCrop::new(224).size, CropSize { height: 224, width: 224 });
/// assert_eq!(CenterCrop::new((2, 3)).size, CropSize { height: 2, width: 3 });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "CropSizeRepr", into = "CropSizeRepr")]
pub struct CropSize {
    /// Rows of pixels, at least 1.
    pub height: u32,
    /// Columns of pixels, at least 1.
    pub width: u32,
}

/// As data: `224`, `[height, width]`, or both by name; written in the shortest form.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum CropSizeRepr {
    Square(u32),
    Pair([u32; 2]),
    Named { height: u32, width: u32 },
}

impl From<CropSizeRepr> for CropSize {
    fn from(repr: CropSizeRepr) -> Self {
        let (height, width) = match repr {
            CropSizeRepr::Square(size) => (size, size),
            CropSizeRepr::Pair([height, width]) | CropSizeRepr::Named { height, width } => (height, width),
        };
        CropSize { height, width }
    }
}

impl From<CropSize> for CropSizeRepr {
    fn from(CropSize { height, width }: CropSize) -> Self {
        if height == width { CropSizeRepr::Square(height) } else { CropSizeRepr::Pair([height, width]) }
    }
}

impl From<u32> for CropSize {
    fn from(size: u32) -> Self {
        CropSize { height: size, width: size }
    }
}

impl From<(u32, u32)> for CropSize {
    fn from((height, width): (u32, u32)) -> Self {
        CropSize { height, width }
    }
}

impl CropSize {
    pub(super) fn validate(self) -> Result<()> {
        arguments::check_side("size", self.height)?;
        arguments::check_side("size", self.width)
    }

    /// Adds the slots of an operator that pads smaller images, and crops to this size. Images known to be large enough
    /// need no border, so that more of the following operators can be fused.
    pub(super) fn slots_of_crop(self, name: &'static str, mode: PaddingMode, fill: [f32; 3], slots: &mut Slots) {
        let CropSize { height, width } = self;
        let fits = slots.size.is_some_and(|(w, h)| w >= width && h >= height);
        slots.push(name, if fits { Effect::Never } else { Effect::Pad { mode, fill } });
        slots.push(name, Effect::Crop);
        slots.set_size(Some((width, height)));
    }
}
