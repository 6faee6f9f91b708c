//! Another API that reads batches: a second device of the same adapter, which imports memory and semaphores by the handles
//! that gpufeed exports, as CUDA does.
//!
//! It needs `unsafe`, because wgpu imports nothing by itself.

#![allow(unsafe_code)]

use ash::{khr, vk};
use gpufeed::{External, ExternalHandle, Handover, wgpu};
use std::collections::HashMap;
use std::os::fd::IntoRawFd;
use std::sync::mpsc::channel;
use wgpu::hal::api::Vulkan;

const MEMORY: vk::ExternalMemoryHandleTypeFlags = vk::ExternalMemoryHandleTypeFlags::OPAQUE_FD;
const SEMAPHORE: vk::ExternalSemaphoreHandleTypeFlags = vk::ExternalSemaphoreHandleTypeFlags::OPAQUE_FD;

/// The second device, with all that it has imported.
pub(crate) struct Consumer {
    device: wgpu::Device,
    queue: wgpu::Queue,
    raw: ash::Device,
    instance: ash::Instance,
    types: vk::PhysicalDeviceMemoryProperties,
    imported: HashMap<u64, Imported>,
}

struct Imported {
    buffer: wgpu::Buffer,
    raw: vk::Buffer,
    /// `ready` and `free`.
    semaphores: Option<[vk::Semaphore; 2]>,
}

/// A copy of a batch that is under way.
pub(crate) struct Reading {
    staging: wgpu::Buffer,
    bytes: u64,
}

impl Consumer {
    /// Opens the device of the adapter with this UUID.
    pub(crate) fn open(uuid: &str, handover: Handover) -> Consumer {
        let adapters = gpufeed::Gpu::enumerate();
        let is_it = |adapter: &wgpu::Adapter| gpufeed::Identity::of(adapter).uuid.as_deref() == Some(uuid);
        let adapter = adapters.into_iter().find(is_it).expect("the adapter with the UUID that a batch says");
        let descriptor = wgpu::DeviceDescriptor::default();
        // SAFETY: the callback adds an extension that the adapter has, as gpufeed's device of it exports semaphores.
        unsafe {
            let hal = adapter.as_hal::<Vulkan>().unwrap();
            let add: Box<wgpu::hal::vulkan::CreateDeviceCallback<'_>> = Box::new(|arguments| {
                if handover != Handover::HostWaits {
                    arguments.extensions.push(khr::external_semaphore_fd::NAME);
                }
            });
            let (features, limits, hints) =
                (wgpu::Features::empty(), &descriptor.required_limits, &descriptor.memory_hints);
            let opened = hal.open_with_callback(features, limits, hints, Some(add)).unwrap();
            drop(hal);
            let (device, queue) = adapter.create_device_from_hal::<Vulkan>(opened, &descriptor).unwrap();
            let hal = device.as_hal::<Vulkan>().unwrap();
            let (raw, instance) = (hal.raw_device().clone(), hal.shared_instance().raw_instance().clone());
            let types = instance.get_physical_device_memory_properties(hal.raw_physical_device());
            drop(hal);
            Consumer { device, queue, raw, instance, types, imported: HashMap::new() }
        }
    }

    /// The buffers that were imported.
    pub(crate) fn imports(&self) -> usize {
        self.imported.len()
    }

    /// Begins to copy a batch: once it is ready, if the consumer `waits` for that; then it says that the batch is free.
    pub(crate) fn begin(&mut self, external: &External<'_>, waits: bool) -> Reading {
        self.known(external);
        if waits {
            self.stage(external);
        }
        self.copy(external.id(), external.bytes())
    }

    /// Waits for a batch, and says that it is free before it is read. Returns what [`copy`](Self::copy) takes.
    pub(crate) fn free_unread(&mut self, external: &External<'_>) -> (u64, u64) {
        self.known(external);
        self.stage(external);
        self.queue.submit([]);
        (external.id(), external.bytes())
    }

    /// Begins to copy what is in an imported buffer now.
    pub(crate) fn copy(&self, id: u64, bytes: u64) -> Reading {
        let Imported { buffer, raw, .. } = &self.imported[&id];
        let size = bytes.next_multiple_of(4);
        let staging = self.device.create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size,
            usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        let mut copy = self.device.create_command_encoder(&Default::default());
        copy.copy_buffer_to_buffer(buffer, 0, &staging, 0, Some(size));
        let taken = self.barrier(*raw, vk::QUEUE_FAMILY_EXTERNAL, 0);
        let given = self.barrier(*raw, 0, vk::QUEUE_FAMILY_EXTERNAL);
        self.queue.submit([taken, copy.finish(), given]);
        Reading { staging, bytes }
    }

    fn known(&mut self, external: &External<'_>) {
        if !self.imported.contains_key(&external.id()) {
            let imported = self.import(external);
            self.imported.insert(external.id(), imported);
        }
    }

    /// Has the next submission wait until the batch is ready, and say that it is free.
    fn stage(&self, external: &External<'_>) {
        let Some([ready, free]) = self.imported[&external.id()].semaphores else { return };
        let value = |semaphore: Option<gpufeed::SharedSemaphore<'_>>| semaphore.unwrap().value();
        // SAFETY: nobody else submits to this queue, and the semaphores live as long as the device.
        let hal = unsafe { self.queue.as_hal::<Vulkan>().unwrap() };
        hal.add_wait_semaphore(ready, value(external.ready()), vk::PipelineStageFlags::ALL_COMMANDS);
        hal.add_signal_semaphore(free, value(external.free()));
    }

    /// Waits for a copy.
    pub(crate) fn end(&self, Reading { staging, bytes }: Reading) -> Vec<u8> {
        let (sender, receiver) = channel();
        staging.slice(..).map_async(wgpu::MapMode::Read, move |result| sender.send(result).unwrap());
        self.device.poll(wgpu::PollType::wait_indefinitely()).unwrap();
        receiver.recv().unwrap().unwrap();
        let view = staging.get_mapped_range(..).unwrap();
        view[..bytes as usize].to_vec()
    }

    fn barrier(&self, buffer: vk::Buffer, from: u32, to: u32) -> wgpu::CommandBuffer {
        let mut encoder = self.device.create_command_encoder(&Default::default());
        let barrier = vk::BufferMemoryBarrier::default()
            .src_access_mask(vk::AccessFlags::MEMORY_READ | vk::AccessFlags::MEMORY_WRITE)
            .dst_access_mask(vk::AccessFlags::MEMORY_READ)
            .src_queue_family_index(from)
            .dst_queue_family_index(to)
            .buffer(buffer)
            .size(vk::WHOLE_SIZE);
        let (all, none) = (vk::PipelineStageFlags::ALL_COMMANDS, vk::DependencyFlags::empty());
        // SAFETY: a barrier alone, on a buffer of this device.
        unsafe {
            encoder.as_hal_mut::<Vulkan, _, _>(|hal| {
                self.raw.cmd_pipeline_barrier(hal.unwrap().raw_handle(), all, all, none, &[], &[barrier], &[]);
            });
        }
        encoder.finish()
    }

    fn import(&self, external: &External<'_>) -> Imported {
        let fd = |handle: ExternalHandle| handle.into_raw_fd();
        let usage = vk::BufferUsageFlags::STORAGE_BUFFER
            | vk::BufferUsageFlags::TRANSFER_SRC
            | vk::BufferUsageFlags::TRANSFER_DST;
        let size = external.capacity();
        // SAFETY: the calls are Vulkan's own, on objects of this device; each descriptor becomes the driver's.
        unsafe {
            let mut handles = vk::ExternalMemoryBufferCreateInfo::default().handle_types(MEMORY);
            let info = vk::BufferCreateInfo::default().size(size).usage(usage).push_next(&mut handles);
            let buffer = self.raw.create_buffer(&info, None).unwrap();
            let needs = self.raw.get_buffer_memory_requirements(buffer);
            let own = |index: &u32| {
                let flags = self.types.memory_types[*index as usize].property_flags;
                needs.memory_type_bits & (1 << index) != 0 && flags.contains(vk::MemoryPropertyFlags::DEVICE_LOCAL)
            };
            let kind = (0..self.types.memory_type_count).find(own).unwrap();
            let memory = external.memory().unwrap();
            let mut import = vk::ImportMemoryFdInfoKHR::default().handle_type(MEMORY).fd(fd(memory));
            let mut dedicated = vk::MemoryDedicatedAllocateInfo::default().buffer(buffer);
            let info = vk::MemoryAllocateInfo::default().allocation_size(external.allocation()).memory_type_index(kind);
            let memory =
                self.raw.allocate_memory(&info.push_next(&mut import).push_next(&mut dedicated), None).unwrap();
            self.raw.bind_buffer_memory(buffer, memory, 0).unwrap();
            let managed = wgpu::hal::vulkan::Buffer::from_raw_managed(buffer, memory, 0, external.allocation());
            let descriptor = wgpu::BufferDescriptor {
                label: None,
                size,
                usage: wgpu::BufferUsages::COPY_SRC,
                mapped_at_creation: false,
            };
            let semaphores = [external.ready(), external.free()].map(|semaphore| {
                let semaphore = semaphore?;
                Some(self.semaphore(semaphore.export().unwrap().into_raw_fd(), semaphore.value().is_some()))
            });
            let [Some(ready), Some(free)] = semaphores else {
                assert_eq!(semaphores, [None, None]);
                let buffer_of_wgpu = self.device.create_buffer_from_hal::<Vulkan>(managed, &descriptor);
                return Imported { buffer: buffer_of_wgpu, raw: buffer, semaphores: None };
            };
            let buffer_of_wgpu = self.device.create_buffer_from_hal::<Vulkan>(managed, &descriptor);
            Imported { buffer: buffer_of_wgpu, raw: buffer, semaphores: Some([ready, free]) }
        }
    }

    unsafe fn semaphore(&self, fd: i32, counts: bool) -> vk::Semaphore {
        let functions = khr::external_semaphore_fd::Device::new(&self.instance, &self.raw);
        let mut timeline = vk::SemaphoreTypeCreateInfo::default().semaphore_type(vk::SemaphoreType::TIMELINE);
        let mut info = vk::SemaphoreCreateInfo::default();
        if counts {
            info = info.push_next(&mut timeline);
        }
        // SAFETY: by the caller, as in `import`.
        unsafe {
            let semaphore = self.raw.create_semaphore(&info, None).unwrap();
            let info = vk::ImportSemaphoreFdInfoKHR::default().semaphore(semaphore).handle_type(SEMAPHORE).fd(fd);
            functions.import_semaphore_fd(&info).unwrap();
            semaphore
        }
    }
}

impl Drop for Consumer {
    fn drop(&mut self) {
        self.device.poll(wgpu::PollType::wait_indefinitely()).unwrap();
        for semaphore in self.imported.values().flat_map(|imported| imported.semaphores).flatten() {
            // SAFETY: the device is idle.
            unsafe { self.raw.destroy_semaphore(semaphore, None) };
        }
    }
}
