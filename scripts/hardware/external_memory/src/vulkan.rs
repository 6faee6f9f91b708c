//! The consumer as a second Vulkan instance and device, found by its UUID, as CUDA would be.

use crate::Consumer;
use crate::facts::{OPAQUE, OPAQUE_SEMAPHORE, USAGE, hex};
use crate::order::Order;
use crate::pattern::{BYTES, WORDS};
use crate::producer::{PATIENCE, Shared, failed, memory_type};
use ash::{khr, vk};
use std::os::fd::IntoRawFd;

pub struct Vulkan {
    device: ash::Device,
    queue: vk::Queue,
    pool: vk::CommandPool,
    commands: vk::CommandBuffer,
    fence: vk::Fence,
    /// The imported buffer, and the one that the host reads, each with its memory.
    shared: (vk::Buffer, vk::DeviceMemory),
    host: (vk::Buffer, vk::DeviceMemory),
    mapped: *const u32,
    order: Order,
    /// `ready` and `free`.
    semaphores: Option<[vk::Semaphore; 2]>,
    instance: ash::Instance,
    _entry: ash::Entry,
}

impl Vulkan {
    pub fn import(shared: Shared) -> Result<Vulkan, String> {
        // SAFETY: Vulkan's calls, with handles that live as long as `Vulkan`; the program ends where one fails.
        unsafe {
            let entry = ash::Entry::load().map_err(|error| format!("Vulkan's loader: {error}"))?;
            let application = vk::ApplicationInfo::default().api_version(vk::API_VERSION_1_2);
            let info = vk::InstanceCreateInfo::default().application_info(&application);
            let instance = entry.create_instance(&info, None).map_err(failed("vkCreateInstance"))?;
            let physical = by_uuid(&instance, shared.uuid)?;
            let device = device(&instance, physical, shared.order)?;
            let types = instance.get_physical_device_memory_properties(physical);
            let queue = device.get_device_queue(0, 0);
            let info = vk::CommandPoolCreateInfo::default().flags(vk::CommandPoolCreateFlags::RESET_COMMAND_BUFFER);
            let pool = device.create_command_pool(&info, None).map_err(failed("vkCreateCommandPool"))?;
            let info = vk::CommandBufferAllocateInfo::default().command_pool(pool).command_buffer_count(1);
            let commands = device.allocate_command_buffers(&info).map_err(failed("vkAllocateCommandBuffers"))?[0];
            let fence = device.create_fence(&vk::FenceCreateInfo::default(), None).map_err(failed("vkCreateFence"))?;
            let order = shared.order;
            let semaphores = match shared.semaphores {
                Some([ready, free]) => {
                    let functions = khr::external_semaphore_fd::Device::new(&instance, &device);
                    let import = |fd| semaphore(&device, &functions, order, fd);
                    Some([import(ready.into_raw_fd())?, import(free.into_raw_fd())?])
                }
                None => None,
            };
            let imported = buffer(&device, shared.memory.into_raw_fd(), shared.bytes, shared.memory_type)?;
            let (host, mapped) = host_buffer(&device, &types)?;
            let vulkan = Vulkan {
                device,
                queue,
                pool,
                commands,
                fence,
                shared: imported,
                host,
                mapped,
                order,
                semaphores,
                instance,
                _entry: entry,
            };
            vulkan.record()?;
            Ok(vulkan)
        }
    }

    /// Records the commands of every round: take the buffer over, copy it for the host, give it back.
    unsafe fn record(&self) -> Result<(), String> {
        let Vulkan { device, commands, .. } = self;
        let barrier = |from, to| {
            let barrier = vk::BufferMemoryBarrier::default().buffer(self.shared.0).size(vk::WHOLE_SIZE);
            barrier.src_queue_family_index(from).dst_queue_family_index(to)
        };
        let acquire = barrier(vk::QUEUE_FAMILY_EXTERNAL, 0).dst_access_mask(vk::AccessFlags::TRANSFER_READ);
        let release = barrier(0, vk::QUEUE_FAMILY_EXTERNAL);
        let (top, copy, bottom) = (
            vk::PipelineStageFlags::TOP_OF_PIPE,
            vk::PipelineStageFlags::TRANSFER,
            vk::PipelineStageFlags::BOTTOM_OF_PIPE,
        );
        unsafe {
            let begun = device.begin_command_buffer(*commands, &vk::CommandBufferBeginInfo::default());
            begun.map_err(failed("vkBeginCommandBuffer"))?;
            let none = vk::DependencyFlags::empty();
            device.cmd_pipeline_barrier(*commands, top, copy, none, &[], &[acquire], &[]);
            device.cmd_copy_buffer(*commands, self.shared.0, self.host.0, &[vk::BufferCopy::default().size(BYTES)]);
            device.cmd_pipeline_barrier(*commands, copy, bottom, none, &[], &[release], &[]);
            device.end_command_buffer(*commands).map_err(failed("vkEndCommandBuffer"))
        }
    }
}

impl Consumer for Vulkan {
    fn read(&mut self, round: u32) -> Result<&[u32], String> {
        let stages = [vk::PipelineStageFlags::ALL_COMMANDS];
        let (commands, wait, signal);
        // Values of binary semaphores are ignored.
        let values = [u64::from(round) + 1];
        let mut timeline =
            vk::TimelineSemaphoreSubmitInfo::default().wait_semaphore_values(&values).signal_semaphore_values(&values);
        commands = [self.commands];
        let mut submit = vk::SubmitInfo::default().command_buffers(&commands);
        if let Some([ready, free]) = self.semaphores {
            (wait, signal) = ([ready], [free]);
            submit = submit.wait_semaphores(&wait).wait_dst_stage_mask(&stages).signal_semaphores(&signal);
        }
        if self.order == Order::Timeline {
            submit = submit.push_next(&mut timeline);
        }
        // SAFETY: the fence is not in use; the memory is mapped for as long as `self` lives.
        unsafe {
            self.device.queue_submit(self.queue, &[submit], self.fence).map_err(failed("vkQueueSubmit"))?;
            let waited = self.device.wait_for_fences(&[self.fence], true, PATIENCE.as_nanos() as u64);
            waited.map_err(failed("the wait for the consumer's copy"))?;
            self.device.reset_fences(&[self.fence]).map_err(failed("vkResetFences"))?;
            Ok(std::slice::from_raw_parts(self.mapped, WORDS))
        }
    }
}

impl Drop for Vulkan {
    fn drop(&mut self) {
        // SAFETY: everything is this device's, and idle.
        unsafe {
            // A device that does not become idle has nothing to free.
            if self.device.device_wait_idle().is_err() {
                return;
            }
            self.semaphores.iter().flatten().for_each(|&semaphore| self.device.destroy_semaphore(semaphore, None));
            for (buffer, memory) in [self.shared, self.host] {
                self.device.destroy_buffer(buffer, None);
                self.device.free_memory(memory, None);
            }
            self.device.destroy_fence(self.fence, None);
            self.device.destroy_command_pool(self.pool, None);
            self.device.destroy_device(None);
            self.instance.destroy_instance(None);
        }
    }
}

unsafe fn by_uuid(instance: &ash::Instance, uuid: [u8; 16]) -> Result<vk::PhysicalDevice, String> {
    unsafe {
        let all = instance.enumerate_physical_devices().map_err(failed("vkEnumeratePhysicalDevices"))?;
        let found = all.into_iter().find(|&physical| {
            let mut id = vk::PhysicalDeviceIDProperties::default();
            let mut properties = vk::PhysicalDeviceProperties2::default().push_next(&mut id);
            instance.get_physical_device_properties2(physical, &mut properties);
            id.device_uuid == uuid
        });
        found.ok_or_else(|| format!("no Vulkan device has the UUID {}", hex(&uuid)))
    }
}

unsafe fn device(instance: &ash::Instance, physical: vk::PhysicalDevice, order: Order) -> Result<ash::Device, String> {
    let mut names = vec![khr::external_memory_fd::NAME.as_ptr()];
    if order.semaphores() {
        names.push(khr::external_semaphore_fd::NAME.as_ptr());
    }
    let priorities = [1.0];
    let queues = [vk::DeviceQueueCreateInfo::default().queue_family_index(0).queue_priorities(&priorities)];
    let mut timeline = vk::PhysicalDeviceTimelineSemaphoreFeatures::default().timeline_semaphore(true);
    let mut info = vk::DeviceCreateInfo::default().queue_create_infos(&queues).enabled_extension_names(&names);
    if order == Order::Timeline {
        info = info.push_next(&mut timeline);
    }
    unsafe { instance.create_device(physical, &info, None) }.map_err(failed("vkCreateDevice"))
}

/// Makes a semaphore with the payload of `fd`, which becomes the driver's.
unsafe fn semaphore(
    device: &ash::Device,
    functions: &khr::external_semaphore_fd::Device,
    order: Order,
    fd: i32,
) -> Result<vk::Semaphore, String> {
    let mut timeline = vk::SemaphoreTypeCreateInfo::default().semaphore_type(vk::SemaphoreType::TIMELINE);
    let mut info = vk::SemaphoreCreateInfo::default();
    if order == Order::Timeline {
        info = info.push_next(&mut timeline);
    }
    unsafe {
        let semaphore = device.create_semaphore(&info, None).map_err(failed("vkCreateSemaphore"))?;
        let info = vk::ImportSemaphoreFdInfoKHR::default().semaphore(semaphore).fd(fd);
        let info = info.handle_type(OPAQUE_SEMAPHORE);
        functions.import_semaphore_fd(&info).map_err(failed("vkImportSemaphoreFdKHR"))?;
        Ok(semaphore)
    }
}

/// Makes a buffer over the memory of `fd`, which becomes the driver's.
unsafe fn buffer(
    device: &ash::Device,
    fd: i32,
    bytes: u64,
    memory_type: u32,
) -> Result<(vk::Buffer, vk::DeviceMemory), String> {
    let mut external = vk::ExternalMemoryBufferCreateInfo::default().handle_types(OPAQUE);
    let info = vk::BufferCreateInfo::default().size(BYTES).usage(USAGE).push_next(&mut external);
    unsafe {
        let buffer = device.create_buffer(&info, None).map_err(failed("vkCreateBuffer, imported"))?;
        let mut import = vk::ImportMemoryFdInfoKHR::default().handle_type(OPAQUE).fd(fd);
        let mut dedicated = vk::MemoryDedicatedAllocateInfo::default().buffer(buffer);
        let info = vk::MemoryAllocateInfo::default().allocation_size(bytes).memory_type_index(memory_type);
        let info = info.push_next(&mut import).push_next(&mut dedicated);
        let memory = device.allocate_memory(&info, None).map_err(failed("vkAllocateMemory, imported"))?;
        device.bind_buffer_memory(buffer, memory, 0).map_err(failed("vkBindBufferMemory, imported"))?;
        Ok((buffer, memory))
    }
}

/// Makes a buffer that the host reads.
unsafe fn host_buffer(
    device: &ash::Device,
    types: &vk::PhysicalDeviceMemoryProperties,
) -> Result<((vk::Buffer, vk::DeviceMemory), *const u32), String> {
    let info = vk::BufferCreateInfo::default().size(BYTES).usage(vk::BufferUsageFlags::TRANSFER_DST);
    let visible = vk::MemoryPropertyFlags::HOST_VISIBLE | vk::MemoryPropertyFlags::HOST_COHERENT;
    unsafe {
        let buffer = device.create_buffer(&info, None).map_err(failed("vkCreateBuffer"))?;
        let needs = device.get_buffer_memory_requirements(buffer);
        // Cached memory is read many times faster.
        let cached = memory_type(types, needs.memory_type_bits, visible | vk::MemoryPropertyFlags::HOST_CACHED);
        let kind = cached.or_else(|_| memory_type(types, needs.memory_type_bits, visible))?;
        let info = vk::MemoryAllocateInfo::default().allocation_size(needs.size).memory_type_index(kind);
        let memory = device.allocate_memory(&info, None).map_err(failed("vkAllocateMemory"))?;
        device.bind_buffer_memory(buffer, memory, 0).map_err(failed("vkBindBufferMemory"))?;
        let mapped = device.map_memory(memory, 0, BYTES, vk::MemoryMapFlags::empty()).map_err(failed("vkMapMemory"))?;
        Ok(((buffer, memory), mapped.cast_const().cast()))
    }
}
