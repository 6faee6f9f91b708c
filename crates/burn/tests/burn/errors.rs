//! Tests that a batch that cannot become a tensor gives an error that says why, and what to change.

use crate::places::{gpus, places};
use burn::tensor::Device;
use gpufeed::transforms::CenterCrop;
use gpufeed::{DType, DataLoader, DataLoaderBuilder, ErrorKind, Gpu, InMemory, Label, Layout, PixelFormat, Views};
use gpufeed_burn::{BatchExt, GpuExt};

fn one(label: Label) -> DataLoaderBuilder {
    let mut data = InMemory::new();
    data.push_pixels(4, 4, PixelFormat::Rgb8, vec![9; 48], label).unwrap();
    DataLoader::builder(data).transform(CenterCrop::new(4)).batch_size(1)
}

/// Returns the setting that the error names, and the error's text.
fn argument(error: gpufeed::Error) -> (&'static str, String) {
    match error.kind() {
        ErrorKind::Argument { setting, .. } => (*setting, error.to_string()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn bytes_are_no_float_tensor() {
    for place in places() {
        let loader = place.build(one(Label::None).output(Layout::Nchw, DType::U8));
        let batch = loader.epoch(0).unwrap().next().unwrap().unwrap();
        let (setting, text) = argument(batch.to_tensor(&place.device).unwrap_err());
        assert_eq!(setting, "output", "{}", place.name);
        assert!(text.contains("DType::F32"), "{text}");
    }
}

#[test]
fn errors_name_the_group() {
    let views = |dtype| Views::new(1).transform(CenterCrop::new(4)).output(Layout::Nchw, dtype);
    for place in places() {
        let mut data = InMemory::new();
        data.push_pixels(4, 4, PixelFormat::Rgb8, vec![9; 48], Label::None).unwrap();
        let builder = DataLoader::builder(data).group("photograph", views(DType::F32)).group("mask", views(DType::U8));
        let batch = place.build(builder.batch_size(1)).epoch(0).unwrap().next().unwrap().unwrap();
        let dims = batch.group_tensor("photograph", &place.device).unwrap().dims();
        assert_eq!(dims, [1, 3, 4, 4], "{}", place.name);
        let (setting, text) = argument(batch.group_tensor("mask", &place.device).unwrap_err());
        assert_eq!(setting, "output", "{}", place.name);
        assert!(text.contains("DType::U8 of the group \"mask\""), "{text}");
        let (setting, text) = argument(batch.group_tensor("masks", &place.device).unwrap_err());
        assert_eq!(setting, "group", "{}", place.name);
        assert!(text.contains("no group \"masks\"; the batch has photograph, mask"), "{text}");
    }
}

/// Burn's own devices say whether they compute with bf16; where they do not, the error names the setting.
#[test]
fn bfloats_where_burn_has_none() {
    for place in places() {
        let loader = place.build(one(Label::None).output(Layout::Nchw, DType::BF16));
        let batch = loader.epoch(0).unwrap().next().unwrap().unwrap();
        let made = batch.to_tensor(&place.device);
        if place.device.supports_dtype(burn::tensor::DType::BF16) {
            assert_eq!(made.unwrap().dims(), [1, 3, 4, 4], "{}", place.name);
            continue;
        }
        let (setting, text) = argument(made.unwrap_err());
        assert_eq!(setting, "output", "{}", place.name);
        assert!(text.contains("DType::BF16") && text.contains("DType::F32"), "{text}");
    }
    assert!(Device::flex().supports_dtype(burn::tensor::DType::BF16), "the CPU has tensors of bf16");
}

#[test]
fn labels_that_are_no_classes() {
    for place in places() {
        for label in [Label::None, Label::Multi(vec![0.5].into())] {
            let batch = place.build(one(label)).epoch(0).unwrap().next().unwrap().unwrap();
            assert_eq!(argument(batch.class_tensor(&place.device).unwrap_err()).0, "dataset", "{}", place.name);
        }
    }
}

#[test]
fn another_device() {
    for (place, gpu) in gpus() {
        let batch = place.build(one(Label::Class(0))).epoch(0).unwrap().next().unwrap().unwrap();
        let (setting, text) = argument(batch.to_tensor(&Device::flex()).unwrap_err());
        assert_eq!(setting, "device");
        assert!(text.contains("Backend::for_burn()"), "{text}");

        let adapter = Gpu::enumerate().into_iter().find(|adapter| adapter.get_info() == *gpu.info()).unwrap();
        let (_, other) = Gpu::for_burn(&adapter).unwrap();
        assert_eq!(argument(batch.to_tensor(&other).unwrap_err()).0, "device");

        // This loader's GPU device is unknown to Burn.
        let alone = Gpu::open(&adapter).unwrap();
        let loader = one(Label::Class(0)).build(&gpufeed::Backend::Gpu(alone)).unwrap();
        let stranger = loader.epoch(0).unwrap().next().unwrap().unwrap();
        assert_eq!(argument(stranger.to_tensor(&place.device).unwrap_err()).0, "device");
        // Both devices still work after the errors.
        assert!(batch.to_tensor(&place.device).is_ok());
        assert_eq!(burn::tensor::Tensor::<1>::from_data([1.0, 2.0], &other).sum().into_scalar::<f32>(), 3.0);
    }
}

/// On a lost device, `to_tensor` returns an error instead of a tensor.
#[test]
fn a_lost_device() {
    for adapter in Gpu::enumerate() {
        let (gpu, device) = Gpu::for_burn(&adapter).unwrap();
        let loader = one(Label::Class(0)).build(&gpufeed::Backend::Gpu(gpu.clone())).unwrap();
        let batch = loader.epoch(0).unwrap().next().unwrap().unwrap();
        batch.to_tensor(&device).unwrap();
        gpu.device().destroy();
        let error = batch.to_tensor(&device).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Device { .. }), "{gpu}: {error:?}");
    }
}

/// Batches on the CPU can become tensors on any of Burn's devices.
#[test]
fn from_the_cpu_to_any_device() {
    for place in places() {
        let loader = one(Label::Class(0)).build(&gpufeed::Backend::Cpu).unwrap();
        let batch = loader.epoch(0).unwrap().next().unwrap().unwrap();
        let values = batch.to_tensor(&place.device).unwrap().into_data().try_to_vec::<f32>().unwrap();
        assert_eq!(values, batch.to_host_f32().unwrap(), "{}", place.name);
    }
}
