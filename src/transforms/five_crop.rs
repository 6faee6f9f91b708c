use super::center_crop;
use super::params::{Context, Numbers};
use super::{CropSize, Effect, Op, Operator, Slots};
use crate::error::Result;
use serde::{Deserialize, Serialize};

/// Makes five images of one: its four corners and its centre, torchvision's `FiveCrop`.
///
/// The order is top left, top right, bottom left, bottom right, centre; the centre is that of
/// [`CenterCrop`](super::CenterCrop). A batch has the crops of a sample one after the other, each with the sample's
/// label and id: crop `c` of view `v` of sample `i` is image `(i * views + v) * 5 + c`, so the batch is also one of
/// shape `[samples, views, 5, …]`. The sample is read and decoded once.
///
/// Transforms before the crops draw once for all five. Only transforms that draw nothing may come after them, such as
/// [`Normalize`](super::Normalize), [`Grayscale`](super::Grayscale) or [`Resize`](super::Resize). An image smaller than
/// the crop is an error of its sample.
///
/// ```
/// use gpufeed::transforms::{FiveCrop, Normalize, Resize};
/// use gpufeed::{Backend, DataLoader, InMemory, Label, PixelFormat};
///
/// let mut data = InMemory::new();
/// data.push_pixels(12, 9, PixelFormat::Rgb8, vec![127; 324], Label::Class(7))?;
/// let loader = DataLoader::builder(data)
///     .transform(Resize::new(8))
///     .transform(FiveCrop::new(6))
///     .transform(Normalize::IMAGENET)
///     .batch_size(1)
///     .build(&Backend::Cpu)?;
/// let batch = loader.epoch(0)?.next().unwrap()?;
/// assert_eq!(batch.shape(), [5, 3, 6, 6]);
/// assert_eq!((batch.views(), batch.crops()), (1, 5));
/// # Ok::<(), gpufeed::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FiveCrop {
    /// Height and width of each crop, in pixels.
    pub size: CropSize,
}

impl FiveCrop {
    /// Makes crops to squares (`224`) or to `(height, width)`.
    pub fn new(size: impl Into<CropSize>) -> Self {
        FiveCrop { size: size.into() }
    }
}

/// Emits crop `which` of the five, as op `slot` of `transform`.
pub(super) fn emit(
    context: &mut Context<'_>,
    slot: u16,
    transform: &'static str,
    CropSize { height, width }: CropSize,
    which: u32,
) -> Result<()> {
    let (Some(rows), Some(columns)) = (context.height.checked_sub(height), context.width.checked_sub(width)) else {
        let reason = format!("smaller than the crop of {width}x{height}; set a smaller size, or resize first");
        return Err(context.error(transform, reason));
    };
    let (top, left) = match which {
        0 => (0, 0),
        1 => (0, columns),
        2 => (rows, 0),
        3 => (rows, columns),
        _ => (center_crop::offset(context.height, height), center_crop::offset(context.width, width)),
    };
    context.emit(slot, Op::Crop { top, left, height, width })
}

impl Operator for FiveCrop {
    const NAME: &'static str = "FiveCrop";
    const CROPS: u32 = 5;

    fn validate(&self) -> Result<()> {
        self.size.validate()
    }

    fn slots(&self, slots: &mut Slots) {
        slots.push(Self::NAME, Effect::Crop);
        slots.set_size(Some((self.size.width, self.size.height)));
    }

    fn make_params(&self, context: &mut Context<'_>, _: &mut Numbers) -> Result<()> {
        emit(context, 0, Self::NAME, self.size, context.crop)
    }
}
