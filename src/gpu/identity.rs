//! What tells a card from others of its name, as the driver says it: UUID, PCI address, and their like on other systems.
//!
//! wgpu has no UUIDs, so this file asks the driver's own API for them, through `as_hal`.
//! Only Vulkan's part has run; Metal's and Direct3D's have not, as no machine with either has been at hand.

use serde::Serialize;

/// PCI's numbers of two vendors.
pub(crate) const NVIDIA: u32 = 0x10de;
pub(crate) const AMD: u32 = 0x1002;

/// What tells a card from others of its name. Which of these an adapter has depends on its API and driver.
///
/// ```
/// use gpufeed::{Gpu, Identity};
///
/// for adapter in Gpu::enumerate() {
///     let identity = Identity::of(&adapter);
///     println!("{}: PCI {:?}, UUID {:?}", adapter.get_info().name, identity.pci, identity.uuid);
/// }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[non_exhaustive]
pub struct Identity {
    /// The UUID, in lower case: `8932f937-d72c-4106-c12f-20bd9faed9f6`. Vulkan alone has it. NVIDIA's driver gives the
    /// card the same one in CUDA (`nvidia-smi -L` puts `GPU-` before it); AMD's and Mesa's have others in HIP.
    pub uuid: Option<String>,
    /// The PCI address as Linux writes it, `0000:65:00.0`: domain, bus, device, function. Vulkan alone has it: what wgpu
    /// says of Direct3D's adapters is one address for all cards of a model.
    pub pci: Option<String>,
    /// The 16 digits after `GPU-` in ROCm's UUID, `18f7c4c4a1d1b3a6`, from the kernel's driver of AMD's cards on Linux.
    pub rocm: Option<String>,
    /// The number by which Windows tells cards apart until it is started again, with Vulkan or Direct3D 12.
    pub luid: Option<u64>,
    /// The number by which macOS tells cards apart, with Metal.
    pub registry_id: Option<u64>,
}

impl Identity {
    /// Asks the driver what tells this adapter from others.
    pub fn of(adapter: &wgpu::Adapter) -> Identity {
        let info = adapter.get_info();
        match info.backend {
            #[cfg(any(windows, target_os = "linux", target_os = "android", target_os = "freebsd"))]
            wgpu::Backend::Vulkan => of_vulkan(adapter, &info),
            #[cfg(windows)]
            wgpu::Backend::Dx12 => Identity { luid: luid_of_direct3d(adapter), ..Identity::default() },
            #[cfg(target_vendor = "apple")]
            wgpu::Backend::Metal => Identity { registry_id: registry_id(adapter), ..Identity::default() },
            _ => Identity::default(),
        }
    }
}

#[cfg(any(windows, target_os = "linux", target_os = "android", target_os = "freebsd"))]
#[allow(unsafe_code)]
fn of_vulkan(adapter: &wgpu::Adapter, info: &wgpu::AdapterInfo) -> Identity {
    use ash::vk;
    let pci = Some(&info.device_pci_bus_id).filter(|address| !address.is_empty()).cloned();
    let rocm = pci.as_deref().filter(|_| info.vendor == AMD).and_then(rocm_digits);
    let without_uuid = Identity { pci, rocm, ..Identity::default() };
    // SAFETY: the adapter is only asked for its properties, and nothing of it is destroyed.
    let Some(hal) = (unsafe { adapter.as_hal::<wgpu::hal::api::Vulkan>() }) else { return without_uuid };
    let (shared, device) = (hal.shared_instance(), hal.raw_physical_device());
    let instance = shared.raw_instance();
    // The call below is of Vulkan 1.1, which the loader and the driver need to have.
    // SAFETY: the physical device is the adapter's, which lives as long as `hal`.
    let version = unsafe { instance.get_physical_device_properties(device) }.api_version;
    if shared.instance_api_version().min(version) < vk::API_VERSION_1_1 {
        return without_uuid;
    }
    let mut ids = vk::PhysicalDeviceIDProperties::default();
    let mut properties = vk::PhysicalDeviceProperties2::default().push_next(&mut ids);
    // SAFETY: as above; the driver fills the two structs, which live until the call has returned.
    unsafe { instance.get_physical_device_properties2(device, &mut properties) };
    let luid = (ids.device_luid_valid == vk::TRUE).then(|| u64::from_le_bytes(ids.device_luid));
    Identity { uuid: uuid_text(ids.device_uuid), luid, ..without_uuid }
}

#[cfg(windows)]
#[allow(unsafe_code)]
fn luid_of_direct3d(adapter: &wgpu::Adapter) -> Option<u64> {
    // SAFETY: the adapter is only asked for its description, and nothing of it is destroyed.
    let hal = unsafe { adapter.as_hal::<wgpu::hal::api::Dx12>() }?;
    // SAFETY: the adapter lives as long as `hal`.
    let luid = unsafe { hal.raw_adapter().GetDesc2() }.ok()?.AdapterLuid;
    // Vulkan's eight bytes are this struct's.
    Some(u64::from(luid.LowPart) | u64::from(luid.HighPart.cast_unsigned()) << 32)
}

#[cfg(target_vendor = "apple")]
#[allow(unsafe_code)]
fn registry_id(adapter: &wgpu::Adapter) -> Option<u64> {
    use objc2_metal::MTLDevice as _;
    // SAFETY: the adapter is only asked for a number, and nothing of it is destroyed.
    let hal = unsafe { adapter.as_hal::<wgpu::hal::api::Metal>() }?;
    Some(hal.raw_device().registryID())
}

/// Returns a UUID's text; `None` if all of it is zero, as of a driver that has none.
#[cfg_attr(target_vendor = "apple", allow(dead_code))]
fn uuid_text(bytes: [u8; 16]) -> Option<String> {
    let number = u128::from_be_bytes(bytes);
    let digits = format!("{number:032x}");
    let parts = [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]];
    (number != 0).then(|| parts.join("-"))
}

/// Returns the digits of ROCm's UUID of one of AMD's cards. The file is there on Linux, of cards since GFX9.
#[cfg(any(windows, target_os = "linux", target_os = "android", target_os = "freebsd"))]
fn rocm_digits(address: &str) -> Option<String> {
    let text = std::fs::read_to_string(format!("/sys/bus/pci/devices/{address}/unique_id")).ok()?;
    let number = u64::from_str_radix(text.trim(), 16).ok().filter(|&number| number != 0)?;
    Some(format!("{number:016x}"))
}

/// A PCI address as numbers: domain, bus, device, function.
///
/// Takes what Linux writes (`0000:65:00.0`), what `nvidia-smi` writes (`00000000:65:00.0`), and addresses without a
/// domain or a function, which are 0 then.
pub(crate) fn pci_address(text: &str) -> Option<(u32, u8, u8, u8)> {
    let (address, function) = text.split_once('.').unwrap_or((text, "0"));
    let mut parts = address.rsplit(':');
    let (device, bus) = (parts.next()?, parts.next()?);
    let domain = parts.next().unwrap_or("0");
    let small = |part: &str| u8::from_str_radix(part, 16).ok();
    let domain = u32::from_str_radix(domain, 16).ok().filter(|_| parts.next().is_none())?;
    Some((domain, small(bus)?, small(device)?, small(function)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uuids_are_written_as_nvidias_tools_write_them() {
        let bytes = [0x89, 0x32, 0xf9, 0x37, 0xd7, 0x2c, 0x41, 0x06, 0xc1, 0x2f, 0x20, 0xbd, 0x9f, 0xae, 0xd9, 0xf6];
        assert_eq!(uuid_text(bytes).as_deref(), Some("8932f937-d72c-4106-c12f-20bd9faed9f6"));
        assert_eq!(uuid_text([0; 16]), None);
        let mut low = [0; 16];
        low[15] = 1;
        assert_eq!(uuid_text(low).as_deref(), Some("00000000-0000-0000-0000-000000000001"));
    }

    #[test]
    fn addresses_are_read_in_each_tools_form() {
        let address = Some((0, 0x65, 0, 0));
        for text in ["0000:65:00.0", "00000000:65:00.0", "65:00.0", "0000:65:00", "65:00"] {
            assert_eq!(pci_address(text), address, "{text}");
        }
        assert_eq!(pci_address("10000:E1:1f.7"), Some((0x10000, 0xe1, 0x1f, 7)));
        for text in ["", "0", "65", "RTX 3090", "0:0:65:00.0", "65:zz.0", "365:00.0", "65:00."] {
            assert_eq!(pci_address(text), None, "{text}");
        }
    }

    /// The driver's answers, on the adapters that are here.
    #[test]
    fn adapters_of_vulkan_have_a_uuid() {
        let (adapters, _) = super::super::adapters::enumerate_all();
        gpufeed_testing::device::require(adapters.iter().map(|adapter| adapter.get_info().name));
        for adapter in &adapters {
            let (info, identity) = (adapter.get_info(), Identity::of(adapter));
            assert_eq!(identity, Identity::of(adapter), "{info:?}");
            let is_vulkan = info.backend == wgpu::Backend::Vulkan;
            assert_eq!(identity.uuid.as_ref().map(String::len), is_vulkan.then_some(36), "{info:?}");
        }
    }
}
