//! Each stage by itself, on threads of its own and with input that never runs out: what it could do if nothing else were
//! in its way.

use super::photographs::hash;
use super::samples::{Samples, options};
use super::setup::Setup;
use crate::results::IsolatedStage;
use gpufeed::decode;
use gpufeed::internals::{Native, Rig};
use gpufeed::{DataLoader, Dataset};
use std::error::Error;
use std::hint::black_box;
use std::sync::Barrier;
use std::time::{Duration, Instant};

/// Images that a thread augments in a row, each with its own parameters.
pub(super) const IN_A_ROW: usize = 16;

/// Read, decode, augment on `threads` threads each; what the GPU takes where it augments. `seconds` in all.
pub(super) fn measure(
    setup: &Setup,
    loader: &DataLoader,
    samples: &Samples,
    threads: usize,
    seconds: f64,
    notes: &mut Vec<String>,
) -> Result<Vec<IsolatedStage>, Box<dyn Error>> {
    let time = Duration::from_secs_f64(seconds / 3.0);
    let (dataset, plan) = (&*setup.source.dataset, loader.plan());
    let mut rows = Vec::new();
    let mut add = |stage: &str, threads, images_per_second| {
        rows.push(IsolatedStage { stage: stage.to_owned(), threads, images_per_second });
    };
    add("read", threads, read(dataset, threads, time)?);
    if samples.files.is_empty() {
        notes.push("alone: the data set holds pixels, so there is no decoding to measure".to_owned());
    } else {
        let state = |_| Ok(decode::Scratch::default());
        let rate = rate(threads, time, state, |scratch, number| {
            let file = &samples.files[number % samples.files.len()];
            black_box(decode::decode(&file.bytes, &file.probe, file.region, &options(), scratch)?);
            Ok(1)
        })?;
        add("decode", threads, rate);
    }
    let native = |thread: usize| {
        let params = (0..IN_A_ROW).map(|i| samples.params[(thread + i * threads) % samples.params.len()].clone());
        Native::new(plan, &params.collect::<Vec<_>>(), samples.pixel)
    };
    let augment = rate(threads, time, native, |native, _| {
        black_box(native.run());
        Ok(IN_A_ROW as u64)
    })?;
    add(if setup.shaders() { "augment (CPU executor)" } else { "augment" }, threads, augment);
    if let (Some(gpu), true) = (setup.gpu(), setup.shaders()) {
        let images = setup.batch_size.min(samples.params.len());
        match Rig::new(gpu, plan, &samples.params[..images]) {
            Ok(rig) => add("put, upload and passes", 1, gpu_rate(gpu, rig, images, time)?),
            Err(error) => notes.push(format!("alone: put, upload and passes by themselves were not measured: {error}")),
        }
    }
    Ok(rows)
}

/// Files in an order without pattern, as a shuffled epoch reads them.
fn read(dataset: &dyn Dataset, threads: usize, time: Duration) -> Result<f64, Box<dyn Error>> {
    rate(
        threads,
        time,
        |_| Ok(Vec::new()),
        |buffer, number| {
            let index = hash(number as u64, 2) as usize % dataset.len();
            // A file that is not there is reported by the line itself.
            Ok(u64::from(dataset.read(index, buffer).is_ok()))
        },
    )
}

/// Images a second of all threads. `work` is given its thread's state and a number that no other call has.
pub(super) fn rate<S>(
    threads: usize,
    time: Duration,
    state: impl Fn(usize) -> gpufeed::Result<S> + Sync,
    work: impl Fn(&mut S, usize) -> gpufeed::Result<u64> + Sync,
) -> Result<f64, Box<dyn Error>> {
    let start = Barrier::new(threads);
    let one = |thread: usize| {
        let made = state(thread);
        // Waited for even after an error: the other threads count on this one.
        start.wait();
        let mut state = made?;
        let (begin, mut images, mut number) = (Instant::now(), 0, thread);
        // Once before the clock counts would be fairer to cold caches; a second of work makes it nothing.
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

/// Batches on one thread: put into a slot, copied or read in place, augmented; the ring of slots paces it.
fn gpu_rate(gpu: &gpufeed::Gpu, mut rig: Rig, images: usize, time: Duration) -> Result<f64, Box<dyn Error>> {
    let pixels = vec![127; rig.slot_bytes() as usize];
    let mut once = || -> gpufeed::Result<()> {
        let slot = rig.take()?;
        rig.put(slot, &pixels)?;
        rig.submit(slot)
    };
    // The ring is full and the shaders are loaded when the clock starts.
    (0..4).try_for_each(|_| once())?;
    let (start, mut batches) = (Instant::now(), 0);
    while start.elapsed() < time {
        once()?;
        batches += 1;
    }
    gpu.device().poll(gpufeed::wgpu::PollType::wait_indefinitely())?;
    Ok((batches * images) as f64 / start.elapsed().as_secs_f64())
}
