use super::arguments::{Degrees, Fill, check_bicubic, check_warp_or_pillow};
use super::op::Op;
use super::params::{Context, Numbers};
use super::policy;
use super::{Effect, GatherClass, Interpolation, Operator, Slots};
use crate::error::{Error, Result};
use crate::pillow::rotation_matrix;
use serde::{Deserialize, Serialize};

/// Turns by a random angle: torchvision's `RandomRotation`.
///
/// ```
/// use gpufeed::transforms::{Interpolation, RandomRotation};
///
/// let mild = RandomRotation::new(15.0).interpolation(Interpolation::Bilinear);
/// assert_eq!(mild.degrees, 15.0.into());
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RandomRotation {
    /// The range of angles, counter-clockwise; a number d stands for -d to d.
    pub degrees: Degrees,
    /// `Nearest`, the default, `Bilinear`, or `Bicubic`, which torchvision has for PIL images alone: Pillow's arithmetic,
    /// on 8-bit numbers ([`Op::PillowAffine`]), without `expand`.
    #[serde(default = "super::nearest")]
    pub interpolation: Interpolation,
    /// True if the result is large enough for the whole turned image, so that its size depends on the angle.
    #[serde(default)]
    pub expand: bool,
    /// The centre of rotation: pixels from the left and from above. By default the image's middle.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub center: Option<[f64; 2]>,
    /// The colour outside the image: 0 by default.
    #[serde(default)]
    pub fill: Fill,
}

impl RandomRotation {
    /// Turns by an angle in a range of degrees; a number d stands for -d to d.
    pub fn new(degrees: impl Into<Degrees>) -> Self {
        RandomRotation {
            degrees: degrees.into(),
            interpolation: Interpolation::Nearest,
            expand: false,
            center: None,
            fill: Fill::default(),
        }
    }

    warp_setters!("Sets the interpolation, nearest by default.", "Sets the colour outside the image.");

    /// Sets whether the result is large enough for the whole turned image.
    pub fn expand(self, expand: bool) -> Self {
        RandomRotation { expand, ..self }
    }

    /// Sets the centre of rotation, in pixels from the left and from above.
    pub fn center(self, x: f64, y: f64) -> Self {
        RandomRotation { center: Some([x, y]), ..self }
    }
}

impl Operator for RandomRotation {
    const NAME: &'static str = "RandomRotation";

    fn validate(&self) -> Result<()> {
        self.degrees.validate("degrees")?;
        if self.center.is_some_and(|center| !center.iter().all(|number| number.is_finite())) {
            return Err(Error::argument("center", format!("{:?}; two finite numbers work", self.center)));
        }
        if self.expand && self.interpolation == Interpolation::Bicubic {
            return Err(Error::argument("expand", "true with Bicubic; Nearest and Bilinear work with expand"));
        }
        check_warp_or_pillow(self.interpolation, self.fill)
    }

    fn validate_range(&self, uint8: bool) -> Result<()> {
        check_bicubic(self.interpolation, uint8)
    }

    fn slots(&self, slots: &mut Slots) {
        slots.push(Self::NAME, Effect::Gather(GatherClass::of_warp(self.interpolation)));
        if self.expand {
            // No side of the rectangle around a turned one is longer than its diagonal, and two more for the corners' rounding.
            let diagonal = |(width, height): (u32, u32)| libm::hypot(width.into(), height.into()).ceil() as u32 + 2;
            slots.set_size_or_most(None, slots.most.map(diagonal).map(|side| (side, side)));
        }
    }

    fn make_params(&self, context: &mut Context<'_>, numbers: &mut Numbers) -> Result<()> {
        let RandomRotation { interpolation, expand, center, fill, .. } = *self;
        let angle = self.degrees.draw(numbers);
        if interpolation == Interpolation::Bicubic {
            let center = center.unwrap_or(policy::middle((context.width, context.height)));
            return context.emit(0, policy::pillow(rotation_matrix(angle, center), fill.color()));
        }
        context.emit(0, Op::Rotate { angle, expand, center, interpolation, fill: fill.color() })
    }
}
