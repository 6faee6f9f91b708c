//! Sharpness: torchvision's `adjust_sharpness_image`. Each pixel is blended with the mean of its 3 × 3 neighbours, of
//! which the pixel itself counts five times. The outermost pixels stay, and so do images of up to two pixels a side.

use super::Part;
use crate::color::levels::floor_bits;
use crate::geometry::Rect;
use multiversion::multiversion;
use multiversion::target::target_cfg_f;

/// Calls `out` for each pixel of `window`: with the pixel, and with the sum of its neighbours, itself five times,
/// unless the pixel stays.
#[inline(always)]
fn each<T: Copy>(
    part: Part<'_, T>,
    (width, height): (u32, u32),
    window: Rect,
    number: impl Fn(T) -> f32,
    mut out: impl FnMut([T; 4], Option<[f32; 4]>),
) {
    let small = width <= 2 || height <= 2;
    for y in window.top..window.top + window.height {
        for x in window.left..window.left + window.width {
            let pixel = part.at(x, y);
            if small || x == 0 || y == 0 || x + 1 == width || y + 1 == height {
                out(pixel, None);
                continue;
            }
            let mut sum = pixel.map(|value| 4.0 * number(value));
            for (x, y) in
                [-1i32, 0, 1].into_iter().flat_map(|dy| [-1i32, 0, 1].map(|dx| (x as i32 + dx, y as i32 + dy)))
            {
                let neighbour = part.at(x as u32, y as u32);
                (0..4).for_each(|c| sum[c] += number(neighbour[c]));
            }
            out(pixel, Some(sum));
        }
    }
}

/// In 8-bit numbers: the mean is rounded, and the blend `x + (1 - ratio) (mean - x)` is rounded once to f32, then
/// truncated.
pub(super) fn bytes(ratio: f64, part: Part<'_, u8>, (width, height): (u32, u32), window: Rect, out: &mut Vec<[u8; 4]>) {
    let share = (1.0 - ratio) as f32;
    // The columns that change.
    let (first, end) = (window.left.max(1), (window.left + window.width).min(width.saturating_sub(1)));
    let columns = part.columns(window);
    out.clear();
    for y in window.top..window.top + window.height {
        let row = part.row(y);
        let begin = out.len();
        out.extend_from_slice(&row[columns.clone()]);
        if width <= 2 || y == 0 || y + 1 >= height || first >= end {
            continue;
        }
        let around = (first - 1 - part.rect.left) as usize..(end + 1 - part.rect.left) as usize;
        let rows = [y - 1, y, y + 1].map(|y| part.row(y)[around.clone()].as_flattened());
        let changed = begin + (first - window.left) as usize..begin + (end - window.left) as usize;
        blend(rows, share, out[changed].as_flattened_mut());
    }
}

/// Blends pixels with their neighbours in three rows, which begin one pixel before and end one after. The fourth
/// channel is 255 and stays.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512vl+avx512dq+fma", "x86_64+avx2+fma", "x86_64+avx2"))]
fn blend(rows: [&[u8]; 3], share: f32, out: &mut [u8]) {
    let n = out.len();
    let [above, row, below] = rows.map(|row| &row[..n + 8]);
    for i in 0..n {
        let three = |row: &[u8]| u16::from(row[i]) + u16::from(row[i + 4]) + u16::from(row[i + 8]);
        let pixel = u16::from(row[i + 4]);
        let sum = three(above) + three(row) + three(below) + 4 * pixel;
        // The nearest number to a thirteenth: sums are at most 13 · 255, for which this factor is exact, and 13 is odd.
        let mean = ((u32::from(sum + 6) * 5042) >> 16) as u16;
        let (x, difference) = (pixel as i16, mean as i16 - pixel as i16);
        // Both the product and the sum are exact in f64; a fused multiply-add rounds as f64 does on its way to f32.
        let value = if target_cfg_f!(target_feature = "fma") {
            f32::from(difference).mul_add(share, f32::from(x))
        } else {
            (f64::from(x) + f64::from(share) * f64::from(difference)) as f32
        };
        out[i] = floor_bits(value.clamp(0.0, 255.0)) as u8;
    }
}

/// In floats, clamped to \[0, 1\].
pub(super) fn floats(ratio: f64, part: Part<'_, f32>, size: (u32, u32), window: Rect, out: &mut Vec<[f32; 4]>) {
    let share = (1.0 - ratio) as f32;
    each(
        part,
        size,
        window,
        |value| value,
        |pixel, sum| {
            out.push(match sum {
                // A cubic resize may leave values outside [0, 1], which only larger images are clamped to.
                None if size.0 <= 2 || size.1 <= 2 => pixel,
                None => pixel.map(|value| value.clamp(0.0, 1.0)),
                Some(sum) => std::array::from_fn(|c| (pixel[c] + share * (sum[c] / 13.0 - pixel[c])).clamp(0.0, 1.0)),
            });
        },
    );
}
