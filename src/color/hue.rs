use super::levels::truncate;
use super::{Row, Step, clamp, select, split};
use multiversion::multiversion;

/// The integer part of a number ≥ 0 below 2^22, without a conversion: `as i32` checks for NaN, one pixel at a time.
#[inline(always)]
fn whole(value: f32) -> f32 {
    // From this number on floats have no fraction, so the sum is rounded to the nearest integer.
    const TWO_TO_23: f32 = 8_388_608.0;
    let nearest = (value + TWO_TO_23) - TWO_TO_23;
    select(nearest > value, nearest - 1.0, nearest)
}

/// torchvision's `_rgb_to_hsv`, the change of the hue, `_hsv_to_rgb`.
#[multiversion(targets("x86_64+avx2"))]
pub(super) fn hue(step: &Step, _: Row, planes: &mut [f32]) {
    let factor = step.value[0];
    let (red, green, blue) = split(planes);
    // The hue's shift in [0, 1): the same remainder as adding a negative factor.
    let factor = if factor < 0.0 { factor + 1.0 } else { factor };
    for i in 0..red.len() {
        let (r, g, b) = (red[i], green[i], blue[i]);
        let high = r.max(g).max(b);
        let range = high - r.min(g).min(b);
        let divisor = select(range == 0.0, 1.0, range);
        // torchvision divides 0 by 0 where bicubic undershoot leaves black as the maximum; 1 keeps that pixel finite.
        let saturation = range / select(high == 0.0, 1.0, high);
        let (rc, gc, bc) = ((high - r) / divisor, (high - g) / divisor, (high - b) / divisor);
        let turn = select(high == r, bc - gc, select(high == g, 2.0 + rc - bc, 4.0 + gc - rc));
        let turn = turn * (1.0 / 6.0) + 1.0;
        let turn = turn - whole(turn) + factor;
        let sixths = (turn - whole(turn)) * 6.0;
        let sector = whole(sixths);
        let fraction = sixths - sector;
        let sector = select(sector == 6.0, 0.0, sector);
        let p = clamp(high * (1.0 - saturation));
        let q = clamp(high * (1.0 - saturation * fraction));
        let t = clamp(high * (1.0 - saturation * (1.0 - fraction)));
        let pick = |a: f32, b: f32, c: f32, d: f32, e: f32, f: f32| {
            let low = select(sector == 0.0, a, select(sector == 1.0, b, c));
            let high = select(sector == 3.0, d, select(sector == 4.0, e, f));
            select(sector < 3.0, low, high)
        };
        red[i] = pick(high, q, p, p, t, high);
        green[i] = pick(t, high, high, q, p, p);
        blue[i] = pick(p, p, t, high, high, q);
    }
}

/// Turns the hue in floats, and truncates the result to 8 bits, as torchvision does.
pub(super) fn hue_u8(step: &Step, row: Row, planes: &mut [f32]) {
    hue(step, row, planes);
    truncate(planes);
}
