//! Facts about the GPUs of the system that no driver is asked for: PCI devices, files in `/dev`, the container,
//! variables, and the files of `drivers.rs`. Empty except on Linux.

use super::drivers::{self, VulkanDriver, files};
use crate::gpu::adapters::variable;
use crate::gpu::identity::{AMD, NVIDIA};
use serde::Serialize;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// What the system says.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// Display controllers and accelerators on PCI.
    pub devices: Vec<PciDevice>,
    /// The files by which programs reach GPUs.
    pub nodes: Vec<Node>,
    /// The drivers that Vulkan's loader finds.
    pub(crate) drivers: Vec<VulkanDriver>,
    /// The kind of container that this process runs in.
    pub(crate) container: Option<Container>,
    /// Those that the system has of Vulkan's loader, what NVIDIA's driver loads, and the drivers' own.
    pub(crate) libraries: Vec<String>,
    /// The major version of NVIDIA's driver in the kernel.
    pub(crate) nvidia_version: Option<u32>,
    /// Those of [`VARIABLES`] that are set.
    pub(crate) variables: Vec<(&'static str, String)>,
}

/// A device on PCI.
#[derive(Clone, Debug, Serialize)]
pub struct PciDevice {
    /// Its address, `0000:65:00.0`.
    pub address: String,
    /// PCI's number of the vendor.
    pub vendor: u32,
    /// PCI's number of the device.
    pub device: u32,
    /// The kernel driver that is bound to it.
    pub kernel_driver: Option<String>,
}

/// A file of `/dev`: `nvidia0`, `kfd`, `dri/renderD128`, `dxg`.
#[derive(Clone, Debug, Serialize)]
pub struct Node {
    /// The path of the file.
    pub path: PathBuf,
    /// The system's error if it cannot be opened.
    pub error: Option<String>,
    /// PCI's number of the vendor, if it is known.
    pub vendor: Option<u32>,
    /// Who refused to open it, if it cannot be opened.
    #[serde(skip)]
    pub(crate) refused_by: Option<RefusedBy>,
}

/// Who refuses to open a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RefusedBy {
    /// The permissions of the file (`EACCES`).
    Permissions,
    /// A control group, as Slurm and containers give a job its devices alone (`EPERM`).
    ControlGroup,
    /// The driver of the device.
    Driver,
}

/// A kind of container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Container {
    /// Docker, Podman, or another one of that kind.
    Docker,
    /// A pod.
    Kubernetes,
    /// Apptainer or Singularity.
    Apptainer,
}

/// Vulkan's loader, and what NVIDIA's driver loads even without a screen, with the packages of Debian and Ubuntu.
pub(super) const LOADER: &str = "libvulkan.so.1";
pub(super) const OF_NVIDIA: [(&str, &str); 3] =
    [("libX11.so.6", "libx11-6"), ("libXext.so.6", "libxext6"), ("libEGL.so.1", "libegl1")];

/// The variables that the diagnosis reads.
const VARIABLES: [&str; 8] = [
    "NVIDIA_DRIVER_CAPABILITIES",
    "WGPU_BACKEND",
    "WGPU_ALLOW_UNDERLYING_NONCOMPLIANT_ADAPTER",
    "VK_DRIVER_FILES",
    "VK_ICD_FILENAMES",
    "VK_LOADER_DRIVERS_SELECT",
    "VK_LOADER_DRIVERS_DISABLE",
    "CUDA_VISIBLE_DEVICES",
];

impl Facts {
    /// Looks at this machine.
    pub fn read() -> Facts {
        if !cfg!(target_os = "linux") {
            return Facts::default();
        }
        let drivers = drivers::read();
        let named = drivers.iter().filter_map(|driver| driver.library.as_deref());
        let wanted = [LOADER].into_iter().chain(OF_NVIDIA.map(|(library, _)| library)).chain(named);
        let cache = fs::read("/etc/ld.so.cache").unwrap_or_default();
        Facts {
            devices: pci_devices(Path::new("/sys/bus/pci/devices")),
            nodes: nodes(),
            container: container(),
            libraries: wanted.filter(|library| drivers::has_library(library, &cache)).map(str::to_owned).collect(),
            nvidia_version: fs::read_to_string("/proc/driver/nvidia/version").ok().and_then(|text| major(&text)),
            variables: VARIABLES.into_iter().filter_map(|name| Some((name, variable(name)?))).collect(),
            drivers,
        }
    }

    /// The files that name drivers to Vulkan's loader.
    pub fn manifests(&self) -> Vec<PathBuf> {
        self.drivers.iter().map(|driver| driver.manifest.clone()).collect()
    }
}

fn hexadecimal(file: &Path) -> Option<u32> {
    let text = fs::read_to_string(file).ok()?;
    u32::from_str_radix(text.trim().trim_start_matches("0x"), 16).ok()
}

/// Finds display controllers (class 03) and accelerators (class 12) in Linux's folder of PCI devices.
fn pci_devices(folder: &Path) -> Vec<PciDevice> {
    let device = |path: PathBuf| {
        // 24 bits: class, subclass, interface.
        let class = hexadecimal(&path.join("class"))? >> 16;
        let driver = fs::read_link(path.join("driver")).ok();
        (class == 0x03 || class == 0x12).then(|| PciDevice {
            address: path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            vendor: hexadecimal(&path.join("vendor")).unwrap_or(0),
            device: hexadecimal(&path.join("device")).unwrap_or(0),
            kernel_driver: driver.and_then(|link| Some(link.file_name()?.to_string_lossy().into_owned())),
        })
    };
    files(folder).into_iter().filter_map(device).collect()
}

fn nodes() -> Vec<Node> {
    let node = |path: PathBuf| {
        let name = path.file_name()?.to_string_lossy().into_owned();
        let numbered = |before: &str| name.strip_prefix(before).is_some_and(|rest| rest.parse::<u32>().is_ok());
        let (vendor, opens) = match name.as_str() {
            "kfd" => (Some(AMD), false),
            "dxg" => (None, false),
            _ if numbered("nvidia") => (Some(NVIDIA), true),
            _ if numbered("renderD") => {
                (hexadecimal(&Path::new("/sys/class/drm").join(&name).join("device/vendor")), true)
            }
            _ => return None,
        };
        let error = refusal(&path, opens);
        let refused_by = error.as_ref().map(refused_by);
        Some(Node { path, error: error.map(|error| error.to_string()), vendor, refused_by })
    };
    files(Path::new("/dev/dri")).into_iter().chain(files(Path::new("/dev"))).filter_map(node).collect()
}

fn refused_by(error: &io::Error) -> RefusedBy {
    const EPERM: i32 = 1;
    match (error.kind(), error.raw_os_error()) {
        (io::ErrorKind::PermissionDenied, Some(EPERM)) => RefusedBy::ControlGroup,
        (io::ErrorKind::PermissionDenied, _) => RefusedBy::Permissions,
        _ => RefusedBy::Driver,
    }
}

/// The system's error of opening a device. Files whose opening has effects are asked for their permissions alone.
fn refusal(path: &Path, opens: bool) -> Option<io::Error> {
    if opens {
        return fs::OpenOptions::new().read(true).write(true).open(path).err();
    }
    #[cfg(unix)]
    {
        use rustix::fs::{Access, access};
        access(path, Access::READ_OK | Access::WRITE_OK).err().map(Into::into)
    }
    #[cfg(not(unix))]
    None
}

fn container() -> Option<Container> {
    let set = |name: &str| variable(name).is_some_and(|value| !value.is_empty());
    if set("APPTAINER_CONTAINER") || set("SINGULARITY_CONTAINER") {
        return Some(Container::Apptainer);
    }
    if set("KUBERNETES_SERVICE_HOST") {
        return Some(Container::Kubernetes);
    }
    let marked = ["/.dockerenv", "/run/.containerenv"].iter().any(|file| Path::new(file).exists());
    (marked || set("container")).then_some(Container::Docker)
}

/// The major version in `NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.14  ...`.
fn major(text: &str) -> Option<u32> {
    text.split_whitespace().find_map(|word| {
        let (major, rest) = word.split_once('.')?;
        major.parse().ok().filter(|_| rest.starts_with(|digit: char| digit.is_ascii_digit()))
    })
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
        let found = pci_devices(root.path());
        let found: Vec<_> = found.iter().map(|d| (d.address.as_str(), d.vendor, d.device)).collect();
        assert_eq!(found, [("0000:01:00.0", 0x10de, 0x2335), ("0000:02:00.0", 0x1002, 0x2335)]);
        assert!(pci_devices(&root.path().join("nowhere")).is_empty());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn who_refuses_a_file_is_told_by_the_error() {
        let by = [1, 13, 19].map(|number| refused_by(&io::Error::from_raw_os_error(number)));
        assert_eq!(by, [RefusedBy::ControlGroup, RefusedBy::Permissions, RefusedBy::Driver]);
    }

    #[test]
    fn the_version_of_nvidias_driver_is_read() {
        let text = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.14  Thu Feb 22 01:44:30 UTC 2024\n";
        assert_eq!(major(text), Some(550));
        let open = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.126.09  Release Build\n";
        assert_eq!(major(open), Some(580));
        assert_eq!(major("nothing. here"), None);
    }
}
