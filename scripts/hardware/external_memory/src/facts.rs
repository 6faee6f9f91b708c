//! What an adapter says of itself: its UUID, and what its driver exports.

use crate::order::Order;
use ash::{khr, vk};
use std::fmt;
use wgpu::hal::api::Vulkan;

pub const OPAQUE: vk::ExternalMemoryHandleTypeFlags = vk::ExternalMemoryHandleTypeFlags::OPAQUE_FD;
pub const OPAQUE_SEMAPHORE: vk::ExternalSemaphoreHandleTypeFlags = vk::ExternalSemaphoreHandleTypeFlags::OPAQUE_FD;
pub const USAGE: vk::BufferUsageFlags = vk::BufferUsageFlags::from_raw(
    vk::BufferUsageFlags::TRANSFER_SRC.as_raw()
        | vk::BufferUsageFlags::TRANSFER_DST.as_raw()
        | vk::BufferUsageFlags::STORAGE_BUFFER.as_raw(),
);

pub fn adapters() -> Vec<wgpu::Adapter> {
    let mut descriptor = wgpu::InstanceDescriptor::new_without_display_handle_from_env();
    descriptor.backends = wgpu::Backends::VULKAN;
    pollster::block_on(wgpu::Instance::new(descriptor).enumerate_adapters(wgpu::Backends::VULKAN))
}

/// What an adapter says of itself.
pub struct Facts {
    pub uuid: [u8; 16],
    memory: vk::ExternalMemoryFeatureFlags,
    binary: bool,
    timeline: bool,
}

impl Facts {
    pub fn of(adapter: &wgpu::Adapter) -> Result<Facts, String> {
        // SAFETY: the handles are used while `hal` lives.
        unsafe {
            let hal = adapter.as_hal::<Vulkan>().ok_or("it is no Vulkan adapter")?;
            let capabilities = hal.physical_device_capabilities();
            if !capabilities.supports_extension(khr::external_memory_fd::NAME) {
                return Err("the driver has no VK_KHR_external_memory_fd".to_owned());
            }
            let (instance, physical) = (hal.shared_instance().raw_instance(), hal.raw_physical_device());
            let mut id = vk::PhysicalDeviceIDProperties::default();
            let mut properties = vk::PhysicalDeviceProperties2::default().push_next(&mut id);
            instance.get_physical_device_properties2(physical, &mut properties);
            let query = vk::PhysicalDeviceExternalBufferInfo::default().usage(USAGE).handle_type(OPAQUE);
            let mut memory = vk::ExternalBufferProperties::default();
            instance.get_physical_device_external_buffer_properties(physical, &query, &mut memory);
            let by_fd = capabilities.supports_extension(khr::external_semaphore_fd::NAME);
            let exports = |kind: vk::SemaphoreType| {
                let mut kind = vk::SemaphoreTypeCreateInfo::default().semaphore_type(kind);
                let query = vk::PhysicalDeviceExternalSemaphoreInfo::default()
                    .handle_type(OPAQUE_SEMAPHORE)
                    .push_next(&mut kind);
                let mut answer = vk::ExternalSemaphoreProperties::default();
                instance.get_physical_device_external_semaphore_properties(physical, &query, &mut answer);
                let both =
                    vk::ExternalSemaphoreFeatureFlags::EXPORTABLE | vk::ExternalSemaphoreFeatureFlags::IMPORTABLE;
                answer.external_semaphore_features.contains(both)
            };
            Ok(Facts {
                uuid: id.device_uuid,
                memory: memory.external_memory_properties.external_memory_features,
                binary: by_fd && exports(vk::SemaphoreType::BINARY),
                timeline: by_fd && exports(vk::SemaphoreType::TIMELINE),
            })
        }
    }

    pub fn exports(&self, order: Order) -> bool {
        match order {
            Order::Host | Order::Unordered => true,
            Order::Binary => self.binary,
            Order::Timeline => self.timeline,
        }
    }
}

impl fmt::Display for Facts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Facts { uuid, memory, binary, timeline } = self;
        let (uuid, says) = (hex(uuid), |is: bool| if is { "yes" } else { "no" });
        write!(f, "uuid={uuid} memory={memory:?} binary={} timeline={}", says(*binary), says(*timeline))
    }
}

pub fn hex(uuid: &[u8; 16]) -> String {
    uuid.iter().map(|byte| format!("{byte:02x}")).collect()
}
