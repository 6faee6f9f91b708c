use super::levels::{level, value};
use super::{Row, Step};
use multiversion::multiversion;

/// Computes `1 - x` or `x` as `above + sign * x`, which is exact: a choice between the two would become masked stores,
/// nine times as slow on AVX2.
#[multiversion(targets("x86_64+avx2"))]
pub(super) fn solarize(step: &Step, _: Row, planes: &mut [f32]) {
    let threshold = step.value[0];
    planes.iter_mut().for_each(|value| {
        let (above, sign) = if *value >= threshold { (1.0, -1.0) } else { (0.0, 1.0) };
        *value = above + sign * *value;
    });
}

/// `255 - k` where k, as a float, is at least the threshold; computed without a choice, as in `solarize.rs`.
#[multiversion(targets("x86_64+avx2"))]
pub(super) fn solarize_u8(step: &Step, _: Row, planes: &mut [f32]) {
    let threshold = step.value[0];
    planes.iter_mut().for_each(|x| {
        let k = level(*x);
        let (above, sign) = if k >= threshold { (255.0, -1.0) } else { (0.0, 1.0) };
        *x = value(above + sign * k);
    });
}
