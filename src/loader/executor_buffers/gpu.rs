//! The GPU executor: shaders augment, from staging slots.

use super::{ExecutorBuffers, handed_over};
use crate::error::Result;
use crate::gpu::kernels::Kernels;
use crate::gpu::submission::Resources;
use crate::gpu::target::Target;
use crate::gpu::{Compile, Export, Gpu};
use crate::loader::buffers::BufferRing;
use crate::loader::group::Group;
use crossbeam_channel::{Receiver, Sender};
use std::sync::Arc;

/// The kernels and buffers of the GPU executor: those of each group, in the order of the groups.
#[derive(Debug)]
pub(in crate::loader) struct GpuBuffers {
    pub(in crate::loader) gpu: Gpu,
    pub(in crate::loader) kernels: Vec<Kernels>,
    /// Bytes of a batch's images in each group.
    pub(in crate::loader) group_bytes: Vec<u64>,
    pub(in crate::loader) outputs: Arc<BufferRing<Vec<Target>>>,
    pub(in crate::loader) export: Export,
    /// Staging slots and workspace between runs.
    pub(in crate::loader) resources: (Sender<Resources>, Receiver<Resources>),
    pub(in crate::loader) slots: usize,
    pub(in crate::loader) slot_bytes: u64,
    /// The most samples in a slot, or in a submission of cached samples.
    pub(in crate::loader) slot_samples: usize,
    /// Images of each sample in each group.
    pub(in crate::loader) sample_images: Vec<usize>,
}

impl ExecutorBuffers for GpuBuffers {
    fn gpu(&self) -> Option<&Gpu> {
        Some(&self.gpu)
    }

    fn enter(&self) -> Result<()> {
        self.outputs.enter()
    }

    fn leave(&self) {
        self.outputs.leave();
    }

    fn allocate(&self, _: u64) -> Result<()> {
        let resources = self.take_resources()?;
        self.outputs.fill(|| self.targets())?;
        self.return_resources(resources);
        Ok(())
    }

    fn compile(&self) -> Option<Compile> {
        let mut all = Compile::default();
        self.kernels.iter().for_each(|kernels| all.add(kernels.compile()));
        Some(all)
    }

    fn describe(&self) -> String {
        let (gpu, slots) = (&self.gpu, self.slots);
        let caps = gpu.caps();
        let merged = match caps.merged_slots {
            1 => "each is a submission".to_owned(),
            most => format!("up to {most} full ones are one submission, where the device waits"),
        };
        let memory = gpu.memory().map_or_else(String::new, |memory| format!("; {memory}"));
        let staging = caps.staging(slots as u64 * self.slot_bytes);
        let handed_over = handed_over(gpu, self.export);
        format!(
            "{gpu}, {slots} slots of {} MiB, {staging}\nslots: {merged}{memory}{handed_over}",
            self.slot_bytes >> 20
        )
    }
}

impl GpuBuffers {
    /// Stages of the plan that the kernels of a group run.
    pub(in crate::loader) fn stages(&self, group: usize) -> usize {
        self.kernels[group].plan().stages().len()
    }

    /// Buffers for a batch, for each group.
    pub(in crate::loader) fn targets(&self) -> Result<Vec<Target>> {
        let target = |(kernels, &bytes): (&Kernels, &u64)| Target::new(kernels, bytes, self.export);
        self.kernels.iter().zip(&self.group_bytes).map(target).collect()
    }

    /// The names of the passes of all groups, in the order of their numbers in the timing.
    pub(in crate::loader) fn pass_names(&self, groups: &[Group]) -> Vec<String> {
        let of_several = groups.len() > 1;
        let name = |group: &Group, pass: String| if of_several { format!("{}: {pass}", group.name) } else { pass };
        let names = groups.iter().zip(&self.kernels);
        names.flat_map(|(group, kernels)| kernels.pass_names().into_iter().map(move |pass| name(group, pass))).collect()
    }

    /// Slots and workspace of an earlier run, or new ones.
    pub(in crate::loader) fn take_resources(&self) -> Result<Resources> {
        if let Ok(resources) = self.resources.1.try_recv() {
            return Ok(resources);
        }
        // The most images of a submission.
        let samples = self.slot_samples * self.gpu.caps().merged_slots;
        let groups: Vec<_> =
            self.kernels.iter().zip(&self.sample_images).map(|(kernels, images)| (kernels, samples * images)).collect();
        Resources::new(&self.gpu, self.slots, self.slot_bytes, &groups)
    }

    pub(in crate::loader) fn return_resources(&self, resources: Resources) {
        let _ = self.resources.0.try_send(resources);
    }
}
