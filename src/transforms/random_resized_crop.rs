use super::arguments::check_range;
use super::params::{Context, Numbers};
use super::{CropSize, Effect, Operator, Slots, resize::on};
use super::{Interpolation, Op};
use crate::error::Result;
use serde::{Deserialize, Serialize};

/// Crops to a rectangle of random area and aspect ratio, and resizes it: torchvision's `RandomResizedCrop`.
///
/// It tries `area = U(scale) · H · W`, `ratio = exp(U(ln ratio))` ten times. If no rectangle fits, it takes the largest
/// centred one whose ratio is allowed. The resize reads the crop alone: its taps stop at the crop's edge.
///
/// ```
/// use gpufeed::transforms::RandomResizedCrop;
///
/// let crop = RandomResizedCrop::new(224);
/// assert_eq!(crop.scale, (0.08, 1.0));
/// let gentle = RandomResizedCrop::new((128, 256)).scale(0.5, 1.0).ratio(0.9, 1.1);
/// # let _ = gentle;
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RandomResizedCrop {
    /// Height and width of the result.
    pub size: CropSize,
    /// Least and greatest share of the image's area; (0.08, 1) by default.
    #[serde(default = "default_scale")]
    pub scale: (f64, f64),
    /// Least and greatest width / height; (3/4, 4/3) by default.
    #[serde(default = "default_ratio")]
    pub ratio: (f64, f64),
    /// The filter; bilinear by default.
    #[serde(default)]
    pub interpolation: Interpolation,
    /// Widens the filter with the reduction; on by default.
    #[serde(default = "on")]
    pub antialias: bool,
}

fn default_scale() -> (f64, f64) {
    (0.08, 1.0)
}

fn default_ratio() -> (f64, f64) {
    (3.0 / 4.0, 4.0 / 3.0)
}

impl RandomResizedCrop {
    /// Makes the operator with torchvision's defaults, for a square (`224`) or `(height, width)`.
    pub fn new(size: impl Into<CropSize>) -> Self {
        RandomResizedCrop {
            size: size.into(),
            scale: default_scale(),
            ratio: default_ratio(),
            interpolation: Interpolation::Bilinear,
            antialias: true,
        }
    }

    /// Sets the range of the area's share.
    pub fn scale(self, least: f64, greatest: f64) -> Self {
        RandomResizedCrop { scale: (least, greatest), ..self }
    }

    /// Sets the range of width / height.
    pub fn ratio(self, least: f64, greatest: f64) -> Self {
        RandomResizedCrop { ratio: (least, greatest), ..self }
    }

    resize_setters!();

    /// Returns (left, top, width, height) of the crop.
    fn rectangle(&self, width: u32, height: u32, numbers: &mut Numbers) -> (u32, u32, u32, u32) {
        let (w, h) = (f64::from(width), f64::from(height));
        let (log_low, log_high) = (libm::log(self.ratio.0), libm::log(self.ratio.1));
        for _ in 0..10 {
            let area = w * h * numbers.uniform(self.scale.0, self.scale.1);
            let ratio = libm::exp(numbers.uniform(log_low, log_high));
            // Like Python's round, halves go to the even number.
            let crop_w = libm::sqrt(area * ratio).round_ties_even();
            let crop_h = libm::sqrt(area / ratio).round_ties_even();
            if crop_w > 0.0 && crop_w <= w && crop_h > 0.0 && crop_h <= h {
                let (crop_w, crop_h) = (crop_w as u32, crop_h as u32);
                // Like torchvision, the row comes before the column.
                let top = numbers.below(u64::from(height - crop_h) + 1) as u32;
                let left = numbers.below(u64::from(width - crop_w) + 1) as u32;
                return (left, top, crop_w, crop_h);
            }
        }
        let ratio = w / h;
        let (crop_w, crop_h) = if ratio < self.ratio.0 {
            (width, (w / self.ratio.0).round_ties_even() as u32)
        } else if ratio > self.ratio.1 {
            ((h * self.ratio.1).round_ties_even() as u32, height)
        } else {
            (width, height)
        };
        // If a side of a very thin panorama rounds to 0, it becomes one pixel; torchvision fails here.
        let (crop_w, crop_h) = (crop_w.clamp(1, width), crop_h.clamp(1, height));
        ((width - crop_w) / 2, (height - crop_h) / 2, crop_w, crop_h)
    }
}

impl Operator for RandomResizedCrop {
    const NAME: &'static str = "RandomResizedCrop";

    fn validate(&self) -> Result<()> {
        self.size.validate()?;
        check_range("scale", self.scale, 0.0, true)?;
        check_range("ratio", self.ratio, 0.0, false)
    }

    fn slots(&self, slots: &mut Slots) {
        slots.push(Self::NAME, Effect::Crop);
        slots.push(Self::NAME, Effect::Resize { interpolation: self.interpolation, antialias: self.antialias });
        slots.set_size(Some((self.size.width, self.size.height)));
    }

    fn make_params(&self, context: &mut Context<'_>, numbers: &mut Numbers) -> Result<()> {
        let (left, top, width, height) = self.rectangle(context.width, context.height, numbers);
        context.emit(0, Op::Crop { top, left, height, width })?;
        let CropSize { height, width } = self.size;
        context.emit(1, Op::Resize { height, width, interpolation: self.interpolation, antialias: self.antialias })
    }
}
