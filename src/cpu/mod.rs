//! The plan in native code: for machines without a usable GPU, for software adapters, and for images too large for a slot.
//!
//! The same programs as `gpu/` runs, an image at a time: `resample` turns source rows into output rows, `color` runs the
//! steps on them while they are in the first-level cache, `store` writes them in the output's layout and type.

mod color;
mod resample;
mod store;

use crate::decode::Rect;
use crate::plan::Plan;
use crate::plan::program::{Program, StageProgram};
use crate::transforms::opcode;
use resample::Table;

/// Source pixels in host memory, four channels interleaved.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Pixels<'a> {
    /// RGBA8, rows `stride` bytes apart.
    Bytes { data: &'a [u8], stride: usize },
    /// Four f32 a pixel, rows `stride` floats apart.
    Floats { data: &'a [f32], stride: usize },
}

/// A worker's memory for this executor; grows to the largest image and stays.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    x: Table,
    y: Table,
    /// One source row, filtered vertically.
    line: Vec<f32>,
    /// Output rows, each its three planes: one, or the whole image where a mean is needed.
    rows: Vec<f32>,
    /// The stages' intermediates, four floats a pixel.
    intermediate: [Vec<f32>; 2],
}

/// Runs `program` on the pixels of `region` (of the source image) and writes the whole output image to `out`.
///
/// `out` has exactly the output's bytes.
pub(crate) fn run(
    plan: &Plan,
    program: &Program,
    pixels: Pixels<'_>,
    region: Rect,
    out: &mut [u8],
    scratch: &mut Scratch,
) {
    let channels = plan.channels() as usize;
    let mut writer = store::Writer::new(plan.output(), channels, program.size(), out);
    run_stages(plan, program, pixels, region, scratch, |y, planes| writer.row(y, planes));
}

/// As [`run`], to four f32 a pixel: what the GPU stores for an image that the CPU has reduced.
pub(crate) fn run_to_floats(
    plan: &Plan,
    program: &Program,
    pixels: Pixels<'_>,
    region: Rect,
    out: &mut Vec<f32>,
    scratch: &mut Scratch,
) {
    let (width, height) = program.size();
    let width = width as usize;
    out.clear();
    out.resize(4 * width * height as usize, 1.0);
    run_stages(plan, program, pixels, region, scratch, |y, planes| {
        store::interleave(planes, &mut out[4 * width * y..][..4 * width])
    });
}

fn run_stages(
    plan: &Plan,
    program: &Program,
    pixels: Pixels<'_>,
    region: Rect,
    scratch: &mut Scratch,
    mut sink: impl FnMut(usize, &[f32]),
) {
    let last = program.stages.len() - 1;
    let mut buffers = std::mem::take(&mut scratch.intermediate);
    for (i, stage) in program.stages.iter().enumerate() {
        let (width, height) = stage.sampling.size();
        let (width, height) = (width as usize, height as usize);
        let [ready, next] = &mut buffers;
        let stride = 4 * program.stages[i.saturating_sub(1)].sampling.size().0 as usize;
        let source = if i == 0 { pixels } else { Pixels::Floats { data: ready, stride } };
        let region = if i == 0 { region } else { Rect { left: 0, top: 0, ..region } };
        if i == last {
            run_stage(plan, stage, source, region, scratch, &mut sink);
        } else {
            next.clear();
            next.resize(4 * width * height, 1.0);
            run_stage(plan, stage, source, region, scratch, &mut |y, planes| {
                store::interleave(planes, &mut next[4 * width * y..][..4 * width])
            });
        }
        buffers.swap(0, 1);
    }
    scratch.intermediate = buffers;
}

fn run_stage(
    plan: &Plan,
    stage: &StageProgram,
    source: Pixels<'_>,
    region: Rect,
    scratch: &mut Scratch,
    sink: &mut dyn FnMut(usize, &[f32]),
) {
    let sampling = stage.sampling.relative_to(region);
    let (width, height) = sampling.size();
    let (width, height) = (width as usize, height as usize);
    scratch.x.build(&sampling.x, &sampling);
    scratch.y.build(&sampling.y, &sampling);
    let row_len = 3 * width;
    let has_contrast = stage.needs_mean();
    scratch.rows.resize(row_len * if has_contrast { height } else { 1 }, 0.0);
    let Scratch { x, y, line, rows, .. } = scratch;
    if !has_contrast {
        for row in 0..height {
            resample::row(&sampling, x, y, row, source, line, rows);
            stage.steps.iter().for_each(|step| color::step(plan, step, 0.0, rows));
            sink(row, rows);
        }
        return;
    }
    for (row, planes) in rows.chunks_exact_mut(row_len).enumerate() {
        resample::row(&sampling, x, y, row, source, line, planes);
    }
    let mut first = 0;
    while let Some(until) =
        stage.steps[first..].iter().position(|step| step.opcode == opcode::CONTRAST).map(|i| first + i)
    {
        let contrast = &stage.steps[until];
        // Sums of rows, in f64: the mean of a large image keeps its last bits, in the same order every time.
        let sum: f64 = rows
            .chunks_exact_mut(row_len)
            .map(|planes| {
                stage.steps[first..until].iter().for_each(|step| color::step(plan, step, 0.0, planes));
                f64::from(color::gray_sum(planes, contrast.gray == 1))
            })
            .sum();
        let mean = (sum / (width * height) as f64) as f32;
        rows.chunks_exact_mut(row_len).for_each(|planes| color::step(plan, contrast, mean, planes));
        first = until + 1;
    }
    for (row, planes) in rows.chunks_exact_mut(row_len).enumerate() {
        stage.steps[first..].iter().for_each(|step| color::step(plan, step, 0.0, planes));
        sink(row, planes);
    }
}
