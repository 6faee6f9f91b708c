//! Submits recorded work: a slot of the pipeline, or a few images at once.

use super::cache_pages::Page;
use super::encode::{Encoder, Item, pack};
use super::exported::Exported;
use super::kernels::Kernels;
use super::mix::mix;
use super::readback;
use super::staging::Staging;
use super::staging_memory::StagingMemory;
use super::target::Target;
use super::timing::{Times, Timing};
use super::workspace::Workspace;
use super::{Export, Gpu};
use crate::error::{Error, Result};
use crate::plan::mixing::BatchMixing;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// The buffers of a run on the GPU.
#[derive(Debug)]
pub(crate) struct Resources {
    pub(crate) staging: Staging,
    /// The buffer to which slots are copied; `None` if shaders read the slots in place.
    source: Option<wgpu::Buffer>,
    /// The workspace of each group.
    workspaces: Vec<Workspace>,
    /// The timing of passes, which is off unless it is turned on.
    timing: Timing,
    pub(crate) slot_bytes: u64,
    /// Submissions without a slot, oldest first.
    cached_in_flight: VecDeque<wgpu::SubmissionIndex>,
}

/// The most submissions without a slot that may be in flight.
pub(crate) const CACHED_IN_FLIGHT: usize = 3;

/// A full slot.
pub(crate) struct FullSlot<'a> {
    /// Its number.
    pub(crate) slot: usize,
    /// Bytes that were granted.
    pub(crate) used: u64,
    pub(crate) parts: Vec<Part<'a>>,
}

/// The images of one batch, in one group, in a slot.
pub(crate) struct Part<'a> {
    /// The number of the group.
    pub(crate) group: usize,
    pub(crate) items: Vec<Item<'a>>,
    pub(crate) target: &'a Target,
    /// The work that is left for the group, if these images complete it.
    pub(crate) complete: Option<Completion>,
}

/// The cached images of a batch in one group.
pub(crate) struct CachedGroup<'a> {
    /// The images, by the page that has their pixels.
    pub(crate) pages: Vec<(Page, Vec<Item<'a>>)>,
    pub(crate) target: &'a Target,
    /// The work that is left for the group, if these images complete it.
    pub(crate) complete: Option<Completion>,
}

/// The steps for a group of a batch once all of its images are there: they are mixed, and packed.
#[derive(Clone, Debug)]
pub(crate) struct Completion {
    pub(crate) elements: u64,
    pub(crate) mixing: Option<BatchMixing>,
}

impl Completion {
    fn record(
        &self,
        commands: &mut wgpu::CommandEncoder,
        kernels: &Kernels,
        target: &Target,
        workspace: &Workspace,
        timing: &mut Timing,
    ) -> Result<()> {
        if let Some(mixing) = &self.mixing {
            mix(commands, kernels, mixing, target, workspace, timing)?;
        }
        pack(commands, kernels, self.elements, target, workspace, timing);
        Ok(())
    }
}

/// The targets of a submission that another API imports.
#[derive(Default)]
struct ExportedTargets<'a> {
    written: Vec<&'a Exported>,
    completed: Vec<&'a Exported>,
}

impl<'a> ExportedTargets<'a> {
    fn add(&mut self, target: &'a Target, completes: bool) {
        let Some(exported) = &target.exported else { return };
        self.written.push(exported);
        if completes {
            self.completed.push(exported);
        }
    }

    fn submit(self, gpu: &Gpu, commands: wgpu::CommandBuffer) -> wgpu::SubmissionIndex {
        match self.written.is_empty() {
            true => gpu.submit([commands]),
            false => gpu.submit_exported(commands, self.written, &self.completed),
        }
    }
}

impl Resources {
    /// Makes `slots` staging buffers of `slot_bytes` bytes, and for each group, which has kernels, a workspace for so many
    /// images.
    pub(crate) fn new(gpu: &Gpu, slots: usize, slot_bytes: u64, groups: &[(&Kernels, usize)]) -> Result<Resources> {
        let memory = gpu.caps().staging(slots as u64 * slot_bytes);
        let in_place = memory == StagingMemory::InPlace;
        let workspace = |&(kernels, images): &(&Kernels, usize)| Workspace::new(gpu, kernels.plan(), images);
        Ok(Resources {
            staging: Staging::new(gpu, slots, slot_bytes, memory)?,
            source: (!in_place).then(|| gpu.storage("gpufeed source", slot_bytes)).transpose()?,
            workspaces: groups.iter().map(workspace).collect::<Result<_>>()?,
            timing: Timing::new(gpu)?,
            slot_bytes,
            cached_in_flight: VecDeque::new(),
        })
    }

    /// Sets the buffers of groups of padded images to 0, before the first image of a batch is written: images are smaller than
    /// those that the buffers had before. A submission of its own; none where no group is padded.
    pub(crate) fn clear_padding(&mut self, gpu: &Gpu, kernels: &[Kernels], targets: &[Target]) -> Result<()> {
        let padded: Vec<_> = kernels.iter().zip(targets).filter(|(own, _)| own.plan().padded_to().is_some()).collect();
        if padded.is_empty() {
            return Ok(());
        }
        gpu.checked("submit", || {
            let mut encoder = encoder(gpu, "gpufeed padding");
            let mut exported = ExportedTargets::default();
            for (_, target) in padded {
                encoder.clear_buffer(target.floats.as_ref().unwrap_or(&target.output), 0, None);
                exported.add(target, false);
            }
            exported.submit(gpu, encoder.finish());
        })
    }

    /// Makes one submission for full slots: for each the copy, and the passes of each batch in it. Returns how long the
    /// driver computed the GPU's work on this thread.
    pub(crate) fn submit(
        &mut self,
        gpu: &Gpu,
        kernels: &[Kernels],
        slots: Vec<FullSlot<'_>>,
        times: &Times,
    ) -> Result<Duration> {
        let Resources { staging, source, workspaces, timing, .. } = self;
        gpu.checked("submit", || {
            let mut encoder = encoder(gpu, "gpufeed slot");
            timing.begin(&mut encoder, times);
            let mut exported = ExportedTargets::default();
            let numbers: Vec<usize> = slots.iter().map(|full| full.slot).collect();
            for FullSlot { slot, used, parts } in slots {
                staging.unmap(slot);
                let source = match source {
                    Some(source) => {
                        timing.copy(&mut encoder, used, |encoder| {
                            encoder.copy_buffer_to_buffer(staging.buffer(slot), 0, source, 0, Some(used));
                        });
                        &*source
                    }
                    None => staging.buffer(slot),
                };
                for Part { group, mut items, target, complete } in parts {
                    let (kernels, workspace) = (&kernels[group], &mut workspaces[group]);
                    if kernels.cached_stage() == 0 {
                        for (item, to_cache) in items.iter().filter_map(|item| Some((item, item.to_cache.as_ref()?))) {
                            to_cache.copy(&mut encoder, source, 4 * u64::from(item.pixels.offset));
                        }
                    }
                    let mut passes = Encoder { kernels, source, first_stage: 0, target, workspace, timing };
                    passes.stages(&mut encoder, &mut items)?;
                    exported.add(target, complete.is_some());
                    if let Some(completion) = complete {
                        completion.record(&mut encoder, kernels, target, workspace, timing)?;
                    }
                }
            }
            workspaces.iter_mut().for_each(|workspace| workspace.flush_params(gpu));
            let commands = encoder.finish();
            let start = Instant::now();
            let submission = exported.submit(gpu, commands);
            let submitting = start.elapsed();
            timing.submitted(gpu);
            numbers.into_iter().try_for_each(|slot| staging.submitted(slot, submission.clone()))?;
            Ok(if gpu.caps().computes_in_submit { submitting } else { Duration::ZERO })
        })?
    }

    /// True if `wait_for_cached` is due before `submit_cached`. Only this limits cached samples, which take no slots.
    pub(crate) fn cached_are_many(&self) -> bool {
        self.cached_in_flight.len() >= CACHED_IN_FLIGHT
    }

    /// Waits for the oldest submission of cached images.
    pub(crate) fn wait_for_cached(&mut self, gpu: &Gpu) -> Result<()> {
        match self.cached_in_flight.pop_front() {
            Some(oldest) => gpu.wait(Some(oldest)),
            None => Ok(()),
        }
    }

    /// Makes one submission for cached images of one batch, for each group those of each page, without a slot. Returns
    /// how long the driver computed the GPU's work on this thread.
    pub(crate) fn submit_cached(
        &mut self,
        gpu: &Gpu,
        kernels: &[Kernels],
        groups: Vec<CachedGroup<'_>>,
        times: &Times,
    ) -> Result<Duration> {
        let Resources { workspaces, timing, .. } = self;
        let (submission, submitting) = gpu.checked("submit", || {
            let mut encoder = encoder(gpu, "gpufeed cached samples");
            timing.begin(&mut encoder, times);
            let mut exported = ExportedTargets::default();
            let groups = groups.into_iter().zip(kernels).zip(&mut *workspaces);
            for ((CachedGroup { pages, target, complete }, kernels), workspace) in groups {
                let first_stage = kernels.cached_stage();
                for (Page(source), mut items) in pages {
                    let mut passes = Encoder { kernels, source: &source, first_stage, target, workspace, timing };
                    passes.stages(&mut encoder, &mut items)?;
                }
                exported.add(target, complete.is_some());
                if let Some(completion) = complete {
                    completion.record(&mut encoder, kernels, target, workspace, timing)?;
                }
            }
            workspaces.iter_mut().for_each(|workspace| workspace.flush_params(gpu));
            let commands = encoder.finish();
            let start = Instant::now();
            let submission = exported.submit(gpu, commands);
            timing.submitted(gpu);
            Ok::<_, Error>((submission, start.elapsed()))
        })??;
        self.cached_in_flight.push_back(submission);
        gpu.poll_finished("submit")?;
        Ok(if gpu.caps().computes_in_submit { submitting } else { Duration::ZERO })
    }
}

/// Runs the passes on images whose pixels are in `pixels`, mixes them, and reads back the batch of `bytes` bytes. Makes
/// its own buffers at each call: for single samples and tests, not for training.
pub(crate) fn run_once(
    kernels: &Kernels,
    pixels: &[u8],
    mut items: Vec<Item<'_>>,
    bytes: u64,
    mixing: Option<BatchMixing>,
) -> Result<Vec<u8>> {
    let (gpu, plan) = (kernels.gpu(), kernels.plan());
    let (mut workspace, mut timing) = (Workspace::new(gpu, plan, items.len())?, Timing::default());
    let source = gpu.storage("gpufeed source", pixels.len() as u64)?;
    let target = Target::new(kernels, bytes, Export::Off)?;
    gpu.checked("running the passes", || {
        gpu.queue().write_buffer(&source, 0, pixels);
        let mut encoder = encoder(gpu, "gpufeed once");
        let (workspace, timing) = (&mut workspace, &mut timing);
        let mut passes = Encoder { kernels, source: &source, first_stage: 0, target: &target, workspace, timing };
        passes.stages(&mut encoder, &mut items)?;
        let completion = Completion { elements: bytes / plan.output().dtype.bytes() as u64, mixing };
        completion.record(&mut encoder, kernels, &target, workspace, timing)?;
        workspace.flush_params(gpu);
        gpu.submit([encoder.finish()]);
        Ok::<_, Error>(())
    })??;
    readback::read(gpu, &target.output, 0..bytes)
}

fn encoder(gpu: &Gpu, label: &str) -> wgpu::CommandEncoder {
    gpu.device().create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some(label) })
}
