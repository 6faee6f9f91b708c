//! The side of wgpu: a device with a buffer in memory that can be exported, and a shader that fills it.

use crate::facts::{Facts, OPAQUE, OPAQUE_SEMAPHORE, USAGE};
use crate::order::Order;
use crate::pattern::BYTES;
use ash::{khr, vk};
use std::os::fd::{FromRawFd, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use wgpu::hal::api::Vulkan;

/// The longest wait for either side.
pub const PATIENCE: Duration = Duration::from_secs(20);
/// 256 by 256 workgroups of 256 threads: a thread for each word.
const SHADER: &str = "
@group(0) @binding(0) var<storage, read_write> words: array<u32>;
@group(0) @binding(1) var<storage, read> round: u32;
@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>) {
    let index = (group.y * 256u + group.x) * 256u + local.x;
    if index < arrayLength(&words) { words[index] = (index * 2654435761u) ^ round; }
}";

/// Finds a memory type with these properties.
pub fn memory_type(
    types: &vk::PhysicalDeviceMemoryProperties,
    allowed: u32,
    wanted: vk::MemoryPropertyFlags,
) -> Result<u32, String> {
    (0..types.memory_type_count)
        .find(|&index| {
            allowed & (1 << index) != 0 && types.memory_types[index as usize].property_flags.contains(wanted)
        })
        .ok_or_else(|| format!("no memory type has {wanted:?}"))
}

/// What the consumer imports. Each descriptor becomes the importer's.
pub struct Shared {
    pub uuid: [u8; 16],
    pub memory: OwnedFd,
    /// Bytes of the allocation, which may exceed those of the buffer.
    pub bytes: u64,
    pub memory_type: u32,
    pub order: Order,
    /// `ready` and `free`, where semaphores order the sides.
    pub semaphores: Option<[OwnedFd; 2]>,
}

/// The pair of semaphores: the producer signals `ready`, the consumer `free`.
#[derive(Clone, Copy)]
struct Semaphores {
    ready: vk::Semaphore,
    free: vk::Semaphore,
}

pub struct Producer {
    device: wgpu::Device,
    queue: wgpu::Queue,
    pipeline: wgpu::ComputePipeline,
    group: wgpu::BindGroup,
    round: wgpu::Buffer,
    raw: ash::Device,
    buffer: vk::Buffer,
    memory: vk::DeviceMemory,
    memory_functions: khr::external_memory_fd::Device,
    semaphore_functions: khr::external_semaphore_fd::Device,
    bytes: u64,
    memory_type: u32,
    uuid: [u8; 16],
    order: Order,
    semaphores: Option<Semaphores>,
    /// The first error that wgpu reported.
    error: Arc<Mutex<Option<String>>>,
}

impl Producer {
    pub fn open(adapter: &wgpu::Adapter, order: Order) -> Result<Producer, String> {
        let uuid = Facts::of(adapter)?.uuid;
        let limits = wgpu::Limits::default();
        // SAFETY: the callback adds an extension that `Facts::exports` has seen, and removes nothing.
        let open = unsafe {
            let hal = adapter.as_hal::<Vulkan>().ok_or("it is no Vulkan adapter")?;
            let callback: Box<wgpu::hal::vulkan::CreateDeviceCallback> = Box::new(move |arguments| {
                if order.semaphores() {
                    arguments.extensions.push(khr::external_semaphore_fd::NAME);
                }
            });
            let hints = wgpu::MemoryHints::Performance;
            let open = hal.open_with_callback(wgpu::Features::empty(), &limits, &hints, Some(callback));
            open.map_err(|error| format!("the device does not open: {error}"))?
        };
        if !open.device.enabled_device_extensions().contains(&khr::external_memory_fd::NAME) {
            return Err("wgpu did not enable VK_KHR_external_memory_fd".to_owned());
        }
        let descriptor = wgpu::DeviceDescriptor { required_limits: limits, ..Default::default() };
        // SAFETY: the device was opened on this adapter with these limits.
        let (device, queue) = unsafe { adapter.create_device_from_hal::<Vulkan>(open, &descriptor) }
            .map_err(|error| format!("wgpu does not take the device: {error}"))?;
        let error = Arc::new(Mutex::new(None));
        let first = Arc::clone(&error);
        device.on_uncaptured_error(Arc::new(move |error: wgpu::Error| {
            first.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error.to_string());
        }));
        // SAFETY: what is made here is made on this device, and freed by wgpu or by `close`.
        unsafe { Producer::fill(device, queue, uuid, order, error) }
    }

    /// Makes the buffer, the semaphores and the pipeline.
    unsafe fn fill(
        device: wgpu::Device,
        queue: wgpu::Queue,
        uuid: [u8; 16],
        order: Order,
        error: Arc<Mutex<Option<String>>>,
    ) -> Result<Producer, String> {
        unsafe {
            let hal = device.as_hal::<Vulkan>().ok_or("it is no Vulkan device")?;
            let (raw, instance) = (hal.raw_device().clone(), hal.shared_instance().raw_instance().clone());
            let types = instance.get_physical_device_memory_properties(hal.raw_physical_device());
            drop(hal);
            let mut external = vk::ExternalMemoryBufferCreateInfo::default().handle_types(OPAQUE);
            let info = vk::BufferCreateInfo::default().size(BYTES).usage(USAGE).push_next(&mut external);
            let buffer = raw.create_buffer(&info, None).map_err(failed("vkCreateBuffer"))?;
            let needs = raw.get_buffer_memory_requirements(buffer);
            let memory_type = memory_type(&types, needs.memory_type_bits, vk::MemoryPropertyFlags::DEVICE_LOCAL)?;
            let mut export = vk::ExportMemoryAllocateInfo::default().handle_types(OPAQUE);
            let mut dedicated = vk::MemoryDedicatedAllocateInfo::default().buffer(buffer);
            let info = vk::MemoryAllocateInfo::default().allocation_size(needs.size).memory_type_index(memory_type);
            let info = info.push_next(&mut export).push_next(&mut dedicated);
            let memory = raw.allocate_memory(&info, None).map_err(failed("vkAllocateMemory, exportable"))?;
            raw.bind_buffer_memory(buffer, memory, 0).map_err(failed("vkBindBufferMemory"))?;
            let semaphores = if order.semaphores() {
                let make = || semaphore(&raw, order).map_err(failed("vkCreateSemaphore, exportable"));
                Some(Semaphores { ready: make()?, free: make()? })
            } else {
                None
            };
            // wgpu frees the buffer and its memory.
            let managed = wgpu::hal::vulkan::Buffer::from_raw_managed(buffer, memory, 0, needs.size);
            let descriptor = wgpu::BufferDescriptor {
                label: Some("shared"),
                size: BYTES,
                usage: wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST,
                mapped_at_creation: false,
            };
            let shared = device.create_buffer_from_hal::<Vulkan>(managed, &descriptor);
            let (pipeline, group, round) = pipeline(&device, &shared);
            Ok(Producer {
                memory_functions: khr::external_memory_fd::Device::new(&instance, &raw),
                semaphore_functions: khr::external_semaphore_fd::Device::new(&instance, &raw),
                bytes: needs.size,
                device,
                queue,
                pipeline,
                group,
                round,
                raw,
                buffer,
                memory,
                memory_type,
                uuid,
                order,
                semaphores,
                error,
            })
        }
    }

    /// Exports the memory. Each call gives a descriptor of its own.
    pub fn memory_fd(&self) -> Result<OwnedFd, String> {
        let info = vk::MemoryGetFdInfoKHR::default().memory(self.memory).handle_type(OPAQUE);
        // SAFETY: the memory was allocated for this handle type, and the descriptor is new.
        unsafe {
            let fd = self.memory_functions.get_memory_fd(&info).map_err(failed("vkGetMemoryFdKHR"))?;
            Ok(OwnedFd::from_raw_fd(fd))
        }
    }

    pub fn share(&self) -> Result<Shared, String> {
        let export = |semaphore| {
            let info = vk::SemaphoreGetFdInfoKHR::default().semaphore(semaphore).handle_type(OPAQUE_SEMAPHORE);
            // SAFETY: the semaphore was made for this handle type, and the descriptor is new.
            unsafe {
                let fd = self.semaphore_functions.get_semaphore_fd(&info).map_err(failed("vkGetSemaphoreFdKHR"))?;
                Ok::<OwnedFd, String>(OwnedFd::from_raw_fd(fd))
            }
        };
        let semaphores = match self.semaphores {
            Some(Semaphores { ready, free }) => Some([export(ready)?, export(free)?]),
            None => None,
        };
        let &Producer { uuid, bytes, memory_type, order, .. } = self;
        Ok(Shared { uuid, memory: self.memory_fd()?, bytes, memory_type, order, semaphores })
    }

    /// Fills the buffer with the words of a round, as soon as the consumer has read those of the round before.
    pub fn write(&mut self, round: u32) -> Result<(), String> {
        self.queue.write_buffer(&self.round, 0, &round.to_ne_bytes());
        if let Some(Semaphores { ready, free }) = self.semaphores {
            // SAFETY: both apply to the next submission, which is the one below, as nobody else has this queue.
            let hal = unsafe { self.queue.as_hal::<Vulkan>() }.ok_or("it is no Vulkan queue")?;
            let value = |value: u32| (self.order == Order::Timeline).then_some(u64::from(value));
            if round > 0 {
                hal.add_wait_semaphore(free, value(round), vk::PipelineStageFlags::COMPUTE_SHADER);
            }
            hal.add_signal_semaphore(ready, value(round + 1));
        }
        let mut encoder = self.device.create_command_encoder(&Default::default());
        let mut pass = encoder.begin_compute_pass(&Default::default());
        pass.set_pipeline(&self.pipeline);
        pass.set_bind_group(0, &self.group, &[]);
        pass.dispatch_workgroups(256, (BYTES / 4 / 256 / 256) as u32, 1);
        drop(pass);
        let submission = self.queue.submit([encoder.finish(), self.release()]);
        if self.order == Order::Host {
            self.wait(Some(submission))?;
        }
        self.error.lock().unwrap_or_else(PoisonError::into_inner).clone().map_or(Ok(()), Err)
    }

    /// The release to the other API that Vulkan's rules ask for. It has an encoder of its own, as wgpu panics where its
    /// own commands and raw ones share one ("Mixing the wgpu encoding API with the raw encoding API is not permitted").
    fn release(&self) -> wgpu::CommandBuffer {
        let mut encoder = self.device.create_command_encoder(&Default::default());
        // SAFETY: a barrier alone, which leaves the encoder as it was.
        unsafe {
            encoder.as_hal_mut::<Vulkan, _, _>(|hal| {
                let barrier = vk::BufferMemoryBarrier::default()
                    .src_access_mask(vk::AccessFlags::SHADER_WRITE)
                    .src_queue_family_index(0)
                    .dst_queue_family_index(vk::QUEUE_FAMILY_EXTERNAL)
                    .buffer(self.buffer)
                    .size(vk::WHOLE_SIZE);
                let (from, to) = (vk::PipelineStageFlags::COMPUTE_SHADER, vk::PipelineStageFlags::BOTTOM_OF_PIPE);
                let commands = hal.expect("the device is one of Vulkan").raw_handle();
                self.raw.cmd_pipeline_barrier(commands, from, to, vk::DependencyFlags::empty(), &[], &[barrier], &[]);
            });
        }
        encoder.finish()
    }

    fn wait(&self, submission: Option<wgpu::SubmissionIndex>) -> Result<(), String> {
        let poll = wgpu::PollType::Wait { submission_index: submission, timeout: Some(PATIENCE) };
        self.device.poll(poll).map(drop).map_err(|error| format!("the producer's work does not end: {error}"))
    }

    /// Waits for the device, and frees what wgpu does not know.
    pub fn close(self) -> Result<(), String> {
        self.wait(None)?;
        for semaphore in self.semaphores.into_iter().flat_map(|Semaphores { ready, free }| [ready, free]) {
            // SAFETY: no work is left that waits for it or signals it.
            unsafe { self.raw.destroy_semaphore(semaphore, None) };
        }
        Ok(())
    }
}

/// Makes a semaphore that can be exported.
unsafe fn semaphore(raw: &ash::Device, order: Order) -> Result<vk::Semaphore, vk::Result> {
    let mut export = vk::ExportSemaphoreCreateInfo::default().handle_types(OPAQUE_SEMAPHORE);
    let mut timeline = vk::SemaphoreTypeCreateInfo::default().semaphore_type(vk::SemaphoreType::TIMELINE);
    let mut info = vk::SemaphoreCreateInfo::default().push_next(&mut export);
    if order == Order::Timeline {
        info = info.push_next(&mut timeline);
    }
    unsafe { raw.create_semaphore(&info, None) }
}

fn pipeline(device: &wgpu::Device, shared: &wgpu::Buffer) -> (wgpu::ComputePipeline, wgpu::BindGroup, wgpu::Buffer) {
    let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
        label: None,
        source: wgpu::ShaderSource::Wgsl(SHADER.into()),
    });
    let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
        label: None,
        layout: None,
        module: &module,
        entry_point: Some("main"),
        compilation_options: Default::default(),
        cache: None,
    });
    let round = device.create_buffer(&wgpu::BufferDescriptor {
        label: None,
        size: 4,
        usage: wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_DST,
        mapped_at_creation: false,
    });
    let group = device.create_bind_group(&wgpu::BindGroupDescriptor {
        label: None,
        layout: &pipeline.get_bind_group_layout(0),
        entries: &[
            wgpu::BindGroupEntry { binding: 0, resource: shared.as_entire_binding() },
            wgpu::BindGroupEntry { binding: 1, resource: round.as_entire_binding() },
        ],
    });
    (pipeline, group, round)
}

/// Makes the sentence of a call of Vulkan that failed.
pub fn failed(call: &'static str) -> impl Fn(vk::Result) -> String {
    move |result| format!("{call} returns {result:?}")
}
