//! Numbers of the gamma and the symmetric Dirichlet distribution, the same on every platform: their only transcendental
//! functions are libm's `log` and `exp`.

use super::Numbers;
use super::beta::open_unit;

/// Returns `count` numbers >= 0 with the sum 1, of the Dirichlet distribution with all parameters `alpha`, which is
/// finite and greater than 0.
pub(crate) fn symmetric_dirichlet(alpha: f64, count: usize, numbers: &mut Numbers) -> Vec<f64> {
    // As logarithms, because numbers of a small `alpha` are below the least f64.
    let mut shares: Vec<f64> = (0..count).map(|_| log_gamma_number(alpha, numbers)).collect();
    let greatest = shares.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if !greatest.is_finite() {
        // Beyond the range of f64 one number has all of the sum, each with the same probability.
        let one = numbers.below(count as u64) as usize;
        return (0..count).map(|i| f64::from(u8::from(i == one))).collect();
    }
    shares.iter_mut().for_each(|share| *share = libm::exp(*share - greatest));
    let sum: f64 = shares.iter().sum();
    shares.iter_mut().for_each(|share| *share /= sum);
    shares
}

/// The logarithm of a number of Gamma(`alpha`, 1).
///
/// G. Marsaglia and W. W. Tsang, "A Simple Method for Generating Gamma Variables", ACM Transactions on Mathematical
/// Software 26 (2000); below 1 a number of `alpha` + 1 times `u^(1/alpha)`, as they propose.
fn log_gamma_number(alpha: f64, numbers: &mut Numbers) -> f64 {
    if alpha < 1.0 {
        let boost = libm::log(open_unit(numbers)) / alpha;
        return log_gamma_number(alpha + 1.0, numbers) + boost;
    }
    let d = alpha - 1.0 / 3.0;
    let c = 1.0 / libm::sqrt(9.0 * d);
    loop {
        let x = normal(numbers);
        let root = 1.0 + c * x;
        if root <= 0.0 {
            continue;
        }
        let v = root * root * root;
        // More than nine of ten attempts succeed.
        if libm::log(open_unit(numbers)) < 0.5 * x * x + d - d * v + d * libm::log(v) {
            return libm::log(d) + libm::log(v);
        }
    }
}

/// A standard normal number by Marsaglia's polar method.
pub(crate) fn normal(numbers: &mut Numbers) -> f64 {
    loop {
        let (x, y) = (2.0 * numbers.unit() - 1.0, 2.0 * numbers.unit() - 1.0);
        let square = x * x + y * y;
        if square > 0.0 && square < 1.0 {
            return x * libm::sqrt(-2.0 * libm::log(square) / square);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draws(alpha: f64, count: usize) -> Vec<Vec<f64>> {
        let mut numbers = Numbers::new([9; 32], 0);
        (0..20_000).map(|_| symmetric_dirichlet(alpha, count, &mut numbers)).collect()
    }

    /// Each number is of Beta(alpha, (n - 1) alpha): the mean is 1/n, the variance (n - 1) / (n² (n alpha + 1)), and two
    /// of them have the covariance -1 / (n² (n alpha + 1)).
    #[test]
    fn moments_are_those_of_the_distribution() {
        for (alpha, count) in [(0.05, 3), (0.7, 4), (1.0, 3), (1.0, 1), (2.5, 2), (40.0, 5)] {
            let draws = draws(alpha, count);
            assert!(draws.iter().all(|draw| (draw.iter().sum::<f64>() - 1.0).abs() < 1e-12));
            let (n, all) = (count as f64, draws.len() as f64);
            let variance = (n - 1.0) / (n * n * (n * alpha + 1.0));
            for i in 0..count {
                let mean = draws.iter().map(|draw| draw[i]).sum::<f64>() / all;
                assert!((mean - 1.0 / n).abs() <= 5.0 * (variance / all).sqrt() + 1e-15, "{alpha}: {mean}");
                let square = draws.iter().map(|draw| (draw[i] - 1.0 / n).powi(2)).sum::<f64>() / all;
                assert!((square - variance).abs() <= 0.05 * variance, "{alpha}: {square}, not {variance}");
            }
            if count > 1 {
                let product = draws.iter().map(|draw| (draw[0] - 1.0 / n) * (draw[1] - 1.0 / n)).sum::<f64>() / all;
                assert!((product * -(n - 1.0) - variance).abs() <= 0.15 * variance, "{alpha}: {product}");
            }
        }
    }

    /// The numbers of one machine, frozen.
    #[test]
    fn numbers_are_the_same_on_every_platform() {
        let bits = [0.2, 1.0, 8.0].map(|alpha| {
            draws(alpha, 3)[..100].iter().flatten().fold(0, |all: u64, x| all.rotate_left(7) ^ x.to_bits())
        });
        assert_eq!(bits, [17_123_479_877_828_688_519, 7_288_282_253_687_642_525, 12_652_279_455_740_289_535]);
    }

    #[test]
    fn any_parameter_ends_within_the_interval() {
        let mut numbers = Numbers::new([4; 32], 0);
        for alpha in [f64::MIN_POSITIVE, 1e-300, 1e-9, 1e9, 1e150, 1e300, f64::MAX] {
            for _ in 0..100 {
                let draw = symmetric_dirichlet(alpha, 3, &mut numbers);
                assert!(draw.iter().all(|x| (0.0..=1.0).contains(x)), "{alpha}: {draw:?}");
            }
        }
    }
}
