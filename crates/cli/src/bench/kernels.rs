//! The kernels by themselves, on data that is there already: bytes moved, and their share of a plain copy's rate.
//!
//! Bytes are those that must move at least: each source pixel read once, each output written once. Arithmetic is
//! counted by hand from the regions and the taps of an antialiased triangle, weights left out.

use super::dispatches::{SIZE, copy_kernel, crop, naive};
use super::samples::Samples;
use super::setup::Setup;
use super::timed::{Adapter, Kernel};
use super::turns::{Work, take};
use crate::results::median;
use crate::results::{Kernels, Rate};
use gpufeed::internals::{Dispatch, Native, Rig};
use gpufeed::transforms::{ColorJitter, Key, Normalize, Params, Transform};
use gpufeed::wgpu;
use gpufeed::{DType, Gpu, Layout, Output, Plan};
use std::error::Error;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Images of a CPU row: a thread's caches hold one at a time anyway.
const ON_A_CORE: u64 = 16;
/// Bytes of the CPU's copy: beyond its caches.
const MEMCPY: usize = 64 << 20;

/// Images of a batch: enough for the largest GPU, or few enough for a software one.
fn batch(gpu: &Gpu) -> u64 {
    if gpu.is_software() { 16 } else { 128 }
}

/// Crop, flip, Normalize, and a colour jitter whose contrast needs a mean first.
fn plans() -> gpufeed::Result<[Plan; 3]> {
    let plan = |rest: &[Transform], dtype| {
        let list: Vec<Transform> = crop().into_iter().chain(rest.iter().cloned()).collect();
        Plan::compile(&list, &Output { layout: Layout::Nchw, dtype })
    };
    let jitter = [ColorJitter::new(0.2, 0.2, 0.0, 0.0).into(), Normalize::IMAGENET.into()];
    let normalize = [Normalize::IMAGENET.into()];
    Ok([plan(&normalize, DType::F32)?, plan(&normalize, DType::F16)?, plan(&jitter, DType::F32)?])
}

fn params(plan: &Plan, images: u64) -> gpufeed::Result<Vec<Params>> {
    (0..images).map(|sample| plan.make_params(SIZE.0, SIZE.1, &Key { sample, ..Key::default() })).collect()
}

/// How much the regions are reduced to the output, on the mean: columns, rows; 1 where they are enlarged.
fn reduction(plan: &Plan, params: &[Params]) -> gpufeed::Result<[f64; 2]> {
    let (width, height) = plan.output_size().unwrap_or((1, 1));
    let mut sums = [0.0; 2];
    for params in params {
        let region = plan.source_region(params)?;
        sums[0] += (f64::from(region.width) / f64::from(width)).max(1.0);
        sums[1] += (f64::from(region.height) / f64::from(height)).max(1.0);
    }
    Ok(sums.map(|sum| sum / params.len().max(1) as f64))
}

/// Three channels, a multiplication and an addition each.
const A_TAP: f64 = 6.0;

/// A row before it is timed.
struct Case {
    name: String,
    images: u64,
    bytes: u64,
    flops: Option<f64>,
}

impl Case {
    fn rate(&self, seconds: f64) -> f64 {
        self.bytes as f64 / seconds / 1e9
    }

    fn row(self, turns: &[f64], copy: f64) -> Rate {
        let seconds = median(turns);
        let (rate, runs) = (self.rate(seconds), turns.iter().map(|&seconds| self.rate(seconds)).collect());
        let flops_per_byte = self.flops.map(|flops| flops / self.bytes as f64);
        let Case { name, images, bytes, .. } = self;
        Rate { name, images, bytes, seconds, gb_per_second: rate, of_copy: Some(rate / copy), runs, flops_per_byte }
    }
}

/// The first case is the copy that the others are compared with.
fn rows(cases: Vec<Case>, seconds: &[Vec<f64>]) -> Vec<Rate> {
    let copy = cases.first().zip(seconds.first()).map_or(f64::INFINITY, |(case, turns)| case.rate(median(turns)));
    cases.into_iter().zip(seconds).map(|(case, turns)| case.row(turns, copy)).collect()
}

/// On the run's GPU, else the CPU executor on one thread; for `seconds` in all.
pub(super) fn measure(
    setup: &Setup,
    plan: &Plan,
    samples: &Samples,
    seconds: f64,
    notes: &mut Vec<String>,
) -> Result<Kernels, Box<dyn Error>> {
    let time = Duration::from_secs_f64(seconds);
    match setup.gpu() {
        Some(gpu) => on_gpu(gpu, (plan, samples), time, notes),
        None => {
            notes
                .push("kernels: there is no GPU in this run; the CPU executor on one thread against memcpy".to_owned());
            on_a_core((plan, samples), time)
        }
    }
}

/// The CPU executor, images one after the other on one thread.
fn on_a_core((recipe, samples): (&Plan, &Samples), time: Duration) -> Result<Kernels, Box<dyn Error>> {
    let (from, mut to) = (vec![1u8; MEMCPY], vec![0u8; MEMCPY]);
    let mut cases =
        vec![Case { name: "copy (memcpy)".to_owned(), images: 0, bytes: 2 * MEMCPY as u64, flops: Some(0.0) }];
    let copy: Work<'_> = Box::new(|times| {
        let start = Instant::now();
        (0..times).for_each(|_| black_box(&mut to[..]).copy_from_slice(black_box(&from)));
        Ok(start.elapsed())
    });
    let mut works = vec![copy];
    let [train, half, contrast] = plans()?;
    let first = &samples.params[..samples.params.len().min(ON_A_CORE as usize)];
    let fixed =
        [("resized crop, f32", &train, true), ("resized crop, f16", &half, false), ("contrast, f32", &contrast, false)];
    let mut add = |name: &str, plan: &Plan, params: &[Params], pixel: usize, counted: bool| -> gpufeed::Result<()> {
        let mut native = Native::new(plan, params, pixel)?;
        let [columns, rows] = reduction(plan, params)?;
        let (width, height) = plan.output_size().unwrap_or((1, 1));
        let outputs = params.len() as f64 * f64::from(width) * f64::from(height);
        // Vertically at every source column, then horizontally; then Normalize.
        let flops = counted.then_some(outputs * (columns * 2.0 * rows * A_TAP + 2.0 * columns * A_TAP + A_TAP));
        cases.push(Case { name: name.to_owned(), images: params.len() as u64, bytes: native.bytes(), flops });
        works.push(Box::new(move |times| {
            let start = Instant::now();
            (0..times).for_each(|_| _ = black_box(native.run()));
            Ok(start.elapsed())
        }));
        Ok(())
    };
    for (name, plan, counted) in fixed {
        add(name, plan, &params(plan, ON_A_CORE)?, 4, counted)?;
    }
    add("the recipe", recipe, first, samples.pixel, false)?;
    let seconds = take(&mut works, time)?;
    drop(works);
    Ok(Kernels { clock: "wall".to_owned(), rows: rows(cases, &seconds) })
}

fn on_gpu(
    gpu: &Gpu,
    (recipe, samples): (&Plan, &Samples),
    time: Duration,
    notes: &mut Vec<String>,
) -> Result<Kernels, Box<dyn Error>> {
    // A device of its own: the loader's may have been opened without timestamps.
    let info = gpu.info();
    let same = |adapter: &wgpu::Adapter| {
        let other = adapter.get_info();
        (&other.name, other.backend, other.device) == (&info.name, info.backend, info.device)
    };
    let adapter = Gpu::enumerate().into_iter().find(same).ok_or("the adapter is no longer there")?;
    let adapter = Adapter::open(&adapter)?;
    let bench = Bench::new(&adapter)?;
    let (mut cases, mut kernels) = bench.fixed()?;
    let images = (batch(gpu) as usize).min(samples.params.len());
    match Rig::new(&adapter.gpu, recipe, &samples.params[..images]) {
        Ok(rig) => bench.recipe((&rig, images as u64), recipe.output().dtype, &mut cases, &mut kernels)?,
        Err(error) => notes.push(format!("kernels: the recipe's own passes were not measured: {error}")),
    }
    let mut by_timestamps = adapter.has_timestamps();
    if by_timestamps {
        for kernels in &kernels {
            by_timestamps &= adapter.time(&kernels.iter().collect::<Vec<_>>(), 2)?.device.is_some();
        }
        if !by_timestamps {
            notes.push("kernels: the device's timestamps are zero or out of order, so times are the wall's".to_owned());
        }
    } else {
        notes.push("kernels: the adapter has no TIMESTAMP_QUERY, so times are the wall's".to_owned());
    }
    let mut works: Vec<Work<'_>> = Vec::new();
    for kernels in &kernels {
        let (adapter, kernels) = (&adapter, kernels.iter().collect::<Vec<_>>());
        works.push(Box::new(move |times| {
            let time = adapter.time(&kernels, times)?;
            Ok(if by_timestamps { time.device.unwrap_or(time.wall) } else { time.wall })
        }));
    }
    let seconds = take(&mut works, time)?;
    let clock = if by_timestamps { "timestamps" } else { "wall" };
    Ok(Kernels { clock: clock.to_owned(), rows: rows(cases, &seconds) })
}

/// Buffers as large as the largest row needs.
struct Bench<'a> {
    adapter: &'a Adapter,
    statistics: wgpu::Buffer,
}

/// Rows, and the dispatches of each.
type Rows = (Vec<Case>, Vec<Vec<Kernel>>);

impl<'a> Bench<'a> {
    fn new(adapter: &'a Adapter) -> gpufeed::Result<Bench<'a>> {
        Ok(Bench { adapter, statistics: adapter.storage(1 << 20) })
    }

    fn kernel(&self, dispatch: &Dispatch, read: &wgpu::Buffer, write: &wgpu::Buffer) -> Kernel {
        self.adapter.kernel(dispatch, [read, &self.statistics, write])
    }

    /// Pixels without a pattern that a compressing memory could use.
    fn source(&self, bytes: u64) -> wgpu::Buffer {
        let pixels: Vec<u8> = (0..bytes).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        self.adapter.filled(&pixels)
    }

    /// What every report has, whatever its recipe, so that machines can be compared.
    fn fixed(&self) -> Result<Rows, Box<dyn Error>> {
        let (gpu, adapter) = (&self.adapter.gpu, self.adapter);
        let images = batch(gpu);
        let [train, half, contrast] = plans()?;
        let rig = |plan: &Plan| Rig::new(gpu, plan, &params(plan, images)?);
        let [rig, rig_half, rig_contrast] = [rig(&train)?, rig(&half)?, rig(&contrast)?];
        let (slot, elements) = (rig.slot_bytes(), rig.elements());
        let source = self.source(slot);
        let (output, packed) = (adapter.storage(4 * elements), adapter.storage(2 * elements));
        let moved = slot + 4 * elements;
        let half_of_it = (moved / 2).next_multiple_of(16);
        let [from, to] = [(); 2].map(|()| adapter.storage(half_of_it));

        let [columns, rows] = reduction(&train, &params(&train, images)?)?;
        let outputs = elements as f64 / 3.0;
        // A column's taps at every source row, into two accumulators.
        let strip = outputs * (rows * (2.0 * columns * A_TAP + 2.0 * A_TAP) + A_TAP);
        let per_output = outputs * (2.0 * columns * 2.0 * rows * A_TAP + A_TAP);

        let [stage] = &rig.dispatches()[..] else { return Err("a crop takes one pass".into()) };
        let [stage_half, pack] = &rig_half.dispatches()[..] else { return Err("f16 takes two passes".into()) };
        let [mean, finish] = &rig_contrast.dispatches()[..] else { return Err("contrast takes two passes".into()) };
        let case = |name: &str, images, bytes, flops| Case { name: name.to_owned(), images, bytes, flops };
        let cases = vec![
            case("copy kernel", 0, 2 * half_of_it, Some(0.0)),
            case("strip, f32", images, moved, Some(strip)),
            case("per-output taps, f32", images, moved, Some(per_output)),
            case("strip and packing, f16", images, slot + 10 * elements, Some(strip)),
            // Sampled as the stage does, without its Normalize, and a gray value of each pixel.
            case("contrast: its mean", images, slot, Some(strip)),
            case("contrast: the stage after it", images, moved, Some(strip + 2.0 * outputs * A_TAP)),
        ];
        let kernels = vec![
            vec![self.kernel(&copy_kernel(half_of_it), &from, &to)],
            vec![self.kernel(stage, &source, &output)],
            vec![self.kernel(&naive(stage)?, &source, &output)],
            vec![self.kernel(stage_half, &source, &output), self.kernel(pack, &output, &packed)],
            vec![self.kernel(mean, &source, &output)],
            vec![self.kernel(finish, &source, &output)],
        ];
        Ok((cases, kernels))
    }

    /// Each pass of the run's own recipe, on regions as its data gives them.
    fn recipe(
        &self,
        (rig, images): (&Rig, u64),
        dtype: DType,
        cases: &mut Vec<Case>,
        kernels: &mut Vec<Vec<Kernel>>,
    ) -> Result<(), Box<dyn Error>> {
        let (slot, elements) = (rig.slot_bytes(), rig.elements());
        let source = self.source(slot);
        let [output, packed] = [(); 2].map(|()| self.adapter.storage(4 * elements));
        for (number, dispatch) in rig.dispatches().iter().enumerate() {
            let (bytes, read, write) = match dispatch.name {
                "Statistic" => (slot, &source, &output),
                "Pack" => ((4 + dtype.bytes() as u64) * elements, &output, &packed),
                _ => (slot + 4 * elements, &source, &output),
            };
            let name = format!("the recipe: {number}, {}", dispatch.name.to_lowercase());
            cases.push(Case { name, images, bytes, flops: None });
            kernels.push(vec![self.kernel(dispatch, read, write)]);
        }
        Ok(())
    }
}
