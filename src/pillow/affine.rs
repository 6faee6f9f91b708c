//! Where the pixels of an affine transform lie in the image before, in the order of Pillow's sums.

use crate::geometry::Rect;
use crate::warp::{Map, WORDS};

/// How a pixel is made of those around its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PillowFilter {
    /// The pixel in which the place lies.
    Nearest,
    /// Four pixels.
    Bilinear,
    /// Sixteen pixels, with a = -1.
    Bicubic,
}

/// An affine transform of 8-bit numbers whose result has the size of the image.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PillowAffine {
    /// Pixel (x, y) shows the place (a X + b Y + c, d X + e Y + f), with X = x + 1/2 and Y = y + 1/2.
    matrix: [f64; 6],
    pub(crate) filter: PillowFilter,
    /// The colour outside the image.
    pub(crate) fill: [u8; 3],
}

/// Entries closer to 0 than this have the effect of this number: they decide a sign at most.
const LEAST_ENTRY: f64 = 1e-200;
/// Places beyond this many pixels do not fit into the numbers of 16.16 bits that the nearest pixel is found with.
const FIXED_LIMIT: f64 = 32768.0;
/// The unit of these numbers.
const FIXED_UNIT: f64 = 65536.0;

impl PillowAffine {
    pub(crate) fn new(matrix: [f64; 6], filter: PillowFilter, fill: [u8; 3]) -> PillowAffine {
        let apart = |entry: f64| {
            if entry != 0.0 && entry.abs() < LEAST_ENTRY { LEAST_ENTRY.copysign(entry) } else { entry }
        };
        PillowAffine { matrix: matrix.map(apart), filter, fill }
    }

    /// The place in the image that pixel (x, y) shows, in pixels from its left and upper edge.
    #[inline(always)]
    pub(crate) fn place(&self, x: u32, y: u32) -> (f64, f64) {
        let [a, b, c, d, e, f] = self.matrix;
        let (x, y) = (f64::from(x) + 0.5, f64::from(y) + 0.5);
        (a * x + b * y + c, d * x + e * y + f)
    }

    /// The map with which a warp to the nearest pixel gives this transform of an image of `size`; `None` if there is none.
    ///
    /// Pillow adds up numbers of 16.16 bits, which are a map. Without a rotation and a shear it adds up numbers of f64,
    /// for which a line with the same whole parts is tried.
    pub(crate) fn nearest_map(&self, size: (u32, u32)) -> Option<Map> {
        let [a, b, c, d, e, f] = self.matrix;
        let map = if self.is_scaled() {
            Map::Affine([a, 0.0, c + a * 0.5 - 0.5, 0.0, e, f + e * 0.5 - 0.5])
        } else if self.fits_fixed(size) {
            let fixed = |number: f64| (number * FIXED_UNIT + 0.5).floor() / FIXED_UNIT;
            let (left, top) = (fixed(c + a * 0.5 + b * 0.5), fixed(f + d * 0.5 + e * 0.5));
            Map::Affine([fixed(a), fixed(b), left - 0.5, fixed(d), fixed(e), top - 0.5])
        } else {
            return None;
        };
        // A warp rounds; whole numbers that lie on the border of two pixels belong to the later one.
        let Map::Affine([a, b, c, d, e, f]) = map else { return None };
        let map = Map::Affine([a, b, c + PAST_BORDERS, d, e, f + PAST_BORDERS]).on_grid(size, size).ok()?;
        (!self.is_scaled() || self.is_on(&map, size)).then_some(map)
    }

    /// True if a warp by `map` reads the pixels that a scale does.
    fn is_on(&self, map: &Map, (width, height): (u32, u32)) -> bool {
        let inside = |at: f64, side: u32| (0.0..f64::from(side)).contains(&at).then_some(at as u32);
        let rounded = |at: f64, side: u32| inside(at.round_ties_even(), side);
        let [a, _, c, _, e, f] = self.matrix;
        let columns = sums(c + a * 0.5, a)
            .zip(0..width)
            .all(|(at, x)| inside(at, width) == rounded(map.at(x.into(), 0.0).0, width));
        columns
            && sums(f + e * 0.5, e)
                .zip(0..height)
                .all(|(at, y)| inside(at, height) == rounded(map.at(0.0, y.into()).1, height))
    }

    /// Calls `pixel` for each pixel of `window`, row by row, with the pixel that it shows as its nearest one, as Pillow
    /// finds it by adding up: `None` is outside an image of `size`.
    pub(crate) fn added_up(
        &self,
        window: Rect,
        (width, height): (u32, u32),
        mut pixel: impl FnMut(Option<(u32, u32)>),
    ) {
        let [a, b, c, d, e, f] = self.matrix;
        let rows = sums(c + b * 0.5 + a * 0.5, b).zip(sums(f + e * 0.5 + d * 0.5, e));
        for (left, top) in rows.skip(window.top as usize).take(window.height as usize) {
            let places = sums(left, a).zip(sums(top, d));
            for (x, y) in places.skip(window.left as usize).take(window.width as usize) {
                let inside = x >= 0.0 && x < f64::from(width) && y >= 0.0 && y < f64::from(height);
                pixel(inside.then_some((x as u32, y as u32)));
            }
        }
    }

    fn is_scaled(&self) -> bool {
        self.matrix[1] == 0.0 && self.matrix[3] == 0.0
    }

    /// True if the places of the corners fit into 16.16 bits.
    fn fits_fixed(&self, (width, height): (u32, u32)) -> bool {
        let [a, b, c, d, e, f] = self.matrix;
        let fits = |(x, y): (u32, u32)| {
            let (x, y) = (f64::from(x), f64::from(y));
            (x * a + y * b + c).abs() < FIXED_LIMIT && (x * d + y * e + f).abs() < FIXED_LIMIT
        };
        [(0, 0), (width, height), (0, height), (width, 0)].into_iter().all(fits)
    }

    /// The region of an image of `size` that `window` of the result shows.
    pub(crate) fn read_region(&self, window: Rect, size: (u32, u32)) -> Rect {
        if self.filter == PillowFilter::Nearest {
            return Rect { left: 0, top: 0, width: size.0, height: size.1 };
        }
        let Rect { left, top, width, height } = window;
        let corners = [left, left + width - 1].into_iter();
        let corners = corners.flat_map(|x| [top, top + height - 1].map(|y| self.place(x, y)));
        let (mut low, mut high) = ((f64::INFINITY, f64::INFINITY), (f64::NEG_INFINITY, f64::NEG_INFINITY));
        for (x, y) in corners {
            (low, high) = ((low.0.min(x), low.1.min(y)), (high.0.max(x), high.1.max(y)));
        }
        // Two more pixels on each side for the interpolation, and one for rounding.
        let side = |low: f64, high: f64, side: u32| {
            let last = f64::from(side) - 1.0;
            let first = (low.floor() - 3.0).clamp(0.0, last);
            (first as u32, ((high.ceil() + 3.0).clamp(first, last) - first) as u32 + 1)
        };
        let ((left, width), (top, height)) = (side(low.0, high.0, size.0), side(low.1, high.1, size.1));
        Rect { left, top, width, height }
    }

    /// The numbers as shaders read them: each entry an upper and a lower half, then the pixels of a filter along a side,
    /// then the colour outside.
    pub(crate) fn words(&self) -> [u32; WORDS] {
        let mut words = [0; WORDS];
        for (pair, entry) in words.as_chunks_mut::<2>().0.iter_mut().zip(self.matrix) {
            let bits = entry.to_bits();
            *pair = [(bits >> 32) as u32, bits as u32];
        }
        words[12] = if self.filter == PillowFilter::Bicubic { 4 } else { 2 };
        words[13..16].copy_from_slice(&self.fill.map(u32::from));
        words
    }
}

/// Pixels: less than the unit of 16.16 bits, and more than none.
const PAST_BORDERS: f64 = 1.0 / (4.0 * FIXED_UNIT);

/// `first`, and that with `step` added once, twice, and so on.
fn sums(first: f64, step: f64) -> impl Iterator<Item = f64> {
    std::iter::successors(Some(first), move |sum| Some(sum + step))
}
