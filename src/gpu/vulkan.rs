//! What wgpu has no words for, of Vulkan: the sizes of an adapter's memory, and a staging buffer in the host's own.

/// The memory of an adapter, as Vulkan tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceMemory {
    /// Bytes of the largest heap of the device's own memory.
    pub bytes: u64,
    /// Bytes of the largest heap of it that the host can map: all of it where the bus shows all (ReBAR, unified memory),
    /// 256 MiB where it shows a window, 0 where it shows nothing.
    pub mapped: u64,
}

impl DeviceMemory {
    /// True if the host can map all of it, but for what the driver keeps.
    pub(super) fn is_mapped_whole(&self) -> bool {
        self.mapped >= self.bytes / 10 * 9
    }

    /// Bytes of the part that the host can map, where that is not all.
    pub(super) fn window(&self) -> Option<u64> {
        (self.mapped > 0 && !self.is_mapped_whole()).then_some(self.mapped)
    }
}

impl std::fmt::Display for DeviceMemory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let DeviceMemory { bytes, mapped } = self;
        let (gib, mib) = (*bytes as f64 / f64::from(1 << 30), mapped >> 20);
        match mapped {
            0 => write!(f, "{gib:.1} GiB of device memory, none of it mapped by the host"),
            _ if self.is_mapped_whole() => write!(f, "{gib:.1} GiB of device memory, which the host maps"),
            _ => write!(f, "{gib:.1} GiB of device memory, {mib} MiB of it mapped by the host"),
        }
    }
}

#[cfg(any(target_os = "linux", target_os = "android", target_os = "windows"))]
#[allow(unsafe_code)]
mod api {
    use super::DeviceMemory;
    use wgpu::hal::{self, Device as _, api::Vulkan};

    // The bits of VkMemoryHeapFlagBits and of VkMemoryPropertyFlagBits.
    const DEVICE_LOCAL: u32 = 1;
    const HOST_VISIBLE: u32 = 2;

    /// The memory of an adapter of Vulkan; `None` for others.
    pub(in crate::gpu) fn device_memory(adapter: &wgpu::Adapter) -> Option<DeviceMemory> {
        // SAFETY: nothing is done with the handle but reading properties, and the guard ends before `adapter` does.
        let adapter = unsafe { adapter.as_hal::<Vulkan>() }?;
        let instance = adapter.shared_instance().raw_instance();
        // SAFETY: the physical device is one of this instance.
        let all = unsafe { instance.get_physical_device_memory_properties(adapter.raw_physical_device()) };
        let heaps = all.memory_heaps.iter().take(all.memory_heap_count as usize);
        let own = heaps.filter(|heap| heap.flags.as_raw() & DEVICE_LOCAL != 0).map(|heap| heap.size);
        let types = all.memory_types.iter().take(all.memory_type_count as usize);
        let both = DEVICE_LOCAL | HOST_VISIBLE;
        let mapped = types.filter(|kind| kind.property_flags.as_raw() & both == both);
        let mapped = mapped.filter_map(|kind| all.memory_heaps.get(kind.heap_index as usize)).map(|heap| heap.size);
        Some(DeviceMemory { bytes: own.max()?, mapped: mapped.max().unwrap_or(0) })
    }

    /// A staging buffer of `bytes` bytes in the host's memory, which wgpu-hal takes for buffers that the host reads:
    /// coherent, cached, and on the device's side of the bus only where there is no other. `None` on a device of another
    /// API, or without memory.
    pub(in crate::gpu) fn host_staging_buffer(device: &wgpu::Device, label: &str, bytes: u64) -> Option<wgpu::Buffer> {
        use wgpu::{BufferUsages as Usage, BufferUses as Uses};
        let usage = Uses::MAP_READ | Uses::COPY_SRC;
        let descriptor =
            hal::BufferDescriptor { label: Some(label), size: bytes, usage, memory_flags: hal::MemoryFlags::empty() };
        let buffer = {
            // SAFETY: the handle makes one buffer, and destroys nothing.
            let device = unsafe { device.as_hal::<Vulkan>() }?;
            // SAFETY: the descriptor is valid: some bytes, uses that every buffer may have.
            unsafe { device.create_buffer(&descriptor) }.ok()?
        };
        let (usage, mapped_at_creation) = (Usage::MAP_WRITE | Usage::COPY_SRC, false);
        let descriptor = wgpu::BufferDescriptor { label: Some(label), size: bytes, usage, mapped_at_creation };
        // SAFETY: the buffer is one of this device, of this size, and nobody else has it. Its memory is mapped, as
        // for MAP_WRITE, and coherent; copies from it are among its uses. No shader reads what was not written: copies
        // end where the samples do.
        Some(unsafe { device.create_buffer_from_hal::<Vulkan>(buffer, &descriptor) })
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android", target_os = "windows")))]
mod api {
    use super::DeviceMemory;

    /// wgpu has no Vulkan here.
    pub(in crate::gpu) fn device_memory(_: &wgpu::Adapter) -> Option<DeviceMemory> {
        None
    }

    /// wgpu has no Vulkan here.
    pub(in crate::gpu) fn host_staging_buffer(_: &wgpu::Device, _: &str, _: u64) -> Option<wgpu::Buffer> {
        None
    }
}

pub(super) use api::{device_memory, host_staging_buffer};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::Gpu;
    use gpufeed_testing::device;

    #[test]
    fn memory_says_what_the_host_maps_of_it() {
        let memory = |bytes, mapped| DeviceMemory { bytes, mapped };
        for (memory, whole, text) in [
            (memory(24 << 30, 24 << 30), true, "24.0 GiB of device memory, which the host maps"),
            (memory(24 << 30, 23 << 30), true, "24.0 GiB of device memory, which the host maps"),
            (memory(8 << 30, 256 << 20), false, "8.0 GiB of device memory, 256 MiB of it mapped by the host"),
            (memory(8 << 30, 0), false, "8.0 GiB of device memory, none of it mapped by the host"),
        ] {
            assert_eq!((memory.is_mapped_whole(), memory.to_string().as_str()), (whole, text));
            assert_eq!(memory.window(), (memory.mapped == 256 << 20).then_some(256 << 20));
        }
    }

    #[test]
    fn adapters_of_vulkan_tell_their_memory() {
        let adapters = Gpu::enumerate();
        device::require(adapters.iter().map(|adapter| device::name(&adapter.get_info())));
        for adapter in adapters {
            let memory = device_memory(&adapter);
            let is_vulkan = adapter.get_info().backend == wgpu::Backend::Vulkan;
            assert_eq!(memory.is_some(), is_vulkan, "{:?}", adapter.get_info());
            // A software adapter's memory is the host's.
            if let (Some(memory), wgpu::DeviceType::Cpu) = (memory, adapter.get_info().device_type) {
                assert!(memory.is_mapped_whole() && memory.bytes > 1 << 20, "{memory:?}");
            }
        }
    }
}
