//! Warps: `../../warp.rs` says where each pixel lies.

use super::Part;
use crate::geometry::Rect;
use crate::warp::{Map, Warp};

/// Writes `window` of the result in 8-bit numbers, rounded to nearest, ties to even.
pub(super) fn bytes(warp: &Warp, part: Part<'_, u8>, size: (u32, u32), window: Rect, out: &mut Vec<[u8; 4]>) {
    let fill = warp.fill.map(|fill| fill.map(|value| value * 255.0));
    if warp.nearest {
        let outside = fill.unwrap_or_default().map(|value| value.round_ties_even() as u8);
        let outside = [outside[0], outside[1], outside[2], 255];
        return nearest(warp, part, size, window, outside, out);
    }
    let round = |value: [f32; 4]| value.map(|value| value.round_ties_even() as u8);
    bilinear(warp, part, size, window, fill, |pixel| pixel.map(f32::from), round, out);
}

/// Writes `window` of the result in floats.
pub(super) fn floats(warp: &Warp, part: Part<'_, f32>, size: (u32, u32), window: Rect, out: &mut Vec<[f32; 4]>) {
    if warp.nearest {
        let [r, g, b] = warp.fill.unwrap_or_default();
        return nearest(warp, part, size, window, [r, g, b, 1.0], out);
    }
    bilinear(warp, part, size, window, warp.fill, |pixel| pixel, |pixel| pixel, out);
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

fn nearest<T: Copy>(
    warp: &Warp,
    part: Part<'_, T>,
    (width, height): (u32, u32),
    window: Rect,
    outside: [T; 4],
    out: &mut Vec<[T; 4]>,
) {
    let (last_x, last_y) = (f64::from(width) - 0.5, f64::from(height) - 0.5);
    positions(&warp.map, window, |x, y| {
        let (x, y) = (x.round_ties_even(), y.round_ties_even());
        // A NaN is not inside, either.
        let inside = x >= 0.0 && x <= last_x && y >= 0.0 && y <= last_y;
        out.push(if inside { part.at(x as u32, y as u32) } else { outside });
    });
}

/// Taps outside the image are 0. With a fill the result is `(value - fill) · mask + fill`, where the mask is the sum of
/// the weights inside; the value was weighted with it before, too, as in torchvision.
#[expect(clippy::too_many_arguments, reason = "two conversions, so that bytes and floats share it")]
#[inline(always)]
fn bilinear<T: Copy, U>(
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
