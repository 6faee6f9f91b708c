//! Tests that an allocation that the driver or the system refuses causes no panic, no end of the process, and no error
//! without the setting to change.
//!
//! The process's address space is limited, so the driver really has no memory to give. wgpu notices that on Vulkan; its
//! OpenGL backend does not ask whether an allocation succeeded, and the lavapipe that is tested here has no memory
//! budgets (`VK_EXT_memory_budget`).
#![cfg(target_os = "linux")]

use gpufeed::transforms::{CenterCrop, RandomResizedCrop};
use gpufeed::{Backend, DataLoader, DataLoaderBuilder, ErrorKind, Execute, Gpu, InMemory, Label, wgpu};
use gpufeed_testing::encoded;
use gpufeed_testing::pipeline::small_files;
use gpufeed_testing::watch::{adapters, alone, gpu_buffers, left_over, opened};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Runs `work` while the process may grow by no more than `bytes` of address space.
fn with_little_memory<T>(bytes: u64, work: impl FnOnce() -> T) -> T {
    let status = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: u64 = status.split(' ').next().unwrap().parse().unwrap();
    let before = getrlimit(Resource::As);
    let current = Some(pages * rustix::param::page_size() as u64 + bytes);
    setrlimit(Resource::As, Rlimit { current, maximum: before.maximum }).unwrap();
    let result = work();
    setrlimit(Resource::As, before).unwrap();
    result
}

fn vulkan() -> Vec<Gpu> {
    let mut adapters = adapters(|descriptor| descriptor.backends = wgpu::Backends::VULKAN);
    // Drivers of hardware GPUs take their memory from elsewhere.
    adapters.retain(|adapter| adapter.get_info().device_type == wgpu::DeviceType::Cpu);
    adapters.iter().map(opened).collect()
}

/// Returns the settings of a loader whose batches take 96 MiB.
fn builder(execute: Execute) -> DataLoaderBuilder {
    let builder = DataLoader::builder(small_files(64)).transform(RandomResizedCrop::new(1024));
    builder.batch_size(8).workers(2).queue_depth(1).slot_bytes(16 << 20).execute(execute)
}

#[test]
fn epoch_names_the_bytes_and_the_settings() {
    alone(60, "starting", || {
        for gpu in vulkan() {
            for execute in [Execute::Gpu, Execute::Cpu] {
                let before = gpu_buffers(&gpu);
                let backend = gpu.clone().into();
                let loader = builder(execute).build(&backend).unwrap();
                let error = with_little_memory(200 << 20, || loader.epoch(0)).unwrap_err();
                let ErrorKind::OutOfMemory { what, bytes } = error.kind() else { panic!("{gpu}: {error}") };
                assert!(!what.is_empty() && *bytes >= 16 << 20, "{error}");
                let text = error.to_string();
                assert!(
                    ["batch_size", "queue_depth", "slot_bytes"].iter().all(|setting| text.contains(setting)),
                    "{text}"
                );
                assert_eq!(gpu_buffers(&gpu), before, "{gpu}: what fitted is freed");
                // The loader and the device still work after the refusal.
                assert_eq!(loader.epoch(0).unwrap().filter(Result::is_ok).count(), 8, "{gpu}");
                let loader = DataLoader::builder(small_files(9)).transform(CenterCrop::new(16)).execute(execute);
                assert_eq!(loader.build(&backend).unwrap().epoch(0).unwrap().filter(Result::is_ok).count(), 9);
            }
        }
    });
}

#[test]
fn a_ring_that_cannot_grow_ends_the_run_and_no_more() {
    alone(120, "growing", || {
        for gpu in vulkan() {
            for execute in [Execute::Gpu, Execute::Cpu] {
                let loader = builder(execute).build(&gpu.clone().into()).unwrap();
                let mut run = loader.epoch(0).unwrap();
                let mut held = vec![run.next().unwrap().unwrap()];
                let mut hold = |batch: gpufeed::Result<_>| batch.map(|batch| held.push(batch)).err();
                let error = with_little_memory(150 << 20, || run.find_map(&mut hold));
                let error = error.unwrap_or_else(|| panic!("{gpu}: {} batches held", held.len()));
                let ErrorKind::OutOfMemory { bytes, .. } = error.kind() else { panic!("{gpu}: {error}") };
                assert_eq!(*bytes, 8 * 3 * 1024 * 1024 * 4);
                drop((held, run));
                assert_eq!(left_over(), [""; 0]);
                assert_eq!(loader.epoch(1).unwrap().filter(Result::is_ok).count(), 8, "{gpu}: the loader lives on");
            }
        }
    });
}

/// Decoding takes 256 MiB for one image, and 768 MiB for another, whose rows come in seven interlaced passes.
#[test]
fn images_that_there_is_no_memory_for_are_bad_samples() {
    alone(120, "decoding", || {
        let small = encoded::encode(encoded::picture(40, 30), image::ImageFormat::Png);
        let mut files = vec![small; 20];
        files[5] = encoded::black_png(8192, false);
        files[9] = encoded::black_png(8192, true);
        let data: InMemory = files.into_iter().zip(0..).map(|(file, class)| (file, Label::Class(class))).collect();
        let loader = DataLoader::builder(data).transform(CenterCrop::new(16)).batch_size(4).workers(2);
        let loader = loader.build(&Backend::Cpu).unwrap();
        let batches: Vec<_> = with_little_memory(200 << 20, || loader.epoch(0).unwrap().collect());
        let batches: Vec<_> = batches.into_iter().map(gpufeed::Result::unwrap).collect();
        let failures: Vec<_> = batches.iter().flat_map(|batch| batch.failures()).collect();
        assert_eq!(failures.iter().map(|failure| failure.id).collect::<Vec<_>>(), [5, 9]);
        for failure in failures {
            let ErrorKind::NoMemory { bytes } = failure.error.kind() else { panic!("{}", failure.error) };
            assert!(*bytes >= 256 << 20 && failure.error.to_string().contains("max_decode_bytes"), "{}", failure.error);
        }
        // With enough memory, both images are decoded.
        assert!(loader.epoch(1).unwrap().all(|batch| batch.unwrap().failures().is_empty()));
    });
}
