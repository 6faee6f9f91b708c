use super::{BatchParams, Partner, lambda, one};
use crate::error::{Error, Result};
use crate::random::Numbers;
use crate::transforms::mix::Mix;
use serde::{Deserialize, Serialize};

/// How many λ, rectangles and choices a batch has.
///
/// ```
/// use gpufeed::transforms::{MixupMode, TimmMixup};
///
/// assert_eq!(TimmMixup::new(0.8, 1.0).mode, MixupMode::Batch);
/// assert_eq!(serde_json::to_string(&MixupMode::Elem).unwrap(), "\"elem\"");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MixupMode {
    /// One for all samples.
    #[default]
    Batch,
    /// One for each pair of a sample and its partner.
    Pair,
    /// One for each sample.
    Elem,
}

/// Mixes each image with the one that has the same place from the batch's end, by MixUp or CutMix: timm's `Mixup` and
/// `FastCollateMixup`.
///
/// With probability `prob` a batch, a pair or a sample is mixed, by `mode`. Where both alphas are greater than 0, it is
/// CutMix with probability `switch_prob`, else MixUp. λ is drawn from Beta(alpha, alpha). CutMix's rectangle has sides of √(1 -
/// λ) of the image's, rounded down, about a centre that is uniform over the pixels, and is cut at the image's edges; with
/// `cutmix_minmax` its sides are uniform over whole numbers from the first share of the image's to below the second one,
/// anywhere inside the image. In 8-bit outputs the blends are rounded, halves to the even number, as `FastCollateMixup` does;
/// `Mixup` itself mixes floats.
///
/// [`Batch::soft_labels`](crate::Batch::soft_labels) are smoothed: 1 - s + s / n at the class, s / n elsewhere, with s =
/// `label_smoothing` and n classes; then mixed. A batch of an odd number of samples, which timm refuses, has one in the
/// middle that is its own partner.
///
/// ```
/// use gpufeed::transforms::{MixupMode, TimmMixup};
///
/// let deit = TimmMixup::new(0.8, 1.0).label_smoothing(0.1);
/// let each = TimmMixup::new(0.8, 1.0).mode(MixupMode::Elem).prob(0.5);
/// # let _ = (deit, each);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TimmMixup {
    /// MixUp's parameter of Beta; 0 never blends. 1 by default.
    #[serde(default = "one")]
    pub mixup_alpha: f64,
    /// CutMix's parameter of Beta; 0 never cuts. 0 by default.
    #[serde(default)]
    pub cutmix_alpha: f64,
    /// Least and greatest share of the image's sides, 0 <= least < greatest <= 1, in the place of `cutmix_alpha`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cutmix_minmax: Option<(f64, f64)>,
    /// Probability in \[0, 1\] of mixing; 1 by default.
    #[serde(default = "one")]
    pub prob: f64,
    /// Probability in \[0, 1\] of CutMix where both are possible; 0.5 by default.
    #[serde(default = "half")]
    pub switch_prob: f64,
    /// How often it draws; once a batch by default.
    #[serde(default)]
    pub mode: MixupMode,
    /// True if λ of the labels is the share of pixels that are left; else the λ that was drawn, unless `cutmix_minmax` is
    /// set. On by default.
    #[serde(default = "on")]
    pub correct_lam: bool,
    /// The share in \[0, 1) of a label that is spread over all classes; 0 by default, unlike timm's 0.1.
    #[serde(default)]
    pub label_smoothing: f64,
}

fn half() -> f64 {
    0.5
}

fn on() -> bool {
    true
}

impl TimmMixup {
    /// Mixes by MixUp and CutMix with these parameters of Beta; 0 leaves one of them out.
    pub fn new(mixup_alpha: f64, cutmix_alpha: f64) -> Self {
        TimmMixup {
            mixup_alpha,
            cutmix_alpha,
            cutmix_minmax: None,
            prob: 1.0,
            switch_prob: half(),
            mode: MixupMode::Batch,
            correct_lam: true,
            label_smoothing: 0.0,
        }
    }

    /// Draws the rectangle's sides between these shares of the image's.
    #[must_use]
    pub fn cutmix_minmax(self, least: f64, greatest: f64) -> Self {
        TimmMixup { cutmix_minmax: Some((least, greatest)), ..self }
    }

    /// Sets the probability of mixing.
    #[must_use]
    pub fn prob(self, prob: f64) -> Self {
        TimmMixup { prob, ..self }
    }

    /// Sets the probability of CutMix where both are possible.
    #[must_use]
    pub fn switch_prob(self, switch_prob: f64) -> Self {
        TimmMixup { switch_prob, ..self }
    }

    /// Sets how often it draws.
    #[must_use]
    pub fn mode(self, mode: MixupMode) -> Self {
        TimmMixup { mode, ..self }
    }

    /// Takes the share of the pixels for the labels, or λ as it was drawn.
    #[must_use]
    pub fn correct_lam(self, correct_lam: bool) -> Self {
        TimmMixup { correct_lam, ..self }
    }

    /// Spreads this share of each label over all classes.
    #[must_use]
    pub fn label_smoothing(self, label_smoothing: f64) -> Self {
        TimmMixup { label_smoothing, ..self }
    }

    fn cuts(&self) -> bool {
        self.cutmix_alpha > 0.0 || self.cutmix_minmax.is_some()
    }

    pub(super) fn validate(&self) -> Result<()> {
        for (name, alpha) in [("mixup_alpha", self.mixup_alpha), ("cutmix_alpha", self.cutmix_alpha)] {
            if !(alpha >= 0.0 && alpha.is_finite()) {
                return Err(Error::argument(name, format!("{alpha}; a finite number >= 0 works")));
            }
        }
        if self.mixup_alpha == 0.0 && !self.cuts() {
            let reason = "0, and so is cutmix_alpha, without cutmix_minmax; one of them greater than 0 works";
            return Err(Error::argument("mixup_alpha", reason));
        }
        for (name, p) in [("prob", self.prob), ("switch_prob", self.switch_prob)] {
            if !(0.0..=1.0).contains(&p) {
                return Err(Error::argument(name, format!("{p} is not a probability; 0 to 1 work")));
            }
        }
        if let Some((least, greatest)) = self.cutmix_minmax
            && !(0.0 <= least && least < greatest && greatest <= 1.0)
        {
            let reason = format!("({least}, {greatest}); 0 <= least < greatest <= 1 works");
            return Err(Error::argument("cutmix_minmax", reason));
        }
        if (0.0..1.0).contains(&self.label_smoothing) {
            return Ok(());
        }
        Err(Error::argument("label_smoothing", format!("{}; 0 to below 1 work", self.label_smoothing)))
    }

    /// The parameters of a batch of so many samples.
    pub(super) fn make_params(&self, size: (u32, u32), samples: usize, numbers: &mut Numbers) -> BatchParams {
        let mut mix = || self.mix(size, numbers);
        let mixes = match self.mode {
            MixupMode::Batch => vec![mix()],
            MixupMode::Elem => (0..samples).map(|_| mix()).collect(),
            MixupMode::Pair => {
                let first: Vec<Mix> = (0..samples / 2).map(|_| mix()).collect();
                let middle = (samples % 2 == 1).then_some(Mix::NONE);
                first.iter().copied().chain(middle).chain(first.iter().rev().copied()).collect()
            }
        };
        BatchParams { mixes, partner: Partner::Reversed, label_smoothing: self.label_smoothing }
    }

    fn mix(&self, size: (u32, u32), numbers: &mut Numbers) -> Mix {
        if !numbers.chance(self.prob) {
            return Mix::NONE;
        }
        let blends = self.mixup_alpha > 0.0;
        if !self.cuts() || (blends && !numbers.chance(self.switch_prob)) {
            return Mix::MixUp { lambda: lambda(self.mixup_alpha, numbers) };
        }
        if let Some(shares) = self.cutmix_minmax {
            return rectangle_of_shares(shares, size, numbers);
        }
        let drawn = lambda(self.cutmix_alpha, numbers);
        let Mix::CutMix { top, left, height, width, lambda } = rectangle(drawn, size, numbers) else {
            return Mix::NONE;
        };
        Mix::CutMix { top, left, height, width, lambda: if self.correct_lam { lambda } else { drawn } }
    }
}

impl std::fmt::Display for TimmMixup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let TimmMixup { mixup_alpha, cutmix_alpha, prob, switch_prob, mode, label_smoothing, .. } = self;
        write!(f, "TimmMixup(mixup_alpha {mixup_alpha}, ")?;
        match self.cutmix_minmax {
            Some((least, greatest)) => write!(f, "cutmix_minmax {least} to {greatest}")?,
            None => write!(f, "cutmix_alpha {cutmix_alpha}")?,
        }
        write!(f, ", prob {prob}, switch_prob {switch_prob}, mode {mode:?}, label_smoothing {label_smoothing})")
    }
}

/// A rectangle whose lambda is the share of the pixels outside it.
fn cut([top, bottom, left, right]: [u32; 4], (columns, rows): (u32, u32)) -> Mix {
    let (height, width) = (bottom - top, right - left);
    let (area, all) = (f64::from(width) * f64::from(height), f64::from(columns) * f64::from(rows));
    Mix::CutMix { top, left, height, width, lambda: 1.0 - area / all }
}

/// timm's rectangle for λ: the sides are rounded down, and the half on the centre's far side has the odd pixel.
fn rectangle(lambda: f64, (columns, rows): (u32, u32), numbers: &mut Numbers) -> Mix {
    let ratio = libm::sqrt(1.0 - lambda);
    let mut range = |side: u32| {
        let length = (f64::from(side) * ratio) as u32;
        let centre = numbers.below(u64::from(side)) as u32;
        (centre.saturating_sub(length / 2), (centre + length.div_ceil(2)).min(side))
    };
    let ((top, bottom), (left, right)) = (range(rows), range(columns));
    cut([top, bottom, left, right], (columns, rows))
}

/// timm's rectangle with sides between two shares of the image's. Where both are the same number of pixels, that one.
fn rectangle_of_shares(shares: (f64, f64), (columns, rows): (u32, u32), numbers: &mut Numbers) -> Mix {
    let mut range = |side: u32| {
        let [least, greatest] = [shares.0, shares.1].map(|share| (f64::from(side) * share) as u32);
        let length = least + numbers.below(u64::from(greatest - least)) as u32;
        let first = numbers.below(u64::from(side - length) + 1) as u32;
        (first, first + length)
    };
    let ((top, bottom), (left, right)) = (range(rows), range(columns));
    cut([top, bottom, left, right], (columns, rows))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn params(transform: TimmMixup, samples: usize) -> BatchParams {
        transform.make_params((31, 17), samples, &mut Numbers::new([3; 32], 0))
    }

    #[test]
    fn a_mode_draws_for_a_batch_a_pair_or_a_sample() {
        let both = TimmMixup::new(0.8, 1.0);
        assert_eq!(params(both, 7).mixes.len(), 1);
        let pair = params(both.mode(MixupMode::Pair), 7).mixes;
        assert_eq!((pair.len(), pair[3]), (7, Mix::NONE));
        for sample in 0..3 {
            assert_eq!(pair[sample], pair[6 - sample]);
            assert_ne!(pair[sample], pair[(sample + 1) % 3]);
        }
        let elem = params(both.mode(MixupMode::Elem), 8).mixes;
        assert!((1..8).all(|sample| elem[sample] != elem[sample - 1]), "{elem:?}");
        assert!(params(both.mode(MixupMode::Elem).prob(0.0), 8).mixes.iter().all(|mix| *mix == Mix::NONE));
    }

    #[test]
    fn rectangles_keep_to_the_image_and_to_their_shares() {
        let mut numbers = Numbers::new([2; 32], 0);
        let mut whole = 0;
        for _ in 0..2000 {
            let drawn = numbers.unit();
            let ratio = (1.0 - drawn).sqrt();
            let Mix::CutMix { top, left, height, width, lambda } = rectangle(drawn, (31, 17), &mut numbers) else {
                panic!("a rectangle")
            };
            assert!(left + width <= 31 && top + height <= 17);
            let (h, w) = ((17.0 * ratio) as u32, (31.0 * ratio) as u32);
            assert!(height <= h && width <= w, "{height}x{width} of {drawn}");
            whole += u32::from((height, width) == (h, w));
            assert_eq!(lambda, 1.0 - f64::from(width * height) / 527.0);
            let Mix::CutMix { top, left, height, width, .. } = rectangle_of_shares((0.2, 0.8), (31, 17), &mut numbers)
            else {
                panic!("a rectangle")
            };
            assert!((3..13).contains(&height) && (6..24).contains(&width));
            assert!(left + width <= 31 && top + height <= 17);
        }
        assert!(whole > 100, "{whole}");
    }
}
