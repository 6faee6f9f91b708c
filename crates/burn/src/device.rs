//! Opens GPU devices that gpufeed and Burn share.

use burn::backend::wgpu::{RuntimeOptions, WgpuInitError, WgpuSetup, try_init_device};
use burn::tensor::Device;
use gpufeed::internals::attached;
use gpufeed::{Backend, ErrorKind, Gpu, Result, wgpu};

/// Opens a [`Backend`] whose device Burn shares.
pub trait BackendExt: Sized {
    /// Opens the backend that [`Backend::auto`] would choose, on a device that Burn shares: the best GPU, or else the
    /// CPU, with Burn's backend `flex`.
    ///
    /// The environment variable `GPUFEED_ADAPTER` chooses as it does for [`Backend::auto`]. Call this function once and
    /// clone its results, because every call opens another device.
    ///
    /// ```
    /// use gpufeed::Backend;
    /// use gpufeed_burn::BackendExt;
    ///
    /// let (backend, device) = Backend::for_burn()?;
    /// println!("gpufeed: {backend}, Burn: {device:?}");
    /// # Ok::<(), gpufeed::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Backend::auto`].
    fn for_burn() -> Result<(Self, Device)>;
}

impl BackendExt for Backend {
    fn for_burn() -> Result<(Backend, Device)> {
        match Backend::adapter()? {
            Some(adapter) => Gpu::for_burn(&adapter).map(|(gpu, device)| (Backend::Gpu(gpu), device)),
            None => Ok((Backend::Cpu, Device::flex())),
        }
    }
}

/// Opens or adopts a device that gpufeed and Burn share.
pub trait GpuExt: Sized {
    /// Opens a device on `adapter` with all features and limits that Burn's kernels may ask for, and registers it with
    /// Burn.
    ///
    /// Burn installs the device's device-lost callback and its handler of uncaptured errors. That handler panics.
    ///
    /// ```
    /// use gpufeed::{Backend, Gpu};
    /// use gpufeed_burn::GpuExt;
    ///
    /// // The first adapter, a software one too.
    /// if let Some(adapter) = Gpu::enumerate().first() {
    ///     let (gpu, device) = Gpu::for_burn(adapter)?;
    ///     println!("gpufeed: {}, Burn: {device:?}", Backend::Gpu(gpu));
    /// }
    /// # Ok::<(), gpufeed::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Device`] with the driver's or Burn's reason.
    fn for_burn(adapter: &wgpu::Adapter) -> Result<(Self, Device)>;

    /// Adopts a device that Burn has made, from the setup that `Device::wgpu_options().init_with_setup()` returns.
    ///
    /// ```no_run
    /// use burn::tensor::Device;
    /// use gpufeed::{Backend, Gpu};
    /// use gpufeed_burn::GpuExt;
    ///
    /// let (device, setup) = Device::wgpu_options().init_with_setup()?;
    /// let backend = Backend::Gpu(Gpu::from_burn(&device, setup));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn from_burn(device: &Device, setup: WgpuSetup) -> Self;
}

impl GpuExt for Gpu {
    fn for_burn(adapter: &wgpu::Adapter) -> Result<(Gpu, Device)> {
        // CubeCL chooses its WGSL kernels by the adapter's features and limits, not by the device's, so the device gets
        // all of them. CubeCL does not use mappable primary buffers, and its WGSL uses no experimental feature.
        let features =
            adapter.features() - wgpu::Features::MAPPABLE_PRIMARY_BUFFERS - wgpu::Features::all_experimental_mask();
        let descriptor = wgpu::DeviceDescriptor {
            label: Some("gpufeed"),
            required_features: features,
            required_limits: adapter.limits(),
            memory_hints: wgpu::MemoryHints::MemoryUsage, // Burn allocates in pages of its own
            ..wgpu::DeviceDescriptor::default()
        };
        let opened = pollster::block_on(adapter.request_device(&descriptor));
        let (device, queue) =
            opened.map_err(|error| ErrorKind::Device { stage: "opening the device", reason: error.to_string() })?;
        let setup = WgpuSetup {
            // Nothing uses this instance: CubeCL asks an instance only for adapters.
            instance: wgpu::Instance::new(wgpu::InstanceDescriptor {
                backends: wgpu::Backends::empty(),
                ..wgpu::InstanceDescriptor::new_without_display_handle()
            }),
            adapter: adapter.clone(),
            device: device.clone(),
            queue: queue.clone(),
            backend: adapter.get_info().backend,
        };
        // CubeCL reads the environment variable CUBECL_WGPU_MAX_TASKS in this call.
        let registering = |error: WgpuInitError| ErrorKind::Device {
            stage: "registering the device with Burn",
            reason: error.to_string(),
        };
        let options = RuntimeOptions::try_default().map_err(registering)?;
        let burn = try_init_device(setup, options).map_err(registering)?;
        let burn = Device::from(burn);
        Ok((with_burn(adapter, device, queue, &burn), burn))
    }

    fn from_burn(device: &Device, setup: WgpuSetup) -> Gpu {
        with_burn(&setup.adapter, setup.device, setup.queue, device)
    }
}

fn with_burn(adapter: &wgpu::Adapter, device: wgpu::Device, queue: wgpu::Queue, burn: &Device) -> Gpu {
    let gpu = Gpu::from_wgpu(adapter, device, queue);
    attached(&gpu).get_or_init(|| Box::new(burn.clone().without_autodiff()));
    gpu
}

/// Returns Burn's device that computes on `gpu`; `None` if Burn does not know this GPU device.
pub(crate) fn burn_device(gpu: &Gpu) -> Option<&Device> {
    attached(gpu).get()?.downcast_ref()
}
