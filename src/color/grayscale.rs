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
