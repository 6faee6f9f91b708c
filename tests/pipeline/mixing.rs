//! Mixed batches: each image is the formula of its own and its partner's image in a loader that mixes nothing, on every
//! executor, whatever the workers, queues, caches and restarts; a replay gives its bits.

use gpufeed::transforms::{
    BatchTransform, ColorJitter, CutMix, Identity, Mix, MixUp, Normalize, Params, Partner, RandomHorizontalFlip,
    RandomResizedCrop, Transform,
};
use gpufeed::{Backend, Cache, DType, DataLoader, DataLoaderBuilder, Label, LastBatch, Layout};
use gpufeed_testing::pipeline::{Place, Seen, assert_same, is_full, places, seen, small_files, within};
use half::{bf16, f16};

pub(crate) const SAMPLES: u32 = 11;
const SIDE: usize = 20;

/// Returns a list whose result bytes can hold, where they are asked for.
fn transforms(dtype: DType) -> Vec<Transform> {
    let mut list: Vec<Transform> = vec![
        RandomResizedCrop::new(SIDE as u32).into(),
        RandomHorizontalFlip::new(0.5).into(),
        ColorJitter::new(0.4, 0.4, 0.4, 0.1).into(),
    ];
    if dtype != DType::U8 {
        list.push(Normalize::IMAGENET.into());
    }
    list
}

/// Returns the settings of a loader whose third batch is incomplete.
fn plain() -> DataLoaderBuilder {
    of_type(DType::F32)
}

pub(crate) fn of_type(dtype: DType) -> DataLoaderBuilder {
    let builder = DataLoader::builder(small_files(SAMPLES)).recipe(transforms(dtype)).output(Layout::Nchw, dtype);
    builder.batch_size(4).shuffle(true).seed(7).workers(2)
}

/// Mixes batches by both transforms, and leaves some as they are.
fn choice() -> BatchTransform {
    let both = [MixUp::new(0.8).into(), CutMix::new(1.0).partner(Partner::Reversed).into(), Identity {}.into()];
    BatchTransform::choice(both).p([2.0, 2.0, 1.0]).into()
}

pub(crate) fn each_place(seconds: u64, test: fn(&Place)) {
    within(seconds, "all places", move || places().iter().for_each(test));
}

/// Returns the values of an image in its own type.
fn values(image: &[u8], dtype: DType) -> Vec<f32> {
    match dtype {
        DType::F32 => image.as_chunks::<4>().0.iter().map(|bytes| f32::from_ne_bytes(*bytes)).collect(),
        DType::F16 => image.as_chunks::<2>().0.iter().map(|bytes| f16::from_ne_bytes(*bytes).to_f32()).collect(),
        DType::BF16 => image.as_chunks::<2>().0.iter().map(|bytes| bf16::from_ne_bytes(*bytes).to_f32()).collect(),
        DType::U8 => image.iter().map(|byte| f32::from(*byte)).collect(),
    }
}

/// Whether the pixel of element `at` is in the rectangle.
fn is_inside(at: usize, layout: Layout, [top, left, height, width]: [u32; 4]) -> bool {
    let pixel = if layout == Layout::Nchw { at % (SIDE * SIDE) } else { at / 3 };
    let (y, x) = ((pixel / SIDE) as u32, (pixel % SIDE) as u32);
    (top..top + height).contains(&y) && (left..left + width).contains(&x)
}

/// Returns the formula's image.
fn formula(own: &[f32], partner: &[f32], mix: &Mix, layout: Layout) -> Vec<f32> {
    let pairs = own.iter().zip(partner).enumerate();
    let mixed = pairs.map(|(at, (own, partner))| match *mix {
        Mix::MixUp { lambda } => partner * (1.0 - lambda) as f32 + own * lambda as f32,
        Mix::CutMix { top, left, height, width, .. } => {
            if is_inside(at, layout, [top, left, height, width]) {
                *partner
            } else {
                *own
            }
        }
    });
    mixed.collect()
}

/// Returns the largest difference of a mixed batch from the formula, applied to the same batch of a loader that mixes
/// nothing; `None` if the batch is not mixed. `shift` counts further to another partner, 0 to the right one.
pub(crate) fn difference(
    mixed: &Seen,
    plain: &Seen,
    output: (Layout, DType),
    views: usize,
    shift: usize,
) -> Option<f32> {
    let (layout, dtype) = output;
    let samples = plain.ids.len() / views;
    let mut worst = None;
    for image in 0..plain.ids.len() {
        let own = values(plain.image(image), dtype);
        let expected = match &mixed.params[image].mixed {
            None => own,
            Some(with) => {
                let found = (0..plain.ids.len()).find(|other| {
                    other % views == image % views
                        && plain.ids[*other] == with.id
                        && plain.params[*other] == with.params
                });
                let partner = (found.expect("the partner is an image of the view") + shift * views) % (samples * views);
                let expected = formula(&own, &values(plain.image(partner), dtype), &with.mix, layout);
                worst = worst.or(Some(0.0));
                expected
            }
        };
        let found = values(mixed.image(image), dtype);
        for (found, expected) in found.into_iter().zip(expected) {
            // Blended bytes are rounded.
            let expected = if dtype == DType::U8 { expected.round_ties_even() } else { expected };
            let difference = (found - expected).abs();
            assert!(difference == 0.0 || worst.is_some(), "a batch that is not mixed stays as it is");
            worst = worst.map(|worst: f32| worst.max(difference));
        }
    }
    worst
}

/// Checks all but the pixels of a mixed batch.
fn check_parameters(mixed: &Seen, plain: &Seen, partner: Partner, views: usize) {
    assert!(mixed.ids == plain.ids && mixed.labels == plain.labels && mixed.valid == plain.valid);
    let samples = plain.ids.len() / views;
    for (image, params) in mixed.params.iter().enumerate() {
        assert_eq!(Params { mixed: None, ..params.clone() }, plain.params[image]);
        let with = params.mixed.as_ref().expect("it is mixed");
        let sample = match partner {
            Partner::Previous => (image / views + samples - 1) % samples,
            Partner::Reversed => samples - 1 - image / views,
        };
        let other = sample * views + image % views;
        assert_eq!(
            (with.id, with.index as u64, &with.params),
            (plain.ids[other], plain.ids[other], &plain.params[other])
        );
        // One mix a batch.
        assert_eq!(with.mix, mixed.params[0].mixed.as_ref().unwrap().mix);
    }
}

#[test]
fn mixed_batches_are_the_formula_of_the_others() {
    each_place(300, |place| {
        for (layout, dtype) in [
            (Layout::Nchw, DType::F32),
            (Layout::Nhwc, DType::F32),
            (Layout::Nhwc, DType::F16),
            (Layout::Nchw, DType::BF16),
            (Layout::Nchw, DType::U8),
        ] {
            for views in [1, 3] {
                let builder = || of_type(dtype).output(layout, dtype).views(views).last_batch(LastBatch::Pad);
                let others = seen(place.build(builder()).epoch(1).unwrap());
                for partner in [Partner::Previous, Partner::Reversed] {
                    let blends: BatchTransform = MixUp::new(1.0).partner(partner).into();
                    let cuts: BatchTransform = CutMix::new(1.0).partner(partner).into();
                    for transform in [blends, cuts] {
                        if dtype == DType::U8 && transform.name() == "MixUp" {
                            continue;
                        }
                        let what = format!("{}: {transform:?}, {layout:?} {dtype:?}, {views} views", place.name);
                        let mixed = seen(place.build(builder().batch_transform(transform.clone())).epoch(1).unwrap());
                        for (mixed, others) in mixed.iter().zip(&others) {
                            check_parameters(mixed, others, partner, views);
                            let difference = difference(mixed, others, (layout, dtype), views, 0).expect("mixed");
                            // Shaders may contract a multiplication and an addition; f16 has steps of up to 2^-9 here,
                            // and bf16 of 2^-6.
                            let allowed = match (transform.name(), dtype) {
                                ("MixUp", DType::F16) => 2f32.powi(-9),
                                ("MixUp", DType::BF16) => 2f32.powi(-6),
                                ("MixUp", DType::F32) if place.is_shaders() => 1e-6,
                                _ => 0.0,
                            };
                            assert!(difference <= allowed, "{what}: {difference}");
                        }
                        assert!(mixed.iter().zip(&others).any(|(mixed, others)| mixed.bytes != others.bytes), "{what}");
                    }
                }
            }
        }
    });
}

#[test]
fn the_formula_rejects_other_partners() {
    let output = (Layout::Nchw, DType::F32);
    let others = seen(plain().build(&Backend::Cpu).unwrap().epoch(1).unwrap());
    let mixed = seen(plain().batch_transform(MixUp::new(1.0)).build(&Backend::Cpu).unwrap().epoch(1).unwrap());
    for (mixed, others) in mixed.iter().zip(&others) {
        assert!(difference(mixed, others, output, 1, 1).unwrap() > 0.1);
    }
}

#[test]
fn workers_queues_caches_and_restarts_change_no_mix() {
    each_place(300, |place| {
        let builder = || plain().views(2).batch_transform(choice());
        let expected = seen(place.build(builder().workers(1)).epochs(1..4).unwrap());
        let kinds = expected.iter().map(|batch| batch.params[0].mixed.as_ref().map(|with| with.mix));
        let kinds: Vec<_> = kinds.collect();
        assert!(kinds.contains(&None), "{kinds:?}");
        assert!(kinds.iter().flatten().any(|mix| matches!(mix, Mix::MixUp { .. })), "{kinds:?}");
        assert!(kinds.iter().flatten().any(|mix| matches!(mix, Mix::CutMix { .. })), "{kinds:?}");
        let mut settings = vec![(2, 1, Cache::Off), (8, 4, Cache::Off), (2, 2, Cache::Host(1 << 20))];
        settings.push((2, 2, Cache::Device(64 << 20)));
        for (workers, depth, cache) in settings {
            let loader = place.build(builder().workers(workers).queue_depth(depth).cache(cache));
            let what = format!("{}, {workers} workers, queue of {depth}, {cache:?}", place.name);
            assert_same(&expected, &seen(loader.epochs(1..4).unwrap()), &what);
            assert_same(&expected, &seen(loader.epochs(1..4).unwrap()), &format!("{what}, again"));
            let mut run = loader.epochs(1..4).unwrap();
            run.next().unwrap().unwrap();
            let state = run.state();
            drop(run);
            assert_same(&expected[1..], &seen(loader.resume_until(&state, 4).unwrap()), &format!("{what}, resumed"));
        }
        let other = seen(place.build(builder().seed(8)).epochs(1..4).unwrap());
        assert!(
            expected
                .iter()
                .zip(&other)
                .all(|(a, b)| a.params[0].mixed != b.params[0].mixed || a.params[0].mixed.is_none())
        );
    });
}

#[test]
fn a_replay_of_a_mixed_image_has_the_batchs_bits() {
    each_place(300, |place| {
        let mut data = small_files(SAMPLES);
        data.push_encoded(b"\xff\xd8\xff no image".to_vec(), Label::Class(99)).unwrap();
        for (dtype, transform) in [
            (DType::F32, MixUp::new(0.8).into()),
            (DType::F32, MixUp::new(0.8).partner(Partner::Reversed).into()),
            (DType::F16, choice()),
            (DType::BF16, MixUp::new(0.8).into()),
            (DType::U8, BatchTransform::from(CutMix::new(1.0))),
        ] {
            let builder =
                DataLoader::builder(data.clone()).recipe(transforms(dtype)).batch_size(5).seed(3).shuffle(true);
            let builder = builder.views(2).output(Layout::Nhwc, dtype);
            let others = place.build(builder.clone());
            let loader = place.build(builder.batch_transform(transform.clone()));
            let mut failures = 0;
            for batch in seen(loader.epoch(0).unwrap()) {
                failures += batch.failures.len();
                let step = if is_full() { 1 } else { 3 };
                for (image, params) in batch.params.iter().enumerate().step_by(step) {
                    let json = serde_json::to_string(params).unwrap();
                    let params: Params = serde_json::from_str(&json).unwrap();
                    let again = loader.replay(batch.ids[image] as usize, &params).unwrap();
                    assert!(again == batch.image(image), "{}: {transform:?} {dtype:?}, image {image}", place.name);
                    // The parameters say all, so a loader that mixes nothing replays them as well.
                    let again = others.replay(batch.ids[image] as usize, &params).unwrap();
                    assert!(again == batch.image(image), "{}: {dtype:?}, image {image}, not mixing", place.name);
                }
            }
            assert_eq!(failures, 1, "the broken sample was replaced");
        }
    });
}

#[test]
fn a_batch_of_one_mixes_with_itself() {
    each_place(120, |place| {
        for partner in [Partner::Previous, Partner::Reversed] {
            let others = seen(place.build(plain().batch_size(1)).epoch(0).unwrap());
            for transform in
                [BatchTransform::from(MixUp::new(1.0).partner(partner)), CutMix::new(1.0).partner(partner).into()]
            {
                let loader = place.build(plain().batch_size(1).batch_transform(transform));
                for (mixed, other) in seen(loader.epoch(0).unwrap()).iter().zip(&others) {
                    check_parameters(mixed, other, partner, 1);
                    assert!(
                        difference(mixed, other, (Layout::Nchw, DType::F32), 1, 0).unwrap() <= 1e-6,
                        "{}",
                        place.name
                    );
                }
            }
        }
    });
}

#[test]
fn labels_are_shared_by_lambda() {
    let loader = plain().views(2).batch_transform(MixUp::new(1.0)).build(&Backend::Cpu).unwrap();
    for batch in loader.epoch(0).unwrap() {
        let batch = batch.unwrap();
        let (classes, mixed) = (batch.classes().unwrap(), batch.mixed().unwrap());
        let soft = batch.soft_labels(SAMPLES as usize).unwrap();
        for (image, (own, partner, lambda)) in mixed.into_iter().enumerate() {
            let other = (image + batch.len() - 2) % batch.len();
            assert_eq!((own, partner), (classes[image], classes[other]));
            assert_eq!(lambda, batch.params()[image].mixed.as_ref().unwrap().mix.lambda());
            let row = &soft[image * SAMPLES as usize..][..SAMPLES as usize];
            assert!((row.iter().sum::<f32>() - 1.0).abs() < 1e-6);
            assert_eq!((row[own as usize], row[partner as usize]), (lambda as f32, (1.0 - lambda) as f32));
        }
        let most = *classes.iter().max().unwrap() as usize;
        let error = batch.soft_labels(most).unwrap_err().to_string();
        assert_eq!(error, format!("num_classes: {most}, but a sample has class {most}; {} or more work", most + 1));
    }
    let plain = plain().build(&Backend::Cpu).unwrap().epoch(0).unwrap().next().unwrap().unwrap();
    assert!(plain.mixed().unwrap().iter().all(|(own, partner, lambda)| own == partner && *lambda == 1.0));
    let soft = plain.soft_labels(SAMPLES as usize).unwrap();
    assert_eq!(soft.iter().filter(|share| **share == 1.0).count(), 4);
    assert_eq!(soft.iter().sum::<f32>(), 4.0);
}
