//! Tests of orders by lists through loaders: the same images for any workers and ranks, resumed at every batch, and what does
//! not go with them.

use gpufeed::dataset::Concat;
use gpufeed::internals::given_orders;
use gpufeed::transforms::{Normalize, RandomHorizontalFlip, RandomResizedCrop, Transform};
use gpufeed::{Backend, DataLoader, DataLoaderBuilder, Dataset, ErrorKind, LastBatch, OnError, Order, Orders, State};
use gpufeed_testing::pipeline::{Seen, places, seen, small_files, within};

const SAMPLES: usize = 37;
const GLOBAL_BATCH: usize = 4;

fn builder(orders: Orders, rank: usize, world: usize, workers: usize) -> DataLoaderBuilder {
    let list: Vec<Transform> =
        vec![RandomResizedCrop::new(16).into(), RandomHorizontalFlip::new(0.5).into(), Normalize::IMAGENET.into()];
    let builder = DataLoader::builder(small_files(SAMPLES as u32)).recipe(list).seed(11).workers(workers);
    builder.sampler(orders).batch_size(GLOBAL_BATCH / world).shard(rank, world)
}

fn all() -> Vec<(&'static str, Orders)> {
    let labels: Vec<u32> = (0..SAMPLES as u32).map(|sample| (sample % 8).min(2)).collect();
    let some = |epoch: u64| Ok((0..22).map(|n| (n * n + epoch as usize) % SAMPLES).collect());
    vec![
        ("samples", Orders::samples(22, some)),
        ("repeated", Orders::repeated_augmentation(SAMPLES, 3, 12).unwrap()),
        ("balanced", Orders::class_balanced(&labels, 18).unwrap()),
        ("blend", Orders::blend_by(&[30, 7], |epoch| vec![1.0, epoch as f64], 21).unwrap()),
    ]
}

/// One image: its id and its bytes.
type Image = (u64, Vec<u8>);

/// The images of an epoch of all ranks by position, without padding.
fn images(of_rank: &[Vec<Seen>], world: usize) -> Vec<Image> {
    let mut all = Vec::new();
    for number in 0..of_rank[0].len() {
        let batch: Vec<&Seen> = of_rank.iter().map(|batches| &batches[number]).collect();
        for place in 0..GLOBAL_BATCH {
            let (seen, i) = (batch[place % world], place / world);
            if i < seen.valid {
                all.push((seen.ids[i], seen.image(i).to_vec()));
            }
        }
    }
    all
}

#[test]
fn workers_and_ranks_have_the_same_global_batches() {
    within(180, "orders", || {
        for place in places() {
            for (name, orders) in all() {
                let epoch = |world: usize, workers: usize| {
                    let rank =
                        |rank| seen(place.build(builder(orders.clone(), rank, world, workers)).epoch(2).unwrap());
                    images(&(0..world).map(rank).collect::<Vec<_>>(), world)
                };
                let expected = epoch(1, 1);
                let samples: std::collections::HashSet<_> = expected.iter().map(|image| image.0).collect();
                let distinct: std::collections::HashSet<_> = expected.iter().collect();
                assert_eq!(distinct.len(), expected.len(), "{name}: a sample that comes again is drawn anew");
                assert!(name != "repeated" || samples.len() == 12);
                for (world, workers) in [(1, 2), (1, 7), (2, 1), (2, 7), (4, 2)] {
                    assert!(
                        epoch(world, workers) == expected,
                        "{name}, {world} ranks, {workers} workers, {}",
                        place.name
                    );
                }
            }
        }
    });
}

#[test]
fn a_run_goes_on_at_every_batch_into_the_next_epoch() {
    within(120, "orders", || {
        for (name, orders) in all() {
            let loader = || builder(orders.clone(), 0, 1, 2).build(&Backend::Cpu).unwrap();
            let whole: Vec<Seen> = seen(loader().epochs(3..5).unwrap());
            let batches = loader().len();
            assert_eq!(whole.len(), 2 * batches);
            for taken in 0..=batches {
                let first = loader();
                let mut run = first.epochs(3..5).unwrap();
                run.by_ref().take(taken).for_each(|batch| drop(batch.unwrap()));
                let state: State = serde_json::from_str(&serde_json::to_string(&run.state()).unwrap()).unwrap();
                drop(run);
                let rest = seen(loader().resume_until(&state, 5).unwrap());
                assert!(rest == whole[taken..], "{name} after {taken} batches");
            }
        }
    });
}

#[test]
fn lists_of_batches_have_the_sizes_that_they_say() {
    within(60, "batches", || {
        for place in places() {
            let sizes = [1, 4, 2, 3, 4, 1];
            let list = move |epoch: u64| {
                Ok(sizes.iter().map(|&size| (0..size).map(|n| (n * 5 + epoch as usize) % SAMPLES).collect()).collect())
            };
            let build = |workers| {
                let builder = builder(Orders::batches(6, list), 0, 1, workers);
                place.build(builder)
            };
            let batches = seen(build(1).epochs(0..2).unwrap());
            let found: Vec<usize> = batches.iter().map(|batch| batch.ids.len()).collect();
            assert_eq!(found, [1, 4, 2, 3, 4, 1, 1, 4, 2, 3, 4, 1]);
            assert_eq!(batches[7].ids, [1, 6, 11, 16]);
            for workers in [2, 7] {
                assert!(seen(build(workers).epochs(0..2).unwrap()) == batches, "{workers} workers, {}", place.name);
            }
            let rest = seen(build(2).resume(&build(2).sampler().state(1, 3)).unwrap());
            assert!(rest == batches[9..]);
        }
    });
}

#[test]
fn a_failed_sample_is_replaced_by_one_of_the_list() {
    within(60, "replacements", || {
        let files = small_files(SAMPLES as u32);
        let broken: gpufeed::InMemory = [(b"no image".to_vec(), gpufeed::Label::Class(0))].into_iter().collect();
        let data = Concat::new([Box::new(files) as Box<dyn Dataset>, Box::new(broken)]).unwrap();
        let orders = Orders::samples(6, |_| Ok(vec![5, SAMPLES, 9, SAMPLES, 5, 9]));
        let list: Vec<Transform> = vec![RandomResizedCrop::new(16).into()];
        let loader = DataLoader::builder(data).recipe(list).sampler(orders).batch_size(6).workers(2);
        let loader = loader.on_error(OnError::Skip { max_share: 1.0 }).build(&Backend::Cpu).unwrap();
        let ids = |name: usize| loader.dataset().id(name);
        for epoch in 0..10 {
            let batch = loader.epoch(epoch).unwrap().next().unwrap().unwrap();
            assert!(batch.failures().len() >= 2);
            assert!(batch.ids().iter().all(|id| [ids(5), ids(9)].contains(id)), "{:?}", batch.ids());
        }
    });
}

#[test]
fn what_does_not_go_with_a_list_is_refused_by_name() {
    let orders = || Orders::samples(5, |_| Ok(vec![1, 2, 3, 4, 5]));
    let refused = |builder: DataLoaderBuilder| builder.build(&Backend::Cpu).unwrap_err().to_string();
    let user = || builder(orders(), 0, 1, 1);
    assert!(refused(user().shuffle(true)).starts_with("shuffle: on, but the lists of the sampler are the order"));
    assert!(refused(user().order(Order::Blocks { samples: 2, window: 1 })).starts_with("order: blocks:2:1, but"));
    assert!(refused(user().lanes(2)).starts_with("lanes: 2, but only an order of blocks has lanes"));
    let weighted = small_files(5).with_weights([1.0; 5]).unwrap();
    let list: Vec<Transform> = vec![RandomResizedCrop::new(16).into()];
    let error = refused(DataLoader::builder(weighted).recipe(list).sampler(orders()));
    assert!(error.starts_with("sampler: the data set has weights"), "{error}");
    let batches = Orders::batches(1, |_| Ok(vec![vec![1]]));
    assert!(refused(user().sampler(batches).last_batch(LastBatch::Pad)).starts_with("last_batch: filling batches up"));
    // A random order of this crate is random with and without.
    let random = |shuffle| {
        let orders = Orders::repeated_augmentation(SAMPLES, 2, 4).unwrap();
        seen(
            builder(orders, 0, 1, 1)
                .shuffle(shuffle)
                .order(Order::Full)
                .build(&Backend::Cpu)
                .unwrap()
                .epoch(0)
                .unwrap(),
        )
    };
    assert!(random(true) == random(false));
    // An order may be longer than the data set, and a batch larger.
    let long = Orders::samples(100, |_| Ok(vec![3; 100]));
    let loader = user().sampler(long).batch_size(50).last_batch(LastBatch::Drop).build(&Backend::Cpu).unwrap();
    assert_eq!(loader.len(), 2);
    assert!(loader.explain().contains("order: given by a sampler, 100 positions an epoch"), "{}", loader.explain());
}

#[test]
fn the_error_of_a_list_ends_the_run() {
    within(30, "errors", || {
        let orders = Orders::samples(2, |epoch| Ok(vec![if epoch == 0 { 1 } else { 99 }; 2]));
        let loader = builder(orders, 0, 1, 2).build(&Backend::Cpu).unwrap();
        let error = loader.epoch(1).unwrap_err().to_string();
        assert_eq!(error, "sampler: index 99 at position 0 of epoch 1, but the data set has 37 samples, 0 to 36");
        let mut run = loader.epochs(0..2).unwrap();
        let batch = run.next().unwrap();
        let error = match batch {
            Ok(_) => run.next().unwrap().unwrap_err(),
            Err(error) => error,
        };
        assert!(matches!(error.kind(), ErrorKind::Argument { setting: "sampler", .. }), "{error}");
    });
}

#[test]
fn runs_that_are_open_keep_their_lists() {
    within(60, "open runs", || {
        let broken: gpufeed::InMemory = [(b"no image".to_vec(), gpufeed::Label::Class(0))].into_iter().collect();
        let files: Box<dyn Dataset> = Box::new(small_files(SAMPLES as u32));
        let data = Concat::new([files, Box::new(broken)]).unwrap();
        let list: Vec<Transform> = vec![RandomResizedCrop::new(16).into()];
        let orders = given_orders::new(4, false, true, "given".to_owned());
        let loader = DataLoader::builder(data).recipe(list).sampler(orders).batch_size(2).workers(2);
        let loader = loader.on_error(OnError::Skip { max_share: 1.0 }).build(&Backend::Cpu).unwrap();
        let give = |epoch, first| {
            given_orders::give_samples(&loader, epoch, vec![first, SAMPLES, first + 1, SAMPLES]).unwrap();
        };
        give(0, 1);
        let first = loader.epochs(0..2).unwrap();
        give(1, 3);
        give(9, 5);
        let second = loader.epoch(9).unwrap();
        // The epoch begins anew with another list.
        give(9, 7);
        let third = loader.epoch(9).unwrap();
        let ids = |run| seen(run).into_iter().map(|batch| batch.ids).collect::<Vec<_>>();
        let (first, second, third) = (ids(first), ids(second), ids(third));
        let id = |index| loader.dataset().id(index);
        for (found, expected) in [(&first, vec![1, 2, 3, 4]), (&second, vec![5, 6]), (&third, vec![7, 8])] {
            let expected: Vec<u64> = expected.into_iter().map(id).collect();
            assert_eq!(found.iter().map(|batch| batch[0]).collect::<Vec<_>>(), expected);
        }
        // The replacement of a failed sample is one of the epoch's list.
        for (batch, list) in first.iter().zip([[1, 2], [1, 2], [3, 4], [3, 4]]) {
            assert!(list.map(id).contains(&batch[1]), "{first:?}");
        }
    });
}

#[test]
fn a_list_that_nobody_gives_is_an_error() {
    within(30, "missing lists", || {
        let orders = given_orders::new(8, false, true, "given".to_owned());
        let loader = builder(orders, 0, 1, 2).build(&Backend::Cpu).unwrap();
        let missing = |epoch| format!("sampler: the order of epoch {epoch} was not given");
        assert_eq!(loader.epoch(5).unwrap_err().to_string(), missing(5));
        given_orders::give_samples(&loader, 0, (0..8).collect()).unwrap();
        let mut run = loader.epochs(0..3).unwrap();
        for _ in 0..2 {
            assert_eq!(run.next().unwrap().unwrap().epoch(), 0);
        }
        assert_eq!(run.next().unwrap().unwrap_err().to_string(), missing(1));
        assert!(run.next().is_none());
    });
}
