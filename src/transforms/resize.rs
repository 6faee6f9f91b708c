use super::arguments::{MAX_SIDE, check_side};
use super::params::{Context, Numbers};
use super::{Effect, Operator, Slots};
use super::{Interpolation, Op};
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// The target size of [`Resize`].
///
/// ```
/// use gpufeed::transforms::{Resize, ResizeTo};
///
/// assert_eq!(Resize::new(256).size, ResizeTo::Short(256));
/// assert_eq!(Resize::new((224, 320)).size, ResizeTo::Exact([224, 320]));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ResizeTo {
    /// The shorter side; the longer one follows from the ratio, rounded down.
    Short(u32),
    /// `[height, width]`, regardless of the ratio.
    Exact([u32; 2]),
}

impl From<u32> for ResizeTo {
    fn from(short: u32) -> Self {
        ResizeTo::Short(short)
    }
}

impl From<(u32, u32)> for ResizeTo {
    fn from((height, width): (u32, u32)) -> Self {
        ResizeTo::Exact([height, width])
    }
}

/// Resamples the image: torchvision's `Resize`.
///
/// ```
/// use gpufeed::transforms::{Interpolation, Resize};
///
/// let short_side = Resize::new(256);
/// let exact = Resize::new((224, 224)).interpolation(Interpolation::Bicubic);
/// let bounded = Resize::new(256).max_size(512);
/// # let _ = (short_side, exact, bounded);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Resize {
    /// The short side, or height and width.
    pub size: ResizeTo,
    /// The filter; bilinear by default.
    #[serde(default)]
    pub interpolation: Interpolation,
    /// Limit of the longer side, if `size` is the short side. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_size: Option<u32>,
    /// Widens the filter with the reduction; on by default, ignored by the nearest modes.
    #[serde(default = "on")]
    pub antialias: bool,
}

pub(super) fn on() -> bool {
    true
}

impl Resize {
    /// Makes a bilinear, antialiased resize to a short side (`256`) or an exact size (`(height, width)`).
    pub fn new(size: impl Into<ResizeTo>) -> Self {
        Resize { size: size.into(), interpolation: Interpolation::Bilinear, max_size: None, antialias: true }
    }

    resize_setters!();

    /// Limits the longer side.
    pub fn max_size(self, max_size: u32) -> Self {
        Resize { max_size: Some(max_size), ..self }
    }

    /// Returns the (width, height) of a resized image of `width` × `height`. This is torchvision's
    /// `_compute_resized_output_size`, which truncates the longer side.
    pub fn output_size(&self, width: u32, height: u32) -> (u32, u32) {
        let short = match self.size {
            ResizeTo::Exact([height, width]) => return (width, height),
            ResizeTo::Short(short) => u64::from(short),
        };
        let (low, high) = (u64::from(width.min(height)), u64::from(width.max(height)));
        // Python computes size·long/short in doubles and truncates; the integer quotient is the same below 2^53.
        let (mut new_short, mut new_long) = (short, short * high / low);
        if let Some(max) = self.max_size.map(u64::from)
            && new_long > max
        {
            (new_short, new_long) = (max * new_short / new_long, max);
        }
        // A panorama of 1:1000 gets a side of one pixel; torch refuses a side of 0.
        let clamp = |side: u64| side.clamp(1, u64::from(u32::MAX)) as u32;
        let (new_short, new_long) = (clamp(new_short), clamp(new_long));
        if width <= height { (new_short, new_long) } else { (new_long, new_short) }
    }
}

/// A resize to a size that a transform computes. It is op slot 0 of the transform.
pub(super) struct ComputedResize<'a> {
    pub(super) transform: &'static str,
    /// What makes the result smaller, for the error about a result that is too large.
    pub(super) advice: &'a str,
    pub(super) interpolation: Interpolation,
    pub(super) antialias: bool,
}

impl ComputedResize<'_> {
    /// Emits the resize to (width, height). A side of 0 becomes one pixel, as in [`Resize`].
    pub(super) fn emit(self, context: &mut Context<'_>, size: (u32, u32)) -> Result<()> {
        let ComputedResize { transform, advice, interpolation, antialias } = self;
        let (width, height) = (size.0.max(1), size.1.max(1));
        if width > MAX_SIDE || height > MAX_SIDE {
            return Err(context.error(transform, format!("the result would be {width}x{height}; {advice}")));
        }
        context.emit(0, Op::Resize { height, width, interpolation, antialias })
    }
}

impl Operator for Resize {
    const NAME: &'static str = "Resize";
    const FIXED: bool = true;

    fn validate(&self) -> Result<()> {
        match (self.size, self.max_size) {
            (ResizeTo::Exact([height, width]), None) => {
                check_side("size", height)?;
                check_side("size", width)
            }
            (ResizeTo::Exact(_), Some(_)) => {
                Err(Error::argument("max_size", "works only if size is a short side, not [height, width]"))
            }
            (ResizeTo::Short(short), Some(max)) if max <= short || max > MAX_SIDE => {
                let reason = format!("{max} pixels; more than size = {short}, up to {MAX_SIDE}, work");
                Err(Error::argument("max_size", reason))
            }
            (ResizeTo::Short(short), _) => check_side("size", short),
        }
    }

    fn slots(&self, slots: &mut Slots) {
        slots.push(Self::NAME, Effect::Resize { interpolation: self.interpolation, antialias: self.antialias });
        let size = match (self.size, slots.size) {
            (ResizeTo::Exact([height, width]), _) => Some((width, height)),
            (ResizeTo::Short(_), Some((width, height))) => Some(self.output_size(width, height)),
            (ResizeTo::Short(_), None) => None,
        };
        slots.set_size_or_most(size, self.max_size.map(|most| (most, most)));
    }

    fn make_params(&self, context: &mut Context<'_>, _: &mut Numbers) -> Result<()> {
        let size = self.output_size(context.width, context.height);
        let Resize { interpolation, antialias, .. } = *self;
        ComputedResize { transform: Self::NAME, advice: "set max_size", interpolation, antialias }.emit(context, size)
    }
}
