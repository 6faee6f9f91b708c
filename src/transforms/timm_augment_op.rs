use super::op::Op;
use super::params::{Context, Numbers};
use super::timm_ops::{TimmOp, WHOLE};
use super::{Effect, GatherClass, Interpolation, Operator, Slots};
use crate::error::{Error, Result};
use crate::random::gamma::normal;
use serde::{Deserialize, Serialize};

/// Applies an operation with a probability: timm's `AugmentOp`, of which its policies consist.
///
/// Its level is `magnitude`, or a random number by `magnitude_std` and `uniform`, cut to 0 to `magnitude_max`;
/// [`TimmOp`] says what a level stands for. Pixels are Pillow's, to the byte: it works on 8-bit numbers alone
/// ([`Semantics::Uint8`](crate::Semantics::Uint8)), before [`ToDtype`](super::ToDtype) and
/// [`Normalize`](super::Normalize), and on the CPU executor alone.
///
/// ```
/// use gpufeed::transforms::{TimmAugmentOp, TimmOp};
/// use gpufeed::{Output, Plan, Semantics};
///
/// let turn = TimmAugmentOp { magnitude: 9.0, magnitude_std: 0.5, ..TimmAugmentOp::new(TimmOp::Rotate) };
/// assert_eq!((turn.prob, turn.magnitude_max, turn.fill), (0.5, 10.0, [128.0; 3]));
/// assert!(Plan::compile_as(Semantics::Uint8, 3, &[turn.into()], &Output::default()).is_ok());
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TimmAugmentOp {
    /// The operation, by timm's name.
    pub name: TimmOp,
    /// Its probability in \[0, 1\]; 0.5 by default.
    #[serde(default = "super::half")]
    pub prob: f64,
    /// The level, or the mean of random ones; 10 by default, which is a whole operation.
    #[serde(default = "whole")]
    pub magnitude: f64,
    /// The standard deviation of normal levels; 0, the default, for the same level each time.
    #[serde(default)]
    pub magnitude_std: f64,
    /// True for levels that are uniform from 0 to `magnitude`, which timm writes as an infinite deviation.
    #[serde(default)]
    pub uniform: bool,
    /// The greatest level, more than 0, up to 1,000; 10 by default.
    #[serde(default = "whole")]
    pub magnitude_max: f64,
    /// The interpolations of warps, of which each image gets a random one: `Bilinear` and `Bicubic` by default.
    #[serde(default = "either")]
    pub interpolation: Vec<Interpolation>,
    /// The colour that warps leave outside the image, from 0 to 255; 128 by default.
    #[serde(default = "gray")]
    pub fill: [f32; 3],
    /// The translation in pixels that level 10 of `TranslateX` and `TranslateY` is; 250 by default.
    #[serde(default = "far")]
    pub translate_const: f64,
    /// The same of `TranslateXRel` and `TranslateYRel` as a share of the side; 0.45 by default.
    #[serde(default = "part")]
    pub translate_pct: f64,
}

fn whole() -> f64 {
    WHOLE
}

fn either() -> Vec<Interpolation> {
    vec![Interpolation::Bilinear, Interpolation::Bicubic]
}

fn gray() -> [f32; 3] {
    [128.0; 3]
}

fn far() -> f64 {
    250.0
}

fn part() -> f64 {
    0.45
}

/// The greatest levels, translations and deviations.
const GREATEST: f64 = 1e6;

impl TimmAugmentOp {
    /// Applies an operation as a whole, with probability 0.5.
    pub fn new(name: TimmOp) -> Self {
        TimmAugmentOp {
            name,
            prob: super::half(),
            magnitude: WHOLE,
            magnitude_std: 0.0,
            uniform: false,
            magnitude_max: WHOLE,
            interpolation: either(),
            fill: gray(),
            translate_const: far(),
            translate_pct: part(),
        }
    }

    /// Draws whether it is applied, and with which numbers.
    pub(super) fn draw(&self, numbers: &mut Numbers) -> Option<Op> {
        if self.prob < 1.0 && !numbers.chance(self.prob) {
            return None;
        }
        let level = if self.uniform {
            numbers.uniform(0.0, self.magnitude)
        } else if self.magnitude_std > 0.0 {
            self.magnitude + self.magnitude_std * normal(numbers)
        } else {
            self.magnitude
        };
        let level = level.min(self.magnitude_max).max(0.0);
        let argument = self.name.argument(level, (self.translate_const, self.translate_pct), numbers);
        let interpolation = self.interpolation[numbers.below(self.interpolation.len() as u64) as usize];
        Some(Op::Timm { id: self.name, argument, interpolation, fill: self.fill })
    }
}

/// Checks the operations of a policy.
pub(super) fn check_ops(key: &'static str, ops: &[TimmAugmentOp]) -> Result<()> {
    if ops.is_empty() || ops.len() > 255 {
        return Err(Error::argument(key, format!("{} operations; 1 to 255 work", ops.len())));
    }
    ops.iter().try_for_each(TimmAugmentOp::validate)
}

impl Operator for TimmAugmentOp {
    const NAME: &'static str = "TimmAugmentOp";
    const KEYS: &[(&str, &str)] = &[
        ("name", "a name of timm's NAME_TO_OP works"),
        ("prob", "0 to 1 work"),
        ("magnitude", "-1,000,000 to 1,000,000 work, usually 0 to 10"),
        ("magnitude_std", "0 to 1,000,000 work"),
        ("uniform", "true and false work"),
        ("magnitude_max", "more than 0, up to 1,000, works"),
        ("interpolation", "a list of Nearest, Bilinear and Bicubic works"),
        ("fill", "three numbers from 0 to 255 work"),
        ("translate_const", "-1,000,000 to 1,000,000 work"),
        ("translate_pct", "-1,000,000 to 1,000,000 work"),
    ];

    fn validate(&self) -> Result<()> {
        if !(0.0..=1.0).contains(&self.prob) {
            return Err(Error::argument("prob", format!("{} is not a probability; 0 to 1 work", self.prob)));
        }
        for (key, number, least) in [
            ("magnitude", self.magnitude, -GREATEST),
            ("magnitude_std", self.magnitude_std, 0.0),
            ("translate_const", self.translate_const, -GREATEST),
            ("translate_pct", self.translate_pct, -GREATEST),
        ] {
            if !(least..=GREATEST).contains(&number) {
                return Err(Error::argument(key, format!("{number}; {least} to {GREATEST} work")));
            }
        }
        if !(self.magnitude_max > 0.0 && self.magnitude_max <= 1e3) {
            let reason = format!("{}; more than 0, up to 1,000, works", self.magnitude_max);
            return Err(Error::argument("magnitude_max", reason));
        }
        let works = |mode: &Interpolation| *mode != Interpolation::NearestExact;
        if self.interpolation.is_empty() || !self.interpolation.iter().all(works) {
            let reason = format!("{:?}; a list of Nearest, Bilinear and Bicubic works", self.interpolation);
            return Err(Error::argument("interpolation", reason));
        }
        if !self.fill.iter().all(|number| (0.0..=255.0).contains(number)) {
            return Err(Error::argument("fill", format!("{:?}; three numbers from 0 to 255 work", self.fill)));
        }
        Ok(())
    }

    fn slots(&self, slots: &mut Slots) {
        slots.push(Self::NAME, Effect::Gather(GatherClass::Timm));
    }

    fn make_params(&self, context: &mut Context<'_>, numbers: &mut Numbers) -> Result<()> {
        self.draw(numbers).map_or(Ok(()), |op| context.emit(0, op))
    }
}
