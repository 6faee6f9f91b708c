//! Records a plan's dispatches for images of one batch.

use super::ALIGNMENT;
use super::cache_pages::{Page, PageRange};
use super::kernels::Kernels;
use super::target::Target;
use super::timing::Timing;
use super::workspace::{TABLE_WORDS, Weights, Workspace};
use crate::advice::Setting;
use crate::error::{ErrorKind, Result};
use crate::plan::pass::{Pass, Workgroups};
use crate::plan::program::{Program, StageProgram};
use crate::plan::shader_layout::{Image, PixelsAt, write_weights};
use crate::plan::{DType, Plan};
use std::num::NonZero;
use std::ops::Range;

/// One image of a batch: its pixels, and its batch index.
#[derive(Debug)]
pub(crate) struct Item<'a> {
    pub(crate) program: &'a Program,
    pub(crate) pixels: PixelsAt,
    /// The batch index.
    pub(crate) index: usize,
    /// The copy of its pixels to the cache.
    pub(crate) to_cache: Option<CacheCopy>,
}

/// A range of a page to which an image is copied: its source, or the intermediate that the kernels' cached stage reads.
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

/// Records the dispatches of a batch's images.
pub(super) struct Encoder<'a> {
    pub(super) kernels: &'a Kernels,
    /// The buffer that the first stage reads.
    pub(super) source: &'a wgpu::Buffer,
    /// The first stage to run: 0, or, if the source is a page, the first stage that runs on cached pixels.
    pub(super) first_stage: usize,
    pub(super) target: &'a Target,
    /// Receives the parameters, and writes them to their buffer before the submission.
    pub(super) workspace: &'a mut Workspace,
    pub(super) timing: &'a mut Timing,
}

pub(super) fn bind(buffer: &wgpu::Buffer, range: Range<u64>) -> wgpu::BindingResource<'_> {
    wgpu::BindingResource::Buffer(wgpu::BufferBinding {
        buffer,
        offset: range.start,
        size: NonZero::new(range.end - range.start),
    })
}

pub(super) fn whole(buffer: &wgpu::Buffer) -> wgpu::BindingResource<'_> {
    bind(buffer, 0..buffer.size())
}

pub(super) fn bind_group(kernels: &Kernels, resources: [wgpu::BindingResource<'_>; 4]) -> wgpu::BindGroup {
    let entries: Vec<_> =
        resources.into_iter().zip(0..).map(|(resource, binding)| wgpu::BindGroupEntry { binding, resource }).collect();
    let gpu = kernels.gpu();
    gpu.device().create_bind_group(&wgpu::BindGroupDescriptor {
        label: Some("gpufeed"),
        layout: gpu.pipelines().bind_group_layout(gpu.device()),
        entries: &entries,
    })
}

/// Bytes of the place of an image's result as the last stage writes it.
fn stored_bytes(kernels: &Kernels, program: &Program) -> u64 {
    let (width, height) = kernels.plan().place(program.size());
    u64::from(width) * u64::from(height) * u64::from(kernels.plan().channels()) * kernels.plan().stored_bytes()
}

impl Encoder<'_> {
    /// Records the stages of `items`. Images that the CPU has finished leave out the stages before an intermediate in bytes.
    pub(super) fn stages(&mut self, commands: &mut wgpu::CommandEncoder, items: &mut [Item<'_>]) -> Result<()> {
        let enters = self.kernels.plan().stage_for_finished();
        let is_late = |item: &Item<'_>| self.first_stage < enters && item.pixels.float;
        items.sort_by_key(|item| (is_late(item), item.index));
        let (items, late) = items.split_at(items.partition_point(|item| !is_late(item)));
        self.chunks(commands, items)?;
        let first_stage = std::mem::replace(&mut self.first_stage, enters);
        self.chunks(commands, late)?;
        self.first_stage = first_stage;
        Ok(())
    }

    /// Records the stages of images from the first stage on, in as many chunks as the bindings need.
    fn chunks(&mut self, commands: &mut wgpu::CommandEncoder, items: &[Item<'_>]) -> Result<()> {
        let mut rest = items;
        while let Some(first) = rest.first() {
            let image = stored_bytes(self.kernels, first.program);
            let begin = first.index as u64 * image / ALIGNMENT * ALIGNMENT;
            let (chunk, others) = rest.split_at(self.chunk_len(rest, begin)?);
            self.chunk(commands, chunk, begin)?;
            rest = others;
        }
        Ok(())
    }

    /// The number of images, from the first of `items` on, that fit one dispatch whose output begins at byte `begin`.
    fn chunk_len(&self, items: &[Item<'_>], begin: u64) -> Result<usize> {
        let limit = self.kernels.gpu().caps().max_binding_bytes;
        let capacity = self.workspace.intermediate_capacity();
        let mut intermediate = 0;
        for (before, item) in items.iter().enumerate() {
            let image = stored_bytes(self.kernels, item.program);
            intermediate += intermediate_bytes(self.kernels, item.program);
            let output = (item.index as u64 + 1) * image - begin;
            if intermediate <= capacity && output <= limit && self.workspace.has_room(before + 1) {
                continue;
            }
            if before > 0 {
                return Ok(before);
            }
            let whose = "a binding of this adapter";
            return Err(match intermediate > capacity {
                true => {
                    let (what, settings) = ("one image between two stages", &[Setting::ListSizes]);
                    ErrorKind::DoesNotFit { what, needed: intermediate, limit: capacity, whose, settings }.into()
                }
                false => {
                    let (what, settings) = ("one image", &[Setting::OutputSize]);
                    ErrorKind::DoesNotFit { what, needed: output, limit, whose, settings }.into()
                }
            });
        }
        Ok(items.len())
    }

    /// Records the passes of the images of one dispatch. Their output begins at byte `begin` of the batch.
    fn chunk(&mut self, commands: &mut wgpu::CommandEncoder, items: &[Item<'_>], begin: u64) -> Result<()> {
        let kernels = self.kernels;
        let (last_stage, image) = (kernels.plan().stages().len() - 1, stored_bytes(kernels, items[0].program));
        let out = self.target.floats.as_ref().unwrap_or(&self.target.output);
        let out_end = ((items[items.len() - 1].index as u64 + 1) * image).next_multiple_of(4);
        let mut params = 0..0;
        let mut written_stage = None;
        for (number, (pass, pipeline)) in kernels.passes.iter().enumerate() {
            let Some(stage) = pass.stage().filter(|&stage| stage >= self.first_stage) else { continue };
            let is_statistic = !matches!(pass, Pass::Stage { .. });
            let groups = workgroups(kernels.plan(), items, pass);
            // Where images take different kernels, a kernel may have none.
            if groups[2] == 0 {
                continue;
            }
            if groups[0].max(groups[1]) > kernels.gpu().caps().max_workgroups {
                let sizes = items.iter().map(|item| item.program.stages[stage].sampling.size());
                sizes.into_iter().try_for_each(|size| kernels.gpu().caps().check_image(size))?;
            }
            if written_stage != Some(stage) || kernels.plan().stages()[stage].gathers {
                let written = StageImages { kernels, items, pass, stage, first_stage: self.first_stage, begin };
                params = self.workspace.write_params(|bytes, weights| written.write_params(bytes, weights))?;
                written_stage = Some(stage);
            }
            let workspace = &*self.workspace;
            let read = if stage == self.first_stage { self.source } else { workspace.intermediate(stage - 1) };
            let write = match (is_statistic, stage == last_stage) {
                (true, _) => whole(&workspace.dummy),
                (false, true) => bind(out, begin..out_end),
                (false, false) => whole(workspace.intermediate(stage)),
            };
            let params = bind(&workspace.params, params.clone());
            let group = bind_group(kernels, [whole(read), params, whole(&workspace.statistics), write]);
            let [x, y, z] = groups;
            // Each pass is a compute pass of its own: timestamps are taken at the beginning and the end of compute
            // passes.
            let timestamp_writes = self.timing.pass(kernels.first_pass + number);
            let descriptor = wgpu::ComputePassDescriptor { label: Some("gpufeed"), timestamp_writes };
            let mut compute = commands.begin_compute_pass(&descriptor);
            compute.set_pipeline(pipeline);
            compute.set_bind_group(0, &group, &[]);
            compute.dispatch_workgroups(x, y, z);
            drop(compute);
            if !is_statistic && stage + 1 == kernels.cached_stage() {
                cache_intermediates(commands, items, stage, self.workspace.intermediate(stage));
            }
        }
        Ok(())
    }
}

/// Records the conversion of a complete batch of `elements` from f32 to its type, if that is another.
pub(super) fn pack(
    commands: &mut wgpu::CommandEncoder,
    kernels: &Kernels,
    elements: u64,
    target: &Target,
    workspace: &Workspace,
    timing: &mut Timing,
) {
    let pack = kernels.passes.iter().enumerate().find(|(_, (pass, _))| *pass == Pass::Pack);
    let (Some(floats), Some((number, (_, pipeline)))) = (&target.floats, pack) else {
        return;
    };
    let per_word = if kernels.plan().output().dtype == DType::U8 { 4 } else { 2 };
    let words = elements.div_ceil(per_word);
    // Chunks begin at aligned offsets on both sides, and stay within the binding limit on the f32 side.
    let caps = kernels.gpu().caps();
    let most = (caps.max_binding_bytes / (4 * per_word)).min(256 * caps.max_counted()) / ALIGNMENT * ALIGNMENT;
    let mut groups = Vec::new();
    let mut begin = 0;
    while begin < words {
        let end = words.min(begin + most);
        let group = bind_group(
            kernels,
            [
                bind(floats, begin * per_word * 4..(end * per_word * 4).min(elements * 4)),
                whole(&workspace.params),
                whole(&workspace.statistics),
                bind(&target.output, begin * 4..end * 4),
            ],
        );
        groups.push((group, end - begin));
        begin = end;
    }
    let timestamp_writes = timing.pass(kernels.first_pass + number);
    let descriptor = wgpu::ComputePassDescriptor { label: Some("gpufeed pack"), timestamp_writes };
    let mut compute = commands.begin_compute_pass(&descriptor);
    compute.set_pipeline(pipeline);
    for (group, words) in groups {
        let [x, y, z] = caps.counted(words.div_ceil(256));
        compute.set_bind_group(0, &group, &[]);
        compute.dispatch_workgroups(x, y, z);
    }
}

/// Bytes of the largest intermediate of an image.
fn intermediate_bytes(kernels: &Kernels, program: &Program) -> u64 {
    let stages = program.stages[..program.stages.len() - 1].iter().enumerate();
    let bytes = stages.map(|(i, stage)| {
        let (width, height) = stage.sampling.size();
        let pixel = if kernels.plan().stores_bytes(i) { 4 } else { 16 };
        pixel * u64::from(width) * u64::from(height)
    });
    bytes.max().unwrap_or(0)
}

/// The images of one dispatch, in the stage of one of its passes.
pub(super) struct StageImages<'a> {
    pub(super) kernels: &'a Kernels,
    pub(super) items: &'a [Item<'a>],
    pub(super) pass: &'a Pass,
    pub(super) stage: usize,
    /// The first stage that runs, which reads the pixels of the items.
    pub(super) first_stage: usize,
    /// The byte of the batch at which the output of the dispatch begins.
    pub(super) begin: u64,
}

impl StageImages<'_> {
    /// Appends the parameters of every image that takes part in the pass, and the weights of its resizes.
    pub(super) fn write_params(&self, bytes: &mut Vec<u8>, weights: &mut Weights) {
        let StageImages { kernels, items, pass, stage, first_stage, begin } = *self;
        let stages = kernels.plan().stages();
        let (is_last, facts) = (stage + 1 == stages.len(), &stages[stage]);
        let blur_weights = kernels.plan().blur_weights(stage);
        // Intermediates are stored one after the other, in the order of the items.
        let (mut read_at, mut write_at) = (0, 0);
        for (number, item) in (0..).zip(items) {
            let program = &item.program.stages[stage];
            let (width, height) = program.sampling.size();
            let pixels = if stage == first_stage {
                item.pixels
            } else {
                let (width, height) = item.program.stages[stage - 1].sampling.size();
                let pixels =
                    PixelsAt { offset: read_at, stride: width, float: !kernels.plan().stores_bytes(stage - 1) };
                read_at += width * height;
                pixels
            };
            let image = stored_bytes(kernels, item.program);
            let element = kernels.plan().stored_bytes();
            let target = if is_last { ((item.index as u64 * image - begin) / element) as u32 } else { write_at };
            write_at += width * height;
            if !pass.takes(program) {
                continue;
            }
            let mut image = Image::new(program, &facts.positions, pixels, target, number);
            if pixels.float && kernels.plan().reads_bytes(stage) {
                // There the strip kernel reads only bytes.
                image.strip = 0;
            }
            if facts.gathers {
                let table = weights.tables + TABLE_WORDS * number;
                image.write_with_gather(program, &facts.positions, table, blur_weights, bytes);
            } else {
                image.weights =
                    write_weights(&program.sampling, &mut weights.scratch, weights.first, &mut weights.words);
                image.write(&program.steps, &facts.positions, bytes);
            }
        }
    }
}

/// Records the copies of a stage's results, which are stored one after the other, to the cache.
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

/// The dispatch of a pass of a stage: its third number is that of the images that take part.
pub(super) fn workgroups(plan: &Plan, items: &[Item<'_>], pass: &Pass) -> [u32; 3] {
    let programs = || items.iter().filter_map(|item| item.program.stages.get(pass.stage()?));
    let taking = || programs().filter(|program| pass.takes(program));
    let largest = |side: fn(&StageProgram) -> u32| taking().map(side).max().unwrap_or(1);
    let images = taking().count() as u32;
    match plan.workgroups(*pass) {
        Workgroups::Groups(across) => [across, 1, images],
        Workgroups::Outputs([columns, rows]) => {
            let (x, y) = (largest(|stage| stage.sampling.size().0), largest(|stage| stage.sampling.size().1));
            [x.div_ceil(columns), y.div_ceil(rows), images]
        }
        // `pack` dispatches the whole batch.
        Workgroups::Words(_) => [0; 3],
    }
}
