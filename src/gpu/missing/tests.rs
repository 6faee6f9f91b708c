//! Tables of machines, and the causes that are found there.

use super::facts::RefusedBy;
use super::*;

/// A machine on which all that NVIDIA's, AMD's and Intel's drivers need is there, but the files of `/dev`.
fn complete() -> Facts {
    let driver = |manifest: &str, library: &str| VulkanDriver {
        manifest: format!("/usr/share/vulkan/icd.d/{manifest}").into(),
        library: Some(library.to_owned()),
    };
    let drivers = vec![
        driver("nvidia_icd.json", "libGLX_nvidia.so.0"),
        driver("radeon_icd.x86_64.json", "/usr/lib/x86_64-linux-gnu/libvulkan_radeon.so"),
        driver("intel_icd.x86_64.json", "/usr/lib/x86_64-linux-gnu/libvulkan_intel.so"),
        driver("lvp_icd.x86_64.json", "/usr/lib/x86_64-linux-gnu/libvulkan_lvp.so"),
    ];
    let mut libraries: Vec<String> = drivers.iter().filter_map(|driver| driver.library.clone()).collect();
    libraries.extend([LOADER, "libX11.so.6", "libXext.so.6", "libEGL.so.1"].map(str::to_owned));
    Facts { drivers, libraries, nvidia_version: Some(550), ..Facts::default() }
}

fn node(path: &str, vendor: Option<u32>) -> Node {
    Node { path: path.into(), error: None, vendor, refused_by: None }
}

fn nvidia() -> Facts {
    Facts { nodes: vec![node("/dev/nvidia0", Some(NVIDIA))], ..complete() }
}

fn amd() -> Facts {
    let nodes = vec![node("/dev/dri/renderD128", Some(AMD)), node("/dev/kfd", Some(AMD))];
    Facts { nodes, ..complete() }
}

fn without(facts: Facts, library: &str) -> Facts {
    let libraries = facts.libraries.into_iter().filter(|there| !there.contains(library)).collect();
    Facts { libraries, ..facts }
}

fn without_driver(facts: Facts, name: &str) -> Facts {
    let named = |driver: &VulkanDriver| driver.manifest.to_string_lossy().contains(name);
    let drivers = facts.drivers.into_iter().filter(|driver| !named(driver)).collect();
    Facts { drivers, ..facts }
}

fn with(facts: Facts, name: &'static str, value: &str) -> Facts {
    let mut facts = facts;
    facts.variables.push((name, value.to_owned()));
    facts
}

fn inside(container: Container, facts: Facts) -> Facts {
    Facts { container: Some(container), ..facts }
}

fn said(facts: &Facts) -> Vec<String> {
    find(facts, &[], Signs::Nodes).iter().map(Finding::to_string).collect()
}

/// The texts of the causes, of which there has to be as many.
fn expect(facts: &Facts, parts: &[&str]) {
    let found = find(facts, &[], Signs::Nodes);
    assert_eq!(found.len(), 1, "{found:?}");
    let causes: Vec<String> = found[0].causes.iter().map(Cause::to_string).collect();
    assert_eq!(causes.len(), parts.len(), "{causes:?}");
    for (cause, part) in causes.iter().zip(parts) {
        assert!(cause.contains(part), "{cause:?} has no {part:?}");
        assert!(cause.contains('`'), "{cause:?} has no command");
    }
}

#[test]
fn a_machine_without_a_gpu_has_no_finding() {
    assert!(said(&Facts::default()).is_empty());
    assert!(said(&complete()).is_empty());
    // Screens of servers and virtual machines are no GPUs.
    for vendor in SCREENS {
        let facts = Facts { nodes: vec![node("/dev/dri/renderD128", Some(vendor))], ..complete() };
        assert!(said(&facts).is_empty(), "{vendor:04x}");
    }
    // A PCI device is a sign for `doctor` alone.
    let device = PciDevice { address: "0000:01:00.0".into(), vendor: NVIDIA, device: 0x2335, kernel_driver: None };
    let facts = Facts { devices: vec![device], ..complete() };
    assert!(said(&facts).is_empty());
    assert_eq!(find(&facts, &[], Signs::NodesAndDevices).len(), 1);
    assert!(find(&facts, &[NVIDIA], Signs::NodesAndDevices).is_empty());
}

#[test]
fn an_adapter_of_the_vendor_ends_the_search() {
    let both = Facts { nodes: [nvidia().nodes, amd().nodes].concat(), ..complete() };
    assert_eq!(find(&both, &[], Signs::Nodes).len(), 2);
    let left = find(&both, &[AMD], Signs::Nodes);
    assert_eq!(left.len(), 1);
    assert!(left[0].gpu.starts_with("NVIDIA's GPU (/dev/nvidia0)"), "{}", left[0].gpu);
    assert!(find(&both, &[AMD, NVIDIA], Signs::Nodes).is_empty());
    // A file whose vendor is not known is presumably that GPU's.
    let nodes = [nvidia().nodes, vec![node("/dev/dri/renderD128", None)]].concat();
    assert_eq!(find(&Facts { nodes, ..complete() }, &[], Signs::Nodes).len(), 1);
    // A card of a vendor whose drivers are not known has its adapter, presumably, if there is any.
    let other = Facts { nodes: vec![node("/dev/dri/renderD128", None)], ..complete() };
    assert_eq!(find(&other, &[], Signs::Nodes).len(), 1);
    assert!(find(&other, &[0x13b5], Signs::Nodes).is_empty());
}

#[test]
fn containers_without_graphics_are_told_the_flag() {
    let bare = without_driver(nvidia(), "nvidia");
    let flag = "docker run --runtime=nvidia --gpus all -e NVIDIA_DRIVER_CAPABILITIES=all";
    let docker = inside(Container::Docker, bare.clone());
    expect(&with(docker.clone(), "NVIDIA_DRIVER_CAPABILITIES", "compute,utility"), &[flag]);
    expect(&docker, &["NVIDIA_DRIVER_CAPABILITIES is not set"]);
    // An image may have the manifest of its own; the library comes with the capability.
    let own_manifest = without(inside(Container::Docker, nvidia()), "libGLX_nvidia");
    expect(&own_manifest, &[flag]);
    let pod = with(inside(Container::Kubernetes, bare.clone()), "NVIDIA_DRIVER_CAPABILITIES", "utility");
    expect(&pod, &["nvidia.com/gpu: 1"]);
    // With the capability, the host lacks the driver.
    for capabilities in ["all", "compute, graphics"] {
        let host = with(docker.clone(), "NVIDIA_DRIVER_CAPABILITIES", capabilities);
        expect(&host, &["apt-get install libnvidia-gl-550` on the host"]);
        let host = with(own_manifest.clone(), "NVIDIA_DRIVER_CAPABILITIES", capabilities);
        expect(&host, &["apt-get install --reinstall libnvidia-gl-550` on the host"]);
    }
    let apptainer = "the container has no nvidia_icd.json: `apptainer exec --nv -B /usr/share/vulkan/icd.d`";
    expect(&inside(Container::Apptainer, bare), &[apptainer]);
    // All is there, whatever the variable says.
    expect(&inside(Container::Docker, nvidia()), &["vulkaninfo --summary"]);
}

#[test]
fn what_a_driver_lacks_is_named_with_its_package() {
    expect(&without(nvidia(), LOADER), &["apt-get install libvulkan1"]);
    expect(&without_driver(nvidia(), "nvidia"), &["apt-get install libnvidia-gl-550`"]);
    let unknown = Facts { nvidia_version: None, ..without_driver(nvidia(), "nvidia") };
    expect(&unknown, &["apt-get install libnvidia-gl-VERSION`"]);
    expect(
        &without(nvidia(), "libGLX_nvidia"),
        &["nvidia_icd.json names the library libGLX_nvidia.so.0, which is not there"],
    );
    let mut damaged = nvidia();
    damaged.drivers[0].library = None;
    expect(
        &damaged,
        &["nvidia_icd.json names no library, or cannot be read: `apt-get install --reinstall libnvidia-gl-550`"],
    );
    let headless = without(without(nvidia(), "libX11"), "libEGL");
    expect(&headless, &["loads libX11.so.6, libEGL.so.1, even without a screen: `apt-get install libx11-6 libegl1`"]);
    expect(&without_driver(amd(), "radeon"), &["for AMD's GPUs: `apt-get install mesa-vulkan-drivers`"]);
    expect(&without(amd(), "radeon"), &["apt-get install --reinstall mesa-vulkan-drivers"]);
    // AMD's cards need none of what NVIDIA's driver loads.
    expect(&without(amd(), "libX11"), &["vulkaninfo --summary"]);
    let intel = Facts { nodes: vec![node("/dev/dri/renderD128", Some(INTEL))], ..complete() };
    expect(&without_driver(intel, "intel"), &["for Intel's GPUs: `apt-get install mesa-vulkan-drivers`"]);
    let mali = Facts { nodes: vec![node("/dev/dri/renderD128", None)], ..Facts::default() };
    expect(&mali, &["libvulkan.so.1", "there is no Vulkan driver: `apt-get install mesa-vulkan-drivers`"]);
    // lavapipe drives no card.
    let software = Facts { nodes: mali.nodes, drivers: complete().drivers[3..].to_vec(), ..complete() };
    expect(&software, &["there is no Vulkan driver: `apt-get install mesa-vulkan-drivers`"]);
    // nouveau is Mesa's, and loads none of what NVIDIA's driver does.
    let mut nouveau = without(nvidia(), "libX11");
    nouveau.drivers[0] =
        VulkanDriver { manifest: "nouveau_icd.json".into(), library: Some("libvulkan_nouveau.so".into()) };
    expect(&nouveau, &["not there: `apt-get install --reinstall mesa-vulkan-drivers`"]);
    nouveau.libraries.push("libvulkan_nouveau.so".to_owned());
    expect(&nouveau, &["vulkaninfo --summary"]);
    // Several causes hold at once.
    let nothing = Facts { nodes: nvidia().nodes, ..Facts::default() };
    expect(&nothing, &["libvulkan.so.1", "nvidia_icd.json"]);
}

#[test]
fn a_file_that_cannot_be_opened_is_named_with_the_group() {
    let refused = |facts: Facts, nodes: usize, by: RefusedBy| {
        let mut facts = facts;
        for node in &mut facts.nodes[..nodes] {
            node.error = Some(format!("refused by {by:?}"));
            node.refused_by = Some(by);
        }
        facts
    };
    let denied = refused(amd(), 1, RefusedBy::Permissions);
    expect(
        &denied,
        &["/dev/dri/renderD128 cannot be opened (refused by Permissions): `sudo usermod -aG render,video $USER`"],
    );
    let docker = "docker run --device /dev/dri/renderD128 --group-add $(stat -c %g /dev/dri/renderD128)";
    expect(&inside(Container::Docker, denied.clone()), &[docker]);
    expect(&inside(Container::Kubernetes, denied.clone()), &["supplementalGroups"]);
    expect(&inside(Container::Apptainer, denied), &["$USER` on the host"]);
    expect(&refused(amd(), 1, RefusedBy::Driver), &["dmesg"]);
    // Files with one error are one cause, and no group helps where a control group forbids them.
    let forbidden = refused(amd(), 2, RefusedBy::ControlGroup);
    expect(
        &forbidden,
        &["/dev/dri/renderD128, /dev/kfd cannot be opened (refused by ControlGroup): a control group forbids it"],
    );
    expect(
        &inside(Container::Docker, forbidden.clone()),
        &["docker run --device /dev/dri/renderD128 --device /dev/kfd --group-add"],
    );
    expect(&inside(Container::Kubernetes, forbidden), &["resources: {limits: ...}"]);
    let [first, second] = [RefusedBy::Permissions, RefusedBy::Driver].map(|by| refused(amd(), 2, by).nodes);
    let unlike = Facts { nodes: vec![first[0].clone(), second[1].clone()], ..amd() };
    expect(&unlike, &["usermod", "/dev/kfd cannot be opened (refused by Driver): `dmesg`"]);
}

#[test]
fn variables_that_choose_other_drivers_are_named() {
    expect(&with(nvidia(), "WGPU_BACKEND", "gl"), &["WGPU_BACKEND=gl leaves Vulkan out: `unset WGPU_BACKEND`"]);
    // wgpu takes an empty list for no API at all.
    expect(&with(nvidia(), "WGPU_BACKEND", ""), &["WGPU_BACKEND= leaves Vulkan out"]);
    for with_vulkan in ["vulkan", "gl,Vulkan", "gl, vk"] {
        expect(&with(nvidia(), "WGPU_BACKEND", with_vulkan), &["vulkaninfo"]);
    }
    let software = without_driver(without_driver(without_driver(nvidia(), "nvidia"), "radeon"), "intel");
    for name in ["VK_DRIVER_FILES", "VK_ICD_FILENAMES"] {
        let chosen = with(software.clone(), name, "/usr/share/vulkan/icd.d/lvp_icd.x86_64.json");
        expect(&chosen, &[&format!("`unset {name}`")]);
        // It is no cause where the vendor's driver is among those that it names.
        expect(&with(nvidia(), name, "/etc/nvidia_icd.json"), &["vulkaninfo"]);
    }
    expect(&with(nvidia(), "VK_LOADER_DRIVERS_DISABLE", "*nvidia*"), &["`unset VK_LOADER_DRIVERS_DISABLE`"]);
    // An empty variable says nothing, and the one that counts is named.
    let empty = with(with(software, "VK_DRIVER_FILES", ""), "VK_LOADER_DRIVERS_SELECT", "");
    expect(&empty, &["nvidia_icd.json"]);
    expect(&with(empty, "VK_ICD_FILENAMES", "/etc/lvp.json"), &["VK_ICD_FILENAMES=/etc/lvp.json names other drivers"]);
}

#[test]
fn who_hides_all_cards_from_cuda_is_not_told_of_them() {
    for value in ["", "-1", "NoDevFiles"] {
        let facts = with(without(nvidia(), LOADER), "CUDA_VISIBLE_DEVICES", value);
        assert!(said(&facts).is_empty(), "{value}");
        assert_eq!(find(&facts, &[], Signs::NodesAndDevices).len(), 1);
    }
    expect(&with(without(nvidia(), LOADER), "CUDA_VISIBLE_DEVICES", "0"), &["libvulkan.so.1"]);
}

#[test]
fn wsl_has_no_vendors_driver() {
    let wsl = Facts { nodes: vec![node("/dev/dxg", None)], ..complete() };
    expect(&wsl, &["in WSL no vendor has a Vulkan driver"]);
    let mut with_dozen = wsl;
    with_dozen.drivers.push(VulkanDriver { manifest: "dzn_icd.json".into(), library: Some("libvulkan_dzn.so".into()) });
    with_dozen.libraries.push("libvulkan_dzn.so".to_owned());
    let allow = "WGPU_ALLOW_UNDERLYING_NONCOMPLIANT_ADAPTER";
    expect(&with_dozen, &[&format!("{allow}=1")]);
    expect(&with(with_dozen.clone(), allow, "0"), &[&format!("{allow}=1")]);
    expect(&with(with_dozen, allow, "1"), &["vulkaninfo --summary"]);
}

#[test]
fn devices_without_a_file_are_explained_by_what_comes_first() {
    let device = |vendor: u32, driver: Option<&str>| PciDevice {
        address: "0000:01:00.0".into(),
        vendor,
        device: 0x2335,
        kernel_driver: driver.map(str::to_owned),
    };
    let of = |device: PciDevice, container: Option<Container>| {
        let facts = Facts { devices: vec![device], container, ..complete() };
        let found = find(&facts, &[], Signs::NodesAndDevices);
        assert_eq!(found.len(), 1, "{found:?}");
        found[0].to_string()
    };
    let whose = "NVIDIA's GPU (2335 at PCI 0000:01:00.0, kernel driver none) has no adapter: ";
    let found = of(device(NVIDIA, None), None);
    assert!(found.starts_with(whose) && found.contains("apt-get install nvidia-driver"), "{found}");
    for (device, container, part) in [
        (device(NVIDIA, Some("nvidia")), None, "nvidia-modprobe"),
        (device(AMD, None), None, "modprobe amdgpu"),
        (device(INTEL, Some("i915")), None, "dmesg"),
        (device(NVIDIA, Some("nvidia")), Some(Container::Docker), "docker run --runtime=nvidia --gpus all"),
        (device(AMD, Some("amdgpu")), Some(Container::Docker), "--device /dev/kfd --device /dev/dri"),
        (device(AMD, Some("amdgpu")), Some(Container::Kubernetes), "amd.com/gpu: 1"),
        (device(AMD, Some("amdgpu")), Some(Container::Apptainer), "apptainer exec --rocm"),
        (device(INTEL, Some("i915")), Some(Container::Docker), "docker run --device /dev/dri"),
    ] {
        let found = of(device, container);
        assert!(found.contains(part), "{found}");
    }
    // A virtual machine has it.
    let facts = Facts { devices: vec![device(NVIDIA, Some("vfio-pci"))], ..complete() };
    assert!(find(&facts, &[], Signs::NodesAndDevices).is_empty());
    // With the file, the cause is looked for behind it.
    let facts = Facts { devices: vec![device(NVIDIA, Some("nvidia"))], ..without(nvidia(), LOADER) };
    let found = find(&facts, &[], Signs::NodesAndDevices)[0].to_string();
    let whose = "NVIDIA's GPU (2335 at PCI 0000:01:00.0, kernel driver nvidia, /dev/nvidia0) has no adapter: ";
    assert!(found.starts_with(whose) && found.contains("libvulkan1"), "{found}");
}

/// The machine of the tests: what is read has to be what is there.
#[test]
fn the_facts_of_this_machine_agree_with_its_files() {
    let facts = Facts::read();
    for node in &facts.nodes {
        assert!(node.path.exists(), "{node:?}");
    }
    for driver in &facts.drivers {
        assert!(driver.manifest.extension().is_some_and(|extension| extension == "json"), "{driver:?}");
    }
}
