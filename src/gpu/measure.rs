//! Single dispatches, a slot's way in and one image's draw, for `gpufeed bench` and `crates/cli/benches/kernels.rs` to measure.
//! A part of `internals`.

use super::encode::{Item, pack_workgroups, workgroups, write_stage};
use super::kernels::Kernels;
use super::staging::{SLOTS, Staging};
use super::submission::{Part, Resources};
use super::target::Target;
use super::timing::Times;
use super::{ALIGNMENT, Gpu};
use crate::error::{Error, Result};
use crate::plan::params::PixelsAt;
use crate::plan::pass::Pass;
use crate::plan::program::Program;
use crate::plan::{DType, Plan};
use crate::transforms::{Key, Params};
use std::ops::Range;

/// A dispatch as the product records it. Bindings: 0 what is read, 1 the parameters, 2 the statistics, 3 what is written.
#[derive(Clone, Debug)]
pub struct Dispatch {
    /// `Statistic`, `Stage` or `Pack`.
    pub name: &'static str,
    /// The whole shader; its entry point is `main`.
    pub wgsl: String,
    /// What binding 1 holds.
    pub params: Vec<u8>,
    /// Workgroups.
    pub groups: [u32; 3],
}

/// A batch of images whose regions lie one behind the other in a slot, RGBA8.
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
    /// For images with these parameters, on a plan of one stage.
    ///
    /// # Errors
    /// As the loader's; `ErrorKind::Argument` for a plan of several stages.
    pub fn new(gpu: &Gpu, plan: &Plan, params: &[Params]) -> Result<Rig> {
        if plan.stages().len() != 1 {
            return Err(Error::argument("plan", "a rig has one stage"));
        }
        let (mut programs, mut sources, mut regions) = (Vec::new(), Vec::new(), Vec::new());
        let mut end = 0;
        for params in params {
            let mut program = plan.program(params)?;
            let region = program.stages[0].sampling.hull();
            program.stages[0].sampling = program.stages[0].sampling.relative_to(region);
            programs.push(program);
            let begin = u64::next_multiple_of(end, ALIGNMENT);
            sources.push(PixelsAt { offset: (begin / 4) as u32, stride: region.width, float: false });
            end = begin + 4 * u64::from(region.width) * u64::from(region.height);
            regions.push(begin..end);
        }
        let kernels = Kernels::new(gpu, plan, 0)?;
        let image = programs.first().map_or(0, |program| plan.image_bytes(program.size()));
        let target = Target::new(gpu, plan, (image * programs.len()) as u64)?;
        let resources = Resources::new(&kernels, SLOTS, end.next_multiple_of(ALIGNMENT), params.len())?;
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
    pub fn dispatches(&self) -> Vec<Dispatch> {
        let (plan, items) = (self.kernels.plan(), items(&self.programs, &self.sources));
        let mut params = Vec::new();
        write_stage(&self.kernels, &items, (0, 0), 0, &mut params);
        let words = self.elements().div_ceil(if plan.output().dtype == DType::U8 { 4 } else { 2 });
        let dispatch = |pass: &Pass| {
            let (name, groups) = match pass {
                Pass::Statistic { .. } => ("Statistic", workgroups(&items, 0, true)),
                Pass::Stage { .. } => ("Stage", workgroups(&items, 0, false)),
                Pass::Pack => ("Pack", pack_workgroups(words)),
            };
            Dispatch { name, wgsl: plan.shader(*pass), params: params.clone(), groups }
        };
        plan.pass_list().iter().map(dispatch).collect()
    }

    /// A mapped slot; waits for the GPU where it must.
    ///
    /// # Errors
    /// `ErrorKind::Device` if the device is lost.
    pub fn take(&mut self) -> Result<usize> {
        self.resources.staging.take()
    }

    /// Copies every image's region into the slot, as the workers do.
    ///
    /// # Errors
    /// As [`take`](Self::take).
    pub fn put(&mut self, slot: usize, pixels: &[u8]) -> Result<()> {
        for Range { start, end } in &self.regions {
            let range = self.resources.staging.range(slot, *start, end - start);
            range.open()?.write(0, &pixels[*start as usize..*end as usize]);
        }
        Ok(())
    }

    /// The batch's one submission: copy, passes, packing.
    ///
    /// # Errors
    /// As [`take`](Self::take).
    pub fn submit(&mut self, slot: usize) -> Result<()> {
        let complete = Some(self.elements());
        let Rig { kernels, resources, target, programs, sources, times, .. } = self;
        let part = Part { items: items(programs, sources), target, complete };
        resources.submit(kernels, slot, resources.slot_bytes, vec![part], times).map(drop)
    }
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
    /// What is copied to; `None` where shaders would read the ring in place.
    target: Option<wgpu::Buffer>,
}

impl StagingRing {
    /// For uploads of `bytes` bytes.
    ///
    /// # Errors
    /// `ErrorKind::Device` if the buffers cannot be made (in place: if the device lacks `MAPPABLE_PRIMARY_BUFFERS`).
    pub fn new(gpu: &Gpu, bytes: u64, in_place: bool) -> Result<StagingRing> {
        Ok(StagingRing {
            gpu: gpu.clone(),
            staging: Staging::new(gpu, SLOTS, bytes, in_place)?,
            target: (!in_place).then(|| gpu.storage("gpufeed source", bytes)).transpose()?,
        })
    }

    /// One upload: waits for a buffer, fills it, submits.
    ///
    /// # Errors
    /// `ErrorKind::Device` if the device is lost.
    pub fn upload(&mut self, bytes: &[u8]) -> Result<()> {
        let slot = self.staging.take()?;
        if let Some(target) = &self.target {
            return self.staging.upload(slot, bytes, target);
        }
        self.staging.range(slot, 0, bytes.len() as u64).open()?.write(0, bytes);
        self.staging.unmap(slot);
        let submission = self.gpu.queue().submit([]);
        self.staging.submitted(slot, submission)
    }
}

/// Draws one image's parameters and composes its program; returns its colour steps, so that nothing is left out.
///
/// # Errors
/// As `Plan::make_params`.
pub fn draw(plan: &Plan, (width, height): (u32, u32), key: &Key) -> Result<usize> {
    let program = plan.program(&plan.make_params(width, height, key)?)?;
    Ok(program.stages.iter().map(|stage| stage.steps.len()).sum())
}

/// The same for images of one size at once, as for those that lie in GPU memory.
///
/// # Errors
/// As `Plan::make_params`.
pub fn draw_many(plan: &Plan, size: (u32, u32), keys: &[Key]) -> Result<usize> {
    let mut ahead = plan.ahead();
    ahead.draw(keys);
    let mut steps = 0;
    for (image, key) in keys.iter().enumerate() {
        let program = plan.program(&plan.make_params_ahead(size, key, (&ahead, image))?)?;
        steps += program.stages.iter().map(|stage| stage.steps.len()).sum::<usize>();
    }
    Ok(steps)
}
