//! Measures the paths by which pixels reach the GPU's memory, and compares them with a copy within the host's memory.

use super::reference::SIZE;
use super::turns::{Work, take_turns};
use crate::bench::setup::Setup;
use crate::results::Rate;
use crate::results::median;
use gpufeed::Gpu;
use gpufeed::internals::{StagingMemory, StagingRing};
use gpufeed::wgpu::{self, BufferUsages as Usage};
use std::error::Error;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// The number of whole photographs, as RGBA8. Together they are about as large as one of the loader's staging slots.
const IMAGES: u64 = 44;

/// Measures each path to the GPU, all of them in `seconds`. Returns nothing without a GPU.
pub(crate) fn measure(setup: &Setup, seconds: f64, notes: &mut Vec<String>) -> Result<Vec<Rate>, Box<dyn Error>> {
    let Some(gpu) = setup.gpu() else { return Ok(Vec::new()) };
    let bytes = IMAGES * 4 * u64::from(SIZE.0) * u64::from(SIZE.1);
    let pixels = vec![1u8; bytes as usize];
    let mut copy = vec![0u8; bytes as usize];
    let memcpy: Work<'_> = Box::new(|times| {
        let start = Instant::now();
        (0..times).for_each(|_| black_box(&mut copy[..]).copy_from_slice(black_box(&pixels)));
        Ok(start.elapsed())
    });
    let mut names = vec!["memcpy", "ring and copy", "write_buffer"];
    let mut works = vec![memcpy, ring(gpu, &pixels, StagingMemory::Copied)?, write_buffer(gpu, &pixels)];
    if gpu.info().backend == wgpu::Backend::Vulkan {
        names.push("ring in the host's memory and copy");
        works.push(ring(gpu, &pixels, StagingMemory::Host)?);
    }
    if gpu.device().features().contains(wgpu::Features::MAPPABLE_PRIMARY_BUFFERS) {
        names.push("mapped in place");
        works.push(ring(gpu, &pixels, StagingMemory::InPlace)?);
    } else {
        notes.push("upload: mapped in place was not measured, the device has no MAPPABLE_PRIMARY_BUFFERS".to_owned());
    }
    let times = take_turns(&mut works, Duration::from_secs_f64(seconds))?;
    let memcpy = times.first().map_or(0.0, |turns| median(turns));
    let rate = |seconds: f64| bytes as f64 / seconds / 1e9;
    let row = |(name, turns): (&str, Vec<f64>)| {
        let seconds = median(&turns);
        Rate {
            name: name.to_owned(),
            images: IMAGES,
            bytes,
            seconds,
            gb_per_second: rate(seconds),
            of_copy: Some(memcpy / seconds),
            runs: turns.into_iter().map(rate).collect(),
            ..Rate::default()
        }
    };
    Ok(names.into_iter().zip(times).map(row).collect())
}

/// Returns the loader's path: a ring of mapped buffers, which are copied from or read in place.
fn ring<'a>(gpu: &'a Gpu, pixels: &'a [u8], memory: StagingMemory) -> Result<Work<'a>, Box<dyn Error>> {
    let mut ring = StagingRing::new(gpu, pixels.len() as u64, memory)?;
    Ok(Box::new(move |times| {
        let start = Instant::now();
        (0..times).try_for_each(|_| ring.upload(pixels))?;
        wait(gpu)?;
        Ok(start.elapsed())
    }))
}

/// Returns wgpu's own path, for comparison.
fn write_buffer<'a>(gpu: &'a Gpu, pixels: &'a [u8]) -> Work<'a> {
    let target = gpu.device().create_buffer(&wgpu::BufferDescriptor {
        label: Some("write_buffer"),
        size: pixels.len() as u64,
        usage: Usage::STORAGE | Usage::COPY_DST,
        mapped_at_creation: false,
    });
    Box::new(move |times| {
        let start = Instant::now();
        for _ in 0..times {
            gpu.queue().write_buffer(&target, 0, pixels);
            // Submits each write, as the loader submits each slot.
            gpu.queue().submit([]);
        }
        wait(gpu)?;
        Ok(start.elapsed())
    })
}

fn wait(gpu: &Gpu) -> gpufeed::Result<()> {
    let polled = gpu.device().poll(wgpu::PollType::wait_indefinitely());
    let failed = |error: wgpu::PollError| gpufeed::ErrorKind::Device { stage: "upload", reason: error.to_string() };
    Ok(polled.map(drop).map_err(failed)?)
}
