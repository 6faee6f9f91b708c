//! One stage of a program: in floats, or on 8-bit numbers, which go through its operator, its sampling and its first
//! colour steps as RGBA8; what is left of its steps runs on planes of floats.

use super::gather;
use super::mixture;
use super::resample;
use super::unscaled::Unscaled;
use super::{CpuScratch, Sink, bytes, color, store};
use crate::allocate::{AUGMENTING, product};
use crate::color::Step;
use crate::error::Result;
use crate::geometry::Rect;
use crate::pixels::PixelsRef;
use crate::plan::Plan;
use crate::plan::program::StageProgram;
use crate::plan::sampling::Sampling;

/// Writes rows to an intermediate of floats.
pub(super) fn floats_to(out: &mut Vec<f32>, (width, height): (usize, usize)) -> Result<impl FnMut(usize, &[f32])> {
    out.clear();
    AUGMENTING.resize(out, product(4 * width, height), 1.0)?;
    Ok(move |y, planes: &[f32]| store::interleave(planes, &mut out[4 * width * y..][..4 * planes.len() / 3]))
}

/// Writes rows to an intermediate of 8-bit numbers.
pub(super) fn bytes_to(out: &mut Vec<[u8; 4]>, (width, height): (usize, usize)) -> Result<impl FnMut(usize, &[f32])> {
    out.clear();
    AUGMENTING.resize(out, product(width, height), [255; 4])?;
    Ok(move |y, planes: &[f32]| bytes::interleave_u8(planes, out[width * y..][..planes.len() / 3].as_flattened_mut()))
}

/// Runs a stage in floats.
pub(super) fn run_stage(
    plan: &Plan,
    stage: &StageProgram,
    source: PixelsRef<'_>,
    region: Rect,
    scratch: &mut CpuScratch,
    sink: &mut dyn Sink,
) -> Result<()> {
    let (sampling, steps) = (&stage.sampling, &stage.steps[..]);
    if let Some(gather) = &stage.gather {
        let (window, mut buffers) = (stage.sampling.read_region(), std::mem::take(&mut scratch.gather));
        let gathered = gather::floats(gather, source, region, window, &mut buffers)?;
        sample_stage(plan, sampling, steps, gathered, window, scratch, sink)?;
        scratch.gather = buffers;
    } else if let Some(mixture) = &stage.mixture {
        let (window, mut buffers) = (stage.sampling.read_region(), scratch.mixture.take().unwrap_or_default());
        let mixed = mixture::run(plan, mixture, source, region, window, &mut buffers)?;
        sample_stage(plan, sampling, steps, mixed, window, scratch, sink)?;
        scratch.mixture = Some(buffers);
    } else {
        sample_stage(plan, sampling, steps, source, region, scratch, sink)?;
    }
    Ok(())
}

/// Runs what a stage begins with on 8-bit numbers: the operator that gathers, the sampling, and the first colour steps.
pub(super) fn begin_stage(
    plan: &Plan,
    stage: &StageProgram,
    source: PixelsRef<'_>,
    region: Rect,
    scratch: &mut CpuScratch,
    out: &mut Vec<[u8; 4]>,
) -> Result<()> {
    match &stage.gather {
        Some(gather) if stage.sampling == Sampling::identity(gather.size()) => {
            gather::bytes(gather, source, region, stage.whole(), &mut scratch.gather, out)?;
        }
        Some(gather) => {
            let (window, mut gathered) = (stage.sampling.read_region(), std::mem::take(&mut scratch.gathered));
            gather::bytes(gather, source, region, window, &mut scratch.gather, &mut gathered)?;
            let stride = 4 * window.width as usize;
            let pixels = PixelsRef::Bytes { data: gathered.as_flattened(), stride, size: 4 };
            sample_bytes(plan, &stage.sampling, pixels, window, scratch, out)?;
            scratch.gathered = gathered;
        }
        None if stage.mixture.is_some() => {
            let (window, mut buffers) = (stage.sampling.read_region(), scratch.mixture.take().unwrap_or_default());
            if let Some(mixture) = &stage.mixture {
                let mixed = mixture::run(plan, mixture, source, region, window, &mut buffers)?;
                sample_bytes(plan, &stage.sampling, mixed, window, scratch, out)?;
            }
            scratch.mixture = Some(buffers);
        }
        None => sample_bytes(plan, &stage.sampling, source, region, scratch, out)?,
    }
    bytes::steps(plan, &stage.steps[..stage.byte_steps()], out);
    Ok(())
}

/// Runs a sampling on the pixels of `region` to 8-bit numbers.
fn sample_bytes(
    plan: &Plan,
    sampling: &Sampling,
    source: PixelsRef<'_>,
    region: Rect,
    scratch: &mut CpuScratch,
    out: &mut Vec<[u8; 4]>,
) -> Result<()> {
    let local = sampling.relative_to(region);
    let (width, height) = (local.x.len as usize, local.y.len as usize);
    if let Some(whole) = local.resized_u8 {
        AUGMENTING.resize(out, product(width, height), [255; 4])?;
        scratch.u8.reserve(width, sampling.y.source_len as usize)?;
        scratch.u8.begin(&local, whole, source)?;
        out.chunks_exact_mut(width).enumerate().for_each(|(i, row)| scratch.u8.row(&local, i, row));
    } else if let Some(unscaled) = Unscaled::new(&local, source) {
        AUGMENTING.resize(out, product(width, height), [255; 4])?;
        unscaled.pixels(out);
    } else {
        sample_stage(plan, sampling, &[], source, region, scratch, &mut bytes_to(out, (width, height))?)?;
    }
    Ok(())
}

/// Runs the sampling of a stage on the pixels of `region`, and its colour steps.
pub(super) fn sample_stage(
    plan: &Plan,
    sampling: &Sampling,
    steps: &[Step],
    source: PixelsRef<'_>,
    region: Rect,
    scratch: &mut CpuScratch,
    sink: &mut dyn Sink,
) -> Result<()> {
    let sampling = sampling.relative_to(region);
    let (width, height) = sampling.size();
    let (width, height) = (width as usize, height as usize);
    let CpuScratch { x, y, filtered, rows, means, .. } = scratch;
    let unscaled = Unscaled::new(&sampling, source);
    if unscaled.is_none() {
        x.build(&sampling.x, &sampling)?;
        y.build(&sampling.y, &sampling)?;
        AUGMENTING.resize(filtered, x.row_len(), 0.0)?;
    }
    means.clear();
    means.resize(steps.len(), 0.0);
    let needs_mean = steps.iter().any(|step| step.facts().needs_mean);
    let whole_image = needs_mean && !(unscaled.is_some() && cheap_to_repeat(steps));
    let row_len = 3 * width;
    // The number of rows to process at once: all of a small image, unless a step depends on the row or sums rows up.
    let together = match &unscaled {
        Some(_) if steps.iter().all(|step| !by_rows(step)) => (TOGETHER / row_len.max(1)).clamp(1, height.max(1)),
        _ => 1,
    };
    AUGMENTING.resize(rows, product(row_len, if whole_image { height } else { together }), 0.0)?;
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
    pass(steps.len(), means, &mut |y, planes| sink.rows(y, planes));
    Ok(())
}

/// The most floats of the rows that are processed at once: 16 KiB, half of a first-level cache.
pub(super) const TOGETHER: usize = 4 << 10;

/// Tells whether a step must see one row at a time, because it depends on the row's position or sums it up.
pub(super) fn by_rows(step: &Step) -> bool {
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
