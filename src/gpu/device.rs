//! Devices: opening one, adopting the application's.

use super::adapters;
use super::caps::Caps;
use super::pipelines::Pipelines;
use super::watch::Health;
use crate::error::{ErrorKind, Result};
use std::any::Any;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

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
    caps: Caps,
    health: Health,
    pipelines: Pipelines,
    buffers_made: AtomicU64,
    attached: OnceLock<Attached>,
}

/// A value that another crate keeps with a [`Gpu`]: gpufeed-burn keeps the device of Burn's that computes on it.
pub type Attached = Box<dyn Any + Send + Sync>;

/// The place for such a value; all clones of a [`Gpu`] share it.
pub fn attached(gpu: &Gpu) -> &OnceLock<Attached> {
    &gpu.shared.attached
}

impl Gpu {
    /// The machine's adapters that can run compute shaders, best first.
    pub fn adapters() -> Vec<String> {
        Gpu::enumerate().iter().map(|adapter| adapters::describe(&adapter.get_info())).collect()
    }

    /// The adapters themselves, in the order of [`adapters`](Self::adapters), for [`open`](Self::open) and [`open_with`](Self::open_with).
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
        Gpu::enumerate_all().0
    }

    /// The adapters of [`enumerate`](Self::enumerate), and those that cannot run compute shaders; for `gpufeed doctor`.
    #[doc(hidden)]
    pub fn enumerate_all() -> (Vec<wgpu::Adapter>, Vec<wgpu::Adapter>) {
        adapters::enumerate_all()
    }

    /// Opens a device on `adapter` with WebGPU's default limits, buffers and bindings as large as the adapter's, mappable
    /// storage buffers where memory is unified, and timestamps where there are any.
    ///
    /// gpufeed installs the device's lost callback and its handler of uncaptured errors: either becomes an
    /// [`ErrorKind::Device`] that the next batch brings, instead of a panic.
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
        let wanted = wgpu::Features::MAPPABLE_PRIMARY_BUFFERS | wgpu::Features::TIMESTAMP_QUERY;
        Gpu::open_with(adapter, adapter.features() & wanted, limits)
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
        let opened = pollster::block_on(adapter.request_device(&descriptor));
        let (device, queue) =
            opened.map_err(|error| ErrorKind::Device { stage: "opening the device", reason: error.to_string() })?;
        let health = Health::watch(&device);
        Ok(Gpu::with(adapter, device, queue, health))
    }

    /// Adopts a device of the application's, so that its own passes and gpufeed's share buffers and a queue.
    ///
    /// Its lost callback and its handler of uncaptured errors stay the application's.
    pub fn from_wgpu(adapter: &wgpu::Adapter, device: wgpu::Device, queue: wgpu::Queue) -> Gpu {
        Gpu::with(adapter, device, queue, Health::adopted())
    }

    fn with(adapter: &wgpu::Adapter, device: wgpu::Device, queue: wgpu::Queue, health: Health) -> Gpu {
        let info = adapter.get_info();
        let caps = Caps::new(&info, device.features(), &device.limits());
        let shared = Shared {
            device,
            queue,
            info,
            caps,
            health,
            pipelines: Pipelines::default(),
            buffers_made: AtomicU64::new(0),
            attached: OnceLock::new(),
        };
        Gpu { shared: Arc::new(shared) }
    }

    /// The device. End the runs before you destroy it: wgpu frees mapped memory at once, while workers may be writing to it
    /// (gfx-rs/wgpu#10256).
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

    /// True if shaders run on the CPU (lavapipe, WARP, SwiftShader).
    pub fn is_software(&self) -> bool {
        self.shared.caps.software
    }

    /// True if shaders can read a mappable buffer in place: memory is unified, and this device has the feature.
    #[doc(hidden)]
    pub fn mappable(&self) -> bool {
        self.shared.caps.mappable
    }

    pub(crate) fn caps(&self) -> &Caps {
        &self.shared.caps
    }

    pub(super) fn pipelines(&self) -> &Pipelines {
        &self.shared.pipelines
    }

    pub(super) fn health(&self) -> &Health {
        &self.shared.health
    }

    /// Buffers that gpufeed has made on this device, the probes of 4 bytes aside that ask whether it is lost. The
    /// number stays as it is while a loader runs, unless more batches are held than before, runs are under way
    /// beside each other, or a [`Cache::Device`](crate::Cache::Device) fills.
    ///
    /// ```
    /// use gpufeed::{Backend, Gpu};
    ///
    /// if let Backend::Gpu(gpu) = Backend::auto()? {
    ///     assert_eq!(gpu.buffers_made(), 0);
    /// }
    /// # Ok::<(), gpufeed::Error>(())
    /// ```
    pub fn buffers_made(&self) -> u64 {
        self.shared.buffers_made.load(Ordering::Relaxed)
    }

    /// Every buffer of gpufeed's is made here, so that all are counted; the probes of 4 bytes in `errors.rs` aside.
    pub(super) fn buffer(&self, label: &str, size: u64, usage: wgpu::BufferUsages, mapped: bool) -> wgpu::Buffer {
        self.shared.buffers_made.fetch_add(1, Ordering::Relaxed);
        let label = Some(label);
        self.device().create_buffer(&wgpu::BufferDescriptor { label, size, usage, mapped_at_creation: mapped })
    }

    /// A storage buffer that can be copied from and to.
    pub(crate) fn storage(&self, label: &'static str, size: u64) -> Result<wgpu::Buffer> {
        use wgpu::BufferUsages as Usage;
        let usage = Usage::STORAGE | Usage::COPY_SRC | Usage::COPY_DST;
        self.create_checked(label, size, || self.buffer(label, size, usage, false))
    }
}

impl std::fmt::Display for Gpu {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&adapters::describe(&self.shared.info))
    }
}
