//! A device that is lost at any of its submissions.

use super::misbehaving;
use gpufeed::internals::Mock;
use gpufeed::transforms::CenterCrop;
use gpufeed::{
    Batch, Cache, DataLoader, DataLoaderBuilder, Error, ErrorKind, Execute, Gpu, InMemory, Label, PixelFormat,
};
use gpufeed_testing::pipeline::{is_full, loader_devices};
use gpufeed_testing::watch::{alone, gpu_buffers, left_over};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

/// One submission for each sample, and one for each batch that is read: together 200.
const SAMPLES: usize = 160;
const READ_EACH: usize = 4;
const SUBMISSIONS: u64 = (SAMPLES + SAMPLES / READ_EACH) as u64;

static PIXELS: LazyLock<InMemory> = LazyLock::new(|| {
    let mut data = InMemory::new();
    for number in 0..SAMPLES as u32 {
        let bytes: Vec<u8> = (0..12 * 12 * 3).map(|i| ((i * (number + 3)) >> 3) as u8).collect();
        data.push_pixels(12, 12, PixelFormat::Rgb8, bytes, Label::Class(number)).unwrap();
    }
    data
});

fn builder(execute: Execute) -> DataLoaderBuilder {
    let builder = DataLoader::builder(PIXELS.clone()).transform(CenterCrop::new(8)).batch_size(1).workers(2);
    builder.slot_bytes(16 << 20).execute(execute)
}

/// The batches of an epoch up to its first error, of which every fourth is read.
fn run(loader: &DataLoader, epoch: u64) -> (Vec<Vec<u8>>, Option<Error>) {
    let (mut read, mut number) = (Vec::new(), 0);
    let take = |batch: gpufeed::Result<Batch>| {
        let batch = batch?;
        number += 1;
        if number % READ_EACH == 0 {
            read.push(batch.to_host()?);
        }
        Ok(())
    };
    let error = loader.epoch(epoch).and_then(|mut run| run.try_for_each(take)).err();
    (read, error)
}

fn says_gone(what: &str, error: &Error) {
    let ErrorKind::Device { stage, reason } = error.kind() else { panic!("{what}: {error}") };
    assert!(!stage.is_empty() && (reason.contains("lost") || reason.contains("destroyed")), "{what}: {error}");
}

/// Checks a run on a device that is lost at a submission, and each further use of it.
fn is_lost(what: &str, gpu: &Gpu, loader: DataLoader, expected: &[Vec<u8>], submission: u64) {
    let before = gpu_buffers(gpu).0;
    let started = Instant::now();
    let (read, error) = run(&loader, 0);
    // The batches that were read before the loss are right, and no other is taken for right.
    assert!(read.len() as u64 <= submission && expected.starts_with(&read), "{what}: {} batches", read.len());
    says_gone(what, &error.unwrap_or_else(|| panic!("{what}: no error")));
    assert_eq!(left_over(), [""; 0], "{what}");
    says_gone(what, &loader.epoch(1).unwrap_err());
    says_gone(what, &builder(Execute::Gpu).build(&gpu.clone().into()).unwrap_err());
    assert!(started.elapsed() < Duration::from_secs(10), "{what}: {:?}", started.elapsed());
    drop(loader);
    // wgpu keeps a slot and a batch for each of the three submissions that can be in flight at the loss.
    assert!(gpu_buffers(gpu).0 <= before + 6, "{what}: buffers stay");
}

fn lost_at_each(cases: &'static [(Execute, Cache)], step: u64) {
    for device in loader_devices() {
        for &(execute, cache) in cases {
            let (gpu, mock) = misbehaving(device, false, Mock::default());
            let loader = builder(execute).cache(cache).build(&gpu.clone().into()).unwrap();
            // `build` may have run the shaders once, without work.
            mock.submissions.at(0..0);
            let (expected, error) = run(&loader, 0);
            assert!(error.is_none() && expected.len() == SAMPLES / READ_EACH, "{gpu}: {error:?}");
            assert_eq!(mock.submissions.calls(), SUBMISSIONS, "{gpu}");
            let mut case = 0;
            for submission in (0..SUBMISSIONS).step_by(if is_full() { 1 } else { step as usize }) {
                case += 1;
                // A device of gpufeed hears of its loss, an adopted one has to find out; before the work, or after it.
                let (adopted, after) = (case % 2 == 0, case % 4 < 2);
                let (gpu, mock) = misbehaving(device, adopted, Mock::default());
                let what = format!("{gpu}, {execute:?}, {cache:?}, submission {submission}, {adopted}, {after}");
                let loader = builder(execute).cache(cache).build(&gpu.clone().into()).unwrap();
                // Cached samples are submitted without a slot.
                if matches!(cache, Cache::Device(_)) {
                    assert!(run(&loader, 1).1.is_none(), "{what}");
                }
                let fault = if after { &mock.finished_submissions } else { &mock.submissions };
                fault.at(submission..submission + 1);
                is_lost(&what, &gpu, loader, &expected, submission);
            }
        }
    }
}

#[test]
fn at_any_of_200_submissions_of_slots() {
    alone(300, "slots", || lost_at_each(&[(Execute::Gpu, Cache::Off)], 1));
}

#[test]
fn at_submissions_of_copies_and_of_cached_samples() {
    alone(300, "copies", || lost_at_each(&[(Execute::Cpu, Cache::Off), (Execute::Gpu, Cache::Device(1 << 20))], 17));
}
