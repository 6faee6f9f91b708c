//! Compiles the shaders of a plan: side by side, and before the first sample is decoded.

use super::Gpu;
use super::errors;
use crate::error::Result;
use crate::plan::wgsl;
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

const STAGE: &str = "compiling the shaders";

/// What compiling the shaders of a loader took, in [`Stats`](crate::Stats).
///
/// ```no_run
/// # fn show(loader: &gpufeed::DataLoader) {
/// let compile = loader.stats().compile;
/// println!("{} pipelines in {:?}, {} kept from before", compile.compiled, compile.time, compile.kept);
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Compile {
    /// Pipelines that the driver compiled for this loader.
    pub compiled: usize,
    /// Pipelines that the device had compiled before, for another loader or a replay.
    pub kept: usize,
    /// The time of `build` in which the driver compiled. Mesa's software drivers compile to machine code when a shader
    /// first runs; for them `build` starts that, and does not wait for it.
    pub time: Duration,
}

impl Compile {
    pub(super) fn add(&mut self, other: Compile) {
        self.compiled += other.compiled;
        self.kept += other.kept;
        self.time += other.time;
    }
}

impl std::fmt::Display for Compile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Compile { compiled, kept, time } = self;
        write!(f, "{compiled} pipelines compiled in {:.0} ms, {kept} kept from before", 1e3 * time.as_secs_f64())
    }
}

/// The pipelines of `shaders`, which are labels and texts. Validates and compiles the texts that this device has not
/// compiled before, each on a thread of its own as long as there are cores. Labels appear in the driver's messages.
///
/// # Errors
/// naga's error, with the line, if a text is not valid; [`ErrorKind::Device`](crate::ErrorKind::Device) if the driver
/// rejects it. Errors are not cached.
pub(super) fn pipelines(gpu: &Gpu, shaders: &[(String, String)]) -> Result<(Vec<wgpu::ComputePipeline>, Compile)> {
    let began = Instant::now();
    let cached = gpu.pipelines();
    let missing: BTreeMap<&str, &str> = shaders
        .iter()
        .filter(|(_, text)| cached.get(text).is_none())
        .map(|(label, text)| (text.as_str(), label.as_str()))
        .collect();
    let compiled = missing.len();
    let mut fresh = BTreeMap::new();
    for (text, pipeline) in side_by_side(gpu, missing)? {
        cached.insert(text.to_owned(), pipeline.clone());
        fresh.insert(text, pipeline);
    }
    if compiled > 0 {
        cached.save();
    }
    let time = if compiled > 0 { began.elapsed() } else { Duration::ZERO };
    let find = |text: &String| fresh.get(text.as_str()).cloned().or_else(|| cached.get(text));
    // Another thread may have emptied the cache since.
    let found = shaders.iter().map(|(label, text)| find(text).map_or_else(|| one(gpu, label, text), Ok));
    Ok((found.collect::<Result<_>>()?, Compile { compiled, kept: shaders.len() - compiled, time }))
}

fn side_by_side<'a>(gpu: &Gpu, missing: BTreeMap<&'a str, &str>) -> Result<Vec<(&'a str, wgpu::ComputePipeline)>> {
    let threads = thread::available_parallelism().map_or(1, usize::from).min(missing.len());
    let missing = Mutex::new(missing.into_iter());
    let next = || missing.lock().expect("nothing panics with the lock").next();
    let work = || -> Result<Vec<_>> {
        let mut done = Vec::new();
        while let Some((text, label)) = next() {
            done.push((text, one(gpu, label, text)?));
        }
        Ok(done)
    };
    if threads < 2 {
        return work();
    }
    thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let mut all = Vec::new();
        for thread in threads {
            all.extend(thread.join().map_err(|_| errors::error(STAGE, "the driver or wgpu panicked"))??);
        }
        Ok(all)
    })
}

fn one(gpu: &Gpu, label: &str, text: &str) -> Result<wgpu::ComputePipeline> {
    wgsl::validate(text)?;
    let (device, pipelines) = (gpu.device(), gpu.pipelines());
    gpu.checked(STAGE, || {
        let source = wgpu::ShaderSource::Wgsl(text.into());
        let module = device.create_shader_module(wgpu::ShaderModuleDescriptor { label: Some(label), source });
        device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some(label),
            layout: Some(pipelines.layout(device)),
            module: &module,
            entry_point: Some("main"),
            compilation_options: wgpu::PipelineCompilationOptions::default(),
            cache: pipelines.cache(),
        })
    })
}

/// Bytes of each binding of the warm-up: more than a shader's structs take.
const WARM_UP_BYTES: u64 = 1 << 20;

/// Dispatches no workgroup of each pipeline on a software adapter, and does not wait: Mesa's lavapipe compiles a shader to
/// machine code when it first runs, for a second in `imagenet-train-jitter`. The workers decode meanwhile. A failure
/// is no error: what it would compile is compiled later.
pub(super) fn warm_up<'a>(gpu: &Gpu, pipelines: impl Iterator<Item = &'a wgpu::ComputePipeline>) {
    let caps = gpu.caps();
    if !caps.software || caps.computes_in_submit {
        return;
    }
    let device = gpu.device();
    let warmed = gpu.checked(STAGE, || {
        let buffer = |label, bytes| gpu.buffer(label, bytes, wgpu::BufferUsages::STORAGE, false);
        let read = buffer("gpufeed warm-up source", WARM_UP_BYTES);
        let written = buffer("gpufeed warm-up target", 2 * WARM_UP_BYTES);
        let part = |buffer, offset| wgpu::BufferBinding { buffer, offset, size: std::num::NonZero::new(WARM_UP_BYTES) };
        let bindings = [part(&read, 0), part(&read, 0), part(&written, 0), part(&written, WARM_UP_BYTES)];
        let entries = (0..).zip(bindings.map(wgpu::BindingResource::Buffer));
        let entries: Vec<_> = entries.map(|(binding, resource)| wgpu::BindGroupEntry { binding, resource }).collect();
        let (label, layout) = (Some("gpufeed warm-up"), gpu.pipelines().bind_group_layout(device));
        let group = device.create_bind_group(&wgpu::BindGroupDescriptor { label, layout, entries: &entries });
        let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label });
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
        pass.set_bind_group(0, &group, &[]);
        for pipeline in pipelines {
            pass.set_pipeline(pipeline);
            pass.dispatch_workgroups(0, 1, 1);
        }
        drop(pass);
        gpu.submit([encoder.finish()]);
    });
    if let Err(reason) = warmed {
        tracing::debug!("the shaders are compiled when they first run: {reason}");
    }
}
