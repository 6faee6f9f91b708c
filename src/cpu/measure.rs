//! The CPU executor alone, for `gpufeed bench` and `crates/cli/benches/kernels.rs` to measure: images one after the
//! other on one thread, with memory that is reused as in a worker. A part of `internals`. `Processor::run_into`
//! converts its pixels and allocates its scratch memory at every call, so it measures something else.

use super::{CpuScratch, run};
use crate::allocate::AUGMENTING;
use crate::error::Result;
use crate::geometry::Rect;
use crate::pixels::PixelsRef;
use crate::plan::Plan;
use crate::plan::mixing::BatchMixing;
use crate::plan::program::Program;
use crate::transforms::{BatchParams, Params};

/// Images with their programs, their regions of `pixel` bytes a pixel, and memory for their results.
#[derive(Debug)]
pub struct Native {
    plan: Plan,
    images: Vec<(Program, Rect)>,
    pixel: usize,
    pixels: Vec<u8>,
    out: Vec<u8>,
    scratch: CpuScratch,
}

impl Native {
    /// Makes images with these parameters; `pixel` is 3 (RGB8) or 4 (RGBA8).
    ///
    /// # Errors
    /// Those of `Plan` if `params` does not belong to it.
    pub fn new(plan: &Plan, params: &[Params], pixel: usize) -> Result<Native> {
        let plan = plan.unframed();
        let mut images = Vec::with_capacity(params.len());
        for params in params {
            let program = plan.program(params)?;
            let region = program.stages[0].sampling.read_region();
            images.push((program, region));
        }
        let most = images.iter().map(|(_, region)| pixel * area(region)).max().unwrap_or(0);
        let out = images.iter().map(|(program, _)| plan.image_bytes(program.size())).sum();
        let mut pixels = AUGMENTING.zeroed(most)?;
        (0usize..).zip(&mut pixels).for_each(|(i, pixel)| *pixel = (i.wrapping_mul(2_654_435_761) >> 13) as u8);
        let (out, scratch) = (AUGMENTING.zeroed(out)?, CpuScratch::default());
        Ok(Native { plan, images, pixel, pixels, out, scratch })
    }

    /// Bytes of the regions and of the results together.
    pub fn bytes(&self) -> u64 {
        let regions: usize = self.images.iter().map(|(_, region)| self.pixel * area(region)).sum();
        (regions + self.out.len()) as u64
    }

    /// Bytes of the results alone.
    pub fn output(&self) -> u64 {
        self.out.len() as u64
    }

    /// Allocated bytes: one region, the results, and the executor's scratch memory.
    pub fn memory(&self) -> u64 {
        (self.pixels.len() + self.out.len() + self.scratch.bytes()) as u64
    }

    /// Shows a picture instead of noise: `byte` of each byte's number. Statistics take longer on numbers that repeat.
    #[must_use]
    pub fn picture(mut self, byte: impl Fn(usize) -> u8) -> Native {
        self.pixels.iter_mut().enumerate().for_each(|(i, pixel)| *pixel = byte(i));
        self
    }

    /// Augments every image; returns one byte of the results.
    ///
    /// # Errors
    /// [`ErrorKind::NoHostMemory`](crate::ErrorKind::NoHostMemory) if the system has no memory for what lies between
    /// the stages.
    pub fn run(&mut self) -> Result<u8> {
        let Native { plan, images, pixel, pixels, out, scratch } = self;
        let mut rest = &mut out[..];
        for (program, region) in images {
            let (image, after) = rest.split_at_mut(plan.image_bytes(program.size()));
            let source = PixelsRef::Bytes { data: pixels, stride: *pixel * region.width as usize, size: *pixel };
            run(plan, program, source, *region, image, scratch)?;
            rest = after;
        }
        Ok(out.last().copied().unwrap_or(0))
    }
}

/// Mixes a batch of `samples` images of the plan in place.
pub fn mix(plan: &Plan, params: &BatchParams, samples: usize, batch: &mut [u8]) {
    let size = plan.output_size().unwrap_or((0, 0));
    if let Some(mixing) = BatchMixing::new(params, plan, size, samples, 1) {
        super::mix::mix(&mixing, plan.output().dtype, batch);
    }
}

fn area(region: &Rect) -> usize {
    region.width as usize * region.height as usize
}
