//! Warps: `../../warp.rs` says where each pixel lies.
//!
//! 8-bit numbers go through blocks of pixels: positions, then the numbers of the source's pixels and their weights, in
//! loops that vectorise, then the pixels one by one, then their weighted sums. `one_by_one` computes the same for floats,
//! for images of one column or row, and for fills outside 0 to 255.

use super::positions::{BLOCK, Edges, block_positions, whole, within};
use super::{Part, nearest};
use crate::geometry::Rect;
use crate::warp::{Map, Warp};
use multiversion::multiversion;

/// From this number on f32 have no fraction: to add it to one that is not negative rounds to nearest, ties to even.
const INTEGERS_F32: f32 = 8_388_608.0;

/// Writes `window` of the result in 8-bit numbers, rounded to nearest, ties to even.
pub(super) fn bytes(warp: &Warp, part: Part<'_, u8>, size: (u32, u32), window: Rect, out: &mut Vec<[u8; 4]>) {
    let fill = warp.fill.map(|fill| fill.map(|value| value * 255.0));
    let round = |value: f32| value.round_ties_even() as u8;
    let is_colour = fill.iter().flatten().all(|value| (0.0..=255.0).contains(value));
    if !warp.nearest && (part.rect.width < 2 || part.rect.height < 2 || !is_colour) {
        let round = |value: [f32; 4]| value.map(round);
        out.clear();
        return one_by_one(warp, part, size, window, fill, |pixel| pixel.map(f32::from), round, out);
    }
    out.resize(window.width as usize * window.height as usize, [0; 4]);
    if warp.nearest {
        let [r, g, b] = fill.unwrap_or_default().map(round);
        nearest::bytes(&warp.map, part, window, [r, g, b, 255], out);
    } else {
        bilinear_bytes(&warp.map, part, window, fill, out);
    }
}

/// Writes `window` of the result in floats.
pub(super) fn floats(warp: &Warp, part: Part<'_, f32>, size: (u32, u32), window: Rect, out: &mut Vec<[f32; 4]>) {
    if warp.nearest {
        let [r, g, b] = warp.fill.unwrap_or_default();
        return nearest_floats(warp, part, size, window, [r, g, b, 1.0], out);
    }
    one_by_one(warp, part, size, window, warp.fill, |pixel| pixel, |pixel| pixel, out);
}

/// The inputs of a block of pixels: the number of the upper left one of four neighbours, and the weights of their
/// columns and rows.
struct Taps {
    numbers: [u32; BLOCK],
    left: [f32; BLOCK],
    right: [f32; BLOCK],
    above: [f32; BLOCK],
    below: [f32; BLOCK],
}

/// The whole part of each position, relative to the part's edge, and the fraction. Positions a pixel or more outside
/// come to a whole part of -1 or of `len` with a fraction of 0.
#[inline(always)]
fn split(positions: &[f64; BLOCK], edge: i32, len: i32, at: &mut [i32; BLOCK], fraction: &mut [f32; BLOCK]) {
    let (low, high) = (f64::from(edge - 1), f64::from(edge + len));
    for i in 0..BLOCK {
        let position = within(positions[i], low, high);
        let floor = position.floor();
        (at[i], fraction[i]) = (whole(floor) - edge, (position - floor) as f32);
    }
}

/// The number if a condition holds, else 0, without a branch.
#[inline(always)]
fn only(condition: bool, number: f32) -> f32 {
    f32::from_bits(number.to_bits() & u32::from(condition).wrapping_neg())
}

/// The weights of the two neighbours in 0 to `last` that begin at `at`, moved into that range: the pixel at `at` weighs
/// `1 - fraction`, the next one `fraction`, and those outside are left out.
#[inline(always)]
fn weights(at: i32, last: i32, fraction: f32) -> (f32, f32) {
    let (near, far) = (1.0 - fraction, fraction);
    let (before, inside, end) = (at < 0, (at >= 0) & (at < last), at == last);
    // At most one of the terms is not 0.
    (only(before, far) + only(inside, near), only(inside, far) + only(end, near))
}

/// Taps outside the image are 0, as in [`one_by_one`]: their weights are, and the numbers are those of pixels inside.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512vl+avx512dq", "x86_64+avx2"))]
fn bilinear_bytes(map: &Map, part: Part<'_, u8>, window: Rect, fill: Option<[f32; 3]>, out: &mut [[u8; 4]]) {
    let edges = Edges::new(&part);
    let Edges { left, top, width, height, pitch, origin, .. } = edges;
    let below = part.stride & 0xffff_ffff;
    let (mut xs, mut ys, zeros) = ([0.0; BLOCK], [0.0; BLOCK], [0.0; BLOCK]);
    let (mut at_x, mut at_y, mut fraction_x, mut fraction_y) = ([0; BLOCK], [0; BLOCK], zeros, zeros);
    let mut taps = Taps { numbers: [0; BLOCK], left: zeros, right: zeros, above: zeros, below: zeros };
    let mut pixels = [[0u32; BLOCK]; 4];
    for (y, row) in (window.top..).zip(out.chunks_exact_mut(window.width as usize)) {
        for (first, block) in (window.left..).step_by(BLOCK).zip(row.chunks_mut(BLOCK)) {
            block_positions(map, first, y, &mut xs, &mut ys);
            if edges.contain(map, (first, y), &xs, &ys) {
                for i in 0..BLOCK {
                    let (floor_x, floor_y) = (xs[i].floor(), ys[i].floor());
                    (taps.right[i], taps.below[i]) = ((xs[i] - floor_x) as f32, (ys[i] - floor_y) as f32);
                    taps.numbers[i] = whole(floor_y * pitch + (floor_x - origin)) as u32;
                }
                for i in 0..BLOCK {
                    (taps.left[i], taps.above[i]) = (1.0 - taps.right[i], 1.0 - taps.below[i]);
                }
            } else {
                split(&xs, left, width, &mut at_x, &mut fraction_x);
                split(&ys, top, height, &mut at_y, &mut fraction_y);
                for i in 0..BLOCK {
                    (taps.left[i], taps.right[i]) = weights(at_x[i], width - 1, fraction_x[i]);
                    (taps.above[i], taps.below[i]) = weights(at_y[i], height - 1, fraction_y[i]);
                    let (x, y) = (at_x[i].clamp(0, width - 2), at_y[i].clamp(0, height - 2));
                    taps.numbers[i] = (y * edges.stride + x) as u32;
                }
            }
            for (i, &number) in taps.numbers[..block.len()].iter().enumerate() {
                let four = &part.pixels[number as usize..][..below + 2];
                pixels[0][i] = u32::from_le_bytes(four[0]);
                pixels[1][i] = u32::from_le_bytes(four[1]);
                pixels[2][i] = u32::from_le_bytes(four[below]);
                pixels[3][i] = u32::from_le_bytes(four[below + 1]);
            }
            let mixed = match fill {
                None => mix(&taps, &pixels, |sums, _| sums),
                Some(fill) => mix(&taps, &pixels, |sums, mask| [0, 1, 2].map(|c| (sums[c] - fill[c]) * mask + fill[c])),
            };
            block.iter_mut().zip(mixed).for_each(|(out, word)| *out = word.to_le_bytes());
        }
    }
}

/// The weighted sums of four neighbours, which `finish` changes, rounded. It gets the sum of the weights, too.
#[inline(always)]
fn mix(taps: &Taps, pixels: &[[u32; BLOCK]; 4], finish: impl Fn([f32; 3], f32) -> [f32; 3]) -> [u32; BLOCK] {
    let mut mixed = [0; BLOCK];
    for i in 0..BLOCK {
        let (left, right, above, below) = (taps.left[i], taps.right[i], taps.above[i], taps.below[i]);
        let weights = [left * above, right * above, left * below, right * below];
        let mask = weights[0] + weights[1] + weights[2] + weights[3];
        let sum = |shift: u32| {
            let value = |tap: usize| (pixels[tap][i] >> shift & 255) as i32 as f32 * weights[tap];
            value(0) + value(1) + value(2) + value(3)
        };
        // Between -0.1 and 255.1: the weights sum to 1, up to rounding, and a fill is a colour.
        let values = finish([sum(0), sum(8), sum(16)], mask);
        let [r, g, b] = values.map(|value| (value + INTEGERS_F32).to_bits());
        // What these bits hold besides the byte is shifted out, or set.
        mixed[i] = r | 0xff00_0000 | g << 8 | b << 16;
    }
    mixed
}

/// Calls `pixel` with the position of each pixel of `window`, row by row.
#[inline(always)]
fn positions(map: &Map, window: Rect, mut pixel: impl FnMut(f64, f64)) {
    for y in (window.top..window.top + window.height).map(f64::from) {
        for x in (window.left..window.left + window.width).map(f64::from) {
            let (x, y) = map.at(x, y);
            pixel(x, y);
        }
    }
}

fn nearest_floats(
    warp: &Warp,
    part: Part<'_, f32>,
    (width, height): (u32, u32),
    window: Rect,
    outside: [f32; 4],
    out: &mut Vec<[f32; 4]>,
) {
    let (last_x, last_y) = (f64::from(width) - 0.5, f64::from(height) - 0.5);
    positions(&warp.map, window, |x, y| {
        let (x, y) = (x.round_ties_even(), y.round_ties_even());
        // A NaN is not inside, either.
        let inside = x >= 0.0 && x <= last_x && y >= 0.0 && y <= last_y;
        out.push(if inside { part.at(x as u32, y as u32) } else { outside });
    });
}

/// Interpolates bilinearly. Taps outside the image are 0. With a fill the result is `(value - fill) · mask + fill`,
/// where the mask is the sum of the weights inside; the value was weighted with it before, too, as in torchvision.
#[expect(clippy::too_many_arguments, reason = "two conversions, so that bytes and floats share it")]
#[inline(always)]
pub(super) fn one_by_one<T: Copy, U>(
    warp: &Warp,
    part: Part<'_, T>,
    (width, height): (u32, u32),
    window: Rect,
    fill: Option<[f32; 3]>,
    read: impl Fn([T; 4]) -> [f32; 4],
    write: impl Fn([f32; 4]) -> U,
    out: &mut Vec<U>,
) {
    let (right, bottom) = (f64::from(width), f64::from(height));
    let fill = fill.map(|[r, g, b]| [r, g, b, 1.0]);
    positions(&warp.map, window, |x, y| {
        let inside = x > -1.0 && x < right && y > -1.0 && y < bottom;
        let (left, top) = (x.floor(), y.floor());
        let (fx, fy) = ((x - left) as f32, (y - top) as f32);
        let (mut sum, mut mask) = ([0.0; 4], 0.0);
        if inside {
            let (left, top) = (left as i64, top as i64);
            for (dy, wy) in [(0, 1.0 - fy), (1, fy)] {
                for (dx, wx) in [(0, 1.0 - fx), (1, fx)] {
                    let (x, y) = (left + dx, top + dy);
                    if (0..i64::from(width)).contains(&x) && (0..i64::from(height)).contains(&y) {
                        let weight = wx * wy;
                        // A tap of weight 0 may lie outside the part that was decoded.
                        if weight > 0.0 {
                            let pixel = read(part.at(x as u32, y as u32));
                            (0..4).for_each(|c| sum[c] += pixel[c] * weight);
                            mask += weight;
                        }
                    }
                }
            }
        }
        let value = match fill {
            Some(fill) => std::array::from_fn(|c| (sum[c] - fill[c]) * mask + fill[c]),
            None => sum,
        };
        out.push(write([value[0], value[1], value[2], value[3]]));
    });
}
