//! Devices: those that gpufeed opens, and those that the application provides.

use super::adapters;
use super::caps::Caps;
use super::choice::Choice;
use super::external::{self, Handover};
use super::identity::Identity;
use super::mock::Mock;
use super::pipelines::Pipelines;
use super::staging_memory::StagingMemory;
use super::vulkan::{self, DeviceMemory};
use super::watch::Health;
use crate::error::{ErrorKind, Result};
use parking_lot::Mutex;
use std::any::Any;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// A wgpu device on which gpufeed works; clones share it.
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
    identity: Identity,
    choice: OnceLock<Choice>,
    caps: Caps,
    health: Health,
    pipelines: Pipelines,
    buffers_made: AtomicU64,
    attached: OnceLock<Attached>,
    mock: Option<Arc<Mock>>,
    memory: Option<DeviceMemory>,
    /// How batches are handed over to another API, or why they are not.
    exports: std::result::Result<Handover, &'static str>,
    /// Held from when semaphores are bound to the next submission until it is made.
    submissions: Mutex<()>,
}

/// A value that another crate attaches to a [`Gpu`]: gpufeed-burn attaches the Burn device that computes on it.
pub type Attached = Box<dyn Any + Send + Sync>;

/// The attached value; all clones of a [`Gpu`] share it.
pub fn attached(gpu: &Gpu) -> &OnceLock<Attached> {
    &gpu.shared.attached
}

/// Why a device of the application does not export: another thread's submission could take the semaphores that gpufeed binds
/// to its own.
const ADOPTED: std::result::Result<Handover, &str> =
    Err("its device is the application's, and gpufeed exports from those that it opens");

/// A device with the faults of `mock`, for tests: one that gpufeed has opened, or one of the application (`adopted`).
pub fn mocked(
    adapter: &wgpu::Adapter,
    device: wgpu::Device,
    queue: wgpu::Queue,
    adopted: bool,
    mock: Arc<Mock>,
) -> Gpu {
    let (health, exports) = match adopted {
        true => (Health::adopted(), ADOPTED),
        false => (Health::watch(&device), external::handover(&device)),
    };
    Gpu::with(adapter, device, queue, health, exports, Some(mock))
}

impl Gpu {
    /// The machine's adapters that can run compute shaders, best first: name, type, API, driver, and the PCI address where
    /// the driver says it.
    pub fn adapters() -> Vec<String> {
        Gpu::enumerate().iter().map(Gpu::describe).collect()
    }

    /// The text of an adapter in [`adapters`](Self::adapters).
    pub(crate) fn describe(adapter: &wgpu::Adapter) -> String {
        adapters::describe_card(&adapter.get_info(), &Identity::of(adapter))
    }

    /// The adapters in the order of [`adapters`](Self::adapters), for [`open`](Self::open) and
    /// [`open_with`](Self::open_with).
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

    /// The adapters of [`enumerate`](Self::enumerate), and the adapters that cannot run compute shaders; for `gpufeed
    /// doctor`.
    #[doc(hidden)]
    pub fn enumerate_all() -> (Vec<wgpu::Adapter>, Vec<wgpu::Adapter>) {
        adapters::enumerate_all()
    }

    /// Opens a device on `adapter` with WebGPU's default limits, except that buffers and bindings may be as large as
    /// the adapter allows. Enables mappable storage buffers if memory is unified, and timestamps and numbers of 16 bits
    /// in shaders if the adapter has them; and, if the driver can keep compiled shaders (Vulkan), a file of them in the
    /// user's folder of caches: `~/.cache/gpufeed/pipelines` on Linux, which `XDG_CACHE_HOME` moves. A device of
    /// [`open_with`](Self::open_with) has that file with [`wgpu::Features::PIPELINE_CACHE`].
    ///
    /// gpufeed installs the device's lost callback and its handler of uncaptured errors: instead of a panic, either
    /// becomes an [`ErrorKind::Device`] in place of the next batch.
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
        let wanted = wgpu::Features::MAPPABLE_PRIMARY_BUFFERS
            | wgpu::Features::TIMESTAMP_QUERY
            | wgpu::Features::SHADER_I16
            | wgpu::Features::PIPELINE_CACHE;
        Gpu::open_with(adapter, adapter.features() & wanted, limits)
    }

    /// As [`open`](Self::open), for an adapter that was chosen by a rule.
    pub(crate) fn open_chosen(adapter: &wgpu::Adapter, choice: Choice) -> Result<Gpu> {
        let gpu = Gpu::open(adapter)?;
        gpu.shared.choice.get_or_init(|| choice);
        Ok(gpu)
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
        let opened = external::open(adapter, &descriptor);
        let opened = opened.unwrap_or_else(|| pollster::block_on(adapter.request_device(&descriptor)));
        let (device, queue) =
            opened.map_err(|error| ErrorKind::Device { stage: "opening the device", reason: error.to_string() })?;
        let (health, exports) = (Health::watch(&device), external::handover(&device));
        Ok(Gpu::with(adapter, device, queue, health, exports, None))
    }

    /// Adopts a device of the application, so that the application's passes and gpufeed's share buffers and a queue.
    ///
    /// The device's lost callback and its handler of uncaptured errors stay the application's.
    pub fn from_wgpu(adapter: &wgpu::Adapter, device: wgpu::Device, queue: wgpu::Queue) -> Gpu {
        Gpu::with(adapter, device, queue, Health::adopted(), ADOPTED, None)
    }

    fn with(
        adapter: &wgpu::Adapter,
        device: wgpu::Device,
        queue: wgpu::Queue,
        health: Health,
        exports: std::result::Result<Handover, &'static str>,
        mock: Option<Arc<Mock>>,
    ) -> Gpu {
        let mut info = adapter.get_info();
        if let Some(change) = mock.as_ref().and_then(|mock| mock.info) {
            change(&mut info);
        }
        let memory = vulkan::device_memory(adapter);
        let caps = Caps::new(&info, device.features(), &device.limits(), memory.as_ref());
        let pipelines = Pipelines::new(&device, &info, &caps);
        let shared = Shared {
            device,
            queue,
            info,
            identity: Identity::of(adapter),
            choice: OnceLock::new(),
            caps,
            health,
            pipelines,
            buffers_made: AtomicU64::new(0),
            attached: OnceLock::new(),
            mock,
            memory,
            exports,
            submissions: Mutex::new(()),
        };
        Gpu { shared: Arc::new(shared) }
    }

    /// The device. End all runs before you destroy it: wgpu frees mapped memory at once, while workers may be writing
    /// to it (gfx-rs/wgpu#10256).
    pub fn device(&self) -> &wgpu::Device {
        &self.shared.device
    }

    /// The queue. gpufeed submits to it, so work that you submit after a batch has arrived runs after the batch's work.
    pub fn queue(&self) -> &wgpu::Queue {
        &self.shared.queue
    }

    /// Name, backend and driver.
    pub fn info(&self) -> &wgpu::AdapterInfo {
        &self.shared.info
    }

    /// What tells this card from others of its name: UUID, PCI address.
    ///
    /// ```
    /// use gpufeed::{Backend, Gpu};
    ///
    /// if let Backend::Gpu(gpu) = Backend::auto()? {
    ///     println!("{gpu}: UUID {:?}", gpu.identity().uuid);
    /// }
    /// # Ok::<(), gpufeed::Error>(())
    /// ```
    pub fn identity(&self) -> &Identity {
        &self.shared.identity
    }

    /// How the adapter was chosen, if a [`Backend`](crate::Backend) has chosen it; `None` for an adapter of the program's
    /// own.
    ///
    /// ```
    /// use gpufeed::{Backend, Gpu};
    ///
    /// if let Backend::Gpu(gpu) = Backend::auto()? {
    ///     println!("{gpu}: {}", gpu.choice().expect("auto chooses by a rule"));
    /// }
    /// # Ok::<(), gpufeed::Error>(())
    /// ```
    pub fn choice(&self) -> Option<&Choice> {
        self.shared.choice.get()
    }

    /// True if shaders run on the CPU (lavapipe, WARP, SwiftShader).
    pub fn is_software(&self) -> bool {
        self.shared.caps.software
    }

    /// True if shaders read staging slots in place.
    #[doc(hidden)]
    pub fn mappable(&self) -> bool {
        self.shared.caps.staging == StagingMemory::InPlace
    }

    /// The sizes of the adapter's memory; `None` where its API does not tell them.
    #[doc(hidden)]
    pub fn memory(&self) -> Option<DeviceMemory> {
        self.shared.memory
    }

    pub(crate) fn caps(&self) -> &Caps {
        &self.shared.caps
    }

    /// For choices that are set by hand, as long as there is no clone.
    pub(super) fn caps_mut(&mut self) -> Option<&mut Caps> {
        Arc::get_mut(&mut self.shared).map(|shared| &mut shared.caps)
    }

    /// How batches are handed over to another API, or why they are not.
    pub(super) fn exports(&self) -> std::result::Result<Handover, &'static str> {
        self.shared.exports
    }

    pub(super) fn submissions(&self) -> &Mutex<()> {
        &self.shared.submissions
    }

    pub(super) fn pipelines(&self) -> &Pipelines {
        &self.shared.pipelines
    }

    pub(super) fn mock(&self) -> Option<&Arc<Mock>> {
        self.shared.mock.as_ref()
    }

    pub(super) fn health(&self) -> &Health {
        &self.shared.health
    }

    /// The number of buffers that gpufeed has made on this device, except the probes of 4 bytes that test whether it is
    /// lost. It stays the same while a loader runs, unless the caller holds more batches than before, several runs are
    /// under way at once, or a [`Cache::Device`](crate::Cache::Device) fills.
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

    pub(super) fn count_buffer(&self) {
        self.shared.buffers_made.fetch_add(1, Ordering::Relaxed);
        if let Some(mock) = self.mock() {
            mock.count_buffer();
        }
    }

    /// Makes a buffer, and counts it. All buffers of gpufeed are made here, except the probes of 4 bytes in
    /// `errors.rs`, and what `host_staging_buffer` and `exported.rs` make.
    pub(super) fn buffer(&self, label: &str, size: u64, usage: wgpu::BufferUsages, mapped: bool) -> wgpu::Buffer {
        self.count_buffer();
        let label = Some(label);
        self.device().create_buffer(&wgpu::BufferDescriptor { label, size, usage, mapped_at_creation: mapped })
    }

    /// Makes a staging buffer in the host's memory, and counts it; `None` on a device of another API than Vulkan, or
    /// without memory.
    pub(super) fn host_staging_buffer(&self, label: &str, size: u64) -> Option<wgpu::Buffer> {
        self.count_buffer();
        vulkan::host_staging_buffer(self.device(), label, size)
    }

    /// A storage buffer that copies can read and write.
    pub(crate) fn storage(&self, label: &'static str, size: u64) -> Result<wgpu::Buffer> {
        use wgpu::BufferUsages as Usage;
        let usage = Usage::STORAGE | Usage::COPY_SRC | Usage::COPY_DST;
        self.create_checked(label, size, || self.buffer(label, size, usage, false))
    }
}

impl std::fmt::Display for Gpu {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&adapters::describe_card(&self.shared.info, &self.shared.identity))
    }
}
