//! Warps: `../../warp.rs` says where each pixel lies.
//!
//! 8-bit numbers go through blocks of pixels: positions, then the numbers of the source's pixels and their weights, in
//! loops that vectorise, then the pixels one by one, then their weighted sums. `one_by_one` computes the same for floats,
//! for images of one column or row, and for fills outside 0 to 255.

use super::Part;
use crate::geometry::Rect;
use crate::warp::{Map, Warp};
use multiversion::multiversion;

/// Pixels of a block.
const BLOCK: usize = 32;

/// From this number on f64 have no fraction: to add it rounds to nearest, ties to even, and leaves the number in the
/// lower bits, below zero too.
const INTEGERS: f64 = 6_755_399_441_055_744.0;
/// The same of f32, for numbers that are not negative.
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
        match warp.map {
            Map::Affine([1.0, b_y, c, 0.0, e_y, f]) => {
                shift_rows([b_y, c], [e_y, f], part, window, [r, g, b, 255], out)
            }
            _ => nearest_bytes(&warp.map, part, window, [r, g, b, 255], out),
        }
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

/// The positions of a block of pixels from column `first` of row `y` on.
#[inline(always)]
fn block_positions(map: &Map, first: u32, y: u32, xs: &mut [f64; BLOCK], ys: &mut [f64; BLOCK]) {
    let (first, y) = (first as i32, f64::from(y));
    match *map {
        Map::Affine([a, b, c, d, e, f]) => {
            let (row_x, row_y) = (b * y + c, e * y + f);
            for i in 0..BLOCK {
                let x = f64::from(first + i as i32);
                (xs[i], ys[i]) = (a * x + row_x, d * x + row_y);
            }
        }
        Map::Perspective([a, b, c, d, e, f, g, h]) => {
            let y = y + 0.5;
            for i in 0..BLOCK {
                let x = f64::from(first + i as i32) + 0.5;
                let z = g * x + h * y + 1.0;
                (xs[i], ys[i]) = ((a * x + b * y + c) / z - 0.5, (d * x + e * y + f) / z - 0.5);
            }
        }
    }
}

/// What the loops need of a part: its first column and row, its size, and its pixels' numbers as f64.
#[derive(Clone, Copy)]
struct Edges {
    left: i32,
    top: i32,
    width: i32,
    height: i32,
    stride: i32,
    /// Pixels from one row to the next.
    pitch: f64,
    /// The number that the image's pixel (0, 0) would have, negated.
    origin: f64,
}

impl Edges {
    fn new<T>(part: &Part<'_, T>) -> Edges {
        let [left, top, width, height] =
            [part.rect.left, part.rect.top, part.rect.width, part.rect.height].map(|number| number as i32);
        let pitch = part.stride as f64;
        let origin = f64::from(left) + pitch * f64::from(top);
        Edges { left, top, width, height, stride: part.stride as i32, pitch, origin }
    }

    /// True if all positions of a block are inside, a little away from the edges. They lie between those of the block's
    /// ends, unless it crosses the horizon of a perspective.
    #[inline(always)]
    fn contain(self, map: &Map, (first, y): (u32, u32), xs: &[f64; BLOCK], ys: &[f64; BLOCK]) -> bool {
        const MARGIN: f64 = 1e-3;
        if let Map::Perspective([.., g, h]) = *map {
            let z = |x: u32| g * (f64::from(x) + 0.5) + h * (f64::from(y) + 0.5) + 1.0;
            if z(first).min(z(first + BLOCK as u32 - 1)) < MARGIN {
                return false;
            }
        }
        let inside = |positions: &[f64; BLOCK], edge: i32, len: i32| {
            let range = f64::from(edge) + MARGIN..f64::from(edge + len - 1) - MARGIN;
            range.contains(&positions[0]) && range.contains(&positions[BLOCK - 1])
        };
        inside(xs, self.left, self.width) && inside(ys, self.top, self.height)
    }
}

/// The number within two bounds; the lower one for a NaN.
#[inline(always)]
fn within(number: f64, low: f64, high: f64) -> f64 {
    let number = if number >= low { number } else { low };
    if number <= high { number } else { high }
}

/// The nearest whole number, of even ones at ties.
#[inline(always)]
fn round(number: f64) -> f64 {
    (number + INTEGERS) - INTEGERS
}

/// The nearest whole number as an integer.
#[inline(always)]
fn whole(number: f64) -> i32 {
    (number + INTEGERS).to_bits() as i32
}

#[multiversion(targets("x86_64+avx512f+avx512bw+avx512vl+avx512dq", "x86_64+avx2"))]
fn nearest_bytes(map: &Map, part: Part<'_, u8>, window: Rect, outside: [u8; 4], out: &mut [[u8; 4]]) {
    let edges = Edges::new(&part);
    let Edges { left, top, width, height, stride, pitch, origin } = edges;
    let (mut xs, mut ys, mut numbers) = ([0.0; BLOCK], [0.0; BLOCK], [0u32; BLOCK]);
    for (y, row) in (window.top..).zip(out.chunks_exact_mut(window.width as usize)) {
        for (first, block) in (window.left..).step_by(BLOCK).zip(row.chunks_mut(BLOCK)) {
            block_positions(map, first, y, &mut xs, &mut ys);
            if edges.contain(map, (first, y), &xs, &ys) {
                for i in 0..BLOCK {
                    numbers[i] = whole(round(ys[i]) * pitch + (round(xs[i]) - origin)) as u32;
                }
            } else {
                for i in 0..BLOCK {
                    let x = whole(within(xs[i], f64::from(left - 1), f64::from(left + width))) - left;
                    let y = whole(within(ys[i], f64::from(top - 1), f64::from(top + height))) - top;
                    let inside = (x >= 0) & (x < width) & (y >= 0) & (y < height);
                    numbers[i] = (y * stride + x) as u32 | u32::from(inside).wrapping_sub(1);
                }
            }
            for (out, &number) in block.iter_mut().zip(&numbers) {
                *out = *part.pixels.get(number as usize).unwrap_or(&outside);
            }
        }
    }
}

/// Copies rows, as a translation and a shear along x do: row y of the result is row `e y + f` of the image, moved by
/// `b y + c`.
fn shift_rows(
    [b, c]: [f64; 2],
    [e, f]: [f64; 2],
    part: Part<'_, u8>,
    window: Rect,
    outside: [u8; 4],
    out: &mut [[u8; 4]],
) {
    // Beyond every side of an image.
    const FAR: f64 = 1e9;
    let nearest = |number: f64| i64::from(whole(round(within(number, -FAR, FAR))));
    let [left, top, width, height] =
        [part.rect.left, part.rect.top, part.rect.width, part.rect.height].map(|number| i64::from(number));
    for (y, row) in (window.top..).map(f64::from).zip(out.chunks_exact_mut(window.width as usize)) {
        let (shift, source) = (nearest(b * y + c), nearest(e * y + f) - top);
        // The columns of the window that show pixels of the part.
        let first = i64::from(window.left) + shift - left;
        let begin = (-first).clamp(0, row.len() as i64);
        let end = if (0..height).contains(&source) { (width - first).clamp(begin, row.len() as i64) } else { begin };
        let (begin, end) = (begin as usize, end as usize);
        row[..begin].fill(outside);
        row[end..].fill(outside);
        if begin < end {
            let from = source as usize * part.stride + (first + begin as i64) as usize;
            row[begin..end].copy_from_slice(&part.pixels[from..][..end - begin]);
        }
    }
}

/// What a block of pixels is made of: the number of the upper left one of four neighbours, and the weights of their
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
