//! What is refused, and what is left behind.

use crate::consumer::Consumer;
use crate::{exporting, exports, numbered};
use gpufeed::{Backend, ErrorKind, Export, Gpu, Handover, wgpu};
use gpufeed_testing::device;

#[test]
fn a_consumer_that_never_releases_ends_in_the_error_of_a_full_ring() {
    for gpu in exporting() {
        // Room for the four buffers that a loader begins with, and for one more.
        let builder = numbered(64, 16).batch_size(2).memory_budget(200 << 20).export(Export::Auto);
        let loader = builder.build(&Backend::Gpu(gpu.clone())).unwrap();
        let mut taken = 0;
        let error = loader.epochs(0..10_000).unwrap().find_map(|batch| {
            match batch {
                Ok(batch) => {
                    let _ = batch.group("image").unwrap().external().unwrap();
                    taken += 1;
                    // Dropped without being released.
                    None
                }
                Err(error) => Some(error),
            }
        });
        let error = error.expect("an endless loader does not end by itself");
        assert!(matches!(error.kind(), ErrorKind::OutputsHeld { held, .. } if *held >= 4), "{gpu}: {error}");
        assert!(taken >= 4, "{gpu}: {taken}");
    }
}

#[test]
fn devices_that_do_not_export_say_why() {
    let cpu = numbered(4, 8).export(Export::Auto).build(&Backend::Cpu).unwrap_err().to_string();
    assert_eq!(cpu, "export: the backend is the CPU, whose batches are in host memory");
    for adapter in device::adapters() {
        let gpu = Gpu::open(&adapter).unwrap();
        let info = adapter.get_info();
        if let Err(error) = exports(&gpu) {
            assert!(info.backend != wgpu::Backend::Vulkan, "{error}");
            assert!(error.to_string().contains("its API is another than Vulkan"), "{error}");
        }
        let descriptor = wgpu::DeviceDescriptor::default();
        let (device, queue) = pollster::block_on(adapter.request_device(&descriptor)).unwrap();
        let error = exports(&Gpu::from_wgpu(&adapter, device, queue)).unwrap_err().to_string();
        assert!(error.starts_with("export: ") && error.contains("the application's"), "{error}");
        // A batch of a loader that does not export.
        let loader = numbered(4, 8).build(&Backend::Gpu(gpu)).unwrap();
        let batch = loader.epoch(0).unwrap().next().unwrap().unwrap();
        let error = batch.group("image").unwrap().external().unwrap_err().to_string();
        assert_eq!(error, "export: off, so that no other API can import this batch");
        batch.release();
    }
}

#[test]
fn explain_says_how_batches_are_handed_over() {
    for gpu in exporting() {
        let explained = exports(&gpu).unwrap().explain();
        let line = explained.lines().find(|line| line.starts_with("handed over: ")).unwrap();
        assert!(line.starts_with("handed over: memory that another API imports, by "), "{line}");
        let off = numbered(4, 8).build(&Backend::Gpu(gpu.clone())).unwrap().explain();
        assert!(!off.contains("handed over"), "{off}");
    }
}

/// Handles that are open in this process.
fn handles() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

#[test]
fn nothing_is_left_open() {
    let loaders = 30;
    for gpu in exporting() {
        let mut before = 0;
        for number in 0..loaders {
            let loader = numbered(16, 8).batch_size(2).export(Export::Auto).build(&Backend::Gpu(gpu.clone())).unwrap();
            let mut run = loader.epochs(0..3).unwrap();
            let mut consumer = None;
            // In the middle of an epoch, with batches that are ready.
            for batch in run.by_ref().take(5) {
                let batch = batch.unwrap();
                let external = batch.group("image").unwrap().external().unwrap();
                let uuid = external.uuid().unwrap().to_owned();
                let handover: Handover = external.handover();
                let consumer = consumer.get_or_insert_with(|| Consumer::open(&uuid, handover));
                let reading = consumer.begin(&external, true);
                consumer.end(reading);
                batch.release();
            }
            drop((run, loader, consumer));
            // The first rounds open what a driver keeps.
            if number == 5 {
                before = handles();
            }
        }
        // A thread may close one a little later. What is left in each round would be twenty and more.
        assert!(handles() < before + loaders / 3, "{gpu}: {before} handles, then {}", handles());
    }
}
