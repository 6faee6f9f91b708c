//! Describes the machine without wgpu: cores, memory, drivers' files, PCI devices, variables of the environment.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;
use sysinfo::{CpuRefreshKind, System};

#[derive(Debug, Serialize)]
pub(super) struct Machine {
    pub(super) os: String,
    pub(super) cpu: String,
    /// The cores that this process may use, which is the default number of workers.
    pub(super) cores: usize,
    pub(super) memory_bytes: u64,
    pub(super) memory_available_bytes: u64,
    /// The container's limit, if it is below the machine's memory.
    pub(super) memory_limit_bytes: Option<u64>,
    /// Displays and accelerators; empty except on Linux.
    pub(super) devices: Vec<Device>,
    /// The files that tell Vulkan's loader its drivers; empty except on Linux.
    pub(super) vulkan_drivers: Vec<PathBuf>,
    /// `/dev/dri/renderD*` and similar files, with the error of opening each; empty except on Linux.
    pub(super) render_nodes: Vec<RenderNode>,
}

/// A device on PCI.
#[derive(Debug, Serialize)]
pub(super) struct Device {
    pub(super) address: String,
    pub(super) vendor: u32,
    pub(super) device: u32,
    /// The kernel driver bound to it.
    pub(super) kernel_driver: Option<String>,
}

#[derive(Debug, Serialize)]
pub(super) struct RenderNode {
    pub(super) path: PathBuf,
    /// The system's error if it cannot be opened.
    pub(super) error: Option<String>,
}

/// A variable of the environment that is set and affects gpufeed.
#[derive(Debug, Serialize)]
pub(super) struct Variable {
    pub(super) name: &'static str,
    pub(super) value: String,
    pub(super) effect: &'static str,
}

pub(super) fn machine() -> Machine {
    let mut system = System::new();
    system.refresh_memory();
    system.refresh_cpu_list(CpuRefreshKind::nothing());
    let limit = system.cgroup_limits().map(|limits| limits.total_memory);
    Machine {
        os: System::long_os_version().unwrap_or_else(|| std::env::consts::OS.to_owned()),
        cpu: system.cpus().first().map_or_else(String::new, |cpu| cpu.brand().trim().to_owned()),
        cores: std::thread::available_parallelism().map_or(1, usize::from),
        memory_bytes: system.total_memory(),
        memory_available_bytes: system.available_memory(),
        memory_limit_bytes: limit.filter(|&limit| limit < system.total_memory()),
        devices: devices(Path::new("/sys/bus/pci/devices")),
        vulkan_drivers: ["/etc/vulkan/icd.d", "/usr/local/share/vulkan/icd.d", "/usr/share/vulkan/icd.d"]
            .iter()
            .flat_map(|folder| files(Path::new(folder)))
            .filter(|file| file.extension().is_some_and(|extension| extension == "json"))
            .collect(),
        render_nodes: render_nodes(),
    }
}

/// Lists a folder, sorted; nothing if it cannot be listed.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = fs::read_dir(folder).into_iter().flatten().flatten().map(|e| e.path()).collect();
    found.sort_unstable();
    found
}

/// Finds display controllers (class 03) and accelerators (class 12) in Linux's folder of PCI devices.
fn devices(folder: &Path) -> Vec<Device> {
    let number = |device: &Path, file: &str| {
        let text = fs::read_to_string(device.join(file)).ok()?;
        u32::from_str_radix(text.trim().trim_start_matches("0x"), 16).ok()
    };
    let device = |path: PathBuf| {
        // 24 bits: class, subclass, interface.
        let class = number(&path, "class")? >> 16;
        let driver = fs::read_link(path.join("driver")).ok();
        (class == 0x03 || class == 0x12).then(|| Device {
            address: path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            vendor: number(&path, "vendor").unwrap_or(0),
            device: number(&path, "device").unwrap_or(0),
            kernel_driver: driver.and_then(|link| Some(link.file_name()?.to_string_lossy().into_owned())),
        })
    };
    files(folder).into_iter().filter_map(device).collect()
}

fn render_nodes() -> Vec<RenderNode> {
    let is_node = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let nvidia = name.strip_prefix("nvidia").is_some_and(|rest| rest.parse::<u32>().is_ok());
        name.starts_with("renderD") || nvidia
    };
    let nodes = files(Path::new("/dev/dri")).into_iter().chain(files(Path::new("/dev")));
    let node = |path: PathBuf| {
        let opened = fs::OpenOptions::new().read(true).write(true).open(&path);
        RenderNode { path, error: opened.err().map(|error| error.to_string()) }
    };
    nodes.filter(is_node).map(node).collect()
}

/// The variables that gpufeed, wgpu 30 or a driver reads, and their effects.
const VARIABLES: [(&str, &str); 24] = [
    ("GPUFEED_ADAPTER", "chooses what backend auto takes: cpu, a number, or part of an adapter's name"),
    ("WGPU_BACKEND", "only adapters of these APIs are looked for"),
    ("WGPU_DEBUG", "debug information in shaders, validation: slower"),
    ("WGPU_VALIDATION", "the APIs' validation layers: slower if 1"),
    ("WGPU_GPU_BASED_VALIDATION", "validation on the GPU: much slower if 1"),
    ("WGPU_ALLOW_UNDERLYING_NONCOMPLIANT_ADAPTER", "adapters whose driver is not conformant are listed as well if 1"),
    ("WGPU_DX12_COMPILER", "which compiler of HLSL Direct3D 12 uses"),
    ("WGPU_GLES_MINOR_VERSION", "limits OpenGL ES; compute shaders need 3.1"),
    ("WGPU_ADAPTER_NAME", "no effect here; GPUFEED_ADAPTER chooses"),
    ("WGPU_POWER_PREF", "no effect here; GPUFEED_ADAPTER chooses"),
    ("CUDA_VISIBLE_DEVICES", "no effect here, for it hides devices from CUDA alone; GPUFEED_ADAPTER chooses"),
    ("NVIDIA_DRIVER_CAPABILITIES", "in a container Vulkan needs graphics among them, or all"),
    ("VK_DRIVER_FILES", "Vulkan's loader uses these drivers alone"),
    ("VK_ICD_FILENAMES", "Vulkan's loader uses these drivers alone (older name of VK_DRIVER_FILES)"),
    ("VK_ADD_DRIVER_FILES", "Vulkan's loader uses these drivers as well"),
    ("VK_LOADER_DRIVERS_SELECT", "Vulkan's loader uses the drivers of these names alone"),
    ("VK_LOADER_DRIVERS_DISABLE", "Vulkan's loader leaves out the drivers of these names"),
    ("VK_INSTANCE_LAYERS", "layers between wgpu and the driver; validation is slow"),
    (
        "NODEVICE_SELECT",
        "1 switches off Mesa's layer that sorts the devices; the command sets it without XDG_RUNTIME_DIR",
    ),
    ("MESA_VK_DEVICE_SELECT", "Mesa's layer puts this device first, or shows it alone if it ends in !"),
    ("DRI_PRIME", "which device Mesa's OpenGL takes, and Mesa's layer puts first"),
    ("LIBGL_ALWAYS_SOFTWARE", "Mesa's OpenGL runs on the CPU if 1"),
    ("GALLIUM_DRIVER", "which driver Mesa's OpenGL takes"),
    ("LP_NUM_THREADS", "threads of Mesa's software adapters"),
];

pub(super) fn environment() -> Vec<Variable> {
    let set = |(name, effect): (&'static str, &'static str)| {
        let value = std::env::var_os(name)?.to_string_lossy().into_owned();
        Some(Variable { name, value, effect })
    };
    VARIABLES.into_iter().filter_map(set).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_graphics_devices_among_others() {
        let root = tempfile::tempdir().unwrap();
        for (address, class, vendor) in [
            ("0000:00:1f.0", "0x060100", "0x8086"),
            ("0000:01:00.0", "0x030200", "0x10de"),
            ("0000:02:00.0", "0x120000", "0x1002"),
        ] {
            let folder = root.path().join(address);
            fs::create_dir(&folder).unwrap();
            for (file, text) in [("class", class), ("vendor", vendor), ("device", "0x2335\n")] {
                fs::write(folder.join(file), text).unwrap();
            }
        }
        let found = devices(root.path());
        let found: Vec<_> = found.iter().map(|d| (d.address.as_str(), d.vendor, d.device)).collect();
        assert_eq!(found, [("0000:01:00.0", 0x10de, 0x2335), ("0000:02:00.0", 0x1002, 0x2335)]);
        assert!(devices(&root.path().join("nowhere")).is_empty());
    }
}
