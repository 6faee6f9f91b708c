//! Vulkan's memory and semaphores for another API, and the barrier that hands a buffer over. Of the files for exported memory this
//! one alone has `unsafe`.

#![allow(unsafe_code)]

use super::{ExternalHandle, Handover, Point, Refused};
use ash::vk;
use wgpu::hal::api::Vulkan;

pub(in crate::gpu) type Semaphore = vk::Semaphore;

#[cfg(unix)]
mod handles {
    pub(super) use ash::khr::{external_memory_fd as memory, external_semaphore_fd as semaphore};
    use ash::vk;

    pub(super) const MEMORY: vk::ExternalMemoryHandleTypeFlags = vk::ExternalMemoryHandleTypeFlags::OPAQUE_FD;
    pub(super) const SEMAPHORE: vk::ExternalSemaphoreHandleTypeFlags = vk::ExternalSemaphoreHandleTypeFlags::OPAQUE_FD;
}

#[cfg(windows)]
mod handles {
    pub(super) use ash::khr::{external_memory_win32 as memory, external_semaphore_win32 as semaphore};
    use ash::vk;

    pub(super) const MEMORY: vk::ExternalMemoryHandleTypeFlags = vk::ExternalMemoryHandleTypeFlags::OPAQUE_WIN32;
    pub(super) const SEMAPHORE: vk::ExternalSemaphoreHandleTypeFlags =
        vk::ExternalSemaphoreHandleTypeFlags::OPAQUE_WIN32;
}

/// Opens a device with the extension by which semaphores are exported, which wgpu does not ask for. `None` where the
/// driver has none, or where wgpu's own way has to say what is wrong with the features or limits.
pub(in crate::gpu) fn open(
    adapter: &wgpu::Adapter,
    descriptor: &wgpu::DeviceDescriptor<'_>,
) -> Option<Result<(wgpu::Device, wgpu::Queue), wgpu::RequestDeviceError>> {
    let (features, limits) = (descriptor.required_features, &descriptor.required_limits);
    let experimental = wgpu::Features::all_experimental_mask();
    let fits = adapter.features().contains(features)
        && !features.intersects(experimental)
        && limits.check_limits(&adapter.limits());
    let opened = {
        // SAFETY: the guard ends before the adapter does, and nothing of it is destroyed.
        let hal = unsafe { adapter.as_hal::<Vulkan>() }?;
        let has = hal.physical_device_capabilities().supports_extension(handles::semaphore::NAME);
        if !(fits && has) {
            return None;
        }
        let add: Box<wgpu::hal::vulkan::CreateDeviceCallback<'_>> =
            Box::new(|arguments| arguments.extensions.push(handles::semaphore::NAME));
        // SAFETY: the features and limits are the adapter's, as was just compared; the callback adds an extension
        // that the adapter has, and removes nothing.
        unsafe { hal.open_with_callback(features, limits, &descriptor.memory_hints, Some(add)) }.ok()?
    };
    // SAFETY: the device was opened on this adapter, with these features and limits.
    Some(unsafe { adapter.create_device_from_hal::<Vulkan>(opened, descriptor) })
}

/// How memory of the device is handed over; an error says why it is not.
pub(in crate::gpu) fn handover(device: &wgpu::Device) -> Result<Handover, &'static str> {
    // SAFETY: the handles are only asked for their properties, while `hal` lives.
    let hal = unsafe { device.as_hal::<Vulkan>() }.ok_or("its API is another than Vulkan")?;
    let (shared, physical) = (hal.shared_instance(), hal.raw_physical_device());
    let instance = shared.raw_instance();
    // SAFETY: the physical device is this instance's.
    let version = unsafe { instance.get_physical_device_properties(physical) }.api_version;
    // The questions below are Vulkan 1.1's.
    if shared.instance_api_version().min(version) < vk::API_VERSION_1_1 {
        return Err("its driver has no Vulkan 1.1");
    }
    let enabled = hal.enabled_device_extensions();
    let question = vk::PhysicalDeviceExternalBufferInfo::default().usage(usage()).handle_type(handles::MEMORY);
    let mut answer = vk::ExternalBufferProperties::default();
    // SAFETY: as above; both structs live until the call has returned.
    unsafe { instance.get_physical_device_external_buffer_properties(physical, &question, &mut answer) };
    let exports = answer.external_memory_properties.external_memory_features;
    if !enabled.contains(&handles::memory::NAME) || !exports.contains(vk::ExternalMemoryFeatureFlags::EXPORTABLE) {
        return Err("its driver exports no memory");
    }
    let both = vk::ExternalSemaphoreFeatureFlags::EXPORTABLE | vk::ExternalSemaphoreFeatureFlags::IMPORTABLE;
    let exports = |kind| {
        let mut kind = vk::SemaphoreTypeCreateInfo::default().semaphore_type(kind);
        let question = vk::PhysicalDeviceExternalSemaphoreInfo::default().handle_type(handles::SEMAPHORE);
        let question = question.push_next(&mut kind);
        let mut answer = vk::ExternalSemaphoreProperties::default();
        // SAFETY: as above.
        unsafe { instance.get_physical_device_external_semaphore_properties(physical, &question, &mut answer) };
        enabled.contains(&handles::semaphore::NAME) && answer.external_semaphore_features.contains(both)
    };
    Ok(match (exports(vk::SemaphoreType::TIMELINE), exports(vk::SemaphoreType::BINARY)) {
        (true, _) => Handover::TimelineSemaphores,
        (false, true) => Handover::BinarySemaphores,
        (false, false) => Handover::HostWaits,
    })
}

fn usage() -> vk::BufferUsageFlags {
    use vk::BufferUsageFlags as Usage;
    Usage::STORAGE_BUFFER | Usage::TRANSFER_SRC | Usage::TRANSFER_DST
}

/// The Vulkan objects of an exported buffer. wgpu frees the buffer and its memory; the semaphores are freed here.
pub(in crate::gpu) struct ExternalBuffer {
    raw: ash::Device,
    instance: ash::Instance,
    device: wgpu::Device,
    buffer: vk::Buffer,
    memory: vk::DeviceMemory,
    /// Bytes of the memory, which may be more than those of the buffer.
    pub(in crate::gpu) allocation: u64,
    /// `ready` and `free`.
    semaphores: Option<[vk::Semaphore; 2]>,
}

impl std::fmt::Debug for ExternalBuffer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let ExternalBuffer { buffer, memory, semaphores, .. } = self;
        f.debug_tuple("ExternalBuffer").field(buffer).field(memory).field(semaphores).finish()
    }
}

impl ExternalBuffer {
    /// Makes a storage buffer of `bytes` bytes in memory of its own, which can be exported, and the semaphores of
    /// `handover`. Those that are not `exported` serve this device alone.
    pub(in crate::gpu) fn new(
        device: &wgpu::Device,
        label: &str,
        bytes: u64,
        handover: Handover,
        exported: bool,
    ) -> Result<(wgpu::Buffer, ExternalBuffer), Refused> {
        // SAFETY: what is made here is made on this device, and freed once: by wgpu, by `drop`, or by `failed`.
        unsafe {
            let hal = device.as_hal::<Vulkan>().ok_or_else(|| Refused::Other("not a Vulkan device".to_owned()))?;
            let (raw, instance) = (hal.raw_device().clone(), hal.shared_instance().raw_instance().clone());
            let types = instance.get_physical_device_memory_properties(hal.raw_physical_device());
            drop(hal);
            let mut external = vk::ExternalMemoryBufferCreateInfo::default().handle_types(handles::MEMORY);
            let info = vk::BufferCreateInfo::default().size(bytes).usage(usage()).push_next(&mut external);
            let buffer = raw.create_buffer(&info, None).map_err(refused("vkCreateBuffer"))?;
            let failed = |refused| {
                raw.destroy_buffer(buffer, None);
                refused
            };
            let needs = raw.get_buffer_memory_requirements(buffer);
            let memory = allocate(&raw, &types, buffer, needs).map_err(failed)?;
            let failed = |refused| {
                raw.destroy_buffer(buffer, None);
                raw.free_memory(memory, None);
                refused
            };
            raw.bind_buffer_memory(buffer, memory, 0).map_err(refused("vkBindBufferMemory")).map_err(failed)?;
            let mut made = ExternalBuffer {
                raw: raw.clone(),
                instance,
                device: device.clone(),
                buffer,
                memory,
                allocation: needs.size,
                semaphores: None,
            };
            if handover != Handover::HostWaits {
                let ready = semaphore(&raw, handover, exported).map_err(failed)?;
                let free = semaphore(&raw, handover, exported).map_err(|refused| {
                    raw.destroy_semaphore(ready, None);
                    failed(refused)
                })?;
                made.semaphores = Some([ready, free]);
                if exported {
                    // SwiftShader can lose a signal that comes while a semaphore is exported for the first time, so that
                    // happens before anything signals these.
                    let first = made.export(ready).and_then(|_| made.export(free));
                    first.map_err(Refused::Other).map_err(failed)?;
                }
            }
            // wgpu counts the buffer as initialised, and frees both when the buffer goes.
            let managed = wgpu::hal::vulkan::Buffer::from_raw_managed(buffer, memory, 0, needs.size);
            let descriptor = wgpu::BufferDescriptor {
                label: Some(label),
                size: bytes,
                usage: wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST,
                mapped_at_creation: false,
            };
            Ok((device.create_buffer_from_hal::<Vulkan>(managed, &descriptor), made))
        }
    }

    /// A new handle of the memory. The buffer must still be there.
    pub(in crate::gpu) fn export_memory(&self) -> Result<ExternalHandle, String> {
        let functions = handles::memory::Device::new(&self.instance, &self.raw);
        // SAFETY: the memory was allocated for handles of this type, and lives, as the caller has the buffer; the
        // handle is new, and nobody else's.
        unsafe {
            #[cfg(unix)]
            {
                let info = vk::MemoryGetFdInfoKHR::default().memory(self.memory).handle_type(handles::MEMORY);
                functions
                    .get_memory_fd(&info)
                    .map(|handle| owned(handle))
                    .map_err(|error| format!("vkGetMemoryFdKHR: {error}"))
            }
            #[cfg(windows)]
            {
                let info = vk::MemoryGetWin32HandleInfoKHR::default().memory(self.memory);
                let handle = functions.get_memory_win32_handle(&info.handle_type(handles::MEMORY));
                handle.map(|handle| owned(handle)).map_err(|error| format!("vkGetMemoryWin32HandleKHR: {error}"))
            }
        }
    }

    /// The semaphore that says that a batch is ready.
    pub(in crate::gpu) fn ready(&self) -> Option<Semaphore> {
        self.semaphores.map(|[ready, _]| ready)
    }

    /// The semaphore that says that the consumer has read a batch.
    pub(in crate::gpu) fn free(&self) -> Option<Semaphore> {
        self.semaphores.map(|[_, free]| free)
    }

    /// A new handle of a semaphore.
    pub(in crate::gpu) fn export(&self, semaphore: Semaphore) -> Result<ExternalHandle, String> {
        let functions = handles::semaphore::Device::new(&self.instance, &self.raw);
        // SAFETY: the semaphore was made for handles of this type; the handle is new, and nobody else's.
        unsafe {
            #[cfg(unix)]
            {
                let info = vk::SemaphoreGetFdInfoKHR::default().semaphore(semaphore);
                let handle = functions.get_semaphore_fd(&info.handle_type(handles::SEMAPHORE));
                handle.map(|handle| owned(handle)).map_err(|error| format!("vkGetSemaphoreFdKHR: {error}"))
            }
            #[cfg(windows)]
            {
                let info = vk::SemaphoreGetWin32HandleInfoKHR::default().semaphore(semaphore);
                let handle = functions.get_semaphore_win32_handle(&info.handle_type(handles::SEMAPHORE));
                handle.map(|handle| owned(handle)).map_err(|error| format!("vkGetSemaphoreWin32HandleKHR: {error}"))
            }
        }
    }

    /// Commands that hand the buffer over to another API, as Vulkan's rules ask: its content is visible to what waits
    /// for the submission. They have an encoder of their own, as wgpu panics where raw commands and its own share one
    /// ("Mixing the wgpu encoding API with the raw encoding API is not permitted").
    pub(in crate::gpu) fn release(&self) -> wgpu::CommandBuffer {
        let mut encoder = self.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        let barrier = vk::BufferMemoryBarrier::default()
            .src_access_mask(vk::AccessFlags::MEMORY_WRITE)
            // wgpu-hal opens the first family's queue.
            .src_queue_family_index(0)
            .dst_queue_family_index(vk::QUEUE_FAMILY_EXTERNAL)
            .buffer(self.buffer)
            .size(vk::WHOLE_SIZE);
        let (from, to) = (vk::PipelineStageFlags::ALL_COMMANDS, vk::PipelineStageFlags::BOTTOM_OF_PIPE);
        // SAFETY: a barrier alone, which leaves the encoder as it was; the buffer lives, as the caller has it.
        unsafe {
            encoder.as_hal_mut::<Vulkan, _, _>(|hal| {
                // A device that is lost has no encoder.
                let Some(hal) = hal else { return };
                let none = vk::DependencyFlags::empty();
                self.raw.cmd_pipeline_barrier(hal.raw_handle(), from, to, none, &[], &[barrier], &[]);
            });
        }
        encoder.finish()
    }
}

impl Drop for ExternalBuffer {
    fn drop(&mut self) {
        let Some(semaphores) = self.semaphores else { return };
        // wgpu panics where the device is lost in the wait, and may where a wait has an end (`Gpu::alive`). What a
        // submission may still use is not freed.
        let wait = || self.device.poll(wgpu::PollType::wait_indefinitely());
        let waited = std::panic::catch_unwind(std::panic::AssertUnwindSafe(wait));
        if matches!(waited, Ok(Ok(_))) {
            // SAFETY: no submission of this device uses them any more; another API has semaphores of its own, which
            // share the payload alone.
            semaphores.iter().for_each(|&semaphore| unsafe { self.raw.destroy_semaphore(semaphore, None) });
        }
    }
}

#[cfg(unix)]
unsafe fn owned(fd: std::os::fd::RawFd) -> ExternalHandle {
    // SAFETY: by the caller: the descriptor is open, and nobody else's.
    unsafe { std::os::fd::FromRawFd::from_raw_fd(fd) }
}

#[cfg(windows)]
unsafe fn owned(handle: vk::HANDLE) -> ExternalHandle {
    // SAFETY: by the caller: the handle is open, and nobody else's.
    unsafe { std::os::windows::io::FromRawHandle::from_raw_handle(handle as *mut std::ffi::c_void) }
}

/// Allocates memory of the device for one buffer alone, which every driver exports whole.
unsafe fn allocate(
    raw: &ash::Device,
    types: &vk::PhysicalDeviceMemoryProperties,
    buffer: vk::Buffer,
    needs: vk::MemoryRequirements,
) -> Result<vk::DeviceMemory, Refused> {
    let allowed = (0..types.memory_type_count).filter(|index| needs.memory_type_bits & (1 << index) != 0);
    let own = |index: &u32| {
        types.memory_types[*index as usize].property_flags.contains(vk::MemoryPropertyFlags::DEVICE_LOCAL)
    };
    let kind = allowed.into_iter().find(own).ok_or_else(|| Refused::Other("no memory type is the device's".into()))?;
    let mut export = vk::ExportMemoryAllocateInfo::default().handle_types(handles::MEMORY);
    let mut dedicated = vk::MemoryDedicatedAllocateInfo::default().buffer(buffer);
    let info = vk::MemoryAllocateInfo::default().allocation_size(needs.size).memory_type_index(kind);
    let info = info.push_next(&mut export).push_next(&mut dedicated);
    // SAFETY: by the caller: the buffer is this device's; the structs live until the call has returned.
    unsafe { raw.allocate_memory(&info, None) }.map_err(refused("vkAllocateMemory"))
}

unsafe fn semaphore(raw: &ash::Device, handover: Handover, exported: bool) -> Result<vk::Semaphore, Refused> {
    let mut export = vk::ExportSemaphoreCreateInfo::default().handle_types(handles::SEMAPHORE);
    let mut timeline = vk::SemaphoreTypeCreateInfo::default().semaphore_type(vk::SemaphoreType::TIMELINE);
    let mut info = vk::SemaphoreCreateInfo::default();
    if exported {
        info = info.push_next(&mut export);
    }
    if handover == Handover::TimelineSemaphores {
        info = info.push_next(&mut timeline);
    }
    // SAFETY: by the caller: the device exports such semaphores, if `exported`.
    unsafe { raw.create_semaphore(&info, None) }.map_err(refused("vkCreateSemaphore"))
}

/// Makes the error of a call of Vulkan.
fn refused(call: &'static str) -> impl Fn(vk::Result) -> Refused {
    move |result| match result {
        vk::Result::ERROR_OUT_OF_DEVICE_MEMORY
        | vk::Result::ERROR_OUT_OF_HOST_MEMORY
        | vk::Result::ERROR_TOO_MANY_OBJECTS => Refused::NoMemory,
        other => Refused::Other(format!("{call}: {other}")),
    }
}

/// Has the next submission to the queue, whoever makes it, wait and signal.
pub(in crate::gpu) fn stage(queue: &wgpu::Queue, waits: &[Point], signals: &[Point]) {
    // SAFETY: the handle stages semaphores, and destroys nothing.
    let Some(hal) = (unsafe { queue.as_hal::<Vulkan>() }) else { return };
    for &Point { semaphore, value } in waits {
        hal.add_wait_semaphore(semaphore, value, vk::PipelineStageFlags::ALL_COMMANDS);
    }
    signals.iter().for_each(|point| hal.add_signal_semaphore(point.semaphore, point.value));
}

/// Takes back what no submission has taken; true if that was anything.
pub(in crate::gpu) fn unstage(queue: &wgpu::Queue, waits: &[Point], signals: &[Point]) -> bool {
    // SAFETY: as in `stage`.
    let Some(hal) = (unsafe { queue.as_hal::<Vulkan>() }) else { return false };
    let waits = waits.iter().filter(|point| hal.remove_wait_semaphore(point.semaphore)).count();
    let signals = signals.iter().filter(|point| hal.remove_signal_semaphore(point.semaphore)).count();
    waits + signals > 0
}
