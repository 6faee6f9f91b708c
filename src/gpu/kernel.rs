//! A plan's compute pipelines, and the dispatches of a chunk of images.

use super::cache_pages::{Page, PageRange};
use super::workspace::Workspace;
use super::{ALIGNMENT, Gpu};
use crate::error::{Error, ErrorKind, Result};
use crate::plan::cpu_fallback::intermediate_bytes;
use crate::plan::params::{Image, PixelsAt};
use crate::plan::pass::Pass;
use crate::plan::program::Program;
use crate::plan::wgsl::{GROUP, PARTIALS, ROWS};
use crate::plan::{DType, Plan};
use std::num::NonZero;
use std::ops::Range;

/// A plan's pipelines.
#[derive(Debug)]
pub(crate) struct Kernels {
    gpu: Gpu,
    plan: Plan,
    passes: Vec<(Pass, wgpu::ComputePipeline)>,
    /// The stage that reads cached pixels; the stages before it have made them.
    cached_stage: usize,
}

/// One image of a chunk: where its pixels are, and its place in the batch.
#[derive(Debug)]
pub(crate) struct Item<'a> {
    pub(crate) program: &'a Program,
    pub(crate) pixels: PixelsAt,
    pub(crate) index: usize,
    /// The copy of its pixels to the cache.
    pub(crate) to_cache: Option<CacheCopy>,
}

/// A range of a page that an image is copied to: its source, or the intermediate that the kernels' cached stage reads.
#[derive(Clone, Debug)]
pub(crate) struct CacheCopy {
    pub(crate) page: Page,
    pub(crate) range: PageRange,
}

impl CacheCopy {
    /// Records the copy from byte `from` of a buffer.
    pub(super) fn copy(&self, encoder: &mut wgpu::CommandEncoder, buffer: &wgpu::Buffer, from: u64) {
        let PageRange { offset, bytes, .. } = self.range;
        encoder.copy_buffer_to_buffer(buffer, from, &self.page.0, offset, Some(bytes));
    }
}

/// The buffers that a batch is written to.
#[derive(Debug)]
pub(crate) struct Target {
    /// The batch in its own type.
    pub(crate) output: wgpu::Buffer,
    /// The batch in f32, where the output's type is another; packed from here when the batch is complete.
    pub(crate) floats: Option<wgpu::Buffer>,
}

impl Target {
    /// Buffers for a batch of `bytes` bytes.
    pub(crate) fn new(gpu: &Gpu, plan: &Plan, bytes: u64) -> Result<Target> {
        let floats = float_scratch_bytes(plan, bytes);
        Ok(Target {
            output: gpu.storage("gpufeed batch", bytes.next_multiple_of(4))?,
            floats: (floats > 0).then(|| gpu.storage("gpufeed batch in f32", floats)).transpose()?,
        })
    }

    /// A buffer alone, for batches that arrive in their own type.
    pub(crate) fn plain(gpu: &Gpu, bytes: u64) -> Result<Target> {
        Ok(Target { output: gpu.storage("gpufeed batch", bytes.next_multiple_of(4))?, floats: None })
    }

    /// Bytes of GPU memory of a target.
    pub(crate) fn bytes_for(plan: &Plan, bytes: u64) -> u64 {
        bytes.next_multiple_of(4) + float_scratch_bytes(plan, bytes)
    }
}

/// Bytes of the f32 version of a batch of `bytes` bytes; 0 where the batch is f32 itself.
fn float_scratch_bytes(plan: &Plan, bytes: u64) -> u64 {
    match plan.output().dtype {
        DType::F32 => 0,
        dtype => bytes / dtype.bytes() as u64 * 4,
    }
}

fn bind(buffer: &wgpu::Buffer, range: Range<u64>) -> wgpu::BindingResource<'_> {
    wgpu::BindingResource::Buffer(wgpu::BufferBinding {
        buffer,
        offset: range.start,
        size: NonZero::new(range.end - range.start),
    })
}

impl Kernels {
    /// Generates the plan's shaders, and compiles those that this device has not compiled before.
    pub(crate) fn new(gpu: &Gpu, plan: &Plan, cached_stage: usize) -> Result<Kernels> {
        gpu.healthy("compiling the shaders")?;
        let compile = |pass: &Pass| Ok((*pass, gpu.pipeline(&format!("gpufeed {pass:?}"), plan.shader(*pass))?));
        let passes = plan.pass_list().iter().map(compile).collect::<Result<_>>()?;
        Ok(Kernels { gpu: gpu.clone(), plan: plan.clone(), passes, cached_stage })
    }

    fn bindings(&self, resources: [wgpu::BindingResource<'_>; 4]) -> wgpu::BindGroup {
        let entries: Vec<_> = resources
            .into_iter()
            .zip(0..)
            .map(|(resource, binding)| wgpu::BindGroupEntry { binding, resource })
            .collect();
        self.gpu.device().create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some("gpufeed"),
            layout: self.gpu.pass_layout(),
            entries: &entries,
        })
    }

    /// Bytes of one image in f32.
    fn float_bytes(&self, program: &Program) -> u64 {
        let (width, height) = program.size();
        u64::from(width) * u64::from(height) * u64::from(self.plan.channels()) * 4
    }

    /// Records the stages of `items` (images of one batch) into `encoder`, in as many chunks as the bindings need.
    ///
    /// Parameters go to `workspace`, which uploads them before the submission. The stages are those from `first_stage` on:
    /// 0, or the cached stage where the source is a page.
    pub(crate) fn encode(
        &self,
        encoder: &mut wgpu::CommandEncoder,
        (source, first_stage): (&wgpu::Buffer, usize),
        items: &mut [Item<'_>],
        target: &Target,
        workspace: &mut Workspace,
    ) -> Result<()> {
        items.sort_by_key(|item| item.index);
        let limit = self.gpu.device().limits().max_storage_buffer_binding_size;
        let mut begin = 0;
        while begin < items.len() {
            let image = self.float_bytes(items[begin].program);
            let first = items[begin].index as u64 * image / ALIGNMENT * ALIGNMENT;
            let mut intermediate = 0;
            let mut end = begin;
            while let Some(item) = items.get(end) {
                intermediate += intermediate_bytes(item.program);
                let output = (item.index as u64 + 1) * image - first;
                let fits = intermediate <= workspace.intermediate_capacity()
                    && output <= limit
                    && workspace.has_room(end - begin + 1);
                if !fits && end == begin {
                    return Err(ErrorKind::DoesNotFit {
                        what: "one image",
                        needed: intermediate.max(output),
                        limit: limit.min(workspace.intermediate_capacity().max(image)),
                        whose: "what a binding of this adapter holds",
                        setting: "the output size",
                    }
                    .into());
                }
                if !fits {
                    break;
                }
                end += 1;
            }
            self.encode_chunk(encoder, (source, first_stage), &items[begin..end], target, first, workspace)?;
            begin = end;
        }
        Ok(())
    }

    fn encode_chunk(
        &self,
        encoder: &mut wgpu::CommandEncoder,
        (source, first_stage): (&wgpu::Buffer, usize),
        items: &[Item<'_>],
        target: &Target,
        first: u64,
        workspace: &mut Workspace,
    ) -> Result<()> {
        let last_stage = self.plan.stages().len() - 1;
        let image = self.float_bytes(items[0].program);
        let out = target.floats.as_ref().unwrap_or(&target.output);
        let out_end = ((items[items.len() - 1].index as u64 + 1) * image).next_multiple_of(4);
        let mut params = 0..0;
        let mut written_stage = None;
        for (number, (which, pipeline)) in self.passes.iter().enumerate() {
            let (stage, is_statistic) = match *which {
                Pass::Statistic { stage, .. } => (stage, true),
                Pass::Stage { stage } => (stage, false),
                Pass::Pack => continue,
            };
            if stage < first_stage {
                continue;
            }
            if written_stage != Some(stage) {
                params = workspace.write_params(|bytes| self.write_stage(items, (stage, first_stage), first, bytes))?;
                written_stage = Some(stage);
            }
            // A pass each: timestamps are taken at the borders of passes.
            let timestamp_writes = workspace.timing.pass(number);
            let descriptor = wgpu::ComputePassDescriptor { label: Some("gpufeed"), timestamp_writes };
            let mut pass = encoder.begin_compute_pass(&descriptor);
            let read = if stage == first_stage { source } else { workspace.intermediate(stage - 1) };
            let whole = |buffer: &'_ wgpu::Buffer| 0..buffer.size();
            let write = match (is_statistic, stage == last_stage) {
                (true, _) => bind(workspace.dummy(), whole(workspace.dummy())),
                (false, true) => bind(out, first..out_end),
                (false, false) => bind(workspace.intermediate(stage), whole(workspace.intermediate(stage))),
            };
            let group = self.bindings([
                bind(read, whole(read)),
                bind(workspace.params(), params.clone()),
                bind(workspace.statistics(), whole(workspace.statistics())),
                write,
            ]);
            let [x, y, z] = workgroups(items, stage, is_statistic);
            pass.set_pipeline(pipeline);
            pass.set_bind_group(0, &group, &[]);
            pass.dispatch_workgroups(x, y, z);
            drop(pass);
            if !is_statistic && stage + 1 == self.cached_stage {
                cache_intermediates(encoder, items, stage, workspace.intermediate(stage));
            }
        }
        Ok(())
    }

    /// Appends the parameters of `stage` for every item.
    pub(super) fn write_stage(
        &self,
        items: &[Item<'_>],
        (stage, first_stage): (usize, usize),
        first: u64,
        bytes: &mut Vec<u8>,
    ) {
        let last = stage + 1 == self.plan.stages().len();
        let max_steps = self.plan.stages()[stage].steps;
        // Intermediates lie one behind the other, in the order of the items.
        let (mut read_at, mut write_at) = (0, 0);
        for (number, item) in (0..).zip(items) {
            let program = &item.program.stages[stage];
            let (width, height) = program.sampling.size();
            let source = if stage == first_stage {
                item.pixels
            } else {
                let (width, height) = item.program.stages[stage - 1].sampling.size();
                let source = PixelsAt { offset: read_at, stride: width, float: true };
                read_at += width * height;
                source
            };
            let image = self.float_bytes(item.program);
            let target = if last { ((item.index as u64 * image - first) / 4) as u32 } else { write_at };
            write_at += width * height;
            let mut image = Image::new(program, source, target, number);
            if stage == 0 && source.float {
                // There the strip kernel reads bytes alone.
                image.strip = 0;
            }
            image.write(&program.steps, max_steps, bytes);
        }
    }

    /// Records the conversion of a complete batch of `elements` from f32 to its type, where that is another.
    pub(crate) fn encode_pack(
        &self,
        encoder: &mut wgpu::CommandEncoder,
        elements: u64,
        target: &Target,
        workspace: &mut Workspace,
    ) {
        let packs = self.passes.iter().enumerate().find(|(_, (pass, _))| *pass == Pass::Pack);
        let (Some(floats), Some((number, (_, pipeline)))) = (&target.floats, packs) else {
            return;
        };
        let a_word = if self.plan.output().dtype == DType::U8 { 4 } else { 2 };
        let words = elements.div_ceil(a_word);
        // Chunks of whole alignments on both sides, within the binding limit on the f32 side.
        let limit = self.gpu.device().limits().max_storage_buffer_binding_size;
        let most = (limit / (4 * a_word)) / ALIGNMENT * ALIGNMENT;
        let timestamp_writes = workspace.timing.pass(number);
        let descriptor = wgpu::ComputePassDescriptor { label: Some("gpufeed pack"), timestamp_writes };
        let mut pass = encoder.begin_compute_pass(&descriptor);
        pass.set_pipeline(pipeline);
        let mut begin = 0;
        while begin < words {
            let end = words.min(begin + most);
            let group = self.bindings([
                bind(floats, begin * a_word * 4..(end * a_word * 4).min(elements * 4)),
                bind(workspace.params(), 0..workspace.params().size()),
                bind(workspace.statistics(), 0..workspace.statistics().size()),
                bind(&target.output, begin * 4..end * 4),
            ]);
            let [x, y, z] = pack_workgroups(end - begin);
            pass.set_bind_group(0, &group, &[]);
            pass.dispatch_workgroups(x, y, z);
            begin = end;
        }
    }

    /// The stage that reads cached pixels: 0 where these are the source.
    pub(crate) fn cached_stage(&self) -> usize {
        self.cached_stage
    }

    pub(crate) fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    pub(crate) fn plan(&self) -> &Plan {
        &self.plan
    }
}

/// Records the copies of a stage's results to the cache: they lie one after the other.
fn cache_intermediates(encoder: &mut wgpu::CommandEncoder, items: &[Item<'_>], stage: usize, from: &wgpu::Buffer) {
    let mut at = 0;
    for item in items {
        if let Some(to_cache) = &item.to_cache {
            to_cache.copy(encoder, from, at);
        }
        let (width, height) = item.program.stages[stage].sampling.size();
        at += 16 * u64::from(width) * u64::from(height);
    }
}

/// The dispatch that packs `words` words.
pub(super) fn pack_workgroups(words: u64) -> [u32; 3] {
    let groups = words.div_ceil(256);
    let across = groups.min(32_768);
    [across as u32, groups.div_ceil(across) as u32, 1]
}

/// The dispatch of a stage or of one of its statistics.
pub(super) fn workgroups(items: &[Item<'_>], stage: usize, is_statistic: bool) -> [u32; 3] {
    let largest = |side: fn((u32, u32)) -> u32| {
        items.iter().map(|item| side(item.program.stages[stage].sampling.size())).max().unwrap_or(1)
    };
    let (x, y) = (largest(|(w, _)| w).div_ceil(GROUP.0), largest(|(_, h)| h).div_ceil(GROUP.1 * ROWS));
    let (x, y) = if is_statistic { (PARTIALS, 1) } else { (x, y) };
    [x, y, items.len() as u32]
}

/// The f32 elements of a batch must be addressable: u32 element numbers, and the adapter's largest buffer.
pub(crate) fn check_batch(gpu: &Gpu, bytes: u64) -> Result<()> {
    let limit = gpu.device().limits().max_buffer_size;
    if bytes > limit {
        let error: Error = ErrorKind::DoesNotFit {
            what: "a batch",
            needed: bytes,
            limit,
            whose: "the largest buffer of this adapter",
            setting: "batch_size or the output size",
        }
        .into();
        return Err(error);
    }
    Ok(())
}
