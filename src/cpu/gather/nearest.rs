//! Warps of 8-bit numbers that take the nearest pixel. Those that only move rows or columns copy them.

use super::Part;
use super::positions::{BLOCK, Edges, FAR, block_positions, round, whole, within};
use crate::geometry::Rect;
use crate::warp::Map;
use multiversion::multiversion;
use std::ops::Range;

/// Writes `window` of the result; `outside` is the colour around the image.
pub(super) fn bytes(map: &Map, part: Part<'_, u8>, window: Rect, outside: [u8; 4], out: &mut [[u8; 4]]) {
    let (rows, columns) = (window.top..window.top + window.height, window.left..window.left + window.width);
    match *map {
        Map::Affine([1.0, b, c, 0.0, e, f]) if !has_ties(b, c, rows) => {
            shift_rows([b, c], [e, f], part, window, outside, out);
        }
        Map::Affine([1.0, 0.0, c, d, 1.0, f]) if !has_ties(0.0, c, 0..1) && !has_ties(d, f, columns) => {
            shift_columns(c, [d, f], part, window, outside, out);
        }
        _ => blocks(map, part, window, outside, out),
    }
}

/// True if a shift `slope i + start` lies halfway between two whole numbers. Then every second pixel moves by one more than
/// its neighbours: of two pixels that are equally near the even one is taken.
fn has_ties(slope: f64, start: f64, mut numbers: Range<u32>) -> bool {
    numbers.any(|i| {
        let shift = slope * f64::from(i) + start;
        (shift - round(shift)).abs() == 0.5
    })
}

#[multiversion(targets("x86_64+avx512f+avx512bw+avx512vl+avx512dq", "x86_64+avx2"))]
fn blocks(map: &Map, part: Part<'_, u8>, window: Rect, outside: [u8; 4], out: &mut [[u8; 4]]) {
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
    let nearest = |number: f64| i64::from(whole(round(within(number, -FAR, FAR))));
    let [left, top, width, height] = [part.rect.left, part.rect.top, part.rect.width, part.rect.height].map(i64::from);
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

/// Moves columns, as a shear along y does: pixel (x, y) of the result is the image's at `(x + c, y + d x + f)`.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512vl+avx512dq", "x86_64+avx2"))]
fn shift_columns(c: f64, [d, f]: [f64; 2], part: Part<'_, u8>, window: Rect, outside: [u8; 4], out: &mut [[u8; 4]]) {
    let Edges { left, top, width, height, stride, .. } = Edges::new(&part);
    let right = window.left + window.width;
    let shift = whole(round(within(c, -FAR, FAR))) - left;
    let (mut rows, mut numbers) = ([0i32; BLOCK], [0u32; BLOCK]);
    for first in (window.left..right).step_by(BLOCK) {
        let columns = first..right.min(first + BLOCK as u32);
        let mut columns_of = [0i32; BLOCK];
        for i in 0..BLOCK {
            let x = first as i32 + i as i32;
            let column = x.wrapping_add(shift);
            let row = whole(round(within(d * f64::from(x) + f, -FAR, FAR))) - top;
            // From here no row of the image is reached.
            rows[i] = if (column >= 0) & (column < width) { row } else { i32::MIN / 2 };
            columns_of[i] = column;
        }
        for (y, row) in (window.top as i32..).zip(out.chunks_exact_mut(window.width as usize)) {
            for i in 0..BLOCK {
                let row = rows[i] + y;
                let inside = (row >= 0) & (row < height);
                numbers[i] =
                    row.wrapping_mul(stride).wrapping_add(columns_of[i]) as u32 | u32::from(inside).wrapping_sub(1);
            }
            let block = &mut row[(columns.start - window.left) as usize..(columns.end - window.left) as usize];
            for (out, &number) in block.iter_mut().zip(&numbers) {
                *out = *part.pixels.get(number as usize).unwrap_or(&outside);
            }
        }
    }
}
