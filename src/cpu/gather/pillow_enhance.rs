//! Pillow's `ImageEnhance` on 8-bit numbers: a blend of the image with its gray, with the mean of its gray, or with the
//! smoothed image.

use super::Part;
use super::bytes::ByteTable;
use crate::geometry::Rect;
use crate::plan::timm::blend;
use multiversion::multiversion;

/// Pillow's `convert("L")` of a pixel.
#[inline(always)]
fn gray([r, g, b, _]: [u8; 4]) -> u32 {
    (19595 * u32::from(r) + 38470 * u32::from(g) + 7471 * u32::from(b) + 0x8000) >> 16
}

/// `ImageEnhance.Color`: 0 is gray, 1 the image.
pub(super) fn color(factor: f32, part: Part<'_, u8>, window: Rect, out: &mut Vec<[u8; 4]>) {
    out.clear();
    part.rows_of(window).for_each(|row| {
        let begin = out.len();
        out.extend_from_slice(row);
        color_row(factor, &mut out[begin..]);
    });
}

#[multiversion(targets("x86_64+avx512f+avx512bw+avx512vl+avx512dq", "x86_64+avx2"))]
fn color_row(factor: f32, row: &mut [[u8; 4]]) {
    for pixel in row {
        let gray = gray(*pixel) as f32;
        let [r, g, b, a] = *pixel;
        let [r, g, b] = [r, g, b].map(|number| blend(gray, f32::from(number), factor) as u8);
        *pixel = [r, g, b, a];
    }
}

/// `ImageEnhance.Contrast`: 0 is the mean, 1 the image.
pub(super) fn contrast(factor: f32, part: Part<'_, u8>, window: Rect, out: &mut Vec<[u8; 4]>) {
    let sum: u64 = part.runs().map(sum_of_grays).sum();
    let count = u64::from(part.rect.width) * u64::from(part.rect.height);
    let mean = (sum as f64 / count as f64 + 0.5).trunc() as f32;
    let table = ByteTable::new(|k| blend(mean, f32::from(k), factor) as u8);
    out.clear();
    ByteTable::look_up_rows([&table; 3], part.rows_of(window), out);
}

#[multiversion(targets("x86_64+avx512f+avx512bw+avx512vl+avx512dq", "x86_64+avx2"))]
fn sum_of_grays(pixels: &[[u8; 4]]) -> u64 {
    // So many bytes have a sum of 32 bits.
    const TOGETHER: usize = 1 << 16;
    let sums = pixels.chunks(TOGETHER).map(|pixels| pixels.iter().map(|&pixel| gray(pixel)).sum::<u32>());
    sums.map(u64::from).sum()
}

/// `ImageEnhance.Sharpness`: 0 is the smoothed image, 1 the image, 2 a sharpened one. The outermost pixels stay, and so do
/// images of up to two pixels a side.
pub(super) fn sharpness(
    factor: f32,
    part: Part<'_, u8>,
    (width, height): (u32, u32),
    window: Rect,
    out: &mut Vec<[u8; 4]>,
) {
    // The columns that change.
    let (first, end) = (window.left.max(1), (window.left + window.width).min(width.saturating_sub(1)));
    let columns = part.columns(window);
    out.clear();
    for y in window.top..window.top + window.height {
        let begin = out.len();
        out.extend_from_slice(&part.row(y)[columns.clone()]);
        if y == 0 || y + 1 >= height || first >= end {
            continue;
        }
        let around = (first - 1 - part.rect.left) as usize..(end + 1 - part.rect.left) as usize;
        let rows = [y - 1, y, y + 1].map(|y| part.row(y)[around.clone()].as_flattened());
        let changed = begin + (first - window.left) as usize..begin + (end - window.left) as usize;
        sharpened(rows, factor, out[changed].as_flattened_mut());
    }
}

/// Blends pixels with their neighbours in three rows, which begin one pixel before and end one after. The fourth
/// channel is 255 and stays.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512vl+avx512dq", "x86_64+avx2"))]
fn sharpened(rows: [&[u8]; 3], factor: f32, out: &mut [u8]) {
    let n = out.len();
    let [above, row, below] = rows.map(|row| &row[..n + 8]);
    for i in 0..n {
        let three = |row: &[u8]| u16::from(row[i]) + u16::from(row[i + 4]) + u16::from(row[i + 8]);
        let pixel = u16::from(row[i + 4]);
        let sum = three(above) + three(row) + three(below) + 4 * pixel;
        // The nearest number to a thirteenth; see `sharpen.rs`.
        let mean = ((u32::from(sum + 6) * 5042) >> 16) as u16;
        out[i] = blend(f32::from(mean), f32::from(pixel), factor) as u8;
    }
}
