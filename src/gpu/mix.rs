//! Records the mixing of a finished batch, in f32, before it is packed.

use super::encode::{bind, bind_group, whole};
use super::kernels::Kernels;
use super::mix_dispatches::{MixDispatch, Others, Parameters, dispatches, dispatches_of_each, saved_samples};
use super::target::{MixBuffers, Target};
use super::timing::Timing;
use super::workspace::Workspace;
use super::{ALIGNMENT, Gpu};
use crate::error::{ErrorKind, Result};
use crate::plan::mixing::BatchMixing;

/// Records the dispatches, and hands their parameters to the queue, ahead of the submission that reads them.
pub(super) fn mix(
    commands: &mut wgpu::CommandEncoder,
    kernels: &Kernels,
    mixing: &BatchMixing,
    target: &Target,
    workspace: &Workspace,
    timing: &mut Timing,
) -> Result<()> {
    let (Some(mixer), Some(buffers)) = (kernels.mixer(), &target.mix) else {
        let reason = "the kernels were made without mixing".to_owned();
        return Err(ErrorKind::Device { stage: "mixing", reason }.into());
    };
    let floats = target.floats.as_ref().unwrap_or(&target.output);
    let (dispatches, saved_bytes) = match mixing {
        BatchMixing::All(mixing) => {
            let (sample, dispatches) = (4 * mixing.sample() as u64, dispatches(mixing, mixer.most_samples));
            let (last, several) = (mixing.samples as u64 - 1, dispatches.len() > 1);
            (dispatches, several.then_some(last * sample..(last + 1) * sample))
        }
        BatchMixing::Each(each) => {
            let sample = each.iter().flatten().next().map_or(0, |mixing| 4 * mixing.sample() as u64);
            (dispatches_of_each(each), Some(0..saved_samples(each.len()) as u64 * sample))
        }
    };
    write_parameters(kernels.gpu(), buffers, &dispatches);
    if let (Some(saved), Some(bytes)) = (&buffers.saved, saved_bytes) {
        commands.copy_buffer_to_buffer(floats, bytes.start, saved, 0, Some(bytes.end - bytes.start));
    }
    let mut groups = Vec::with_capacity(dispatches.len());
    for (number, MixDispatch { parameters, batch, others }) in (0..).zip(&dispatches) {
        let others = match (others, &buffers.saved) {
            (Others::Batch(range), _) => bind(floats, range.clone()),
            (Others::Saved, Some(saved)) => whole(saved),
            (Others::SavedPart(range), Some(saved)) => bind(saved, range.clone()),
            (Others::None | Others::Saved | Others::SavedPart(_), _) => whole(&workspace.dummy),
        };
        let begin = number * ALIGNMENT;
        let own = bind(&buffers.parameters, begin..begin + size_of::<Parameters>() as u64);
        let resources = [whole(&buffers.parameters), own, others, bind(floats, batch.clone())];
        groups.push((bind_group(kernels, resources), parameters.threads));
    }
    let timestamp_writes = timing.pass(kernels.first_pass + kernels.passes.len());
    let descriptor = wgpu::ComputePassDescriptor { label: Some("gpufeed mix"), timestamp_writes };
    let mut compute = commands.begin_compute_pass(&descriptor);
    compute.set_pipeline(&mixer.pipeline);
    for (group, threads) in groups {
        let [x, y, z] = kernels.gpu().caps().counted(u64::from(threads).div_ceil(256));
        compute.set_bind_group(0, &group, &[]);
        compute.dispatch_workgroups(x, y, z);
    }
    Ok(())
}

fn write_parameters(gpu: &Gpu, buffers: &MixBuffers, dispatches: &[MixDispatch]) {
    let mut bytes = Vec::with_capacity(dispatches.len() * ALIGNMENT as usize);
    for MixDispatch { parameters, .. } in dispatches {
        bytes.resize(bytes.len().next_multiple_of(ALIGNMENT as usize), 0);
        bytes.extend_from_slice(bytemuck::bytes_of(parameters));
    }
    gpu.queue().write_buffer(&buffers.parameters, 0, &bytes);
}
