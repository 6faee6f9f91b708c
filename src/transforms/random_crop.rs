use super::arguments::check_fill;
use super::params::{Context, Numbers};
use super::{CropSize, Effect, Operator, Padding, Slots};
use super::{Op, PaddingMode};
use crate::error::Result;
use serde::{Deserialize, Serialize};

/// Crops to a rectangle at a random position: torchvision's `RandomCrop`.
///
/// An image smaller than `size` is an error of its sample unless `pad_if_needed` is set. Then it is widened by the
/// missing pixels *on both sides*, as in torchvision.
///
/// ```
/// use gpufeed::transforms::{PaddingMode, RandomCrop};
///
/// let cifar = RandomCrop::new(32).padding(4);
/// let any_size = RandomCrop::new((224, 224)).pad_if_needed(true).padding_mode(PaddingMode::Reflect);
/// # let _ = (cifar, any_size);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RandomCrop {
    /// Height and width of the crop, in pixels.
    pub size: CropSize,
    /// A border added first; none by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub padding: Option<Padding>,
    /// Pads smaller images to fit; off by default.
    #[serde(default)]
    pub pad_if_needed: bool,
    /// The border's colour in \[0, 1\], for the constant mode; black by default.
    #[serde(default)]
    pub fill: [f32; 3],
    /// The pixels of the border; `Constant` by default.
    #[serde(default)]
    pub padding_mode: PaddingMode,
}

impl RandomCrop {
    /// Makes a crop to a square (`224`) or to `(height, width)`, without padding.
    pub fn new(size: impl Into<CropSize>) -> Self {
        RandomCrop {
            size: size.into(),
            padding: None,
            pad_if_needed: false,
            fill: [0.0; 3],
            padding_mode: PaddingMode::Constant,
        }
    }

    /// Adds a border first.
    pub fn padding(self, padding: impl Into<Padding>) -> Self {
        RandomCrop { padding: Some(padding.into()), ..self }
    }

    /// Pads images that are too small.
    pub fn pad_if_needed(self, pad_if_needed: bool) -> Self {
        RandomCrop { pad_if_needed, ..self }
    }

    /// Sets the border's colour.
    pub fn fill(self, fill: [f32; 3]) -> Self {
        RandomCrop { fill, ..self }
    }

    /// Sets the border's mode.
    pub fn padding_mode(self, padding_mode: PaddingMode) -> Self {
        RandomCrop { padding_mode, ..self }
    }

    fn pad(&self, left: u32, top: u32, right: u32, bottom: u32) -> Op {
        Op::Pad { left, top, right, bottom, mode: self.padding_mode, fill: self.fill }
    }
}

impl Operator for RandomCrop {
    const NAME: &'static str = "RandomCrop";

    fn validate(&self) -> Result<()> {
        self.padding.map_or(Ok(()), Padding::validate)?;
        check_fill(self.fill)?;
        self.size.validate()
    }

    fn slots(&self, slots: &mut Slots) {
        let CropSize { height, width } = self.size;
        let pad = Effect::Pad { mode: self.padding_mode, fill: self.fill };
        let fits = slots.size.is_some_and(|(w, h)| w >= width && h >= height);
        slots.push(Self::NAME, if self.padding.is_some() { pad } else { Effect::Never });
        slots.push(Self::NAME, if self.pad_if_needed && !fits { pad } else { Effect::Never });
        slots.push(Self::NAME, Effect::Crop);
        slots.set_size(Some((width, height)));
    }

    fn make_params(&self, context: &mut Context<'_>, numbers: &mut Numbers) -> Result<()> {
        let CropSize { height, width } = self.size;
        if let Some(padding) = self.padding {
            let [left, top, right, bottom] = padding.sides();
            context.emit(0, self.pad(left, top, right, bottom))?;
        }
        let (x, y) = (width.saturating_sub(context.width), height.saturating_sub(context.height));
        if self.pad_if_needed && (x, y) != (0, 0) {
            context.emit(1, self.pad(x, y, x, y))?;
        } else if (x, y) != (0, 0) {
            return Err(context.error(
                Self::NAME,
                format!("smaller than the crop of {width}x{height}; set pad_if_needed, padding or a smaller size"),
            ));
        }
        // Like torchvision, the row comes before the column.
        let top = numbers.below(u64::from(context.height - height) + 1) as u32;
        let left = numbers.below(u64::from(context.width - width) + 1) as u32;
        context.emit(2, Op::Crop { top, left, height, width })
    }
}
