//! Tests of states and of where they are resumed.

use super::*;
use crate::sampler::LastBatch;

fn sampler(batch_size: usize, world: usize) -> Sampler {
    Sampler::new(100, batch_size).unwrap().seed(7).shuffle(true).shard(world - 1, world).unwrap()
}

fn refused(sampler: &Sampler, state: &State) -> String {
    sampler.batch_of(state).unwrap_err().to_string()
}

#[test]
fn every_batch_is_found_again() {
    for world in 1..4 {
        let sampler = sampler(8, world);
        for batch in 0..=sampler.batches() as u64 {
            assert_eq!(sampler.batch_of(&sampler.state(2, batch)).unwrap(), batch);
            assert_eq!(sampler.batch_of(&State::at(7, 2, batch)).unwrap(), batch);
        }
    }
}

#[test]
fn another_world_or_batch_size_goes_on_where_a_global_batch_begins() {
    let state = sampler(8, 2).state(0, 3);
    assert_eq!(state.position(), Some(48));
    for (batch_size, world, batch) in [(8, 1, 6), (8, 3, 2), (16, 1, 3), (4, 4, 3), (1, 1, 48), (12, 2, 2)] {
        let other = sampler(batch_size, world);
        assert_eq!(other.batch_of(&state).unwrap(), batch, "{batch_size} in world {world}");
        // All ranks together go on with the samples that were due.
        let rest = |batch_size, world, batch: u64| {
            let mut due: Vec<u64> = (0..world)
                .flat_map(|rank| {
                    let shard = sampler(batch_size, world).shard(rank, world).unwrap();
                    let order = shard.epoch(0);
                    (batch as usize..order.batches())
                        .flat_map(|batch| order.batch(batch).collect::<Vec<_>>())
                        .filter(|position| !position.padding)
                        .map(|position| position.global)
                        .collect::<Vec<_>>()
                })
                .collect();
            due.sort_unstable();
            due
        };
        assert_eq!(rest(8, 2, 3), rest(batch_size, world, batch), "{batch_size} in world {world}");
    }
}

#[test]
fn after_the_last_sample_comes_the_end_in_every_world() {
    let end = sampler(8, 2).state(0, 7);
    assert_eq!(end.position(), Some(112));
    for (batch_size, world) in [(8, 1), (9, 1), (50, 3)] {
        let other = sampler(batch_size, world);
        assert_eq!(other.batch_of(&end).unwrap(), other.batches() as u64);
    }
}

#[test]
fn orders_of_blocks_go_on_with_their_own_lanes_and_numbers_alone() {
    let blocks = Order::Blocks { samples: 4, window: 3 };
    let saved = sampler(4, 4).order(blocks).unwrap();
    let state = saved.state(2, 2);
    // Lanes are the world's unless they are set: another world has to name those of the first run.
    let error = refused(&sampler(8, 2).order(blocks).unwrap(), &state);
    assert_eq!(error, "lanes: the state was saved with 4 lanes, but the loader has 2 lanes; set lanes(4) to go on");
    assert_eq!(sampler(8, 2).lanes(4).unwrap().order(blocks).unwrap().batch_of(&state).unwrap(), 2);
    assert_eq!(sampler(8, 2).lanes(4).unwrap().order(blocks).unwrap().state(2, 2), state);
    let error = refused(&sampler(4, 4), &state);
    assert!(error.starts_with("order: the state was saved with blocks of 4 samples in windows of 3"), "{error}");
    assert!(error.ends_with("has all samples shuffled; set Order::Blocks { samples: 4, window: 3 } to go on"));
    let other = sampler(4, 4).order(Order::Blocks { samples: 4, window: 2 }).unwrap();
    assert!(refused(&other, &state).contains("but the loader has blocks of 4 samples in windows of 2"));
    let error = refused(&saved.clone().shuffle(false), &state);
    assert!(error.starts_with("shuffle: ") && error.contains("this one is in the order of the data set"), "{error}");
    let runs = saved.clone().shuffle(false).state(2, 2);
    assert_eq!(saved.clone().shuffle(false).batch_of(&runs).unwrap(), 2);
    assert!(refused(&sampler(4, 4).shuffle(false), &runs).starts_with("order: the state was saved with 4 lanes"));
    let plain = sampler(4, 4).shuffle(false).state(2, 2);
    assert!(refused(&saved.shuffle(false), &plain).starts_with("order: the state was saved with no lanes"));
}

#[test]
fn other_settings_are_refused_by_name() {
    let state = sampler(8, 2).state(0, 3);
    for (other, setting, words) in [
        (sampler(8, 2).seed(8), "seed: ", "saved with seed 7, but the loader has 8"),
        (sampler(8, 5), "shard: ", "global batches of 16; the nearest begin at 40 (batch 1) and 80 (batch 2)"),
        (sampler(8, 5), "shard: ", "choose a world that divides 48, such as 4,"),
        (sampler(10, 2), "batch_size: ", "no batch of 10 samples in world 2 begins at position 48"),
        (sampler(10, 2), "batch_size: ", "batches of 8 make the global batches of the state; choose batch_size(8)"),
        (sampler(10, 2), "batch_size: ", "the nearest begin at 40 (batch 2) and 60 (batch 3)"),
        (sampler(7, 3), "batch_size: ", "choose batch_size(4)"),
        (sampler(8, 2).shuffle(false), "shuffle: ", "an epoch shuffled, this one is in the order of the data set"),
        (sampler(8, 2).weights(&[1.0; 100]).unwrap(), "shuffle: ", "this one is chosen by weight"),
    ] {
        let error = refused(&other, &state);
        assert!(error.starts_with(setting) && error.contains(words), "{error}");
    }
    let longer = Sampler::new(101, 8).unwrap().seed(7).shuffle(true).shard(0, 2).unwrap();
    assert!(refused(&longer, &state).starts_with("dataset: the state was saved with 100 samples"));
    let end = sampler(8, 2).state(0, 7);
    let dropping = sampler(8, 2).last_batch(LastBatch::Drop).unwrap();
    assert!(refused(&dropping, &end).starts_with("last_batch: position 112 is after the end"));
    assert!(refused(&sampler(8, 2), &State::at(7, 0, 8)).starts_with("state: batch 8 is after the end"));
}

/// A state as a checkpoint has it, of 64 samples in the order of the data set.
fn written(numbers: &str) -> State {
    let text = format!(r#"{{"version":2,"seed":7,"epoch":0,"samples":64,"order":"sequential",{numbers}}}"#);
    serde_json::from_str(&text).unwrap()
}

#[test]
fn positions_that_no_epoch_has_are_refused() {
    let sampler = |batch_size| Sampler::new(64, batch_size).unwrap().seed(7);
    for (position, global_batch, words) in [
        (1_000_000_000, 8, "state: position 1000000000 is none of an epoch of 64 samples, which ends at position 64"),
        (72, 8, "state: position 72 is none of an epoch of 64 samples"),
        (65, 1, "ends at position 64 with the state's global_batch of 1"),
        (80, 10, "ends at position 70 with the state's global_batch of 10"),
        (u64::MAX, 8, "state: position 18446744073709551615"),
        (u64::MAX, u64::MAX - 1, "state: position 18446744073709551615"),
        // No batch of these ends there, although their epoch's last one ends later.
        (1_000_000_000, 3_000_000_000, "state: position 1000000000"),
        (65, 100, "ends at position 100"),
        (0, 0, "state: global_batch is 0"),
        (8, 0, "state: global_batch is 0"),
    ] {
        let state = written(&format!(r#""position":{position},"global_batch":{global_batch}"#));
        for batch_size in [1, 3, 8, 10, 64, 100] {
            let error = refused(&sampler(batch_size), &state);
            assert!(error.starts_with("state: ") && error.contains(words), "{batch_size}: {error}");
            let dropping = sampler(batch_size.min(64)).last_batch(LastBatch::Drop).unwrap();
            assert!(refused(&dropping, &state).contains(words));
        }
    }
    let old = r#"{"version":1,"seed":7,"epoch":0,"position":1000000000,"samples":64,"batch_size":4,"world":2,"order":"sequential"}"#;
    assert!(refused(&sampler(8), &serde_json::from_str(old).unwrap()).starts_with("state: position 1000000000"));
    // What no run writes, but is a place all the same.
    assert_eq!(sampler(8).batch_of(&written(r#""position":64,"global_batch":10"#)).unwrap(), 8);
}

#[test]
fn the_padded_end_of_an_epoch_is_its_end_for_every_batch_size() {
    for global_batch in [1, 7, 10, 64, 100, 1000] {
        let saved = Sampler::new(64, global_batch).unwrap().seed(7);
        let end = saved.state(0, saved.batches() as u64);
        assert_eq!(end.position(), Some((64_u64.div_ceil(global_batch as u64)) * global_batch as u64));
        for (batch_size, world) in [(1, 1), (3, 2), (8, 1), (64, 1), (100, 3)] {
            for last in [LastBatch::Partial, LastBatch::Pad] {
                let other = Sampler::new(64, batch_size).unwrap().seed(7).shard(0, world).unwrap();
                let other = other.last_batch(last).unwrap();
                assert_eq!(
                    other.batch_of(&end).unwrap(),
                    other.batches() as u64,
                    "{global_batch} {batch_size} {world}"
                );
            }
        }
    }
}

#[test]
fn the_last_epoch_of_all_has_no_end() {
    for state in [sampler(8, 1).state(u64::MAX, 0), sampler(8, 1).state(u64::MAX, 13), State::at(7, u64::MAX, 0)] {
        assert!(refused(&sampler(8, 1), &state).starts_with("epoch: 18446744073709551615; up to 18446744073709551614"));
    }
}
