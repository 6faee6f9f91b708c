use super::arguments::{Fill, check_bicubic, check_warp_or_pillow};
use super::op::Op;
use super::params::{Context, Numbers};
use super::policy::{MIXED_OPERATIONS, Space};
use super::{Effect, Interpolation, Operator, Slots};
use crate::error::{Error, Result};
use crate::random::{beta, gamma};
use serde::{Deserialize, Serialize};

/// Mixes an image with what chains of random operations make of it: torchvision's `AugMix` (Hendrycks, Mu, Cubuk, Zoph,
/// Gilmer and Lakshminarayanan, "AugMix: A Simple Data Processing Method to Improve Robustness and Uncertainty", 2020).
///
/// The result is `m0 · x + m1 · Σ w[i] · chain[i](x)`, where m0 and m1, and all w, are of a Dirichlet distribution.
///
/// ```
/// use gpufeed::transforms::AugMix;
///
/// let mix = AugMix::default().severity(5);
/// assert_eq!((mix.mixture_width, mix.chain_depth, mix.alpha, mix.all_ops), (3, -1, 1.0, true));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AugMix {
    /// The number of magnitudes, from the least on, of which each operation gets a random one; 1 to 10, 3 by default.
    pub severity: u32,
    /// The number of chains, 1 to 64; 3 by default.
    pub mixture_width: u32,
    /// The operations of each chain, 1 to 64, or -1, the default, for 1 to 3 at random.
    pub chain_depth: i32,
    /// The parameter of the Dirichlet distributions, > 0; 1 by default.
    pub alpha: f64,
    /// True, the default, if brightness, colour, contrast and sharpness are among the operations.
    pub all_ops: bool,
    /// `Bilinear`, the default, `Nearest`, or `Bicubic`, which torchvision has for PIL images alone: such warps are
    /// Pillow's, on 8-bit numbers ([`Op::PillowAffine`]).
    pub interpolation: Interpolation,
    /// The colour that warps leave outside the image: torchvision's `None` by default.
    pub fill: Fill,
}

impl Default for AugMix {
    fn default() -> Self {
        AugMix {
            severity: 3,
            mixture_width: 3,
            chain_depth: -1,
            alpha: 1.0,
            all_ops: true,
            interpolation: Interpolation::Bilinear,
            fill: Fill::None,
        }
    }
}

impl AugMix {
    /// Mixes with torchvision's defaults.
    pub fn new() -> Self {
        AugMix::default()
    }

    /// Sets the number of magnitudes.
    pub fn severity(self, severity: u32) -> Self {
        AugMix { severity, ..self }
    }

    /// Sets the number of chains.
    pub fn mixture_width(self, mixture_width: u32) -> Self {
        AugMix { mixture_width, ..self }
    }

    /// Sets the number of operations of each chain; -1 for 1 to 3 at random.
    pub fn chain_depth(self, chain_depth: i32) -> Self {
        AugMix { chain_depth, ..self }
    }

    /// Sets the parameter of the Dirichlet distributions.
    pub fn alpha(self, alpha: f64) -> Self {
        AugMix { alpha, ..self }
    }

    /// Says whether brightness, colour, contrast and sharpness are among the operations.
    pub fn all_ops(self, all_ops: bool) -> Self {
        AugMix { all_ops, ..self }
    }

    warp_setters!("Sets the interpolation of warps.", "Sets the colour that warps leave outside the image.");
}

/// The magnitudes from which `severity` chooses.
const BINS: u32 = 10;

impl Operator for AugMix {
    const NAME: &'static str = "AugMix";
    const KEYS: &[(&str, &str)] = &[
        ("severity", "1 to 10 work"),
        ("mixture_width", "1 to 64 work"),
        ("chain_depth", "1 to 64 work, and -1 for 1 to 3 at random"),
    ];

    fn validate(&self) -> Result<()> {
        if !(1..=BINS).contains(&self.severity) {
            return Err(Error::argument("severity", format!("{}; 1 to {BINS} work", self.severity)));
        }
        if !(1..=64).contains(&self.mixture_width) {
            return Err(Error::argument("mixture_width", format!("{}; 1 to 64 work", self.mixture_width)));
        }
        if self.chain_depth != -1 && !(1..=64).contains(&self.chain_depth) {
            let reason = format!("{}; 1 to 64 work, and -1 for 1 to 3 at random", self.chain_depth);
            return Err(Error::argument("chain_depth", reason));
        }
        if !(self.alpha > 0.0 && self.alpha.is_finite()) {
            return Err(Error::argument("alpha", format!("{}; a finite number > 0 works", self.alpha)));
        }
        check_warp_or_pillow(self.interpolation, self.fill)
    }

    fn validate_range(&self, uint8: bool) -> Result<()> {
        check_bicubic(self.interpolation, uint8)
    }

    fn slots(&self, slots: &mut Slots) {
        slots.push(Self::NAME, Effect::Mixture);
    }

    fn make_params(&self, context: &mut Context<'_>, numbers: &mut Numbers) -> Result<()> {
        let own = beta::symmetric_beta(self.alpha, numbers);
        let weights = gamma::symmetric_dirichlet(self.alpha, self.mixture_width as usize, numbers);
        let operations = if self.all_ops { &MIXED_OPERATIONS[..] } else { &MIXED_OPERATIONS[..9] };
        let size = (context.width, context.height);
        let (interpolation, fill) = (self.interpolation, self.fill.color());
        let mut chain = || {
            let depth = if self.chain_depth > 0 { self.chain_depth as u64 } else { 1 + numbers.below(3) };
            let mut op = || {
                let id = operations[numbers.below(operations.len() as u64) as usize];
                let bin = numbers.below(self.severity.into()) as u32;
                let magnitude = Space::AUG_MIX.draw(id, bin, BINS, size, numbers);
                Op::Policy { id, magnitude, interpolation, fill }
            };
            (0..depth).map(|_| op()).collect()
        };
        let chains = (0..self.mixture_width).map(|_| chain()).collect();
        let weights = weights.into_iter().map(|weight| weight as f32).collect();
        context.emit(0, Op::Mixture { m: [own as f32, (1.0 - own) as f32], weights, chains })
    }
}
