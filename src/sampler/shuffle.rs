//! The random order of an epoch, frozen and the same on every platform.
//!
//! This is Fisher and Yates's shuffle in Durstenfeld's form: from the end, each position swaps with one at or before
//! it. ChaCha8 drives it, under a key made of seed and epoch. Rank and world are not part of the key, so that shards
//! are slices of one order.

use crate::random::Numbers;

/// Domain of the shuffle's random numbers, which keeps them apart from others with the same seed. Changing it, or
/// anything else here, changes every user's order of samples.
const DOMAIN: [u8; 16] = *b"gpufeed.shuffle1";

/// Returns `values` in the random order of (`seed`, `epoch`).
pub(super) fn permutation<T>(values: Vec<T>, seed: u64, epoch: u64) -> Vec<T> {
    shuffled(values, &mut Numbers::new(key(seed, epoch), 0))
}

/// Returns `values` in a random order.
pub(crate) fn shuffled<T>(mut values: Vec<T>, random: &mut Numbers) -> Vec<T> {
    shuffle(&mut values, random);
    values
}

/// Puts `values` in a random order.
pub(super) fn shuffle<T>(values: &mut [T], random: &mut Numbers) {
    for position in (1..values.len()).rev() {
        let other = random.below(position as u64 + 1);
        values.swap(position, other as usize);
    }
}

/// Makes the shuffle's key; it uses stream 0, from its start.
fn key(seed: u64, epoch: u64) -> [u8; 32] {
    epoch_key(seed, epoch, DOMAIN)
}

/// Makes the key of an epoch's random numbers: seed, epoch (little endian), and the domain that keeps them apart from
/// others.
pub(super) fn epoch_key(seed: u64, epoch: u64, domain: [u8; 16]) -> [u8; 32] {
    let mut key = [0; 32];
    key[..8].copy_from_slice(&seed.to_le_bytes());
    key[8..16].copy_from_slice(&epoch.to_le_bytes());
    key[16..].copy_from_slice(&domain);
    key
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::below;
    use rand_chacha::ChaCha8Rng;
    use rand_chacha::rand_core::{Rng, SeedableRng};
    use std::collections::HashMap;

    /// Returns the chi-square of `counts` against equal shares.
    fn chi_square(counts: &[u32]) -> f64 {
        let expected = f64::from(counts.iter().sum::<u32>()) / counts.len() as f64;
        counts.iter().map(|&count| (f64::from(count) - expected).powi(2) / expected).sum()
    }

    /// Counts each of the 24 orders of four values in `epochs` shuffles.
    fn order_counts(epochs: u64, shuffle: impl Fn(u64) -> Vec<u8>) -> Vec<u32> {
        let mut counts = HashMap::new();
        for epoch in 0..epochs {
            *counts.entry(shuffle(epoch)).or_insert(0) += 1;
        }
        let mut counts: Vec<u32> = counts.into_values().collect();
        counts.resize(24, 0);
        counts
    }

    /// Limit for 23 degrees of freedom, exceeded by chance once in 1000.
    const LIMIT_23: f64 = 49.73;
    /// The limit of the chi-squared statistic for 2 degrees of freedom.
    const LIMIT_2: f64 = 13.82;

    #[test]
    fn every_order_is_equally_likely() {
        for seed in [0, 1, u64::MAX] {
            let counts = order_counts(24_000, |epoch| permutation(vec![0, 1, 2, 3], seed, epoch));
            assert!(chi_square(&counts) < LIMIT_23, "{counts:?}");
        }
    }

    #[test]
    fn the_order_test_rejects_the_naive_shuffle() {
        // Each position swaps with any position: 4^4 equally likely outcomes cannot be divided by 24.
        let counts = order_counts(24_000, |epoch| {
            let mut random = Numbers::new(key(0, epoch), 0);
            let mut values = vec![0, 1, 2, 3];
            for position in 0..4 {
                values.swap(position, random.below(4) as usize);
            }
            values
        });
        assert!(chi_square(&counts) > LIMIT_23, "{counts:?}");
    }

    #[test]
    fn every_place_is_equally_likely_in_a_long_order() {
        // Counts the final position of sample 0, in 24 equal ranges of 1200 positions.
        let mut counts = vec![0; 24];
        for epoch in 0..2400 {
            let order = permutation((0..1200u32).collect(), 7, epoch);
            let position = order.iter().position(|&value| value == 0).unwrap();
            counts[position / 50] += 1;
        }
        assert!(chi_square(&counts) < LIMIT_23, "{counts:?}");
    }

    #[test]
    fn large_bounds_are_unbiased_and_the_test_rejects_plain_multiplication() {
        // 3 * 2^62: without rejection the multiples of 3 would come twice as often as the others.
        let bound = 3 << 62;
        let mut random = ChaCha8Rng::from_seed(key(0, 0));
        let (mut fair, mut plain) = ([0; 3], [0; 3]);
        for _ in 0..3000 {
            let value = below(bound, || random.next_u64());
            assert!(value < bound);
            fair[(value % 3) as usize] += 1;
            let value = (u128::from(random.next_u64()) * u128::from(bound)) >> 64;
            plain[(value % 3) as usize] += 1;
        }
        assert!(chi_square(&fair) < LIMIT_2, "{fair:?}");
        assert!(chi_square(&plain) > LIMIT_2, "{plain:?}");
    }

    #[test]
    fn draws_again_exactly_where_it_must() {
        // 2^64 mod 3 = 1: of all r, only those with 3 r mod 2^64 = 0 are rejected, that is r = 0.
        let mut draws = [0, 0, 1, u64::MAX].into_iter();
        assert_eq!(below(3, || draws.next().unwrap()), 0);
        assert_eq!(below(3, || draws.next().unwrap()), 2);
        // A power of two divides 2^64, so nothing is rejected.
        assert_eq!(below(1 << 40, || 0), 0);
        assert_eq!(below(1, || u64::MAX), 0);
    }

    #[test]
    fn wide_and_narrow_indices_have_one_order() {
        let narrow = permutation((0..1000u32).collect(), 3, 4);
        let wide = permutation((0..1000u64).collect(), 3, 4);
        assert!(narrow.iter().map(|&value| u64::from(value)).eq(wide));
    }

    /// Computed by a Python program with its own ChaCha8.
    #[test]
    fn known_answers() {
        assert_eq!(permutation((0..10).collect(), 42, 0), [8, 4, 1, 2, 0, 6, 3, 5, 9, 7]);
        let order = permutation((0..1_000).collect(), u64::MAX, 1 << 40);
        assert_eq!(order[..8], [201, 737, 22, 764, 154, 296, 774, 149]);
    }
}
