//! Tests that no thread, GPU buffer or file handle outlives what it belongs to, however that ended.
//!
//! wgpu counts the buffers, in its driver interface (feature `counters`); gpufeed does not.

use gpufeed::transforms::{CenterCrop, RandomResizedCrop};
use gpufeed::{
    Backend, Batch, DataLoader, DataLoaderBuilder, Dataset, Execute, Gpu, InMemory, OnError, Result, Sample,
};
use gpufeed_testing::pipeline::small_files;
use gpufeed_testing::watch::{adapters, alone, application_device, gpu_buffers, has_proc, left_over, opened};
use std::sync::LazyLock;

static FILES: LazyLock<InMemory> = LazyLock::new(|| small_files(16));

/// Runs `test` on the CPU, and on each adapter with both executors: one on a device that gpufeed opens, one on a device
/// that it adopts.
fn each_backend(test: impl Fn(&str, &Backend, Execute)) {
    test("CPU", &Backend::Cpu, Execute::Auto);
    for adapter in adapters(|_| {}) {
        let (device, queue) = application_device(&adapter);
        let own = opened(&adapter);
        for (gpu, execute) in [(own, Execute::Gpu), (Gpu::from_wgpu(&adapter, device, queue), Execute::Cpu)] {
            test(&format!("{gpu}, {execute:?}"), &gpu.into(), execute);
        }
    }
}

/// Returns the number of GPU buffers and their bytes; zeros on the CPU.
fn buffers(backend: &Backend) -> (isize, isize) {
    if let Backend::Gpu(gpu) = backend { gpu_buffers(gpu) } else { (0, 0) }
}

/// Returns the number of open files; 0 where /proc is missing.
fn open_files() -> usize {
    if has_proc() { std::fs::read_dir("/proc/self/fd").unwrap().count() } else { 0 }
}

fn builder(execute: Execute) -> DataLoaderBuilder {
    let builder = DataLoader::builder(FILES.clone()).transform(CenterCrop::new(16)).batch_size(4);
    builder.workers(2).slot_bytes(16 << 20).execute(execute)
}

#[test]
fn a_thousand_loaders_leave_nothing() {
    alone(500, "a thousand loaders", || {
        each_backend(|what, backend, execute| {
            let mut kept: Vec<Batch> = Vec::new();
            let mut round = |number: u64| {
                let loader = builder(execute).build(backend).unwrap();
                match number % 4 {
                    // The loader is never used.
                    0 => {}
                    // The run is dropped at some moment of an epoch.
                    1 => drop(loader.epochs(0..9).unwrap().nth((number % 3) as usize)),
                    // A batch outlives its loader.
                    2 => kept = vec![loader.epoch(0).unwrap().next().unwrap().unwrap()],
                    // The run outlives the loader, and ends.
                    _ => {
                        let run = loader.epoch(number).unwrap();
                        drop(loader);
                        assert_eq!(run.filter(Result::is_ok).count(), 4, "{what}");
                    }
                }
            };
            // The first loaders make objects that the driver keeps, so counting begins after them.
            (0..4).for_each(&mut round);
            let before = (buffers(backend), open_files());
            // There are 1,000 loaders on the CPU, and 250 on each other backend, because shaders are compiled for each.
            let count = if matches!(backend, Backend::Cpu) { 1000 } else { 250 };
            (0..count).for_each(&mut round);
            round(2);
            assert_eq!((buffers(backend), open_files()), before, "{what}");
            assert_eq!(left_over(), [""; 0], "{what}");
        });
    });
}

/// A data set in which the function chooses the bad samples; reading one panics if the flag is set, and fails
/// otherwise.
struct Faulty(fn(usize) -> bool, bool);

impl Dataset for Faulty {
    fn len(&self) -> usize {
        FILES.len()
    }

    fn inner(&self) -> Option<&dyn Dataset> {
        None
    }

    fn read<'a>(&'a self, index: usize, buffer: &'a mut Vec<u8>) -> Result<Sample<'a>> {
        if (self.0)(index) {
            assert!(!self.1, "sample {index}");
            return FILES.read(usize::MAX, buffer);
        }
        FILES.read(index, buffer)
    }

    fn name(&self, index: usize) -> String {
        FILES.name(index)
    }
}

#[test]
fn faults_leave_nothing() {
    alone(200, "faults", || {
        each_backend(|what, backend, execute| {
            let faulty = |is_bad, panics| {
                let builder = DataLoader::builder(Faulty(is_bad, panics)).transform(RandomResizedCrop::new(32));
                builder.batch_size(2).workers(3).slot_bytes(16 << 20).execute(execute)
            };
            let panics = || faulty(|index| index == 9, true);
            let fails = || faulty(|index| index == 9, false).on_error(OnError::Fail);
            let all_fail = || faulty(|_| true, false);
            let held = || builder(execute).memory_budget(u64::MAX);
            let round = || {
                for loader in [panics(), fails(), all_fail()] {
                    let loader = loader.build(backend).unwrap();
                    for epoch in 0..3 {
                        let error = loader.epoch(epoch).unwrap().find_map(Result::err);
                        assert!(error.is_some(), "{what}");
                    }
                }
                // The caller holds more batches than the ring had buffers at first, and then takes their buffers out
                // for good.
                let loader = held().build(backend).unwrap();
                let batches: Vec<_> = loader.epochs(0..3).unwrap().map(Result::unwrap).collect();
                drop(loader);
                drop(batches.into_iter().map(Batch::into_buffer).collect::<Vec<_>>());
            };
            round();
            let before = (buffers(backend), open_files());
            (0..4).for_each(|_| round());
            assert_eq!((buffers(backend), open_files()), before, "{what}");
            assert_eq!(left_over(), [""; 0], "{what}");
        });
    });
}

#[test]
fn the_counters_notice_a_leak() {
    alone(60, "twin", || {
        if has_proc() {
            let before = open_files();
            let _file = std::fs::File::open(std::env::current_exe().unwrap()).unwrap();
            assert_eq!(open_files(), before + 1);
        }
        each_backend(|what, backend, execute| {
            let Backend::Gpu(gpu) = backend else { return };
            builder(execute).build(backend).unwrap();
            let before = gpu_buffers(gpu);
            let loader = builder(execute).build(backend).unwrap();
            drop(loader.epoch(0).unwrap());
            let with_loader = gpu_buffers(gpu);
            // Its run has made four output buffers, the staging ring, and the workspace of the shaders.
            assert!(with_loader.0 >= before.0 + 6, "{what}: {before:?}, {with_loader:?}");
            let buffer = loader.epoch(0).unwrap().next().unwrap().unwrap().into_buffer().unwrap();
            drop(loader);
            let (buffers, bytes) = gpu_buffers(gpu);
            assert_eq!(buffers, before.0 + 1, "{what}: the buffer taken out");
            // Vulkan counts bytes, too; other backends report 0.
            assert!(bytes == 0 || bytes >= before.1 + buffer.size() as isize, "{what}: {before:?}, {bytes}");
            drop(buffer);
            assert_eq!(gpu_buffers(gpu), before, "{what}");
        });
    });
}
