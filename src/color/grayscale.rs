use super::levels::{gray_level, level, value};
use super::{Row, Step, luma, split};
use multiversion::multiversion;

#[multiversion(targets("x86_64+avx2"))]
pub(super) fn grayscale(_: &Step, _: Row, planes: &mut [f32]) {
    let (red, green, blue) = split(planes);
    for i in 0..red.len() {
        let gray = luma(red[i], green[i], blue[i]);
        (red[i], green[i], blue[i]) = (gray, gray, gray);
    }
}

#[multiversion(targets("x86_64+avx2"))]
pub(super) fn grayscale_u8(_: &Step, _: Row, planes: &mut [f32]) {
    let (red, green, blue) = split(planes);
    for i in 0..red.len() {
        let gray = value(gray_level(level(red[i]), level(green[i]), level(blue[i])));
        (red[i], green[i], blue[i]) = (gray, gray, gray);
    }
}
