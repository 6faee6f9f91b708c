//! Repeated augmentation; frozen and the same on every platform.

use crate::error::{Error, Result};
use crate::random::Numbers;
use crate::sampler::shuffle::{epoch_key, shuffled};

/// Domain of these random numbers, which keeps them apart from others with the same seed. Changing it, or anything else
/// here, changes the order of every user of repeated augmentation.
const DOMAIN: [u8; 16] = *b"gpufeed.repeat.1";

/// Each sample several times in a row, up to a number of positions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Repeated {
    samples: usize,
    repeats: usize,
    len: usize,
}

impl Repeated {
    pub(super) fn new(samples: usize, repeats: usize, round_to: usize) -> Result<Self> {
        let refused = |reason: String| Err(Error::argument("repeated_augmentation", reason));
        if repeats == 0 || round_to == 0 {
            return refused(format!("repeats {repeats}, round_to {round_to}; both are at least 1"));
        }
        if samples < round_to {
            return refused(format!(
                "{samples} samples, rounded down to a multiple of {round_to}, are none; set round_to to at most {}",
                samples.max(1)
            ));
        }
        Ok(Repeated { samples, repeats, len: samples / round_to * round_to })
    }

    /// Positions of an epoch.
    pub(super) fn len(self) -> usize {
        self.len
    }

    pub(super) fn epoch(self, seed: u64, epoch: u64) -> Vec<usize> {
        let mut numbers = Numbers::new(epoch_key(seed, epoch, DOMAIN), 0);
        let order = shuffled((0..self.samples).collect::<Vec<_>>(), &mut numbers);
        order.into_iter().flat_map(|index| std::iter::repeat_n(index, self.repeats)).take(self.len).collect()
    }
}
