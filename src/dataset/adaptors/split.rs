//! A data set in two parts.

use std::sync::Arc;

use super::Subset;
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::random::Numbers;
use crate::sampler::shuffled;

/// Domain of a split's random numbers, which keeps them apart from others with the same seed. Changing it changes every
/// user's split.
const DOMAIN: [u8; 24] = *b"gpufeed.dataset.split.01";

/// One part of a [`split`](Dataset::split) data set; the two parts share the data set.
pub type SplitPart<D> = Subset<Arc<D>>;

/// Splits off a random `fraction` of the samples. Both parts are in the data set's order, the order of the files on
/// disk.
pub(in crate::dataset) fn split<D: Dataset>(data: D, fraction: f64, seed: u64) -> Result<(SplitPart<D>, SplitPart<D>)> {
    if !(0.0..=1.0).contains(&fraction) {
        return Err(Error::argument("fraction", format!("{fraction} is not a fraction of the samples; 0 to 1 work")));
    }
    let len = data.len();
    let first = ((len as f64 * fraction).round() as usize).min(len);
    let mut key = [0; 32];
    key[..8].copy_from_slice(&seed.to_le_bytes());
    key[8..].copy_from_slice(&DOMAIN);
    let mut order = shuffled((0..len).collect(), &mut Numbers::new(key, 0));
    let mut others = order.split_off(first);
    order.sort_unstable();
    others.sort_unstable();
    let data = Arc::new(data);
    Ok((Subset::new(data.clone(), order)?, Subset::new(data, others)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::{InMemory, Label};

    fn files(count: usize) -> InMemory {
        (0..count).map(|_| (vec![0u8], Label::None)).collect()
    }

    fn parts(count: usize, fraction: f64, seed: u64) -> (Vec<usize>, Vec<usize>) {
        let (a, b) = files(count).split(fraction, seed).unwrap();
        (a.indices().to_vec(), b.indices().to_vec())
    }

    #[test]
    fn parts_are_disjoint_whole_and_in_order() {
        for (count, fraction, first) in
            [(10, 0.0, 0), (10, 1.0, 10), (10, 0.9, 9), (10, 0.25, 3), (100, 0.07, 7), (1, 0.4, 0), (0, 0.5, 0)]
        {
            let (a, b) = parts(count, fraction, 3);
            assert_eq!(a.len(), first, "{fraction} of {count}");
            assert!(a.is_sorted() && b.is_sorted());
            let mut all = [a, b].concat();
            all.sort_unstable();
            assert_eq!(all, (0..count).collect::<Vec<_>>());
        }
    }

    #[test]
    fn seeds_differ_and_repeat() {
        assert_eq!(parts(50, 0.5, 1), parts(50, 0.5, 1));
        assert_ne!(parts(50, 0.5, 1), parts(50, 0.5, 2));
        // Frozen: users compare runs by their split.
        assert_eq!(parts(10, 0.3, 42).0, [4, 6, 9]);
    }

    #[test]
    fn every_sample_is_equally_likely_in_the_first_part() {
        let mut counts = [0u32; 8];
        for seed in 0..4000 {
            parts(8, 0.25, seed).0.iter().for_each(|&index| counts[index] += 1);
        }
        // The expected count is 1000, its standard deviation 27; this allows five of them.
        assert!(counts.iter().all(|count| count.abs_diff(1000) < 140), "{counts:?}");
    }

    #[test]
    fn refuses_fractions_that_are_none() {
        for fraction in [-0.1, 1.01, f64::NAN, f64::INFINITY] {
            let refused = files(4).split(fraction, 0).unwrap_err().to_string();
            assert!(refused.starts_with("fraction: "), "{refused}");
        }
    }
}
