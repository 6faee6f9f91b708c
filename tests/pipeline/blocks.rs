//! Tests of orders of blocks through loaders: the same global batches in every world, and resumed in another one.

use gpufeed::transforms::{Normalize, RandomHorizontalFlip, RandomResizedCrop, Transform};
use gpufeed::{Backend, DataLoader, DataLoaderBuilder, LastBatch, Order, State};
use gpufeed_testing::pipeline::{Place, Seen, places, seen, small_files, within};

const SAMPLES: usize = 61;
const GLOBAL_BATCH: usize = 8;
const BLOCKS: Order = Order::Blocks { samples: 3, window: 2 };

fn builder(rank: usize, world: usize) -> DataLoaderBuilder {
    let list: Vec<Transform> =
        vec![RandomResizedCrop::new(16).into(), RandomHorizontalFlip::new(0.5).into(), Normalize::IMAGENET.into()];
    let builder = DataLoader::builder(small_files(SAMPLES as u32)).recipe(list).shuffle(true).seed(11).workers(2);
    builder.order(BLOCKS).lanes(4).batch_size(GLOBAL_BATCH / world).shard(rank, world)
}

/// One image: its id and its bytes.
type Image = (u64, Vec<u8>);

/// The global batches of a world from a state on, each in the order of positions, without padding: at most `most`, and
/// the state after them, which every rank has to name alike.
fn global_batches(place: &Place, world: usize, from: &State, most: usize) -> (Vec<Vec<Image>>, State) {
    let mut states = Vec::new();
    let mut ranks: Vec<Vec<Seen>> = Vec::new();
    for rank in 0..world {
        let loader = place.build(builder(rank, world));
        let mut run = loader.resume(from).unwrap();
        ranks.push(run.by_ref().take(most).map(|batch| Seen::from(&batch.unwrap())).collect());
        states.push(run.state());
    }
    assert!(states.iter().all(|state| *state == states[0]), "{states:?}");
    assert!(ranks.iter().all(|batches| batches.len() == ranks[0].len()), "equally many batches");
    let batch = |number: usize| {
        let of_rank = |rank: usize, i: usize| {
            let batch: &Seen = &ranks[rank][number];
            (i < batch.valid).then(|| (batch.ids[i], batch.image(i).to_vec()))
        };
        (0..GLOBAL_BATCH).filter_map(|position| of_rank(position % world, position / world)).collect()
    };
    ((0..ranks[0].len()).map(batch).collect(), states[0])
}

#[test]
fn a_run_of_4_goes_on_with_2_then_1_then_4_and_has_the_batches_of_one_that_was_left_alone() {
    within(120, "worlds", || {
        for place in places() {
            let start = State::at(11, 2, 0);
            let (expected, end) = global_batches(place, 1, &start, usize::MAX);
            assert_eq!(expected.len(), SAMPLES.div_ceil(GLOBAL_BATCH));
            assert_eq!(end.epoch(), 3);
            let mut ids: Vec<u64> = expected.iter().flatten().map(|image| image.0).collect();
            assert_eq!(ids.len(), SAMPLES);
            ids.sort_unstable();
            assert!(ids.windows(2).all(|pair| pair[0] < pair[1]), "each sample once");

            let (mut found, mut state) = (Vec::new(), start);
            for (world, most) in [(4, 2), (2, 3), (1, 1), (4, usize::MAX)] {
                let (batches, next) = global_batches(place, world, &state, most);
                found.extend(batches);
                // Saved in the form of a checkpoint, and read by whoever goes on.
                state = serde_json::from_str(&serde_json::to_string(&next).unwrap()).unwrap();
            }
            assert!(found == expected, "{}: other ids, order or bits", place.name);
            assert_eq!(state, end);
        }
    });
}

#[test]
fn ranks_have_equally_many_batches_of_one_size_however_the_last_is_treated() {
    within(60, "last batches", || {
        for last in [LastBatch::Partial, LastBatch::Drop, LastBatch::Pad] {
            let mut valid = 0;
            let mut sizes: Vec<Vec<usize>> = Vec::new();
            for rank in 0..4 {
                let loader = builder(rank, 4).batch_size(3).last_batch(last).build(&Backend::Cpu).unwrap();
                let batches = seen(loader.epoch(0).unwrap());
                assert_eq!(batches.len(), loader.len());
                valid += batches.iter().map(|batch| batch.valid).sum::<usize>();
                sizes.push(batches.iter().map(|batch| batch.ids.len()).collect());
            }
            assert!(sizes.iter().all(|of_rank| *of_rank == sizes[0]), "{last:?}: {sizes:?}");
            assert_eq!(valid, if last == LastBatch::Drop { 60 } else { SAMPLES }, "{last:?}");
        }
    });
}

#[test]
fn another_global_batch_goes_on_where_one_begins_and_else_hears_of_its_neighbours() {
    within(60, "global batches", || {
        let mut run = builder(0, 4).build(&Backend::Cpu).unwrap().epoch(0).unwrap();
        run.by_ref().take(3).for_each(|batch| drop(batch.unwrap()));
        let state = run.state();
        assert_eq!(state.position(), Some(24));
        let resume = |batch_size| builder(1, 2).batch_size(batch_size).build(&Backend::Cpu).unwrap().resume(&state);
        let batches: usize = seen(resume(6).unwrap()).len();
        assert_eq!(batches, 4, "37 samples in global batches of 12");
        let error = resume(5).unwrap_err().to_string();
        assert!(error.contains("nearest begin at 20 (batch 2) and 30 (batch 3)"), "{error}");
        assert!(error.contains("batches of 4 make the global batches of the state; choose batch_size(4)"), "{error}");
        let error = builder(0, 2).lanes(2).build(&Backend::Cpu).unwrap().resume(&state).unwrap_err().to_string();
        assert!(error.starts_with("lanes: ") && error.ends_with("set lanes(4) to go on"), "{error}");
    });
}
