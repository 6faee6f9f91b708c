//! The kernels on every adapter and the CPU executor on one thread, each against a copy in the same run: bytes moved, GB/s, share of
//! the copy; the ways in; and what draw, put and submit take an image.
//!
//! `cargo bench --features bench-internals --bench kernels`; criterion's own arguments may follow, such as a part of a
//! row's name. `NODEVICE_SELECT=1` keeps Mesa's layer quiet. Bytes are those that must move at least: each source pixel
//! read once, each output written once.

#![allow(clippy::print_stdout)]

mod rows;
mod timed;

use criterion::Criterion;
use gpufeed::measure::{Dispatch, Native, Rig, Ring, draw};
use gpufeed::transforms::{
    ColorJitter, Drawn, Key, Normalize, RandomCrop, RandomGrayscale, RandomHorizontalFlip, RandomResizedCrop, Transform,
};
use gpufeed::{DType, Gpu, Layout, Output, Plan, wgpu};
use rows::{Rows, median};
use std::error::Error;
use std::hint::black_box;
use std::time::{Duration, Instant};
use timed::{Adapter, Kernel};

/// Photographs of ImageNet's usual size.
const SIZE: (u32, u32) = (500, 375);

/// Images of a batch: enough for the largest GPU, or few enough for a software one.
fn batch(gpu: &Gpu) -> u64 {
    if gpu.is_software() { 16 } else { 128 }
}

/// Crops that are reduced 1.6 to 1.8 times.
fn crop() -> [Transform; 2] {
    [RandomResizedCrop::new(224).scale(0.7, 0.8).ratio(0.95, 1.2).into(), RandomHorizontalFlip::new(0.5).into()]
}

fn plan(rest: impl IntoIterator<Item = Transform>, dtype: DType) -> gpufeed::Result<Plan> {
    let list: Vec<Transform> = crop().into_iter().chain(rest).collect();
    Plan::compile(&list, &Output { layout: Layout::Nchw, dtype })
}

/// Every word of one buffer to another, four at a time.
fn copy_kernel(bytes: u64) -> Dispatch {
    let groups = bytes.div_ceil(16 * 256);
    let across = groups.min(32_768);
    let wgsl = "
@group(0) @binding(0) var<storage, read> source: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read_write> target_words: array<vec4<u32>>;
@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>) {
    let i = (group.y * groups.x + group.x) * 256u + local.x;
    if i < arrayLength(&source) {
        target_words[i] = source[i];
    }
}
";
    let groups = [across as u32, groups.div_ceil(across) as u32, 1];
    Dispatch { name: "copy", wgsl: wgsl.to_owned(), params: vec![0; 16], groups }
}

/// The same pass with the per-output kernel alone: every output sums its own taps, two loops.
fn naive(dispatch: &Dispatch) -> Dispatch {
    replaced(dispatch, "images[image].strip == 1u")
}

/// The same without the branch to float sources, which a software adapter executes at every tap: the best of its kind.
fn naive_bytes(dispatch: &Dispatch) -> Dispatch {
    replaced(&naive(dispatch), "if source_float")
}

fn replaced(dispatch: &Dispatch, condition: &str) -> Dispatch {
    assert!(dispatch.wgsl.contains(condition), "`{condition}` is no longer in the shader");
    let never = if condition.starts_with("if") { "if false" } else { "false" };
    Dispatch { wgsl: dispatch.wgsl.replace(condition, never), ..dispatch.clone() }
}

fn floats(adapter: &Adapter, buffer: &wgpu::Buffer) -> Vec<f32> {
    let bytes = adapter.download(buffer, buffer.size());
    bytes.as_chunks::<4>().0.iter().map(|bytes| f32::from_ne_bytes(*bytes)).collect()
}

/// Greatest difference; both must hold a picture.
fn difference(a: &[f32], b: &[f32]) -> f32 {
    assert!(a.iter().any(|value| *value != a[0]), "an empty picture compares equal to anything");
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
}

/// A pass of `kernels`, by the device's clock where it has one.
fn add_kernels(rows: &mut Rows<'_>, adapter: &Adapter, name: &'static str, bytes: u64, kernels: &[&Kernel]) {
    rows.add(name, bytes, |batches| {
        let time = adapter.time(kernels, batches);
        time.device.unwrap_or(time.wall)
    });
}

fn gpu_rows(criterion: &mut Criterion, adapter: &Adapter) -> Result<(), Box<dyn Error>> {
    let gpu = &adapter.gpu;
    let images = batch(gpu);
    let train = plan([Normalize::IMAGENET.into()], DType::F32)?;
    let half = plan([Normalize::IMAGENET.into()], DType::F16)?;
    let contrast = plan([ColorJitter::new(0.2, 0.2, 0.0, 0.0).into(), Normalize::IMAGENET.into()], DType::F32)?;
    let drawn = |plan: &Plan| -> gpufeed::Result<Vec<Drawn>> {
        (0..images).map(|sample| plan.draw(SIZE.0, SIZE.1, &Key { sample, ..Key::default() })).collect()
    };
    let mut rig = Rig::new(gpu, &train, &drawn(&train)?)?;
    let (rig_half, rig_contrast) =
        (Rig::new(gpu, &half, &drawn(&half)?)?, Rig::new(gpu, &contrast, &drawn(&contrast)?)?);
    let (slot, elements) = (rig.slot_bytes(), rig.elements());
    let pixels: Vec<u8> = (0..slot).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let source = adapter.filled(&pixels);
    let [output, other] = [(); 2].map(|()| adapter.storage(4 * elements));
    let packed = adapter.storage(2 * elements);
    let statistics = adapter.storage(1 << 20);
    let kernel =
        |dispatch: &Dispatch, read, write, unchecked| adapter.kernel(dispatch, [read, &statistics, write], unchecked);

    let stage = &rig.dispatches()[0];
    let strip = kernel(stage, &source, &output, false);
    let direct = kernel(&naive(stage), &source, &other, false);
    let direct_bytes = kernel(&naive_bytes(stage), &source, &other, false);
    adapter.time(&[&strip], 1);
    adapter.time(&[&direct], 1);
    let off = difference(&floats(adapter, &output), &floats(adapter, &other));
    assert!(off < 1e-3, "strip and per-output taps differ by {off}");
    println!(
        "{images} images of 224x224 from regions of {SIZE:?}; strip and per-output taps differ by {off:.1e} after Normalize"
    );
    let way =
        if adapter.has_timestamps() { "timestamps at the borders of passes" } else { "wall time of passes in a row" };
    println!("times: {way}");

    let mut rows = Rows::new(criterion.benchmark_group(format!("{} {:?}", gpu.info().name, gpu.info().backend)));
    rows.group.sample_size(10).warm_up_time(Duration::from_millis(500)).measurement_time(Duration::from_secs(2));
    let moved = slot + 4 * elements;
    let half_of_it = (moved / 2).next_multiple_of(16);
    let [from, to] = [(); 2].map(|()| adapter.storage(half_of_it));
    let copy = kernel(&copy_kernel(half_of_it), &from, &to, false);
    add_kernels(&mut rows, adapter, "copy kernel", 2 * half_of_it, &[&copy]);
    add_kernels(&mut rows, adapter, "strip, f32", moved, &[&strip]);
    add_kernels(&mut rows, adapter, "per-output taps, f32", moved, &[&direct]);
    add_kernels(&mut rows, adapter, "per-output taps, f32, bytes only", moved, &[&direct_bytes]);
    let [stage_half, pack] = &rig_half.dispatches()[..] else {
        return Err("f16 takes a stage and a packing pass".into());
    };
    let direct_half = kernel(&naive(stage_half), &source, &output, false);
    let (stage_half, pack) = (kernel(stage_half, &source, &output, false), kernel(pack, &output, &packed, false));
    add_kernels(&mut rows, adapter, "strip and packing, f16", slot + 10 * elements, &[&stage_half, &pack]);
    add_kernels(&mut rows, adapter, "per-output taps and packing, f16", slot + 10 * elements, &[&direct_half, &pack]);
    let [mean, finish] = &rig_contrast.dispatches()[..] else { return Err("contrast takes two passes".into()) };
    let (mean, finish) = (kernel(mean, &source, &other, false), kernel(finish, &source, &output, false));
    add_kernels(&mut rows, adapter, "contrast: its mean", slot, &[&mean]);
    add_kernels(&mut rows, adapter, "contrast: the stage after it", moved, &[&finish]);
    let unchecked = kernel(stage, &source, &other, true);
    add_kernels(&mut rows, adapter, "strip, f32, shader checks off", moved, &[&unchecked]);
    let unchecked_direct = kernel(&naive(stage), &source, &other, true);
    add_kernels(&mut rows, adapter, "per-output taps, f32, shader checks off", moved, &[&unchecked_direct]);

    let mut upload = |name, in_place| -> Result<(), Box<dyn Error>> {
        let mut ring = Ring::new(gpu, slot, in_place)?;
        rows.add(name, slot, |batches| {
            let start = Instant::now();
            (0..batches).for_each(|_| ring.upload(&pixels).expect("the device works"));
            adapter.wait();
            start.elapsed()
        });
        Ok(())
    };
    upload("upload: ring and copy", false)?;
    if gpu.device().features().contains(wgpu::Features::MAPPABLE_PRIMARY_BUFFERS) {
        upload("upload: mapped storage buffers, no copy", true)?;
    } else {
        println!("upload by mapped storage buffers: not measured, the adapter has no MAPPABLE_PRIMARY_BUFFERS");
    }
    rows.table();
    drop(rows);

    turns(adapter, &strip, &[("per-output taps", &direct), ("per-output taps, bytes only", &direct_bytes)]);
    sanity(adapter, &strip);
    overhead(adapter, &mut rig, &pixels, images)
}

/// The ratio that other work on the machine disturbs least: one after the other, again and again.
fn turns(adapter: &Adapter, strip: &Kernel, others: &[(&str, &Kernel)]) {
    let one = |kernel: &Kernel| {
        let time = adapter.time(&[kernel], 1);
        time.device.unwrap_or(time.wall).as_secs_f64()
    };
    println!();
    for (name, other) in others {
        let mut ratios: Vec<f64> = (0..31).map(|_| one(strip) / one(other)).collect();
        ratios.sort_by(f64::total_cmp);
        let [low, middle, high] = [7, 15, 23].map(|i| ratios[i]);
        println!("strip / {name}, 31 turns: median {middle:.2}, quartiles {low:.2} to {high:.2}");
    }
}

/// Timestamps against the slope of wall time over passes.
fn sanity(adapter: &Adapter, kernel: &Kernel) {
    if !adapter.has_timestamps() {
        return println!("timestamps: not measured, the adapter has no TIMESTAMP_QUERY");
    }
    let mut ratios = Vec::new();
    let mut dropped = 0;
    for _ in 0..9 {
        let (few, many) = (adapter.time(&[kernel], 2), adapter.time(&[kernel], 8));
        let slope = (many.wall.as_secs_f64() - few.wall.as_secs_f64()) / 6.0;
        match many.device {
            Some(device) => ratios.push(device.as_secs_f64() / 8.0 / slope),
            None => dropped += 1,
        }
    }
    println!(
        "timestamps / slope of the wall time: median {:.2} of {} runs, {dropped} dropped (zero or out of order)",
        median(&ratios),
        ratios.len()
    );
}

/// Puts and submits batches; the GPU's own time is waited for outside.
fn overhead(adapter: &Adapter, rig: &mut Rig, pixels: &[u8], images: u64) -> Result<(), Box<dyn Error>> {
    let (mut puts, mut submits) = (Vec::new(), Vec::new());
    for _ in 0..20 {
        let slot = rig.take()?;
        let start = Instant::now();
        rig.put(slot, pixels)?;
        let put = start.elapsed();
        rig.submit(slot)?;
        submits.push((start.elapsed() - put).as_secs_f64());
        puts.push(put.as_secs_f64());
        adapter.wait();
    }
    let nanoseconds = |seconds: &[f64]| 1e9 * median(seconds) / images as f64;
    let bytes = pixels.len() as u64 / images;
    println!("put: {:.0} ns an image ({bytes} bytes of a mapped slot)", nanoseconds(&puts));
    println!(
        "submit: {:.0} ns an image, in a submission of {images} (with the kernels, where the driver runs them inside it)",
        nanoseconds(&submits)
    );
    Ok(())
}

fn draw_rows(criterion: &mut Criterion) -> Result<(), Box<dyn Error>> {
    let mut group = criterion.benchmark_group("draw, one image");
    let jitter = ColorJitter::new(0.4, 0.4, 0.4, 0.1);
    let lists = [
        ("crop, flip, Normalize", plan([Normalize::IMAGENET.into()], DType::F32)?),
        ("crop, flip, ColorJitter, Normalize", plan([jitter.into(), Normalize::IMAGENET.into()], DType::F32)?),
    ];
    for (name, plan) in lists {
        let mut sample = 0;
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                sample += 1;
                black_box(draw(&plan, SIZE, &Key { sample, ..Key::default() }))
            });
        });
    }
    group.finish();
    Ok(())
}

/// The CPU executor: images one after the other on one thread.
fn cpu_rows(criterion: &mut Criterion) -> Result<(), Box<dyn Error>> {
    const IMAGES: u64 = 16;
    let square = [RandomCrop::new(224).into(), RandomHorizontalFlip::new(0.5).into()];
    let f32 = Output::default();
    let unscaled = |rest: &[Transform]| Plan::compile(&[&square[..], rest].concat(), &f32);
    let train =
        [ColorJitter::new(0.4, 0.4, 0.4, 0.1).into(), RandomGrayscale::new(0.2).into(), Normalize::IMAGENET.into()];
    let cases = [
        ("crop, flip (RGB8)", unscaled(&[])?, (384, 384), 3),
        (
            "crop, flip, brightness, contrast (RGB8)",
            unscaled(&[ColorJitter::new(0.2, 0.2, 0.0, 0.0).into()])?,
            (384, 384),
            3,
        ),
        ("resized crop, flip, Normalize", plan([Normalize::IMAGENET.into()], DType::F32)?, SIZE, 4),
        ("resized crop, flip, Normalize, f16", plan([Normalize::IMAGENET.into()], DType::F16)?, SIZE, 4),
        ("resized crop, flip, ColorJitter, gray, Normalize", plan(train, DType::F32)?, SIZE, 4),
    ];
    let mut rows = Rows::new(criterion.benchmark_group("CPU executor, one thread"));
    rows.group.sample_size(20).measurement_time(Duration::from_secs(2));
    let timed = |batches: u64, work: &mut dyn FnMut()| {
        let start = Instant::now();
        (0..batches).for_each(|_| work());
        start.elapsed()
    };
    let (from, mut to) = (vec![1u8; 8 << 20], vec![0u8; 8 << 20]);
    rows.add("copy (memcpy)", 16 << 20, |batches| {
        timed(batches, &mut || black_box(&mut to).copy_from_slice(black_box(&from)))
    });
    for (name, plan, (width, height), pixel) in cases {
        let draw = |sample| plan.draw(width, height, &Key { sample, ..Key::default() });
        let mut native = Native::new(&plan, &(0..IMAGES).map(draw).collect::<gpufeed::Result<Vec<_>>>()?, pixel)?;
        rows.add(name, native.bytes(), |batches| timed(batches, &mut || _ = black_box(native.run())));
    }
    println!("\n{IMAGES} images of 224x224 a row");
    rows.table();
    Ok(())
}

fn processor() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = info.lines().find_map(|line| line.strip_prefix("model name")?.split(": ").nth(1));
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    format!("{} ({cores} cores)", name.unwrap_or("unknown processor"))
}

fn main() -> Result<(), Box<dyn Error>> {
    println!("{}", processor());
    let mut criterion = Criterion::default().configure_from_args();
    draw_rows(&mut criterion)?;
    cpu_rows(&mut criterion)?;
    let adapters = Gpu::enumerate();
    if adapters.is_empty() {
        println!("no adapter: no kernel was measured");
    }
    for adapter in &adapters {
        let adapter = Adapter::open(adapter)?;
        let software =
            if adapter.gpu.is_software() { "a software adapter: these are the CPU's rates, no GPU's" } else { "a GPU" };
        println!("\n## {}\n\n{software}", adapter.gpu);
        gpu_rows(&mut criterion, &adapter)?;
    }
    criterion.final_summary();
    Ok(())
}
