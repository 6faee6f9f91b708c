//! Times dispatches on one adapter. Uses timestamps at both ends of a pass if the device has them, else the wall clock.
//! `benches/kernels.rs` uses it, too.

use gpufeed::internals::{RecordedDispatch, Switches, switched};
use gpufeed::wgpu::{self, BufferUsages as Usage};
use gpufeed::{ErrorKind, Gpu, Result};
use std::num::NonZero;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

/// The most passes of a submission. A software adapter takes milliseconds for each pass, and a desktop's watchdog stops
/// submissions that take seconds.
const MOST_PASSES: u32 = 16;

/// An adapter whose device has the features that measurements need.
#[derive(Debug)]
pub struct Adapter {
    /// The adapter's device.
    pub gpu: Gpu,
    queries: Option<Queries>,
}

#[derive(Debug)]
struct Queries {
    set: wgpu::QuerySet,
    resolved: wgpu::Buffer,
    /// The nanoseconds in one tick of the device's clock.
    period: f64,
}

/// A compute pipeline and its bind group.
#[derive(Debug)]
pub struct Kernel {
    pipeline: wgpu::ComputePipeline,
    group: wgpu::BindGroup,
    groups: [u32; 3],
}

/// The time of some passes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Time {
    /// The time from the submission to the end, by the host's clock.
    pub wall: Duration,
    /// The sum of the passes' times by the device's clock; `None` without timestamps, or if a pair of them was zero or
    /// out of order.
    pub device: Option<Duration>,
}

impl Adapter {
    /// Opens a device with the adapter's own buffer limits.
    ///
    /// # Errors
    /// Those of [`Gpu::open_with`].
    pub fn open(adapter: &wgpu::Adapter) -> Result<Adapter> {
        Adapter::switched(adapter, &Switches::default())
    }

    /// Opens a device as [`open`](Self::open) does, with choices that are set by hand.
    ///
    /// # Errors
    /// Those of [`Gpu::open_with`]; `ErrorKind::Argument` if the device cannot do what a switch asks for.
    pub fn switched(adapter: &wgpu::Adapter, switches: &Switches) -> Result<Adapter> {
        let there = adapter.limits();
        let limits = wgpu::Limits {
            max_buffer_size: there.max_buffer_size,
            max_storage_buffer_binding_size: there.max_storage_buffer_binding_size,
            ..wgpu::Limits::default()
        };
        let wanted =
            wgpu::Features::TIMESTAMP_QUERY | wgpu::Features::MAPPABLE_PRIMARY_BUFFERS | wgpu::Features::SHADER_I16;
        let gpu = switched(Gpu::open_with(adapter, adapter.features() & wanted, limits)?, switches)?;
        let queries = gpu.device().features().contains(wgpu::Features::TIMESTAMP_QUERY).then(|| Queries {
            set: gpu.device().create_query_set(&wgpu::QuerySetDescriptor {
                label: None,
                ty: wgpu::QueryType::Timestamp,
                count: 2 * MOST_PASSES,
            }),
            resolved: buffer(&gpu, 16 * u64::from(MOST_PASSES), Usage::QUERY_RESOLVE | Usage::COPY_SRC),
            period: f64::from(gpu.queue().get_timestamp_period()),
        });
        Ok(Adapter { gpu, queries })
    }

    /// Returns true if the device's clock times passes.
    pub fn has_timestamps(&self) -> bool {
        self.queries.is_some()
    }

    /// Creates a storage buffer of zeros.
    pub fn storage(&self, bytes: u64) -> wgpu::Buffer {
        buffer(&self.gpu, bytes, Usage::STORAGE | Usage::COPY_SRC | Usage::COPY_DST)
    }

    /// Creates a storage buffer with these bytes.
    pub fn filled(&self, bytes: &[u8]) -> wgpu::Buffer {
        let buffer = self.storage(bytes.len() as u64);
        self.gpu.queue().write_buffer(&buffer, 0, bytes);
        buffer
    }

    /// Builds the kernel of `dispatch`. The three `buffers` are the one to read, the one for statistics and the one to
    /// write.
    pub fn kernel(&self, dispatch: &RecordedDispatch, buffers: [&wgpu::Buffer; 3]) -> Kernel {
        let module = self.gpu.device().create_shader_module(shader(dispatch));
        self.kernel_of(&module, dispatch, buffers)
    }

    /// Builds a kernel like [`kernel`](Self::kernel) with an existing module of [`shader`].
    pub fn kernel_of(
        &self,
        module: &wgpu::ShaderModule,
        dispatch: &RecordedDispatch,
        [read, statistics, write]: [&wgpu::Buffer; 3],
    ) -> Kernel {
        let device = self.gpu.device();
        let params = self.filled(&dispatch.params);
        let buffers = [(read, true), (&params, true), (statistics, false), (write, false)];
        let layouts = [0, 1, 2, 3].map(|i| wgpu::BindGroupLayoutEntry {
            binding: i as u32,
            visibility: wgpu::ShaderStages::COMPUTE,
            ty: wgpu::BindingType::Buffer {
                ty: wgpu::BufferBindingType::Storage { read_only: buffers[i].1 },
                has_dynamic_offset: false,
                min_binding_size: None,
            },
            count: None,
        });
        let layout =
            device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor { label: None, entries: &layouts });
        let entries = [0, 1, 2, 3].map(|i| wgpu::BindGroupEntry {
            binding: i as u32,
            resource: wgpu::BindingResource::Buffer(wgpu::BufferBinding {
                buffer: buffers[i].0,
                offset: 0,
                size: NonZero::new(buffers[i].0.size()),
            }),
        });
        let group =
            device.create_bind_group(&wgpu::BindGroupDescriptor { label: None, layout: &layout, entries: &entries });
        let pipeline_layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label: None,
            bind_group_layouts: &[Some(&layout)],
            immediate_size: 0,
        });
        let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some(dispatch.name),
            layout: Some(&pipeline_layout),
            module,
            entry_point: Some("main"),
            compilation_options: wgpu::PipelineCompilationOptions::default(),
            cache: None,
        });
        Kernel { pipeline, group, groups: dispatch.groups }
    }

    /// Times `passes` passes. Each dispatches all `kernels` in order.
    ///
    /// # Errors
    /// `ErrorKind::Device` if the device is lost.
    pub fn time(&self, kernels: &[&Kernel], passes: u64) -> Result<Time> {
        let mut time = Time { wall: Duration::ZERO, device: self.queries.as_ref().map(|_| Duration::ZERO) };
        let mut left = passes;
        while left > 0 {
            let now = left.min(MOST_PASSES.into()) as u32;
            let submission = self.submission(kernels, now)?;
            time.wall += submission.wall;
            time.device = time.device.zip(submission.device).map(|(sum, more)| sum + more);
            left -= u64::from(now);
        }
        Ok(time)
    }

    fn submission(&self, kernels: &[&Kernel], passes: u32) -> Result<Time> {
        let device = self.gpu.device();
        let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        for i in 0..passes {
            let timestamp_writes = self.queries.as_ref().map(|queries| wgpu::ComputePassTimestampWrites {
                query_set: &queries.set,
                beginning_of_pass_write_index: Some(2 * i),
                end_of_pass_write_index: Some(2 * i + 1),
            });
            let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor { label: None, timestamp_writes });
            for Kernel { pipeline, group, groups: [x, y, z] } in kernels {
                pass.set_pipeline(pipeline);
                pass.set_bind_group(0, group, &[]);
                pass.dispatch_workgroups(*x, *y, *z);
            }
        }
        let commands = encoder.finish();
        let start = Instant::now();
        self.gpu.queue().submit([commands]);
        self.wait()?;
        let wall = start.elapsed();
        let device = self.queries.as_ref().map(|queries| self.read(queries, passes)).transpose()?;
        Ok(Time { wall, device: device.flatten() })
    }

    /// Waits until all submitted work is done. On OpenGL, a poll alone can return earlier.
    ///
    /// # Errors
    /// `ErrorKind::Device` if the device is lost.
    pub fn wait(&self) -> Result<()> {
        let done = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&done);
        self.gpu.queue().on_submitted_work_done(move || flag.store(true, Ordering::Release));
        while !done.load(Ordering::Acquire) {
            self.poll()?;
        }
        Ok(())
    }

    fn poll(&self) -> Result<()> {
        let polled = self.gpu.device().poll(wgpu::PollType::wait_indefinitely());
        polled.map(drop).map_err(|error| failed(error.to_string()))
    }

    /// Reads the timestamps in a later submission, because some drivers give zeros in the same one.
    fn read(&self, queries: &Queries, passes: u32) -> Result<Option<Duration>> {
        let mut encoder = self.gpu.device().create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        encoder.resolve_query_set(&queries.set, 0..2 * passes, &queries.resolved, 0);
        self.gpu.queue().submit([encoder.finish()]);
        let bytes = self.download(&queries.resolved, 16 * u64::from(passes))?;
        let ticks: Vec<u64> = bytes.as_chunks::<8>().0.iter().map(|bytes| u64::from_ne_bytes(*bytes)).collect();
        let mut sum = 0.0;
        for [begin, end] in ticks.as_chunks::<2>().0 {
            if *begin == 0 || end <= begin {
                return Ok(None);
            }
            sum += (end - begin) as f64 * queries.period;
        }
        Ok(Some(Duration::from_secs_f64(1e-9 * sum)))
    }

    /// Downloads the first `bytes` bytes of a buffer.
    ///
    /// # Errors
    /// `ErrorKind::Device` if the device is lost.
    pub fn download(&self, from: &wgpu::Buffer, bytes: u64) -> Result<Vec<u8>> {
        let staging = buffer(&self.gpu, bytes, Usage::MAP_READ | Usage::COPY_DST);
        let mut encoder = self.gpu.device().create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        encoder.copy_buffer_to_buffer(from, 0, &staging, 0, Some(bytes));
        self.gpu.queue().submit([encoder.finish()]);
        let (sender, receiver) = mpsc::channel();
        // Sending fails only if an error has ended this function before.
        staging.map_async(wgpu::MapMode::Read, .., move |result| _ = sender.send(result));
        loop {
            self.poll()?;
            if let Ok(result) = receiver.try_recv() {
                result.map_err(|error| failed(error.to_string()))?;
                let range = staging.get_mapped_range(..).map_err(|error| failed(error.to_string()))?;
                return Ok(range.to_vec());
            }
        }
    }
}

/// Returns a dispatch's shader in wgpu's form.
pub fn shader(dispatch: &RecordedDispatch) -> wgpu::ShaderModuleDescriptor<'_> {
    wgpu::ShaderModuleDescriptor {
        label: Some(dispatch.name),
        source: wgpu::ShaderSource::Wgsl(dispatch.wgsl.as_str().into()),
    }
}

fn failed(reason: String) -> gpufeed::Error {
    ErrorKind::Device { stage: "measuring a kernel", reason }.into()
}

fn buffer(gpu: &Gpu, size: u64, usage: Usage) -> wgpu::Buffer {
    let size = size.next_multiple_of(4);
    gpu.device().create_buffer(&wgpu::BufferDescriptor { label: None, size, usage, mapped_at_creation: false })
}
