use super::levels::{floor, level, value};
use super::{Row, Step};
use multiversion::multiversion;

/// Keeps the upper bits of k. The step's numbers: 2^(8 - bits) and its reciprocal, both exact.
#[multiversion(targets("x86_64+avx2"))]
pub(super) fn posterize_u8(step: &Step, _: Row, planes: &mut [f32]) {
    let [size, share, ..] = step.value;
    planes.iter_mut().for_each(|x| *x = value(floor(level(*x) * share) * size));
}
