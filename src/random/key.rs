//! The key of a sample's random numbers, and the paths of operators.
//!
//! Every number is a function of (seed, epoch, sample, occurrence, view, operator's path), so workers, shards, queues
//! and restarts have no effect. The generator is ChaCha8 (`rand_chacha`): the first five make its 32-byte key, and the
//! path is its stream.

use super::Numbers;
use serde::{Deserialize, Serialize};

/// The identity of a sample, of which its random numbers are a function.
///
/// ```
/// use gpufeed::transforms::Key;
///
/// let key = Key { seed: 42, epoch: 3, sample: 1234, ..Key::default() };
/// assert_eq!(key.occurrence, 0);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Key {
    /// The run's seed.
    pub seed: u64,
    /// The epoch, counted from 0.
    pub epoch: u64,
    /// The sample's id ([`Dataset::id`](crate::Dataset::id)).
    pub sample: u64,
    /// 0 for the sample's first occurrence in the epoch, 1 for the second, …
    pub occurrence: u32,
    /// The number of the output among those of its sample: the index of the view, 0 unless there are several. With
    /// `n` crops ([`Plan::crops`](crate::Plan::crops)), crop `c` of view `v` is `v * n + c`.
    pub view: u32,
}

impl Key {
    /// Returns the 32 bytes that key the generator.
    pub(super) fn bytes(&self) -> [u8; 32] {
        let mut bytes = [0; 32];
        bytes[0..8].copy_from_slice(&self.seed.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.epoch.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.sample.to_le_bytes());
        bytes[24..28].copy_from_slice(&self.occurrence.to_le_bytes());
        bytes[28..32].copy_from_slice(&self.view.to_le_bytes());
        bytes
    }

    /// Returns the key of this output's view, whose random numbers its crops share, and the number of the crop.
    pub(crate) fn of_view(self, crops: u32) -> (Key, u32) {
        (Key { view: self.view / crops, ..self }, self.view % crops)
    }

    /// Returns the generator of the operator at `path`.
    pub(crate) fn numbers(&self, path: u64) -> Numbers {
        Numbers::new(self.bytes(), path)
    }
}

/// Returns the path of the `i`-th operator of a list. `path` is that of the operator which has the list; 0 is the
/// plan's own list.
///
/// Digits of base 256, each ≥ 1: distinct paths have distinct streams (Plan::compile checks width and depth).
pub(crate) fn child(path: u64, i: usize) -> u64 {
    path * 256 + i as u64 + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Computed by a second implementation of ChaCha8, in Python, which also reproduces the published vector of
    /// `random/`.
    #[test]
    fn numbers_are_the_same_on_every_platform() {
        let key = Key { seed: 1, epoch: 2, sample: 3, occurrence: 4, view: 5 };
        let mut numbers = key.numbers(6);
        let bounds = [1 << 32, 1000, 6, 3 << 62];
        assert_eq!(bounds.map(|bound| numbers.below(bound)), [2_047_385_422, 884, 3, 13_790_978_348_347_344_860]);
        assert_eq!(numbers.unit(), 0.531_157_647_882_215_1);
        assert_eq!(numbers.uniform(-2.0, 3.0), 0.531_497_598_552_317_4);
        let chances: [bool; 11] = std::array::from_fn(|_| numbers.chance(0.5));
        assert_eq!(chances, [true, false, true, false, false, false, true, false, false, false, true]);
    }

    #[test]
    fn every_part_of_the_key_counts() {
        let key = Key { seed: 1, epoch: 2, sample: 3, occurrence: 4, view: 5 };
        let first = |key: Key, path| key.numbers(path).unit();
        let others = [
            first(Key { seed: 9, ..key }, 6),
            first(Key { epoch: 9, ..key }, 6),
            first(Key { sample: 9, ..key }, 6),
            first(Key { occurrence: 9, ..key }, 6),
            first(Key { view: 9, ..key }, 6),
            first(key, 9),
        ];
        assert!(others.iter().all(|&other| other != first(key, 6)));
    }
}
