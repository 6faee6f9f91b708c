//! The kernels and buffers of a loader whose batches shaders make.

use super::DataLoaderBuilder;
use crate::advice::Setting;
use crate::error::{ErrorKind, Result};
use crate::gpu::Gpu;
use crate::gpu::kernels::{Kernels, MixSizes};
use crate::gpu::staging::SLOTS;
use crate::gpu::submission::CACHED_IN_FLIGHT;
use crate::gpu::target::{Target, check_made_batch};
use crate::gpu::workspace::Workspace;
use crate::loader::buffers::{Budget, BufferRing, Workers};
use crate::loader::cache::Cache;
use crate::loader::executor_buffers::GpuBuffers;
use crate::loader::group::Group;
use crate::loader::pipeline::Execution;
use crate::plan::Plan;
use crate::plan::cpu_fallback::REGION_BYTES;
use crate::transforms::BatchTransform;
use crossbeam_channel::bounded;
use std::sync::Arc;

/// A group with the plan that its kernels run, and the first stage that runs on cached pixels.
struct OfKernels<'a> {
    group: &'a Group,
    plan: Plan,
    cached_stage: usize,
}

impl DataLoaderBuilder {
    /// The most samples in a staging slot: those of one batch, and the same number that replace failed ones of earlier
    /// batches; fewer where a binding has no room for their parameters.
    fn slot_samples(&self, gpu: &Gpu, all: &[OfKernels<'_>]) -> Result<usize> {
        let mut samples = self.settings.batch_size.saturating_mul(2);
        for OfKernels { group, plan, .. } in all {
            let most = Workspace::most_images(gpu.caps(), plan);
            if most < group.outputs {
                return Err(ErrorKind::DoesNotFit {
                    what: "the parameters of one sample",
                    needed: Workspace::bytes_for(plan, group.outputs, 0),
                    limit: gpu.caps().max_binding_bytes,
                    whose: "a binding of this adapter",
                    settings: &[Setting::Views],
                }
                .into());
            }
            samples = samples.min((most / group.outputs / gpu.caps().merged_slots).max(1));
        }
        Ok(samples)
    }

    /// Bytes of a staging slot. It has room for the most that is copied at once: the pixels that shaders read for an image,
    /// or four floats for each pixel of an image that the CPU executor finishes. A sample that needs more goes on in
    /// further slots.
    fn bytes_of_a_slot(&self, gpu: &Gpu, groups: &[Group]) -> Result<u64> {
        let binding = gpu.caps().max_binding_bytes;
        let a_float_image = |group: &Group| 16 * u64::from(group.size.0) * u64::from(group.size.1);
        let largest = groups.iter().map(a_float_image).fold(REGION_BYTES, u64::max);
        let slot_bytes = self.settings.slot_bytes.max(largest);
        let slot_bytes = slot_bytes.checked_next_multiple_of(256).unwrap_or(slot_bytes);
        if slot_bytes > binding {
            let settings: &[_] = match self.settings.slot_bytes > binding {
                true => &[Setting::SlotBytes],
                false => &[Setting::OutputSize],
            };
            return Err(ErrorKind::DoesNotFit {
                what: "a slot",
                needed: slot_bytes,
                limit: binding,
                whose: "a binding of this adapter",
                settings,
            }
            .into());
        }
        Ok(slot_bytes)
    }

    /// Bytes that mixing adds to each target; `None` if batches are not mixed.
    fn mix_sizes(&self, gpu: &Gpu, group: &Group) -> Result<Option<MixSizes>> {
        let elements = group.image_bytes() / group.plan().output().dtype.bytes();
        let sizes = |transform: &BatchTransform| {
            MixSizes::new(gpu, self.settings.batch_size, group.outputs, elements, transform.mixes_each())
        };
        self.recipe.batch_transform.as_ref().map(sizes).transpose()
    }

    pub(super) fn on_gpu(
        &self,
        gpu: &Gpu,
        groups: &[Group],
        group_bytes: Vec<u64>,
        workers: Workers,
        base: usize,
    ) -> Result<(Execution, Budget)> {
        groups.iter().try_for_each(|group| gpu.caps().check_image(group.size))?;
        let mut all = Vec::with_capacity(groups.len());
        for group in groups {
            let (plan, cached_stage) = group.split.plan_for_kernels();
            all.push(OfKernels { group, plan, cached_stage });
        }
        let slot_bytes = self.bytes_of_a_slot(gpu, groups)?;
        let slot_samples = self.slot_samples(gpu, &all)?;
        let copies = SLOTS as u64 + u64::from(!gpu.mappable());
        let cached = if matches!(self.settings.cache, Cache::Device(_)) { CACHED_IN_FLIGHT } else { 0 };
        let in_flight = (SLOTS + cached) as u64;
        let (mut fixed, mut a_target, mut mixes) = (slot_bytes.saturating_mul(copies), 0_u64, Vec::new());
        for (OfKernels { group, plan, .. }, &bytes) in all.iter().zip(&group_bytes) {
            let images = slot_samples * group.outputs * gpu.caps().merged_slots;
            fixed = fixed.saturating_add(Workspace::bytes_for(plan, images, in_flight));
            let mix = self.mix_sizes(gpu, group)?;
            let of_group = Target::bytes_for(plan, bytes).saturating_add(mix.map_or(0, |sizes| sizes.bytes()));
            a_target = a_target.saturating_add(of_group);
            mixes.push(mix);
        }
        let budget = Budget::new(self.settings.memory_budget, base, fixed, a_target, workers)?;
        let outputs = BufferRing::new(base, budget);
        let (mut kernels, mut first_pass) = (Vec::with_capacity(all.len()), 0);
        for ((OfKernels { group, plan, cached_stage }, mix), &bytes) in all.iter().zip(mixes).zip(&group_bytes) {
            check_made_batch(gpu, plan, bytes)?;
            let mut own = Kernels::new(gpu, plan, *cached_stage)?.numbered_from(first_pass);
            if let Some(sizes) = mix {
                let blends_bytes = self.recipe.batch_transform.as_ref().is_some_and(BatchTransform::blends_bytes);
                own = own.with_mixer(sizes, group.sample_elements(), blends_bytes)?;
            }
            own.warm_up();
            first_pass += own.pass_names().len();
            kernels.push(own);
        }
        let (slots, resources) = (SLOTS, bounded(1));
        let sample_images = groups.iter().map(|group| group.outputs).collect();
        let buffers = GpuBuffers {
            gpu: gpu.clone(),
            kernels,
            group_bytes,
            outputs,
            export: self.export,
            resources,
            slots,
            slot_bytes,
            slot_samples,
            sample_images,
        };
        Ok((Execution::Gpu(Arc::new(buffers)), budget))
    }
}
