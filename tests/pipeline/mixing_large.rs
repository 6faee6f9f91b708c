//! Mixed batches beyond a device's limits: larger than a binding, or with images that the CPU executor finishes.

use crate::mixing::difference;
use gpufeed::transforms::{BatchTransform, CenterCrop, CutMix, MixUp, Partner, Resize};
use gpufeed::{Backend, DType, DataLoader, Execute, Gpu, InMemory, Label, Layout, PixelFormat, wgpu};
use gpufeed_testing::pipeline::{loader_devices, places, seen, within};

/// A device whose bindings have room for a part of the batch alone.
#[test]
fn a_batch_beyond_a_binding_is_mixed_in_parts() {
    within(300, "all adapters", || {
        const SAMPLES: u32 = 45;
        const LIMIT: u64 = 16 << 20;
        let mut data = InMemory::new();
        for number in 0..SAMPLES {
            let bytes: Vec<u8> = (0..3 * 256 * 256).map(|i| ((i * (number + 3)) >> 5) as u8).collect();
            data.push_pixels(256, 256, PixelFormat::Rgb8, bytes, Label::Class(number)).unwrap();
        }
        for device in loader_devices() {
            let limits = wgpu::Limits { max_storage_buffer_binding_size: LIMIT, ..wgpu::Limits::default() };
            let limits = limits.or_worse_values_from(&device.adapter.limits());
            let backend = Backend::Gpu(Gpu::open_with(&device.adapter, device.features(), limits).unwrap());
            for transform in [
                MixUp::new(1.0).into(),
                MixUp::new(1.0).partner(Partner::Reversed).into(),
                CutMix::new(1.0).into(),
                BatchTransform::from(CutMix::new(1.0).partner(Partner::Reversed)),
            ] {
                let builder = DataLoader::builder(data.clone()).transform(CenterCrop::new(256));
                let builder = builder.batch_size(SAMPLES as usize).slot_bytes(LIMIT).batch_transform(transform.clone());
                let run = |loader: DataLoader| seen(loader.epoch(0).unwrap()).remove(0);
                let batch = run(builder.clone().execute(Execute::Gpu).build(&backend).unwrap());
                let whole = run(builder.build(&Backend::Cpu).unwrap());
                assert!(batch.bytes.len() as u64 > 2 * LIMIT && batch.params == whole.params);
                let pairs = batch.floats().into_iter().zip(whole.floats());
                let worst = pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
                let allowed = if transform.name() == "CutMix" { 0.0 } else { 1e-6 };
                assert!(worst <= allowed, "{}: {transform:?}: {worst}", device.name);
            }
            // Two samples do not fit.
            let builder = DataLoader::builder(data.clone()).transform(Resize::new((1000, 1000)));
            let builder = builder.slot_bytes(LIMIT).batch_transform(MixUp::new(1.0)).execute(Execute::Gpu);
            let error = builder.build(&backend).unwrap_err().to_string();
            assert!(error.contains("two samples of a batch that is mixed"), "{error}");
        }
    });
}

#[test]
fn images_that_the_cpu_finishes_are_mixed_too() {
    within(120, "all places", || {
        let mut data = InMemory::new();
        for number in 0..4u32 {
            // One image is too large for a slot.
            let (width, height) = if number == 2 { (2300, 2000) } else { (70 + number, 60 - number) };
            let bytes: Vec<u8> = (0..width * height * 3).map(|i| ((i * (number + 3)) >> 7) as u8).collect();
            data.push_pixels(width, height, PixelFormat::Rgb8, bytes, Label::Class(number)).unwrap();
        }
        for place in places() {
            let builder = || DataLoader::builder(data.clone()).transform(Resize::new((20, 20))).batch_size(4);
            let others = seen(place.build(builder()).epoch(0).unwrap());
            let loader = place.build(builder().batch_transform(MixUp::new(1.0)));
            let mixed = seen(loader.epoch(0).unwrap());
            assert_eq!(loader.stats().cpu_fallback, u64::from(place.is_shaders()));
            let worst = difference(&mixed[0], &others[0], (Layout::Nchw, DType::F32), 1, 0).unwrap();
            assert!(worst <= 1e-6, "{}: {worst}", place.name);
            for (image, params) in mixed[0].params.iter().enumerate() {
                assert!(loader.replay(image, params).unwrap() == mixed[0].image(image), "{}: {image}", place.name);
            }
        }
    });
}
