//! The plan in native code: for machines without a usable GPU, for software adapters, and for images that
//! `plan/cpu_fallback.rs` takes off the GPU.
//!
//! It runs the programs that `gpu/` runs, an image at a time: `resample` (or `unscaled`) turns source rows into output
//! rows, `color` runs the steps on them (by the native code of `../color/`) while they are in the first-level cache,
//! `store` writes them in the output's layout and type.

mod color;
pub(crate) mod measure;
pub(crate) mod prefix;
mod resample;
mod store;
mod unscaled;

use crate::color::Step;
use crate::geometry::Rect;
use crate::pixels::PixelsRef;
use crate::plan::program::{Program, StageProgram};
use crate::plan::{DType, Layout, Plan};
use resample::Table;
use unscaled::Unscaled;

/// A worker's memory for this executor; grows to the largest image and stays.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    x: Table,
    y: Table,
    /// One source row, filtered vertically.
    line: Vec<f32>,
    /// Output rows, each its three planes: one, or the whole image where a mean is needed.
    rows: Vec<f32>,
    /// One for each step; those of contrast steps are used.
    means: Vec<f32>,
    /// The stages' intermediates, four floats a pixel.
    intermediate: [Vec<f32>; 2],
    /// Gray pixels as RGBA8.
    wide: Vec<u8>,
}

impl Scratch {
    /// Makes room for whatever `other` has room for.
    pub(crate) fn reserve_like(&mut self, other: &Scratch) {
        let Scratch { x, y, line, rows, means, intermediate, wide } = self;
        x.reserve_like(&other.x);
        y.reserve_like(&other.y);
        for (vec, other) in [(line, &other.line), (rows, &other.rows), (means, &other.means)] {
            vec.reserve_exact(other.capacity().saturating_sub(vec.len()));
        }
        // The two take turns from stage to stage, and which begins changes: each needs the size of the larger.
        let largest = intermediate.iter().chain(&other.intermediate).map(Vec::capacity).max().unwrap_or(0);
        intermediate.iter_mut().for_each(|vec| vec.reserve_exact(largest.saturating_sub(vec.len())));
        wide.reserve_exact(other.wide.capacity().saturating_sub(wide.len()));
    }

    /// Bytes of memory that it has grown to.
    fn bytes(&self) -> usize {
        let floats = [&self.line, &self.rows, &self.means, &self.intermediate[0], &self.intermediate[1]];
        let floats: usize = floats.into_iter().map(Vec::capacity).sum();
        4 * floats + self.x.bytes() + self.y.bytes() + self.wide.capacity()
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
    scratch: &mut Scratch,
) {
    let (channels, output) = (plan.channels() as usize, plan.output());
    if let [stage] = &program.stages[..]
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

/// As [`run`], to four f32 a pixel: what the GPU stores for an image that the CPU has reduced.
pub(crate) fn run_to_floats(
    plan: &Plan,
    program: &Program,
    pixels: PixelsRef<'_>,
    region: Rect,
    out: &mut Vec<f32>,
    scratch: &mut Scratch,
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
    scratch: &mut Scratch,
    mut sink: impl FnMut(usize, &[f32]),
) {
    let last = program.stages.len() - 1;
    let mut wide = std::mem::take(&mut scratch.wide);
    let pixels = match pixels {
        // The tables read colours.
        PixelsRef::Bytes { data, stride, size: 1 }
            if Unscaled::new(&program.stages[0].sampling.relative_to(region), pixels).is_none() =>
        {
            let width = region.width as usize;
            wide.clear();
            let rows = data.chunks(stride).take(region.height as usize);
            rows.for_each(|row| wide.extend(row[..width].iter().flat_map(|&v| [v, v, v, 255])));
            PixelsRef::Bytes { data: &wide, stride: 4 * width, size: 4 }
        }
        pixels => pixels,
    };
    let mut buffers = std::mem::take(&mut scratch.intermediate);
    for (i, stage) in program.stages.iter().enumerate() {
        let (width, height) = stage.sampling.size();
        let (width, height) = (width as usize, height as usize);
        let [ready, next] = &mut buffers;
        let stride = 4 * program.stages[i.saturating_sub(1)].sampling.size().0 as usize;
        let source = if i == 0 { pixels } else { PixelsRef::Floats { data: ready, stride } };
        let region = if i == 0 { region } else { Rect { left: 0, top: 0, ..region } };
        if i == last {
            run_stage(plan, stage, source, region, scratch, &mut sink);
        } else {
            next.clear();
            next.resize(4 * width * height, 1.0);
            run_stage(plan, stage, source, region, scratch, &mut |y, planes| {
                store::interleave(planes, &mut next[4 * width * y..][..4 * planes.len() / 3])
            });
        }
        buffers.swap(0, 1);
    }
    scratch.intermediate = buffers;
    scratch.wide = wide;
}

fn run_stage(
    plan: &Plan,
    stage: &StageProgram,
    source: PixelsRef<'_>,
    region: Rect,
    scratch: &mut Scratch,
    sink: &mut dyn FnMut(usize, &[f32]),
) {
    let sampling = stage.sampling.relative_to(region);
    let (width, height) = sampling.size();
    let (width, height) = (width as usize, height as usize);
    let Scratch { x, y, line, rows, means, .. } = scratch;
    let unscaled = Unscaled::new(&sampling, source);
    if unscaled.is_none() {
        x.build(&sampling.x, &sampling);
        y.build(&sampling.y, &sampling);
    }
    let steps = &stage.steps;
    means.clear();
    means.resize(steps.len(), 0.0);
    let keep = stage.needs_mean() && !(unscaled.is_some() && cheap_to_repeat(steps));
    let row_len = 3 * width;
    // Rows that are done at once: of a small image all, as far as no step asks which row it is or adds rows up.
    let together = match &unscaled {
        Some(_) if steps.iter().all(|step| !by_rows(step)) => (TOGETHER / row_len.max(1)).clamp(1, height.max(1)),
        _ => 1,
    };
    rows.resize(row_len * if keep { height } else { together }, 0.0);
    // Kept rows have been through the steps before this one; others begin anew in every pass.
    let mut done = None;
    let mut pass = |until: usize, means: &[f32], work: &mut dyn FnMut(usize, &[f32])| {
        for i in (0..height).step_by(together) {
            let planes = if keep {
                &mut rows[row_len * i..][..row_len]
            } else {
                &mut rows[..row_len * together.min(height - i)]
            };
            if done.is_none() {
                match &unscaled {
                    Some(unscaled) => unscaled.rows(i, planes),
                    None => resample::row(&sampling, x, y, i, source, line, planes),
                }
            }
            let due = done.unwrap_or(0)..until;
            color::steps(plan, &steps[due.clone()], &means[due], i, 3, planes);
            work(i, planes);
        }
        done = keep.then_some(until);
    };
    for (i, step) in steps.iter().enumerate().filter(|(_, step)| step.facts().needs_mean) {
        // Sums of rows, in f64: the mean of a large image keeps its last bits, in the same order every time.
        let mut sum = 0.0f64;
        pass(i, means, &mut |_, planes| sum += f64::from(color::gray_sum(planes, step.integers[2] == 1)));
        means[i] = (sum / (width * height) as f64) as f32;
    }
    pass(steps.len(), means, sink);
}

/// The output itself as planes, where a small image can be worked on there: a copy less.
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

/// Floats of the rows that are done at once: 16 KiB, half of a first-level cache.
const TOGETHER: usize = 4 << 10;

/// Tells whether a step must see one row at a time: where it is, or to add it up.
fn by_rows(step: &Step) -> bool {
    step.facts().placed || step.facts().needs_mean
}

/// Tells whether a stage without a resize samples its rows again after the one mean that it needs, and repeats the
/// steps before it: that stays in the first-level cache, where an image of rows does not. A slow step takes longer than
/// keeping the rows.
fn cheap_to_repeat(steps: &[Step]) -> bool {
    let mut with_mean = (0..steps.len()).filter(|&i| steps[i].facts().needs_mean);
    let first = with_mean.next().unwrap_or(0);
    with_mean.next().is_none() && steps[..first].iter().all(|step| !step.facts().slow)
}

#[cfg(test)]
mod tests;
