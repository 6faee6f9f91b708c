use super::levels::{floor, level, value};
use super::{Row, Step, clamp};
use multiversion::multiversion;

#[multiversion(targets("x86_64+avx2"))]
pub(super) fn brightness(step: &Step, _: Row, planes: &mut [f32]) {
    let factor = step.value[0];
    planes.iter_mut().for_each(|value| *value = clamp(*value * factor));
}

/// `trunc(min(k · factor, 255))`.
#[multiversion(targets("x86_64+avx2"))]
pub(super) fn brightness_u8(step: &Step, _: Row, planes: &mut [f32]) {
    let factor = step.value[0];
    planes.iter_mut().for_each(|x| *x = value(floor((level(*x) * factor).clamp(0.0, 255.0))));
}
