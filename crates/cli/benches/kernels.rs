//! Times the kernels on every adapter and the CPU executor on one thread, each against a copy in the same run: bytes
//! moved, GB/s, share of the copy. Also times the upload, and per image the making of parameters, the copy into a slot
//! and the submission.
//!
//! `cargo bench -p gpufeed-cli --bench kernels`; criterion's own arguments may follow, such as a part of a
//! row's name. `NODEVICE_SELECT=1` keeps Mesa's layer quiet. Bytes are the least that must move: each source pixel
//! is read once, each output written once.

#![allow(clippy::print_stdout)]

mod rows;

use criterion::{Criterion, Throughput};
use gpufeed::internals::{Native, RecordedDispatch, Rig, StagingMemory, StagingRing, draw, draw_many, on_device};
use gpufeed::transforms::{
    ColorJitter, Key, Normalize, Params, RandomCrop, RandomGrayscale, RandomHorizontalFlip, Transform,
};
use gpufeed::{DType, Gpu, Layout, Output, Plan, wgpu};
use gpufeed_cli::internals::reference::{SIZE, copy_kernel, crop};
use gpufeed_cli::internals::timer::{self, Adapter, Kernel};
use rows::{Rows, median};
use std::error::Error;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Returns the images of a batch: enough for the largest GPU, or few enough for a software adapter.
fn batch(gpu: &Gpu) -> u64 {
    if gpu.is_software() { 16 } else { 128 }
}

fn plan(rest: impl IntoIterator<Item = Transform>, dtype: DType) -> gpufeed::Result<Plan> {
    let list: Vec<Transform> = crop().into_iter().chain(rest).collect();
    Plan::compile(&list, &Output { layout: Layout::Nchw, dtype })
}

/// Returns the dispatch with `condition` in its shader replaced by `never`.
///
/// # Errors
/// If the shader no longer has `condition`.
fn replaced(dispatch: &RecordedDispatch, condition: &str, never: &str) -> Result<RecordedDispatch, String> {
    if !dispatch.wgsl.contains(condition) {
        return Err(format!("`{condition}` is no longer in the shader"));
    }
    Ok(RecordedDispatch { wgsl: dispatch.wgsl.replace(condition, never), ..dispatch.clone() })
}

/// Returns the pass with its per-output kernel alone: every output sums its own taps in two loops.
fn naive(dispatch: &RecordedDispatch) -> Result<RecordedDispatch, String> {
    replaced(dispatch, "images[image].strip == 1u", "false")
}

/// Returns the per-output kernel without its branch to float sources, which a software adapter executes at every tap.
/// It is the fastest kernel of its kind.
fn naive_bytes(dispatch: &RecordedDispatch) -> Result<RecordedDispatch, String> {
    replaced(&naive(dispatch)?, "if source_float", "if false")
}

fn floats(adapter: &Adapter, buffer: &wgpu::Buffer) -> Vec<f32> {
    let bytes = adapter.download(buffer, buffer.size()).expect("the device works");
    bytes.as_chunks::<4>().0.iter().map(|bytes| f32::from_ne_bytes(*bytes)).collect()
}

/// Returns the greatest difference of two outputs. `a` must hold a picture.
fn difference(a: &[f32], b: &[f32]) -> f32 {
    assert!(a.iter().any(|value| *value != a[0]), "an empty picture compares equal to anything");
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
}

/// Builds a kernel without wgpu's checks of indices and loops.
fn unchecked_kernel(adapter: &Adapter, dispatch: &RecordedDispatch, buffers: [&wgpu::Buffer; 3]) -> Kernel {
    let (device, shader) = (adapter.gpu.device(), timer::shader(dispatch));
    #[expect(unsafe_code, reason = "there is no other way to leave the checks out; they are what is measured")]
    // SAFETY: the same shader on the same buffers has run with the checks, and its output was compared.
    let module = unsafe { device.create_shader_module_trusted(shader, wgpu::ShaderRuntimeChecks::unchecked()) };
    adapter.kernel_of(&module, dispatch, buffers)
}

/// Adds a row for a pass of `kernels`, timed by the device's clock if it has one.
fn add_kernels(rows: &mut Rows<'_>, adapter: &Adapter, name: &'static str, bytes: u64, kernels: &[&Kernel]) {
    rows.add(name, bytes, |batches| {
        let time = adapter.time(kernels, batches).expect("the device works");
        time.device.unwrap_or(time.wall)
    });
}

/// The buffers of an adapter's rows, large enough for a batch of the fixed plans.
struct Buffers {
    /// Pixels without a pattern.
    source: wgpu::Buffer,
    output: wgpu::Buffer,
    /// A second output, to compare with the first.
    other: wgpu::Buffer,
    packed: wgpu::Buffer,
    statistics: wgpu::Buffer,
}

impl Buffers {
    fn new(adapter: &Adapter, rig: &Rig, pixels: &[u8]) -> Buffers {
        let elements = rig.elements();
        Buffers {
            source: adapter.filled(pixels),
            output: adapter.storage(4 * elements),
            other: adapter.storage(4 * elements),
            packed: adapter.storage(2 * elements),
            statistics: adapter.storage(1 << 20),
        }
    }

    fn kernel(
        &self,
        adapter: &Adapter,
        dispatch: &RecordedDispatch,
        read: &wgpu::Buffer,
        write: &wgpu::Buffer,
    ) -> Kernel {
        adapter.kernel(dispatch, [read, &self.statistics, write])
    }

    fn unchecked(&self, adapter: &Adapter, dispatch: &RecordedDispatch) -> Kernel {
        unchecked_kernel(adapter, dispatch, [&self.source, &self.statistics, &self.other])
    }
}

fn make_params(plan: &Plan, images: u64) -> gpufeed::Result<Vec<Params>> {
    (0..images).map(|sample| plan.make_params(SIZE.0, SIZE.1, &Key { sample, ..Key::default() })).collect()
}

/// All rows of an adapter: kernels, upload, then the checks of the clock and the cost of submissions.
fn gpu_rows(criterion: &mut Criterion, adapter: &Adapter) -> Result<(), Box<dyn Error>> {
    let gpu = &adapter.gpu;
    let images = batch(gpu);
    let train = plan([Normalize::IMAGENET.into()], DType::F32)?;
    let mut rig = Rig::new(gpu, &train, &make_params(&train, images)?)?;
    let pixels: Vec<u8> = (0..rig.slot_bytes()).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let buffers = Buffers::new(adapter, &rig, &pixels);

    let stage = &rig.dispatches()[0];
    let strip = buffers.kernel(adapter, stage, &buffers.source, &buffers.output);
    let direct = buffers.kernel(adapter, &naive(stage)?, &buffers.source, &buffers.other);
    let direct_bytes = buffers.kernel(adapter, &naive_bytes(stage)?, &buffers.source, &buffers.other);
    adapter.time(&[&strip], 1)?;
    adapter.time(&[&direct], 1)?;
    let off = difference(&floats(adapter, &buffers.output), &floats(adapter, &buffers.other));
    assert!(off < 1e-3, "strip and per-output taps differ by {off}");
    println!(
        "{images} images of 224x224 from regions of {SIZE:?}; strip and per-output taps differ by {off:.1e} after \
         Normalize"
    );
    let way =
        if adapter.has_timestamps() { "timestamps at the borders of passes" } else { "wall time of passes in a row" };
    println!("times: {way}");

    let mut rows = Rows::new(criterion.benchmark_group(format!("{} {:?}", gpu.info().name, gpu.info().backend)));
    rows.group.sample_size(10).warm_up_time(Duration::from_millis(500)).measurement_time(Duration::from_secs(2));
    kernel_rows(&mut rows, adapter, (&rig, &buffers), [&strip, &direct, &direct_bytes])?;
    upload_rows(&mut rows, adapter, &pixels)?;
    rows.table();
    drop(rows);

    turns(adapter, &strip, &[("per-output taps", &direct), ("per-output taps, bytes only", &direct_bytes)]);
    sanity(adapter, &strip);
    overhead(adapter, &mut rig, &pixels, images)
}

/// The rows of kernels: the copy, the stage in f32 and f16, contrast, and the stage without wgpu's checks.
fn kernel_rows(
    rows: &mut Rows<'_>,
    adapter: &Adapter,
    (rig, buffers): (&Rig, &Buffers),
    [strip, direct, direct_bytes]: [&Kernel; 3],
) -> Result<(), Box<dyn Error>> {
    let (gpu, images) = (&adapter.gpu, batch(&adapter.gpu));
    let Buffers { source, output, other, .. } = buffers;
    let kernel = |dispatch: &RecordedDispatch, read, write| buffers.kernel(adapter, dispatch, read, write);
    let half = on_device(gpu, &plan([Normalize::IMAGENET.into()], DType::F16)?, false);
    let contrast = plan([ColorJitter::new(0.2, 0.2, 0.0, 0.0).into(), Normalize::IMAGENET.into()], DType::F32)?;
    let rig_half = Rig::new(gpu, &half, &make_params(&half, images)?)?;
    let rig_contrast = Rig::new(gpu, &contrast, &make_params(&contrast, images)?)?;

    let (slot, elements) = (rig.slot_bytes(), rig.elements());
    let moved = slot + 4 * elements;
    let copied = (moved / 2).next_multiple_of(16);
    let [from, to] = [(); 2].map(|()| adapter.storage(copied));
    let copy = kernel(&copy_kernel(copied), &from, &to);
    add_kernels(rows, adapter, "copy kernel", 2 * copied, &[&copy]);
    add_kernels(rows, adapter, "strip, f32", moved, &[strip]);
    add_kernels(rows, adapter, "per-output taps, f32", moved, &[direct]);
    add_kernels(rows, adapter, "per-output taps, f32, bytes only", moved, &[direct_bytes]);
    half_rows(rows, adapter, &rig_half, buffers)?;
    let [mean, finish] = &rig_contrast.dispatches()[..] else { return Err("contrast takes two passes".into()) };
    let (mean, finish) = (kernel(mean, source, other), kernel(finish, source, output));
    add_kernels(rows, adapter, "contrast: its mean", slot, &[&mean]);
    add_kernels(rows, adapter, "contrast: the stage after it", moved, &[&finish]);
    let stage = &rig.dispatches()[0];
    let strip_unchecked = buffers.unchecked(adapter, stage);
    add_kernels(rows, adapter, "strip, f32, shader checks off", moved, &[&strip_unchecked]);
    let direct_unchecked = buffers.unchecked(adapter, &naive(stage)?);
    add_kernels(rows, adapter, "per-output taps, f32, shader checks off", moved, &[&direct_unchecked]);
    Ok(())
}

/// The rows of f16: stored by the stage where the device stores numbers of 16 bits, and by a packing pass.
fn half_rows(rows: &mut Rows<'_>, adapter: &Adapter, rig: &Rig, buffers: &Buffers) -> Result<(), Box<dyn Error>> {
    let (slot, elements) = (rig.slot_bytes(), rig.elements());
    let Buffers { source, output, packed, .. } = buffers;
    let kernel = |dispatch: &RecordedDispatch, read, write| buffers.kernel(adapter, dispatch, read, write);
    if let [stage] = &rig.dispatches()[..] {
        let (stage, direct) = (kernel(stage, source, output), kernel(&naive(stage)?, source, output));
        add_kernels(rows, adapter, "strip, f16", slot + 2 * elements, &[&stage]);
        add_kernels(rows, adapter, "per-output taps, f16", slot + 2 * elements, &[&direct]);
    }
    let packing = plan([Normalize::IMAGENET.into()], DType::F16)?;
    let rig = Rig::new(&adapter.gpu, &packing, &make_params(&packing, batch(&adapter.gpu))?)?;
    let [stage, pack] = &rig.dispatches()[..] else {
        return Err("f16 by packing takes two passes".into());
    };
    let direct = kernel(&naive(stage)?, source, output);
    let (stage, pack) = (kernel(stage, source, output), kernel(pack, output, packed));
    add_kernels(rows, adapter, "strip and packing, f16", slot + 10 * elements, &[&stage, &pack]);
    add_kernels(rows, adapter, "per-output taps and packing, f16", slot + 10 * elements, &[&direct, &pack]);
    Ok(())
}

/// The rows of the upload paths.
fn upload_rows(rows: &mut Rows<'_>, adapter: &Adapter, pixels: &[u8]) -> Result<(), Box<dyn Error>> {
    let slot = pixels.len() as u64;
    let mut upload = |name, memory| -> Result<(), Box<dyn Error>> {
        let mut ring = StagingRing::new(&adapter.gpu, slot, memory)?;
        rows.add(name, slot, |batches| {
            let start = Instant::now();
            (0..batches).for_each(|_| ring.upload(pixels).expect("the device works"));
            adapter.wait().expect("the device works");
            start.elapsed()
        });
        Ok(())
    };
    upload("upload: ring and copy", StagingMemory::Copied)?;
    if adapter.gpu.info().backend == wgpu::Backend::Vulkan {
        upload("upload: ring in the host's memory and copy", StagingMemory::Host)?;
    }
    if adapter.gpu.device().features().contains(wgpu::Features::MAPPABLE_PRIMARY_BUFFERS) {
        upload("upload: mapped storage buffers, no copy", StagingMemory::InPlace)?;
    } else {
        println!("upload by mapped storage buffers: not measured, the adapter has no MAPPABLE_PRIMARY_BUFFERS");
    }
    Ok(())
}

/// Prints ratios of kernels that take turns, which other work on the machine disturbs least.
fn turns(adapter: &Adapter, strip: &Kernel, others: &[(&str, &Kernel)]) {
    let one = |kernel: &Kernel| {
        let time = adapter.time(&[kernel], 1).expect("the device works");
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

/// Compares timestamps with the slope of the wall time over passes.
fn sanity(adapter: &Adapter, kernel: &Kernel) {
    if !adapter.has_timestamps() {
        return println!("timestamps: not measured, the adapter has no TIMESTAMP_QUERY");
    }
    let mut ratios = Vec::new();
    let mut dropped = 0;
    for _ in 0..9 {
        let [few, many] = [2, 8].map(|passes| adapter.time(&[kernel], passes).expect("the device works"));
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

/// Times the copying and submitting of batches, without the GPU's own time.
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
        adapter.wait()?;
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
    const AT_ONCE: u64 = 16;
    let mut group = criterion.benchmark_group("draw");
    let jitter = ColorJitter::new(0.4, 0.4, 0.4, 0.1);
    let lists = [
        ("crop, flip, Normalize", plan([Normalize::IMAGENET.into()], DType::F32)?),
        ("crop, flip, ColorJitter, Normalize", plan([jitter.into(), Normalize::IMAGENET.into()], DType::F32)?),
    ];
    for (name, plan) in lists {
        let mut sample = 0;
        let mut next = || {
            sample += 1;
            Key { sample, ..Key::default() }
        };
        group.throughput(Throughput::Elements(1));
        group.bench_function(format!("{name}, one image"), |bencher| {
            bencher.iter(|| black_box(draw(&plan, SIZE, &next())));
        });
        group.throughput(Throughput::Elements(AT_ONCE));
        group.bench_function(format!("{name}, {AT_ONCE} images at once"), |bencher| {
            bencher.iter(|| {
                let keys: Vec<Key> = (0..AT_ONCE).map(|_| next()).collect();
                black_box(draw_many(&plan, SIZE, &keys))
            });
        });
    }
    group.finish();
    Ok(())
}

/// The rows of the CPU executor: image after image on one thread.
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
        let draw = |sample| plan.make_params(width, height, &Key { sample, ..Key::default() });
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
