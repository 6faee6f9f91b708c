//! Tests of orders by lists: the user's and those of this crate.

use super::*;
use crate::sampler::{LastBatch, Order, Position, Sampler, State};
use std::collections::{BTreeMap, HashSet};

const SAMPLES: usize = 40;

/// The orders that are compared: each by a name, with a batch size.
fn all() -> Vec<(&'static str, Orders)> {
    let labels: Vec<u32> = (0..SAMPLES as u32).map(|sample| (sample % 8).min(2)).collect();
    let cycle = |epoch: u64, n: usize| (n * 7 + epoch as usize) % SAMPLES;
    vec![
        ("samples", Orders::samples(53, move |epoch| Ok((0..53).map(|n| cycle(epoch, n)).collect()))),
        ("few", Orders::samples(5, |epoch| Ok(vec![epoch as usize % SAMPLES; 5]))),
        ("repeated", Orders::repeated_augmentation(SAMPLES, 3, 4).unwrap()),
        ("balanced", Orders::class_balanced(&labels, 30).unwrap()),
        ("blend", Orders::blend(&[31, 9], [0.6, 0.4], 33).unwrap()),
        ("changing blend", Orders::blend_by(&[31, 9], |epoch| vec![1.0, epoch as f64 / 4.0], 33).unwrap()),
    ]
}

fn sampler(orders: &Orders, batch_size: usize, (rank, world): (usize, usize)) -> Sampler {
    let sampler = Sampler::new(SAMPLES, batch_size).unwrap().orders(orders.clone()).unwrap();
    sampler.seed(5).shard(rank, world).unwrap()
}

fn positions(sampler: &Sampler, epoch: u64) -> Vec<Position> {
    let order = sampler.epoch(epoch);
    (0..order.batches()).flat_map(|batch| order.batch(batch).collect::<Vec<_>>()).collect()
}

fn indices(sampler: &Sampler, epoch: u64) -> Vec<usize> {
    positions(sampler, epoch).iter().map(|position| position.index).collect()
}

fn refused(result: Result<impl fmt::Debug>) -> String {
    result.unwrap_err().to_string()
}

#[test]
fn ranks_are_slices_of_one_order_and_no_occurrence_comes_twice() {
    for (name, orders) in all() {
        for epoch in [0, 3] {
            let whole = positions(&sampler(&orders, 4, (0, 1)), epoch);
            assert_eq!(whole.len(), orders.len(), "{name}");
            for world in [1, 2, 4] {
                let mut seen = HashSet::new();
                for rank in 0..world {
                    for (n, position) in positions(&sampler(&orders, 4, (rank, world)), epoch).iter().enumerate() {
                        assert_eq!(position.global as usize, rank + n * world, "{name}");
                        assert_eq!(position.index, whole[position.global as usize % whole.len()].index, "{name}");
                        assert_eq!(position.padding, position.global as usize >= whole.len(), "{name}");
                        assert!(seen.insert((position.index, position.occurrence)), "{name}: {position:?}");
                    }
                }
            }
        }
    }
}

#[test]
fn every_batch_is_resumed_and_worlds_go_on_with_each_other() {
    for (name, orders) in all() {
        let (one, two) = (sampler(&orders, 4, (0, 1)), sampler(&orders, 2, (1, 2)));
        for batch in 0..=one.batches() as u64 {
            let state = one.state(3, batch);
            let text = serde_json::to_string(&state).unwrap();
            assert_eq!(text.contains("digest"), batch > 0, "{name}: {text}");
            assert_eq!(serde_json::from_str::<State>(&text).unwrap(), state, "{name}");
            // In another process the lists are made again.
            let again = sampler(&orders, 4, (0, 1));
            assert_eq!(again.batch_of(&state).unwrap(), batch, "{name}");
            assert_eq!(two.batch_of(&state).unwrap(), batch, "{name}");
        }
    }
}

#[test]
fn another_list_is_refused_by_name() {
    let orders =
        |shift: usize| Orders::samples(8, move |epoch| Ok((0..8).map(|n| n + shift + epoch as usize).collect()));
    let state = sampler(&orders(0), 4, (0, 1)).state(2, 1);
    assert_eq!(sampler(&orders(0), 2, (0, 2)).batch_of(&state).unwrap(), 1);
    let error = refused(sampler(&orders(1), 4, (0, 1)).batch_of(&state));
    assert!(
        error.starts_with("sampler: the state was saved in another order of epoch 2 than this loader's"),
        "{error}"
    );
    let longer = Orders::samples(9, |_| Ok((0..9).collect()));
    let error = refused(sampler(&longer, 4, (0, 1)).batch_of(&state));
    assert_eq!(error, "sampler: the state was saved in an epoch of 8 positions, but an epoch of this order has 9");
    let plain = Sampler::new(SAMPLES, 4).unwrap().seed(5);
    let error = refused(plain.batch_of(&sampler(&longer, 4, (0, 1)).state(0, 1)));
    assert!(error.starts_with("dataset: the state was saved with 9 samples"), "{error}");
    let as_long = Orders::samples(SAMPLES, |_| Ok((0..SAMPLES).collect()));
    let error = refused(plain.batch_of(&sampler(&as_long, 4, (0, 1)).state(0, 1)));
    assert_eq!(
        error,
        "sampler: the state was saved in an epoch ordered by a sampler, this one is in the order of the data set"
    );
    let error = refused(sampler(&as_long, 4, (0, 1)).batch_of(&plain.state(0, 1)));
    assert!(error.ends_with("in the order of the data set, this one is ordered by a sampler"), "{error}");
    // What a version without digests, or before the first batch, has saved.
    assert_eq!(sampler(&orders(1), 4, (0, 1)).batch_of(&State::at(5, 2, 1)).unwrap(), 1);
}

#[test]
fn damaged_digests_are_no_states() {
    let text = serde_json::to_string(&sampler(&all()[0].1, 4, (0, 1)).state(0, 2)).unwrap();
    assert!(text.contains(r#""order":"listed","digest":""#), "{text}");
    let digest = text.split("digest\":\"").nth(1).unwrap()[..16].to_owned();
    let read = |text: &str| serde_json::from_str::<State>(text).map_err(|error| error.to_string());
    assert!(read(&text.replace(&digest, "12")).unwrap_err().starts_with("not a state: the digest \"12\""));
    assert!(read(&text.replace("listed", "shuffled")).unwrap_err().starts_with("not a state"));
    assert!(read(&text.replace('}', r#","lanes":2}"#)).unwrap_err().starts_with("not a state"));
    assert!(read(&text.replace("listed", "batches")).is_ok());
}

#[test]
fn lists_that_cannot_be_used_are_refused_with_index_and_position() {
    let of = |list: Vec<usize>| {
        let orders = Orders::samples(3, move |_| Ok(list.clone()));
        sampler(&orders, 2, (0, 1)).try_epoch(4).map(|_| ()).map_err(|error| error.to_string())
    };
    assert_eq!(of(vec![3, 3, 39]), Ok(()));
    assert_eq!(
        of(vec![1, 2, 40]).unwrap_err(),
        "sampler: index 40 at position 2 of epoch 4, but the data set has 40 samples, 0 to 39"
    );
    assert_eq!(of(vec![]).unwrap_err(), "sampler: epoch 4 has no indices, but each epoch of this loader has 3");
    assert!(
        of(vec![1; 4]).unwrap_err().starts_with("sampler: epoch 4 has 4 indices, but each epoch of this loader has 3")
    );
    let own = Orders::samples(3, |_| Err(Error::argument("sampler", "a file is not there")));
    assert_eq!(refused(sampler(&own, 2, (0, 1)).try_epoch(0)), "sampler: a file is not there");
    let none = Orders::samples(0, |_| Ok(Vec::new()));
    assert!(refused(Sampler::new(SAMPLES, 2).unwrap().orders(none)).starts_with("sampler: an epoch of no indices"));
}

#[test]
#[should_panic(expected = "index 40 at position 0")]
fn an_epoch_that_cannot_fail_panics_with_the_error() {
    sampler(&Orders::samples(1, |_| Ok(vec![40])), 2, (0, 1)).epoch(0);
}

#[test]
fn batches_are_dealt_to_ranks_whole() {
    let batches = || Orders::batches(5, |epoch| Ok((1..=5).map(|size| vec![epoch as usize; size % 4 + 1]).collect()));
    let of = |rank, world, last| {
        let sampler = sampler(&batches(), 4, (rank, world)).last_batch(last).unwrap();
        let order = sampler.epoch(2);
        (0..order.batches()).map(|batch| order.batch(batch).collect::<Vec<_>>()).collect::<Vec<_>>()
    };
    let sizes = |batches: &[Vec<Position>]| batches.iter().map(Vec::len).collect::<Vec<_>>();
    assert_eq!(sizes(&of(0, 1, LastBatch::Partial)), [2, 3, 4, 1, 2]);
    assert_eq!(sizes(&of(1, 2, LastBatch::Partial)), [3, 1, 2]);
    assert_eq!(sizes(&of(1, 2, LastBatch::Drop)), [3, 1]);
    let both: Vec<Position> = [of(0, 2, LastBatch::Partial), of(1, 2, LastBatch::Partial)].concat().concat();
    let padding: Vec<bool> = both.iter().map(|position| position.padding).collect();
    // The sixth batch is the first one again.
    assert_eq!(padding.iter().filter(|padding| **padding).count(), 2);
    let distinct: HashSet<u32> = both.iter().map(|position| position.occurrence).collect();
    assert_eq!(distinct.len(), both.len(), "one sample, another occurrence each time");
    let one = sampler(&batches(), 4, (0, 1));
    for batch in 0..=5 {
        let state: State = serde_json::from_str(&serde_json::to_string(&one.state(2, batch)).unwrap()).unwrap();
        assert_eq!(state.position(), Some(batch));
        assert_eq!(one.batch_of(&state).unwrap(), batch);
    }
    // Two ranks go on where both begin a batch.
    assert_eq!(sampler(&batches(), 4, (1, 2)).batch_of(&one.state(2, 2)).unwrap(), 1);
    assert!(refused(sampler(&batches(), 4, (1, 2)).batch_of(&one.state(2, 3))).contains("position 3"));
    let error = refused(sampler(&Orders::samples(5, |_| Ok(vec![2; 5])), 4, (0, 1)).batch_of(&one.state(2, 3)));
    assert!(error.contains("ordered by a sampler of batches, this one is ordered by a sampler"), "{error}");
}

#[test]
fn batches_that_cannot_be_used_are_refused() {
    let of = |batches: Vec<Vec<usize>>| {
        let orders = Orders::batches(2, move |_| Ok(batches.clone()));
        sampler(&orders, 2, (0, 1)).try_epoch(1).map(|_| ()).map_err(|error| error.to_string())
    };
    assert_eq!(of(vec![vec![1], vec![2, 3]]), Ok(()));
    for (batches, text) in [
        (vec![vec![1], vec![]], "batch_sampler: batch 1 of epoch 1 has 0 samples; 1 to batch_size work, which is 2"),
        (
            vec![vec![1, 2, 3], vec![4]],
            "batch_sampler: batch 0 of epoch 1 has 3 samples; 1 to batch_size work, which is 2",
        ),
        (
            vec![vec![1], vec![2, 77]],
            "batch_sampler: index 77 at position 1 of batch 1 of epoch 1, but the data set has 40",
        ),
        (vec![vec![1]], "batch_sampler: epoch 1 has 1 batches, but each epoch of this loader has 2"),
    ] {
        let error = of(batches).unwrap_err();
        assert!(error.starts_with(text), "{error}");
    }
    let batches = Orders::batches(2, |_| Ok(vec![vec![1], vec![2]]));
    let error = refused(sampler(&batches, 2, (0, 1)).last_batch(LastBatch::Pad));
    assert!(error.starts_with("last_batch: filling batches up, but they are those of the batch sampler"), "{error}");
}

#[test]
fn other_orders_do_not_go_with_lists() {
    let orders = || Orders::samples(4, |_| Ok(vec![1; 4]));
    let sampler = Sampler::new(4, 2).unwrap();
    let error = refused(sampler.clone().weights(&[1.0; 4]).unwrap().orders(orders()));
    assert!(error.starts_with("sampler: the data set has weights"), "{error}");
    let error = refused(sampler.clone().orders(orders()).unwrap().order(Order::Blocks { samples: 2, window: 1 }));
    assert!(error.starts_with("order: blocks:2:1, but the list of an epoch is its order"), "{error}");
    let error = refused(sampler.orders(Orders::repeated_augmentation(8, 3, 4).unwrap()));
    assert_eq!(error, "sampler: an order of 8 samples, but the data set has 4");
}

/// By the rule of DeiT's RASampler: the shuffled order with each index repeated; each rank every `world`-th position, of
/// which it takes `len // 256 * 256 / world`.
#[test]
fn repeated_augmentation_is_that_of_rasampler_for_one_shuffled_order() {
    for (len, world, repeats) in [(1000, 4, 3), (512, 8, 3), (700, 2, 2), (256, 1, 1)] {
        let orders = Orders::repeated_augmentation(len, repeats, 256).unwrap();
        let of =
            |rank| Sampler::new(len, 16).unwrap().seed(9).orders(orders.clone()).unwrap().shard(rank, world).unwrap();
        let whole = indices(&Sampler::new(len, 16).unwrap().seed(9).orders(orders.clone()).unwrap(), 1);
        let shuffled: Vec<usize> = whole.iter().copied().step_by(repeats).collect();
        assert_eq!(shuffled.iter().collect::<HashSet<_>>().len(), shuffled.len());
        let repeated: Vec<usize> = shuffled.iter().flat_map(|&index| vec![index; repeats]).collect();
        for rank in 0..world {
            let own: Vec<usize> =
                repeated.iter().copied().skip(rank).step_by(world).take(len / 256 * 256 / world).collect();
            assert_eq!(indices(&of(rank), 1), own, "{len} {world} {repeats}");
        }
    }
    let error = refused(Orders::repeated_augmentation(100, 3, 256));
    assert!(
        error.starts_with("repeated_augmentation: 100 samples, rounded down to a multiple of 256, are none"),
        "{error}"
    );
    assert!(refused(Orders::repeated_augmentation(100, 0, 1)).starts_with("repeated_augmentation: repeats 0"));
}

/// How often each value comes.
fn counts<T: Ord>(values: impl IntoIterator<Item = T>) -> BTreeMap<T, usize> {
    values.into_iter().fold(BTreeMap::new(), |mut counts, value| {
        *counts.entry(value).or_default() += 1;
        counts
    })
}

#[test]
fn a_blend_has_exact_shares_and_repeats_nothing_within_a_pass() {
    for (lengths, weights, len) in [
        (vec![31, 9], vec![0.7, 0.3], 10),
        (vec![20, 13, 7], vec![5.0, 3.0, 1.0], 11),
        (vec![3, 37], vec![1.0, 0.0], 8),
    ] {
        let total: f64 = weights.iter().sum();
        let orders = Orders::blend(&lengths, weights.clone(), len).unwrap();
        let sampler = Sampler::new(SAMPLES, 4).unwrap().seed(1).orders(orders).unwrap();
        let of_set = |index: usize| {
            let mut first = 0;
            lengths.iter().position(|length| {
                first += length;
                index < first
            })
        };
        let mut walked: Vec<Vec<usize>> = vec![Vec::new(); lengths.len()];
        for epoch in 0..60 {
            let found = indices(&sampler, epoch);
            let shares = counts(found.iter().map(|&index| of_set(index).unwrap()));
            for (set, weight) in weights.iter().enumerate() {
                let (exact, count) = (weight / total * len as f64, *shares.get(&set).unwrap_or(&0) as f64);
                assert!((count - exact).abs() < 1.0, "epoch {epoch}, set {set}: {count} of {exact}");
                let all = walked[set].len() as f64 + count;
                let exact = exact * (epoch + 1) as f64;
                assert!((all - exact).abs() <= 1.0, "up to epoch {epoch}, set {set}: {all} of {exact}");
            }
            for index in found {
                walked[of_set(index).unwrap()].push(index);
            }
            // The samples of an epoch are shuffled, so passes are compared where one ends with an epoch's end or before.
            for (set, walk) in walked.iter().enumerate() {
                let passes = walk.len() / lengths[set];
                let most = counts(walk).into_values().max().unwrap_or(0);
                assert!(
                    most <= passes + usize::from(walk.len() % lengths[set] > 0),
                    "set {set}: {most} in {passes} passes"
                );
                let least = if passes == 0 { 0 } else { *counts(walk).values().min().unwrap() };
                assert!(least >= passes, "set {set}: one came {least} times in {passes} passes");
            }
        }
    }
}

#[test]
fn weights_that_change_are_followed_and_walks_go_on() {
    let weights = |epoch: u64| if epoch < 3 { vec![1.0, 0.0] } else { vec![0.0, 1.0] };
    let orders = Orders::blend_by(&[30, 10], weights, 6).unwrap();
    let sampler = Sampler::new(SAMPLES, 4).unwrap().orders(orders).unwrap();
    let early: Vec<usize> = (0..3).flat_map(|epoch| indices(&sampler, epoch)).collect();
    assert!(early.iter().all(|&index| index < 30) && early.iter().collect::<HashSet<_>>().len() == 18);
    let late: Vec<usize> = (3..5).flat_map(|epoch| indices(&sampler, epoch)).collect();
    assert!(late.iter().all(|&index| index >= 30));
    assert!(counts(&late).into_values().all(|times| times <= 2) && counts(&late).len() == 10);
    let wrong = Orders::blend_by(&[30, 10], |epoch| vec![1.0; 1 + epoch as usize], 6).unwrap();
    let sampler = Sampler::new(SAMPLES, 4).unwrap().orders(wrong).unwrap();
    assert_eq!(refused(sampler.try_epoch(0)), "weights: 1 for 2 data sets; give one for each");
}

#[test]
fn balanced_classes_come_equally_often() {
    // 35 of class 0, 4 of class 7, 1 of class 9.
    let labels: Vec<u32> =
        (0..SAMPLES).map(|sample| [0, 7, 9][usize::from(sample >= 35) + usize::from(sample >= 39)]).collect();
    let orders = Orders::class_balanced(&labels, 31).unwrap();
    let sampler = Sampler::new(SAMPLES, 4).unwrap().orders(orders).unwrap();
    let mut walked = Vec::new();
    for epoch in 0..6 {
        let found = indices(&sampler, epoch);
        let of_class = counts(found.iter().map(|&index| labels[index]));
        assert!(of_class.values().all(|&count| count == 10 || count == 11), "{of_class:?}");
        walked.extend(found);
    }
    let of_class = counts(walked.iter().map(|&index| labels[index]));
    assert!(of_class.values().all(|&count| count == 62), "{of_class:?}");
    assert!(counts(walked.iter().filter(|&&index| index < 35)).into_values().all(|times| times == 1 || times == 2));
    assert!(refused(Orders::class_balanced(&[], 3)).starts_with("class_balanced: 0 labels"));
    assert!(refused(Orders::class_balanced(&[1], 0)).starts_with("samples_per_epoch: 0"));
}

#[test]
fn weights_of_blends_are_checked() {
    for (weights, text) in [
        (vec![1.0], "weights: 1 for 2 data sets; give one for each"),
        (vec![1.0, -0.5], "weights: -0.5 for data set 1, but a weight must be finite and at least 0"),
        (vec![f64::NAN, 1.0], "weights: NaN for data set 0"),
        (vec![0.0, 0.0], "weights: all are 0"),
        (vec![0.5, 0.5], "weights: 0.5 for data set 1, which has no samples"),
    ] {
        let error = refused(Orders::blend(&[4, 0], weights, 3));
        assert!(error.starts_with(text), "{error}");
    }
    assert!(refused(Orders::blend(&[4], [1.0], 0)).starts_with("samples_per_epoch: 0"));
    assert!(refused(Orders::blend(&[], Vec::<f64>::new(), 3)).starts_with("weights: all are 0"));
    assert!(refused(Orders::blend_by(&[], |_| Vec::new(), 3)).starts_with("blend: no data set"));
}

#[test]
fn lists_that_are_given_are_waited_for_and_replaced() {
    let sampler = Sampler::new(SAMPLES, 2).unwrap().orders(Orders::given(4, false, true, "given".to_owned())).unwrap();
    assert!(sampler.epoch_if_known(0).unwrap().is_none());
    assert!(sampler.epoch_when_known(0, || true).unwrap().is_none());
    assert_eq!(refused(sampler.try_epoch(0)), "sampler: the order of epoch 0 was not given");
    assert_eq!(sampler.state(0, 1).position(), Some(2));
    sampler.give_samples(0, vec![1, 2, 3, 4]).unwrap();
    sampler.give_samples(1, vec![5, 6, 7, 8]).unwrap();
    let first = sampler.state(0, 1);
    assert_eq!(sampler.batch_of(&first).unwrap(), 1);
    assert!(refused(sampler.give_samples(1, vec![5, 6, 7, 40])).contains("index 40 at position 3 of epoch 1"));
    assert_eq!(indices(&sampler, 1), [5, 6, 7, 8]);
    // The epoch begins anew with another list.
    sampler.give_samples(0, vec![4, 3, 2, 1]).unwrap();
    assert!(!sampler.knows(1));
    assert!(refused(sampler.batch_of(&first)).starts_with("sampler: the state was saved in another order of epoch 0"));
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| sampler.epoch_when_known(2, || false).unwrap().unwrap().batch(0).count());
        sampler.give_samples(2, vec![9; 4]).unwrap();
        assert_eq!(waits.join().unwrap(), 2);
    });
    // Ranks with lists of their own have one state.
    let own = |first: usize| {
        let own = Orders::given(4, false, false, "own".to_owned());
        let sampler = Sampler::new(SAMPLES, 2).unwrap().orders(own).unwrap();
        sampler.give_samples(0, vec![first; 4]).unwrap();
        sampler
    };
    assert_eq!(own(1).state(0, 1), own(2).state(0, 1));
    assert_eq!(own(1).batch_of(&own(2).state(0, 1)).unwrap(), 1);
}

/// Frozen: users compare runs by these samples.
#[test]
fn known_answers() {
    let first = |orders: Orders, samples: usize| {
        let sampler = Sampler::new(samples, 8).unwrap().seed(42).orders(orders).unwrap();
        [0, 1].map(|epoch| indices(&sampler, epoch)[..8].to_vec())
    };
    let found = [
        first(Orders::repeated_augmentation(20, 3, 4).unwrap(), 20),
        first(Orders::class_balanced(&[0, 1, 0, 0, 0, 0, 0, 0, 2, 0], 9).unwrap(), 10),
        first(Orders::blend(&[12, 8], [0.75, 0.25], 8).unwrap(), 20),
    ];
    assert_eq!(format!("{found:?}"), KNOWN);
}

const KNOWN: &str = "[[[1, 1, 1, 16, 16, 16, 11, 11], [16, 16, 16, 6, 6, 6, 3, 3]], [[1, 3, 9, 4, 1, 1, 8, 8], [8, 2, 1, 8, 0, 8, 1, 1]], \
                     [[6, 4, 11, 5, 8, 18, 3, 17], [2, 9, 14, 10, 15, 7, 1, 0]]]";
