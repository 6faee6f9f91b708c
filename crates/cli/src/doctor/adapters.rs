//! Lists the adapters, and explains which one gpufeed takes on this machine.

use crate::error_text;
use gpufeed::internals::missing::Facts;
use gpufeed::internals::{Verdict, choose_among};
use gpufeed::wgpu::{self, Features, Limits};
use gpufeed::{Choice, Gpu, Identity, Rule};
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
    /// What the system says of its GPUs, for the problems.
    #[serde(skip)]
    pub(super) facts: Facts,
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
    /// `uuid`, `pci`, and other numbers that tell equal cards apart.
    #[serde(flatten)]
    pub(super) identity: Identity,
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
    /// The name of the rule that chose: `named`, `best`, `local_rank`, `cpu_named`, `hidden`, `no_hardware`; `None` if
    /// none did.
    pub(super) rule: Option<&'static str>,
    /// `shaders`, `CPU executor`, or `CPU executor, batches copied up`.
    pub(super) executor: Option<&'static str>,
    pub(super) upload: Option<&'static str>,
    /// The explanation, one sentence.
    pub(super) why: String,
}

/// The choice of `Backend::auto()`: the number of the adapter, how, and what became of each.
type Chosen = gpufeed::Result<(Option<usize>, Choice, Vec<Verdict>)>;

/// Lists the adapters and explains the choice. The problems are left empty.
pub(super) fn survey() -> Survey {
    let (computing, others) = Gpu::enumerate_all();
    let chosen = choose_among(&computing);
    let mut adapters: Vec<Adapter> = computing.iter().enumerate().map(|(n, a)| Adapter::of(a, Some(n))).collect();
    adapters.extend(others.iter().map(|adapter| Adapter::of(adapter, None)));
    for adapter in &mut adapters {
        adapter.why = reason(adapter, &chosen);
        adapter.taken = verdict(adapter, &chosen) == Some(Verdict::Taken) && adapter.opens;
    }
    let path = path(&chosen, &adapters);
    let facts = Facts::read();
    let machine = machine::machine(&facts);
    let backends = wgpu::Instance::enabled_backend_features();
    let backends = backends.iter_names().map(|(name, _)| name.to_lowercase()).collect();
    let environment = machine::environment();
    let (version, problems) = (env!("CARGO_PKG_VERSION"), Vec::new());
    Survey { version, machine, backends, environment, adapters, path, problems, facts }
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
            identity: Identity::of(adapter),
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
            "shaders store f16 and bf16 batches themselves, in integers; without it they store f32, which a pass packs",
        ),
        feature("SHADER_F16", Features::SHADER_F16, "nothing: f16 is rounded in integers, everywhere to the same bits"),
        feature("SUBGROUP", Features::SUBGROUP, "nothing yet: sums are made in workgroup memory"),
    ]
}

/// What became of an adapter in the choice; `None` if it cannot be used, or the choice failed.
fn verdict(adapter: &Adapter, chosen: &Chosen) -> Option<Verdict> {
    let (_, _, verdicts) = chosen.as_ref().ok()?;
    verdicts.get(adapter.number?).copied()
}

/// Explains why an adapter is taken or not, by the rules of `Backend::auto()`.
fn reason(adapter: &Adapter, chosen: &Chosen) -> String {
    if let Some(error) = &adapter.error {
        return format!("it gives no device: {error}");
    }
    if !adapter.compute_shaders {
        return "it cannot run compute shaders (OpenGL ES below 3.1, or the driver's limits)".to_owned();
    }
    let (Ok((_, choice, _)), Some(verdict)) = (chosen, verdict(adapter, chosen)) else {
        return "none is taken, as the choice fails".to_owned();
    };
    match (verdict, &choice.rule) {
        (Verdict::Taken, _) => choice.to_string(),
        (_, Rule::CpuNamed) => choice.to_string(),
        (_, Rule::Named { name, variable: Some(variable) }) => format!("{variable}={name} names another"),
        (Verdict::Software, _) => {
            "a software adapter: it runs shaders on the CPU, several times slower than the CPU executor".to_owned()
        }
        (Verdict::Hidden(variable), _) => {
            let value = choice.narrowed.iter().find(|narrowed| narrowed.variable == Some(variable));
            format!("{variable}={} hides it", value.map_or("", |narrowed| &narrowed.value))
        }
        (Verdict::Again(number), _) => format!("it is the card of number {number}, by another API or driver"),
        _ => "another comes before it".to_owned(),
    }
}

fn path(chosen: &Chosen, adapters: &[Adapter]) -> Path {
    let failed = |error: String| Path {
        backend: None,
        adapter: None,
        rule: None,
        executor: None,
        upload: None,
        why: format!("backend auto fails: {error}"),
    };
    let (number, choice) = match chosen {
        Ok((number, choice, _)) => (number, choice),
        Err(error) => return failed(error.to_string()), // it has its own advice; the adapters are listed above it
    };
    let Some(adapter) = number.map(|number| &adapters[number]) else {
        return Path {
            backend: Some("cpu".to_owned()),
            adapter: None,
            rule: Some(choice.rule.name()),
            executor: Some("CPU executor"),
            upload: None,
            why: format!("backend auto takes the CPU: {}", why_cpu(adapters, choice)),
        };
    };
    if let Some(error) = &adapter.error {
        return failed(format!("{}: {error}; GPUFEED_ADAPTER names another, or cpu", adapter.name));
    }
    // With a software adapter `Execute::Auto` leaves the work to the CPU executor.
    let (executor, upload) = if adapter.is_software() {
        ("CPU executor, batches copied up", Some("ring and copy"))
    } else {
        ("shaders", adapter.upload)
    };
    Path {
        backend: Some(adapter.backend.clone()),
        adapter: Some(adapter.name.clone()),
        rule: Some(choice.rule.name()),
        executor: Some(executor),
        upload,
        why: format!("backend auto takes {}: {choice}", adapter.name),
    }
}

/// Explains why `Backend::auto()` takes the CPU.
fn why_cpu(adapters: &[Adapter], choice: &Choice) -> String {
    if choice.rule != Rule::NoHardware {
        return choice.to_string();
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

    fn adapter(name: &str, number: Option<usize>) -> Adapter {
        Adapter {
            number,
            name: name.to_owned(),
            device_type: "Cpu".to_owned(),
            backend: "gl".to_owned(),
            driver: String::new(),
            vendor: 0,
            device: 0,
            identity: Identity::default(),
            compute_shaders: number.is_some(),
            opens: number.is_some(),
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
        let choice = Choice::from(Rule::NoHardware);
        assert_eq!(why_cpu(&[], &choice), "there is no adapter");
        let old = adapter("old", None);
        assert_eq!(why_cpu(&[old], &choice), "no adapter runs compute shaders (old)");
        let both = [adapter("llvmpipe", Some(0)), adapter("old", None)];
        assert!(why_cpu(&both, &choice).starts_with("the only adapters are software ones (llvmpipe), "));
        assert_eq!(why_cpu(&[], &Rule::CpuNamed.into()), "GPUFEED_ADAPTER=cpu asks for the CPU");
    }

    #[test]
    fn every_verdict_has_its_reason() {
        let all = [
            Verdict::Taken,
            Verdict::Later,
            Verdict::Software,
            Verdict::Again(0),
            Verdict::Hidden("HIP_VISIBLE_DEVICES"),
        ];
        let reasons = |rule: Rule| {
            let chosen = Ok((Some(0), rule.into(), all.to_vec()));
            (0..all.len()).map(|number| reason(&adapter("card", Some(number)), &chosen)).collect::<Vec<_>>()
        };
        let of_best = reasons(Rule::Best);
        for (reason, part) in of_best.iter().zip([
            "the first in this order",
            "another comes before it",
            "a software adapter",
            "the card of number 0",
            "HIP_VISIBLE_DEVICES= hides it",
        ]) {
            assert!(reason.contains(part), "{reason}");
        }
        let named = Rule::Named { name: "RTX".to_owned(), variable: Some("GPUFEED_ADAPTER") };
        assert_eq!(reasons(named)[..2], ["GPUFEED_ADAPTER=RTX names it", "GPUFEED_ADAPTER=RTX names another"]);
        assert!(reasons(Rule::CpuNamed).iter().all(|reason| reason == "GPUFEED_ADAPTER=cpu asks for the CPU"));
        let old = adapter("old", None);
        assert!(
            reason(&old, &Ok((None, Rule::NoHardware.into(), all.to_vec()))).contains("cannot run compute shaders")
        );
    }
}
