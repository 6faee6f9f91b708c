//! The GPU executor: shaders augment, from staging slots.

use super::ExecutorBuffers;
use crate::error::Result;
use crate::gpu::Compile;
use crate::gpu::Gpu;
use crate::gpu::kernels::Kernels;
use crate::gpu::submission::Resources;
use crate::gpu::target::Target;
use crate::loader::buffers::BufferRing;
use crossbeam_channel::{Receiver, Sender};
use std::sync::Arc;

/// The kernels and buffers of the GPU executor.
#[derive(Debug)]
pub(in crate::loader) struct GpuBuffers {
    pub(in crate::loader) kernels: Kernels,
    pub(in crate::loader) outputs: Arc<BufferRing<Target>>,
    /// Staging slots and workspace between runs.
    pub(in crate::loader) resources: (Sender<Resources>, Receiver<Resources>),
    pub(in crate::loader) slots: usize,
    pub(in crate::loader) slot_bytes: u64,
    /// The most samples in a slot, or in a submission of cached samples.
    pub(in crate::loader) slot_samples: usize,
    /// Images of each sample.
    pub(in crate::loader) sample_images: usize,
}

impl ExecutorBuffers for GpuBuffers {
    fn gpu(&self) -> Option<&Gpu> {
        Some(self.kernels.gpu())
    }

    fn enter(&self) -> Result<()> {
        self.outputs.enter()
    }

    fn leave(&self) {
        self.outputs.leave();
    }

    fn allocate(&self, batch_bytes: u64) -> Result<()> {
        let resources = self.take_resources()?;
        self.outputs.fill(|| Target::new(&self.kernels, batch_bytes))?;
        self.return_resources(resources);
        Ok(())
    }

    fn compile(&self) -> Option<Compile> {
        Some(self.kernels.compile())
    }

    fn describe(&self) -> String {
        let (gpu, slots) = (self.kernels.gpu(), self.slots);
        let caps = gpu.caps();
        let merged = match caps.merged_slots {
            1 => "each is a submission".to_owned(),
            most => format!("up to {most} full ones are one submission, where the device waits"),
        };
        let memory = gpu.memory().map_or_else(String::new, |memory| format!("; {memory}"));
        format!("{gpu}, {slots} slots of {} MiB, {}\nslots: {merged}{memory}", self.slot_bytes >> 20, caps.staging)
    }
}

impl GpuBuffers {
    /// Stages of the plan that the kernels run.
    pub(in crate::loader) fn stages(&self) -> usize {
        self.kernels.plan().stages().len()
    }

    /// The most images of a submission.
    fn submission_images(&self) -> usize {
        self.slot_samples * self.sample_images * self.kernels.gpu().caps().merged_slots
    }

    /// Slots and workspace of an earlier run, or new ones.
    pub(in crate::loader) fn take_resources(&self) -> Result<Resources> {
        if let Ok(resources) = self.resources.1.try_recv() {
            return Ok(resources);
        }
        Resources::new(&self.kernels, self.slots, self.slot_bytes, self.submission_images())
    }

    pub(in crate::loader) fn return_resources(&self, resources: Resources) {
        let _ = self.resources.0.try_send(resources);
    }
}
