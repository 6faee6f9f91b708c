//! Several views of one sample: each has parameters of its own, and the first is that of a loader with one view, on
//! every executor.

use gpufeed::transforms::{
    ColorJitter, Key, Normalize, RandomCrop, RandomHorizontalFlip, RandomResizedCrop, Transform,
};
use gpufeed::{Backend, DType, DataLoader, DataLoaderBuilder, InMemory, Label, LastBatch, Layout, PixelFormat};
use gpufeed_testing::pipeline::{assert_same, places, seen, small_files, within};

const SAMPLES: u32 = 11;

fn transforms() -> Vec<Transform> {
    vec![
        RandomResizedCrop::new(20).into(),
        RandomHorizontalFlip::new(0.5).into(),
        ColorJitter::new(0.4, 0.4, 0.4, 0.1).into(),
        Normalize::IMAGENET.into(),
    ]
}

fn builder(views: usize) -> DataLoaderBuilder {
    DataLoader::builder(small_files(SAMPLES)).recipe(transforms()).batch_size(4).shuffle(true).seed(7).views(views)
}

#[test]
fn views_differ_and_the_first_is_the_only_one_of_a_plain_loader() {
    within(120, "all places", || {
        for place in places() {
            let plain = seen(place.build(builder(1)).epoch(2).unwrap());
            let loader = place.build(builder(3));
            let views = seen(loader.epoch(2).unwrap());
            assert_eq!(plain.len(), views.len());
            for (one, three) in plain.iter().zip(&views) {
                assert_eq!(three.shape, [3 * one.shape[0], 3, 20, 20], "{}", place.name);
                assert_eq!(three.valid, 3 * one.valid);
                for sample in 0..one.ids.len() {
                    let of = [0, 1, 2].map(|view| 3 * sample + view);
                    for (view, at) in (0..).zip(of) {
                        assert_eq!((three.ids[at], &three.labels[at]), (one.ids[sample], &one.labels[sample]));
                        let key = Key { seed: 7, epoch: 2, sample: one.ids[sample], occurrence: 0, view };
                        let params = &three.params[at];
                        assert_eq!(params, &loader.plan().make_params(params.width, params.height, &key).unwrap());
                        // The sample is decoded once for all views, and yet each view is the same as if it were alone.
                        // Only one sample is replayed, because a replay compiles the shaders anew.
                        if one.index == 0 && sample == 1 {
                            let alone = loader.replay(one.ids[sample] as usize, params).unwrap();
                            assert!(three.image(at) == alone, "{}: sample {sample}, view {view}", place.name);
                        }
                    }
                    assert!(three.image(of[0]) == one.image(sample), "{}: sample {sample}", place.name);
                    assert!(three.image(of[1]) != three.image(of[0]) && three.image(of[1]) != three.image(of[2]));
                }
            }
        }
    });
}

#[test]
fn workers_queues_and_restarts_change_no_view() {
    within(120, "all places", || {
        for place in places() {
            let expected = seen(place.build(builder(2).workers(1)).epoch(1).unwrap());
            for (workers, depth) in [(2, 1), (8, 4)] {
                let loader = place.build(builder(2).workers(workers).queue_depth(depth));
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

#[test]
fn padding_bad_samples_and_other_outputs() {
    within(120, "all places", || {
        let mut data = small_files(SAMPLES);
        data.push_encoded(b"\xff\xd8\xff no image".to_vec(), Label::Class(99)).unwrap();
        for place in places() {
            for (layout, dtype) in [(Layout::Nhwc, DType::U8), (Layout::Nchw, DType::F16)] {
                let builder = |workers| {
                    DataLoader::builder(data.clone())
                        .transform(RandomCrop::new(17))
                        .output(layout, dtype)
                        .batch_size(5)
                        .views(2)
                        .workers(workers)
                        .last_batch(LastBatch::Pad)
                        .seed(3)
                };
                let batches = seen(place.build(builder(2)).epoch(0).unwrap());
                assert_same(&batches, &seen(place.build(builder(4)).epoch(0).unwrap()), &place.name);
                let last = &batches[2];
                assert_eq!((last.shape[0], last.valid), (10, 4));
                // The twelfth sample is broken: its failure has the index of its first image, and both views show its
                // replacement.
                assert_eq!(last.failures.len(), 1, "{:?}", last.failures);
                assert_eq!((last.failures[0].0, last.failures[0].1), (2, 11));
                assert!(last.ids[2] == last.ids[3] && last.ids[2] != 11 && last.labels[2] == last.labels[3]);
                assert!(last.params[2] != last.params[3]);
            }
        }
    });
}

#[test]
fn pixels_in_memory_of_every_format_have_views_too() {
    let formats =
        [(PixelFormat::R8, 1), (PixelFormat::Rgb8, 3), (PixelFormat::Rgba8, 4), (PixelFormat::F32 { channels: 3 }, 12)];
    for (format, size) in formats {
        let mut data = InMemory::new();
        for number in 0..3u32 {
            let bytes: Vec<u8> = match format {
                PixelFormat::F32 { .. } => {
                    (0..31 * 23 * 3).flat_map(|i| ((i * 7 + number) as f32 / 4000.0).to_ne_bytes()).collect()
                }
                _ => (0..31 * 23 * size).map(|i| (i * 5 + number) as u8).collect(),
            };
            data.push_pixels(31, 23, format, bytes, Label::Class(number)).unwrap();
        }
        for place in places() {
            let builder =
                DataLoader::builder(data.clone()).transform(RandomCrop::new(9)).batch_size(3).views(2).seed(1);
            let loader = place.build(builder);
            for batch in seen(loader.epoch(0).unwrap()) {
                for at in 0..6 {
                    let alone = loader.replay(at / 2, &batch.params[at]).unwrap();
                    assert!(batch.image(at) == alone, "{} {format:?} image {at}", place.name);
                }
                assert!(batch.params[0] != batch.params[1]);
            }
        }
    }
}

#[test]
fn a_number_of_views_that_cannot_be_is_an_error() {
    for views in [0, 65] {
        let error = builder(views).build(&Backend::Cpu).unwrap_err().to_string();
        assert!(error.starts_with(&format!("views: {views}; 1 to 64 work")), "{error}");
    }
    let loader = builder(64).batch_size(1).build(&Backend::Cpu).unwrap();
    assert_eq!(loader.epoch(0).unwrap().next().unwrap().unwrap().shape()[0], 64);
    assert!(loader.explain().contains("batches of 1 with 64 views each"), "{}", loader.explain());
}
