//! Chooses samples by weight, with replacement; frozen and the same on every platform.
//!
//! Position `p` of an epoch takes the `p`-th number u of ChaCha8 under a key made of seed and epoch, and the first
//! sample at which the sum of weights so far exceeds u times their total.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::random::Numbers;

/// Domain of these random numbers, which keeps them apart from others with the same seed. Changing it, or anything else
/// here, changes the samples of every user of weights.
const DOMAIN: [u8; 16] = *b"gpufeed.weights1";

/// The table for choosing samples.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Weights {
    /// Sum of the weights up to and including each sample, divided by the greatest weight.
    sums: Arc<[f64]>,
    /// The total is divided into as many parts as there are samples. For each part: the first sample whose sum is in
    /// the part or beyond it. So a search looks at one part, which has one sample on average.
    starts: Arc<[u32]>,
    /// The factor that turns a running sum of weights into the number of its part.
    scale: f64,
}

/// Weights are never NaN: `check_weights` refuses it.
impl Eq for Weights {}

/// The samples of an epoch, in the order of positions.
#[derive(Clone, Debug)]
pub(super) struct WeightedOrder {
    pub(super) indices: Vec<u32>,
    /// For each position, the number of earlier positions with the same sample.
    pub(super) occurrences: Vec<u32>,
    /// For each sample, its number of occurrences in the epoch.
    pub(super) counts: Vec<u32>,
}

/// Returns the part of the total that contains `sum`.
fn part(sum: f64, scale: f64) -> usize {
    (sum * scale) as usize
}

/// Checks `weights`: one for each of `len` samples, none negative, infinite or NaN, not all 0.
pub(crate) fn check_weights(weights: &[f64], len: usize) -> Result<()> {
    if weights.len() != len {
        return Err(Error::argument("weights", format!("{} for {len} samples; give one for each", weights.len())));
    }
    if let Some(sample) = weights.iter().position(|weight| !weight.is_finite() || *weight < 0.0) {
        let reason = format!("{} for sample {sample}, but a weight must be finite and at least 0", weights[sample]);
        return Err(Error::argument("weights", reason));
    }
    if len > 0 && weights.iter().all(|&weight| weight == 0.0) {
        return Err(Error::argument("weights", "all are 0, so that no sample can come; set one above 0"));
    }
    Ok(())
}

impl Weights {
    pub(super) fn new(weights: &[f64], len: usize) -> Result<Self> {
        check_weights(weights, len)?;
        if u32::try_from(len).is_err() {
            return Err(Error::argument(
                "weights",
                format!("{len} samples, but at most {} can have weights", u32::MAX),
            ));
        }
        // Relative to the greatest weight, sums cannot overflow, nor be so small that u times their total rounds up to
        // it.
        let greatest = weights.iter().copied().fold(0.0, f64::max);
        let sums = weights.iter().scan(0.0, |sum, weight| {
            *sum += weight / greatest;
            Some(*sum)
        });
        let sums: Arc<[f64]> = sums.collect();
        let scale = len as f64 / sums.last().copied().unwrap_or(1.0);
        let mut starts = Vec::with_capacity(len + 1);
        for (sample, sum) in (0u32..).zip(sums.iter()) {
            // Rounding can make the index of the last part too large by one.
            starts.resize(starts.len().max(part(*sum, scale).min(len - 1) + 1), sample);
        }
        Ok(Weights { sums, starts: starts.into(), scale })
    }

    /// Chooses a sample by its weight, using one 64-bit number.
    pub(super) fn choose(&self, numbers: &mut Numbers) -> usize {
        // The point is below the total, since `unit` is below 1 and the total at least 1.
        self.beyond(numbers.unit() * self.sums.last().copied().unwrap_or_default())
    }

    /// Returns the first sample whose sum exceeds `point`. A sample of weight 0 does not increase the sum, so it is
    /// never the first.
    fn beyond(&self, point: f64) -> usize {
        // Parts never decrease along the sums: the sample is between the first one of the point's part and the first
        // one of the next part.
        let part = part(point, self.scale).min(self.starts.len().saturating_sub(1));
        let first = self.starts.get(part).map_or(0, |&first| first as usize);
        let last = self.starts.get(part + 1).map_or(self.sums.len(), |&last| last as usize + 1);
        first + self.sums[first..last].partition_point(|&sum| sum <= point)
    }

    /// Chooses as many samples as there are weights.
    pub(super) fn epoch(&self, seed: u64, epoch: u64) -> WeightedOrder {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&seed.to_le_bytes());
        key[8..16].copy_from_slice(&epoch.to_le_bytes());
        key[16..].copy_from_slice(&DOMAIN);
        let mut numbers = Numbers::new(key, 0);
        let len = self.sums.len();
        let mut order = WeightedOrder {
            indices: Vec::with_capacity(len),
            occurrences: Vec::with_capacity(len),
            counts: vec![0; len],
        };
        for _ in 0..len {
            let sample = self.choose(&mut numbers);
            order.indices.push(sample as u32); // Weights::new lets no larger one in.
            order.occurrences.push(order.counts[sample]);
            order.counts[sample] += 1;
        }
        order
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(weights: &[f64], epochs: u64) -> Vec<u64> {
        let table = Weights::new(weights, weights.len()).unwrap();
        let mut counts = vec![0; weights.len()];
        for epoch in 0..epochs {
            table.epoch(1, epoch).indices.iter().for_each(|&index| counts[index as usize] += 1);
        }
        counts
    }

    /// Returns the chi-square of `counts` against shares proportional to `weights`, none of which is 0.
    fn chi_square(counts: &[u64], weights: &[f64]) -> f64 {
        let per_weight = counts.iter().sum::<u64>() as f64 / weights.iter().sum::<f64>();
        let term =
            |(&count, weight): (&u64, &f64)| (count as f64 - weight * per_weight).powi(2) / (weight * per_weight);
        counts.iter().zip(weights).map(term).sum()
    }

    /// Limit for 4 degrees of freedom, exceeded by chance once in 1000.
    const LIMIT_4: f64 = 18.47;

    #[test]
    fn samples_come_as_often_as_their_weights_say() {
        let weights = [1.0, 2.0, 0.5, 4.0, 2.5];
        let counts = counts(&weights, 4000);
        assert!(chi_square(&counts, &weights) < LIMIT_4, "{counts:?}");
        // The test rejects other weights: here those of the samples' neighbours.
        assert!(chi_square(&counts, &[2.0, 0.5, 4.0, 2.5, 1.0]) > LIMIT_4, "{counts:?}");
        // Only the weights' ratios matter, not their size.
        for factor in [1e-300, 1e300] {
            assert_eq!(super::tests::counts(&weights.map(|weight| weight * factor), 4000), counts);
        }
    }

    #[test]
    fn a_weight_of_0_never_comes() {
        for weights in
            [[0.0, 1.0, 0.0, 0.0, 3.0, 0.0], [5e-324, 0.0, 0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0, 0.0, 1e308]]
        {
            let counts = counts(&weights, 500);
            assert!(weights.iter().zip(&counts).all(|(weight, &count)| (*weight == 0.0) == (count == 0)), "{counts:?}");
        }
    }

    #[test]
    fn occurrences_count_from_0() {
        let order = Weights::new(&[1.0, 5.0, 1.0, 0.0], 4).unwrap().epoch(3, 9);
        let mut counts = [0; 4];
        for (&index, &occurrence) in order.indices.iter().zip(&order.occurrences) {
            assert_eq!(occurrence, counts[index as usize]);
            counts[index as usize] += 1;
        }
        assert_eq!((order.counts, counts.iter().sum::<u32>()), (counts.to_vec(), 4));
    }

    #[test]
    fn parts_find_what_a_search_of_everything_finds() {
        let skewed: Vec<f64> = (0..500).map(|i| if i == 250 { 1e9 } else { f64::from(i % 3) * 1e-3 }).collect();
        let even: Vec<f64> = (0..333).map(|i| 0.1 + f64::from(i * 7919 % 100)).collect();
        for weights in [skewed, even, vec![1.0; 100], vec![0.0, 0.0, 2.0], vec![0.0, 1e-320, 1e300, 0.0], vec![3.0]] {
            let table = Weights::new(&weights, weights.len()).unwrap();
            let total = *table.sums.last().unwrap();
            let mut numbers = Numbers::new([3; 32], 0);
            let random = (0..2000).map(|_| numbers.unit() * total);
            // Tests every sum, and its two neighbouring numbers.
            let sums = table.sums.iter().flat_map(|&sum| [sum.next_down(), sum, sum.next_up()]);
            for point in random.chain(sums).chain([0.0]).filter(|point| (0.0..total).contains(point)) {
                let expected = table.sums.partition_point(|&sum| sum <= point);
                assert_eq!(table.beyond(point), expected, "{point} of {total}");
                assert!(weights[expected] > 0.0);
            }
        }
    }

    /// Frozen: users compare runs by these samples.
    #[test]
    fn known_answers() {
        let table = Weights::new(&[1.0, 2.0, 3.0, 4.0, 0.0, 5.0, 6.0, 7.0], 8).unwrap();
        assert_eq!(table.epoch(42, 0).indices, [6, 6, 3, 6, 3, 7, 1, 7]);
        assert_eq!(table.epoch(42, 1).indices, [3, 3, 1, 1, 5, 6, 6, 7]);
    }
}
