//! Tests of the user's own code between the transforms: what it gets, what goes on behind it, and what it may not do.

use gpufeed::transforms::{
    CenterCrop, ColorJitter, FiveCrop, Grayscale, HostCode, HostImage, HostValues, Key, Normalize, Numbers, Op,
    RandomApply, RandomCrop, RandomHorizontalFlip, RandomResizedCrop, Resize, ToDtype, Transform,
};
use gpufeed::{
    Backend, Cache, DType, DataLoader, DataLoaderBuilder, Error, ErrorKind, InMemory, Label, OnError, Output,
    PixelFormat, Plan, Semantics, Views,
};
use gpufeed_testing::pipeline::{Place, Seen, assert_same, places, seen, small_files, within};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

fn code(
    function: impl Fn(HostImage, &Key, &mut Numbers) -> gpufeed::Result<HostImage> + Send + Sync + 'static,
) -> HostCode {
    HostCode::new("own", function)
}

fn nothing() -> HostCode {
    code(|image, _, _| Ok(image))
}

/// Adds a random level, or a random float.
fn lift() -> HostCode {
    code(|mut image, _, numbers| {
        let by = numbers.below(40);
        match image.values_mut() {
            HostValues::U8(values) => values.iter_mut().for_each(|value| *value = value.saturating_add(by as u8)),
            HostValues::F32(values) => values.iter_mut().for_each(|value| *value += by as f32 / 255.0),
            _ => unreachable!(),
        }
        Ok(image)
    })
}

fn builder(semantics: Semantics, list: &[Transform]) -> DataLoaderBuilder {
    let builder = DataLoader::builder(small_files(23)).semantics(semantics).batch_size(5).seed(3);
    list.iter().cloned().fold(builder, DataLoaderBuilder::transform)
}

/// The places whose workers augment: shaders call no code.
fn on_workers() -> impl Iterator<Item = &'static Place> {
    places().iter().filter(|place| !place.is_shaders())
}

fn epoch(loader: &DataLoader, number: u64) -> Vec<Seen> {
    seen(loader.epoch(number).unwrap())
}

/// The batches without what their parameters say, which end at the code.
fn images(batches: &[Seen]) -> Vec<Vec<u8>> {
    batches.iter().map(|batch| batch.bytes.clone()).collect()
}

#[test]
fn code_that_does_nothing_changes_no_byte_wherever_it_stands() {
    within(120, "identities", || {
        let list: Vec<Transform> = vec![
            RandomResizedCrop::new(24).into(),
            RandomHorizontalFlip::new(0.5).into(),
            ColorJitter::new(0.4, 0.4, 0.4, 0.1).into(),
            RandomCrop::new(20).into(),
            Normalize::IMAGENET.into(),
        ];
        for at in 0..=list.len() {
            // The others draw by their places, so a flip that never flips stands in the code's.
            let with = |transform: Transform| {
                let mut list = list.clone();
                list.insert(at, transform);
                list
            };
            let (code, flip) = (with(nothing().into()), with(RandomHorizontalFlip::new(0.0).into()));
            let expected = epoch(&builder(Semantics::Uint8, &flip).build(&Backend::Cpu).unwrap(), 1);
            for place in on_workers() {
                let found = epoch(&place.build(builder(Semantics::Uint8, &code)), 1);
                assert!(images(&found) == images(&expected), "{}, at {at}", place.name);
            }
        }
    });
}

#[test]
fn floats_go_on_as_floats() {
    let list = |code: Transform| -> [Transform; 4] {
        [RandomResizedCrop::new(24).into(), ToDtype::default().into(), code, Normalize::IMAGENET.into()]
    };
    for semantics in [Semantics::Uint8, Semantics::Float] {
        let plain = epoch(&builder(semantics, &list(ToDtype::default().into())).build(&Backend::Cpu).unwrap(), 0);
        let floats = code(|image, _, _| {
            assert!(matches!(image.values(), HostValues::F32(_)));
            Ok(image)
        });
        let with_code = epoch(&builder(semantics, &list(floats.into())).build(&Backend::Cpu).unwrap(), 0);
        for (plain, found) in plain.iter().zip(&with_code) {
            let most = plain.floats().iter().zip(found.floats()).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
            assert!(most < 3e-6, "{semantics:?}: {most}");
        }
    }
    // After Normalize, numbers are beyond 0 to 1.
    let seen_below_zero = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&seen_below_zero);
    let doubled = code(move |mut image, _, _| {
        let HostValues::F32(values) = image.values_mut() else { panic!("bytes") };
        counted.fetch_add(values.iter().filter(|value| **value < 0.0).count() as u64, Ordering::Relaxed);
        values.iter_mut().for_each(|value| *value *= 2.0);
        Ok(image)
    });
    let normalized: [Transform; 2] = [CenterCrop::new(16).into(), Normalize::IMAGENET.into()];
    let plain = epoch(&builder(Semantics::Uint8, &normalized).build(&Backend::Cpu).unwrap(), 0);
    let list = [&normalized[..], &[doubled.into()]].concat();
    let found = epoch(&builder(Semantics::Uint8, &list).build(&Backend::Cpu).unwrap(), 0);
    for (plain, found) in plain.iter().zip(&found) {
        assert!(plain.floats().iter().map(|value| value * 2.0).eq(found.floats()));
    }
    assert!(seen_below_zero.load(Ordering::Relaxed) > 0);
}

/// Cuts the first row and the first column off, and turns the rest by a quarter.
fn smaller_and_turned() -> HostCode {
    code(|image, _, _| {
        let HostValues::U8(values) = image.values() else { panic!("floats") };
        let (w, h, c) = (image.width() as usize, image.height() as usize, image.channels() as usize);
        let mut turned = Vec::new();
        for x in 1..w {
            for y in 1..h {
                turned.extend_from_slice(&values[c * (y * w + x)..][..c]);
            }
        }
        HostImage::new(h as u32 - 1, w as u32 - 1, image.channels(), HostValues::U8(turned))
    })
}

#[test]
fn an_image_of_another_size_goes_on() {
    let list: [Transform; 3] = [Resize::new((20, 31)).into(), smaller_and_turned().into(), CenterCrop::new(18).into()];
    let output = Output { dtype: DType::U8, ..Output::default() };
    let plain = |transform: Transform| {
        let list = [Resize::new((20, 31)).into(), transform];
        epoch(&builder(Semantics::Uint8, &list).output(output.layout, output.dtype).build(&Backend::Cpu).unwrap(), 0)
    };
    let whole = plain(CenterCrop::new((20, 31)).into());
    let found =
        epoch(&builder(Semantics::Uint8, &list).output(output.layout, output.dtype).build(&Backend::Cpu).unwrap(), 0);
    for (whole, found) in whole.iter().zip(&found) {
        for image in 0..found.ids.len() {
            let (whole, found) = (whole.image(image), found.image(image));
            for c in 0..3 {
                for y in 0..18 {
                    for x in 0..18 {
                        // 19 columns and 30 rows are left, of which the crop takes the middle.
                        let (row, column) = (1 + x, 1 + y + 6);
                        assert_eq!(found[(c * 18 + y) * 18 + x], whole[(c * 20 + row) * 31 + column], "{c} {y} {x}");
                    }
                }
            }
        }
    }
}

#[test]
fn batches_are_the_same_for_any_number_of_workers_and_where_a_run_goes_on() {
    within(120, "workers", || {
        let list: [Transform; 5] = [
            RandomResizedCrop::new(24).into(),
            lift().into(),
            RandomHorizontalFlip::new(0.5).into(),
            lift().into(),
            Normalize::IMAGENET.into(),
        ];
        let build = |workers| builder(Semantics::Uint8, &list).workers(workers).shuffle(true).views(2);
        let expected: Vec<Seen> = (0..2).flat_map(|e| epoch(&build(1).build(&Backend::Cpu).unwrap(), e)).collect();
        for place in on_workers() {
            for workers in [1, 2, 7] {
                let loader = place.build(build(workers));
                let found = seen(loader.epochs(0..2).unwrap());
                assert_same(&expected, &found, &format!("{}, {workers} workers", place.name));
                let state = loader.sampler().state(0, 3);
                assert_same(&expected[3..], &seen(loader.resume_until(&state, 2).unwrap()), "resumed");
            }
        }
        // Views and epochs differ.
        let first = &expected[0];
        assert!(first.image(0) != first.image(1) && expected[0].bytes != expected[5].bytes);
    });
}

#[test]
fn random_numbers_are_those_of_the_view_and_the_place() {
    let numbers = Arc::new(std::sync::Mutex::new(Vec::new()));
    let record = |place: u64| {
        let numbers = Arc::clone(&numbers);
        code(move |image, key, own| {
            numbers.lock().unwrap().push((key.sample, key.epoch, key.view, place, own.below(1 << 60)));
            Ok(image)
        })
    };
    let list: [Transform; 3] = [CenterCrop::new(8).into(), record(0).into(), record(1).into()];
    let run = |workers| {
        numbers.lock().unwrap().clear();
        let loader = builder(Semantics::Uint8, &list).views(2).workers(workers).build(&Backend::Cpu).unwrap();
        assert_eq!(seen(loader.epochs(0..2).unwrap()).len(), 10);
        let mut found = numbers.lock().unwrap().clone();
        found.sort_unstable();
        found
    };
    let found = run(1);
    assert_eq!(found.len(), 23 * 2 * 2 * 2);
    assert_eq!(found, run(4));
    let drawn: std::collections::HashSet<u64> = found.iter().map(|each| each.4).collect();
    assert_eq!(drawn.len(), found.len(), "two calls have drawn the same");
}

#[test]
fn a_replay_calls_the_code_again() {
    let list: [Transform; 4] = [
        RandomResizedCrop::new(24).into(),
        lift().into(),
        RandomHorizontalFlip::new(0.5).into(),
        RandomCrop::new(20).into(),
    ];
    for place in on_workers() {
        let loader = place.build(builder(Semantics::Uint8, &list));
        for batch in epoch(&loader, 2) {
            for (image, (id, params)) in batch.ids.iter().zip(&batch.params).enumerate() {
                let Some(Op::HostCode { key }) = params.ops.last().map(|op| &op.op) else { panic!("{params:?}") };
                assert_eq!((key.epoch, key.sample, key.seed), (2, *id, 3));
                assert!(loader.replay(*id as usize, params).unwrap() == batch.image(image), "{}", place.name);
                let mut cut = params.clone();
                cut.ops.pop();
                let error = loader.replay(*id as usize, &cut).unwrap_err().to_string();
                assert!(error.contains("lack the op of the plan's own code"), "{error}");
                let json = serde_json::to_string(params).unwrap();
                assert_eq!(serde_json::from_str::<gpufeed::transforms::Params>(&json).unwrap(), *params);
            }
        }
    }
}

#[test]
fn a_cache_stores_what_stands_before_the_code() {
    let calls = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&calls);
    let counting = code(move |image, _, _| {
        counted.fetch_add(1, Ordering::Relaxed);
        Ok(image)
    });
    for (semantics, in_bytes) in [(Semantics::Uint8, false), (Semantics::Float, false), (Semantics::Float, true)] {
        let list: [Transform; 5] = [
            Resize::new((28, 28)).into(),
            CenterCrop::new(24).into(),
            counting.clone().into(),
            lift().into(),
            RandomCrop::new(20).into(),
        ];
        let build = |cache| builder(semantics, &list).cache(cache).cache_in_bytes(in_bytes && cache != Cache::Off);
        let plain = build(Cache::Off).build(&Backend::Cpu).unwrap();
        for place in on_workers() {
            let cached = place.build(build(Cache::Host(1 << 30)));
            assert!(cached.explain().contains("after Resize + CenterCrop") || in_bytes, "{}", cached.explain());
            for number in 0..3 {
                let before = calls.load(Ordering::Relaxed);
                let found = epoch(&cached, number);
                assert_eq!(calls.load(Ordering::Relaxed) - before, 23, "code is called in every epoch");
                if !in_bytes {
                    assert!(images(&epoch(&plain, number)) == images(&found), "{}, {semantics:?}", place.name);
                }
            }
            assert_eq!(cached.cached().0, 23);
        }
    }
}

#[test]
fn gray_images_have_one_channel() {
    let mut data = InMemory::new();
    for level in 0..6u8 {
        data.push_pixels(9, 7, PixelFormat::R8, vec![level * 40; 63], Label::None).unwrap();
    }
    let data = Arc::new(data);
    let inverted = code(|mut image, _, _| {
        assert_eq!(image.channels(), 1);
        let HostValues::U8(values) = image.values_mut() else { panic!("floats") };
        assert_eq!(values.len(), 25);
        values.iter_mut().for_each(|value| *value = 255 - *value);
        Ok(image)
    });
    let build = |after: &[Transform]| {
        let builder = DataLoader::builder(Arc::clone(&data)).semantics(Semantics::Uint8).batch_size(6);
        let builder = builder.transform(CenterCrop::new(5)).transform(inverted.clone());
        let loader = after.iter().cloned().fold(builder, DataLoaderBuilder::transform).build(&Backend::Cpu).unwrap();
        epoch(&loader, 0).remove(0)
    };
    let gray = build(&[]);
    assert_eq!(gray.shape, [6, 1, 5, 5]);
    for (level, values) in (0u8..6).zip(gray.floats().chunks(25)) {
        let expected = f32::from(255 - level * 40) / 255.0;
        assert!(values.iter().all(|value| (value - expected).abs() < 1e-6), "{level}: {values:?}");
    }
    assert_eq!(build(&[Grayscale::new(3).into()]).shape, [6, 3, 5, 5]);
}

/// The error of the first sample that fails.
fn failure(list: &[Transform], output: Output) -> Error {
    let loader = builder(Semantics::Uint8, list)
        .output(output.layout, output.dtype)
        .on_error(OnError::Fail)
        .build(&Backend::Cpu)
        .unwrap();
    let error = loader.epoch(0).unwrap().find_map(Result::err).unwrap();
    let ErrorKind::Sample { source, .. } = error.into_kind() else { panic!() };
    assert!(matches!(source.kind(), ErrorKind::HostCode { name, .. } if name == "own"), "{source}");
    source
}

fn returning(width: u32, height: u32, channels: u32, value: Option<u8>) -> HostCode {
    code(move |_, _, _| {
        let count = (width * height * channels) as usize;
        let values = match value {
            Some(value) => HostValues::U8(vec![value; count]),
            None => HostValues::F32(vec![0.5; count]),
        };
        HostImage::new(width, height, channels, values)
    })
}

#[test]
fn what_cannot_go_on_fails_with_the_name_of_the_code() {
    let (floats, bytes) = (Output::default(), Output { dtype: DType::U8, ..Output::default() });
    let crop: Transform = CenterCrop::new(8).into();
    let cases: [(&[Transform], Output, &str); 6] = [
        (
            &[crop.clone(), returning(9, 8, 3, Some(1)).into()],
            floats,
            "own: returned 9x8 pixels, but all images of a batch have 8x8",
        ),
        (
            &[crop.clone(), returning(9, 8, 3, Some(1)).into(), RandomHorizontalFlip::new(0.5).into()],
            floats,
            "returned 9x8 pixels, of which RandomHorizontalFlip and what follows make 9x8, not 8x8; return images of one size",
        ),
        (&[crop.clone(), returning(8, 8, 1, Some(1)).into()], floats, "returned an image of 1 channels; it got 3"),
        (&[crop.clone(), returning(8, 8, 3, None).into()], bytes, "returned floats, but batches have 8-bit numbers"),
        (
            &[crop.clone(), returning(8, 9, 3, None).size((8, 8)).into()],
            floats,
            "returned 8x9 pixels, but said that all images have 8x8",
        ),
        (
            &[
                crop.clone(),
                code(|mut image, _, _| {
                    *image.values_mut() = HostValues::U8(vec![0; 3]);
                    Ok(image)
                })
                .into(),
            ],
            floats,
            "values: 3; an image of 8x8 with 3 channels has 192",
        ),
    ];
    for (list, output, text) in cases {
        let error = failure(list, output).to_string();
        assert!(error.contains(text), "{error}");
    }
    // Floats work where the output has floats, also in front of Normalize alone.
    let made = [crop.clone(), returning(8, 8, 3, None).into(), Normalize::new([0.5; 3], [0.5; 3]).into()];
    let found = epoch(&builder(Semantics::Uint8, &made).build(&Backend::Cpu).unwrap(), 0);
    assert!(found.iter().all(|batch| batch.floats().iter().all(|value| *value == 0.0)));
    // The size that code says is that of the batch.
    let sized = [returning(6, 5, 3, Some(1)).size((5, 6)).into()];
    assert_eq!(epoch(&builder(Semantics::Uint8, &sized).build(&Backend::Cpu).unwrap(), 0)[0].shape, [5, 3, 5, 6]);
    let error = builder(Semantics::Uint8, &[returning(6, 5, 3, Some(1)).into()]).build(&Backend::Cpu).unwrap_err();
    assert!(error.to_string().contains("images of a batch must have one size"), "{error}");
}

#[test]
fn an_error_of_the_code_is_that_of_the_sample() {
    let failing = |fatal: bool| {
        code(move |image, key, _| match key.sample {
            7 if fatal => Err(ErrorKind::Fatal { source: "wrong from the ground up".into() }.into()),
            7 => Err(ErrorKind::Foreign { source: "not this one".into() }.into()),
            _ => Ok(image),
        })
    };
    let list = |fatal| [CenterCrop::new(8).into(), failing(fatal).into()];
    for place in on_workers() {
        let skipping = place.build(builder(Semantics::Uint8, &list(false)).on_error(OnError::Skip { max_share: 0.5 }));
        let failures: Vec<_> = epoch(&skipping, 0).into_iter().flat_map(|batch| batch.failures).collect();
        assert_eq!(failures.len(), 1);
        assert_eq!((failures[0].1, failures[0].3.as_str()), (7, "own: not this one"));
        let ended = place.build(builder(Semantics::Uint8, &list(true)).on_error(OnError::Skip { max_share: 0.5 }));
        let error = ended.epoch(0).unwrap().find_map(Result::err).unwrap().to_string();
        assert!(error.ends_with("wrong from the ground up"), "{error}");
    }
}

#[test]
fn lists_that_cannot_have_code_are_refused() {
    let refused = |list: &[Transform]| Plan::compile(list, &Output::default()).unwrap_err().to_string();
    let inside = refused(&[RandomApply::new(0.5, [Transform::from(nothing())]).into()]);
    assert!(inside.contains("own code stands inside RandomApply; put it into the list itself"), "{inside}");
    let crops = refused(&[nothing().into(), FiveCrop::new(8).into()]);
    assert!(crops.contains("own code and FiveCrop or TenCrop stand in one list"), "{crops}");
    let after = refused(&[FiveCrop::new(8).into(), nothing().into()]);
    assert!(after.contains("HostCode (transform 2) comes after FiveCrop"), "{after}");
    let none = refused(&[nothing().size((0, 5)).into()]);
    assert!(none.contains("size: 0x5 has no pixels"), "{none}");
    let wrong_after = refused(&[nothing().into(), Normalize::new([0.5; 3], [0.0; 3]).into()]);
    assert!(wrong_after.contains("std"), "{wrong_after}");
    let op = Plan::fixed(3, &[Op::HostCode { key: Key::default() }], &Output::default()).unwrap_err().to_string();
    assert!(op.contains("own code has no function in an op"), "{op}");
    let groups = DataLoader::builder(small_files(4))
        .group("first", Views::new(1).transform(CenterCrop::new(8)).transform(nothing()))
        .group("mask", Views::new(1).follows("first"));
    let follows = groups.build(&Backend::Cpu).unwrap_err().to_string();
    assert!(follows.contains("own code of the other group may move pixels"), "{follows}");
    for place in places().iter().filter(|place| place.is_shaders()) {
        let error = place.try_build(builder(Semantics::Uint8, &[CenterCrop::new(8).into(), nothing().into()]));
        assert!(error.unwrap_err().to_string().contains("there are no shaders for HostCode"));
    }
    // No recipe file has it.
    let loader =
        builder(Semantics::Uint8, &[CenterCrop::new(8).into(), nothing().into()]).build(&Backend::Cpu).unwrap();
    let error = loader.recipe().to_toml().unwrap_err().to_string();
    assert!(error.contains("\"own\" is code of the user's own and cannot be written"), "{error}");
    let read = serde_json::from_str::<Transform>(r#"{"type":"HostCode"}"#).unwrap_err().to_string();
    assert!(read.contains("code of the user's own and cannot be read"), "{read}");
}

#[test]
fn groups_have_code_of_their_own() {
    let build = |workers| {
        let group = |list: [Transform; 2]| list.into_iter().fold(Views::new(2), Views::transform);
        let first = group([RandomResizedCrop::new(16).into(), lift().into()]);
        let second = group([RandomResizedCrop::new(8).into(), RandomHorizontalFlip::new(0.5).into()]);
        let builder = DataLoader::builder(small_files(9)).semantics(Semantics::Uint8).batch_size(3).workers(workers);
        builder.group("first", first).group("second", second).build(&Backend::Cpu).unwrap()
    };
    let run = |workers| {
        let batches = build(workers).epoch(0).unwrap().map(Result::unwrap);
        let bytes = |batch: gpufeed::Batch| batch.groups().map(|group| group.to_host().unwrap()).collect::<Vec<_>>();
        batches.map(bytes).collect::<Vec<_>>()
    };
    let expected = run(1);
    assert!(expected == run(3));
    assert_eq!(expected[0][0].len(), 4 * 3 * 2 * 3 * 16 * 16);
}

#[test]
fn explain_says_what_runs_before_and_after() {
    let list: [Transform; 5] = [
        RandomResizedCrop::new(24).into(),
        lift().into(),
        RandomHorizontalFlip::new(0.5).into(),
        nothing().into(),
        Normalize::IMAGENET.into(),
    ];
    let loader = builder(Semantics::Uint8, &list).build(&Backend::Cpu).unwrap();
    let lines = |loader: &DataLoader| loader.explain().lines().take(6).map(str::to_owned).collect::<Vec<_>>();
    let found = lines(&loader);
    let begins = [
        "plan: ",
        "  stage 0: RandomResizedCrop;",
        "  own code: own, on the host, in the workers; gets 24x24, 3 channels, 8-bit numbers",
        "  after it, stage 0: RandomHorizontalFlip;",
        "  own code: own, on the host, in the workers; gets 24x24, 3 channels, 8-bit numbers",
        "  after it, stage 0: Normalize;",
    ];
    for (line, begin) in found.iter().zip(begins) {
        assert!(line.starts_with(begin), "{line:?}, {begin:?}");
    }
    assert_eq!(epoch(&loader, 0).len(), 5);
    assert!(lines(&loader)[2].ends_with("ms an image so far"), "{}", lines(&loader)[2]);
}
