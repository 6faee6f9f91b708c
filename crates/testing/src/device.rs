//! The one place where tests open GPUs: with exactly WebGPU's default limits, which every WebGPU device has, so that no
//! test passes because this machine's adapter has more.

use gpufeed::{Gpu, wgpu};
use std::sync::LazyLock;

/// An adapter and its name for messages.
#[derive(Clone)]
pub struct Device {
    pub name: String,
    pub adapter: wgpu::Adapter,
}

static DEVICES: LazyLock<Vec<Device>> = LazyLock::new(|| {
    let devices: Vec<_> = Gpu::enumerate().into_iter().map(Device::of).collect();
    if devices.is_empty() {
        let required = std::env::var("GPUFEED_REQUIRE_GPU").is_ok_and(|value| value == "1");
        assert!(!required, "GPUFEED_REQUIRE_GPU=1, but there is no adapter");
        println!("skipped: no adapter");
    }
    devices
});

/// Returns the machine's adapters. Having none is an error only with `GPUFEED_REQUIRE_GPU=1`.
pub fn devices() -> &'static [Device] {
    &DEVICES
}

impl Device {
    pub fn of(adapter: wgpu::Adapter) -> Device {
        let info = adapter.get_info();
        Device { name: format!("{} ({:?}, {} {})", info.name, info.backend, info.driver, info.driver_info), adapter }
    }

    /// Returns those of the adapter's features that gpufeed asks for by itself.
    pub fn features(&self) -> wgpu::Features {
        self.adapter.features() & (wgpu::Features::MAPPABLE_PRIMARY_BUFFERS | wgpu::Features::TIMESTAMP_QUERY)
    }

    /// Opens the adapter with these features and WebGPU's default limits; a limit that the adapter does not reach is
    /// set to the adapter's own.
    pub fn open(&self, features: wgpu::Features) -> Gpu {
        let default = wgpu::Limits::default();
        let limits = default.clone().or_worse_values_from(&self.adapter.limits());
        if limits != default {
            println!("{} lacks WebGPU's default limits; tested with {limits:#?}", self.name);
        }
        let gpu = Gpu::open_with(&self.adapter, features, limits.clone());
        let gpu = gpu.unwrap_or_else(|error| panic!("{}: {error}", self.name));
        assert_eq!(gpu.device().limits(), limits, "{}: other limits than asked for", self.name);
        gpu
    }
}
