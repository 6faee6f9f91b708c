//! Adapters and devices: choosing one, opening one, adopting the application's.

use crate::error::{ErrorKind, Result};
use std::sync::Arc;

/// A wgpu device that gpufeed works on; clones share it.
///
/// ```
/// use gpufeed::Gpu;
///
/// for adapter in Gpu::adapters() {
///     println!("{adapter}");
/// }
/// ```
#[derive(Clone, Debug)]
pub struct Gpu {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    device: wgpu::Device,
    queue: wgpu::Queue,
    info: wgpu::AdapterInfo,
}

fn instance() -> wgpu::Instance {
    wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle_from_env())
}

fn describe(info: &wgpu::AdapterInfo) -> String {
    let driver = [info.driver.as_str(), info.driver_info.as_str()].join(" ");
    format!("{} ({:?}, {:?}, {})", info.name, info.device_type, info.backend, driver.trim())
}

/// Discrete before integrated before virtual; software last.
fn rank(info: &wgpu::AdapterInfo) -> u32 {
    let kind = match info.device_type {
        wgpu::DeviceType::DiscreteGpu => 0,
        wgpu::DeviceType::IntegratedGpu => 1,
        wgpu::DeviceType::VirtualGpu => 2,
        wgpu::DeviceType::Other => 3,
        wgpu::DeviceType::Cpu => 4,
    };
    // OpenGL is the fallback where a better API drives the same chip.
    kind * 2 + u32::from(info.backend == wgpu::Backend::Gl)
}

impl Gpu {
    /// The machine's adapters that can run compute shaders, best first.
    pub fn adapters() -> Vec<String> {
        Gpu::enumerate().iter().map(|adapter| describe(&adapter.get_info())).collect()
    }

    /// The same adapters in the same order, for [`open`](Self::open) and [`open_with`](Self::open_with).
    ///
    /// ```
    /// use gpufeed::{Gpu, wgpu};
    ///
    /// // The first adapter, with no more than every WebGPU device has.
    /// if let Some(adapter) = Gpu::enumerate().first() {
    ///     let gpu = Gpu::open_with(adapter, wgpu::Features::empty(), wgpu::Limits::default())?;
    ///     println!("{gpu}");
    /// }
    /// # Ok::<(), gpufeed::Error>(())
    /// ```
    pub fn enumerate() -> Vec<wgpu::Adapter> {
        let mut adapters = pollster::block_on(instance().enumerate_adapters(wgpu::Backends::all()));
        let computes = wgpu::DownlevelFlags::COMPUTE_SHADERS;
        adapters.retain(|adapter| adapter.get_downlevel_capabilities().flags.contains(computes));
        adapters.sort_by_key(|adapter| rank(&adapter.get_info()));
        adapters
    }

    /// The best adapter that is no software one.
    pub(crate) fn best() -> Result<Option<Gpu>> {
        let adapter =
            Gpu::enumerate().into_iter().find(|adapter| adapter.get_info().device_type != wgpu::DeviceType::Cpu);
        adapter.map(|adapter| Gpu::open(&adapter)).transpose()
    }

    pub(crate) fn named(name: &str) -> Result<Gpu> {
        let adapters = Gpu::enumerate();
        let by_number = name.parse::<usize>().ok().and_then(|number| adapters.get(number));
        let lower = name.to_lowercase();
        let by_name = || adapters.iter().find(|adapter| describe(&adapter.get_info()).to_lowercase().contains(&lower));
        match by_number.or_else(by_name) {
            Some(adapter) => Gpu::open(adapter),
            None => {
                let there: Vec<_> = adapters.iter().map(|adapter| describe(&adapter.get_info())).collect();
                let there = if there.is_empty() {
                    "there is none".to_owned()
                } else {
                    format!("there are: {}", there.join("; "))
                };
                Err(ErrorKind::NoAdapter { reason: format!("\"{name}\" was asked for, {there}") }.into())
            }
        }
    }

    /// Opens a device on `adapter` with WebGPU's default limits, buffers and bindings as large as the adapter's, and
    /// mappable storage buffers where memory is unified.
    ///
    /// # Errors
    /// [`ErrorKind::Device`] with the driver's reason.
    pub fn open(adapter: &wgpu::Adapter) -> Result<Gpu> {
        let there = adapter.limits();
        let limits = wgpu::Limits {
            max_buffer_size: there.max_buffer_size,
            max_storage_buffer_binding_size: there.max_storage_buffer_binding_size,
            ..wgpu::Limits::default()
        };
        Gpu::open_with(adapter, adapter.features() & wgpu::Features::MAPPABLE_PRIMARY_BUFFERS, limits)
    }

    /// Opens a device with exactly these features and limits.
    ///
    /// # Errors
    /// [`ErrorKind::Device`] with the driver's reason.
    pub fn open_with(adapter: &wgpu::Adapter, features: wgpu::Features, limits: wgpu::Limits) -> Result<Gpu> {
        let descriptor = wgpu::DeviceDescriptor {
            label: Some("gpufeed"),
            required_features: features,
            required_limits: limits,
            ..wgpu::DeviceDescriptor::default()
        };
        let (device, queue) = pollster::block_on(adapter.request_device(&descriptor))
            .map_err(|error| ErrorKind::Device { stage: "opening the device", reason: error.to_string() })?;
        Ok(Gpu::from_wgpu(adapter, device, queue))
    }

    /// Adopts a device of the application's, so that its own passes and gpufeed's share buffers and a queue.
    pub fn from_wgpu(adapter: &wgpu::Adapter, device: wgpu::Device, queue: wgpu::Queue) -> Gpu {
        Gpu { shared: Arc::new(Shared { device, queue, info: adapter.get_info() }) }
    }

    /// The device.
    pub fn device(&self) -> &wgpu::Device {
        &self.shared.device
    }

    /// The queue; gpufeed submits to it, so what you submit after a batch arrives is ordered after that batch's work.
    pub fn queue(&self) -> &wgpu::Queue {
        &self.shared.queue
    }

    /// Name, backend and driver.
    pub fn info(&self) -> &wgpu::AdapterInfo {
        &self.shared.info
    }

    /// Whether shaders run on the CPU (lavapipe, WARP, SwiftShader).
    pub fn is_software(&self) -> bool {
        self.shared.info.device_type == wgpu::DeviceType::Cpu
    }

    /// Whether shaders can read a mappable buffer in place: unified memory, and the feature is on on this device.
    pub(crate) fn mappable(&self) -> bool {
        let unified = matches!(self.shared.info.device_type, wgpu::DeviceType::IntegratedGpu | wgpu::DeviceType::Cpu);
        unified && self.shared.device.features().contains(wgpu::Features::MAPPABLE_PRIMARY_BUFFERS)
    }

    /// Waits for a submission, or for all. On OpenGL this returns after two seconds whether or not the work is done
    /// (wgpu-hal caps the fence's timeout at `i32::MAX` nanoseconds), so callers ask again until they have what they
    /// wait for.
    pub(crate) fn wait(&self, submission_index: Option<wgpu::SubmissionIndex>) -> Result<()> {
        let wait = wgpu::PollType::Wait { submission_index, timeout: None };
        let polled = self.shared.device.poll(wait);
        polled
            .map(|_| ())
            .map_err(|error| ErrorKind::Device { stage: "waiting for the GPU", reason: error.to_string() }.into())
    }

    /// A storage buffer that can be copied from and to.
    pub(crate) fn storage(&self, label: &'static str, size: u64) -> Result<wgpu::Buffer> {
        self.checked(label, || {
            self.shared.device.create_buffer(&wgpu::BufferDescriptor {
                label: Some(label),
                size,
                usage: wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST,
                mapped_at_creation: false,
            })
        })
    }

    /// Runs `work` under error scopes, so that what wgpu would report elsewhere becomes an error here.
    pub(crate) fn checked<T>(&self, stage: &'static str, work: impl FnOnce() -> T) -> Result<T> {
        let validation = self.shared.device.push_error_scope(wgpu::ErrorFilter::Validation);
        let memory = self.shared.device.push_error_scope(wgpu::ErrorFilter::OutOfMemory);
        let internal = self.shared.device.push_error_scope(wgpu::ErrorFilter::Internal);
        let result = work();
        for scope in [internal, memory, validation] {
            if let Some(error) = pollster::block_on(scope.pop()) {
                return Err(ErrorKind::Device { stage, reason: error.to_string() }.into());
            }
        }
        Ok(result)
    }
}

impl std::fmt::Display for Gpu {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&describe(&self.shared.info))
    }
}
