//! Sharpness: torchvision's `adjust_sharpness_image`. Each pixel is blended with the mean of its 3 × 3 neighbours, of
//! which the pixel itself counts five times. The outermost pixels stay, and so do images of up to two pixels a side.

use super::Part;
use crate::geometry::Rect;

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
pub(super) fn bytes(ratio: f64, part: Part<'_, u8>, size: (u32, u32), window: Rect, out: &mut Vec<[u8; 4]>) {
    let share = f64::from((1.0 - ratio) as f32);
    each(part, size, window, f32::from, |pixel, sum| {
        out.push(sum.map_or(pixel, |sum| {
            let blend = |c: usize| {
                let (x, mean) = (f64::from(pixel[c]), f64::from((sum[c] / 13.0).round_ties_even()));
                // Both the product and the sum are exact in f64.
                ((x + share * (mean - x)) as f32).clamp(0.0, 255.0) as u8
            };
            [blend(0), blend(1), blend(2), 255]
        }));
    });
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
