//! Chooses the samples of each batch: shuffled, sharded, divided into batches, resumable. Uses no threads and no files.
//!
//! An epoch is one order of all samples, the same for every shard: positions 0, 1, 2, ... Shard `rank` of `world` takes
//! the positions `rank`, `rank + world`, `rank + 2 * world`, ..., `batch_size` at a time. If a shard has to be filled
//! up, the positions continue after the last sample: position `p` is sample `order[p % len]` for the `p / len`-th time.
//! So all shards have the same number of samples and batches, and no two of them have the same occurrence of a sample.
//!
//! With [weights](Sampler::weights) the epoch's order is chosen with replacement instead: some samples come several
//! times, others never. Everything else is the same.
//!
//! With [orders](Sampler::orders) each epoch has a list of its own instead, the user's or one of [`Orders`].
//!
//! [`Order::Blocks`] keeps neighbours of the data set near each other, so that each shard reads runs of it. The order
//! is still the same for every shard, but padding differs: position `p` belongs to lane `p % lanes`, and each lane is
//! continued by itself, with samples that its shard has had already.
//!
//! ```
//! use gpufeed::{LastBatch, Sampler};
//!
//! let shards: Vec<Sampler> = (0..2)
//!     .map(|rank| Sampler::new(1001, 100)?.shuffle(true).seed(42).shard(rank, 2))
//!     .collect::<Result<_, _>>()?;
//! assert_eq!(shards[0].batches(), 6); // five of 100 and one of a single sample
//!
//! let epoch = shards[1].epoch(0);
//! assert_eq!(epoch.batch(0).len(), 100);
//! assert!(epoch.batch(5).all(|position| position.padding)); // 1001 is odd: this shard has one too few
//! # Ok::<(), gpufeed::Error>(())
//! ```

// order.rs      the order of one epoch, divided into batches; position.rs: a place in it
// setting.rs    the kind of order: shuffle.rs, blocks.rs (blocks in lanes), weights.rs
// orders/       lists for each epoch: the user's, repeated augmentation, balanced classes, blends; listed.rs: a sampler of these
// state.rs      the place that a checkpoint holds; state/written.rs: its forms in every version

mod blocks;
mod listed;
mod order;
mod orders;
mod position;
mod setting;
mod shuffle;
mod state;
mod weights;

use crate::advice::{self, Reason, Setting};
use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorKind, Result};
use crate::random::Numbers;
use orders::Listed;
use std::sync::Arc;
use weights::Weights;

pub use order::EpochOrder;
pub(crate) use orders::OpenLists;
pub use orders::Orders;
pub use position::Position;
pub use setting::Order;
pub(crate) use shuffle::shuffled;
pub use state::State;
pub(crate) use weights::check_weights;

/// Handling of samples that do not fill a whole batch.
///
/// ```
/// use gpufeed::{LastBatch, Sampler};
///
/// let sampler = Sampler::new(10, 4)?;
/// for (last, sizes) in [
///     (LastBatch::Partial, &[4, 4, 2][..]),
///     (LastBatch::Drop, &[4, 4]),
///     (LastBatch::Pad, &[4, 4, 4]),
/// ] {
///     let epoch = sampler.clone().last_batch(last)?.epoch(0);
///     assert!((0..epoch.batches()).map(|batch| epoch.batch(batch).len()).eq(sizes.iter().copied()));
/// }
/// # Ok::<(), gpufeed::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LastBatch {
    /// The last batch is smaller. Shards still have the same length: the last samples of some are
    /// [padding](Position::padding).
    #[default]
    Partial,
    /// These samples are left out of the epoch; another shuffle leaves out others.
    Drop,
    /// The last batch is filled up with [padding](Position::padding): samples from the epoch's start; with
    /// [`Order::Blocks`], those that came last in the lanes.
    Pad,
}

/// Makes the [order](EpochOrder) of each epoch; cheap to clone.
///
/// ```
/// use gpufeed::{LastBatch, Sampler};
///
/// let sampler = Sampler::new(50_000, 256)?.shuffle(true).seed(1).last_batch(LastBatch::Drop)?;
/// assert_eq!(sampler.batches(), 195);
/// let first: Vec<usize> = sampler.epoch(0).batch(0).map(|position| position.index).collect();
/// let again: Vec<usize> = sampler.epoch(0).batch(0).map(|position| position.index).collect();
/// assert_eq!(first, again);
/// # Ok::<(), gpufeed::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sampler {
    len: usize,
    batch_size: usize,
    shuffle: bool,
    order: Order,
    lanes: Option<usize>,
    seed: u64,
    rank: usize,
    world: usize,
    last_batch: LastBatch,
    weights: Option<Weights>,
    /// Lists for each epoch, in the place of the built-in orders.
    listed: Option<Arc<Listed>>,
}

impl Sampler {
    /// Orders `len` samples in batches of `batch_size`: sequential, seed 0, one shard,
    /// [`LastBatch::Partial`].
    ///
    /// # Errors
    ///
    /// [`ErrorKind::EmptyDataset`] if `len` is 0; [`ErrorKind::Argument`] if `batch_size` is 0 or so large that the
    /// number of positions overflows.
    pub fn new(len: usize, batch_size: usize) -> Result<Self> {
        if len == 0 {
            let hint = "a batch needs samples".to_owned();
            return Err(ErrorKind::EmptyDataset { what: "data set".to_owned(), hint }.into());
        }
        if batch_size == 0 {
            return Err(Error::argument("batch_size", "0, but a batch has at least 1 sample"));
        }
        let (order, last_batch) = (Order::Full, LastBatch::Partial);
        let (shuffle, lanes, weights, listed) = (false, None, None, None);
        Sampler { len, batch_size, shuffle, order, lanes, seed: 0, rank: 0, world: 1, last_batch, weights, listed }
            .checked()
    }

    /// Gives each epoch its own random order. Default: `false`, the order of the data set.
    #[must_use]
    pub fn shuffle(self, shuffle: bool) -> Self {
        Sampler { shuffle, ..self }
    }

    /// Sets the seed of the random orders. Default: 0.
    #[must_use]
    pub fn seed(self, seed: u64) -> Self {
        Sampler { seed, ..self }
    }

    /// Takes every `world`-th sample, beginning with the `rank`-th of the epoch. Default: rank 0 of world 1, all
    /// samples.
    ///
    /// The order of the epoch does not depend on it.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Argument`] if `rank` is not below `world`, if `world` does not divide the [lanes](Self::lanes) of
    /// [`Order::Blocks`], or if [`LastBatch::Drop`] leaves a shard without a batch.
    pub fn shard(self, rank: usize, world: usize) -> Result<Self> {
        if rank >= world {
            let reason = format!("rank {rank} of world {world}, but ranks run from 0 to world - 1");
            return Err(Error::argument("shard", reason));
        }
        Sampler { rank, world, ..self }.checked()
    }

    /// The rank that [`shard`](Self::shard) has set.
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// The number of ranks that [`shard`](Self::shard) has set.
    pub fn world(&self) -> usize {
        self.world
    }

    /// Sets the handling of samples that do not fill a whole batch. Default: [`LastBatch::Partial`].
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Argument`] if [`LastBatch::Drop`] leaves a shard without a batch.
    pub fn last_batch(self, last_batch: LastBatch) -> Result<Self> {
        Sampler { last_batch, ..self }.checked()
    }

    /// Chooses the sample at each position by weight, with replacement, with and without shuffling. An epoch still has
    /// as many positions as there are samples. The choice depends on the seed, the epoch and the position alone.
    /// Default: no weights, each sample once.
    ///
    /// ```
    /// use gpufeed::Sampler;
    ///
    /// let sampler = Sampler::new(4, 4)?.weights(&[0.0, 1.0, 0.0, 1.0])?;
    /// assert!(sampler.epoch(0).batch(0).all(|position| position.index % 2 == 1));
    /// # Ok::<(), gpufeed::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Argument`] unless there is one weight for each sample, all weights are finite and at least 0, and
    /// one is above 0; if there are more than 2^32 - 1 positions; or with [`Order::Blocks`].
    pub fn weights(self, weights: &[f64]) -> Result<Self> {
        let weights = Some(Weights::new(weights, self.len)?);
        Sampler { weights, ..self }.checked()
    }

    /// Chooses a random sample by weight, as the replacement of a failed one. With [orders](Self::orders) it is one of the
    /// epoch's list: others may be there for validation.
    pub(crate) fn draw(&self, epoch: u64, failed: usize, numbers: &mut Numbers) -> usize {
        match (&self.weights, &self.listed) {
            (_, Some(_)) => self.draw_listed(epoch, failed, numbers),
            (Some(weights), None) => weights.choose(numbers),
            (None, None) => numbers.below(self.len as u64) as usize,
        }
    }

    /// Returns the number of batches in an epoch of this shard: at least 1, and the same for every shard.
    pub fn batches(&self) -> usize {
        match self.last_batch {
            LastBatch::Drop => self.length() / self.world / self.step(),
            LastBatch::Partial | LastBatch::Pad => self.shard_len().div_ceil(self.step()),
        }
    }

    /// Returns the order of epoch `epoch`. Shuffling takes 4 bytes a sample and some 10 ms a million; weights take 12
    /// bytes and several times as long. [`Order::Blocks`] takes 4 bytes a block, and 4 for each sample of one window of
    /// each lane that this shard owns; lists of [`orders`](Self::orders) 4 bytes an index, and 8 more and 4 for each sample of
    /// the data set where a sample comes twice.
    ///
    /// # Panics
    ///
    /// If the user's [order](Self::orders) of the epoch cannot be used; [`try_epoch`](Self::try_epoch) returns the error.
    pub fn epoch(&self, epoch: u64) -> EpochOrder {
        self.try_epoch(epoch).unwrap_or_else(|error| panic!("{error}"))
    }

    /// Samples in each shard, or its batches, before batches are filled up or dropped.
    fn shard_len(&self) -> usize {
        self.length().div_ceil(self.world)
    }

    /// Positions of an epoch of this shard: those of all batches.
    fn positions(&self) -> usize {
        match self.last_batch {
            LastBatch::Partial => self.shard_len(),
            LastBatch::Drop | LastBatch::Pad => self.batches() * self.step(),
        }
    }

    fn checked(self) -> Result<Self> {
        let &Sampler { batch_size, world, .. } = &self;
        let len = self.length();
        // Upper bound of every position, padding included, and of every sample's occurrences.
        let positions =
            batch_size.checked_add(1).and_then(|most| most.checked_mul(world)).and_then(|most| most.checked_add(len));
        if positions.is_none_or(|positions| positions / len > u32::MAX as usize) {
            let reason = format!("{batch_size} in world {world} is too large for {len} samples");
            return Err(Error::argument("batch_size", reason));
        }
        // With weights, and in a list, the same sample can be at every position. Batches of a list have `batch_size` at most.
        if let Some(listed) = &self.listed
            && positions
                .and_then(|positions| positions.checked_mul(if listed.orders.of_batches() { batch_size } else { 1 }))
                .is_none_or(|positions| positions > u32::MAX as usize)
        {
            let reason = format!("{batch_size} in world {world} is too large for an order of {len}");
            return Err(Error::argument("batch_size", reason));
        }
        if self.weights.is_some() && positions.is_none_or(|positions| positions > u32::MAX as usize) {
            let reason = format!("{batch_size} in world {world} is too large for {len} samples with weights");
            return Err(Error::argument("batch_size", reason));
        }
        self.check_blocks()?;
        self.check_orders()?;
        if self.batches() == 0 {
            let reason = format!(
                "dropping the last batch leaves none: {len} samples in world {world} are {} a shard, fewer than a batch of \
                 {batch_size}; a smaller world has more",
                len / world
            );
            let reason = Reason::new(reason).advise(advice::lower(&[Setting::BatchSize]));
            return Err(Error::argument("last_batch", reason.advise(advice::KEEP_LAST_BATCH)));
        }
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(result: Result<Sampler>) -> String {
        result.unwrap_err().to_string()
    }

    #[test]
    fn refuses_what_cannot_work() {
        let sampler = Sampler::new(10, 4).unwrap();
        assert!(matches!(Sampler::new(0, 4).unwrap_err().kind(), ErrorKind::EmptyDataset { .. }));
        assert!(refused(Sampler::new(10, 0)).starts_with("batch_size: 0"));
        assert!(refused(sampler.clone().shard(2, 2)).starts_with("shard: rank 2 of world 2"));
        assert!(refused(sampler.clone().shard(0, 0)).starts_with("shard: rank 0 of world 0"));
        assert!(refused(sampler.clone().shard(0, usize::MAX)).starts_with("batch_size: "));
        assert!(refused(Sampler::new(1, usize::MAX)).starts_with("batch_size: "));
        assert!(refused(Sampler::new(1, u32::MAX as usize)).starts_with("batch_size: "));
        let weighted = Sampler::new(10, u32::MAX as usize).unwrap().weights(&[1.0; 10]);
        assert!(refused(weighted).ends_with("for 10 samples with weights"));
        assert!(refused(sampler.clone().weights(&[1.0; 9])).starts_with("weights: 9 for 10 samples"));
    }

    #[test]
    fn drop_needs_one_whole_batch_whichever_setting_comes_first() {
        let sampler = Sampler::new(11, 4).unwrap();
        let dropping = sampler.clone().last_batch(LastBatch::Drop).unwrap();
        assert_eq!(dropping.clone().shard(1, 2).unwrap().batches(), 1);
        for error in
            [refused(dropping.shard(0, 3)), refused(sampler.clone().shard(0, 3).unwrap().last_batch(LastBatch::Drop))]
        {
            for part in [
                "last_batch: ",
                "11 samples",
                "world 3",
                "3 a shard",
                "a batch of 4",
                "lower batch_size",
                "LastBatch::Pad",
            ] {
                assert!(error.contains(part), "{error}");
            }
        }
    }

    #[test]
    fn counts_batches_exactly() {
        for (len, batch_size, world, [partial, drop, pad]) in [
            (10, 5, 1, [2, 2, 2]),
            (11, 5, 1, [3, 2, 3]),
            (11, 5, 2, [2, 1, 2]),
            (10, 2, 3, [2, 1, 2]),
            (9, 1, 4, [3, 2, 3]),
        ] {
            let sampler = Sampler::new(len, batch_size).unwrap().shard(world - 1, world).unwrap();
            let batches = |last| sampler.clone().last_batch(last).unwrap().batches();
            assert_eq!(batches(LastBatch::Partial), partial);
            assert_eq!(batches(LastBatch::Drop), drop);
            assert_eq!(batches(LastBatch::Pad), pad);
        }
    }

    #[test]
    fn last_batch_is_a_word_in_a_file() {
        assert_eq!(serde_json::to_string(&LastBatch::Pad).unwrap(), r#""pad""#);
        assert_eq!(serde_json::from_str::<LastBatch>(r#""drop""#).unwrap(), LastBatch::Drop);
        assert!(serde_json::from_str::<LastBatch>(r#""wrap""#).is_err());
    }
}
