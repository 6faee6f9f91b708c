use super::five_crop;
use super::params::{Context, Numbers};
use super::{CropSize, Effect, Op, Operator, Slots};
use crate::error::Result;
use serde::{Deserialize, Serialize};

/// Makes ten images of one: the five of [`FiveCrop`](super::FiveCrop), then the five of the mirrored image,
/// torchvision's `TenCrop`.
///
/// Everything that [`FiveCrop`](super::FiveCrop) says holds, with ten crops in the place of five.
///
/// ```
/// use gpufeed::transforms::{Key, Op, TenCrop, Transform};
/// use gpufeed::{Output, Plan};
///
/// let upside_down: Transform = TenCrop::new((20, 30)).vertical_flip(true).into();
/// let plan = Plan::compile(&[upside_down], &Output::default())?;
/// assert_eq!(plan.crops(), 10);
/// // The view of a key is the number of the output: here that of the crop.
/// let params = plan.make_params(64, 48, &Key { view: 5, ..Key::default() })?;
/// assert_eq!(params.ops[0].op, Op::VerticalFlip);
/// # Ok::<(), gpufeed::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TenCrop {
    /// Height and width of each crop, in pixels.
    pub size: CropSize,
    /// Turns the image upside down for the second five, in the place of mirroring left and right; off by default.
    #[serde(default)]
    pub vertical_flip: bool,
}

impl TenCrop {
    /// Makes crops to squares (`224`) or to `(height, width)`, of the image and of the image mirrored left and right.
    pub fn new(size: impl Into<CropSize>) -> Self {
        TenCrop { size: size.into(), vertical_flip: false }
    }

    /// Mirrors top and bottom in the place of left and right.
    pub fn vertical_flip(self, vertical_flip: bool) -> Self {
        TenCrop { vertical_flip, ..self }
    }
}

impl Operator for TenCrop {
    const NAME: &'static str = "TenCrop";
    const CROPS: u32 = 10;

    fn validate(&self) -> Result<()> {
        self.size.validate()
    }

    fn slots(&self, slots: &mut Slots) {
        slots.push(Self::NAME, Effect::Flip);
        slots.push(Self::NAME, Effect::Crop);
        slots.set_size(Some((self.size.width, self.size.height)));
    }

    fn make_params(&self, context: &mut Context<'_>, _: &mut Numbers) -> Result<()> {
        let crop = context.crop;
        if crop >= 5 {
            context.emit(0, if self.vertical_flip { Op::VerticalFlip } else { Op::HorizontalFlip })?;
        }
        five_crop::emit(context, 1, Self::NAME, self.size, crop % 5)
    }
}
