use super::op::Op;
use super::params::{Context, Numbers};
use super::timm_augment_op::{TimmAugmentOp, check_ops};
use super::{Effect, Operator, Slots};
use crate::error::{Error, Result};
use crate::random::{beta, gamma};
use serde::{Deserialize, Serialize};

/// Mixes an image with what chains of random operations make of it: timm's `AugMixAugment`, as its `augmix-m5-w4-d2`
/// makes it.
///
/// The sum of the chains' results, with weights of a Dirichlet distribution, is cut to whole numbers, and Pillow blends
/// it with the image by a number of a beta distribution. If `blended`, Pillow blends the image with one chain's result
/// after the other instead. [`TimmAugmentOp`] says what it needs of the list of transforms.
///
/// ```
/// use gpufeed::transforms::{TimmAugMix, TimmAugmentOp, TimmOp};
///
/// let op = |name| TimmAugmentOp { prob: 1.0, magnitude: 3.0, uniform: true, ..TimmAugmentOp::new(name) };
/// let mix = TimmAugMix::new([op(TimmOp::Rotate), op(TimmOp::Equalize)]);
/// assert_eq!((mix.alpha, mix.width, mix.depth, mix.blended), (1.0, 3, -1, false));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TimmAugMix {
    /// The parameter of the distributions, > 0; 1 by default.
    #[serde(default = "one")]
    pub alpha: f64,
    /// The number of chains, 1 to 64; 3 by default.
    #[serde(default = "three")]
    pub width: u32,
    /// The operations of each chain, 1 to 64, or -1, the default, for 1 to 3 at random.
    #[serde(default = "random")]
    pub depth: i32,
    /// True if Pillow blends after each chain; false by default.
    #[serde(default)]
    pub blended: bool,
    /// The list of operations, 1 to 255.
    pub ops: Vec<TimmAugmentOp>,
}

fn one() -> f64 {
    1.0
}

fn three() -> u32 {
    3
}

fn random() -> i32 {
    -1
}

impl TimmAugMix {
    /// Mixes with timm's defaults.
    pub fn new(ops: impl IntoIterator<Item = TimmAugmentOp>) -> Self {
        let ops = ops.into_iter().collect();
        TimmAugMix { alpha: one(), width: three(), depth: random(), blended: false, ops }
    }
}

impl Operator for TimmAugMix {
    const NAME: &'static str = "TimmAugMix";
    const KEYS: &[(&str, &str)] = &[
        ("width", "1 to 64 work"),
        ("depth", "1 to 64 work, and -1 for 1 to 3 at random"),
        ("blended", "true and false work"),
        ("ops", "1 to 255 tables with a name each work"),
    ];

    fn validate(&self) -> Result<()> {
        check_ops("ops", &self.ops)?;
        if !(self.alpha > 0.0 && self.alpha.is_finite()) {
            return Err(Error::argument("alpha", format!("{}; a finite number > 0 works", self.alpha)));
        }
        if !(1..=64).contains(&self.width) {
            return Err(Error::argument("width", format!("{}; 1 to 64 work", self.width)));
        }
        if self.depth != -1 && !(1..=64).contains(&self.depth) {
            let reason = format!("{}; 1 to 64 work, and -1 for 1 to 3 at random", self.depth);
            return Err(Error::argument("depth", reason));
        }
        Ok(())
    }

    fn slots(&self, slots: &mut Slots) {
        slots.push(Self::NAME, Effect::Mixture);
    }

    fn make_params(&self, context: &mut Context<'_>, numbers: &mut Numbers) -> Result<()> {
        let weights = gamma::symmetric_dirichlet(self.alpha, self.width as usize, numbers);
        let m = beta::symmetric_beta(self.alpha, numbers) as f32;
        let mut chain = || {
            let depth = if self.depth > 0 { self.depth as u64 } else { 1 + numbers.below(3) };
            let mut op = || self.ops[numbers.below(self.ops.len() as u64) as usize].draw(numbers);
            (0..depth).filter_map(|_| op()).collect()
        };
        let chains = (0..self.width).map(|_| chain()).collect();
        let weights = weights.into_iter().map(|weight| weight as f32).collect();
        context.emit(0, Op::TimmMixture { m, weights, chains, blended: self.blended })
    }
}
