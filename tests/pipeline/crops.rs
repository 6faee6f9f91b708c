//! `FiveCrop` and `TenCrop`: several outputs of one decode, each as a pipeline of its own would make it, on every
//! executor.

use gpufeed::transforms::{
    AdjustGamma, CenterCrop, ColorJitter, FiveCrop, Grayscale, Key, Normalize, Pad, Params, RandomApply, RandomCrop,
    RandomErasing, RandomHorizontalFlip, RandomResizedCrop, Resize, TenCrop, Transform,
};
use gpufeed::{
    Backend, DType, DataLoader, DataLoaderBuilder, ErrorKind, InMemory, Label, LastBatch, Layout, Output, PixelFormat,
    Plan, Semantics,
};
use gpufeed_testing::golden;
use gpufeed_testing::images::Source;
use gpufeed_testing::pipeline::{assert_same, encoded, file, picture, places, seen, small_files, within};
use gpufeed_testing::vectors::{self, Case, Values};
use image::ImageFormat;

const SAMPLES: u32 = 7;

/// A list with `crops` in the middle; its geometry is in slots 0 and 1, then come the slots of `crops`.
fn list(crops: impl Into<Transform>) -> Vec<Transform> {
    vec![Resize::new(30).into(), RandomHorizontalFlip::new(0.5).into(), crops.into(), Normalize::IMAGENET.into()]
}

fn builder(crops: impl Into<Transform>) -> DataLoaderBuilder {
    DataLoader::builder(small_files(SAMPLES)).recipe(list(crops)).batch_size(3).shuffle(true).seed(7)
}

/// The same ops for a list that has a `RandomCrop` in the place of the `FiveCrop`, whose third slot is the crop.
fn for_random_crop(mut params: Params) -> Params {
    params.ops.iter_mut().filter(|op| op.slot >= 2).for_each(|op| op.slot += 2);
    params
}

#[test]
fn five_crops_are_those_of_five_pipelines() {
    within(120, "all places", || {
        for place in places() {
            let loader = place.build(builder(FiveCrop::new((20, 24))).views(2));
            let batches = seen(loader.epoch(1).unwrap());
            let centres = seen(place.build(builder(CenterCrop::new((20, 24))).views(2)).epoch(1).unwrap());
            let one = place.build(builder(RandomCrop::new((20, 24))));
            assert_eq!(batches.len(), centres.len());
            for (batch, centre) in batches.iter().zip(&centres) {
                assert_eq!(batch.shape, [5 * centre.shape[0], 3, 20, 24], "{}", place.name);
                assert_eq!(batch.valid, 5 * centre.valid);
                for at in 0..batch.ids.len() {
                    let (output, crop) = (at / 5, at % 5);
                    assert_eq!((batch.ids[at], &batch.labels[at]), (centre.ids[output], &centre.labels[output]));
                    // The layout is [sample][view][crop], and the view of a key counts outputs.
                    let view = (at % 10) as u32;
                    let key = Key { seed: 7, epoch: 1, sample: batch.ids[at], occurrence: 0, view };
                    let params = &batch.params[at];
                    assert_eq!(params, &loader.plan().make_params(params.width, params.height, &key).unwrap());
                    if crop == 4 {
                        assert!(batch.image(at) == centre.image(output), "{}: centre {output}", place.name);
                    }
                    // Only one sample is replayed, because a replay compiles the shaders anew.
                    if batch.index == 1 && at < 10 {
                        let index = batch.ids[at] as usize;
                        let json = serde_json::to_string(params).unwrap();
                        let alone = loader.replay(index, &serde_json::from_str(&json).unwrap()).unwrap();
                        assert!(batch.image(at) == alone, "{}: replay of crop {crop}", place.name);
                        let plain = one.replay(index, &for_random_crop(params.clone())).unwrap();
                        assert!(batch.image(at) == plain, "{}: crop {crop} by itself", place.name);
                    }
                }
            }
        }
    });
}

#[test]
fn workers_queues_restarts_and_padding_change_no_crop() {
    within(120, "all places", || {
        let mut data = small_files(SAMPLES);
        data.push_encoded(b"\xff\xd8\xff no image".to_vec(), Label::Class(99)).unwrap();
        // Smaller than the crop after no resize.
        data.push_pixels(15, 40, PixelFormat::Rgb8, vec![9; 1800], Label::Class(100)).unwrap();
        for place in places() {
            let builder = |workers, depth| {
                DataLoader::builder(data.clone())
                    .transform(TenCrop::new(16).vertical_flip(true))
                    .transform(Grayscale::new(1))
                    .output(Layout::Nhwc, DType::U8)
                    .batch_size(4)
                    .workers(workers)
                    .queue_depth(depth)
                    .last_batch(LastBatch::Pad)
            };
            let expected = seen(place.build(builder(1, 2)).epoch(1).unwrap());
            assert_eq!((expected[2].shape, expected[2].valid), ([40, 16, 16, 1], 10));
            // The index of a failure is that of the first image of its replacement.
            let failures: Vec<_> = expected.iter().flat_map(|batch| &batch.failures).collect();
            let of: Vec<_> = failures.iter().map(|failure| (failure.0, failure.1)).collect();
            assert!(of.len() >= 2 && of[0] == (30, 7) && of[1] == (0, 8), "{of:?}");
            assert!(failures[1].3.contains("TenCrop") && failures[1].3.contains("smaller than the crop of 16x16"));
            for (workers, depth) in [(2, 1), (8, 4)] {
                let loader = place.build(builder(workers, depth));
                assert_same(&expected, &seen(loader.epoch(1).unwrap()), &format!("{}, {workers} workers", place.name));
                let mut run = loader.epoch(1).unwrap();
                run.next().unwrap().unwrap();
                let state = run.state();
                drop(run);
                assert_same(&expected[1..], &seen(loader.resume(&state).unwrap()), &format!("{}, resumed", place.name));
            }
        }
    });
}

/// All crops of a view share one copy of its pixels, so a slot has room for those of the largest image that the GPU
/// takes; the CPU executor finishes all crops of a larger one.
#[test]
fn crops_of_large_images_share_a_slot() {
    within(300, "all places", || {
        for (width, height, falls_back) in [(2000, 2090, false), (2100, 2090, true)] {
            let mut data = InMemory::new();
            data.push_encoded(file(1), Label::Class(0)).unwrap();
            data.push_encoded(encoded(picture(2, width, height), ImageFormat::Png), Label::Class(1)).unwrap();
            for place in places() {
                let builder = DataLoader::builder(data.clone())
                    .transform(Pad::new(2))
                    .transform(TenCrop::new(30))
                    .batch_size(2)
                    .slot_bytes(16 << 20);
                let loader = place.build(builder);
                let batch = &seen(loader.epoch(0).unwrap())[0];
                let fallbacks = if falls_back && place.is_shaders() { 10 } else { 0 };
                assert_eq!(loader.stats().cpu_fallback, fallbacks, "{}", place.name);
                for at in [0, 10, 13, 14, 15, 19] {
                    let alone = loader.replay(at / 10, &batch.params[at]).unwrap();
                    assert!(batch.image(at) == alone, "{}: image {at}", place.name);
                }
            }
        }
    });
}

#[test]
fn crops_are_decoded_at_a_scale_too() {
    within(120, "all places", || {
        let files = (0..3).map(|number| (encoded(picture(number, 400, 300), ImageFormat::Jpeg), Label::Class(number)));
        let data: InMemory = files.collect();
        for place in places() {
            let builder = DataLoader::builder(data.clone())
                .transform(RandomResizedCrop::new(60).scale(0.6, 1.0))
                .transform(FiveCrop::new(48))
                .batch_size(3)
                .scaled_decode(true);
            let loader = place.build(builder);
            let batch = &seen(loader.epoch(0).unwrap())[0];
            assert!(batch.params.iter().any(|params| !params.scale.is_full()), "{}", place.name);
            for at in 0..5 {
                let alone = loader.replay(0, &batch.params[at]).unwrap();
                assert!(batch.image(at) == alone, "{}: crop {at}", place.name);
            }
        }
    });
}

#[test]
fn what_may_stand_where() {
    let compile = |list: &[Transform]| Plan::compile(list, &Output::default());
    let crops: [Transform; 2] = [FiveCrop::new(20).into(), TenCrop::new(20).into()];
    for (crops, count) in crops.into_iter().zip([5, 10]) {
        let name = crops.name();
        let fixed: [Transform; 6] = [
            AdjustGamma::new(2.0).into(),
            Pad::new(2).into(),
            Resize::new(10).into(),
            CenterCrop::new(8).into(),
            Grayscale::new(3).into(),
            Normalize::IMAGENET.into(),
        ];
        let list: Vec<Transform> =
            [RandomResizedCrop::new(30).into(), crops.clone()].into_iter().chain(fixed).collect();
        let plan = compile(&list).unwrap();
        assert_eq!((plan.crops(), plan.output_size()), (count, Some((8, 8))));
        let random: [Transform; 5] = [
            RandomHorizontalFlip::default().into(),
            ColorJitter::default().into(),
            RandomErasing::default().into(),
            RandomApply::new(0.5, [Grayscale::new(3)]).into(),
            FiveCrop::new(8).into(),
        ];
        for transform in random {
            let error = compile(&[crops.clone(), Normalize::IMAGENET.into(), transform.clone()]).unwrap_err();
            assert!(matches!(error.kind(), ErrorKind::Argument { .. }), "{error}");
            let error = error.to_string();
            assert!(error.starts_with("transforms: "), "{error}");
            assert!(error.contains(&format!("{} (transform 3) comes after {name}", transform.name())), "{error}");
            assert!(error.contains("Normalize, Pad, Resize") && error.contains("before"), "{error}");
        }
        let inner: Transform = RandomApply::new(0.5, [crops.clone()]).into();
        for list in [vec![inner.clone()], vec![RandomApply::new(0.5, [inner]).into()]] {
            let error = compile(&list).unwrap_err().to_string();
            assert!(error.contains(&format!("{name} inside RandomApply")), "{error}");
            assert!(error.contains("put it into the list itself"), "{error}");
        }
        let loader =
            DataLoader::builder(small_files(2)).transform(crops).batch_size(2).views(3).build(&Backend::Cpu).unwrap();
        let batch = loader.epoch(0).unwrap().next().unwrap().unwrap();
        assert_eq!((batch.views(), batch.crops(), batch.len()), (3, count, 2 * 3 * count));
        let described = loader.explain();
        assert!(described.contains(&format!("with 3 views of {count} crops each")), "{described}");
        assert!(described.contains(&format!("{count} crops of 20x20")), "{described}");
    }
}

/// torchvision's crops: the cases in `tests/golden/crops`, or those of the folder in the environment variable
/// `GPUFEED_TRANSFORMS`, which has files of the same form; and those of `operators.json`. Bytes are equal in both
/// semantics.
#[test]
fn crops_are_torchvisions() {
    let committed = golden::committed("tests/golden/crops");
    let folder = std::env::var_os("GPUFEED_TRANSFORMS").map_or(committed, Into::into);
    let vectors = include_bytes!("../golden/operators.bin");
    let others = vectors::parse(include_bytes!("../golden/operators.json"), vectors, vectors.to_vec());
    let cases: Vec<Case> = vectors::open(&folder).into_iter().chain(others).collect();
    let cases = cases.iter().filter(|case| ["five_crop", "ten_crop"].contains(&case.group.as_str()));
    let mut compared = 0;
    for case in cases {
        let arguments = &case.ops[0].1;
        let size = serde_json::from_value(arguments["size"].clone()).unwrap();
        let crops: Transform = match case.group.as_str() {
            "five_crop" => FiveCrop { size }.into(),
            _ => TenCrop { size, vertical_flip: arguments["vertical_flip"].as_bool().unwrap() }.into(),
        };
        let Source { width, height, channels, bytes } = case.source();
        let format = if channels == 1 { PixelFormat::R8 } else { PixelFormat::Rgb8 };
        let mut data = InMemory::new();
        data.push_pixels(width, height, format, bytes, Label::None).unwrap();
        let (dtype, both) = match case.output {
            Values::Bytes(_) => (DType::U8, &[Semantics::Float, Semantics::Uint8][..]),
            Values::Floats(_) => (DType::F32, &[Semantics::Float][..]),
        };
        for (place, semantics) in
            places().iter().flat_map(|place| both.iter().map(move |semantics| (place, *semantics)))
        {
            let builder = DataLoader::builder(data.clone()).transform(crops.clone()).batch_size(1).semantics(semantics);
            let builder = if channels == 1 { builder.transform(Grayscale::new(1)) } else { builder };
            let loader = place.build(builder.output(Layout::Nchw, dtype));
            let found = &seen(loader.epoch(0).unwrap())[0];
            assert_eq!(found.shape[..], case.shape, "{}", case.name);
            let found = match dtype {
                DType::U8 => Values::Bytes(found.bytes.clone()),
                _ => Values::Floats(found.bytes.as_chunks::<4>().0.iter().map(|b| f32::from_ne_bytes(*b)).collect()),
            };
            case.compare(&found, 1e-7, false).unwrap_or_else(|error| panic!("{}: {}: {error}", place.name, case.name));
        }
        compared += 1;
    }
    assert!(compared >= 33, "{compared} cases");
}
