//! Tests of adapters that misbehave: with fewer capabilities than most, with a wrong clock, lost at any submission,
//! without memory for any buffer, with mappings that fail. Whatever happens, batches are right, or an error names its
//! stage and the setting to change.

mod ahead;
mod clocks;
mod failing;
mod limits;
mod lost;
mod switches;

use gpufeed::internals::{Mock, mocked};
use gpufeed::transforms::{
    CenterCrop, ColorJitter, FiveCrop, GaussianBlur, MixUp, Normalize, RandomResizedCrop, Resize, TrivialAugmentWide,
};
use gpufeed::{Cache, DType, DataLoader, DataLoaderBuilder, Execute, Gpu, InMemory, Layout, Result, Semantics, wgpu};
use gpufeed_testing::device::Device;
use gpufeed_testing::pipeline::{Seen, small_files};
use std::sync::{Arc, LazyLock};

static FILES: LazyLock<InMemory> = LazyLock::new(|| small_files(10));

/// The settings of a loader, with the kinds of buffers and passes that it is here for.
struct Line {
    name: &'static str,
    builder: DataLoaderBuilder,
}

/// Loaders that together use every kind of buffer and pass: two batches an epoch of ten small images.
fn lines() -> Vec<Line> {
    let builder = || DataLoader::builder(FILES.clone()).batch_size(6).workers(2).slot_bytes(16 << 20).queue_depth(1);
    let jitter = || builder().transform(RandomResizedCrop::new(24)).transform(ColorJitter::new(0.4, 0.4, 0.4, 0.1));
    let line = |name, builder| Line { name, builder };
    vec![
        line("means, two views, f32", jitter().views(2)),
        line("a device cache, f16", jitter().cache(Cache::Device(8 << 20)).output(Layout::Nchw, DType::F16)),
        line("a host cache, u8", jitter().cache(Cache::Host(8 << 20)).output(Layout::Nhwc, DType::U8)),
        line(
            "weights of resizes on bytes",
            builder()
                .transform(Resize::new((30, 26)))
                .transform(CenterCrop::new(20))
                .transform(ColorJitter::new(0.0, 0.4, 0.0, 0.0))
                .semantics(Semantics::Uint8)
                .output(Layout::Nchw, DType::U8),
        ),
        line(
            "intermediates, tables, warps",
            builder()
                .transform(Resize::new((26, 26)))
                .transform(TrivialAugmentWide::new())
                .transform(GaussianBlur::new(3))
                .transform(Normalize::new([0.4, 0.5, 0.6], [0.2, 0.3, 0.25])),
        ),
        line("mixed", jitter().batch_transform(MixUp::new(1.0)).output(Layout::Nchw, DType::F16)),
        line("crops", builder().transform(Resize::new((40, 40))).transform(FiveCrop::new((20, 24)))),
    ]
}

impl Line {
    /// Reads the batches of two epochs.
    fn batches(&self, gpu: &Gpu, execute: Execute) -> Result<Vec<Seen>> {
        let loader = self.builder.clone().execute(execute).build(&gpu.clone().into())?;
        loader.epochs(0..2)?.map(|batch| Seen::read(&batch?)).collect()
    }
}

/// A device of `device` with the faults of `mock`.
fn misbehaving(device: &Device, adopted: bool, mock: Mock) -> (Gpu, Arc<Mock>) {
    misbehaving_with(device, device.features(), adopted, mock)
}

/// A device of `device` with these features and the faults of `mock`.
fn misbehaving_with(device: &Device, features: wgpu::Features, adopted: bool, mock: Mock) -> (Gpu, Arc<Mock>) {
    let descriptor = wgpu::DeviceDescriptor {
        required_features: features,
        required_limits: wgpu::Limits::default().or_worse_values_from(&device.adapter.limits()),
        ..wgpu::DeviceDescriptor::default()
    };
    let (opened, queue) = pollster::block_on(device.adapter.request_device(&descriptor)).unwrap();
    let mock = Arc::new(mock);
    (mocked(&device.adapter, opened, queue, adopted, Arc::clone(&mock)), mock)
}
