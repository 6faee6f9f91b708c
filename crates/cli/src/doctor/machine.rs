//! Describes the machine without wgpu: cores, memory, drivers' files, PCI devices, variables of the environment.

use std::path::PathBuf;

use gpufeed::internals::missing::{Facts, Node, PciDevice};
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
    pub(super) devices: Vec<PciDevice>,
    /// The files that tell Vulkan's loader its drivers; empty except on Linux.
    pub(super) vulkan_drivers: Vec<PathBuf>,
    /// `/dev/dri/renderD*` and similar files, with the error of opening each; empty except on Linux.
    pub(super) render_nodes: Vec<Node>,
}

/// A variable of the environment that is set and affects gpufeed.
#[derive(Debug, Serialize)]
pub(super) struct Variable {
    pub(super) name: &'static str,
    pub(super) value: String,
    pub(super) effect: &'static str,
}

pub(super) fn machine(facts: &Facts) -> Machine {
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
        devices: facts.devices.clone(),
        vulkan_drivers: facts.manifests(),
        render_nodes: facts.nodes.clone(),
    }
}

/// The variables that gpufeed, wgpu 30 or a driver reads, and their effects.
const VARIABLES: [(&str, &str); 31] = [
    ("GPUFEED_ADAPTER", "chooses what backend auto takes: cpu, a number, a UUID, a PCI address, or part of a name"),
    ("LOCAL_RANK", "backend auto takes the card of this rank among equal ones"),
    ("OMPI_COMM_WORLD_LOCAL_RANK", "as LOCAL_RANK, where that is not set"),
    ("MPI_LOCALRANKID", "as LOCAL_RANK, where neither of these is set"),
    ("SLURM_LOCALID", "as LOCAL_RANK, where none of these is set, in a step of srun"),
    ("WGPU_BACKEND", "only adapters of these APIs are looked for"),
    ("WGPU_DEBUG", "debug information in shaders, validation: slower"),
    ("WGPU_VALIDATION", "the APIs' validation layers: slower if 1"),
    ("WGPU_GPU_BASED_VALIDATION", "validation on the GPU: much slower if 1"),
    ("WGPU_ALLOW_UNDERLYING_NONCOMPLIANT_ADAPTER", "adapters whose driver is not conformant are listed as well if 1"),
    ("WGPU_DX12_COMPILER", "which compiler of HLSL Direct3D 12 uses"),
    ("WGPU_GLES_MINOR_VERSION", "limits OpenGL ES; compute shaders need 3.1"),
    ("WGPU_ADAPTER_NAME", "no effect here; GPUFEED_ADAPTER chooses"),
    ("WGPU_POWER_PREF", "no effect here; GPUFEED_ADAPTER chooses"),
    ("CUDA_VISIBLE_DEVICES", "backend auto leaves out the cards of NVIDIA's that it hides, and counts the others anew"),
    ("CUDA_DEVICE_ORDER", "PCI_BUS_ID makes CUDA's numbers of unequal cards those that gpufeed counts by"),
    ("ROCR_VISIBLE_DEVICES", "backend auto leaves out the cards of AMD's that it hides, and counts the others anew"),
    ("HIP_VISIBLE_DEVICES", "as ROCR_VISIBLE_DEVICES, among those that this one leaves"),
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
