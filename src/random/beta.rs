//! Numbers of the symmetric beta distribution, the same on every platform: their only transcendental functions are
//! libm's `log` and `exp`.

use super::Numbers;

/// The most attempts of a rejection. Each succeeds with a probability of at least one half, so only parameters at which
/// f64 itself ends, such as 1e300, get here.
const ATTEMPTS: usize = 1000;

/// Returns a number of Beta(`alpha`, `alpha`), in \[0, 1\]; `alpha` is finite and greater than 0.
///
/// Up to 1: M. D. Jöhnk, "Erzeugung von betaverteilten und gammaverteilten Zufallszahlen", Metrika 8 (1964). Above:
/// algorithm BB of R. C. H. Cheng, "Generating Beta Variates with Nonintegral Shape Parameters", Communications of the
/// ACM 21 (1978).
pub(crate) fn symmetric_beta(alpha: f64, numbers: &mut Numbers) -> f64 {
    let attempt = if alpha <= 1.0 { johnk } else { cheng };
    // The distribution narrows to one half as `alpha` grows.
    (0..ATTEMPTS).find_map(|_| attempt(alpha, numbers)).unwrap_or(0.5)
}

/// A number uniform in (0, 1), both excluded.
pub(super) fn open_unit(numbers: &mut Numbers) -> f64 {
    loop {
        let unit = numbers.unit();
        if unit > 0.0 {
            return unit;
        }
    }
}

/// `x / (x + y)` for `x = u^(1/alpha)` and `y = v^(1/alpha)`, unless `x + y` exceeds 1. As logarithms, because the powers
/// of a small `alpha` are below the least f64.
fn johnk(alpha: f64, numbers: &mut Numbers) -> Option<f64> {
    let (u, v) = (libm::log(open_unit(numbers)), libm::log(open_unit(numbers)));
    let sum = libm::exp(u / alpha) + libm::exp(v / alpha);
    (sum <= 1.0).then(|| 1.0 / (1.0 + libm::exp((v - u) / alpha)))
}

/// Cheng's names: `v`, `w`, `z`, `r`, `s` and `t`; both of his parameters are `alpha`.
fn cheng(alpha: f64, numbers: &mut Numbers) -> Option<f64> {
    let (root, two) = (libm::sqrt(alpha), 2.0 * alpha);
    let (u1, u2) = (open_unit(numbers), open_unit(numbers));
    let v = libm::log(u1 / (1.0 - u1)) / root;
    let w = alpha * libm::exp(v);
    let z = u1 * u1 * u2;
    let r = (alpha + root) * v - libm::log(4.0);
    let s = alpha + r - w;
    let t = libm::log(z);
    let accepted = s >= t || r + two * libm::log(two / (alpha + w)) >= t;
    accepted.then(|| w / (alpha + w))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draws(alpha: f64, count: usize) -> Vec<f64> {
        let mut numbers = Numbers::new([3; 32], 0);
        (0..count).map(|_| symmetric_beta(alpha, &mut numbers)).collect()
    }

    /// The mean is 1/2, the variance 1 / (4 (2 alpha + 1)), the fourth central moment 3 / (16 (2 alpha + 1) (2 alpha + 3)).
    #[test]
    fn moments_are_those_of_the_distribution() {
        for alpha in [0.05, 0.2, 0.8, 1.0, 1.0 + 1e-9, 1.5, 4.0, 60.0, 1e6] {
            let draws = draws(alpha, 40_000);
            let moment = |power: i32| draws.iter().map(|x| (x - 0.5).powi(power)).sum::<f64>() / draws.len() as f64;
            let variance = 1.0 / (4.0 * (2.0 * alpha + 1.0));
            let fourth = 3.0 / (16.0 * (2.0 * alpha + 1.0) * (2.0 * alpha + 3.0));
            assert!(moment(1).abs() < 5.0 * (variance / 40_000.0).sqrt(), "{alpha}: {}", moment(1));
            assert!((moment(2) / variance - 1.0).abs() < 0.04, "{alpha}: {}", moment(2) / variance);
            assert!((moment(4) / fourth - 1.0).abs() < 0.1, "{alpha}: {}", moment(4) / fourth);
        }
    }

    /// The numbers of one machine, frozen.
    #[test]
    fn numbers_are_the_same_on_every_platform() {
        let bits = [0.2, 1.0, 8.0]
            .map(|alpha| draws(alpha, 100).iter().fold(0, |all: u64, x| all.rotate_left(7) ^ x.to_bits()));
        assert_eq!(bits, [3_005_067_669_599_101_191, 13_460_377_954_855_921_427, 15_309_928_854_783_336_651]);
    }

    #[test]
    fn any_parameter_ends_within_the_interval() {
        for alpha in [f64::MIN_POSITIVE, 1e-300, 1e-9, 1e9, 1e150, 1e300, f64::MAX] {
            assert!(draws(alpha, 100).iter().all(|x| (0.0..=1.0).contains(x)), "{alpha}");
        }
    }
}
