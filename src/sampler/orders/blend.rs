//! Groups of samples, each walked in random orders of its own through all epochs, and mixed by shares; frozen and the same
//! on every platform.
//!
//! A group's walk is a sequence without an end: pass after pass over all its samples, each pass in a random order. An epoch
//! takes of each walk as many samples as its share says, from where the epoch before has ended, and shuffles them together.
//! So no sample comes again within a pass, whatever the epochs' borders.

use super::shares::{self, Shares};
use crate::error::{Error, Result};
use crate::random::Numbers;
use crate::sampler::shuffle::{epoch_key, shuffle, shuffled};
use std::ops::Range;

/// Domains of these random numbers: of the passes, where the group is the stream, and of an epoch's mixing. Changing them,
/// or anything else here, changes the order of every user of blends and balanced classes.
const PASSES: [u8; 16] = *b"gpufeed.passes.1";
const MIXING: [u8; 16] = *b"gpufeed.mixing.1";

/// Groups by shares.
pub(super) struct Blend {
    groups: Groups,
    weights: Box<dyn Fn(u64) -> Vec<f64> + Send + Sync>,
    len: usize,
}

enum Groups {
    /// The samples of each data set.
    Ranges(Vec<Range<usize>>),
    /// The samples of each class, one class after the other, and where each class lies in this list.
    Classes(Vec<u32>, Vec<Range<usize>>),
}

impl Groups {
    fn ranges(&self) -> &[Range<usize>] {
        match self {
            Groups::Ranges(ranges) | Groups::Classes(_, ranges) => ranges,
        }
    }

    /// The sample at `place`, counted through all groups.
    fn sample(&self, place: usize) -> usize {
        match self {
            Groups::Ranges(_) => place,
            Groups::Classes(samples, _) => samples[place] as usize,
        }
    }
}

impl Blend {
    pub(super) fn of_lengths(
        lengths: &[usize],
        weights: Box<dyn Fn(u64) -> Vec<f64> + Send + Sync>,
        len: usize,
    ) -> Result<Self> {
        if lengths.is_empty() {
            return Err(Error::argument("blend", "no data set; give at least one"));
        }
        if len == 0 {
            return Err(Error::argument("samples_per_epoch", "0, but an epoch has at least 1 sample"));
        }
        let mut end = 0;
        let mut range = |length: &usize| {
            let start = end;
            end += length;
            start..end
        };
        let ranges = lengths.iter().map(&mut range).collect();
        Ok(Blend { groups: Groups::Ranges(ranges), weights, len })
    }

    pub(super) fn of_classes(labels: &[u32], len: usize) -> Result<Self> {
        if labels.is_empty() || u32::try_from(labels.len()).is_err() {
            let reason = format!("{} labels; 1 to {} work, one for each sample", labels.len(), u32::MAX);
            return Err(Error::argument("class_balanced", reason));
        }
        if len == 0 {
            return Err(Error::argument("samples_per_epoch", "0, but an epoch has at least 1 sample"));
        }
        let mut samples: Vec<u32> = (0..labels.len() as u32).collect();
        samples.sort_by_key(|&sample| labels[sample as usize]);
        let mut ranges: Vec<Range<usize>> = Vec::new();
        for (place, &sample) in samples.iter().enumerate() {
            let again = place > 0 && labels[samples[place - 1] as usize] == labels[sample as usize];
            match ranges.last_mut() {
                Some(range) if again => range.end += 1,
                _ => ranges.push(place..place + 1),
            }
        }
        let weights = vec![1.0; ranges.len()];
        Ok(Blend { groups: Groups::Classes(samples, ranges), weights: Box::new(move |_| weights.clone()), len })
    }

    pub(super) fn groups(&self) -> usize {
        self.groups.ranges().len()
    }

    /// The samples of an epoch.
    pub(super) fn epoch(&self, seed: u64, epoch: u64) -> Result<Vec<usize>> {
        let ranges = self.groups.ranges();
        let lengths: Vec<usize> = ranges.iter().map(Range::len).collect();
        let weights = |epoch: u64| -> Result<Vec<f64>> {
            let weights = (self.weights)(epoch);
            shares::check(&weights, &lengths).map(|()| weights)
        };
        if epoch > u64::from(u32::MAX) {
            return Err(Error::argument("epoch", format!("{epoch}; a blend has epochs 0 to {}", u32::MAX)));
        }
        let mut shares = Shares::new(ranges.len());
        for earlier in 0..epoch {
            shares.next(&weights(earlier)?, self.len);
        }
        let begins = shares.before.clone();
        let counts = shares.next(&weights(epoch)?, self.len);
        let mut all = Vec::with_capacity(self.len);
        for (group, range) in ranges.iter().enumerate() {
            let (mut begin, end) = (begins[group], begins[group] + counts[group] as u64);
            while begin < end {
                let length = range.len() as u64;
                let (pass, within) = (begin / length, begin % length);
                let order = self.pass(seed, group, pass);
                let last = (within + end - begin).min(length);
                all.extend(order[within as usize..last as usize].iter().map(|&place| self.groups.sample(place)));
                begin += last - within;
            }
        }
        shuffle(&mut all, &mut Numbers::new(epoch_key(seed, epoch, MIXING), 0));
        Ok(all)
    }

    /// The places of a group in the order of a pass.
    fn pass(&self, seed: u64, group: usize, pass: u64) -> Vec<usize> {
        let mut numbers = Numbers::new(epoch_key(seed, pass, PASSES), group as u64);
        shuffled(self.groups.ranges()[group].clone().collect::<Vec<_>>(), &mut numbers)
    }
}
