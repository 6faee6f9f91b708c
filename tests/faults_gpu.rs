//! Catches a device that is lost, destroyed, full or misused and that ends in a hang, a panic, or a batch as if nothing were.
//!
//! Memory that runs out can be injected on Vulkan alone (`memory_budget_thresholds`); wgpu's OpenGL backend does not ask the
//! driver whether an allocation went well.

mod line;
mod watch;

use gpufeed::transforms::{CenterCrop, ColorJitter, RandomResizedCrop};
use gpufeed::{DataLoader, DataLoaderBuilder, Epochs, Error, ErrorKind, Execute, Gpu, InMemory, Processor, wgpu};
use line::small_files;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};
use watch::{adapters, alone, application_device, left_over};

static FILES: LazyLock<InMemory> = LazyLock::new(|| small_files(60));

/// 30 batches of two images.
fn builder() -> DataLoaderBuilder {
    let builder = DataLoader::builder(FILES.clone()).transform(RandomResizedCrop::new(48));
    builder.transform(ColorJitter::new(0.4, 0.4, 0.4, 0.1)).batch_size(2).workers(3).slot_bytes(16 << 20)
}

/// The two ways to a device, each with a device of its own, and the two executors there.
fn each_device(test: fn(&str, &Gpu, Execute)) {
    for adapter in adapters(|_| {}) {
        for execute in [Execute::Gpu, Execute::Cpu] {
            let (device, queue) = application_device(&adapter);
            let opened = Gpu::open(&adapter).unwrap();
            for (way, gpu) in [("opened", opened), ("adopted", Gpu::from_wgpu(&adapter, device, queue))] {
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

/// What a run whose device is gone gives: an error soon, then nothing, and no thread stays.
fn ends_with_an_error(what: &str, mut run: Epochs) -> Error {
    let left = run.len();
    let (mut batches, mut error) = (0, None);
    for batch in run.by_ref() {
        match batch {
            // Submitted before the loss: its content is gone, which is an error and no panic.
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

/// Whatever is asked of a device that is gone is an error at once.
fn is_gone(what: &str, gpu: &Gpu, execute: Execute, loader: &DataLoader) {
    let started = Instant::now();
    for epoch in 1..4 {
        let text = reason(what, &loader.epoch(epoch).unwrap_err());
        assert!(text.contains("lost") || text.contains("destroyed"), "{what}: {text}");
    }
    reason(what, &builder().execute(execute).build(&gpu.clone().into()).unwrap_err());
    let pixels = gpufeed::Pixels::new(64, 48, gpufeed::PixelFormat::Rgb8, &[9; 64 * 48 * 3]).unwrap();
    let drawn = loader.plan().draw(64, 48, &gpufeed::transforms::Key::default()).unwrap();
    let processor = Processor::new(loader.plan(), &gpu.clone().into());
    reason(what, &processor.and_then(|processor| processor.run(&[(pixels, &drawn)])).unwrap_err());
    assert!(started.elapsed() < Duration::from_secs(5), "{what}: {:?}", started.elapsed());
}

#[test]
fn a_device_destroyed_in_mid_epoch_ends_the_run_with_an_error() {
    alone(200, "destroyed", || {
        each_device(|what, gpu, execute| {
            let loader = builder().execute(execute).build(&gpu.clone().into()).unwrap();
            let mut run = loader.epoch(0).unwrap();
            let held = run.next().unwrap().unwrap();
            run.next().unwrap().unwrap().to_host().unwrap();
            gpu.device().destroy();
            let text = reason(what, &ends_with_an_error(what, run));
            assert!(text.contains("lost") || text.contains("destroyed"), "{what}: {text}");
            reason(what, &held.to_host().unwrap_err());
            is_gone(what, gpu, execute, &loader);
            drop((loader, held));
        });
    });
}

#[test]
fn a_device_destroyed_at_any_moment_by_another_thread() {
    alone(200, "destroyed elsewhere", || {
        for round in 0..6_u64 {
            each_device(|what, gpu, execute| {
                static ROUND: AtomicUsize = AtomicUsize::new(0);
                let round = ROUND.fetch_add(1, Ordering::Relaxed) as u64;
                let loader = builder().execute(execute).build(&gpu.clone().into()).unwrap();
                let run = loader.epochs(0..1000).unwrap();
                let device = gpu.device().clone();
                let other = std::thread::spawn(move || {
                    std::thread::sleep(Duration::from_micros(round * round * 1_000_003 % 60_001));
                    device.destroy();
                });
                // Batches are taken while the device goes.
                let error = run.filter_map(Result::err).next().unwrap();
                reason(what, &error);
                other.join().unwrap();
                assert_eq!(left_over(), [""; 0], "{what}, round {round}");
                is_gone(what, gpu, execute, &loader);
            });
            let _ = round;
        }
    });
}
