use super::{Row, Step};
use multiversion::multiversion;

#[multiversion(targets("x86_64+avx2"))]
pub(super) fn subtract(step: &Step, row: Row, planes: &mut [f32]) {
    let width = planes.len() / row.channels;
    for (plane, value) in planes.chunks_exact_mut(width).zip(step.value) {
        plane.iter_mut().for_each(|x| *x -= value);
    }
}
