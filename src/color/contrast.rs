use super::levels::{blend, level, value};
use super::{Row, Step, clamp};
use multiversion::multiversion;

#[multiversion(targets("x86_64+avx2"))]
pub(super) fn contrast(step: &Step, row: Row, planes: &mut [f32]) {
    let factor = step.value[0];
    let rest = row.mean * (1.0 - factor);
    planes.iter_mut().for_each(|value| *value = clamp(*value * factor + rest));
}

/// Blends with the mean of the image's gray numbers, which is not rounded.
#[multiversion(targets("x86_64+avx2"))]
pub(super) fn contrast_u8(step: &Step, row: Row, planes: &mut [f32]) {
    let [ratio, other_ratio, ..] = step.value;
    let rest = f64::from(row.mean) * f64::from(other_ratio);
    planes.iter_mut().for_each(|x| *x = value(blend(level(*x), ratio, rest)));
}
