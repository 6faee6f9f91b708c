//! Reasons for which a GPU of this machine cannot be used, with advice.

use gpufeed::ADAPTER_VARIABLE;

use super::adapters::Survey;

/// Finds GPUs that should be usable and are not.
pub(super) fn find(survey: &Survey) -> Vec<String> {
    let Survey { machine, adapters, path, .. } = survey;
    let mut problems = Vec::new();
    if path.backend.is_none() {
        problems.push(format!("{}; choose an adapter of the list, or unset {ADAPTER_VARIABLE}", path.why));
    }
    for adapter in adapters.iter().filter(|adapter| adapter.error.is_some()) {
        problems.push(format!("{} ({}): {}; update its driver", adapter.name, adapter.backend, adapter.why));
    }
    let hardware = |vendor: u32| adapters.iter().any(|adapter| adapter.vendor == vendor && !adapter.is_software());
    for device in machine.devices.iter().filter(|device| !hardware(device.vendor)) {
        let Some((vendor, advice)) = advice(device.vendor) else { continue };
        let bound = match &device.kernel_driver {
            Some(driver) => format!("the kernel's driver {driver} is bound to it"),
            None => "no driver of the kernel's is bound to it".to_owned(),
        };
        problems.push(format!(
            "{vendor}'s device {:04x} at {} has no adapter ({bound}): {advice}",
            device.device, device.address
        ));
    }
    if !problems.is_empty() {
        for node in &machine.render_nodes {
            if let Some(error) = &node.error {
                let node = node.path.display();
                problems.push(format!(
                    "{node}: {error}; add the user to the groups render and video, or give the container the device"
                ));
            }
        }
    }
    problems
}

/// Returns the vendor of a PCI number, and advice for its devices on Linux. Other vendors' devices are mostly the
/// screens of servers and virtual machines.
fn advice(vendor: u32) -> Option<(&'static str, &'static str)> {
    match vendor {
        0x10de => Some((
            "NVIDIA",
            "install NVIDIA's driver with its Vulkan part (nvidia_icd.json) and the loader (libvulkan1); in a container set NVIDIA_DRIVER_CAPABILITIES=all, for the default leaves graphics out",
        )),
        0x1002 => Some(("AMD", "install Mesa's Vulkan drivers (mesa-vulkan-drivers) and the loader (libvulkan1)")),
        0x8086 => Some(("Intel", "install Mesa's Vulkan drivers (mesa-vulkan-drivers) and the loader (libvulkan1)")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::adapters::Path;
    use crate::doctor::machine::{Device, Machine, RenderNode};

    fn machine(vendor: u32) -> Machine {
        Machine {
            os: String::new(),
            cpu: String::new(),
            cores: 1,
            memory_bytes: 0,
            memory_available_bytes: 0,
            memory_limit_bytes: None,
            devices: vec![Device { address: "0000:01:00.0".to_owned(), vendor, device: 0x2335, kernel_driver: None }],
            vulkan_drivers: Vec::new(),
            render_nodes: vec![RenderNode {
                path: "/dev/dri/renderD128".into(),
                error: Some("Permission denied".to_owned()),
            }],
        }
    }

    fn cpu() -> Path {
        Path {
            backend: Some("cpu".to_owned()),
            adapter: None,
            executor: Some("CPU executor"),
            upload: None,
            why: String::new(),
        }
    }

    fn survey(vendor: u32) -> Survey {
        Survey {
            version: "",
            machine: machine(vendor),
            backends: Vec::new(),
            environment: Vec::new(),
            adapters: Vec::new(),
            path: cpu(),
            problems: Vec::new(),
        }
    }

    #[test]
    fn a_device_without_an_adapter_is_a_problem_with_its_remedy() {
        let found = find(&survey(0x10de));
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].contains("NVIDIA's device 2335 at 0000:01:00.0") && found[0].contains("nvidia_icd.json"));
        assert!(found[1].contains("renderD128: Permission denied") && found[1].contains("render"));
        // The display controller of a server (PCI vendor 0x1a03) is not a problem.
        assert!(find(&survey(0x1a03)).is_empty());
    }
}
