//! Tests that a tensor read back through Burn equals the batch, and that its pixels do not pass through host memory.

use crate::places::{Place, gpus, places};
use burn::tensor::{Device, DeviceKind, Int, Tensor};
use gpufeed::transforms::{CenterCrop, ColorJitter, MixUp, Normalize, RandomHorizontalFlip, RandomResizedCrop};
use gpufeed::{Backend, Batch, DType, DataLoader, DataLoaderBuilder, Gpu, InMemory, Label, Layout, PixelFormat};
use gpufeed_burn::{BatchExt, GpuExt};
use gpufeed_testing::pipeline::small_files;

/// Returns the bytes of the tensor's elements.
fn bytes(tensor: Tensor<4>) -> Vec<u8> {
    tensor.into_data().bytes().to_vec()
}

fn first(place: &Place, builder: DataLoaderBuilder) -> Batch {
    place.build(builder).epoch(0).unwrap().next().unwrap().unwrap()
}

/// Returns a loader of three images of 5 × 7 pixels, and their values, which count up through the batch. Its 315
/// elements of 2 bytes (f16) are not a whole number of words of 4 bytes.
fn ramp() -> (DataLoaderBuilder, Vec<f32>) {
    let values: Vec<f32> = (0..3 * 5 * 7 * 3).map(|i| i as f32).collect();
    let mut data = InMemory::new();
    for (number, image) in values.chunks(5 * 7 * 3).enumerate() {
        let bytes: Vec<u8> = image.iter().flat_map(|v| v.to_ne_bytes()).collect();
        data.push_pixels(5, 7, PixelFormat::F32 { channels: 3 }, bytes, Label::Class(10 * number as u32)).unwrap();
    }
    let crop = CenterCrop::new((7, 5));
    (DataLoader::builder(data).transform(crop).batch_size(3), values)
}

#[test]
fn a_ramp_comes_back() {
    for place in places() {
        let batch = first(place, ramp().0.output(Layout::Nhwc, DType::F32));
        let tensor = batch.to_tensor(&place.device).unwrap();
        assert_eq!(tensor.dims(), [3, 7, 5, 3], "{}", place.name);
        let values = ramp().1;
        assert_eq!(tensor.clone().into_data().try_to_vec::<f32>().unwrap(), values, "{}", place.name);
        // Burn's own kernels read the tensor correctly, too.
        let doubled: Vec<f32> = values.iter().map(|v| 2.0 * v + 1.0).collect();
        assert_eq!((tensor * 2.0 + 1.0).into_data().try_to_vec::<f32>().unwrap(), doubled, "{}", place.name);
    }
}

#[test]
fn a_ramp_of_halves_comes_back() {
    for place in places() {
        let batch = first(place, ramp().0.output(Layout::Nhwc, DType::F16));
        let tensor = batch.to_tensor(&place.device).unwrap();
        let halves = tensor.into_data().try_to_vec::<half::f16>().unwrap();
        let values: Vec<f32> = halves.into_iter().map(f32::from).collect();
        assert_eq!(values, ramp().1, "{}", place.name);
    }
}

/// The ramp's last numbers have more than the 8 bits of a bf16, so they are rounded.
#[test]
fn a_ramp_of_bfloats_comes_back() {
    for place in places().iter().filter(|place| computes(place, DType::BF16)) {
        let batch = first(place, ramp().0.output(Layout::Nhwc, DType::BF16));
        let tensor = batch.to_tensor(&place.device).unwrap();
        assert_eq!(tensor.dtype(), burn::tensor::DType::BF16, "{}", place.name);
        let bfloats = tensor.into_data().try_to_vec::<half::bf16>().unwrap();
        let values: Vec<half::bf16> = ramp().1.into_iter().map(half::bf16::from_f32).collect();
        assert_eq!(bfloats, values, "{}", place.name);
    }
}

/// Returns true if Burn has tensors of a batch's type on this backend.
fn computes(place: &Place, dtype: DType) -> bool {
    dtype != DType::BF16 || place.device.supports_dtype(burn::tensor::DType::BF16)
}

#[test]
fn a_real_batch_comes_back() {
    let halves = [(Layout::Nhwc, DType::F16), (Layout::Nchw, DType::F16), (Layout::Nhwc, DType::BF16)];
    for (layout, dtype) in [(Layout::Nchw, DType::F32)].into_iter().chain(halves) {
        for place in places().iter().filter(|place| computes(place, dtype)) {
            let builder = DataLoader::builder(small_files(9))
                .transform(RandomResizedCrop::new(19))
                .transform(RandomHorizontalFlip::new(0.5))
                .transform(ColorJitter::new(0.4, 0.4, 0.4, 0.1))
                .transform(Normalize::IMAGENET)
                .output(layout, dtype)
                .batch_size(4)
                .batch_transform(MixUp::new(1.0))
                .shuffle(true);
            for batch in place.build(builder).epoch(0).unwrap() {
                let batch = batch.unwrap();
                let at = format!("{}, {layout:?} {dtype:?}, batch {}", place.name, batch.index());
                let tensor = batch.to_tensor(&place.device).unwrap();
                assert_eq!(tensor.dims(), batch.shape(), "{at}");
                assert!(bytes(tensor) == batch.to_host().unwrap(), "{at}: other bytes");
                let classes: Tensor<1, Int> = batch.class_tensor(&place.device).unwrap();
                let classes: Vec<u32> = classes.into_data().iter::<u32>().collect();
                assert_eq!(classes, batch.classes().unwrap(), "{at}");
                let soft = batch.soft_label_tensor(9, &place.device).unwrap();
                assert_eq!(soft.dims(), [batch.len(), 9], "{at}");
                let soft: Vec<f32> = soft.into_data().iter::<f32>().collect();
                assert_eq!(soft, batch.soft_labels(9).unwrap(), "{at}");
            }
        }
    }
}

/// A tensor made for an autodiff device is on that device, and gradients are computed through later operations.
#[test]
fn on_an_autodiff_device() {
    for place in places() {
        let device = place.device.clone().autodiff();
        let batch = first(place, ramp().0);
        let images = batch.to_tensor(&device).unwrap();
        assert_eq!(images.device(), device, "{}", place.name);
        assert_eq!(batch.class_tensor(&device).unwrap().device(), device, "{}", place.name);
        let weight = Tensor::<4>::from_data([[[[2.0]]]], &device).require_grad();
        let gradients = (images * weight.clone()).sum().backward();
        let gradient: f32 = weight.grad(&gradients).unwrap().into_scalar();
        assert_eq!(gradient, ramp().1.iter().sum::<f32>(), "{}", place.name);
    }
}

/// Burn makes the device, and gpufeed adopts it.
#[test]
fn on_a_device_that_burn_made() {
    let options = Device::wgpu_options();
    // Burn does not choose a software adapter by itself if there is another adapter.
    let software = gpus().all(|(_, gpu)| gpu.is_software());
    let options = if software { options.device_kind(DeviceKind::Cpu) } else { options };
    if gpus().next().is_none() {
        return; // `gpufeed_testing::device::devices` has reported it
    }
    let (device, setup) = options.init_with_setup().unwrap();
    let gpu = Gpu::from_burn(&device, setup);
    let loader = ramp().0.output(Layout::Nhwc, DType::F32).build(&Backend::Gpu(gpu)).unwrap();
    let batch = loader.epoch(0).unwrap().next().unwrap().unwrap();
    let tensor = batch.to_tensor(&device).unwrap();
    assert_eq!(tensor.into_data().try_to_vec::<f32>().unwrap(), ramp().1);
}

/// Reading a tensor needs a buffer to map. Turning batches into tensors creates no such buffer, in gpufeed or in Burn;
/// reading in gpufeed and in Burn creates one each.
#[test]
fn pixels_do_not_pass_through_host_memory() {
    for adapter in Gpu::enumerate() {
        // This device is used here only, so nothing else creates buffers on it, and Burn has read nothing yet.
        let (gpu, device) = Gpu::for_burn(&adapter).unwrap();
        let builder = ramp().0.output(Layout::Nhwc, DType::F32);
        let loader = builder.execute(gpufeed::Execute::Gpu).build(&Backend::Gpu(gpu.clone())).unwrap();
        let hand_over = |epoch| {
            let batch = loader.epoch(epoch).unwrap().next().unwrap().unwrap();
            drop(batch.to_tensor(&device).unwrap());
            batch
        };
        // Counts the buffers in use, after a poll: wgpu frees a buffer at the first poll after the work that needed it.
        let alive = || {
            gpu.device().poll(gpufeed::wgpu::PollType::wait_indefinitely()).unwrap();
            gpu.device().get_internal_counters().hal.buffers.read()
        };
        (0..3).for_each(|epoch| drop(hand_over(epoch)));
        let (made, before) = (gpu.buffers_made(), alive());
        (3..40).for_each(|epoch| drop(hand_over(epoch)));
        assert_eq!((gpu.buffers_made(), alive()), (made, before), "{gpu}");

        let batch = hand_over(40);
        batch.to_host().unwrap();
        assert_eq!(gpu.buffers_made(), made + 1, "{gpu}: reading a batch is not noticed");
        let before = alive();
        bytes(batch.to_tensor(&device).unwrap());
        assert!(alive() > before, "{gpu}: reading a tensor is not noticed");
    }
}
