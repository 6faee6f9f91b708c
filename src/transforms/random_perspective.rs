use super::arguments::{Fill, check_probability, check_warp};
use super::op::Op;
use super::params::{Context, Numbers};
use super::{Effect, GatherClass, Interpolation, Operator, Slots};
use crate::error::{Error, Result};
use crate::warp::Map;
use serde::{Deserialize, Serialize};

/// Moves the corners of the image to random points, with probability `p`: torchvision's `RandomPerspective`. Where
/// three of these points lie on a line, as in images of a few pixels, the image stays as it is.
///
/// ```
/// use gpufeed::transforms::RandomPerspective;
///
/// let perspective = RandomPerspective::default();
/// assert_eq!((perspective.distortion_scale, perspective.p), (0.5, 0.5));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RandomPerspective {
    /// The most that a corner moves, as a share of half a side, in \[0, 1\]; 0.5 by default.
    pub distortion_scale: f64,
    /// Probability in \[0, 1\]; 0.5 by default.
    pub p: f64,
    /// `Bilinear`, the default, or `Nearest`.
    pub interpolation: Interpolation,
    /// The colour outside the image: 0 by default.
    pub fill: Fill,
}

impl Default for RandomPerspective {
    fn default() -> Self {
        RandomPerspective::new(0.5)
    }
}

impl RandomPerspective {
    /// Moves corners by up to this share of half a side, with probability 0.5.
    pub fn new(distortion_scale: f64) -> Self {
        RandomPerspective { distortion_scale, p: 0.5, interpolation: Interpolation::Bilinear, fill: Fill::default() }
    }

    /// Sets the probability, 0.5 by default.
    pub fn p(self, p: f64) -> Self {
        RandomPerspective { p, ..self }
    }

    warp_setters!("Sets the interpolation, bilinear by default.", "Sets the colour outside the image.");
}

impl Operator for RandomPerspective {
    const NAME: &'static str = "RandomPerspective";
    const KEYS: &[(&str, &str)] = &[("distortion_scale", "0 to 1 work")];

    fn validate(&self) -> Result<()> {
        check_probability(self.p)?;
        if !(0.0..=1.0).contains(&self.distortion_scale) {
            return Err(Error::argument("distortion_scale", format!("{}; 0 to 1 work", self.distortion_scale)));
        }
        check_warp(self.interpolation, self.fill)
    }

    fn slots(&self, slots: &mut Slots) {
        slots.push(Self::NAME, Effect::Gather(GatherClass::Warp));
    }

    fn make_params(&self, context: &mut Context<'_>, numbers: &mut Numbers) -> Result<()> {
        if !numbers.chance(self.p) {
            return Ok(());
        }
        let (width, height) = (context.width as i32, context.height as i32);
        // The corner may move by 0 to this number of pixels, excluded.
        let bound = |side: i32| (self.distortion_scale * f64::from(side / 2)) as i32 + 1;
        let (x, y) = (bound(width), bound(height));
        let mut point = |right: bool, below: bool| {
            let mut draw = |far: bool, bound: i32, side: i32| {
                let by = numbers.below(bound as u64) as i32;
                if far { side - bound + by } else { by }
            };
            [draw(right, x, width), draw(below, y, height)]
        };
        let endpoints = [point(false, false), point(true, false), point(true, true), point(false, true)];
        let (right, bottom) = (width - 1, height - 1);
        let startpoints = [[0, 0], [right, 0], [right, bottom], [0, bottom]];
        // A side of one pixel has no corners to move, and in a small image three of them may meet on a line: no map
        // leads there.
        if Map::perspective(startpoints, endpoints).is_none() {
            return Ok(());
        }
        let RandomPerspective { interpolation, fill, .. } = *self;
        context.emit(0, Op::Perspective { startpoints, endpoints, interpolation, fill: fill.color() })
    }
}
