use super::arguments::{Degrees, Fill, check_bicubic, check_warp_or_pillow};
use super::op::Op;
use super::params::{Context, Numbers};
use super::policy;
use super::{Effect, GatherClass, Interpolation, Operator, Slots};
use crate::error::{Error, Result};
use crate::pillow::affine_matrix;
use serde::{Deserialize, Serialize};

/// Turns, moves, scales and shears by random amounts: torchvision's `RandomAffine`.
///
/// ```
/// use gpufeed::transforms::RandomAffine;
///
/// let affine = RandomAffine::new(10.0).translate(0.1, 0.1).scale(0.9, 1.1).shear(5.0);
/// assert_eq!(affine.translate, Some([0.1, 0.1]));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RandomAffine {
    /// The range of angles, clockwise; a number d stands for -d to d.
    pub degrees: Degrees,
    /// The most that the image moves, as shares of its width and height in \[0, 1\]. By default it stays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub translate: Option<[f64; 2]>,
    /// The range of the scale. By default the size stays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scale: Option<[f64; 2]>,
    /// The range of the angles of shear along x. By default there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shear: Option<Degrees>,
    /// The range of the angles of shear along y. By default there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shear_y: Option<Degrees>,
    /// `Nearest`, the default, `Bilinear`, or `Bicubic`, which torchvision has for PIL images alone: Pillow's arithmetic,
    /// on 8-bit numbers ([`Op::PillowAffine`]).
    #[serde(default = "super::nearest")]
    pub interpolation: Interpolation,
    /// The colour outside the image: 0 by default.
    #[serde(default)]
    pub fill: Fill,
    /// The centre of rotation: pixels from the left and from above. By default the image's middle.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub center: Option<[f64; 2]>,
}

impl RandomAffine {
    /// Turns by an angle in a range of degrees; a number d stands for -d to d.
    pub fn new(degrees: impl Into<Degrees>) -> Self {
        RandomAffine {
            degrees: degrees.into(),
            translate: None,
            scale: None,
            shear: None,
            shear_y: None,
            interpolation: Interpolation::Nearest,
            fill: Fill::default(),
            center: None,
        }
    }

    /// Sets the most that the image moves, as shares of its width and height.
    pub fn translate(self, x: f64, y: f64) -> Self {
        RandomAffine { translate: Some([x, y]), ..self }
    }

    /// Sets the range of the scale.
    pub fn scale(self, least: f64, greatest: f64) -> Self {
        RandomAffine { scale: Some([least, greatest]), ..self }
    }

    /// Sets the range of the angles of shear along x.
    pub fn shear(self, degrees: impl Into<Degrees>) -> Self {
        RandomAffine { shear: Some(degrees.into()), ..self }
    }

    /// Sets the range of the angles of shear along y.
    pub fn shear_y(self, degrees: impl Into<Degrees>) -> Self {
        RandomAffine { shear_y: Some(degrees.into()), ..self }
    }

    warp_setters!("Sets the interpolation, nearest by default.", "Sets the colour outside the image.");

    /// Sets the centre of rotation, in pixels from the left and from above.
    pub fn center(self, x: f64, y: f64) -> Self {
        RandomAffine { center: Some([x, y]), ..self }
    }
}

impl Operator for RandomAffine {
    const NAME: &'static str = "RandomAffine";
    const KEYS: &[(&str, &str)] =
        &[("scale", "[least, greatest] with 0 < least <= greatest works"), ("translate", "two shares in [0, 1] work")];

    fn validate(&self) -> Result<()> {
        self.degrees.validate("degrees")?;
        if let Some(shares) = self.translate
            && !shares.iter().all(|share| (0.0..=1.0).contains(share))
        {
            return Err(Error::argument("translate", format!("{shares:?}; two shares in [0, 1] work")));
        }
        if let Some([least, greatest]) = self.scale
            && !(least > 0.0 && least <= greatest && greatest.is_finite())
        {
            let reason = format!("[{least}, {greatest}]; 0 < least <= greatest works");
            return Err(Error::argument("scale", reason));
        }
        self.shear.map_or(Ok(()), |shear| shear.validate("shear"))?;
        self.shear_y.map_or(Ok(()), |shear| shear.validate("shear_y"))?;
        if self.center.is_some_and(|center| !center.iter().all(|number| number.is_finite())) {
            return Err(Error::argument("center", format!("{:?}; two finite numbers work", self.center)));
        }
        check_warp_or_pillow(self.interpolation, self.fill)
    }

    fn validate_range(&self, uint8: bool) -> Result<()> {
        check_bicubic(self.interpolation, uint8)
    }

    fn slots(&self, slots: &mut Slots) {
        slots.push(Self::NAME, Effect::Gather(GatherClass::of_warp(self.interpolation)));
    }

    fn make_params(&self, context: &mut Context<'_>, numbers: &mut Numbers) -> Result<()> {
        let RandomAffine { interpolation, fill, center, .. } = *self;
        let angle = self.degrees.draw(numbers);
        let sides = [context.width, context.height].map(f64::from);
        let mut translate = [0.0; 2];
        if let Some(shares) = self.translate {
            for ((pixels, share), side) in translate.iter_mut().zip(shares).zip(sides) {
                *pixels = numbers.uniform(-share * side, share * side).round_ties_even();
            }
        }
        let scale = self.scale.map_or(1.0, |[least, greatest]| numbers.uniform(least, greatest));
        let shear = [self.shear, self.shear_y].map(|range| range.map_or(0.0, |range| range.draw(numbers)));
        let fill = fill.color();
        if interpolation == Interpolation::Bicubic {
            let center = center.unwrap_or(policy::middle((context.width, context.height)));
            return context.emit(0, policy::pillow(affine_matrix(angle, translate, scale, shear, center), fill));
        }
        context.emit(0, Op::Affine { angle, translate, scale, shear, center, interpolation, fill })
    }
}
