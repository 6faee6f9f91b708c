use super::levels::{blend, blend_fused, gray_level, level, value};
use super::{Row, Step, clamp, luma, split};
use multiversion::multiversion;
use multiversion::target::target_cfg_f;

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

/// Blends each pixel with its gray number.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512vl+avx512dq+fma", "x86_64+avx2+fma", "x86_64+avx2"))]
pub(super) fn saturation_u8(step: &Step, _: Row, planes: &mut [f32]) {
    let [ratio, other_ratio, ..] = step.value;
    let (red, green, blue) = split(planes);
    for i in 0..red.len() {
        let [r, g, b] = [level(red[i]), level(green[i]), level(blue[i])];
        let gray = gray_level(r, g, b);
        [red[i], green[i], blue[i]] = [r, g, b].map(|level| {
            value(if target_cfg_f!(target_feature = "fma") {
                blend_fused(level, ratio, (gray, other_ratio))
            } else {
                blend(level, ratio, f64::from(gray) * f64::from(other_ratio))
            })
        });
    }
}
