//! The plan in native code: for machines without a usable GPU, for software adapters, and for images that
//! `plan/cpu_fallback.rs` takes off the GPU.
//!
//! It runs the same programs as `gpu/`, one image at a time. `stage.rs` runs a stage: an operator of `gather/`, if it
//! begins with one, then `resample.rs` (or `unscaled.rs`) turns source rows into output rows, `color.rs` runs the steps
//! on them (with the native code of `../color/`) while they are in the first-level cache, and `store.rs` writes them in
//! the output's layout and type. On 8-bit numbers `bytes.rs` and `resample_u8.rs` take part.
//!
//! `host_code.rs` calls the user's own code between the transforms, `mixture.rs` adds up or blends the chains of AugMix,
//! `mix.rs` and `mix_each.rs` mix a batch by the blends of `blend.rs`, `prefix.rs` runs a plan's prefix for a cache,
//! `needed.rs` computes the memory for an image from its program, and `cache_lines.rs` aligns arrays on the stack.
//! `measure.rs` is for benches.

mod blend;
mod bytes;
mod cache_lines;
mod color;
pub(crate) mod gather;
mod host_code;
pub(crate) mod measure;
pub(crate) mod mix;
mod mix_each;
mod mixture;
pub(crate) mod needed;
pub(crate) mod prefix;
mod resample;
mod resample_u8;
mod stage;
mod store;
mod unscaled;

use crate::allocate::{AUGMENTING, product, reserve_like};
use crate::color::Step;
use crate::error::Result;
use crate::geometry::Rect;
use crate::pixels::{PixelsRef, widen_gray};
use crate::plan::program::{Program, StageProgram};
use crate::plan::sampling::Sampling;
use crate::plan::{DType, Layout, Plan, Semantics};
use gather::GatherScratch;
use mixture::MixtureScratch;
use resample::AxisTaps;
use resample_u8::ResampleU8;
use stage::{TOGETHER, begin_stage, by_rows, bytes_to, floats_to, run_stage, sample_stage};
use unscaled::Unscaled;

/// A worker's memory for this executor; it grows to the largest image and is reused.
#[derive(Debug, Default)]
pub(crate) struct CpuScratch {
    x: AxisTaps,
    y: AxisTaps,
    u8: ResampleU8,
    gather: GatherScratch,
    /// Of images that are mixtures; such an image needs the memory of another one inside.
    mixture: Option<Box<MixtureScratch>>,
    /// One source row, filtered vertically.
    filtered: Vec<f32>,
    /// Output rows, each with its three planes: a few rows, or the whole image if a mean is needed.
    rows: Vec<f32>,
    /// One entry for each step; only those of contrast steps are used.
    means: Vec<f32>,
    /// The intermediates between stages, four floats a pixel.
    intermediate: [Vec<f32>; 2],
    /// The intermediates of 8-bit numbers, RGBA8.
    intermediate_u8: [Vec<[u8; 4]>; 2],
    /// The result of an operator that begins a stage, before the stage's sampling.
    gathered: Vec<[u8; 4]>,
    /// Gray pixels as RGBA8.
    wide: Vec<u8>,
}

impl CpuScratch {
    /// Makes room for as much as `other` has room for.
    pub(crate) fn reserve_like(&mut self, other: &CpuScratch) {
        let CpuScratch {
            x,
            y,
            u8,
            gather,
            mixture,
            filtered,
            rows,
            means,
            intermediate,
            intermediate_u8,
            gathered,
            wide,
        } = self;
        u8.reserve_like(&other.u8);
        gather.reserve_like(&other.gather);
        if let Some(other) = &other.mixture {
            mixture.get_or_insert_default().reserve_like(other);
        }
        x.reserve_like(&other.x);
        y.reserve_like(&other.y);
        for (vec, other) in [(filtered, &other.filtered), (rows, &other.rows), (means, &other.means)] {
            reserve_like(vec, other);
        }
        // The two buffers alternate from stage to stage, so both need the size of the larger one.
        fn level<T>(both: &mut [Vec<T>; 2], other: &[Vec<T>; 2]) {
            let largest = both.iter().chain(other).map(Vec::capacity).max().unwrap_or(0);
            both.iter_mut().for_each(|vec| drop(vec.try_reserve_exact(largest.saturating_sub(vec.len()))));
        }
        level(intermediate, &other.intermediate);
        level(intermediate_u8, &other.intermediate_u8);
        reserve_like(gathered, &other.gathered);
        reserve_like(wide, &other.wide);
    }

    /// Makes room for every operator that may begin a stage, whether or not this image has one: so the first epoch
    /// makes the room that others need.
    fn reserve(&mut self, plan: &Plan, program: &Program, region: Rect) -> Result<()> {
        let pixels = |(width, height): (u32, u32)| product(width as usize, height as usize);
        let before = |stage: &StageProgram| stage.gather.as_ref().map_or(0, |gather| pixels(gather.size()));
        let sizes = program.stages.iter().map(|stage| pixels(stage.sampling.size()).max(before(stage)));
        let decoded = program.stages[0].gather.as_ref().map_or(0, |_| pixels((region.width, region.height)));
        let most = sizes.max().unwrap_or(0).max(decoded);
        let is_uint8 = plan.semantics() == Semantics::Uint8;
        self.gather.reserve(is_uint8, most)?;
        // A policy's contrast may need the whole image.
        AUGMENTING.reserve(&mut self.rows, product(3, most))?;
        if is_uint8 {
            // A crop of a whole result may be as high as that.
            let height = |stage: &StageProgram| {
                let before = stage.gather.as_ref().map_or(0, |gather| gather.size().1 as usize);
                before.max(stage.sampling.y.source_len as usize)
            };
            let highest = program.stages.iter().map(height).max().unwrap_or(0);
            let mut resizes = program.stages.iter().filter(|stage| stage.sampling.resized_u8.is_some());
            resizes.try_for_each(|stage| self.u8.reserve(stage.sampling.x.len as usize, highest))?;
            let mut bytes = self.intermediate_u8.iter_mut().chain([&mut self.gathered]);
            bytes.try_for_each(|vec| AUGMENTING.reserve(vec, most))
        } else {
            self.intermediate.iter_mut().try_for_each(|vec| AUGMENTING.reserve(vec, product(4, most)))
        }
    }

    /// Allocated bytes.
    fn bytes(&self) -> usize {
        let floats = [&self.filtered, &self.rows, &self.means, &self.intermediate[0], &self.intermediate[1]];
        let floats: usize = floats.into_iter().map(Vec::capacity).sum();
        let words: usize = self.intermediate_u8.iter().chain([&self.gathered]).map(Vec::capacity).sum();
        4 * (floats + words)
            + self.x.bytes()
            + self.y.bytes()
            + self.u8.bytes()
            + self.gather.bytes()
            + self.mixture.as_ref().map_or(0, |mixture| mixture.bytes())
            + self.wide.capacity()
    }
}

/// Runs `program` on the pixels of `region` (of the source image) and writes the whole output image to `out`.
///
/// `out` has exactly the output's bytes, or those of the [frame](Plan::frame) in which the output lies.
///
/// # Errors
/// [`ErrorKind::NoHostMemory`](crate::ErrorKind::NoHostMemory) if the system has no memory for what lies between the
/// stages.
pub(crate) fn run(
    plan: &Plan,
    program: &Program,
    pixels: PixelsRef<'_>,
    region: Rect,
    out: &mut [u8],
    scratch: &mut CpuScratch,
) -> Result<()> {
    if let (Some(code), Some(key)) = (plan.code(), program.code_key()) {
        return host_code::run_around(code, (program, key), pixels, region, out, scratch);
    }
    let (channels, output) = (plan.channels() as usize, plan.output());
    // The rest of a frame is another image's, or padding.
    let image = if plan.padded_to().is_some() { out.len() } else { plan.image_bytes(program.size()) };
    let out = &mut out[..image];
    if let [stage] = &program.stages[..]
        && stage.is_only_sampled()
        && plan.padded_to().is_none()
        && let Some(unscaled) = Unscaled::new(&stage.sampling.relative_to(region), pixels)
    {
        if stage.steps.is_empty() && (output.dtype, channels) == (DType::U8, 3) && !unscaled.is_gray() {
            unscaled.copy(output.layout, out);
            return Ok(());
        }
        if let Some(planes) = in_place(plan, stage, &unscaled, out) {
            if channels == 1 {
                unscaled.gray_rows(0, planes)
            } else {
                unscaled.rows(0, planes)
            }
            color::steps(plan, &stage.steps, &[], 0, channels, planes);
            return Ok(());
        }
    }
    let mut writer = store::Writer::new(plan, program.size(), out);
    run_stages(plan, program, pixels, region, scratch, &mut writer)
}

/// Takes the result of a program.
trait Sink {
    /// Takes rows from `y` on: all their reds, all greens, all blues.
    fn rows(&mut self, y: usize, planes: &[f32]);

    /// Takes the whole image as RGBA8, with the steps that are left, if it can; returns whether it has.
    fn pixels(&mut self, _: &[[u8; 4]], _: &[Step]) -> bool {
        false
    }
}

impl Sink for store::Writer<'_> {
    fn rows(&mut self, y: usize, planes: &[f32]) {
        store::Writer::rows(self, y, planes);
    }

    fn pixels(&mut self, pixels: &[[u8; 4]], steps: &[Step]) -> bool {
        store::Writer::pixels(self, pixels, steps)
    }
}

impl<F: FnMut(usize, &[f32])> Sink for F {
    fn rows(&mut self, y: usize, planes: &[f32]) {
        self(y, planes);
    }
}

/// Runs a program as [`run`] does, to four f32 a pixel: the form in which the GPU reads an image that the CPU has
/// finished.
///
/// # Errors
/// Those of [`run`].
pub(crate) fn run_to_floats(
    plan: &Plan,
    program: &Program,
    pixels: PixelsRef<'_>,
    region: Rect,
    out: &mut Vec<f32>,
    scratch: &mut CpuScratch,
) -> Result<()> {
    let (width, height) = program.size();
    let width = width as usize;
    out.clear();
    AUGMENTING.resize(out, product(4 * width, height as usize), 1.0)?;
    run_stages(plan, program, pixels, region, scratch, &mut |y: usize, planes: &[f32]| {
        store::interleave(planes, &mut out[4 * width * y..][..4 * planes.len() / 3])
    })
}

fn run_stages(
    plan: &Plan,
    program: &Program,
    pixels: PixelsRef<'_>,
    region: Rect,
    scratch: &mut CpuScratch,
    sink: &mut dyn Sink,
) -> Result<()> {
    if (program.stages.len() > 1 || program.stages[0].gather.is_some()) && plan.has_gathers() {
        scratch.reserve(plan, program, region)?;
    }
    // Operators that an image skips leave stages that only pass it on.
    let runs = |i: &usize| *i == 0 || !program.stages[*i].is_unchanged();
    let last = (0..program.stages.len()).rev().find(runs).unwrap_or(0);
    let mut previous = None;
    let mut wide = std::mem::take(&mut scratch.wide);
    let pixels = match pixels {
        // The tables read colours, so gray pixels are widened.
        PixelsRef::Bytes { data, stride, size: 1 }
            if program.stages[0].is_only_sampled()
                && Unscaled::new(&program.stages[0].sampling.relative_to(region), pixels).is_none() =>
        {
            let width = region.width as usize;
            wide.clear();
            AUGMENTING.reserve(&mut wide, product(4 * width, region.height as usize))?;
            let rows = data.chunks(stride).take(region.height as usize);
            rows.for_each(|row| widen_gray(&row[..width], &mut wide));
            PixelsRef::Bytes { data: &wide, stride: 4 * width, size: 4 }
        }
        pixels => pixels,
    };
    let mut buffers = std::mem::take(&mut scratch.intermediate);
    let mut buffers_u8 = std::mem::take(&mut scratch.intermediate_u8);
    for i in (0..=last).filter(runs) {
        let stage = &program.stages[i];
        let (width, height) = stage.sampling.size();
        let (width, height) = (width as usize, height as usize);
        let ([ready, next], [ready_u8, next_u8]) = (&mut buffers, &mut buffers_u8);
        let before = program.stages[previous.unwrap_or(0)].sampling.size();
        let stride = 4 * before.0 as usize;
        let source = match previous.map(|before: usize| program.stages[before].is_uint8) {
            None => pixels,
            Some(true) => PixelsRef::Bytes { data: ready_u8.as_flattened(), stride, size: 4 },
            Some(false) => PixelsRef::Floats { data: ready, stride },
        };
        let region = if i == 0 { region } else { Rect { left: 0, top: 0, width: before.0, height: before.1 } };
        if stage.begins_in_bytes() {
            let steps = &stage.steps[stage.byte_steps()..];
            begin_stage(plan, stage, source, region, scratch, next_u8)?;
            let result = PixelsRef::Bytes { data: next_u8.as_flattened(), stride: 4 * width, size: 4 };
            let (sampling, whole) = (Sampling::identity(stage.sampling.size()), stage.whole());
            if i == last {
                if !sink.pixels(next_u8, steps) {
                    sample_stage(plan, &sampling, steps, result, whole, scratch, sink)?;
                }
            } else if !stage.is_uint8 {
                sample_stage(plan, &sampling, steps, result, whole, scratch, &mut floats_to(next, (width, height))?)?;
            } else if !steps.is_empty() {
                let mut rest = std::mem::take(&mut scratch.gathered);
                let mut sink = bytes_to(&mut rest, (width, height))?;
                sample_stage(plan, &sampling, steps, result, whole, scratch, &mut sink)?;
                drop(sink);
                scratch.gathered = std::mem::replace(next_u8, rest);
            }
        } else if i == last {
            run_stage(plan, stage, source, region, scratch, sink)?;
        } else if stage.is_uint8 {
            run_stage(plan, stage, source, region, scratch, &mut bytes_to(next_u8, (width, height))?)?;
        } else {
            run_stage(plan, stage, source, region, scratch, &mut floats_to(next, (width, height))?)?;
        }
        previous = Some(i);
        buffers.swap(0, 1);
        buffers_u8.swap(0, 1);
    }
    scratch.intermediate = buffers;
    scratch.intermediate_u8 = buffers_u8;
    scratch.wide = wide;
    Ok(())
}

/// The output itself as planes, if a small image can be processed there: this saves a copy.
fn in_place<'a>(
    plan: &Plan,
    stage: &StageProgram,
    unscaled: &Unscaled<'_>,
    out: &'a mut [u8],
) -> Option<&'a mut [f32]> {
    let (channels, output) = (plan.channels(), plan.output());
    let planes = match channels {
        3 => true,
        _ => {
            plan.input_channels() == 1 && unscaled.is_gray() && stage.steps.iter().all(|step| step.facts().per_channel)
        }
    };
    let fits = (output.dtype, output.layout) == (DType::F32, Layout::Nchw) && out.len() <= TOGETHER * size_of::<f32>();
    if !(planes && fits) || stage.steps.iter().any(by_rows) {
        return None;
    }
    bytemuck::try_cast_slice_mut(out).ok()
}

#[cfg(test)]
mod tests;
