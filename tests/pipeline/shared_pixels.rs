//! The pixels of a sample in staging slots: its views share a copy of them, a sample that needs more than a slot goes on in
//! others, and no image changes by that.

use super::groups::{assert_same, groups, run};
use super::sources::{Stored, rig};
use gpufeed::transforms::{CenterCrop, ColorJitter, RandomResizedCrop};
use gpufeed::{DataLoader, DataLoaderBuilder, InMemory, Label, OnError, Stage, Views};
use gpufeed_testing::pipeline::{encoded, file, picture, places, within};
use image::ImageFormat;

/// Width and height of a picture of 28.6 MiB as RGBA.
const LARGE: (u32, u32) = (3000, 2500);
const VIEWS: usize = 4;

fn large() -> Vec<u8> {
    encoded(picture(9, LARGE.0, LARGE.1), ImageFormat::Jpeg)
}

/// Views that read 8.6 to 14.4 MiB of the large picture each, which shaders make.
fn several() -> Views {
    Views::new(VIEWS)
        .transform(RandomResizedCrop::new(80).scale(0.3, 0.5))
        .transform(ColorJitter::new(0.4, 0.4, 0.0, 0.0))
}

#[test]
fn a_slot_has_the_pixels_of_a_sample_once() {
    within(240, "all places", || {
        let data = || (0..6).map(|number| (encoded(picture(number, 320, 240), ImageFormat::Jpeg), Label::None));
        let builder =
            || DataLoader::builder(data().collect::<InMemory>()).batch_size(3).shuffle(true).seed(7).workers(2);
        let global = || Views::new(2).transform(RandomResizedCrop::new(24).scale(0.4, 1.0));
        let local = || Views::new(8).transform(RandomResizedCrop::new(12).scale(0.05, 0.4));
        for place in places().iter().filter(|place| place.is_shaders()) {
            let list = builder().transform(RandomResizedCrop::new(24).scale(0.4, 1.0)).views(4);
            let two = builder().group("global", global()).group("local", local());
            for (builder, images, least) in [(list, 4, 1.5), (two, 10, 2.0)] {
                let loader = place.build(builder);
                let batches = run(&loader, 0);
                let stats = loader.stats();
                let stage = |stage| stats.stages.iter().find(|stats| stats.stage == stage).unwrap();
                assert_eq!((stats.images, stats.cpu_fallback), (6 * images, 0), "{}", place.name);
                assert_eq!(stage(Stage::Copy).items, stats.images, "{}", place.name);
                // What was decoded is the region around all views; a copy has up to 15 bytes more.
                let (staged, decoded) = (stats.slots.bytes, stage(Stage::Decode).bytes);
                assert!(staged >= decoded && staged < decoded + 6 * 16, "{}: {staged} of {decoded}", place.name);
                let plans: Vec<_> = loader.plans().map(|(_, plan)| plan).collect();
                let groups = batches.iter().flatten().zip(plans.iter().cycle());
                let regions = groups.flat_map(|(group, plan)| {
                    group.params.iter().map(move |params| plan.source_region(params).unwrap())
                });
                let separate: u64 = regions.map(|region| 4 * u64::from(region.width) * u64::from(region.height)).sum();
                assert!(separate as f64 > least * staged as f64, "{}: {staged} of {separate}", place.name);
                // A replay copies the region of its image alone.
                for group in &batches[1] {
                    let of_a_sample = group.ids.len() / 3;
                    for image in of_a_sample..2 * of_a_sample {
                        let alone = loader.replay_in(&group.name, group.ids[image] as usize, &group.params[image]);
                        assert!(alone.unwrap() == group.image(image), "{}: {} {image}", place.name, group.name);
                    }
                }
            }
        }
    });
}

#[test]
fn a_sample_that_needs_more_than_a_slot_goes_on_in_others() {
    within(400, "all places", || {
        let large = large();
        let data: InMemory = (0..6)
            .map(|number| (if number == 1 { large.clone() } else { file(number) }, Label::Class(number)))
            .collect();
        // The CPU executor finishes the views of the second group, which read more than 16 MiB of the large picture.
        let finished = || Views::new(2).transform(RandomResizedCrop::new(70).scale(0.7, 0.9));
        let builder = |slot_bytes: u64| -> DataLoaderBuilder {
            let builder = DataLoader::builder(data.clone()).batch_size(3).seed(7).slot_bytes(slot_bytes);
            builder.group("several", several()).group("finished", finished()).group("more", several())
        };
        for place in places().iter().filter(|place| place.is_shaders()) {
            // One copy of the picture fits here.
            let shared = place.build(builder(64 << 20).workers(2));
            let expected = run(&shared, 0);
            let stats = shared.stats();
            assert_eq!((stats.cpu_fallback, stats.slots.slots), (2, 2), "{}", place.name);
            assert!(stats.slots.bytes < 31 << 20, "{}: {}", place.name, stats.slots);
            for workers in [1, 2, 7] {
                let what = format!("{}, {workers} workers", place.name);
                let loader = place.build(builder(16 << 20).workers(workers));
                assert_same(&expected, &run(&loader, 0), &what);
                let stats = loader.stats();
                assert_eq!((stats.images, stats.cpu_fallback), (6 * (2 + 2 * VIEWS as u64), 2), "{what}");
                // Two of its views do not fit into one slot.
                assert!(stats.slots.slots > 2 * VIEWS as u64, "{what}: {}", stats.slots);
                let mut epoch = loader.epoch(0).unwrap();
                drop(epoch.next().unwrap().unwrap());
                let state = epoch.state();
                drop(epoch);
                let rest: Vec<_> = loader.resume(&state).unwrap().map(|batch| groups(&batch.unwrap())).collect();
                assert_same(&expected[1..], &rest, &what);
            }
            let large = &expected[0];
            for group in large {
                let views = group.ids.len() / 3;
                for image in views..2 * views {
                    let alone = shared.replay_in(&group.name, 1, &group.params[image]).unwrap();
                    assert!(alone == group.image(image), "{}: {} {image}", place.name, group.name);
                }
            }
        }
    });
}

/// Parts of the sample have been sent when its second source turns out to be damaged.
#[test]
fn a_sample_that_fails_after_a_part_is_replaced_as_a_whole() {
    within(400, "all places", || {
        let large = large();
        let data = || {
            let mut data = rig();
            data.samples[5].0 = large.clone();
            if let Stored::File(file) = &mut data.samples[5].1[0] {
                file.truncate(file.len() / 4);
            }
            data
        };
        for place in places() {
            let run = |slot_bytes: u64, workers: usize| {
                let builder = DataLoader::builder(data()).batch_size(4).shuffle(true).seed(7).workers(workers);
                let right = Views::new(1).source("right").transform(CenterCrop::new(8));
                let builder = builder.group("own", several()).group("right", right).slot_bytes(slot_bytes);
                let builder = builder.on_error(OnError::Skip { max_share: 1.0 });
                let loader = place.build(builder);
                let mut failures = Vec::new();
                let batches = loader.epochs(0..2).unwrap().map(|batch| {
                    let batch = batch.unwrap();
                    failures.extend(batch.failures().iter().map(|failure| (failure.batch_index, failure.id)));
                    groups(&batch)
                });
                (batches.collect::<Vec<_>>(), failures)
            };
            let (expected, failed) = run(64 << 20, 1);
            assert!(failed.len() >= 2 && failed.iter().all(|failure| failure.1 == 5), "{}: {failed:?}", place.name);
            for workers in [1, 2, 7] {
                let what = format!("{}, {workers} workers", place.name);
                let (batches, failures) = run(16 << 20, workers);
                assert_eq!(failures, failed, "{what}");
                assert_same(&expected, &batches, &what);
            }
        }
    });
}
