//! Ids for samples that come several times, or whose ids another data set has too.
//!
//! An id is changed by adding a multiple of a large odd number, modulo 2^64. That keeps small ids apart. Other ids may
//! still meet, so every candidate is checked, and the next one tried if two ids are equal.

/// 2^64 divided by the golden ratio: spreads its multiples most evenly.
const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// Candidates to try. The first one works except for adaptors of adaptors, or where samples outnumber the ids.
const ATTEMPTS: u64 = 1000;

/// Returns a number to add `r` times to the ids of repetition `r`, so that all ids of `times` repetitions differ;
/// `None` if there are too many. Equal ids count as one.
pub(super) fn stride(ids: impl Iterator<Item = u64> + Clone, times: u64) -> Option<u64> {
    (0..ATTEMPTS).find_map(|attempt| {
        // Multiplied by `factor`, an id of repetition r is r larger: repetitions stay apart if ids are `times` apart.
        let factor = GOLDEN.wrapping_mul(2 * attempt + 1);
        let mut starts: Vec<u64> = ids.clone().map(|id| id.wrapping_mul(factor)).collect();
        starts.sort_unstable();
        starts.dedup();
        let around = match starts[..] {
            [first, .., last] => first.wrapping_sub(last) >= times,
            _ => true,
        };
        let apart = around && starts.windows(2).all(|pair| pair[1] - pair[0] >= times);
        apart.then(|| inverse(factor))
    })
}

/// Returns the inverse of `odd` modulo 2^64.
fn inverse(odd: u64) -> u64 {
    // Each step of Newton's iteration doubles the number of correct bits: 3, 6, 12, 24, 48, 96.
    (0..5).fold(odd, |guess, _| guess.wrapping_mul(2u64.wrapping_sub(odd.wrapping_mul(guess))))
}

/// Returns a number to add to `ids`, 0 if possible, so that none of them is among `taken`, and inserts them into
/// `taken`, which is sorted; `None` if there is no such number.
pub(super) fn shift(ids: impl Iterator<Item = u64>, taken: &mut Vec<u64>) -> Option<u64> {
    let ids: Vec<u64> = ids.collect();
    let free = |shift: u64| ids.iter().all(|id| taken.binary_search(&id.wrapping_add(shift)).is_err());
    let shift = (0..ATTEMPTS).map(|attempt| GOLDEN.wrapping_mul(attempt)).find(|&shift| free(shift))?;
    taken.extend(ids.iter().map(|id| id.wrapping_add(shift)));
    taken.sort_unstable();
    taken.dedup();
    Some(shift)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    fn repeated(ids: &[u64], times: u64, stride: u64) -> usize {
        let all = (0..times).flat_map(|time| ids.iter().map(move |id| id.wrapping_add(stride.wrapping_mul(time))));
        all.collect::<HashSet<u64>>().len()
    }

    #[test]
    fn inverses() {
        for odd in [1, 3, GOLDEN, u64::MAX, 0x1234_5678_9ABC_DEF1] {
            assert_eq!(odd.wrapping_mul(inverse(odd)), 1);
        }
    }

    #[test]
    fn a_choice_that_makes_ids_meet_is_not_taken() {
        let first = stride(0..10, 4).unwrap();
        // The second repetition with this stride has the ids of the first repetition of the other samples.
        let ids: Vec<u64> = (0..10).chain((0..10).map(|id| first.wrapping_add(id))).collect();
        assert!(repeated(&ids, 4, first) < 80, "the choice was as good as another");
        let second = stride(ids.iter().copied(), 4).unwrap();
        assert_ne!(first, second);
        assert_eq!(repeated(&ids, 4, second), 80);
        // Ids also differ if adding wraps around 2^64: here one id plus the stride is the other id, 0.
        let ids = [0, first.wrapping_neg()];
        assert_eq!(repeated(&ids, 2, stride(ids.into_iter(), 2).unwrap()), 4);
    }

    #[test]
    fn too_many_repetitions_are_noticed() {
        assert_eq!(stride(0..1_000, u64::MAX / 500), None);
        assert!(stride(0..1_000, u64::MAX / 10_000).is_some());
        assert!(stride([7, 7, 7].into_iter(), 1 << 40).is_some(), "one id, three times");
        assert!(stride(std::iter::empty(), 5).is_some());
    }

    proptest! {
        #[test]
        fn all_ids_of_repetitions_and_parts_differ(
            ids in prop::collection::hash_set(0u64..200, 1..60),
            others in prop::collection::hash_set(any::<u64>(), 1..60),
            times in 1u64..50,
        ) {
            let ids: Vec<u64> = ids.into_iter().collect();
            let stride = stride(ids.iter().copied(), times).unwrap();
            prop_assert_eq!(repeated(&ids, times, stride), ids.len() * times as usize);

            let mut taken = Vec::new();
            prop_assert_eq!(shift(ids.iter().copied(), &mut taken), Some(0));
            for _ in 0..5 {
                shift(ids.iter().copied(), &mut taken).unwrap();
            }
            shift(others.iter().copied(), &mut taken).unwrap();
            prop_assert_eq!(taken.len(), 6 * ids.len() + others.len());
            prop_assert!(taken.is_sorted());
        }
    }
}
