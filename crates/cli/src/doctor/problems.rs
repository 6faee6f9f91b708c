//! Reasons for which a GPU of this machine cannot be used, with advice.

use gpufeed::internals::missing::{self, Signs};

use super::adapters::Survey;

/// Finds GPUs that should be usable and are not.
pub(super) fn find(survey: &Survey) -> Vec<String> {
    let Survey { adapters, path, facts, .. } = survey;
    let mut problems = Vec::new();
    if path.backend.is_none() {
        problems.push(path.why.clone());
    }
    for adapter in adapters.iter().filter(|adapter| adapter.error.is_some()) {
        problems.push(format!("{} ({}): {}; update its driver", adapter.name, adapter.backend, adapter.why));
    }
    let hardware: Vec<u32> =
        adapters.iter().filter(|adapter| !adapter.is_software()).map(|adapter| adapter.vendor).collect();
    let missing = missing::find(facts, &hardware, Signs::NodesAndDevices);
    problems.extend(missing.iter().map(ToString::to_string));
    problems
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::adapters::Path;
    use crate::doctor::machine;
    use gpufeed::internals::missing::{Facts, PciDevice};

    fn survey(vendor: u32) -> Survey {
        let device = PciDevice { address: "0000:01:00.0".to_owned(), vendor, device: 0x2335, kernel_driver: None };
        let mut facts = Facts::default();
        facts.devices.push(device);
        Survey {
            version: "",
            machine: machine::machine(&facts),
            backends: Vec::new(),
            environment: Vec::new(),
            adapters: Vec::new(),
            path: Path {
                backend: Some("cpu".to_owned()),
                adapter: None,
                rule: Some("no_hardware"),
                executor: Some("CPU executor"),
                upload: None,
                why: String::new(),
            },
            problems: Vec::new(),
            facts,
        }
    }

    #[test]
    fn a_device_without_an_adapter_is_a_problem_with_its_remedy() {
        let found = find(&survey(0x10de));
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("NVIDIA's GPU (2335 at PCI 0000:01:00.0") && found[0].contains("nvidia-driver"));
        // The display controller of a server (PCI vendor 0x1a03) is not a problem.
        assert!(find(&survey(0x1a03)).is_empty());
    }

    #[test]
    fn a_choice_that_fails_is_a_problem() {
        let mut failed = survey(0x1a03);
        (failed.path.backend, failed.path.why) = (None, "backend auto fails: none matches".to_owned());
        assert_eq!(find(&failed), ["backend auto fails: none matches"]);
    }
}
