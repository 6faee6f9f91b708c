//! The causes for which a GPU has no adapter: each as data, and as a sentence with the command that mends it.
//!
//! The commands are those of the vendors' manuals, and of Debian and Ubuntu where a package is to be installed. None was
//! run on a machine with a GPU: no such machine has been at hand.

use super::facts::{Container, Node, RefusedBy};
use crate::quote::Shown;
use std::fmt;
use std::path::PathBuf;

/// Why a GPU has no adapter.
#[derive(Clone, Debug)]
pub(crate) enum Cause {
    /// The variable `WGPU_BACKEND` leaves Vulkan out.
    Backend(String),
    /// A variable of Vulkan's loader names other drivers, or leaves drivers out by their names.
    DriverVariable { name: &'static str, value: String },
    /// The container was started without the GPU.
    NotInContainer { container: Container, vendor: &'static str },
    /// No driver of the kernel's is bound to the device.
    NoKernelDriver { vendor: &'static str },
    /// The kernel's driver is there, but not the file in `/dev`.
    NoNode { vendor: &'static str },
    /// The container has NVIDIA's driver without its graphics.
    NoGraphicsCapability { container: Container, value: Option<String> },
    /// There is no Vulkan loader.
    NoLoader,
    /// There is no Vulkan driver for the vendor's cards.
    NoDriver { vendor: Option<&'static str>, container: Option<Container>, version: Option<u32> },
    /// The driver's manifest names a library that is not there, or none.
    NoDriverLibrary {
        manifest: PathBuf,
        library: Option<String>,
        of_nvidia: bool,
        container: Option<Container>,
        version: Option<u32>,
    },
    /// Libraries are missing that NVIDIA's driver loads, with their packages.
    NoLibraries { missing: Vec<(&'static str, &'static str)> },
    /// Files in `/dev` cannot be opened, all for one reason: at least one.
    NoAccess { nodes: Vec<Node>, container: Option<Container> },
    /// WSL, where no vendor has a Vulkan driver.
    Wsl,
    /// WSL with Mesa's driver, which is not conformant.
    Noncompliant,
    /// Nothing that is looked at is wrong.
    Unexplained { nvidia: bool },
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cause::Backend(value) => {
                write!(f, "WGPU_BACKEND={} leaves Vulkan out: `unset WGPU_BACKEND`", Shown(value))
            }
            Cause::DriverVariable { name, value } => {
                let what = if name.starts_with("VK_LOADER") {
                    "may leave the GPU's driver out"
                } else {
                    "names other drivers"
                };
                write!(f, "{name}={} {what}: `unset {name}`", Shown(value))
            }
            Cause::NotInContainer { container, vendor } => {
                write!(f, "this container was started without it: {}", with_gpu(*container, vendor))
            }
            Cause::NoKernelDriver { vendor: "NVIDIA" } => f.write_str(
                "no driver of the kernel's is bound to it: `apt-get install nvidia-driver` (Debian), \
                 `ubuntu-drivers install` (Ubuntu), and start the machine again",
            ),
            Cause::NoKernelDriver { vendor } => {
                let module = if *vendor == "AMD" { "amdgpu" } else { "i915" };
                write!(f, "no driver of the kernel's is bound to it: `modprobe {module}`")
            }
            Cause::NoNode { vendor: "NVIDIA" } => {
                f.write_str("there is no /dev/nvidia0: `nvidia-modprobe -u -c=0` makes the files of NVIDIA's driver")
            }
            Cause::NoNode { vendor } => {
                write!(f, "there is no file /dev/dri/renderD128 of {vendor}'s: `dmesg` says what its driver found")
            }
            Cause::NoGraphicsCapability { container, value } => {
                let given = match value {
                    Some(value) => format!("NVIDIA_DRIVER_CAPABILITIES={} leaves out graphics", Shown(value)),
                    None => "NVIDIA_DRIVER_CAPABILITIES is not set, which leaves out graphics".to_owned(),
                };
                write!(f, "{given}, and with it the Vulkan driver: {}", with_gpu(*container, "NVIDIA"))
            }
            Cause::NoLoader => f.write_str(
                "the Vulkan loader libvulkan.so.1 is not installed: `apt-get install libvulkan1` (Fedora: `dnf install \
                 vulkan-loader`)",
            ),
            Cause::NoDriver { vendor: Some("NVIDIA"), container: Some(Container::Apptainer), .. } => f.write_str(
                "the container has no nvidia_icd.json: `apptainer exec --nv -B /usr/share/vulkan/icd.d` (or -B \
                 /etc/vulkan/icd.d, where the host has it)",
            ),
            Cause::NoDriver { vendor: Some("NVIDIA"), container, version } => {
                write!(
                    f,
                    "there is no Vulkan driver of NVIDIA's (nvidia_icd.json), as on servers that have its compute part \
                     alone: `apt-get install {}`{}",
                    graphics_package(*version),
                    on_host(*container)
                )
            }
            Cause::NoDriver { vendor, .. } => {
                let whose = vendor.map_or_else(String::new, |vendor| format!(" for {vendor}'s GPUs"));
                write!(
                    f,
                    "there is no Vulkan driver{whose}: `apt-get install mesa-vulkan-drivers` (Fedora: `dnf install \
                     mesa-vulkan-drivers`)"
                )
            }
            Cause::NoDriverLibrary { manifest, library, of_nvidia, container, version } => {
                let (package, place) = if *of_nvidia {
                    (graphics_package(*version), on_host(*container))
                } else {
                    ("mesa-vulkan-drivers".to_owned(), "")
                };
                write!(f, "{} names ", Shown(manifest.display()))?;
                match library {
                    Some(library) => write!(f, "the library {}, which is not there", Shown(library))?,
                    None => f.write_str("no library, or cannot be read")?,
                }
                write!(f, ": `apt-get install --reinstall {package}`{place}")
            }
            Cause::NoLibraries { missing } => {
                let (libraries, packages): (Vec<_>, Vec<_>) = missing.iter().copied().unzip();
                write!(
                    f,
                    "NVIDIA's Vulkan driver loads {}, even without a screen: `apt-get install {}`",
                    libraries.join(", "),
                    packages.join(" ")
                )
            }
            Cause::NoAccess { nodes, container } => no_access(f, nodes, *container),
            Cause::Wsl => f.write_str(
                "in WSL no vendor has a Vulkan driver, and this Mesa has none by Direct3D 12 (dzn): run gpufeed on \
                 Windows, or install a Mesa with dzn, and `export WGPU_ALLOW_UNDERLYING_NONCOMPLIANT_ADAPTER=1`",
            ),
            Cause::Noncompliant => f.write_str(
                "Mesa's Vulkan driver for WSL (dzn) is not conformant, so it is left out: `export \
                 WGPU_ALLOW_UNDERLYING_NONCOMPLIANT_ADAPTER=1`",
            ),
            Cause::Unexplained { nvidia } => {
                f.write_str(
                    "its loader, driver and files look right: `vulkaninfo --summary` says what the driver answers",
                )?;
                if *nvidia {
                    f.write_str(
                        " (a GPU in MIG mode has no Vulkan; a library of another version than the kernel's driver gives \
                         none: `nvidia-smi` says so)",
                    )?;
                }
                Ok(())
            }
        }
    }
}

/// How a container is started with a vendor's GPUs.
fn with_gpu(container: Container, vendor: &str) -> String {
    let nvidia = vendor == "NVIDIA";
    match (container, nvidia) {
        (Container::Docker, true) => {
            "`docker run --runtime=nvidia --gpus all -e NVIDIA_DRIVER_CAPABILITIES=all`".to_owned()
        }
        (Container::Docker, false) => {
            let kfd = if vendor == "AMD" { "--device /dev/kfd " } else { "" };
            format!("`docker run {kfd}--device /dev/dri --group-add $(stat -c %g /dev/dri/renderD128)`")
        }
        (Container::Kubernetes, true) => {
            let gpu = "`resources: {limits: {nvidia.com/gpu: 1}}` of the container";
            format!("{gpu}, and `env: [{{name: NVIDIA_DRIVER_CAPABILITIES, value: all}}]`")
        }
        (Container::Kubernetes, false) => {
            let resource = if vendor == "AMD" { "amd.com/gpu" } else { "gpu.intel.com/i915" };
            format!("`resources: {{limits: {{{resource}: 1}}}}` of the container")
        }
        (Container::Apptainer, true) => "`apptainer exec --nv -B /usr/share/vulkan/icd.d`".to_owned(),
        (Container::Apptainer, false) => {
            let option = if vendor == "AMD" { "--rocm" } else { "-B /dev/dri" };
            format!("`apptainer exec {option}`, with Mesa's Vulkan drivers in the image")
        }
    }
}

/// Ubuntu's package with NVIDIA's Vulkan driver. Its number is the one that `nvidia-smi` shows.
fn graphics_package(version: Option<u32>) -> String {
    format!("libnvidia-gl-{}", version.map_or_else(|| "VERSION".to_owned(), |version| version.to_string()))
}

/// Where NVIDIA's driver is to be installed: a container has the host's.
fn on_host(container: Option<Container>) -> &'static str {
    if container.is_some() { " on the host, and start the container again" } else { "" }
}

fn no_access(f: &mut fmt::Formatter<'_>, nodes: &[Node], container: Option<Container>) -> fmt::Result {
    let paths: Vec<String> = nodes.iter().map(|node| node.path.display().to_string()).collect();
    let (first, error) = (&paths[0], nodes[0].error.as_deref().unwrap_or_default());
    write!(f, "{} cannot be opened ({}): ", Shown(paths.join(", ")), Shown(error))?;
    match (nodes[0].refused_by, container) {
        (None | Some(RefusedBy::Driver), _) => f.write_str("`dmesg` says what the kernel's driver found"),
        (_, Some(Container::Docker)) => {
            let devices: Vec<String> = paths.iter().map(|path| format!("--device {path}")).collect();
            write!(f, "`docker run {} --group-add $(stat -c %g {first})`", devices.join(" "))
        }
        (Some(RefusedBy::ControlGroup), Some(Container::Kubernetes)) => {
            f.write_str("the pod was not given it: `resources: {limits: ...}` of the container names GPUs")
        }
        (Some(RefusedBy::ControlGroup), _) => {
            f.write_str("a control group forbids it, as in a job of Slurm's without this GPU: `srun --gres=gpu:1`")
        }
        (Some(RefusedBy::Permissions), Some(Container::Kubernetes)) => {
            write!(
                f,
                "`securityContext: {{supplementalGroups: [N]}}` of the pod, N by `stat -c %g {first}` on the node"
            )
        }
        (Some(RefusedBy::Permissions), Some(Container::Apptainer)) => {
            f.write_str("`sudo usermod -aG render,video $USER` on the host, and log in again")
        }
        (Some(RefusedBy::Permissions), None) => f.write_str("`sudo usermod -aG render,video $USER`, and log in again"),
    }
}
