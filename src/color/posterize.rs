use super::levels::{floor, level, value};
use super::{Row, Step};
use multiversion::multiversion;

/// Clamps first, which leaves the level unchanged and bounds the number to round down. `floor` is a library call on
/// baseline x86, so the number is rounded to an integer by adding 2^23, then corrected.
#[multiversion(targets("x86_64+avx2"))]
pub(super) fn posterize(step: &Step, _: Row, planes: &mut [f32]) {
    const INTEGERS: f32 = 8_388_608.0;
    let [levels, highest, share, _] = step.value;
    planes.iter_mut().for_each(|value| {
        let level = (*value * levels).clamp(0.0, highest);
        let nearest = (level + INTEGERS) - INTEGERS;
        *value = if nearest > level { nearest - 1.0 } else { nearest } * share;
    });
}

/// Keeps the upper bits of k. The step's numbers: 2^(8 - bits) and its reciprocal, both exact.
#[multiversion(targets("x86_64+avx2"))]
pub(super) fn posterize_u8(step: &Step, _: Row, planes: &mut [f32]) {
    let [size, share, ..] = step.value;
    planes.iter_mut().for_each(|x| *x = value(floor(level(*x) * share) * size));
}
