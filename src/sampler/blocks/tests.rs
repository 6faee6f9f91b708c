use super::*;
use crate::sampler::{LastBatch, Order, Sampler};
use proptest::prelude::*;
use std::collections::{BTreeMap, HashMap, HashSet};

const LAST: [LastBatch; 3] = [LastBatch::Partial, LastBatch::Drop, LastBatch::Pad];

fn order(shape: [usize; 4], seed: u64, epoch: u64) -> BlockOrder {
    let [len, samples, window, lanes] = shape;
    BlockOrder::new(Shape { len, samples, window, lanes, world: 1 }, Some(seed), epoch)
}

fn answers(order: &BlockOrder, positions: impl IntoIterator<Item = usize>) -> Vec<(usize, u32)> {
    order.at(positions.into_iter()).iter().map(|position| (position.index, position.occurrence)).collect()
}

/// Computed by `tests/golden/block_order.py`, which has lists instead of arithmetic and a ChaCha8 of its own.
#[test]
fn known_answers() {
    let small = answers(&order([23, 4, 2, 3], 42, 0), 0..28);
    let indices = [17, 22, 1, 13, 10, 0, 14, 11, 6, 15, 20, 3, 18, 8, 7, 12, 9, 2, 16, 21, 5, 19, 4];
    assert_eq!(small[..23], indices.map(|index| (index, 0)));
    assert_eq!(small[23..], [(1, 1), (17, 1), (4, 1), (0, 1), (13, 1)]);
    let one_lane = answers(&order([10, 3, 5, 1], 0, 7), 0..10);
    assert_eq!(one_lane, [6, 3, 5, 2, 8, 9, 4, 0, 1, 7].map(|index| (index, 0)));
    let short_lanes = answers(&order([7, 5, 1, 4], 9, 1), 0..12);
    assert_eq!(short_lanes[..7], [6, 0, 3, 4, 5, 1, 2].map(|index| (index, 0)));
    assert_eq!(short_lanes[7..], [(4, 1), (6, 1), (0, 1), (3, 1), (4, 2)]);
    let large = order([100_003, 64, 10, 8], u64::MAX, 1 << 40);
    let some = answers(&large, [0, 1, 7, 8, 50_000, 99_999, 100_000, 100_001, 100_002]);
    assert_eq!(some, [15592, 41167, 21815, 55335, 94454, 62189, 25898, 60394, 25251].map(|index| (index, 0)));
    assert_eq!(answers(&large, [100_003, 100_007, 110_000]), [(5962, 1), (1529, 1), (47777, 3)]);
    let sum = large.at(0..100_003).iter().map(|position| position.global * position.index as u64).sum::<u64>();
    assert_eq!(sum, 250_837_409_238_068);
}

#[test]
fn wide_and_narrow_block_numbers_have_one_order() {
    let narrow = order([1003, 7, 4, 3], 5, 6);
    let mut wide = narrow.clone();
    let Blocks::Narrow(blocks) = &narrow.line.blocks else { panic!("{:?}", narrow.line.blocks) };
    wide.line.blocks = Blocks::Wide(blocks.iter().map(|&block| block.into()).collect());
    assert_eq!(narrow.at(0..1010), wide.at(0..1010));
}

#[test]
fn without_shuffling_each_lane_is_a_run_of_the_data_set() {
    let sampler = Sampler::new(11, 4).unwrap().order(Order::Blocks { samples: 2, window: 2 }).unwrap();
    let shard = |rank| sampler.clone().shard(rank, 2).unwrap().last_batch(LastBatch::Pad).unwrap().epoch(3);
    let indices = |rank| -> Vec<Vec<usize>> {
        let order = shard(rank);
        (0..order.batches()).map(|batch| order.batch(batch).map(|position| position.index).collect()).collect()
    };
    assert_eq!(indices(0), [[0, 1, 2, 3], [4, 5, 4, 5]]);
    assert_eq!(indices(1), [[6, 7, 8, 9], [10, 10, 10, 10]]);
    assert!(shard(1).batch(1).map(|position| position.occurrence).eq([0, 1, 2, 3]));
}

/// Returns the chi-square of `counts` against equal shares.
fn chi_square(counts: &HashMap<Vec<usize>, u32>, kinds: usize) -> f64 {
    let expected = f64::from(counts.values().sum::<u32>()) / kinds as f64;
    let absent = (kinds - counts.len()) as f64 * expected;
    counts.values().map(|&count| (f64::from(count) - expected).powi(2) / expected).sum::<f64>() + absent
}

#[test]
fn every_order_that_is_possible_is_equally_likely() {
    let count = |shape: [usize; 4]| {
        let mut counts = HashMap::new();
        for epoch in 0..24_000 {
            let indices = order(shape, 1, epoch).at(0..4).iter().map(|position| position.index).collect();
            *counts.entry(indices).or_insert(0) += 1;
        }
        counts
    };
    // The limits are exceeded by chance once in 1000. One window of four blocks, in one lane: 24 orders.
    assert!(chi_square(&count([4, 1, 4, 1]), 24) < 49.73);
    // Two blocks in a lane each, interleaved: 2 orders of the blocks and of each block, with one of them in each lane.
    let two = count([4, 2, 1, 2]);
    assert!(chi_square(&two, 8) < 24.33, "{two:?}");
    assert!(two.keys().all(|order| order[0] / 2 == order[2] / 2));
    // Two windows of two blocks each in one lane: 4! orders of the blocks are 4! orders in all.
    assert!(chi_square(&count([4, 1, 2, 1]), 24) < 49.73);
    // A window that is not shuffled leaves neighbours in order: the test notices.
    let mut still = HashMap::new();
    for epoch in 0..24_000 {
        let mut order = order([4, 2, 1, 2], 1, epoch);
        order.key = None;
        *still.entry(order.at(0..4).iter().map(|position| position.index).collect()).or_insert(0) += 1;
    }
    assert!(chi_square(&still, 8) > 24.33);
}

#[test]
fn epochs_and_seeds_differ_and_a_clone_is_the_same() {
    let of = |seed, epoch| answers(&order([200, 5, 4, 4], seed, epoch), 0..200);
    assert_eq!((0..4).flat_map(|n| (0..4).map(move |m| of(n, m))).collect::<HashSet<_>>().len(), 16);
    let order = order([200, 5, 4, 4], 2, 3);
    order.at(90..130);
    assert_eq!(answers(&order.clone(), 0..200), of(2, 3));
}

#[test]
fn a_lane_is_divided_into_windows_of_whole_blocks_that_are_nearly_equal() {
    // 65 blocks in windows of at most 64: 33 and 32, not 64 and 1.
    let order = order([65 * 4, 4, 64, 1], 0, 0);
    assert_eq!(order.window_at(&(0..260), 0), 0..132);
    assert_eq!(order.window_at(&(0..260), 131), 0..132);
    assert_eq!(order.window_at(&(0..260), 132), 132..260);
}

#[test]
fn settings_that_cannot_work_are_refused_by_name() {
    let blocks = Order::Blocks { samples: 4, window: 2 };
    let sampler = Sampler::new(100, 4).unwrap().order(blocks).unwrap();
    let refused = |result: crate::Result<Sampler>| result.unwrap_err().to_string();
    let eight = sampler.clone().lanes(8).unwrap();
    let error = refused(eight.clone().shard(0, 3));
    assert!(error.starts_with("lanes: 8 in world 3") && error.contains("lanes(6) or lanes(9)"), "{error}");
    assert!(refused(eight.clone().shard(0, 16)).ends_with("the world has to divide 8; choose lanes(16)"));
    let error = refused(sampler.clone().shard(0, 6).unwrap().lanes(64));
    assert!(error.starts_with("lanes: 64 in world 6") && error.contains("lanes(60) or lanes(66)"), "{error}");
    assert!(refused(sampler.clone().lanes(0)).starts_with("lanes: 0"));
    assert!(refused(sampler.clone().lanes(101)).starts_with("lanes: 101 for 100 samples"));
    assert!(refused(sampler.clone().shard(0, 101)).starts_with("lanes: 101 for 100 samples"));
    assert!(refused(sampler.clone().weights(&[1.0; 100])).starts_with("order: blocks have each sample once"));
    let weighted = Sampler::new(2, 1).unwrap().weights(&[1.0, 2.0]).unwrap();
    assert!(refused(weighted.order(blocks)).ends_with("choose Order::Full"));
    for (samples, window) in [(0, 1), (1, 0), (1 << 16, 1 << 16), (usize::MAX, 2)] {
        let order = Order::Blocks { samples, window };
        assert!(refused(Sampler::new(100, 4).unwrap().order(order)).starts_with("order: blocks of "));
    }
    let huge = Sampler::new(100, u32::MAX as usize - 1).unwrap();
    assert!(refused(huge.order(blocks)).starts_with("batch_size: "));
    // Other orders have no lanes.
    assert!(Sampler::new(3, 1).unwrap().lanes(8).unwrap().shard(0, 3).is_ok());
}

/// The batches of a rank.
fn batches(sampler: &Sampler, epoch: u64) -> Vec<Vec<Position>> {
    let order = sampler.epoch(epoch);
    (0..order.batches()).map(|batch| order.batch(batch).collect()).collect()
}

proptest! {
    #[test]
    fn blocks_are_disjoint_whole_and_the_same_in_every_world(
        len in 1usize..300,
        samples in 1usize..40,
        window in 1usize..8,
        lanes in prop::sample::select(&[1usize, 2, 3, 4, 6, 8, 12][..]),
        // The batch size of each lane, so that every world has one.
        share in 1usize..8,
        seed: u64,
        epoch: u64,
        shuffle: bool,
        last in prop::sample::select(&LAST[..]),
    ) {
        prop_assume!(lanes <= len);
        let whole = Sampler::new(len, lanes * share).unwrap().shuffle(shuffle).seed(seed);
        let whole = whole.order(Order::Blocks { samples, window }).unwrap().lanes(lanes).unwrap().last_batch(last);
        let Ok(whole) = whole else {
            prop_assert_eq!(last, LastBatch::Drop);
            prop_assert!(len < lanes * share);
            return Ok(());
        };
        let one = batches(&whole, epoch);
        for world in (1..=lanes).filter(|world| lanes % world == 0) {
            let shard = |rank| {
                let sampler = Sampler::new(len, lanes * share / world).unwrap().shuffle(shuffle).seed(seed);
                let sampler = sampler.order(Order::Blocks { samples, window }).unwrap().lanes(lanes).unwrap();
                sampler.shard(rank, world).unwrap().last_batch(last).unwrap()
            };
            let ranks: Vec<Vec<Vec<Position>>> = (0..world).map(|rank| batches(&shard(rank), epoch)).collect();
            prop_assert!(ranks.iter().all(|batches| batches.len() == one.len()), "equally many batches");
            prop_assert!(ranks.iter().all(|rank| rank.iter().map(Vec::len).eq(ranks[0].iter().map(Vec::len))));

            // The same global batches, padding of a partial one aside.
            for (batch, expected) in one.iter().enumerate() {
                let mut global: Vec<Position> = ranks.iter().flat_map(|rank| rank[batch].iter().copied()).collect();
                global.sort_by_key(|position| position.global);
                let real = |batch: &[Position]| {
                    batch.iter().copied().filter(|position| !position.padding).collect::<Vec<_>>()
                };
                prop_assert_eq!(real(&global), real(expected));
                if last != LastBatch::Partial {
                    prop_assert_eq!(&global, expected);
                }
            }

            let all: Vec<Position> = ranks.iter().flatten().flatten().copied().collect();
            let times: HashSet<_> = all.iter().map(|position| (position.index, position.occurrence)).collect();
            prop_assert_eq!(times.len(), all.len(), "a sample twice for the same time");
            for position in &all {
                prop_assert_eq!(position.padding, position.global >= len as u64);
                prop_assert_eq!(position.padding, position.occurrence > 0);
            }
            let real = all.iter().filter(|position| !position.padding).map(|position| position.index);
            let real: HashSet<usize> = real.collect();
            let expected = if last == LastBatch::Drop { one.len() * lanes * share } else { len };
            prop_assert_eq!(real.len(), expected);
            prop_assert!(real.iter().all(|&index| index < len));

            // A block is of one rank, or of two where a lane ends in it. So is padding.
            let mut owners: BTreeMap<usize, HashSet<usize>> = BTreeMap::new();
            for (rank, batches) in ranks.iter().enumerate() {
                for position in batches.iter().flatten() {
                    owners.entry(position.index / samples).or_default().insert(rank);
                }
            }
            let shared = owners.values().map(|ranks| ranks.len() - 1).sum::<usize>();
            prop_assert!(shared < lanes, "{} shared blocks of {} lanes", shared, lanes);
            if len / lanes >= samples {
                prop_assert!(owners.values().all(|ranks| ranks.len() <= 2));
            }

            // Resuming at any batch, by an order that has given no other one.
            for (batch, expected) in ranks[world - 1].iter().enumerate() {
                let resumed: Vec<Position> = shard(world - 1).epoch(epoch).batch(batch).collect();
                prop_assert_eq!(&resumed, expected);
            }
        }
    }

    /// A rank has few blocks under way: from the first sample of a window to the last, only its blocks come.
    #[test]
    fn a_window_ends_before_the_next_one_begins(
        len in 1usize..2000,
        samples in 1usize..20,
        window in 1usize..8,
        lanes in 1usize..5,
    ) {
        prop_assume!(lanes <= len);
        let order = order([len, samples, window, lanes], 3, 4);
        for lane in 0..lanes {
            let positions = order.at((lane..len).step_by(lanes));
            let mut open: Vec<usize> = Vec::new();
            let mut closed: HashSet<usize> = HashSet::new();
            let mut of_window: HashMap<usize, usize> = HashMap::new();
            let run = Shares { total: len, parts: lanes }.share(lane);
            for (within, position) in positions.iter().enumerate() {
                let place = run.start + within;
                let here = order.window_at(&run, place);
                if here.start == place {
                    closed.extend(open.drain(..));
                }
                let block = position.index / samples;
                prop_assert!(!closed.contains(&block), "a block comes again after its window");
                if !open.contains(&block) {
                    open.push(block);
                }
                prop_assert!(open.len() <= window);
                *of_window.entry(here.start).or_default() += 1;
                prop_assert!(here.len() <= samples * window);
            }
            prop_assert_eq!(of_window.values().sum::<usize>(), run.len());
        }
    }
}
