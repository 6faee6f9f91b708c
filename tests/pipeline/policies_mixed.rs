//! Batches of policies and warps that are also mixed: the same bits, λ and partners whatever the workers, queues, slots,
//! caches and restarts; replays of mixed images; a head in 8-bit numbers is cached in bytes.

use gpufeed::transforms::{
    AutoAugment, BatchTransform, CutMix, GaussianBlur, Identity, MixUp, Normalize, Params, Partner, RandAugment,
    RandomAffine, RandomChoice, RandomErasing, RandomOrder, RandomResizedCrop, Resize, ToDtype, Transform,
    TrivialAugmentWide,
};
use gpufeed::{Backend, Cache, DataLoader, DataLoaderBuilder, InMemory, Semantics};
use gpufeed_testing::pipeline::{Seen, assert_same, places, seen, small_files, within};
use std::sync::LazyLock;

static FILES: LazyLock<InMemory> = LazyLock::new(|| small_files(22));

fn list() -> Vec<Transform> {
    let order: [Transform; 3] = [
        RandAugment::new(2, 12).into(),
        GaussianBlur::new(7).into(),
        RandomAffine::new(20.0).translate(0.1, 0.2).scale(0.7, 1.3).into(),
    ];
    vec![
        Resize::new(40).into(),
        RandomResizedCrop::new(24).into(),
        RandomChoice::new([Transform::from(TrivialAugmentWide::new()), AutoAugment::default().into()]).into(),
        RandomOrder::new(order).into(),
        ToDtype::new().into(),
        Normalize::IMAGENET.into(),
        RandomErasing::new(0.3).into(),
    ]
}

fn builder(semantics: Semantics) -> DataLoaderBuilder {
    let mix = [MixUp::new(0.8).into(), CutMix::new(1.0).partner(Partner::Reversed).into(), Identity {}.into()];
    let builder = DataLoader::builder(FILES.clone()).recipe(list()).semantics(semantics);
    let builder = builder.batch_transform(BatchTransform::choice(mix).p([2.0, 2.0, 1.0]));
    builder.batch_size(4).shuffle(true).seed(23).workers(2)
}

fn expected(semantics: Semantics) -> Vec<Seen> {
    let batches = seen(builder(semantics).workers(1).build(&Backend::Cpu).unwrap().epochs(1..3).unwrap());
    let mixed = batches.iter().flat_map(|batch| &batch.params).filter(|params| params.mixed.is_some()).count();
    assert!(mixed > 20 && mixed < 44, "{mixed} of 44 are mixed");
    batches
}

const BOTH: [Semantics; 2] = [Semantics::Float, Semantics::Uint8];

#[test]
fn every_setting_gives_the_same_batches() {
    within(240, "settings", || {
        for semantics in BOTH {
            let expected = expected(semantics);
            for place in places().iter().filter(|place| !place.is_shaders()) {
                for (workers, depth, slot_bytes) in [(1, 3, 16 << 20), (2, 1, 40 << 20), (8, 4, 24 << 20)] {
                    let builder = builder(semantics).workers(workers).queue_depth(depth).slot_bytes(slot_bytes);
                    let what = format!("{}, {semantics:?}, {workers} workers, depth {depth}", place.name);
                    assert_same(&expected, &seen(place.build(builder).epochs(1..3).unwrap()), &what);
                }
            }
            // Another seed gives other batches, so the comparison can fail.
            let other = seen(builder(semantics).seed(24).build(&Backend::Cpu).unwrap().epochs(1..3).unwrap());
            assert!(other.iter().zip(&expected).all(|(other, expected)| other.bytes != expected.bytes));
        }
    });
}

#[test]
fn a_resumed_epoch_goes_on_with_the_same_bits() {
    within(120, "resumed", || {
        for semantics in BOTH {
            let expected = expected(semantics);
            let loader = builder(semantics).build(&Backend::Cpu).unwrap();
            for taken in [1, 3, 8] {
                let mut run = loader.epochs(1..3).unwrap();
                run.by_ref().take(taken).for_each(|batch| drop(batch.unwrap()));
                let state = run.state();
                drop(run);
                let other = builder(semantics).workers(3).cache(Cache::Host(1 << 20)).build(&Backend::Cpu).unwrap();
                let rest = seen(other.resume_until(&state, 3).unwrap());
                assert_same(&expected[taken..], &rest, &format!("{semantics:?}, after {taken}"));
            }
        }
    });
}

#[test]
fn a_cached_head_changes_no_bit() {
    within(120, "cached", || {
        for semantics in BOTH {
            let expected = expected(semantics);
            for limit in [64 << 20, 20 << 10] {
                let loader = builder(semantics).cache(Cache::Host(limit)).build(&Backend::Cpu).unwrap();
                // The second run reads what the first one cached.
                for _ in 0..2 {
                    assert_same(&expected, &seen(loader.epochs(1..3).unwrap()), &format!("{semantics:?}, {limit}"));
                }
                let (samples, bytes) = loader.cached();
                assert_eq!(samples == 22, limit > 1 << 20, "{samples}");
                if semantics == Semantics::Uint8 && samples == 22 {
                    // The short sides are 40 pixels, the long ones at most 3 · 40.
                    assert!(bytes < 22 * 40 * 120 * 4, "{bytes}");
                    assert!(loader.explain().contains("bytes"), "{}", loader.explain());
                }
            }
        }
    });
}

#[test]
fn mixed_images_replay_from_json_with_their_partners() {
    for semantics in BOTH {
        let loader = builder(semantics).views(2).build(&Backend::Cpu).unwrap();
        let mut mixed = 0;
        for batch in seen(loader.epoch(1).unwrap()) {
            for (i, params) in batch.params.iter().enumerate() {
                let params: Params = serde_json::from_str(&serde_json::to_string(params).unwrap()).unwrap();
                mixed += usize::from(params.mixed.is_some());
                let again = loader.replay(batch.ids[i] as usize, &params).unwrap();
                assert!(again == batch.image(i), "{semantics:?}, image {i}: {params:?}");
            }
        }
        assert!(mixed > 10, "{mixed}");
    }
}
