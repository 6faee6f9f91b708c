//! Single dispatches, one staging slot, and the parameters of one image, for `gpufeed bench` and
//! `crates/cli/benches/kernels.rs` to measure. A part of `internals`.

use super::encode::{Item, StageImages, workgroups};
use super::kernels::Kernels;
use super::staging::{SLOTS, Staging};
use super::staging_memory::StagingMemory;
use super::submission::{Completion, FullSlot, Part, Resources};
use super::target::Target;
use super::timing::Times;
use super::workspace::Weights;
use super::{ALIGNMENT, Export, Gpu};
use crate::error::{Error, Result};
use crate::plan::pass::Pass;
use crate::plan::program::Program;
use crate::plan::shader_layout::PixelsAt;
use crate::plan::{DType, Plan};
use crate::transforms::{Key, Params};
use std::ops::Range;

/// A dispatch as the product records it. Bindings: 0 source, 1 parameters, 2 statistics, 3 target.
#[derive(Clone, Debug)]
pub struct RecordedDispatch {
    /// `Statistic`, `Stage` or `Pack`.
    pub name: &'static str,
    /// The whole shader; its entry point is `main`.
    pub wgsl: String,
    /// The content of binding 1.
    pub params: Vec<u8>,
    /// Numbers of workgroups along x, y and z.
    pub groups: [u32; 3],
}

/// A batch of images whose regions are stored one after the other in a slot, RGBA8.
#[derive(Debug)]
pub struct Rig {
    kernels: Kernels,
    resources: Resources,
    target: Target,
    programs: Vec<Program>,
    sources: Vec<PixelsAt>,
    regions: Vec<Range<u64>>,
    times: Times,
}

impl Rig {
    /// A rig for images with these parameters, on a plan of one stage, as [`on_device`] returns it.
    ///
    /// # Errors
    /// Those of building a loader; `ErrorKind::Argument` for a plan of several stages.
    pub fn new(gpu: &Gpu, plan: &Plan, params: &[Params]) -> Result<Rig> {
        if plan.stages().len() != 1 || plan.stages()[0].gathers || plan.resizes_uint8() {
            return Err(Error::argument("plan", "a rig needs a plan of one stage that resamples in floats"));
        }
        let plan = &plan.unframed();
        let (mut programs, mut sources, mut regions) = (Vec::new(), Vec::new(), Vec::new());
        let mut end = 0;
        for params in params {
            let mut program = plan.program(params)?;
            let region = program.stages[0].sampling.read_region();
            program.stages[0].sampling = program.stages[0].sampling.relative_to(region);
            programs.push(program);
            let begin = u64::next_multiple_of(end, ALIGNMENT);
            sources.push(PixelsAt { offset: (begin / 4) as u32, stride: region.width, float: false });
            end = begin + 4 * u64::from(region.width) * u64::from(region.height);
            regions.push(begin..end);
        }
        let kernels = Kernels::new(gpu, plan, 0)?;
        let image = programs.first().map_or(0, |program| plan.image_bytes(program.size()));
        let target = Target::new(&kernels, (image * programs.len()) as u64, Export::Off)?;
        let resources = Resources::new(gpu, SLOTS, end.next_multiple_of(ALIGNMENT), &[(&kernels, params.len())])?;
        Ok(Rig { kernels, resources, target, programs, sources, regions, times: Times::default() })
    }

    /// Bytes of the regions, gaps included.
    pub fn slot_bytes(&self) -> u64 {
        self.resources.slot_bytes
    }

    /// Elements of the batch.
    pub fn elements(&self) -> u64 {
        let plan = self.kernels.plan();
        self.programs
            .iter()
            .map(|program| (plan.image_bytes(program.size()) / plan.output().dtype.bytes()) as u64)
            .sum()
    }

    /// The dispatches of the batch, in order.
    pub fn dispatches(&self) -> Vec<RecordedDispatch> {
        let (plan, items) = (self.kernels.plan(), items(&self.programs, &self.sources));
        let words = self.elements().div_ceil(if plan.output().dtype == DType::U8 { 4 } else { 2 });
        let dispatch = |pass: &Pass| {
            let (name, groups) = match pass {
                Pass::Tables { .. } => ("Tables", workgroups(plan, &items, pass)),
                Pass::Statistic { .. } => ("Statistic", workgroups(plan, &items, pass)),
                Pass::Stage { .. } => ("Stage", workgroups(plan, &items, pass)),
                Pass::Pack => ("Pack", self.kernels.gpu().caps().counted(words.div_ceil(256))),
            };
            let mut params = Vec::new();
            let (stage, first_stage, begin) = (0, 0, 0);
            StageImages { kernels: &self.kernels, items: &items, pass, stage, first_stage, begin }
                .write_params(&mut params, &mut Weights::default());
            RecordedDispatch { name, wgsl: plan.shader(*pass), params, groups }
        };
        plan.pass_list().iter().map(dispatch).collect()
    }

    /// A mapped slot; waits for the GPU if none is free.
    ///
    /// # Errors
    /// `ErrorKind::Device` if the device is lost.
    pub fn take(&mut self) -> Result<usize> {
        self.resources.staging.take()
    }

    /// Copies every image's region into the slot, as the workers do.
    ///
    /// # Errors
    /// Those of [`take`](Self::take).
    pub fn put(&mut self, slot: usize, pixels: &[u8]) -> Result<()> {
        for Range { start, end } in &self.regions {
            let range = self.resources.staging.range(slot, *start, end - start);
            range.open()?.write(0, &pixels[*start as usize..*end as usize]);
        }
        Ok(())
    }

    /// Makes the batch's only submission: copy, passes, packing.
    ///
    /// # Errors
    /// Those of [`take`](Self::take).
    pub fn submit(&mut self, slot: usize) -> Result<()> {
        let complete = Some(Completion { elements: self.elements(), mixing: None });
        let Rig { kernels, resources, target, programs, sources, times, .. } = self;
        let part = Part { group: 0, items: items(programs, sources), target, complete };
        let full = FullSlot { slot, used: resources.slot_bytes, parts: vec![part] };
        resources.submit(kernels.gpu(), std::slice::from_ref(kernels), vec![full], times).map(drop)
    }
}

/// The plan as a loader runs it on this device, which mixes its batches or not.
pub fn on_device(gpu: &Gpu, plan: &Plan, mixes: bool) -> Plan {
    plan.clone().on_device(gpu.caps().traits, mixes)
}

fn items<'a>(programs: &'a [Program], sources: &[PixelsAt]) -> Vec<Item<'a>> {
    let item = |((index, program), source): ((usize, &'a Program), &PixelsAt)| Item {
        program,
        pixels: *source,
        index,
        to_cache: None,
    };
    programs.iter().enumerate().zip(sources).map(item).collect()
}

/// A staging ring alone.
#[derive(Debug)]
pub struct StagingRing {
    gpu: Gpu,
    staging: Staging,
    /// The target of the copies; `None` if shaders would read the ring in place.
    target: Option<Target>,
}

impl StagingRing {
    /// A ring for `bytes` bytes at a time.
    ///
    /// # Errors
    /// `ErrorKind::Device` if the buffers cannot be made (in place: if the device lacks `MAPPABLE_PRIMARY_BUFFERS`);
    /// `ErrorKind::OutOfMemory` without memory (in the host's memory: if the device is not one of Vulkan).
    pub fn new(gpu: &Gpu, bytes: u64, memory: StagingMemory) -> Result<StagingRing> {
        let copies = memory != StagingMemory::InPlace;
        Ok(StagingRing {
            gpu: gpu.clone(),
            staging: Staging::new(gpu, SLOTS, bytes, memory)?,
            target: copies.then(|| Target::plain(gpu, bytes, Export::Off)).transpose()?,
        })
    }

    /// Copies `bytes` to the GPU: waits for a buffer, fills it, submits.
    ///
    /// # Errors
    /// `ErrorKind::Device` if the device is lost.
    pub fn upload(&mut self, bytes: &[u8]) -> Result<()> {
        let slot = self.staging.take()?;
        if let Some(target) = &self.target {
            return self.staging.copy_to(slot, bytes, target);
        }
        self.staging.range(slot, 0, bytes.len() as u64).open()?.write(0, bytes);
        self.staging.unmap(slot);
        let submission = self.gpu.submit([]);
        self.staging.submitted(slot, submission)
    }
}

/// Makes one image's parameters and composes its program; returns its number of colour steps, so that the compiler
/// leaves nothing out.
///
/// # Errors
/// Those of `Plan::make_params`.
pub fn draw(plan: &Plan, (width, height): (u32, u32), key: &Key) -> Result<usize> {
    let program = plan.program(&plan.make_params(width, height, key)?)?;
    Ok(program.stages.iter().map(|stage| stage.steps.len()).sum())
}

/// Makes the parameters and programs of images of one size at once, as for those that are in GPU memory.
///
/// # Errors
/// Those of `Plan::make_params`.
pub fn draw_many(plan: &Plan, size: (u32, u32), keys: &[Key]) -> Result<usize> {
    let mut ahead = plan.ahead();
    ahead.draw(keys);
    let mut steps = 0;
    for (image, key) in keys.iter().enumerate() {
        let program = plan.program(&plan.make_params_ahead(size, key, ahead.of(image))?)?;
        steps += program.stages.iter().map(|stage| stage.steps.len()).sum::<usize>();
    }
    Ok(steps)
}
