use super::{Row, Step, clamp, luma, split};
use multiversion::multiversion;

#[multiversion(targets("x86_64+avx2"))]
pub(super) fn saturation(step: &Step, _: Row, planes: &mut [f32]) {
    let factor = step.value[0];
    let (red, green, blue) = split(planes);
    for i in 0..red.len() {
        let rest = luma(red[i], green[i], blue[i]) * (1.0 - factor);
        for plane in [&mut *red, &mut *green, &mut *blue] {
            plane[i] = clamp(plane[i] * factor + rest);
        }
    }
}
