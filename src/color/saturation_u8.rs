use super::levels::{blend, gray_level, level, value};
use super::{Row, Step, split};
use multiversion::multiversion;

/// Blends each pixel with its gray number.
#[multiversion(targets("x86_64+avx2"))]
pub(super) fn saturation_u8(step: &Step, _: Row, planes: &mut [f32]) {
    let [ratio, other_ratio, ..] = step.value;
    let (red, green, blue) = split(planes);
    for i in 0..red.len() {
        let (r, g, b) = (level(red[i]), level(green[i]), level(blue[i]));
        let rest = f64::from(gray_level(r, g, b)) * f64::from(other_ratio);
        (red[i], green[i], blue[i]) =
            (value(blend(r, ratio, rest)), value(blend(g, ratio, rest)), value(blend(b, ratio, rest)));
    }
}
