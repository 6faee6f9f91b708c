//! The colour steps on a row of planes: the native twins of `shaders/color/`.

use super::noise;
use crate::plan::Plan;
use crate::plan::program::Step;
use crate::transforms::opcode;
use multiversion::multiversion;

/// Runs `steps` on rows from `row` on, which are `channels` planes (3; 1 where `is_alike` holds for all steps); `means`
/// are those of the contrast steps, or none where there is none.
pub(super) fn steps(plan: &Plan, steps: &[Step], means: &[f32], row: usize, channels: usize, planes: &mut [f32]) {
    let mut i = 0;
    while let Some(first) = steps.get(i) {
        i += match steps.get(i + 1) {
            // Normalize: both at once, one after the other for each value as ever.
            Some(second) if (first.opcode, second.opcode) == (opcode::SUBTRACT, opcode::DIVIDE) => {
                normalize(first.value, second.value, channels, planes);
                2
            }
            _ => {
                step(plan, first, means.get(i).copied().unwrap_or_default(), row, channels, planes);
                1
            }
        };
    }
}

/// Whether the step gives each channel what it would give it alone.
pub(super) fn is_alike(step: &Step) -> bool {
    use opcode::*;
    matches!(step.opcode, BRIGHTNESS | SUBTRACT | DIVIDE | INVERT | SOLARIZE | POSTERIZE)
}

fn step(plan: &Plan, step: &Step, mean: f32, row: usize, channels: usize, planes: &mut [f32]) {
    let factor = step.value[0];
    match step.opcode {
        opcode::BRIGHTNESS => brightness(factor, planes),
        opcode::CONTRAST => contrast(factor, mean, planes),
        opcode::SATURATION => saturation(factor, planes),
        opcode::HUE => hue(factor, planes),
        opcode::GRAYSCALE => grayscale(planes),
        opcode::SUBTRACT => subtract(step.value, channels, planes),
        opcode::DIVIDE => divide(step.value, channels, planes),
        opcode::INVERT => invert(planes),
        opcode::SOLARIZE => solarize(factor, planes),
        opcode::POSTERIZE => posterize(step.value, planes),
        opcode::PERMUTE_CHANNELS => permute_channels(step.value, planes),
        opcode::ERASE | opcode::NOISE => erase(step, row, planes),
        other => match plan.custom(other) {
            Some(custom) => custom.run(step.value, step.integers[2] == 1, planes),
            None => unreachable!("the planner emits no opcode {other}"),
        },
    }
}

fn split(planes: &mut [f32]) -> (&mut [f32], &mut [f32], &mut [f32]) {
    let width = planes.len() / 3;
    let (red, rest) = planes.split_at_mut(width);
    let (green, blue) = rest.split_at_mut(width);
    (red, &mut green[..width], &mut blue[..width])
}

/// torchvision's gray, added up in its order.
#[inline(always)]
fn luma(r: f32, g: f32, b: f32) -> f32 {
    r * 0.2989 + g * 0.587 + b * 0.114
}

#[inline(always)]
fn clamp(value: f32) -> f32 {
    value.clamp(0.0, 1.0)
}

#[multiversion(targets("x86_64+avx2"))]
fn brightness(factor: f32, planes: &mut [f32]) {
    planes.iter_mut().for_each(|value| *value = clamp(*value * factor));
}

#[multiversion(targets("x86_64+avx2"))]
fn contrast(factor: f32, mean: f32, planes: &mut [f32]) {
    let rest = mean * (1.0 - factor);
    planes.iter_mut().for_each(|value| *value = clamp(*value * factor + rest));
}

#[multiversion(targets("x86_64+avx2"))]
fn saturation(factor: f32, planes: &mut [f32]) {
    let (red, green, blue) = split(planes);
    for i in 0..red.len() {
        let rest = luma(red[i], green[i], blue[i]) * (1.0 - factor);
        for plane in [&mut *red, &mut *green, &mut *blue] {
            plane[i] = clamp(plane[i] * factor + rest);
        }
    }
}

#[multiversion(targets("x86_64+avx2"))]
fn grayscale(planes: &mut [f32]) {
    let (red, green, blue) = split(planes);
    for i in 0..red.len() {
        let gray = luma(red[i], green[i], blue[i]);
        (red[i], green[i], blue[i]) = (gray, gray, gray);
    }
}

/// The sum of gray (or of the one channel) over a row.
#[multiversion(targets("x86_64+avx2"))]
pub(super) fn gray_sum(planes: &[f32], one_channel: bool) -> f32 {
    let width = planes.len() / 3;
    let (red, rest) = planes.split_at(width);
    let (green, blue) = rest.split_at(width);
    // Sums side by side, which vectorises; always as many, so that every machine has the same bits.
    const LANES: usize = 32;
    let mut lanes = [0.0f32; LANES];
    for ((r, g), b) in red.chunks(LANES).zip(green.chunks(LANES)).zip(blue.chunks(LANES)) {
        for (((lane, r), g), b) in lanes.iter_mut().zip(r).zip(g).zip(b) {
            *lane += if one_channel { *r } else { luma(*r, *g, *b) };
        }
    }
    let mut sums = [0.0; 8];
    lanes.as_chunks::<8>().0.iter().for_each(|lanes| (0..8).for_each(|i| sums[i] += lanes[i]));
    sums.iter().sum()
}

#[multiversion(targets("x86_64+avx2"))]
fn subtract(values: [f32; 4], channels: usize, planes: &mut [f32]) {
    let width = planes.len() / channels;
    for (plane, value) in planes.chunks_exact_mut(width).zip(values) {
        plane.iter_mut().for_each(|x| *x -= value);
    }
}

#[multiversion(targets("x86_64+avx2"))]
fn divide(values: [f32; 4], channels: usize, planes: &mut [f32]) {
    let width = planes.len() / channels;
    for (plane, value) in planes.chunks_exact_mut(width).zip(values) {
        plane.iter_mut().for_each(|x| *x /= value);
    }
}

#[multiversion(targets("x86_64+avx2"))]
fn normalize(means: [f32; 4], deviations: [f32; 4], channels: usize, planes: &mut [f32]) {
    let width = planes.len() / channels;
    for ((plane, mean), deviation) in planes.chunks_exact_mut(width).zip(means).zip(deviations) {
        plane.iter_mut().for_each(|x| *x = (*x - mean) / deviation);
    }
}

#[multiversion(targets("x86_64+avx2"))]
fn invert(planes: &mut [f32]) {
    planes.iter_mut().for_each(|value| *value = 1.0 - *value);
}

/// `1 - x` or `x` as `above + sign * x`, which is exact: a choice between the two would become masked stores, nine times as
/// slow on AVX2.
#[multiversion(targets("x86_64+avx2"))]
fn solarize(threshold: f32, planes: &mut [f32]) {
    planes.iter_mut().for_each(|value| {
        let (above, sign) = if *value >= threshold { (1.0, -1.0) } else { (0.0, 1.0) };
        *value = above + sign * *value;
    });
}

/// Clamped first, which is the same and bounds what is rounded down: `floor` is a library call on baseline x86, so the
/// number is rounded to an integer by adding 2^23, then corrected.
#[multiversion(targets("x86_64+avx2"))]
fn posterize([levels, highest, share, _]: [f32; 4], planes: &mut [f32]) {
    const INTEGERS: f32 = 8_388_608.0;
    planes.iter_mut().for_each(|value| {
        let level = (*value * levels).clamp(0.0, highest);
        let nearest = (level + INTEGERS) - INTEGERS;
        *value = if nearest > level { nearest - 1.0 } else { nearest } * share;
    });
}

fn permute_channels([first, second, third, _]: [f32; 4], planes: &mut [f32]) {
    let (red, green, blue) = split(planes);
    let permuted = [first as u32, second as u32, third as u32];
    // Each order of three is at most two swaps.
    match permuted {
        [0, 1, 2] => {}
        [1, 0, 2] => red.swap_with_slice(green),
        [2, 1, 0] => red.swap_with_slice(blue),
        [0, 2, 1] => green.swap_with_slice(blue),
        [1, 2, 0] => {
            red.swap_with_slice(green);
            green.swap_with_slice(blue);
        }
        [2, 0, 1] => {
            red.swap_with_slice(blue);
            green.swap_with_slice(blue);
        }
        other => unreachable!("the planner emits no order {other:?}"),
    }
}

/// Writes over what of the row lies in the step's rectangle.
fn erase(step: &Step, row: usize, planes: &mut [f32]) {
    let [left, top, right, bottom] = step.value.map(|edge| edge as usize);
    if !(top..bottom).contains(&row) {
        return;
    }
    let (red, green, blue) = split(planes);
    let mut channels = [red, green, blue].map(|plane| &mut plane[left..right]);
    if step.opcode == opcode::ERASE {
        channels.iter_mut().zip(step.integers).for_each(|(plane, bits)| plane.fill(f32::from_bits(bits)));
        return;
    }
    let [first, second, one_channel] = step.integers;
    let [red, green, blue] = &mut channels;
    noise::row([first, second], (row - top) as u32, red, green, blue);
    if one_channel == 1 {
        green.copy_from_slice(red);
        blue.copy_from_slice(red);
    }
}

/// The whole part of a number ≥ 0 below 2^22, without a conversion: `as i32` minds what is not a number, and one pixel
/// at a time.
#[inline(always)]
fn whole(value: f32) -> f32 {
    // From here on floats have no fraction, so the sum is rounded to the nearest.
    const TWO_TO_23: f32 = 8_388_608.0;
    let nearest = (value + TWO_TO_23) - TWO_TO_23;
    select(nearest > value, nearest - 1.0, nearest)
}

/// Without a branch, whatever the compiler thinks of it: behind branches it stores under masks, which took three times
/// as long.
#[inline(always)]
fn select(condition: bool, yes: f32, no: f32) -> f32 {
    let mask = u32::from(condition).wrapping_neg();
    f32::from_bits((yes.to_bits() & mask) | (no.to_bits() & !mask))
}

/// torchvision's `_rgb_to_hsv`, the turn, `_hsv_to_rgb`.
#[multiversion(targets("x86_64+avx2"))]
fn hue(factor: f32, planes: &mut [f32]) {
    let (red, green, blue) = split(planes);
    // A turn in [0, 1): the same remainder as adding a negative factor.
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
