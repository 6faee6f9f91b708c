//! wgpu has no Vulkan here, so nothing of this is ever made.

use super::{ExternalHandle, Handover, Point, Refused};
use std::convert::Infallible;

pub(in crate::gpu) type Semaphore = u64;

pub(in crate::gpu) fn open(
    _: &wgpu::Adapter,
    _: &wgpu::DeviceDescriptor<'_>,
) -> Option<Result<(wgpu::Device, wgpu::Queue), wgpu::RequestDeviceError>> {
    None
}

pub(in crate::gpu) fn handover(_: &wgpu::Device) -> Result<Handover, &'static str> {
    Err("its API is another than Vulkan")
}

#[derive(Debug)]
pub(in crate::gpu) struct ExternalBuffer {
    pub(in crate::gpu) allocation: u64,
    never: Infallible,
}

impl ExternalBuffer {
    pub(in crate::gpu) fn new(
        _: &wgpu::Device,
        _: &str,
        _: u64,
        _: Handover,
        _: bool,
    ) -> Result<(wgpu::Buffer, ExternalBuffer), Refused> {
        Err(Refused::Other("not a Vulkan device".to_owned()))
    }

    pub(in crate::gpu) fn export_memory(&self) -> Result<ExternalHandle, String> {
        match self.never {}
    }

    pub(in crate::gpu) fn ready(&self) -> Option<Semaphore> {
        match self.never {}
    }

    pub(in crate::gpu) fn free(&self) -> Option<Semaphore> {
        match self.never {}
    }

    pub(in crate::gpu) fn export(&self, _: Semaphore) -> Result<ExternalHandle, String> {
        match self.never {}
    }

    pub(in crate::gpu) fn release(&self) -> wgpu::CommandBuffer {
        match self.never {}
    }
}

pub(in crate::gpu) fn stage(_: &wgpu::Queue, _: &[Point], _: &[Point]) {}

pub(in crate::gpu) fn unstage(_: &wgpu::Queue, _: &[Point], _: &[Point]) -> bool {
    false
}
