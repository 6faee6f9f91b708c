//! Decides whether a difference is larger than the noise, with the simplest rank test.
//!
//! A difference counts if every run of one side is greater than every run of the other. For n and m runs of the same
//! thing, the probability of this outcome is 2 n! m! / (n + m)!: 1 in 10 for 3 and 3, 1 in 126 for 5 and 5. It is the
//! most extreme outcome of the Mann-Whitney test, which assumes nothing about the distribution of the noise. The test
//! cannot see influences that last for a whole measurement, such as a warmer machine. Therefore differences of 2 % and
//! less never count.

use serde::Serialize;

/// Medians closer than this factor count as equal, however little the runs scatter.
const LEAST: f64 = 1.02;

/// The probability of a chance result up to which a difference counts.
#[derive(Clone, Copy)]
pub(crate) enum Strictness {
    /// For a main number: 1 in 10, three runs on each side.
    Headline,
    /// For one of many numbers, some of which would differ by chance: 1 in 100, five runs on each side.
    OneOfMany,
}

impl Strictness {
    fn chance(self) -> f64 {
        match self {
            Self::Headline => 0.1,
            Self::OneOfMany => 0.01,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub(crate) enum Verdict {
    /// The difference is larger than the noise. `chance` is the probability of such a result for equal things.
    Larger { chance: f64 },
    /// The ranges overlap, or the medians differ by 2 % at most.
    Noise,
    /// The runs do not overlap, but this is too likely for equal things; `needed` runs on each side would suffice.
    FewRuns { needed: usize },
    /// One side has a single run.
    Once,
}

impl Verdict {
    pub(crate) fn counts(self) -> bool {
        matches!(self, Self::Larger { .. })
    }
}

pub(crate) fn judge(a: &[f64], b: &[f64], ratio: f64, strictness: Strictness) -> Verdict {
    if a.len() < 2 || b.len() < 2 {
        return Verdict::Once;
    }
    let ((low_a, high_a), (low_b, high_b)) = (range(a), range(b));
    if (low_a <= high_b && low_b <= high_a) || ratio.max(1.0 / ratio) <= LEAST {
        return Verdict::Noise;
    }
    let chance = chance(a.len(), b.len());
    // A probability of exactly 1 in 10 must not fail by rounding.
    let allowed = strictness.chance() * 1.000_001;
    if chance <= allowed {
        return Verdict::Larger { chance };
    }
    let needed = (2..).find(|&runs| self::chance(runs, runs) <= allowed).unwrap_or(usize::MAX);
    Verdict::FewRuns { needed }
}

/// Returns the least and the greatest run.
pub(crate) fn range(runs: &[f64]) -> (f64, f64) {
    runs.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), &run| (low.min(run), high.max(run)))
}

/// Returns the probability that n runs are all above or all below m others of the same thing: 2 / (n + m choose n).
fn chance(n: usize, m: usize) -> f64 {
    (1..=n).fold(2.0, |chance, i| chance * i as f64 / (m + i) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use Strictness::{Headline, OneOfMany};

    #[test]
    fn chances_are_those_of_the_ranks() {
        for (n, m, one_in) in [(3, 3, 10.0), (5, 5, 126.0), (2, 5, 10.5), (4, 4, 35.0), (1, 1, 1.0)] {
            assert!((chance(n, m) * one_in - 1.0).abs() < 1e-12, "{n} and {m}");
        }
        // Counts by enumeration: in how many of the 20 ways to call three of six runs "A" they do not overlap.
        let apart =
            (0u32..64).filter(|ways| ways.count_ones() == 3).filter(|ways| [0b111, 0b111_000].contains(ways)).count();
        assert!((apart as f64 / 20.0 - chance(3, 3)).abs() < 1e-12);
    }

    #[test]
    fn three_runs_are_enough_for_the_headline_alone() {
        let (a, b) = ([100.0, 101.0, 102.0], [110.0, 111.0, 112.0]);
        assert_eq!(judge(&a, &b, 1.1, Headline), Verdict::Larger { chance: chance(3, 3) });
        assert_eq!(judge(&b, &a, 1.0 / 1.1, Headline), Verdict::Larger { chance: chance(3, 3) });
        assert_eq!(judge(&a, &b, 1.1, OneOfMany), Verdict::FewRuns { needed: 5 });
        assert_eq!(judge(&a[..2], &b[..2], 1.1, Headline), Verdict::FewRuns { needed: 3 });
        let five = |at: f64| [at, at + 0.1, at + 0.2, at + 0.3, at + 0.4];
        assert!(judge(&five(1.0), &five(2.0), 1.8, OneOfMany).counts());
    }

    #[test]
    fn overlaps_and_small_differences_are_noise() {
        assert_eq!(judge(&[100.0, 101.0, 120.0], &[119.0, 130.0, 140.0], 1.28, Headline), Verdict::Noise);
        assert_eq!(judge(&[100.0; 3], &[101.9; 3], 1.019, Headline), Verdict::Noise);
        assert_eq!(judge(&[100.0, 100.0, 110.0], &[110.0; 3], 1.1, Headline), Verdict::Noise, "they touch");
        assert_eq!(judge(&[1.0], &[2.0, 2.0, 2.0], 2.0, Headline), Verdict::Once);
    }
}
