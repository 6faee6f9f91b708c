use super::arguments::check_range;
use super::params::{Context, Numbers};
use super::resize::{ComputedResize, on};
use super::{CropSize, Effect, Interpolation, Operator, Slots};
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// Resizes by one factor, so that the image covers `size`, fits into it, or between: timm's `ResizeKeepRatio`.
///
/// The image's height and width are divided by `size`'s; the factor is 1 over `longest` times the greater quotient plus
/// 1 - `longest` times the smaller one. 0 covers `size`, 1 fits into it. By chance another scale follows, and another
/// ratio of sides. Sides are rounded, halves to the even number. Results differ in size, so a later transform has to
/// fix it: [`CenterCropOrPad`](super::CenterCropOrPad) or [`RandomCropOrPad`](super::RandomCropOrPad).
///
/// ```
/// use gpufeed::transforms::ResizeKeepRatio;
///
/// let covers = ResizeKeepRatio::new(224);
/// let fits = ResizeKeepRatio::new(224).longest(1.0);
/// // A scale of 1 and a ratio of 1 change nothing.
/// assert_eq!(covers.output_size(640, 480, 1.0, 1.0), (299, 224));
/// assert_eq!(fits.output_size(640, 480, 1.0, 1.0), (224, 168));
/// let zoomed = ResizeKeepRatio::new(224).random_scale_area(true);
/// assert_eq!(zoomed.output_size(640, 480, 0.25, 1.0), (597, 448));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResizeKeepRatio {
    /// Height and width, in pixels.
    pub size: CropSize,
    /// 0 covers `size`, 1 fits into it; 0 by default.
    #[serde(default)]
    pub longest: f64,
    /// The filter; bilinear by default.
    #[serde(default)]
    pub interpolation: Interpolation,
    /// Widens the filter with the reduction; on by default, ignored by the nearest modes.
    #[serde(default = "on")]
    pub antialias: bool,
    /// Probability in \[0, 1\] of another scale; 0 by default.
    #[serde(default)]
    pub random_scale_prob: f64,
    /// Least and greatest scale; (0.85, 1.05) by default.
    #[serde(default = "scales")]
    pub random_scale_range: (f64, f64),
    /// True if the scale is the share of the image's area that `size` shows, as in
    /// [`RandomResizedCrop`](super::RandomResizedCrop): 0.25 doubles the sides. Else both sides are multiplied by it; off
    /// by default.
    #[serde(default)]
    pub random_scale_area: bool,
    /// Probability in \[0, 1\] of another ratio of sides; 0 by default.
    #[serde(default)]
    pub random_aspect_prob: f64,
    /// Least and greatest factor of width / height, drawn by its logarithm; (0.9, 1.11) by default.
    #[serde(default = "ratios")]
    pub random_aspect_range: (f64, f64),
}

fn scales() -> (f64, f64) {
    (0.85, 1.05)
}

fn ratios() -> (f64, f64) {
    (0.9, 1.11)
}

impl ResizeKeepRatio {
    /// Makes a bilinear, antialiased resize that covers a square (`224`) or `(height, width)`.
    pub fn new(size: impl Into<CropSize>) -> Self {
        ResizeKeepRatio {
            size: size.into(),
            longest: 0.0,
            interpolation: Interpolation::Bilinear,
            antialias: true,
            random_scale_prob: 0.0,
            random_scale_range: scales(),
            random_scale_area: false,
            random_aspect_prob: 0.0,
            random_aspect_range: ratios(),
        }
    }

    /// Sets the share of the greater quotient: 0 covers `size`, 1 fits into it.
    pub fn longest(self, longest: f64) -> Self {
        ResizeKeepRatio { longest, ..self }
    }

    resize_setters!();

    /// Changes the scale with probability `p`, to one between the two.
    pub fn random_scale(self, p: f64, least: f64, greatest: f64) -> Self {
        ResizeKeepRatio { random_scale_prob: p, random_scale_range: (least, greatest), ..self }
    }

    /// Takes the scale as a share of the area.
    pub fn random_scale_area(self, random_scale_area: bool) -> Self {
        ResizeKeepRatio { random_scale_area, ..self }
    }

    /// Changes width / height with probability `p`, by a factor between the two.
    pub fn random_aspect(self, p: f64, least: f64, greatest: f64) -> Self {
        ResizeKeepRatio { random_aspect_prob: p, random_aspect_range: (least, greatest), ..self }
    }

    /// Returns the (width, height) of an image of `width` × `height` for which this scale and this factor of width /
    /// height were drawn; 1 where none was.
    pub fn output_size(&self, width: u32, height: u32, scale: f64, aspect: f64) -> (u32, u32) {
        let [w, h] = [width, height].map(f64::from);
        let (by_height, by_width) = (h / f64::from(self.size.height), w / f64::from(self.size.width));
        let ratio = by_height.max(by_width) * self.longest + by_height.min(by_width) * (1.0 - self.longest);
        let factor = if self.random_scale_area { 1.0 / libm::sqrt(scale) } else { scale };
        let aspect = libm::sqrt(aspect);
        let side = |side: f64, factor: f64| (side * factor / ratio).round_ties_even() as u32;
        (side(w, factor * aspect), side(h, factor / aspect))
    }
}

impl Operator for ResizeKeepRatio {
    const NAME: &'static str = "ResizeKeepRatio";
    const KEYS: &[(&str, &str)] = &[
        ("longest", "0 to 1 work"),
        ("random_scale_prob", "0 to 1 work"),
        ("random_scale_range", "[least, greatest] with 0 < least <= greatest works"),
        ("random_scale_area", "true and false work"),
        ("random_aspect_prob", "0 to 1 work"),
        ("random_aspect_range", "[least, greatest] with 0 < least <= greatest works"),
    ];

    fn is_fixed(&self) -> bool {
        self.random_scale_prob == 0.0 && self.random_aspect_prob == 0.0
    }

    fn validate(&self) -> Result<()> {
        self.size.validate()?;
        for (name, share) in [
            ("longest", self.longest),
            ("random_scale_prob", self.random_scale_prob),
            ("random_aspect_prob", self.random_aspect_prob),
        ] {
            if !(0.0..=1.0).contains(&share) {
                return Err(Error::argument(name, format!("{share}; 0 to 1 work")));
            }
        }
        check_range("random_scale_range", self.random_scale_range, 0.0, false)?;
        check_range("random_aspect_range", self.random_aspect_range, 0.0, false)
    }

    fn slots(&self, slots: &mut Slots) {
        slots.push(Self::NAME, Effect::Resize { interpolation: self.interpolation, antialias: self.antialias });
        let size = slots.size.filter(|_| self.is_fixed());
        slots.set_size(size.map(|(width, height)| {
            let (width, height) = self.output_size(width, height, 1.0, 1.0);
            (width.max(1), height.max(1))
        }));
    }

    fn make_params(&self, context: &mut Context<'_>, numbers: &mut Numbers) -> Result<()> {
        let mut drawn = |p: f64| p > 0.0 && numbers.chance(p);
        let (scales, ratios) = (drawn(self.random_scale_prob), drawn(self.random_aspect_prob));
        let (least, greatest) = self.random_scale_range;
        let scale = if scales { numbers.uniform(least, greatest) } else { 1.0 };
        let (least, greatest) = self.random_aspect_range;
        let aspect = if ratios { libm::exp(numbers.uniform(libm::log(least), libm::log(greatest))) } else { 1.0 };
        let size = self.output_size(context.width, context.height, scale, aspect);
        let ResizeKeepRatio { interpolation, antialias, .. } = *self;
        let advice = "set a smaller size, or longest = 1";
        ComputedResize { transform: Self::NAME, advice, interpolation, antialias }.emit(context, size)
    }
}
