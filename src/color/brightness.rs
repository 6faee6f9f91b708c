use super::{Row, Step, clamp};
use multiversion::multiversion;

#[multiversion(targets("x86_64+avx2"))]
pub(super) fn brightness(step: &Step, _: Row, planes: &mut [f32]) {
    let factor = step.value[0];
    planes.iter_mut().for_each(|value| *value = clamp(*value * factor));
}
