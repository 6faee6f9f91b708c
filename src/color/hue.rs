use super::levels::{INTEGERS, value};
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

/// The integer if a condition holds, else the other, without a branch.
#[inline(always)]
fn select_whole(condition: bool, yes: i32, no: i32) -> i32 {
    let mask = i32::from(condition).wrapping_neg();
    (yes & mask) | (no & !mask)
}

/// Parts of a turn: six sixths of 2^20 parts.
const PARTS: i32 = 6 << 20;

/// The number of a value of up to 255 · 2^20, by torchvision's `ToDtype(torch.uint8, scale=True)`, which truncates
/// value · 255.999 / 255. That ratio is 1 + (1 + 3059.37 / 2^20) / 256.
#[inline(always)]
fn level_of_hue(value: i32) -> i32 {
    let (value, small) = (value as u32, value as u32 >> 8);
    ((value + small + ((small * 3059) >> 20)) >> 20) as i32
}

/// Turns the hue of 8-bit numbers in whole numbers. torchvision computes it in f32, and truncates; the exact result is
/// another number only where the last bits of f32 decide.
///
/// Let `range` be the greatest minus the least number. Hue in units of `range` to a sixth of the circle is a difference
/// of numbers plus a multiple of `range`, so nothing has to be divided. Fractions have 20 bits.
#[multiversion(targets("x86_64+avx2"))]
pub(super) fn hue_u8(step: &Step, _: Row, planes: &mut [f32]) {
    // A fraction close to 1 is rounded to it: a whole turn.
    let fraction = step.value[0] - step.value[0].floor();
    let turn = (fraction * PARTS as f32).round_ties_even() as i32 % PARTS;
    let (red, green, blue) = split(planes);
    // Parameters that were read may have the step where values are no 8-bit numbers: these eight bits keep the sums in range.
    let whole = |value: f32| ((value * 255.0 + INTEGERS).to_bits().wrapping_sub(INTEGERS.to_bits()) & 255) as i32;
    for i in 0..red.len() {
        let (r, g, b) = (whole(red[i]), whole(green[i]), whole(blue[i]));
        let (high, low) = (r.max(g).max(b), r.min(g).min(b));
        let range = high - low;
        let circle = (6 * range) << 20;
        // Red wins ties, then green.
        let sixths = select_whole(high == r, g - b, select_whole(high == g, 2 * range + b - r, 4 * range + r - g));
        let at = sixths << 20;
        let at = at + select_whole(at < 0, circle, 0) - (circle - range * turn);
        let at = at + select_whole(at < 0, circle, 0);
        let sixth = range << 20;
        let sector = (1..6).map(|k| i32::from(at >= k * sixth)).sum::<i32>();
        let part = at - sector * sixth;
        let q = level_of_hue((high << 20) - part);
        let t = level_of_hue((low << 20) + part);
        let pick = |numbers: [i32; 6]| {
            let [a, b, c, d, e, f] = numbers;
            let first = select_whole(sector == 0, a, select_whole(sector == 1, b, c));
            let last = select_whole(sector == 3, d, select_whole(sector == 4, e, f));
            value(select_whole(sector < 3, first, last) as f32)
        };
        red[i] = pick([high, q, low, low, t, high]);
        green[i] = pick([t, high, high, q, low, low]);
        blue[i] = pick([low, low, t, high, high, q]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The number of a float by torchvision's rule.
    fn truncated(value: f64) -> u8 {
        (value * (256.0 - 0.001)) as u8
    }

    #[test]
    fn values_that_are_no_8_bit_numbers_end_without_overflow() {
        let odd = [-2.1, -1e-3, 0.0, 1.0, 1.5, 300.0, 1e9, -1e9, f32::MAX, f32::NEG_INFINITY, f32::INFINITY, f32::NAN];
        for (red, green) in odd.iter().flat_map(|red| odd.iter().map(move |green| (*red, *green))) {
            let step = Step { opcode: 0, integers: [0; 3], value: [0.04, 0.0, 0.0, 0.0] };
            let mut planes: Vec<f32> =
                [red, green].iter().flat_map(|&value| vec![value; odd.len()]).chain(odd).collect();
            hue_u8(&step, Row { y: 0, channels: 3, mean: 0.0 }, &mut planes);
            assert!(planes.iter().all(|value| (0.0..=1.0).contains(value)), "{red}, {green}");
        }
    }

    /// Compares with the formula in floats: they differ by one level, where the float's product is next to a whole number.
    #[test]
    fn whole_numbers_are_the_floats_but_for_their_last_bits() {
        let mut differ = 0;
        let levels: Vec<u8> = (0..=255).step_by(5).collect();
        for turn in [-0.5_f32, -0.3, -0.1, -1e-3, 0.0, 0.02, 0.1, 0.123_456, 0.25, 0.4, 0.5] {
            let step = Step { opcode: 0, integers: [0; 3], value: [turn, 0.0, 0.0, 0.0] };
            for (&r, &g) in levels.iter().flat_map(|r| levels.iter().map(move |g| (r, g))) {
                let row = Row { y: 0, channels: 3, mean: 0.0 };
                let colors = levels.iter().flat_map(|&b| [[r, g, b], [g, b, r], [b, r, g]]);
                let colors: Vec<[u8; 3]> = colors.collect();
                let mut planes: Vec<f32> =
                    (0..3).flat_map(|c| colors.iter().map(move |color| value(color[c].into()))).collect();
                let mut floats = planes.clone();
                hue_u8(&step, row, &mut planes);
                hue(&step, row, &mut floats);
                for (i, (&actual, &float)) in planes.iter().zip(&floats).enumerate() {
                    let (actual, expected) = ((actual * 255.0).round() as u8, truncated(float.into()));
                    if actual != expected {
                        let product = f64::from(float) * (256.0 - 0.001);
                        assert!(
                            (product - product.round()).abs() < 5e-4,
                            "{turn} {:?}: {product}",
                            colors[i % colors.len()]
                        );
                        assert_eq!(actual.abs_diff(expected), 1);
                        differ += 1;
                    }
                }
            }
        }
        assert!(differ < 3000, "{differ} of 13 million");
    }
}
