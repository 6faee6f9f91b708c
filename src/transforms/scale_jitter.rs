use super::arguments::{check_range, check_side};
use super::params::{Context, Numbers};
use super::resize::{ComputedResize, on};
use super::{Effect, Interpolation, Operator, Slots};
use crate::error::Result;
use serde::{Deserialize, Serialize};

/// Resizes to a random multiple of a target size, and keeps the ratio of the sides: torchvision's `ScaleJitter`.
///
/// At a scale of 1 the image has the largest size that fits `target_size`. Both sides are rounded down. Results differ
/// in size, so a later transform has to fix it.
///
/// ```
/// use gpufeed::transforms::ScaleJitter;
///
/// let jitter = ScaleJitter::new((1024, 1024));
/// assert_eq!(jitter.scale_range, (0.1, 2.0));
/// assert_eq!(jitter.output_size(640, 480, 0.5), (512, 384));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScaleJitter {
    /// Width and height at a scale of 1, in the order in which torchvision computes with them.
    pub target_size: (u32, u32),
    /// Least and greatest scale; (0.1, 2) by default.
    #[serde(default = "tenth_to_double")]
    pub scale_range: (f64, f64),
    /// The filter; bilinear by default.
    #[serde(default)]
    pub interpolation: Interpolation,
    /// Widens the filter with the reduction; on by default, ignored by the nearest modes.
    #[serde(default = "on")]
    pub antialias: bool,
}

fn tenth_to_double() -> (f64, f64) {
    (0.1, 2.0)
}

impl ScaleJitter {
    /// Makes a bilinear, antialiased resize to 0.1 to 2 times `target_size`, a width and a height.
    pub fn new(target_size: (u32, u32)) -> Self {
        ScaleJitter {
            target_size,
            scale_range: tenth_to_double(),
            interpolation: Interpolation::Bilinear,
            antialias: true,
        }
    }

    /// Sets the range of the scale.
    pub fn scale_range(self, least: f64, greatest: f64) -> Self {
        ScaleJitter { scale_range: (least, greatest), ..self }
    }

    resize_setters!();

    /// Returns the (width, height) of an image of `width` × `height` for which `scale` was drawn.
    pub fn output_size(&self, width: u32, height: u32, scale: f32) -> (u32, u32) {
        // torchvision divides in f64 and multiplies in f32. A side of 0 becomes one pixel; torch refuses it.
        let (target_width, target_height) = self.target_size;
        let fit = f64::min(f64::from(target_height) / f64::from(height), f64::from(target_width) / f64::from(width));
        let ratio = fit as f32 * scale;
        let side = |side: u32| ((side as f32 * ratio) as u32).max(1);
        (side(width), side(height))
    }
}

impl Operator for ScaleJitter {
    const NAME: &'static str = "ScaleJitter";
    const KEYS: &[(&str, &str)] = &[("scale_range", "[least, greatest] with 0 < least <= greatest works")];

    fn validate(&self) -> Result<()> {
        check_side("target_size", self.target_size.0)?;
        check_side("target_size", self.target_size.1)?;
        check_range("scale_range", self.scale_range, 0.0, false)
    }

    fn slots(&self, slots: &mut Slots) {
        slots.push(Self::NAME, Effect::Resize { interpolation: self.interpolation, antialias: self.antialias });
        let most = |side: u32| (f64::from(side) * self.scale_range.1).ceil().max(1.0) as u32;
        slots.set_size_or_most(None, Some((most(self.target_size.0), most(self.target_size.1))));
    }

    fn make_params(&self, context: &mut Context<'_>, numbers: &mut Numbers) -> Result<()> {
        let (least, greatest) = self.scale_range;
        let scale = numbers.uniform_f32(least, greatest);
        let size = self.output_size(context.width, context.height, scale);
        let advice = "set a smaller scale_range or target_size";
        let ScaleJitter { interpolation, antialias, .. } = *self;
        ComputedResize { transform: Self::NAME, advice, interpolation, antialias }.emit(context, size)
    }
}
