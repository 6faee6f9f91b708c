//! Runs the colour steps of a stage on rows of planes, by the native code of `color/`.

use super::cache_lines::CacheLines;
use crate::color::levels::gray_level;
use crate::color::{ColorStep, Row, Step, luma, opcode};
use crate::plan::Plan;
use multiversion::multiversion;

/// Runs `steps` on rows from `y` on, in `channels` planes (3; 1 if all steps are `per_channel`). `means` has those of
/// the contrast steps, and is empty if there are none.
pub(super) fn steps(plan: &Plan, steps: &[Step], means: &[f32], y: usize, channels: usize, planes: &mut [f32]) {
    let mut i = 0;
    while let Some(first) = steps.get(i) {
        i += match steps.get(i + 1) {
            // Normalize: one loop runs both. The order of operations on each value is unchanged.
            Some(second) if (first.opcode, second.opcode) == (opcode::SUBTRACT, opcode::DIVIDE) => {
                normalize(first.value, second.value, channels, planes);
                2
            }
            _ => {
                let mean = means.get(i).copied().unwrap_or_default();
                step(plan, first, Row { y, channels, mean }, planes);
                1
            }
        };
    }
}

/// Runs one step on rows of planes.
pub(super) fn step(plan: &Plan, step: &Step, row: Row, planes: &mut [f32]) {
    match (ColorStep::of(step.opcode), plan.custom(step.opcode)) {
        (Some(built_in), _) => (built_in.native)(step, row, planes),
        (None, Some(custom)) => custom.run(step.value, step.integers[2] == 1, planes),
        (None, None) => unreachable!("the planner emits no opcode {}", step.opcode),
    }
}

#[multiversion(targets("x86_64+avx2"))]
fn normalize(means: [f32; 4], deviations: [f32; 4], channels: usize, planes: &mut [f32]) {
    let width = planes.len() / channels;
    for ((plane, mean), deviation) in planes.chunks_exact_mut(width).zip(means).zip(deviations) {
        plane.iter_mut().for_each(|x| *x = (*x - mean) / deviation);
    }
}

/// The sum of a row's gray (or of its single channel).
#[multiversion(targets("x86_64+avx2"))]
pub(super) fn gray_sum(planes: &[f32], one_channel: bool) -> f32 {
    let width = planes.len() / 3;
    let (red, rest) = planes.split_at(width);
    let (green, blue) = rest.split_at(width);
    // Parallel sums vectorise; their number is fixed, so that every machine has the same bits.
    const SUMS: usize = 32;
    let mut partial = CacheLines([0.0f32; SUMS]);
    for ((r, g), b) in red.chunks(SUMS).zip(green.chunks(SUMS)).zip(blue.chunks(SUMS)) {
        for (((sum, r), g), b) in partial.0.iter_mut().zip(r).zip(g).zip(b) {
            *sum += if one_channel { *r } else { luma(*r, *g, *b) };
        }
    }
    let mut sums = [0.0; 8];
    partial.0.as_chunks::<8>().0.iter().for_each(|eight| (0..8).for_each(|i| sums[i] += eight[i]));
    sums.iter().sum()
}

/// The sum of a row's gray numbers of 8 bits (or of its single channel's numbers), which is exact.
pub(super) fn gray_sum_u8(planes: &[f32], one_channel: bool) -> f64 {
    let width = planes.len() / 3;
    let (red, rest) = planes.split_at(width);
    let (green, blue) = rest.split_at(width);
    let number = |value: f32| (value * 255.0).round_ties_even();
    let gray = |((r, g), b): ((&f32, &f32), &f32)| {
        if one_channel { number(*r) } else { gray_level(number(*r), number(*g), number(*b)) }
    };
    // A sum of up to 2^16 numbers below 2^8 is exact in f32, as is a chunk's.
    let rows = red.chunks(1 << 14).zip(green.chunks(1 << 14)).zip(blue.chunks(1 << 14));
    rows.map(|((r, g), b)| f64::from(r.iter().zip(g).zip(b).map(gray).sum::<f32>())).sum()
}
