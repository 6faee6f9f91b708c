//! Batches whose memory another API imports, on every adapter whose driver exports memory: a second device of Vulkan reads
//! them. `scripts/test-handover.sh` runs this on lavapipe, which exports no semaphores, and on SwiftShader, which exports
//! binary ones; and Python's part of it.

#![cfg(target_os = "linux")]

mod bits;
mod consumer;
mod order;
mod refused;

use gpufeed::transforms::{RandomCrop, Transform};
use gpufeed::{Backend, Batch, DataLoader, Export, Gpu, InMemory, Label, PixelFormat};
use gpufeed_testing::device;

/// The machine's devices that export, each as gpufeed opens it.
fn exporting() -> Vec<Gpu> {
    let open = |adapter: &gpufeed::wgpu::Adapter| Gpu::open(adapter).unwrap();
    let gpus: Vec<Gpu> = device::adapters().iter().map(open).collect();
    device::require(gpus.iter().map(ToString::to_string));
    let exporting: Vec<Gpu> = gpus.into_iter().filter(|gpu| exports(gpu).is_ok()).collect();
    // scripts/test-handover.sh has drivers that do.
    assert!(!exporting.is_empty() || std::env::var_os("GPUFEED_REQUIRE_EXPORT").is_none(), "no adapter exports memory");
    exporting
}

/// What a loader on this device says of exporting.
fn exports(gpu: &Gpu) -> gpufeed::Result<DataLoader> {
    numbered(4, 8).export(Export::Auto).build(&Backend::Gpu(gpu.clone()))
}

/// Samples whose pixels are their numbers, cut to `side` pixels.
fn numbered(samples: u8, side: u32) -> gpufeed::DataLoaderBuilder {
    let mut data = InMemory::new();
    let edge = side + 1;
    for number in 0..samples {
        let pixels = vec![number; (edge * edge * 3) as usize];
        data.push_pixels(edge, edge, PixelFormat::Rgb8, pixels, Label::Class(number.into())).unwrap();
    }
    let crop: Transform = RandomCrop::new(side).into();
    DataLoader::builder(data).transform(crop).output(gpufeed::Layout::Nhwc, gpufeed::DType::U8).workers(2)
}

/// The bytes that a batch of `numbered` has.
fn content(batch: &Batch) -> Vec<u8> {
    let an_image = batch.bytes() / batch.len();
    batch.ids().iter().flat_map(|&id| std::iter::repeat_n(id as u8, an_image)).collect()
}
