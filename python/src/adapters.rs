//! The adapters of this machine, for `gpufeed/adapter.py`.

use gpufeed::internals::missing;
use gpufeed::wgpu::{self, DeviceType};
use gpufeed::{Gpu, Identity};
use pyo3::prelude::*;

/// The fields of `gpufeed.Adapter`, in their order.
type Row = (usize, String, &'static str, String, String, Option<String>, Option<String>, Option<String>);

/// Returns the adapters, the best first.
#[pyfunction]
pub(crate) fn adapters(py: Python<'_>) -> Vec<Row> {
    py.detach(|| Gpu::enumerate().iter().enumerate().map(row).collect())
}

fn row((number, adapter): (usize, &wgpu::Adapter)) -> Row {
    let (info, identity) = (adapter.get_info(), Identity::of(adapter));
    let kind = match info.device_type {
        DeviceType::DiscreteGpu => "discrete",
        DeviceType::IntegratedGpu => "integrated",
        DeviceType::VirtualGpu => "virtual",
        DeviceType::Cpu => "software",
        DeviceType::Other => "other",
    };
    let driver = format!("{} {}", info.driver, info.driver_info).trim().to_owned();
    let api = info.backend.to_str().to_owned();
    (number, info.name, kind, api, driver, identity.uuid, identity.pci, identity.rocm)
}

/// Says which GPUs of this machine have no adapter, and why; None if there is no such GPU.
#[pyfunction]
pub(crate) fn missing_gpus(py: Python<'_>) -> Option<String> {
    py.detach(|| missing::warning(&Gpu::enumerate()))
}
