//! Why a GPU of this machine has no adapter: a diagnosis from [`Facts`], each cause with what mends it.
//!
//! `facts.rs` and `drivers.rs` look at the machine, `cause.rs` has the causes and their sentences. This file tells which
//! hold: it reads nothing but the facts, so that tables test it. The sentences name files, packages and variables, which
//! are the same in Rust, the command and Python.

mod cause;
mod drivers;
mod facts;

pub use facts::{Facts, Node, PciDevice};

use super::identity::{AMD, NVIDIA};
use cause::Cause;
use drivers::VulkanDriver;
use facts::{Container, LOADER, OF_NVIDIA};
use std::fmt;

const INTEL: u32 = 0x8086;
/// Vendors of screens without a GPU behind them: servers' and virtual machines'.
const SCREENS: [u32; 8] = [0x1a03, 0x102b, 0x1af4, 0x15ad, 0x1b36, 0x1234, 0x1414, 0x80ee];

/// What counts as a sign of a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signs {
    /// The files in `/dev` that programs open: a GPU that this process was given.
    Nodes,
    /// These files, and devices on PCI that have none.
    NodesAndDevices,
}

/// A GPU without an adapter, and why.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The GPU, by its vendor and its files or address.
    gpu: String,
    /// The likely causes: at least one.
    causes: Vec<Cause>,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} has no adapter: ", self.gpu)?;
        for (number, cause) in self.causes.iter().enumerate() {
            write!(f, "{}{cause}", if number == 0 { "" } else { "; " })?;
        }
        Ok(())
    }
}

/// Says which GPUs that this process was given none of `adapters` drives, and why; `None` if there is no such GPU.
pub fn warning(adapters: &[wgpu::Adapter]) -> Option<String> {
    let infos: Vec<_> = adapters.iter().map(wgpu::Adapter::get_info).collect();
    let hardware: Vec<u32> =
        infos.iter().filter(|info| info.device_type != wgpu::DeviceType::Cpu).map(|info| info.vendor).collect();
    let found = find(&Facts::read(), &hardware, Signs::Nodes);
    let all: Vec<String> = found.iter().map(Finding::to_string).collect();
    (!all.is_empty()).then(|| all.join(". "))
}

/// Finds the GPUs that have no adapter. `hardware` are the vendors of the adapters that are not in software.
pub fn find(facts: &Facts, hardware: &[u32], signs: Signs) -> Vec<Finding> {
    let vendors = [(NVIDIA, "NVIDIA"), (AMD, "AMD"), (INTEL, "Intel")];
    let known = vendors.into_iter().filter(|(vendor, _)| !hardware.contains(vendor));
    let mut found: Vec<Finding> = known.filter_map(|vendor| of_vendor(facts, vendor, signs)).collect();
    // What is not known to be another card may be one of these.
    if hardware.is_empty() && found.is_empty() {
        found.extend(of_others(facts, &vendors.map(|(vendor, _)| vendor)));
    }
    found
}

/// The GPUs of a vendor whose drivers are known.
fn of_vendor(facts: &Facts, (vendor, name): (u32, &'static str), signs: Signs) -> Option<Finding> {
    let nodes: Vec<&Node> = facts.nodes.iter().filter(|node| node.vendor == Some(vendor)).collect();
    let devices: Vec<&PciDevice> = match signs {
        Signs::Nodes => Vec::new(),
        Signs::NodesAndDevices => {
            // With this driver the device belongs to a virtual machine.
            let given_away = |device: &PciDevice| device.kernel_driver.as_deref() == Some("vfio-pci");
            facts.devices.iter().filter(|device| device.vendor == vendor && !given_away(device)).collect()
        }
    };
    // Who hides all cards from CUDA wants no word about them.
    let unwanted = vendor == NVIDIA && signs == Signs::Nodes && facts.hides_cuda();
    if unwanted || (nodes.is_empty() && devices.is_empty()) {
        return None;
    }
    let mut signs: Vec<String> = devices.iter().map(|device| described(device)).collect();
    signs.extend(nodes.iter().map(|node| node.path.display().to_string()));
    let gpu = format!("{name}'s GPU ({})", signs.join(", "));
    if nodes.is_empty() {
        // No file leads to the device: whatever else is missing, this comes first.
        let unbound = devices.iter().all(|device| device.kernel_driver.is_none());
        let cause = match facts.container {
            Some(container) => Cause::NotInContainer { container, vendor: name },
            None if unbound => Cause::NoKernelDriver { vendor: name },
            None => Cause::NoNode { vendor: name },
        };
        return Some(Finding { gpu, causes: vec![cause] });
    }
    Some(Finding { gpu, causes: causes(facts, &nodes, Some((vendor, name))) })
}

/// GPUs of other vendors, of WSL, and those whose vendor is not known.
fn of_others(facts: &Facts, known: &[u32]) -> Option<Finding> {
    let is_other =
        |node: &&Node| node.vendor.is_none_or(|vendor| !known.contains(&vendor) && !SCREENS.contains(&vendor));
    let nodes: Vec<&Node> = facts.nodes.iter().filter(is_other).collect();
    let paths: Vec<String> = nodes.iter().map(|node| node.path.display().to_string()).collect();
    (!nodes.is_empty())
        .then(|| Finding { gpu: format!("A GPU ({})", paths.join(", ")), causes: causes(facts, &nodes, None) })
}

fn described(device: &PciDevice) -> String {
    let driver = device.kernel_driver.as_deref().unwrap_or("none");
    format!("{:04x} at PCI {}, kernel driver {driver}", device.device, device.address)
}

/// Why the GPU behind these files has no adapter. `vendor` is one whose drivers are known.
fn causes(facts: &Facts, nodes: &[&Node], vendor: Option<(u32, &'static str)>) -> Vec<Cause> {
    let mut causes = Vec::new();
    if let Some(value) = facts.set_variable("WGPU_BACKEND").filter(|value| leaves_vulkan_out(value)) {
        causes.push(Cause::Backend(value.to_owned()));
    }
    let wsl = nodes.iter().any(|node| node.path.ends_with("dxg"));
    let mine = |driver: &&VulkanDriver| driver.is_for(vendor.map(|(vendor, _)| vendor), wsl);
    let drivers: Vec<&VulkanDriver> = facts.drivers.iter().filter(mine).collect();
    let complete = drivers.iter().any(|driver| facts.has(driver));
    let chosen = ["VK_DRIVER_FILES", "VK_ICD_FILENAMES"].into_iter().find(|name| facts.variable(name).is_some());
    let filters = ["VK_LOADER_DRIVERS_SELECT", "VK_LOADER_DRIVERS_DISABLE"];
    let variables = chosen.filter(|_| drivers.is_empty()).into_iter().chain(filters);
    let set = |name| facts.variable(name).map(|value| Cause::DriverVariable { name, value: value.to_owned() });
    causes.extend(variables.filter_map(set));
    if !facts.libraries.iter().any(|library| library == LOADER) {
        causes.push(Cause::NoLoader);
    }
    let container = facts.container;
    let name = vendor.map(|(_, name)| name);
    let is_nvidia = name == Some("NVIDIA");
    if !complete
        && is_nvidia
        && let Some(container) = facts.lacks_graphics()
    {
        let value = facts.variable("NVIDIA_DRIVER_CAPABILITIES").map(str::to_owned);
        causes.push(Cause::NoGraphicsCapability { container, value });
    } else if drivers.is_empty() && wsl {
        causes.push(Cause::Wsl);
    } else if drivers.is_empty() && chosen.is_none() {
        causes.push(Cause::NoDriver { vendor: name, container, version: facts.nvidia_version });
    } else if !complete && let Some(driver) = drivers.first() {
        let (manifest, library) = (driver.manifest.clone(), driver.library.clone());
        let (of_nvidia, version) = (driver.is_of_nvidia(), facts.nvidia_version);
        causes.push(Cause::NoDriverLibrary { manifest, library, of_nvidia, container, version });
    } else if wsl && facts.variable("WGPU_ALLOW_UNDERLYING_NONCOMPLIANT_ADAPTER").is_none_or(|value| value == "0") {
        causes.push(Cause::Noncompliant);
    }
    if is_nvidia && drivers.iter().any(|driver| driver.is_of_nvidia()) {
        let lacking =
            OF_NVIDIA.into_iter().filter(|(library, _)| !facts.libraries.iter().any(|there| there == library));
        let missing: Vec<_> = lacking.collect();
        if !missing.is_empty() {
            causes.push(Cause::NoLibraries { missing });
        }
    }
    // One sentence for all files with one error: a machine has eight cards, or more.
    let mut refused: Vec<Vec<Node>> = Vec::new();
    for node in nodes.iter().filter(|node| node.error.is_some()) {
        match refused.iter_mut().find(|alike| alike[0].error == node.error) {
            Some(alike) => alike.push((*node).clone()),
            None => refused.push(vec![(*node).clone()]),
        }
    }
    causes.extend(refused.into_iter().map(|nodes| Cause::NoAccess { nodes, container }));
    if causes.is_empty() {
        causes.push(Cause::Unexplained { nvidia: is_nvidia });
    }
    causes
}

/// True for a list of wgpu's backends without Vulkan. An empty one has none at all.
fn leaves_vulkan_out(value: &str) -> bool {
    !value.to_lowercase().split(',').any(|name| matches!(name.trim(), "vulkan" | "vk"))
}

impl Facts {
    /// The value of a variable; `None` for an empty one.
    fn variable(&self, name: &str) -> Option<&str> {
        self.set_variable(name).filter(|value| !value.is_empty())
    }

    fn set_variable(&self, name: &str) -> Option<&str> {
        self.variables.iter().find(|(set, _)| *set == name).map(|(_, value)| value.as_str())
    }

    fn hides_cuda(&self) -> bool {
        let first = |value: &str| value.split(',').next().unwrap_or_default().trim().to_owned();
        self.set_variable("CUDA_VISIBLE_DEVICES")
            .is_some_and(|value| matches!(&*first(value), "" | "-1" | "NoDevFiles"))
    }

    /// The container that was started without NVIDIA's graphics.
    fn lacks_graphics(&self) -> Option<Container> {
        // Apptainer mounts what its own list names, whatever the variable says.
        let container = self.container.filter(|container| *container != Container::Apptainer)?;
        // The container toolkit's default is "utility,compute".
        let given = self.variable("NVIDIA_DRIVER_CAPABILITIES").unwrap_or_default();
        let has = given.split(',').map(str::trim).any(|name| name == "graphics" || name == "all");
        (!has).then_some(container)
    }

    /// True if the system has the driver's library.
    fn has(&self, driver: &VulkanDriver) -> bool {
        driver.library.as_ref().is_some_and(|library| self.libraries.contains(library))
    }
}

impl VulkanDriver {
    /// True for a driver of this vendor's cards; without a vendor for any card's, and in WSL for Mesa's dozen alone.
    fn is_for(&self, vendor: Option<u32>, wsl: bool) -> bool {
        match vendor {
            Some(NVIDIA) => self.is_called(&["nvidia", "nouveau"]),
            Some(AMD) => self.is_called(&["radeon", "amd"]),
            Some(INTEL) => self.is_called(&["intel"]),
            _ if wsl => self.is_called(&["dzn"]),
            _ => !self.is_called(&["lvp", "lavapipe", "swiftshader"]),
        }
    }

    /// True for NVIDIA's own driver; Mesa's for the same cards is nouveau.
    fn is_of_nvidia(&self) -> bool {
        self.is_called(&["nvidia"])
    }

    /// True if one of these words is in the name of the manifest or of the library.
    fn is_called(&self, words: &[&str]) -> bool {
        let name = self.manifest.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        let text = format!("{name} {}", self.library.as_deref().unwrap_or_default().to_lowercase());
        words.iter().any(|word| text.contains(word))
    }
}

#[cfg(test)]
mod tests;
