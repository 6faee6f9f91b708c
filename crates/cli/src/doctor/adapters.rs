//! Lists the adapters, and explains which one gpufeed takes on this machine.

use crate::error_text;
use gpufeed::wgpu::{self, Features, Limits};
use gpufeed::{ADAPTER_VARIABLE, Backend, Gpu};
use serde::Serialize;

use super::machine::{self, Machine, Variable};

/// The result without a data set: the JSON object.
#[derive(Debug, Serialize)]
pub(super) struct Survey {
    pub(super) version: &'static str,
    pub(super) machine: Machine,
    /// The APIs that this program was built with.
    pub(super) backends: Vec<String>,
    pub(super) environment: Vec<Variable>,
    pub(super) adapters: Vec<Adapter>,
    pub(super) path: Path,
    /// Reasons for which a GPU cannot be used, with advice. With a problem the exit code is 3.
    pub(super) problems: Vec<String>,
}

#[derive(Debug, Serialize)]
pub(super) struct Adapter {
    /// Its number for `GPUFEED_ADAPTER`; `None` if it cannot be used.
    pub(super) number: Option<usize>,
    pub(super) name: String,
    pub(super) device_type: String,
    pub(super) backend: String,
    pub(super) driver: String,
    /// PCI's number of the vendor; 0 if the API does not report it.
    pub(super) vendor: u32,
    /// PCI's number of the device; 0 if the API does not report it.
    pub(super) device: u32,
    pub(super) compute_shaders: bool,
    /// True if a device was opened.
    pub(super) opens: bool,
    /// The driver's reason if it was not.
    pub(super) error: Option<String>,
    /// `in place`: shaders read the mapped buffer; `ring and copy`: it is copied to the GPU first.
    pub(super) upload: Option<&'static str>,
    /// The memory of the adapter, in words; `None` if its API does not tell.
    pub(super) memory: Option<String>,
    pub(super) limits: Vec<Limit>,
    pub(super) features: Vec<Feature>,
    /// True if `Backend::auto()` takes it.
    pub(super) taken: bool,
    /// The reason for `taken`.
    pub(super) why: String,
}

#[derive(Debug, Serialize)]
pub(super) struct Limit {
    pub(super) name: &'static str,
    pub(super) value: u64,
    /// The value that gpufeed asks for: WebGPU's default.
    pub(super) needed: u64,
}

#[derive(Debug, Serialize)]
pub(super) struct Feature {
    pub(super) name: &'static str,
    pub(super) there: bool,
    /// Its use in gpufeed.
    pub(super) used_for: &'static str,
}

/// The result of `Backend::auto()`.
#[derive(Debug, Serialize)]
pub(super) struct Path {
    /// `cpu`, `vulkan`, `metal`, `dx12` or `gl`; `None` if it fails.
    pub(super) backend: Option<String>,
    pub(super) adapter: Option<String>,
    /// `shaders`, `CPU executor`, or `CPU executor, batches copied up`.
    pub(super) executor: Option<&'static str>,
    pub(super) upload: Option<&'static str>,
    /// The explanation, one sentence.
    pub(super) why: String,
}

/// Lists the adapters and explains the choice. The problems are left empty.
pub(super) fn survey() -> Survey {
    let (computing, others) = Gpu::enumerate_all();
    let auto = Backend::auto();
    let chosen = match &auto {
        Ok(Backend::Gpu(gpu)) => Some(gpu.info().clone()),
        _ => None,
    };
    let mut adapters: Vec<Adapter> = computing.iter().enumerate().map(|(n, a)| Adapter::of(a, Some(n))).collect();
    adapters.extend(others.iter().map(|adapter| Adapter::of(adapter, None)));
    let infos: Vec<_> = computing.iter().chain(&others).map(wgpu::Adapter::get_info).collect();
    let taken = chosen.as_ref().and_then(|chosen| infos.iter().position(|info| info == chosen));
    for (index, adapter) in adapters.iter_mut().enumerate() {
        adapter.taken = taken == Some(index);
        adapter.why = reason(adapter, taken.is_some());
    }
    let path = path(&auto, &adapters);
    let machine = machine::machine();
    let backends = wgpu::Instance::enabled_backend_features();
    let backends = backends.iter_names().map(|(name, _)| name.to_lowercase()).collect();
    let environment = machine::environment();
    Survey { version: env!("CARGO_PKG_VERSION"), machine, backends, environment, adapters, path, problems: Vec::new() }
}

impl Adapter {
    fn of(adapter: &wgpu::Adapter, number: Option<usize>) -> Adapter {
        let info = adapter.get_info();
        // A listed driver may still refuse to open a device.
        let opened = number.map(|_| Gpu::open(adapter));
        let gpu = opened.as_ref().and_then(|opened| opened.as_ref().ok());
        let (upload, memory) = (gpu.map(upload), gpu.and_then(Gpu::memory).map(|memory| memory.to_string()));
        Adapter {
            number,
            device_type: format!("{:?}", info.device_type),
            backend: info.backend.to_str().to_owned(),
            driver: format!("{} {}", info.driver, info.driver_info).trim().to_owned(),
            vendor: info.vendor,
            device: info.device,
            name: info.name,
            compute_shaders: number.is_some(),
            opens: matches!(opened, Some(Ok(_))),
            error: opened.and_then(Result::err).map(|error| error_text::describe(&error)),
            upload,
            memory,
            limits: limits(&adapter.limits()),
            features: features(adapter.features()),
            taken: false,
            why: String::new(),
        }
    }

    pub(super) fn is_software(&self) -> bool {
        self.device_type == "Cpu"
    }
}

fn upload(gpu: &Gpu) -> &'static str {
    if gpu.mappable() { "in place" } else { "ring and copy" }
}

/// Returns the limits that bound batches and slots, and those that shaders need.
fn limits(there: &Limits) -> Vec<Limit> {
    let needed = Limits::default();
    let limit = |name, value: fn(&Limits) -> u64| Limit { name, value: value(there), needed: value(&needed) };
    vec![
        limit("max_buffer_size", |limits| limits.max_buffer_size),
        limit("max_storage_buffer_binding_size", |limits| limits.max_storage_buffer_binding_size),
        limit("max_storage_buffers_per_shader_stage", |limits| limits.max_storage_buffers_per_shader_stage.into()),
        limit("max_compute_invocations_per_workgroup", |limits| limits.max_compute_invocations_per_workgroup.into()),
        limit("max_compute_workgroup_storage_size", |limits| limits.max_compute_workgroup_storage_size.into()),
        limit("max_compute_workgroups_per_dimension", |limits| limits.max_compute_workgroups_per_dimension.into()),
    ]
}

fn features(there: Features) -> Vec<Feature> {
    let feature = |name, feature, used_for| Feature { name, there: there.contains(feature), used_for };
    vec![
        feature(
            "MAPPABLE_PRIMARY_BUFFERS",
            Features::MAPPABLE_PRIMARY_BUFFERS,
            "on unified memory shaders read the pixels where the workers wrote them, without a copy",
        ),
        feature("TIMESTAMP_QUERY", Features::TIMESTAMP_QUERY, "GPU time of each pass; without it wall time"),
        feature(
            "SHADER_I16",
            Features::SHADER_I16,
            "shaders store f16 batches themselves, in integers of 16 bits; without it they store f32, which a pass packs",
        ),
        feature("SHADER_F16", Features::SHADER_F16, "nothing: f16 is rounded in integers, everywhere to the same bits"),
        feature("SUBGROUP", Features::SUBGROUP, "nothing yet: sums are made in workgroup memory"),
    ]
}

/// Explains why an adapter is taken or not, by the rules of `Backend::auto()`.
fn reason(adapter: &Adapter, another: bool) -> String {
    let named = named_adapter();
    if let Some(error) = &adapter.error {
        return format!("it gives no device: {error}");
    }
    match (adapter.taken, named) {
        _ if !adapter.compute_shaders => {
            "it cannot run compute shaders (OpenGL ES below 3.1, or the driver's limits)".to_owned()
        }
        (true, Some(name)) => format!("{ADAPTER_VARIABLE}={name} names it"),
        (true, None) => {
            "the first in this order: discrete, integrated, virtual; OpenGL after the better APIs".to_owned()
        }
        (false, Some(name)) => format!("{ADAPTER_VARIABLE}={name} takes another way"),
        (false, None) if adapter.is_software() => {
            "a software adapter: it runs shaders on the CPU, several times slower than the CPU executor".to_owned()
        }
        (false, None) if another => "another comes before it".to_owned(),
        (false, None) => "the one before it failed".to_owned(),
    }
}

/// Returns the value of `GPUFEED_ADAPTER` if it is not empty.
fn named_adapter() -> Option<String> {
    std::env::var(ADAPTER_VARIABLE).ok().filter(|name| !name.is_empty())
}

fn path(auto: &gpufeed::Result<Backend>, adapters: &[Adapter]) -> Path {
    let taken = adapters.iter().find(|adapter| adapter.taken);
    let why = match auto {
        Err(error) => format!("backend auto fails: {}", error_text::describe(error)),
        Ok(Backend::Gpu(gpu)) => {
            let because = taken.map_or_else(String::new, |adapter| format!(": {}", adapter.why));
            format!("backend auto takes {}{because}", gpu.info().name)
        }
        Ok(_) => format!("backend auto takes the CPU: {}", why_cpu(adapters, named_adapter())),
    };
    let (backend, executor, upload) = match auto {
        Err(_) => (None, None, None),
        // With a software adapter `Execute::Auto` leaves the work to the CPU executor.
        Ok(Backend::Gpu(gpu)) if gpu.is_software() => {
            (Some(gpu.info().backend.to_str()), Some("CPU executor, batches copied up"), Some("ring and copy"))
        }
        Ok(Backend::Gpu(gpu)) => (Some(gpu.info().backend.to_str()), Some("shaders"), Some(upload(gpu))),
        Ok(_) => (Some("cpu"), Some("CPU executor"), None),
    };
    let adapter = taken.map(|adapter| adapter.name.clone());
    Path { backend: backend.map(str::to_owned), adapter, executor, upload, why }
}

/// Explains why `Backend::auto()` takes the CPU.
fn why_cpu(adapters: &[Adapter], named: Option<String>) -> String {
    if let Some(name) = named {
        return format!("{ADAPTER_VARIABLE}={name} asks for it");
    }
    let names = |wanted: fn(&&Adapter) -> bool| {
        adapters.iter().filter(wanted).map(|adapter| adapter.name.as_str()).collect::<Vec<_>>().join("; ")
    };
    let software = names(|adapter| adapter.compute_shaders && adapter.is_software());
    let others = names(|adapter| !adapter.compute_shaders);
    match (software.as_str(), others.as_str()) {
        ("", "") => "there is no adapter".to_owned(),
        ("", others) => format!("no adapter runs compute shaders ({others})"),
        (software, _) => {
            format!(
                "the only adapters are software ones ({software}), and the CPU executor is several times faster than shaders on the CPU"
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn adapter(name: &str, compute_shaders: bool) -> Adapter {
        Adapter {
            number: compute_shaders.then_some(0),
            name: name.to_owned(),
            device_type: "Cpu".to_owned(),
            backend: "gl".to_owned(),
            driver: String::new(),
            vendor: 0,
            device: 0,
            compute_shaders,
            opens: compute_shaders,
            error: None,
            upload: None,
            memory: None,
            limits: Vec::new(),
            features: Vec::new(),
            taken: false,
            why: String::new(),
        }
    }

    #[test]
    fn the_cpu_is_taken_for_a_reason() {
        assert_eq!(why_cpu(&[], None), "there is no adapter");
        assert_eq!(why_cpu(&[], Some("cpu".to_owned())), "GPUFEED_ADAPTER=cpu asks for it");
        let old = adapter("old", false);
        assert_eq!(why_cpu(&[old], None), "no adapter runs compute shaders (old)");
        let both = [adapter("llvmpipe", true), adapter("old", false)];
        assert!(why_cpu(&both, None).starts_with("the only adapters are software ones (llvmpipe), "));
        assert!(reason(&both[1], false).contains("cannot run compute shaders"));
    }
}
