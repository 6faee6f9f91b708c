//! Decides which images the CPU executor finishes on the GPU backend.
//!
//! The limits are constants: they depend neither on the adapter nor on a setting. So an image runs on the same executor
//! whatever the size of the staging slots, and batches have the same bits.

use super::gather::{Gather, GatherKind};
use super::program::{Program, StageProgram};
use super::sampling::{Axis, Filter, Sampling};
use super::wgsl::{GROUP, MOST_ROWS, PARTIALS};
use crate::geometry::Rect;
use crate::pillow::PillowFilter;

/// The most bytes of source pixels that a GPU image may read. No staging slot is smaller.
pub(crate) const REGION_BYTES: u64 = 16 << 20;
/// The most bytes of one intermediate between two stages, and the size of the buffers for them.
pub(crate) const INTERMEDIATE_BYTES: u64 = 64 << 20;
/// The most loop iterations of a shader thread. Mesa's llvmpipe, until a version between 22.3 and 25.0, ends the loops of
/// a shader after 65,535 iterations in total, without an error (`crates/testing/src/quirks.rs`), and desktop systems
/// reset a GPU whose shaders run for seconds. Bicubic downscaling by 15 reaches the limit, bilinear by 40, of float
/// pixels by 30. Loops of users' own colour steps are not counted.
const ITERATIONS: u64 = 60_000;

/// True if the CPU executor has to run `program`, which reads `region_bytes` of source pixels (floats if `float`).
pub(crate) fn needs_cpu(program: &Program, region_bytes: u64, float: bool) -> bool {
    let mut stages = program.stages.iter().enumerate();
    region_bytes > REGION_BYTES
        || intermediate_bytes(program) > INTERMEDIATE_BYTES
        || program.stages.iter().map(weight_words).sum::<u64>() > WEIGHT_WORDS
        || program.stages.iter().any(exceeds_integers)
        || stages
            .any(|(i, stage)| iterations(stage, stage.sampling.uses_strip_kernel() && !(i == 0 && float)) > ITERATIONS)
}

/// The most weights, in words, that the resizes of an image on 8-bit numbers may have: those to 224 × 224 pixels from 16
/// times as many a side.
pub(crate) const WEIGHT_WORDS: u64 = 16 << 10;
/// The most pixels whose 8-bit numbers have a sum of 32 bits.
const SUMMED_PIXELS: u64 = 1 << 24;
/// The greatest factor of a blend that the shaders compute in integers.
const GREATEST_FACTOR: f32 = 1e6;

/// True if 8-bit numbers exceed the integers of the shaders.
fn exceeds_integers(stage: &StageProgram) -> bool {
    if let Some(Gather { kind: GatherKind::Sharpen { ratio }, is_uint8: true, .. }) = stage.gather
        && ratio > f64::from(GREATEST_FACTOR)
    {
        return true;
    }
    let (width, height) = stage.sampling.size();
    let large = u64::from(width) * u64::from(height) > SUMMED_PIXELS;
    let blends = stage.steps.iter().filter(|step| step.facts().keeps_levels);
    blends.into_iter().any(|step| {
        step.value[..2].iter().any(|factor| factor.abs() > GREATEST_FACTOR) || step.facts().needs_mean && large
    })
}

/// The most words of the weights of a stage's resize on 8-bit numbers.
fn weight_words(stage: &StageProgram) -> u64 {
    let Sampling { x, y, filter, resized_u8, .. } = &stage.sampling;
    let axis = |axis: &Axis| 2 + axis.len as u64 * (2 + taps(axis, *filter));
    if resized_u8.is_some() { axis(x) + axis(y) } else { 0 }
}

/// Bytes of a region as the GPU reads it: four floats a pixel, or RGBA8.
pub(crate) fn pixel_bytes(region: Rect, float: bool) -> u64 {
    u64::from(region.width) * u64::from(region.height) * if float { 16 } else { 4 }
}

/// Bytes of the largest intermediate of one image.
pub(crate) fn intermediate_bytes(program: &Program) -> u64 {
    let stages = &program.stages[..program.stages.len() - 1];
    let bytes = stages.iter().map(|stage| {
        let (width, height) = stage.sampling.size();
        16 * u64::from(width) * u64::from(height)
    });
    bytes.max().unwrap_or(0)
}

/// The most taps of one output on one axis, plus the iteration in which the loop over them ends.
pub(crate) fn taps(axis: &Axis, filter: Filter) -> u64 {
    match filter {
        Filter::Nearest | Filter::NearestExact => 2,
        Filter::Linear => 3,
        Filter::Cubic => 5,
        Filter::LinearAntialias | Filter::CubicAntialias => (2.0 * axis.support) as u64 + 2,
    }
}

/// Loop iterations of the busiest thread of a stage's passes, by the strip kernel or the direct one.
fn iterations(stage: &StageProgram, strip: bool) -> u64 {
    let Sampling { x, y, filter, .. } = &stage.sampling;
    if let Some(gather) = &stage.gather {
        return gathering(gather, stage);
    }
    let (across, down) = (taps(x, *filter), taps(y, *filter));
    let rows = u64::from(MOST_ROWS);
    let column = if strip {
        let source_rows = ((rows + 2) as f32 * y.scale) as u64 + 2;
        across + rows + source_rows * (1 + across)
    } else {
        rows * (1 + down * (1 + across))
    };
    with_steps(column, stage)
}

/// Loop iterations of the busiest thread of a stage that begins with an operator.
fn gathering(gather: &Gather, stage: &StageProgram) -> u64 {
    let rows = u64::from(MOST_ROWS);
    let pixels = u64::from(gather.source.0) * u64::from(gather.source.1);
    let column = match gather.kind {
        GatherKind::Blur { kernel_size: [x, y], .. } => (rows + u64::from(y)) * (u64::from(x) + rows + 2) + 2 * rows,
        GatherKind::Autocontrast | GatherKind::Equalize => {
            pixels.div_ceil((GROUP.0 * GROUP.1).into()) * 4 + 3 * 257 + 2 * rows
        }
        GatherKind::Sharpen { .. } => rows * 13,
        GatherKind::Warp(_) => 2 * rows,
        GatherKind::PillowAffine(ref affine) if affine.filter != PillowFilter::Nearest => rows * 5,
        GatherKind::PillowBlur([Some(one), None] | [None, Some(one)]) => {
            let width = 2 * u64::from(one.radius) + 4;
            rows * (width + (3 * width + 3) * width)
        }
        // No shader has them.
        GatherKind::PillowAffine(_) | GatherKind::PillowBlur(_) | GatherKind::Elastic(_) | GatherKind::Jpeg { .. } => {
            ITERATIONS
        }
        GatherKind::Table(_) | GatherKind::PillowAutocontrast | GatherKind::Enhance(..) => ITERATIONS,
    };
    with_steps(column, stage)
}

/// Adds to the iterations of a column of pixels those of the stage's steps.
fn with_steps(column: u64, stage: &StageProgram) -> u64 {
    // A statistic's threads take several tiles each.
    let (width, height) = stage.sampling.size();
    let tiles = u64::from(width.div_ceil(GROUP.0)) * u64::from(height.div_ceil(GROUP.1 * MOST_ROWS));
    let of_statistic = if stage.needs_mean() { tiles.div_ceil(PARTIALS.into()) } else { 1 };
    let steps = stage.steps.len() as u64;
    // Each output loops over its steps; each thread loops once over the means' partial sums and over a statistic's own
    // numbers.
    (column + u64::from(MOST_ROWS) * (1 + steps)) * of_statistic + (1 + u64::from(PARTIALS)) * steps + 32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::composer::Composer;
    use crate::transforms::{Interpolation, Key, Op};
    use crate::{Output, Plan, Semantics};
    use gpufeed_testing::quirks::{QUIRKS, What};

    const INTERPOLATIONS: [Interpolation; 3] =
        [Interpolation::Nearest, Interpolation::Bilinear, Interpolation::Bicubic];

    fn reduces_on_cpu(from: u32, to: u32, filter: Filter) -> bool {
        reduces_floats_on_cpu(from, to, filter, false)
    }

    fn reduces_floats_on_cpu(from: u32, to: u32, filter: Filter, float: bool) -> bool {
        let mut composer = Composer::new((from, from));
        composer.resize((to, to), filter);
        let stage = StageProgram { sampling: composer.finish(), ..StageProgram::unchanged((1, 1)) };
        needs_cpu(&Program { stages: vec![stage] }, 0, float)
    }

    #[test]
    fn no_driver_ends_a_loop_that_the_rule_allows() {
        for quirk in &QUIRKS {
            let What::LoopsEnd { after } = quirk.what;
            assert!(u64::from(after) > ITERATIONS, "{quirk:?}");
        }
    }

    #[test]
    fn factors_that_exceed_integers_leave_the_gpu() {
        let sharpens_on_cpu = |ratio, is_uint8| {
            let gather = Gather { kind: GatherKind::Sharpen { ratio }, source: (8, 8), origin: (0, 0), is_uint8 };
            let stage = StageProgram { gather: Some(gather), ..StageProgram::unchanged((8, 8)) };
            needs_cpu(&Program { stages: vec![stage] }, 0, false)
        };
        assert_eq!([sharpens_on_cpu(1e6, true), sharpens_on_cpu(1e7, true)], [false, true]);
        assert!(!sharpens_on_cpu(1e7, false));
    }

    /// The first stage alone of images of (224, 200).
    fn runs_on_cpu(op: Op) -> bool {
        let plan = Plan::fixed_as(Semantics::Uint8, 3, &[op], &Output::default()).unwrap();
        needs_cpu(&plan.program(&plan.make_params(224, 200, &Key::default()).unwrap()).unwrap(), 0, false)
    }

    #[test]
    fn common_transforms_of_pillow_stay_on_the_gpu() {
        let affine = |matrix, interpolation| runs_on_cpu(Op::PillowAffine { matrix, interpolation, fill: [0.0; 3] });
        let (turned, moved) = ([0.8, 0.6, -20.0, -0.6, 0.8, 70.0], [1.0, 0.0, -32.0, 0.0, 1.0, 7.0]);
        for matrix in [turned, moved, [1.0, 0.0, 0.5, 0.0, -1.0, 200.0], [0.9, 0.0, 11.2, 0.0, 1.1, -10.0]] {
            assert_eq!(INTERPOLATIONS.map(|interpolation| affine(matrix, interpolation)), [false; 3], "{matrix:?}");
        }
        // Every third column lies on the border of two pixels, on the one or the other side by the last bit of a sum.
        assert!(affine([1.0 / 3.0, 0.0, 1.0 / 6.0, 0.0, 1.0, 0.0], Interpolation::Nearest));
        assert!(affine([1e9, 1.0, 0.0, 0.0, 1.0, 0.0], Interpolation::Nearest));
        let blur = |radius| runs_on_cpu(Op::PillowBlur { radius });
        assert_eq!([blur([2.0, 0.0]), blur([0.0, 9.0]), blur([0.0; 2])], [false; 3]);
        assert_eq!([blur([2.0, 2.0]), blur([60.0, 0.0])], [true; 2]);
    }

    #[test]
    fn only_extreme_reductions_leave_the_gpu() {
        assert!(!reduces_on_cpu(4000, 224, Filter::LinearAntialias));
        assert!(!reduces_on_cpu(3000, 224, Filter::CubicAntialias));
        assert!(!reduces_on_cpu(1200, 32, Filter::LinearAntialias));
        assert!(reduces_floats_on_cpu(1200, 32, Filter::LinearAntialias, true));
        assert!(reduces_on_cpu(1200, 32, Filter::CubicAntialias));
        assert!(reduces_on_cpu(2000, 16, Filter::LinearAntialias));
        assert!(!reduces_on_cpu(2000, 1, Filter::Nearest));
    }
}
