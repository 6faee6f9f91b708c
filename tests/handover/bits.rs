//! What another API reads is what `to_host` reads.

use crate::consumer::Consumer;
use crate::exporting;
use gpufeed::transforms::{CenterCrop, MixUp, RandomCrop, RandomHorizontalFlip, RandomRotation};
use gpufeed::{
    Backend, Batch, Cache, DType, DataLoader, DataLoaderBuilder, Execute, Export, InMemory, Label, Layout, PixelFormat,
    Views,
};
use gpufeed_testing::dice::Dice;

/// Noise in one or three channels.
fn noise(format: PixelFormat, channels: usize) -> InMemory {
    let (mut data, mut dice) = (InMemory::new(), Dice(3));
    for class in 0..10 {
        let pixels: Vec<u8> = (0..20 * 24 * channels).map(|_| dice.byte()).collect();
        data.push_pixels(24, 20, format, pixels, Label::Class(class % 3)).unwrap();
    }
    data
}

fn colour() -> DataLoaderBuilder {
    DataLoader::builder(noise(PixelFormat::Rgb8, 3))
}

/// Reads each group of every batch on another device, and compares.
fn compare(what: &str, loader: &DataLoader, batches: impl Iterator<Item = gpufeed::Result<Batch>>) {
    let (mut consumer, mut seen) = (None, 0);
    for batch in batches {
        let batch = batch.unwrap();
        let expected: Vec<Vec<u8>> = batch.groups().map(|group| group.to_host().unwrap()).collect();
        for (group, expected) in batch.groups().zip(expected) {
            let external = group.external().unwrap();
            let uuid = external.uuid().unwrap();
            let consumer = consumer.get_or_insert_with(|| Consumer::open(uuid, external.handover()));
            let reading = consumer.begin(&external, true);
            assert!(consumer.end(reading) == expected, "{what}, {}, group {}", loader.backend(), group.name());
            seen += 1;
        }
        batch.release();
    }
    assert!(seen > 1, "{what}: {seen} batches");
}

#[test]
fn the_bits_are_those_of_to_host() {
    for gpu in exporting() {
        let backend = Backend::Gpu(gpu.clone());
        for execute in [Execute::Cpu, Execute::Gpu] {
            let build = |builder: DataLoaderBuilder| {
                let builder = builder.execute(execute).export(Export::Auto).shuffle(true).workers(2);
                builder.build(&backend).unwrap()
            };
            for layout in [Layout::Nchw, Layout::Nhwc] {
                for dtype in [DType::F32, DType::F16, DType::BF16, DType::U8] {
                    for (format, channels) in [(PixelFormat::Rgb8, 3), (PixelFormat::R8, 1)] {
                        let builder = DataLoader::builder(noise(format, channels)).transform(RandomCrop::new(15));
                        let loader = build(builder.output(layout, dtype).batch_size(3));
                        let what = format!("{layout:?} {dtype:?} of {channels} channels, {execute:?}");
                        compare(&what, &loader, loader.epoch(0).unwrap());
                    }
                }
            }
            let views = build(colour().transform(RandomCrop::new(16)).views(2).batch_size(4));
            compare("two views", &views, views.epochs(0..2).unwrap());
            let mixed = build(colour().transform(RandomCrop::new(16)).batch_transform(MixUp::new(1.0)).batch_size(5));
            compare("mixed", &mixed, mixed.epochs(0..2).unwrap());
            let small = Views::new(3).transform(RandomCrop::new(8)).transform(RandomHorizontalFlip::new(0.5));
            let groups = colour().group("global", Views::new(2).transform(RandomCrop::new(16))).group("local", small);
            let groups = build(groups.batch_size(4));
            compare("groups", &groups, groups.epochs(0..2).unwrap());
            let warped =
                build(colour().transform(RandomRotation::new(30.0)).transform(CenterCrop::new(12)).batch_size(4));
            compare("several stages", &warped, warped.epochs(0..2).unwrap());
            for cache in [Cache::Host(1 << 20), Cache::Device(1 << 20)] {
                let cached = build(colour().transform(RandomCrop::new(16)).cache(cache).batch_size(4));
                compare("cached", &cached, cached.epochs(0..3).unwrap());
            }
            let resumed = build(colour().transform(RandomCrop::new(16)).batch_size(2));
            let mut run = resumed.epochs(0..2).unwrap();
            run.by_ref().take(3).for_each(|batch| drop(batch.unwrap()));
            let state = run.state();
            drop(run);
            compare("resumed", &resumed, resumed.resume_until(&state, 2).unwrap());
        }
    }
}
