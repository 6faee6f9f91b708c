//! Lists with warps, policies and 8-bit numbers by shaders: the same batches whatever the workers, the slots, the cache
//! and the other images, and those of the CPU executor.

use super::policies::{self, builder};
use gpufeed::transforms::{Params, Transform};
use gpufeed::{Backend, Cache, Semantics};
use gpufeed_testing::pipeline::{assert_same, places, seen, within};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The lists that have shaders.
fn lists() -> Vec<(Semantics, Vec<Transform>)> {
    policies::lists().into_iter().take(3).collect()
}

/// wgpu calls an OpenGL context that another thread uses for long, to compile shaders, a deadlock.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

#[test]
fn every_way_gives_the_same_batches() {
    let _alone = alone();
    within(600, "every list by shaders", || {
        for list in lists() {
            for place in places().iter().filter(|place| place.is_shaders()) {
                let run = |builder| seen(place.build(builder).epochs(1..3).unwrap());
                let expected = run(builder(&list).workers(1));
                for (workers, depth) in [(2, 1), (8, 4)] {
                    let what = format!("{}, {workers} workers, {:?}", place.name, list.0);
                    assert_same(&expected, &run(builder(&list).workers(workers).queue_depth(depth)), &what);
                }
                for (what, cache) in [("host cache", Cache::Host(64 << 20)), ("device cache", Cache::Device(64 << 20))]
                {
                    let loader = place.build(builder(&list).cache(cache));
                    // The second run reads what the first one cached.
                    for _ in 0..2 {
                        let batches = seen(loader.epochs(1..3).unwrap());
                        assert_same(&expected, &batches, &format!("{}, {what}, {:?}", place.name, list.0));
                    }
                }
            }
        }
    });
}

#[test]
fn batches_are_those_of_the_cpu_executor() {
    let _alone = alone();
    for list in lists() {
        let expected = seen(builder(&list).build(&Backend::Cpu).unwrap().epoch(3).unwrap());
        let far = if list.0 == Semantics::Uint8 { 1e-6 } else { 1e-4 };
        for place in places().iter().filter(|place| place.is_shaders()) {
            let batches = seen(place.build(builder(&list)).epoch(3).unwrap());
            let pairs = expected.iter().zip(&batches).flat_map(|(a, b)| a.floats().into_iter().zip(b.floats()));
            let (mut different, mut values) = (0, 0);
            for (a, b) in pairs {
                values += 1;
                different += usize::from((a - b).abs() > far);
            }
            // Positions of warps are f32 on the GPU: where one lies between two pixels or a value between two numbers, the
            // other one may be taken, and a table of the image may then move all of its values.
            assert!(different * 200 < values, "{}: {different} of {values}, {:?}", place.name, list.0);
            assert!(values > 40_000);
        }
    }
}

#[test]
fn parameters_replay_each_image() {
    let _alone = alone();
    for list in lists() {
        for place in places().iter().filter(|place| place.is_shaders()) {
            let loader = place.build(builder(&list).views(2));
            let batch = loader.epoch(5).unwrap().next().unwrap().unwrap();
            let bytes = batch.to_host().unwrap();
            let image = bytes.len() / batch.ids().len();
            for (i, params) in batch.params().iter().enumerate() {
                let params: Params = serde_json::from_str(&serde_json::to_string(params).unwrap()).unwrap();
                let again = loader.replay(batch.ids()[i] as usize, &params).unwrap();
                assert!(again == bytes[i * image..][..image], "{}, image {i}: {params:?}", place.name);
            }
        }
    }
}

/// The same sample has the same bits in a batch of one and among other samples with other operations.
#[test]
fn an_image_does_not_depend_on_its_neighbours() {
    let _alone = alone();
    for list in lists() {
        for place in places().iter().filter(|place| place.is_shaders()) {
            let run = |size| seen(place.build(builder(&list).shuffle(false).batch_size(size)).epoch(2).unwrap());
            let (together, alone) = (run(8), run(1));
            for (i, one) in alone.iter().enumerate() {
                assert!(together[i / 8].image(i % 8) == one.image(0), "{}, sample {i}", place.name);
            }
        }
    }
}
