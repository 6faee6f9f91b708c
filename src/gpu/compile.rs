//! Compiles the shaders of a plan: side by side, and before the first sample is decoded.

use super::Gpu;
use super::errors;
use crate::error::Result;
use crate::plan::wgsl;
use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

const STAGE: &str = "compiling the shaders";

/// The time and the number of pipelines that compiling a loader's shaders took, in [`Stats`](crate::Stats).
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
    pub(crate) fn add(&mut self, other: Compile) {
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
/// compiled before, each on a thread of its own. Labels appear in the driver's messages.
///
/// # Errors
/// naga's error, with the line, if a text is not valid; [`ErrorKind::Device`](crate::ErrorKind::Device) if the driver
/// rejects it. Errors are not cached.
pub(super) fn pipelines(gpu: &Gpu, shaders: &[(String, String)]) -> Result<(Vec<wgpu::ComputePipeline>, Compile)> {
    let began = Instant::now();
    let cached = gpu.pipelines();
    let (mut found, mut missing) = (BTreeMap::new(), BTreeMap::new());
    for (label, text) in shaders {
        match cached.get(text) {
            Some(pipeline) => drop(found.insert(text, pipeline)),
            None => drop(missing.insert(text, label)),
        }
    }
    let mut compile = Compile { compiled: missing.len(), kept: shaders.len() - missing.len(), time: Duration::ZERO };
    if compile.compiled > 0 {
        for (text, pipeline) in side_by_side(gpu, missing)? {
            cached.insert(text.clone(), pipeline.clone());
            found.insert(text, pipeline);
        }
        cached.save();
        compile.time = began.elapsed();
    }
    Ok((shaders.iter().map(|(_, text)| found[text].clone()).collect(), compile))
}

/// Compiles the texts of `missing`, which has their labels. A plan has at most a dozen.
fn side_by_side<'a>(
    gpu: &Gpu,
    missing: BTreeMap<&'a String, &'a String>,
) -> Result<Vec<(&'a String, wgpu::ComputePipeline)>> {
    thread::scope(|scope| {
        let spawn = |(text, label): (&'a String, &'a String)| (text, scope.spawn(move || one(gpu, label, text)));
        let threads: Vec<_> = missing.into_iter().map(spawn).collect();
        let join = |(text, thread): (_, thread::ScopedJoinHandle<'_, _>)| match thread.join() {
            Ok(pipeline) => Ok((text, pipeline?)),
            Err(_) => Err(errors::error(STAGE, "the driver or wgpu panicked")),
        };
        threads.into_iter().map(join).collect()
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
/// is only traced, because the driver then compiles when the first batch runs.
pub(super) fn warm_up<'a>(gpu: &Gpu, pipelines: impl Iterator<Item = &'a wgpu::ComputePipeline>) {
    let caps = gpu.caps();
    if !caps.software || caps.computes_in_submit {
        return;
    }
    let device = gpu.device();
    let warmed = gpu.create_checked("gpufeed warm-up", 3 * WARM_UP_BYTES, || {
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
