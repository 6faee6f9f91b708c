//! Pillow's affine transform: `../../pillow/affine.rs` says where each pixel lies. The sums are those of Pillow, in f64
//! and in its order, and are cut to whole numbers, so that the bytes are its own.

use super::Part;
use crate::geometry::Rect;
use crate::pillow::{PillowAffine, PillowFilter};

/// Writes `window` of the result, of an image of `size`.
pub(super) fn bytes(affine: &PillowAffine, part: Part<'_, u8>, size: (u32, u32), window: Rect, out: &mut Vec<[u8; 4]>) {
    let [r, g, b] = affine.fill;
    let outside = [r, g, b, 255];
    match affine.filter {
        PillowFilter::Nearest => {
            affine.added_up(window, size, |at| out.push(at.map_or(outside, |(x, y)| part.at(x, y))));
        }
        PillowFilter::Bilinear => interpolate::<2>(affine, part, size, window, outside, out),
        PillowFilter::Bicubic => interpolate::<4>(affine, part, size, window, outside, out),
    }
}

/// Interpolates among `N` × `N` pixels; those outside the image have the colour of the nearest one inside.
#[inline(always)]
fn interpolate<const N: usize>(
    affine: &PillowAffine,
    part: Part<'_, u8>,
    (width, height): (u32, u32),
    window: Rect,
    outside: [u8; 4],
    out: &mut Vec<[u8; 4]>,
) {
    let (right, bottom) = (f64::from(width), f64::from(height));
    for y in window.top..window.top + window.height {
        for x in window.left..window.left + window.width {
            let (at_x, at_y) = affine.place(x, y);
            if at_x < 0.0 || at_x >= right || at_y < 0.0 || at_y >= bottom {
                out.push(outside);
                continue;
            }
            let (at_x, at_y) = (at_x - 0.5, at_y - 0.5);
            let (left, top) = (at_x.floor(), at_y.floor());
            let (share_x, share_y) = (at_x - left, at_y - top);
            let taps = |first: f64, side: u32| -> [u32; N] {
                let first = first as i64 - (N as i64 / 2 - 1);
                std::array::from_fn(|i| (first + i as i64).clamp(0, i64::from(side) - 1) as u32)
            };
            let columns = taps(left, width);
            let rows: [[f64; 3]; N] = taps(top, height).map(|row| {
                let pixels = columns.map(|column| part.at(column, row));
                std::array::from_fn(|c| between(pixels.map(|pixel| f64::from(pixel[c])), share_x))
            });
            let [r, g, b] = [0, 1, 2].map(|c| between(rows.map(|row| row[c]), share_y) as u8);
            out.push([r, g, b, 255]);
        }
    }
}

/// The number at `share` of the way between the two in the middle of two or four.
#[inline(always)]
fn between<const N: usize>(numbers: [f64; N], share: f64) -> f64 {
    match numbers[..] {
        [first, second] => first + (second - first) * share,
        [first, second, third, fourth] => {
            let slope = -first + third;
            let bend = 2.0 * (first - second) + third - fourth;
            let twist = -first + second - third + fourth;
            second + share * (slope + share * (bend + share * twist))
        }
        _ => unreachable!("two or four"),
    }
}
