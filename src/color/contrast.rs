use super::{Row, Step, clamp};
use multiversion::multiversion;

#[multiversion(targets("x86_64+avx2"))]
pub(super) fn contrast(step: &Step, row: Row, planes: &mut [f32]) {
    let factor = step.value[0];
    let rest = row.mean * (1.0 - factor);
    planes.iter_mut().for_each(|value| *value = clamp(*value * factor + rest));
}
