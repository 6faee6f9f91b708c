use super::levels::{level, value};
use super::{Row, Step};
use multiversion::multiversion;

#[multiversion(targets("x86_64+avx2"))]
pub(super) fn invert(_: &Step, _: Row, planes: &mut [f32]) {
    planes.iter_mut().for_each(|value| *value = 1.0 - *value);
}

#[multiversion(targets("x86_64+avx2"))]
pub(super) fn invert_u8(_: &Step, _: Row, planes: &mut [f32]) {
    planes.iter_mut().for_each(|x| *x = value(255.0 - level(*x)));
}
