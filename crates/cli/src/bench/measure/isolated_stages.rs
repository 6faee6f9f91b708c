//! Each stage by itself, on its own threads and with unlimited input: the rate that it reaches if nothing else limits
//! it.

use crate::bench::setup::Setup;
use crate::bench::setup::samples::{Samples, nth};
use crate::results::IsolatedStage;
use gpufeed::decode;
use gpufeed::internals::{Native, Rig};
use gpufeed::{DataLoader, Dataset, Plan};
use std::error::Error;
use std::hint::black_box;
use std::sync::Barrier;
use std::time::{Duration, Instant};

/// Images that a thread augments at once, each with its own parameters.
pub(crate) const IMAGES_AT_ONCE: usize = 16;

/// Measures reading, decoding and augmenting on `threads` threads each, and the upload with its passes if the GPU
/// augments. Takes `seconds` in all.
pub(crate) fn measure(
    setup: &Setup,
    loader: &DataLoader,
    samples: &Samples,
    threads: usize,
    seconds: f64,
    notes: &mut Vec<String>,
) -> Result<Vec<IsolatedStage>, Box<dyn Error>> {
    let time = Duration::from_secs_f64(seconds / 3.0);
    let (dataset, plan) = (&*setup.data.dataset, loader.plan());
    let mut rows = Vec::new();
    let mut add = |stage: &str, threads, images_per_second| {
        rows.push(IsolatedStage { stage: stage.to_owned(), threads, images_per_second });
    };
    add("read", threads, read_rate(dataset, threads, time)?);
    if samples.files.is_empty() {
        notes.push("alone: the data set holds pixels, so there is no decoding to measure".to_owned());
    } else {
        add("decode", threads, decode_rate(samples, threads, time)?);
    }
    let augment = if setup.shaders() { "augment (CPU executor)" } else { "augment" };
    add(augment, threads, augment_rate(plan, samples, threads, time)?);
    if let (Some(gpu), true) = (setup.gpu(), setup.shaders()) {
        let images = setup.settings.batch_size.min(samples.params.len());
        match Rig::new(gpu, plan, &samples.params[..images]) {
            Ok(rig) => add("put, upload and passes", 1, gpu_rate(gpu, rig, images, time)?),
            Err(error) => notes.push(format!("alone: put, upload and passes by themselves were not measured: {error}")),
        }
    }
    Ok(rows)
}

/// Decodes the samples' regions.
fn decode_rate(samples: &Samples, threads: usize, time: Duration) -> Result<f64, Box<dyn Error>> {
    let state = |_| Ok(decode::Scratch::default());
    rate(threads, time, state, |scratch, number| {
        let file = &samples.files[number % samples.files.len()];
        black_box(decode::decode(&file.bytes, &file.probe, file.region, &samples.options, scratch)?);
        Ok(1)
    })
}

/// Augments with the CPU executor.
fn augment_rate(plan: &Plan, samples: &Samples, threads: usize, time: Duration) -> Result<f64, Box<dyn Error>> {
    let native = |thread: usize| {
        let params = (0..IMAGES_AT_ONCE).map(|i| samples.params[(thread + i * threads) % samples.params.len()].clone());
        Native::new(plan, &params.collect::<Vec<_>>(), samples.pixel)
    };
    rate(threads, time, native, |native, _| {
        black_box(native.run()?);
        Ok(IMAGES_AT_ONCE as u64)
    })
}

/// Reads files in a pseudo-random order, as a shuffled epoch does; those of a remote data set in their order.
fn read_rate(dataset: &dyn Dataset, threads: usize, time: Duration) -> Result<f64, Box<dyn Error>> {
    rate(
        threads,
        time,
        |_| Ok(Vec::new()),
        |buffer, number| {
            let index = nth(dataset, number as u64, 2);
            // The pipeline reports missing files.
            Ok(u64::from(dataset.read(index, buffer).is_ok()))
        },
    )
}

/// Runs `work` on all threads and returns their images per second. `work` gets its thread's state and a number that no
/// other call gets.
pub(crate) fn rate<S>(
    threads: usize,
    time: Duration,
    state: impl Fn(usize) -> gpufeed::Result<S> + Sync,
    work: impl Fn(&mut S, usize) -> gpufeed::Result<u64> + Sync,
) -> Result<f64, Box<dyn Error>> {
    let start = Barrier::new(threads);
    let one = |thread: usize| {
        let made = state(thread);
        // Waits even after an error, because the barrier needs every thread.
        start.wait();
        let mut state = made?;
        let (begin, mut images, mut number) = (Instant::now(), 0, thread);
        // There is no warm-up: over a second of work, cold caches do not matter.
        while begin.elapsed() < time {
            images += work(&mut state, number)?;
            number += threads;
        }
        Ok::<f64, gpufeed::Error>(images as f64 / begin.elapsed().as_secs_f64())
    };
    std::thread::scope(|scope| {
        let one = &one;
        let threads: Vec<_> = (0..threads).map(|thread| scope.spawn(move || one(thread))).collect();
        let mut sum = 0.0;
        for thread in threads {
            sum += thread.join().map_err(|_| "a thread that measures a stage has panicked")??;
        }
        Ok(sum)
    })
}

/// Fills slots with batches on one thread, submits them, and returns the images per second. The ring of slots sets the
/// pace.
fn gpu_rate(gpu: &gpufeed::Gpu, mut rig: Rig, images: usize, time: Duration) -> Result<f64, Box<dyn Error>> {
    let pixels = vec![127; rig.slot_bytes() as usize];
    let mut once = || -> gpufeed::Result<()> {
        let slot = rig.take()?;
        rig.put(slot, &pixels)?;
        rig.submit(slot)
    };
    // Fills the ring and loads the shaders before the clock starts.
    (0..4).try_for_each(|_| once())?;
    let (start, mut batches) = (Instant::now(), 0);
    while start.elapsed() < time {
        once()?;
        batches += 1;
    }
    gpu.device().poll(gpufeed::wgpu::PollType::wait_indefinitely())?;
    Ok((batches * images) as f64 / start.elapsed().as_secs_f64())
}
