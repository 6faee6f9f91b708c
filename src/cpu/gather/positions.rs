//! Where the pixels of a block lie in the image before a warp, and their rounding, in loops that vectorise.

use super::Part;
use crate::warp::Map;

/// Pixels of a block.
pub(super) const BLOCK: usize = 32;

/// From this number on f64 have no fraction: to add it rounds to nearest, ties to even, and leaves the number in the
/// lower bits, below zero too.
const INTEGERS: f64 = 6_755_399_441_055_744.0;

/// Pixels beyond every side of an image.
pub(super) const FAR: f64 = 1e9;

/// The positions of a block of pixels from column `first` of row `y` on.
#[inline(always)]
pub(super) fn block_positions(map: &Map, first: u32, y: u32, xs: &mut [f64; BLOCK], ys: &mut [f64; BLOCK]) {
    let (first, y) = (first as i32, f64::from(y));
    match *map {
        Map::Affine([a, b, c, d, e, f]) => {
            let (row_x, row_y) = (b * y + c, e * y + f);
            for i in 0..BLOCK {
                let x = f64::from(first + i as i32);
                (xs[i], ys[i]) = (a * x + row_x, d * x + row_y);
            }
        }
        // Floats have it, which do not go through blocks.
        Map::Perspective(_) => {
            for i in 0..BLOCK {
                (xs[i], ys[i]) = map.at(f64::from(first + i as i32), y);
            }
        }
        Map::WholePerspective(ref perspective) => {
            for i in 0..BLOCK {
                (xs[i], ys[i]) = perspective.at(f64::from(first + i as i32), y, round);
            }
        }
    }
}

/// The numbers of a part that the loops need: its first column and row, its size, and its pixels' numbers as f64.
#[derive(Clone, Copy)]
pub(super) struct Edges {
    pub(super) left: i32,
    pub(super) top: i32,
    pub(super) width: i32,
    pub(super) height: i32,
    pub(super) stride: i32,
    /// Pixels from one row to the next.
    pub(super) pitch: f64,
    /// The number that the image's pixel (0, 0) would have, negated.
    pub(super) origin: f64,
}

impl Edges {
    pub(super) fn new<T>(part: &Part<'_, T>) -> Edges {
        let [left, top, width, height] =
            [part.rect.left, part.rect.top, part.rect.width, part.rect.height].map(|number| number as i32);
        let pitch = part.stride as f64;
        let origin = f64::from(left) + pitch * f64::from(top);
        Edges { left, top, width, height, stride: part.stride as i32, pitch, origin }
    }

    /// True if all positions of a block are inside, a little away from the edges. They lie between those of the block's
    /// ends, unless it crosses the horizon of a perspective.
    #[inline(always)]
    pub(super) fn contain(self, map: &Map, (first, y): (u32, u32), xs: &[f64; BLOCK], ys: &[f64; BLOCK]) -> bool {
        let mut margin = 1e-3;
        let last = first + BLOCK as u32 - 1;
        match map {
            Map::Affine(_) => {}
            Map::Perspective(_) => return false,
            Map::WholePerspective(perspective) => {
                if !perspective.is_even_between(first.into(), last.into(), y.into()) {
                    return false;
                }
                margin = 0.125;
            }
        }
        let inside = |positions: &[f64; BLOCK], edge: i32, len: i32| {
            let range = f64::from(edge) + margin..f64::from(edge + len - 1) - margin;
            range.contains(&positions[0]) && range.contains(&positions[BLOCK - 1])
        };
        inside(xs, self.left, self.width) && inside(ys, self.top, self.height)
    }
}

/// The number within two bounds; the lower one for a NaN.
#[inline(always)]
pub(super) fn within(number: f64, low: f64, high: f64) -> f64 {
    let number = if number >= low { number } else { low };
    if number <= high { number } else { high }
}

/// The nearest whole number, of even ones at ties.
#[inline(always)]
pub(super) fn round(number: f64) -> f64 {
    (number + INTEGERS) - INTEGERS
}

/// The nearest whole number as an integer.
#[inline(always)]
pub(super) fn whole(number: f64) -> i32 {
    (number + INTEGERS).to_bits() as i32
}
