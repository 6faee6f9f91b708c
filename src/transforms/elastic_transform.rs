use super::arguments::{Fill, check_elastic, check_warp};
use super::op::Op;
use super::params::{Context, Numbers};
use super::{Effect, GatherClass, Interpolation, Operator, Slots};
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// Moves every pixel a little, neighbours alike: torchvision's `ElasticTransform`.
///
/// The random numbers come from gpufeed's own generator; [`Op::Elastic`] says which. Images may be smaller than the
/// blur's kernel, which torchvision refuses: the numbers are reflected again.
///
/// ```
/// use gpufeed::transforms::ElasticTransform;
///
/// let elastic = ElasticTransform::default();
/// assert_eq!((elastic.alpha, elastic.sigma), ([50.0; 2], [5.0; 2]));
/// let sideways = ElasticTransform::new(80.0, 6.0).alpha(80.0, 0.0);
/// # let _ = sideways;
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ElasticTransform {
    /// The size of the displacement along x and along y, or one number for both: no pixel moves by more than half of
    /// it. -1,000,000 to 1,000,000; 50 by default.
    #[serde(deserialize_with = "one_or_two")]
    pub alpha: [f64; 2],
    /// The smoothness of the displacement across and down, or one number for both: a standard deviation in pixels. Up to
    /// 100,000; 0 for both smooths nothing; 5 by default.
    #[serde(deserialize_with = "one_or_two")]
    pub sigma: [f64; 2],
    /// `Bilinear`, the default, or `Nearest`.
    pub interpolation: Interpolation,
    /// The colour outside the image: 0 by default.
    pub fill: Fill,
}

/// Reads a number for both axes, or `[x, y]`.
fn one_or_two<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<[f64; 2], D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Repr {
        One(f64),
        Two([f64; 2]),
    }
    Ok(match Repr::deserialize(deserializer)? {
        Repr::One(number) => [number; 2],
        Repr::Two(numbers) => numbers,
    })
}

impl Default for ElasticTransform {
    fn default() -> Self {
        ElasticTransform::new(50.0, 5.0)
    }
}

impl ElasticTransform {
    /// Moves pixels by up to half of `alpha`, smoothed by a Gaussian of `sigma` pixels.
    pub fn new(alpha: f64, sigma: f64) -> Self {
        let (alpha, sigma) = ([alpha; 2], [sigma; 2]);
        ElasticTransform { alpha, sigma, interpolation: Interpolation::Bilinear, fill: Fill::default() }
    }

    /// Sets the sizes of the displacement along x and along y.
    pub fn alpha(self, x: f64, y: f64) -> Self {
        ElasticTransform { alpha: [x, y], ..self }
    }

    /// Sets the smoothness across and down.
    pub fn sigma(self, x: f64, y: f64) -> Self {
        ElasticTransform { sigma: [x, y], ..self }
    }

    warp_setters!("Sets the interpolation, bilinear by default.", "Sets the colour outside the image.");
}

impl Operator for ElasticTransform {
    const NAME: &'static str = "ElasticTransform";
    const KEYS: &[(&str, &str)] = &[
        ("alpha", "a number or [x, y], each -1,000,000 to 1,000,000, works"),
        ("sigma", "a number or [x, y], each more than 0 and up to 100,000, works, or 0 for both axes"),
    ];

    fn validate(&self) -> Result<()> {
        check_elastic(self.alpha, self.sigma).map_err(|(key, reason)| Error::argument(key, reason))?;
        check_warp(self.interpolation, self.fill)
    }

    fn slots(&self, slots: &mut Slots) {
        slots.push(Self::NAME, Effect::Gather(GatherClass::Native));
    }

    fn make_params(&self, context: &mut Context<'_>, numbers: &mut Numbers) -> Result<()> {
        let ElasticTransform { alpha, sigma, interpolation, fill } = *self;
        context.emit(0, Op::Elastic { alpha, sigma, key: numbers.key(), interpolation, fill: fill.color() })
    }
}
