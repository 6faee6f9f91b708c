//! Tests that a device that is lost, destroyed, full or misused causes no hang, no panic, and no batch that looks
//! valid.
//!
//! Tests of memory that runs out are in `out_of_memory.rs`.

use gpufeed::transforms::{CenterCrop, ColorJitter, Key, RandomResizedCrop};
use gpufeed::{
    DataLoader, DataLoaderBuilder, Epochs, Error, ErrorKind, Execute, Gpu, InMemory, Output, PixelFormat, Pixels, Plan,
    Processor, wgpu,
};
use gpufeed_testing::pipeline::small_files;
use gpufeed_testing::watch::{adapters, alone, application_device, gpu_buffers, left_over, opened};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

static FILES: LazyLock<InMemory> = LazyLock::new(|| small_files(60));

/// Returns the settings of a loader with 30 batches of two images.
fn builder() -> DataLoaderBuilder {
    let builder = DataLoader::builder(FILES.clone()).transform(RandomResizedCrop::new(48));
    builder.transform(ColorJitter::new(0.4, 0.4, 0.4, 0.1)).batch_size(2).workers(3).slot_bytes(16 << 20)
}

/// Runs `test` on every adapter with a device that gpufeed opens and one that it adopts, for each of the two executors.
fn each_device(test: impl Fn(&str, &Gpu, Execute)) {
    for adapter in adapters(|_| {}) {
        for execute in [Execute::Gpu, Execute::Cpu] {
            let (device, queue) = application_device(&adapter);
            let own = opened(&adapter);
            for (way, gpu) in [("opened", own), ("adopted", Gpu::from_wgpu(&adapter, device, queue))] {
                test(&format!("{gpu}, {way}, {execute:?}"), &gpu, execute);
            }
        }
    }
}

/// The reason of a device's error.
fn reason(what: &str, error: &Error) -> String {
    let ErrorKind::Device { stage, reason } = error.kind() else { panic!("{what}: {error}") };
    assert!(!stage.is_empty() && !reason.is_empty(), "{what}: {error}");
    reason.clone()
}

fn says_gone(what: &str, error: &Error) {
    let reason = reason(what, error);
    assert!(reason.contains("lost") || reason.contains("destroyed"), "{what}: {error}");
}

/// Checks that a run whose device is gone gives an error, then nothing, and leaves no thread; returns the error.
fn ends_with_an_error(what: &str, mut run: Epochs) -> Error {
    let left = run.len();
    let (mut batches, mut error) = (0, None);
    for batch in run.by_ref() {
        match batch {
            // The batch was submitted before the loss. Its content is gone, which is an error and no panic.
            Ok(batch) => {
                batches += 1;
                assert!(batch.to_host().is_err(), "{what}: read from a device that is gone");
            }
            Err(found) => error = Some(found),
        }
    }
    assert!(batches < left && run.next().is_none() && run.len() == 0, "{what}: {batches} of {left} batches");
    drop(run);
    assert_eq!(left_over(), [""; 0], "{what}");
    error.unwrap_or_else(|| panic!("{what}: no error"))
}

/// Checks that every call that uses a lost device gives an error without delay.
fn is_gone(what: &str, gpu: &Gpu, execute: Execute, loader: &DataLoader) {
    let started = Instant::now();
    for epoch in 1..4 {
        says_gone(what, &loader.epoch(epoch).unwrap_err());
    }
    says_gone(what, &builder().execute(execute).build(&gpu.clone().into()).unwrap_err());
    let pixels = gpufeed::Pixels::new(64, 48, gpufeed::PixelFormat::Rgb8, &[9; 64 * 48 * 3]).unwrap();
    let params = loader.plan().make_params(64, 48, &gpufeed::transforms::Key::default()).unwrap();
    let processor = Processor::new(loader.plan(), &gpu.clone().into());
    says_gone(what, &processor.and_then(|processor| processor.run(&[(pixels, &params)])).unwrap_err());
    assert!(started.elapsed() < Duration::from_secs(5), "{what}: {:?}", started.elapsed());
}

/// Waits until the pipeline is full and idle. wgpu frees the staging slots of a destroyed device at its next poll, even
/// while workers write to them (gfx-rs/wgpu#10256), so an application must not destroy a device while a pipeline works.
fn stands_still(loader: &DataLoader) {
    let (mut seen, mut since) = (u64::MAX, Instant::now());
    while since.elapsed() < Duration::from_millis(200) {
        let images = loader.stats().images;
        if images != seen {
            (seen, since) = (images, Instant::now());
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_device_destroyed_in_mid_epoch_ends_the_run_with_an_error() {
    alone(200, "destroyed", || {
        for taken in [1, 5] {
            each_device(|what, gpu, execute| {
                let buffers = gpu_buffers(gpu).0;
                let loader = builder().execute(execute).build(&gpu.clone().into()).unwrap();
                let mut run = loader.epoch(0).unwrap();
                let held: Vec<_> = run.by_ref().take(taken).map(Result::unwrap).collect();
                assert!(held[0].to_host().is_ok(), "{what}");
                stands_still(&loader);
                gpu.device().destroy();
                says_gone(what, &ends_with_an_error(what, run));
                says_gone(what, &held[0].to_host().unwrap_err());
                is_gone(what, gpu, execute, &loader);
                drop((loader, held));
                assert!(gpu_buffers(gpu).0 <= buffers, "{what}: buffers stay");
            });
        }
    });
}

/// With the CPU executor, workers do not write to mapped memory, so the device may be destroyed at any moment.
#[test]
fn a_device_destroyed_at_any_moment_by_another_thread() {
    alone(200, "destroyed elsewhere", || {
        for round in 0..8_u64 {
            each_device(|what, gpu, execute| {
                if execute != Execute::Cpu {
                    return;
                }
                let loader = builder().execute(execute).build(&gpu.clone().into()).unwrap();
                let mut run = loader.epochs(0..1000).unwrap();
                let device = gpu.device().clone();
                let other = std::thread::spawn(move || {
                    std::thread::sleep(Duration::from_micros(round * round * 1_000_003 % 40_001));
                    device.destroy();
                });
                says_gone(what, &run.find_map(Result::err).unwrap());
                other.join().unwrap();
                assert_eq!(left_over(), [""; 0], "{what}, round {round}");
                is_gone(what, gpu, execute, &loader);
            });
        }
    });
}

#[test]
fn the_lost_callback_is_heard_and_an_adopted_device_keeps_its_own() {
    alone(60, "callback", || {
        for adapter in adapters(|_| {}) {
            let gpu = opened(&adapter);
            let loader = builder().build(&gpu.clone().into()).unwrap();
            gpu.device().destroy();
            // wgpu calls the lost callback in the poll that finds the queue empty.
            gpu.device().poll(wgpu::PollType::wait_indefinitely()).unwrap();
            let text = loader.epoch(0).unwrap_err().to_string();
            assert_eq!(text, "GPU starting a run: the device was destroyed", "{gpu}");

            let (device, queue) = application_device(&adapter);
            let heard = Arc::new(AtomicUsize::new(0));
            let (lost, error) = (Arc::clone(&heard), Arc::clone(&heard));
            device.set_device_lost_callback(move |_, _| _ = lost.fetch_add(1, Ordering::SeqCst));
            device.on_uncaptured_error(Arc::new(move |_| _ = error.fetch_add(10, Ordering::SeqCst)));
            let gpu = Gpu::from_wgpu(&adapter, device, queue);
            let loader = builder().build(&gpu.clone().into()).unwrap();
            misuse(&gpu);
            assert_eq!(heard.load(Ordering::SeqCst), 10, "{gpu}: the application's mistake is its own");
            assert_eq!(loader.epoch(0).unwrap().filter(Result::is_ok).count(), 30, "{gpu}");
            gpu.device().destroy();
            gpu.device().poll(wgpu::PollType::wait_indefinitely()).unwrap();
            assert_eq!(heard.load(Ordering::SeqCst), 11, "{gpu}");
            says_gone("adopted", &loader.epoch(1).unwrap_err());
        }
    });
}

/// Creates a buffer without a usage, which every device refuses.
fn misuse(gpu: &Gpu) {
    let usage = wgpu::BufferUsages::empty();
    let _ =
        gpu.device().create_buffer(&wgpu::BufferDescriptor { label: None, size: 4, usage, mapped_at_creation: false });
}

#[test]
fn an_error_that_no_scope_caught_ends_the_run_and_is_told_once() {
    alone(60, "uncaptured", || {
        for adapter in adapters(|_| {}) {
            for execute in [Execute::Gpu, Execute::Cpu] {
                let gpu = opened(&adapter);
                let loader = builder().execute(execute).build(&gpu.clone().into()).unwrap();
                let mut run = loader.epoch(0).unwrap();
                run.next().unwrap().unwrap();
                misuse(&gpu);
                let what = format!("{gpu}, {execute:?}");
                let error = run.find_map(Result::err).unwrap_or_else(|| panic!("{what}: no error"));
                assert!(reason(&what, &error).contains("usage"), "{what}: {error}");
                assert_eq!(loader.epoch(1).unwrap().filter(Result::is_ok).count(), 30, "{what}: the device is well");
            }
        }
    });
}

/// A poll of one thread must not make another thread's query fail, nor a healthy device be taken for lost.
#[test]
fn a_device_that_many_threads_keep_busy_is_not_taken_for_lost() {
    alone(120, "busy", || {
        let plan = Plan::compile(&[CenterCrop::new(8).into()], &Output::default()).unwrap();
        let params = plan.make_params(16, 16, &Key::default()).unwrap();
        let pixels = [7; 3 * 16 * 16];
        for adapter in adapters(|_| {}) {
            let gpu = opened(&adapter);
            std::thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|| {
                        let processor = Processor::new(&plan, &gpu.clone().into()).unwrap();
                        let image = Pixels::new(16, 16, PixelFormat::Rgb8, &pixels).unwrap();
                        // Each round makes buffers, submits and waits.
                        for round in 0..150 {
                            let result = processor.run(&[(image, &params)]);
                            result.unwrap_or_else(|error| panic!("{gpu}, round {round}: {error}"));
                        }
                    });
                }
            });
        }
    });
}

#[test]
fn a_buffer_beyond_the_devices_limits_names_the_setting() {
    alone(60, "limits", || {
        for adapter in adapters(|_| {}) {
            let limits = wgpu::Limits { max_buffer_size: 32 << 20, ..wgpu::Limits::default() };
            let limits = wgpu::Limits { max_storage_buffer_binding_size: 32 << 20, ..limits };
            let gpu = Gpu::open_with(&adapter, wgpu::Features::empty(), limits).unwrap();
            for execute in [Execute::Gpu, Execute::Cpu] {
                // 60 images of 3 x 256 x 256 floats take 45 MiB, above the limit of 32 MiB.
                let loader = DataLoader::builder(FILES.clone()).transform(RandomResizedCrop::new(256)).batch_size(60);
                let error = loader.execute(execute).build(&gpu.clone().into()).unwrap_err();
                let ErrorKind::DoesNotFit { needed, limit, .. } = error.kind() else { panic!("{gpu}: {error}") };
                assert_eq!((*needed, *limit), (60 * 3 * 256 * 256 * 4, 32 << 20), "{gpu}");
                assert!(error.to_string().contains("batch_size"), "{error}");
                assert_eq!(builder().execute(execute).build(&gpu.clone().into()).unwrap().len(), 30);
            }
        }
    });
}
