use super::levels::{level_of_float, value};
use super::{Row, Step};
use multiversion::multiversion;

/// Turns the hue in floats, and truncates the result to 8 bits, as torchvision does.
pub(super) fn hue_u8(step: &Step, row: Row, planes: &mut [f32]) {
    super::hue::hue(step, row, planes);
    truncate(planes);
}

#[multiversion(targets("x86_64+avx2"))]
pub(super) fn truncate(planes: &mut [f32]) {
    planes.iter_mut().for_each(|x| *x = value(level_of_float(*x)));
}
