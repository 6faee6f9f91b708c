//! The plan in native code: for machines without a usable GPU, for software adapters, and for images that
//! `plan/cpu_fallback.rs` takes off the GPU.
//!
//! It runs the same programs as `gpu/`, one image at a time: `resample` (or `unscaled`) turns source rows into output
//! rows, `color` runs the steps on them (with the native code of `../color/`) while they are in the first-level cache,
//! and `store` writes them in the output's layout and type.

mod color;
pub(crate) mod gather;
pub(crate) mod measure;
pub(crate) mod mix;
mod mixture;
pub(crate) mod prefix;
mod resample;
mod resample_u8;
mod store;
mod unscaled;

use crate::color::Step;
use crate::geometry::Rect;
use crate::pixels::{PixelsRef, widen_gray};
use crate::plan::program::{Program, StageProgram};
use crate::plan::{DType, Layout, Plan, Semantics};
use gather::GatherScratch;
use mixture::MixtureScratch;
use resample::Table;
use resample_u8::ResampleU8;
use unscaled::Unscaled;

/// A worker's memory for this executor; it grows to the largest image and is reused.
#[derive(Debug, Default)]
pub(crate) struct CpuScratch {
    x: Table,
    y: Table,
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
    intermediate_u8: [Vec<u8>; 2],
    /// Gray pixels as RGBA8.
    wide: Vec<u8>,
}

impl CpuScratch {
    /// Makes room for as much as `other` has room for.
    pub(crate) fn reserve_like(&mut self, other: &CpuScratch) {
        let CpuScratch { x, y, u8, gather, mixture, filtered, rows, means, intermediate, intermediate_u8, wide } = self;
        u8.reserve_like(&other.u8);
        gather.reserve_like(&other.gather);
        if let Some(other) = &other.mixture {
            mixture.get_or_insert_default().reserve_like(other);
        }
        x.reserve_like(&other.x);
        y.reserve_like(&other.y);
        for (vec, other) in [(filtered, &other.filtered), (rows, &other.rows), (means, &other.means)] {
            vec.reserve_exact(other.capacity().saturating_sub(vec.len()));
        }
        // The two buffers alternate from stage to stage, so both need the size of the larger one.
        let largest = intermediate.iter().chain(&other.intermediate).map(Vec::capacity).max().unwrap_or(0);
        intermediate.iter_mut().for_each(|vec| vec.reserve_exact(largest.saturating_sub(vec.len())));
        let largest = intermediate_u8.iter().chain(&other.intermediate_u8).map(Vec::capacity).max().unwrap_or(0);
        intermediate_u8.iter_mut().for_each(|vec| vec.reserve_exact(largest.saturating_sub(vec.len())));
        wide.reserve_exact(other.wide.capacity().saturating_sub(wide.len()));
    }

    /// Makes room for every operator that may begin a stage, whether or not this image has one: so the first epoch
    /// makes the room that others need.
    fn reserve(&mut self, plan: &Plan, program: &Program, region: Rect) {
        let pixels = |(width, height): (u32, u32)| width as usize * height as usize;
        let before = |stage: &StageProgram| stage.gather.as_ref().map_or(0, |gather| pixels(gather.size()));
        let sizes = program.stages.iter().map(|stage| pixels(stage.sampling.size()).max(before(stage)));
        let decoded = program.stages[0].gather.as_ref().map_or(0, |_| pixels((region.width, region.height)));
        let most = sizes.max().unwrap_or(0).max(decoded);
        let is_uint8 = plan.semantics() == Semantics::Uint8;
        self.gather.reserve(is_uint8, most);
        // A policy's contrast may need the whole image.
        self.rows.reserve_exact((3 * most).saturating_sub(self.rows.len()));
        if is_uint8 {
            self.intermediate_u8.iter_mut().for_each(|vec| vec.reserve_exact((4 * most).saturating_sub(vec.len())));
        } else {
            self.intermediate.iter_mut().for_each(|vec| vec.reserve_exact((4 * most).saturating_sub(vec.len())));
        }
    }

    /// Allocated bytes.
    fn bytes(&self) -> usize {
        let floats = [&self.filtered, &self.rows, &self.means, &self.intermediate[0], &self.intermediate[1]];
        let floats: usize = floats.into_iter().map(Vec::capacity).sum();
        let bytes: usize = self.intermediate_u8.iter().map(Vec::capacity).sum();
        4 * floats
            + bytes
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
/// `out` has exactly the output's bytes.
pub(crate) fn run(
    plan: &Plan,
    program: &Program,
    pixels: PixelsRef<'_>,
    region: Rect,
    out: &mut [u8],
    scratch: &mut CpuScratch,
) {
    let (channels, output) = (plan.channels() as usize, plan.output());
    if let [stage] = &program.stages[..]
        && stage.is_only_sampled()
        && let Some(unscaled) = Unscaled::new(&stage.sampling.relative_to(region), pixels)
    {
        if stage.steps.is_empty() && (output.dtype, channels) == (DType::U8, 3) && !unscaled.is_gray() {
            return unscaled.copy(output.layout, out);
        }
        if let Some(planes) = in_place(plan, stage, &unscaled, out) {
            if channels == 1 {
                unscaled.gray_rows(0, planes)
            } else {
                unscaled.rows(0, planes)
            }
            return color::steps(plan, &stage.steps, &[], 0, channels, planes);
        }
    }
    let mut writer = store::Writer::new(output, channels, program.size(), out);
    run_stages(plan, program, pixels, region, scratch, |y, planes| writer.rows(y, planes));
}

/// Runs a program as [`run`] does, to four f32 a pixel: the form in which the GPU reads an image that the CPU has
/// finished.
pub(crate) fn run_to_floats(
    plan: &Plan,
    program: &Program,
    pixels: PixelsRef<'_>,
    region: Rect,
    out: &mut Vec<f32>,
    scratch: &mut CpuScratch,
) {
    let (width, height) = program.size();
    let width = width as usize;
    out.clear();
    out.resize(4 * width * height as usize, 1.0);
    run_stages(plan, program, pixels, region, scratch, |y, planes| {
        store::interleave(planes, &mut out[4 * width * y..][..4 * planes.len() / 3])
    });
}

fn run_stages(
    plan: &Plan,
    program: &Program,
    pixels: PixelsRef<'_>,
    region: Rect,
    scratch: &mut CpuScratch,
    mut sink: impl FnMut(usize, &[f32]),
) {
    if (program.stages.len() > 1 || program.stages[0].gather.is_some()) && plan.has_gathers() {
        scratch.reserve(plan, program, region);
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
            Some(true) => PixelsRef::Bytes { data: ready_u8, stride, size: 4 },
            Some(false) => PixelsRef::Floats { data: ready, stride },
        };
        let region = if i == 0 { region } else { Rect { left: 0, top: 0, width: before.0, height: before.1 } };
        if i == last {
            run_stage(plan, stage, source, region, scratch, &mut sink);
        } else if stage.is_uint8 {
            next_u8.clear();
            next_u8.resize(4 * width * height, 255);
            run_stage(plan, stage, source, region, scratch, &mut |y, planes| {
                store::interleave_u8(planes, &mut next_u8[4 * width * y..][..4 * planes.len() / 3])
            });
        } else {
            next.clear();
            next.resize(4 * width * height, 1.0);
            run_stage(plan, stage, source, region, scratch, &mut |y, planes| {
                store::interleave(planes, &mut next[4 * width * y..][..4 * planes.len() / 3])
            });
        }
        previous = Some(i);
        buffers.swap(0, 1);
        buffers_u8.swap(0, 1);
    }
    scratch.intermediate = buffers;
    scratch.intermediate_u8 = buffers_u8;
    scratch.wide = wide;
}

fn run_stage(
    plan: &Plan,
    stage: &StageProgram,
    source: PixelsRef<'_>,
    region: Rect,
    scratch: &mut CpuScratch,
    sink: &mut dyn FnMut(usize, &[f32]),
) {
    if let Some(gather) = &stage.gather {
        let (window, mut buffers) = (stage.sampling.read_region(), std::mem::take(&mut scratch.gather));
        let gathered = gather::run(gather, source, region, window, &mut buffers);
        sample_stage(plan, stage, gathered, window, scratch, sink);
        scratch.gather = buffers;
    } else if let Some(mixture) = &stage.mixture {
        let (window, mut buffers) = (stage.sampling.read_region(), scratch.mixture.take().unwrap_or_default());
        let mixed = mixture::run(plan, mixture, (source, region), window, &mut buffers);
        sample_stage(plan, stage, mixed, window, scratch, sink);
        scratch.mixture = Some(buffers);
    } else {
        sample_stage(plan, stage, source, region, scratch, sink);
    }
}

/// Runs the sampling of a stage on the pixels of `region`, and its colour steps.
fn sample_stage(
    plan: &Plan,
    stage: &StageProgram,
    source: PixelsRef<'_>,
    region: Rect,
    scratch: &mut CpuScratch,
    sink: &mut dyn FnMut(usize, &[f32]),
) {
    let sampling = stage.sampling.relative_to(region);
    let (width, height) = sampling.size();
    let (width, height) = (width as usize, height as usize);
    let CpuScratch { x, y, u8, filtered, rows, means, .. } = scratch;
    let unscaled = Unscaled::new(&sampling, source);
    match sampling.resized_u8 {
        Some(whole) => {
            u8.reserve(width, stage.sampling.y.source_len as usize);
            u8.begin(&sampling, whole, source);
        }
        None if unscaled.is_none() => {
            x.build(&sampling.x, &sampling);
            y.build(&sampling.y, &sampling);
        }
        None => {}
    }
    let steps = &stage.steps;
    means.clear();
    means.resize(steps.len(), 0.0);
    let whole_image = stage.needs_mean() && !(unscaled.is_some() && cheap_to_repeat(steps));
    let row_len = 3 * width;
    // The number of rows to process at once: all of a small image, unless a step depends on the row or sums rows up.
    let together = match &unscaled {
        Some(_) if steps.iter().all(|step| !by_rows(step)) => (TOGETHER / row_len.max(1)).clamp(1, height.max(1)),
        _ => 1,
    };
    rows.resize(row_len * if whole_image { height } else { together }, 0.0);
    // Stored rows have been through the steps before this one; other rows are computed again in every pass.
    let mut done = None;
    let mut pass = |until: usize, means: &[f32], work: &mut dyn FnMut(usize, &[f32])| {
        for i in (0..height).step_by(together) {
            let planes = if whole_image {
                &mut rows[row_len * i..][..row_len]
            } else {
                &mut rows[..row_len * together.min(height - i)]
            };
            if done.is_none() {
                match &unscaled {
                    Some(unscaled) => unscaled.rows(i, planes),
                    None if sampling.resized_u8.is_some() => u8.row(&sampling, i, planes),
                    None => resample::row(&sampling, x, y, i, source, filtered, planes),
                }
            }
            let due = done.unwrap_or(0)..until;
            color::steps(plan, &steps[due.clone()], &means[due], i, 3, planes);
            work(i, planes);
        }
        done = whole_image.then_some(until);
    };
    for (i, step) in steps.iter().enumerate().filter(|(_, step)| step.facts().needs_mean) {
        // The sum of rows is f64: the mean of a large image needs its last bits. Its order is always the same.
        let mut sum = 0.0f64;
        let (one_channel, is_uint8) = (step.integers[2] == 1, step.facts().keeps_levels);
        pass(i, means, &mut |_, planes| {
            sum += if is_uint8 {
                color::gray_sum_u8(planes, one_channel)
            } else {
                f64::from(color::gray_sum(planes, one_channel))
            }
        });
        means[i] = (sum / (width * height) as f64) as f32;
    }
    pass(steps.len(), means, sink);
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

/// The most floats of the rows that are processed at once: 16 KiB, half of a first-level cache.
const TOGETHER: usize = 4 << 10;

/// Tells whether a step must see one row at a time, because it depends on the row's position or sums it up.
fn by_rows(step: &Step) -> bool {
    step.facts().placed || step.facts().needs_mean
}

/// Tells whether a stage without a resize should compute its rows again after its only mean, including the steps before
/// it: that stays in the first-level cache, where an image of rows does not. Repeating a slow step would take longer
/// than storing the rows.
fn cheap_to_repeat(steps: &[Step]) -> bool {
    let mut with_mean = (0..steps.len()).filter(|&i| steps[i].facts().needs_mean);
    let first = with_mean.next().unwrap_or(0);
    with_mean.next().is_none() && steps[..first].iter().all(|step| !step.facts().slow)
}

#[cfg(test)]
mod tests;
