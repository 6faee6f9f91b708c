//! Tests whether counted draws come from one distribution, by Kolmogorov-Smirnov and chi². The results are p-values,
//! probabilities that chance makes so large a difference.
//!
//! Sources: W. H. Press et al., "Numerical Recipes", 3rd ed., 14.3 (both tests), 6.2 (the incomplete gamma function's
//! series); the asymptotic law of Kolmogorov-Smirnov is an upper bound where values are tied or binned.

/// The significance level: a p-value below it counts as a difference. With some 300 comparisons, fewer than one test
/// suite in 300 would fail by chance; keys are fixed, so this one passes always or never.
pub(crate) const SIGNIFICANCE: f64 = 1e-5;

/// Returns the p-value of the Kolmogorov-Smirnov test: the probability that two samples of one distribution differ as
/// much as these histograms in the largest distance of their cumulative shares at an edge of bins.
pub(crate) fn kolmogorov_smirnov(a: &[u64], b: &[u64]) -> f64 {
    assert_eq!(a.len(), b.len());
    let (n, m) = (a.iter().sum::<u64>() as f64, b.iter().sum::<u64>() as f64);
    let (mut up_to_a, mut up_to_b, mut distance) = (0u64, 0u64, 0f64);
    for (a, b) in a.iter().zip(b) {
        (up_to_a, up_to_b) = (up_to_a + a, up_to_b + b);
        distance = distance.max((up_to_a as f64 / n - up_to_b as f64 / m).abs());
    }
    distance_probability(distance, n, m)
}

/// Returns the p-value of the Kolmogorov-Smirnov test for this distance of samples of `n` and `m`.
pub(crate) fn distance_probability(distance: f64, n: f64, m: f64) -> f64 {
    let lambda = distance * (n * m / (n + m)).sqrt();
    if lambda < 0.2 {
        // The series does not converge for so small a `lambda`; the probability is 1 to twelve digits.
        return 1.0;
    }
    let term = |k: i32| f64::from(1 - 2 * ((k + 1) % 2)) * (-2.0 * f64::from(k * k) * lambda * lambda).exp();
    (2.0 * (1..=100).map(term).sum::<f64>()).clamp(0.0, 1.0)
}

/// Returns the probability that chi² with `degrees` degrees of freedom is at least `chi2`: Q(degrees / 2, chi2 / 2).
pub(crate) fn chi2_probability(chi2: f64, degrees: usize) -> f64 {
    let (a, x) = (degrees as f64 / 2.0, chi2 / 2.0);
    if degrees == 0 || x <= 0.0 {
        return 1.0;
    }
    // P(a, x) = x^a e^-x / Γ(a + 1) · (1 + x / (a + 1) + x² / (a + 1)(a + 2) + …)
    let (mut term, mut sum, mut n) = (1.0, 1.0, a);
    while term > sum * 1e-16 {
        n += 1.0;
        term *= x / n;
        sum += term;
    }
    (1.0 - (sum.ln() + a * x.ln() - x - libm::lgamma(a + 1.0)).exp()).clamp(0.0, 1.0)
}

/// Returns the p-value of the chi² test: the probability that two samples of one distribution differ as much as these
/// histograms. Neighbouring bins are joined until both samples together have 40 draws there.
pub(crate) fn same_distribution(a: &[u64], b: &[u64]) -> f64 {
    assert_eq!(a.len(), b.len());
    let mut bins: Vec<(u64, u64)> = Vec::new();
    let mut open = (0, 0);
    for (a, b) in a.iter().zip(b) {
        open = (open.0 + a, open.1 + b);
        if open.0 + open.1 >= 40 {
            bins.push(std::mem::take(&mut open));
        }
    }
    match bins.last_mut() {
        Some(last) => *last = (last.0 + open.0, last.1 + open.1),
        None => bins.push(open),
    }
    let ratio = (b.iter().sum::<u64>() as f64 / a.iter().sum::<u64>() as f64).sqrt();
    let part = |&(a, b): &(u64, u64)| (a as f64 * ratio - b as f64 / ratio).powi(2) / (a + b) as f64;
    chi2_probability(bins.iter().map(part).sum(), bins.len() - 1)
}

/// Returns the p-value of a chi² test that the counted outcomes are equally likely.
pub(crate) fn uniform(counts: &[u64]) -> f64 {
    let expected = counts.iter().sum::<u64>() as f64 / counts.len() as f64;
    assert!(expected >= 20.0, "{expected} draws a bin are too few");
    let chi2 = counts.iter().map(|&count| (count as f64 - expected).powi(2) / expected).sum();
    chi2_probability(chi2, counts.len() - 1)
}

/// Returns the correlation coefficient of two columns of equal length.
pub(crate) fn correlation(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    let mean = |v: &[f64]| v.iter().sum::<f64>() / v.len() as f64;
    let (mean_a, mean_b) = (mean(a), mean(b));
    let (mut ab, mut aa, mut bb) = (0.0, 0.0, 0.0);
    for (a, b) in a.iter().zip(b) {
        let (a, b) = (a - mean_a, b - mean_b);
        (ab, aa, bb) = (ab + a * b, aa + a * a, bb + b * b);
    }
    ab / (aa * bb).sqrt()
}

/// Returns the bin of a value: the first whose upper edge it does not exceed; the last bin has no upper edge.
pub(crate) fn bin(edges: &[f64], value: f64) -> usize {
    edges.partition_point(|&edge| edge < value)
}

/// Checks the tests of this file against tables of their distributions.
pub(crate) fn check() {
    // Quantiles of chi², as any table has them.
    for (chi2, degrees, probability) in [
        (3.841, 1, 0.05),
        (10.828, 1, 0.001),
        (18.307, 10, 0.05),
        (24.322, 7, 0.001),
        (49.728, 23, 0.001),
        (149.449, 100, 0.001),
    ] {
        let found = chi2_probability(chi2, degrees);
        assert!((found / probability - 1.0).abs() < 2e-3, "{chi2}, {degrees}: {found} for {probability}");
    }
    // Two samples of 20,000 whose shares differ by 0.0192 at an edge: lambda = 1.92, 2 (e^(-2 · 1.92²) - …) = 0.001256.
    let found = kolmogorov_smirnov(&[10_000, 10_000], &[10_384, 9_616]);
    assert!((found / 1.2562e-3 - 1.0).abs() < 1e-3, "{found}");
    assert_eq!(kolmogorov_smirnov(&[5, 5], &[50, 50]), 1.0);
    assert!(same_distribution(&[500, 500], &[5000, 5000]) > 0.999);
    assert!(same_distribution(&[600, 400], &[5000, 5000]) < 1e-6);
    assert!(uniform(&[1000; 24]) > 0.999);
    let mut skewed = [1000; 24];
    (skewed[0], skewed[1]) = (1200, 800);
    assert!(uniform(&skewed) < 1e-5);
}
