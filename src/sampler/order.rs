//! The order of one epoch, divided into batches.

use super::Sampler;
use super::blocks::{BlockOrder, Shape};
use super::orders::EpochList;
use super::position::Position;
use super::setting::Order;
use super::shuffle::permutation;
use super::weights::WeightedOrder;
use crate::error::Result;
use std::sync::Arc;
use std::vec::IntoIter;

/// The order of one epoch for one shard, from [`Sampler::epoch`].
///
/// Every batch is directly accessible, so resuming costs nothing.
///
/// ```
/// use gpufeed::Sampler;
///
/// let epoch = Sampler::new(10, 4)?.epoch(0);
/// assert_eq!(epoch.batches(), 3);
/// assert!(epoch.batch(2).map(|position| position.index).eq([8, 9]));
/// # Ok::<(), gpufeed::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct EpochOrder {
    sampler: Sampler,
    epoch: u64,
    samples: Samples,
}

/// The sample at each position.
#[derive(Clone, Debug)]
enum Samples {
    Listed(List),
    Blocks(BlockOrder),
}

/// The list of an epoch's samples, in 4 bytes each where possible.
#[derive(Clone, Debug)]
enum List {
    Sequential,
    Narrow(Vec<u32>),
    Wide(Vec<u64>),
    Weighted(WeightedOrder),
    Given(Arc<EpochList>),
}

impl EpochOrder {
    /// The order of an epoch whose list has to be given first is an error without it.
    pub(super) fn new(sampler: Sampler, epoch: u64) -> Result<Self> {
        let listed = sampler.list(epoch)?;
        Ok(EpochOrder::with(sampler, epoch, listed))
    }

    /// The order of an epoch, with the epoch's list if the sampler has [orders](Sampler::orders).
    pub(super) fn with(sampler: Sampler, epoch: u64, listed: Option<Arc<EpochList>>) -> Self {
        let Sampler { len, seed, shuffle, world, .. } = sampler;
        let samples = if let Some(list) = listed {
            Samples::Listed(List::Given(list))
        } else if let Some(weights) = &sampler.weights {
            Samples::Listed(List::Weighted(weights.epoch(seed, epoch)))
        } else if let Order::Blocks { samples, window } = sampler.order {
            let shape = Shape { len, samples, window, lanes: sampler.lane_count(), world };
            Samples::Blocks(BlockOrder::new(shape, shuffle.then_some(seed), epoch))
        } else if !shuffle {
            Samples::Listed(List::Sequential)
        } else if let Ok(len) = u32::try_from(len) {
            Samples::Listed(List::Narrow(permutation((0..len).collect(), seed, epoch)))
        } else {
            Samples::Listed(List::Wide(permutation((0..len as u64).collect(), seed, epoch)))
        };
        EpochOrder { sampler, epoch, samples }
    }

    /// Returns the number of the epoch.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Returns the number of batches, as [`Sampler::batches`] does.
    pub fn batches(&self) -> usize {
        self.sampler.batches()
    }

    /// Returns the positions of batch `batch` in order; the iterator's `len()` is the batch's size, and its `nth` takes
    /// one step. Empty from batch [`batches`](Self::batches) on.
    ///
    /// An order of [`Blocks`](Order::Blocks) lays a window out where it was not the lane's last one: batches that are
    /// asked for one after the other share the work. A [clone](Clone) has windows of its own, for one who looks ahead.
    pub fn batch(&self, batch: usize) -> impl ExactSizeIterator<Item = Position> + Clone + '_ {
        let &Sampler { len, rank, world, .. } = &self.sampler;
        let (end, step) = (self.sampler.positions(), self.sampler.step());
        let first = batch.saturating_mul(step).min(end);
        let last = first.saturating_add(step).min(end);
        let positions = (first..last).map(move |index| rank + index * world);
        match &self.samples {
            Samples::Listed(List::Given(list)) if self.sampler.is_of_batches() => {
                let own = positions.flat_map(|number| list.batch(number));
                BatchPositions::Made(own.map(|position| list.at(position)).collect::<Vec<_>>().into_iter())
            }
            Samples::Blocks(order) => BatchPositions::Made(order.at(positions).into_iter()),
            Samples::Listed(list) => BatchPositions::Direct(positions.map(move |position| list.at(position, len))),
        }
    }
}

impl List {
    fn at(&self, position: usize, len: usize) -> Position {
        let (round, within) = (position / len, position % len);
        // No cast truncates: Sampler::checked limits positions, rounds and occurrences.
        let (index, occurrence) = match self {
            List::Sequential => (within, round as u32),
            List::Narrow(order) => (order[within] as usize, round as u32),
            List::Wide(order) => (order[within] as usize, round as u32),
            List::Weighted(order) => {
                let index = order.indices[within] as usize;
                (index, order.occurrences[within] + round as u32 * order.counts[index])
            }
            List::Given(list) => return list.at(position),
        };
        Position { index, occurrence, global: position as u64, padding: round > 0 }
    }
}

/// The positions of a batch: computed one by one, or all at once where each would take a lock.
#[derive(Clone)]
enum BatchPositions<I> {
    Direct(I),
    Made(IntoIter<Position>),
}

impl<I: Iterator<Item = Position>> Iterator for BatchPositions<I> {
    type Item = Position;

    fn next(&mut self) -> Option<Position> {
        match self {
            BatchPositions::Direct(positions) => positions.next(),
            BatchPositions::Made(positions) => positions.next(),
        }
    }

    fn nth(&mut self, n: usize) -> Option<Position> {
        match self {
            BatchPositions::Direct(positions) => positions.nth(n),
            BatchPositions::Made(positions) => positions.nth(n),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        match self {
            BatchPositions::Direct(positions) => positions.size_hint(),
            BatchPositions::Made(positions) => positions.size_hint(),
        }
    }
}

impl<I: ExactSizeIterator<Item = Position>> ExactSizeIterator for BatchPositions<I> {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sampler::LastBatch;
    use proptest::prelude::*;
    use std::collections::HashSet;

    const LAST: [LastBatch; 3] = [LastBatch::Partial, LastBatch::Drop, LastBatch::Pad];

    fn positions(sampler: Sampler, epoch: u64) -> Vec<Position> {
        let order = sampler.epoch(epoch);
        (0..order.batches()).flat_map(|batch| order.batch(batch).collect::<Vec<_>>()).collect()
    }

    fn indices(sampler: Sampler, epoch: u64) -> Vec<usize> {
        positions(sampler, epoch).iter().map(|position| position.index).collect()
    }

    #[test]
    fn sequential_shards_take_turns() {
        let shard = |rank| Sampler::new(7, 2).unwrap().shard(rank, 3).unwrap();
        assert_eq!(indices(shard(0), 5), [0, 3, 6]);
        assert_eq!(indices(shard(1), 5), [1, 4, 0]);
        assert_eq!(indices(shard(2), 5), [2, 5, 1]);
        let padded: Vec<bool> = positions(shard(2), 5).iter().map(|position| position.padding).collect();
        assert_eq!(padded, [false, false, true]);
    }

    #[test]
    fn padding_wraps_as_often_as_needed() {
        let sampler = Sampler::new(3, 8).unwrap().last_batch(LastBatch::Pad).unwrap();
        let occurrences: Vec<u32> = positions(sampler.clone(), 0).iter().map(|position| position.occurrence).collect();
        assert_eq!(indices(sampler.clone(), 0), [0, 1, 2, 0, 1, 2, 0, 1]);
        assert_eq!(occurrences, [0, 0, 0, 1, 1, 1, 2, 2]);
        // With more shards than samples, the last shards have only padding.
        assert!(positions(sampler.shard(3, 4).unwrap(), 0).iter().all(|position| position.padding));
    }

    #[test]
    fn a_batch_out_of_range_is_empty() {
        for last in LAST {
            let order = Sampler::new(10, 4).unwrap().last_batch(last).unwrap().epoch(0);
            assert_ne!(order.batch(order.batches() - 1).len(), 0);
            for batch in [order.batches(), order.batches() + 1, usize::MAX] {
                assert_eq!(order.batch(batch).len(), 0, "{last:?} {batch}");
            }
        }
    }

    #[test]
    fn epochs_and_seeds_differ_and_repeat() {
        let sampler = Sampler::new(100, 10).unwrap().shuffle(true);
        let orders: HashSet<Vec<usize>> = (0..4)
            .flat_map(|n| {
                (0..4).map({
                    let sampler = sampler.clone();
                    move |epoch| indices(sampler.clone().seed(n), epoch)
                })
            })
            .collect();
        assert_eq!(orders.len(), 16);
        assert!(orders.contains(&indices(sampler.clone().seed(3), 1)));
        assert!(!orders.contains(&indices(sampler.shuffle(false), 0)));
    }

    /// Checks that the shards together are as the module's documentation says; `Err` describes the difference.
    fn check_union(shards: &[Vec<Position>], len: usize, last: LastBatch) -> Result<(), String> {
        let all: Vec<Position> = shards.iter().flatten().copied().collect();
        let distinct: HashSet<_> = all.iter().map(|position| (position.index, position.occurrence)).collect();
        if distinct.len() != all.len() {
            return Err("a sample twice for the same time".into());
        }
        let real: HashSet<_> = all.iter().filter(|s| !s.padding).map(|position| position.index).collect();
        let expected = match last {
            LastBatch::Drop => all.len(),
            LastBatch::Partial | LastBatch::Pad => len,
        };
        if real.len() != expected || real.iter().any(|&index| index >= len) {
            return Err(format!("{} samples instead of {expected}", real.len()));
        }
        match all.iter().all(|position| position.padding == (position.occurrence > 0)) {
            true => Ok(()),
            false => Err("padding that is not a repeat".into()),
        }
    }

    #[test]
    fn the_union_check_rejects() {
        let shards: Vec<_> = (0..2).map(|r| positions(Sampler::new(9, 2).unwrap().shard(r, 2).unwrap(), 0)).collect();
        check_union(&shards, 9, LastBatch::Partial).unwrap();
        let overlapping = [shards[0].clone(), shards[0].clone()];
        assert!(check_union(&overlapping, 9, LastBatch::Partial).is_err());
        assert!(check_union(&shards[..1], 9, LastBatch::Partial).is_err());
        assert!(check_union(&shards, 10, LastBatch::Partial).is_err());
        assert!(check_union(&shards, 9, LastBatch::Drop).is_err());
        let mut unmarked = shards.clone();
        unmarked[1].last_mut().unwrap().padding = false;
        assert!(check_union(&unmarked, 9, LastBatch::Partial).is_err());
    }

    #[test]
    fn weighted_shards_are_slices_of_one_order_without_a_repeated_draw() {
        let weights: Vec<f64> = (0..23).map(|sample| f64::from(sample % 5)).collect();
        for (world, last) in [1, 2, 3, 7].into_iter().flat_map(|world| LAST.map(|last| (world, last))) {
            let sampler = Sampler::new(23, 3).unwrap().seed(4).weights(&weights).unwrap();
            let whole = positions(sampler.clone(), 8);
            assert_eq!(whole, positions(sampler.clone().shuffle(true), 8), "shuffling changes nothing");
            assert_ne!(whole, positions(sampler.clone(), 9));
            assert!(whole.iter().any(|position| position.occurrence > 0 && !position.padding));
            let mut times = HashSet::new();
            for rank in 0..world {
                let shard = sampler.clone().shard(rank, world).unwrap().last_batch(last).unwrap();
                let (order, all) = (shard.epoch(8), positions(shard.clone(), 8));
                assert_eq!(order.batch(1).collect::<Vec<_>>(), all[3..all.len().min(6)], "resumed");
                for (i, position) in all.iter().enumerate() {
                    assert_eq!(position.global as usize, rank + i * world);
                    assert_eq!(position.padding, position.global >= 23);
                    assert!(weights[position.index] > 0.0);
                    match whole.get(position.global as usize) {
                        Some(same) => assert_eq!(position, same),
                        None => assert_eq!(position.index, whole[position.global as usize % 23].index),
                    }
                    assert!(
                        times.insert((position.index, position.occurrence)),
                        "{position:?} of world {world}, {last:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn weighted_padding_goes_round_as_often_as_needed() {
        let sampler =
            Sampler::new(3, 20).unwrap().weights(&[1.0, 0.0, 1.0]).unwrap().last_batch(LastBatch::Pad).unwrap();
        let all = positions(sampler, 0);
        let distinct: HashSet<_> = all.iter().map(|position| (position.index, position.occurrence)).collect();
        assert_eq!((all.len(), distinct.len()), (20, 20));
        // The n-th occurrence of a sample is at its n-th position, and none is left out.
        for index in [0, 2] {
            let times = all.iter().filter(|position| position.index == index).map(|position| position.occurrence);
            assert!(times.eq(0..all.iter().filter(|position| position.index == index).count() as u32));
        }
    }

    proptest! {
        #[test]
        fn shards_are_equal_disjoint_and_whole(
            len in 1usize..200,
            batch_size in 1usize..40,
            world in 1usize..6,
            seed: u64,
            epoch: u64,
            shuffle: bool,
            last in prop::sample::select(&LAST[..]),
        ) {
            let sampler = Sampler::new(len, batch_size).unwrap().shuffle(shuffle).seed(seed);
            let Ok(sampler) = sampler.clone().shard(0, world).unwrap().last_batch(last) else {
                prop_assert_eq!(last, LastBatch::Drop);
                prop_assert!(len / world < batch_size);
                return Ok(());
            };
            let whole = indices(sampler.clone().last_batch(LastBatch::Partial).unwrap().shard(0, 1).unwrap(), epoch);
            let mut shards = Vec::new();
            for rank in 0..world {
                let shard = sampler.clone().shard(rank, world).unwrap();
                prop_assert_eq!(shard.batches(), sampler.batches());
                let order = shard.epoch(epoch);
                let expected = match last {
                    LastBatch::Partial => len.div_ceil(world),
                    LastBatch::Drop => len / world / batch_size * batch_size,
                    LastBatch::Pad => len.div_ceil(world).div_ceil(batch_size) * batch_size,
                };
                let all = positions(shard, epoch);
                prop_assert_eq!(all.len(), expected);
                // Resuming at any batch returns the rest of the same list.
                for batch in 0..order.batches() {
                    let direct: Vec<Position> = order.batch(batch).collect();
                    prop_assert_eq!(Some(&direct[..]), all.chunks(batch_size).nth(batch));
                    prop_assert_eq!(order.batch(batch).nth(direct.len() - 1), direct.last().copied());
                }
                // The permutation is the same for every world.
                for position in &all {
                    let global = position.global as usize;
                    prop_assert_eq!(global % world, rank);
                    prop_assert_eq!(position.index, whole[global % len]);
                    prop_assert_eq!(position.occurrence as usize, global / len);
                }
                shards.push(all);
            }
            check_union(&shards, len, last).map_err(TestCaseError::fail)?;
        }
    }
}
