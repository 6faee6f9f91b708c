//! Warps: where each pixel of the result lies in the image before. torchvision's `_apply_grid_transform` and its
//! callers (`transforms/v2/functional/_geometry.py`), computed in pixels instead of normalised coordinates.

mod grid;

use crate::geometry::Rect;
pub(crate) use grid::{WORDS, WholePerspective};

/// A warp with its numbers.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Warp {
    pub(crate) map: Map,
    /// Width and height of the result.
    pub(crate) size: (u32, u32),
    /// Takes the nearest pixel; otherwise interpolates bilinearly.
    pub(crate) nearest: bool,
    /// The colour outside the image. Without one, the image is surrounded by zeros, with which its edge is mixed.
    pub(crate) fill: Option<[f32; 3]>,
}

/// The position in the source of a pixel of the result.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Map {
    /// `sx = m0 x + m1 y + m2`, `sy = m3 x + m4 y + m5`, for the pixel's numbers x and y.
    Affine([f64; 6]),
    /// With X = x + 1/2, Y = y + 1/2, Z = g X + h Y + 1: `sx = (a X + b Y + c) / Z - 1/2`,
    /// `sy = (d X + e Y + f) / Z - 1/2`.
    Perspective([f64; 8]),
    /// The same on 8-bit numbers.
    WholePerspective(WholePerspective),
}

/// Pixels: more than the error of f32 in an image of 300 pixels.
const BEFORE_TIES: f64 = 1.0 / 32768.0;

impl Map {
    /// The position in the source of the pixel (x, y).
    #[inline(always)]
    pub(crate) fn at(&self, x: f64, y: f64) -> (f64, f64) {
        match self {
            Map::Affine([a, b, c, d, e, f]) => (a * x + (b * y + c), d * x + (e * y + f)),
            Map::Perspective([a, b, c, d, e, f, g, h]) => {
                let (x, y) = (x + 0.5, y + 0.5);
                let z = g * x + h * y + 1.0;
                ((a * x + b * y + c) / z - 0.5, (d * x + e * y + f) / z - 0.5)
            }
            Map::WholePerspective(perspective) => perspective.at(x, y, f64::round_ties_even),
        }
    }

    /// True if the pixel (x, y) lies before the horizon of a perspective, so far that its position is off by less than a
    /// pixel in a source of `side` pixels: then positions between those of such pixels lie between them, up to a pixel.
    fn is_before_horizon(&self, x: f64, y: f64, side: u32) -> bool {
        match self {
            Map::Affine(_) => true,
            Map::Perspective([.., g, h]) => g * (x + 0.5) + h * (y + 0.5) + 1.0 > 1e-3,
            Map::WholePerspective(perspective) => perspective.divisor(x, y) >= 2.0 * f64::from(side),
        }
    }

    /// The map whose positions lie a little before these, for the nearest pixel. Some magnitudes of policies lead whole
    /// rows exactly between two pixels; there torch takes the one or the other by the last bit of an f32. With this map the
    /// executors, of which one computes in f64 and the other in f32, take the same.
    pub(crate) fn without_ties(self) -> Map {
        match self {
            Map::Affine([a, b, c, d, e, f]) => Map::Affine([a, b, c - BEFORE_TIES, d, e, f - BEFORE_TIES]),
            Map::Perspective(_) | Map::WholePerspective(_) => self,
        }
    }

    /// The map of torchvision's `affine`: the inverse matrix about a centre, whose coordinates are relative to the
    /// image's centre. Angles are in degrees.
    pub(crate) fn affine(
        (source, result): ((u32, u32), (u32, u32)),
        angle: f64,
        translate: [f64; 2],
        scale: f64,
        shear: [f64; 2],
        center: [f64; 2],
    ) -> Map {
        let m = inverse_matrix(angle, translate, scale, shear, center);
        // torch keeps the entries in f32.
        let [a, b, c, d, e, f] = m.map(|entry| f64::from(entry as f32));
        let middle = |side: u32| (f64::from(side) - 1.0) / 2.0;
        let (x, y) = (middle(result.0), middle(result.1));
        Map::Affine([a, b, c - a * x - b * y + middle(source.0), d, e, f - d * x - e * y + middle(source.1)])
    }

    /// The map of torchvision's `perspective`: the coefficients that lead the end points to the start points.
    pub(crate) fn perspective(startpoints: [[i32; 2]; 4], endpoints: [[i32; 2]; 4]) -> Option<Map> {
        let mut rows = [[0.0; 9]; 8];
        for (i, ([x, y], [sx, sy])) in endpoints.into_iter().zip(startpoints).enumerate() {
            let [x, y, sx, sy] = [x, y, sx, sy].map(f64::from);
            rows[2 * i] = [x, y, 1.0, 0.0, 0.0, 0.0, -sx * x, -sx * y, sx];
            rows[2 * i + 1] = [0.0, 0.0, 0.0, x, y, 1.0, -sy * x, -sy * y, sy];
        }
        solve(rows).map(|solution| Map::Perspective(solution.map(|entry| f64::from(entry as f32))))
    }
}

/// torchvision's `_get_inverse_affine_matrix`, in f64. Sine and cosine are those of `libm`, the same on every platform.
pub(crate) fn inverse_matrix(
    angle: f64,
    [tx, ty]: [f64; 2],
    scale: f64,
    shear: [f64; 2],
    [cx, cy]: [f64; 2],
) -> [f64; 6] {
    let (rotation, [shear_x, shear_y]) = (angle.to_radians(), shear.map(f64::to_radians));
    let a = libm::cos(rotation - shear_y) / libm::cos(shear_y);
    let c = libm::sin(rotation - shear_y) / libm::cos(shear_y);
    let b = -(a * libm::tan(shear_x) + libm::sin(rotation));
    let d = libm::cos(rotation) - c * libm::tan(shear_x);
    let [m0, m1, m3, m4] = [d, -b, -c, a].map(|entry| entry / scale);
    let (x, y) = (cx + tx, cy + ty);
    [m0, m1, cx - m0 * x - m1 * y, m3, m4, cy - m3 * x - m4 * y]
}

/// Solves eight linear equations by elimination with pivots; `None` if they have no single solution.
fn solve(mut rows: [[f64; 9]; 8]) -> Option<[f64; 8]> {
    for column in 0..8 {
        let pivot = (column..8).max_by(|&a, &b| rows[a][column].abs().total_cmp(&rows[b][column].abs()))?;
        rows.swap(column, pivot);
        let top = rows[column];
        if top[column].abs() < 1e-9 {
            return None;
        }
        for row in (0..8).filter(|&row| row != column) {
            let factor = rows[row][column] / top[column];
            for (value, above) in rows[row].iter_mut().zip(top).skip(column) {
                *value -= factor * above;
            }
        }
    }
    Some(std::array::from_fn(|i| rows[i][8] / rows[i][i]))
}

/// The size of an image of (width, height) rotated by `angle` degrees with `expand`: torchvision's
/// `_compute_affine_output_size`, in f32 as there.
pub(crate) fn expanded_size(angle: f64, center: [f64; 2], (width, height): (u32, u32)) -> (u32, u32) {
    let m = inverse_matrix(-angle, [0.0; 2], 1.0, [0.0; 2], center).map(|entry| entry as f32);
    let (w, h) = (width as f32 * 0.5, height as f32 * 0.5);
    let corners = [[-w, -h], [-w, h], [w, h], [w, -h]];
    let side = |m: &[f32], half: f32| {
        let at = corners.map(|[x, y]| x * m[0] + y * m[1] + m[2] + half);
        let cut = |value: f32| (value * 1e4).trunc() * 1e-4;
        let most = at.into_iter().fold(f32::NEG_INFINITY, f32::max);
        let least = at.into_iter().fold(f32::INFINITY, f32::min);
        (cut(most).ceil() - cut(least).floor()).max(1.0) as u32
    };
    (side(&m[..3], w), side(&m[3..], h))
}

impl Warp {
    /// The region of a source of `size` that `window` of the result shows.
    pub(crate) fn read_region(&self, window: Rect, size: (u32, u32)) -> Rect {
        let whole = Rect { left: 0, top: 0, width: size.0, height: size.1 };
        let ends = |start: u32, len: u32| [f64::from(start), f64::from(start) + f64::from(len) - 1.0];
        let corners = ends(window.left, window.width)
            .into_iter()
            .flat_map(|x| ends(window.top, window.height).into_iter().map(move |y| (x, y)));
        // Behind the horizon the four corners bound nothing.
        if corners.clone().any(|(x, y)| !self.map.is_before_horizon(x, y, size.0.max(size.1))) {
            return whole;
        }
        let (mut low, mut high) = ((f64::INFINITY, f64::INFINITY), (f64::NEG_INFINITY, f64::NEG_INFINITY));
        for (x, y) in corners.map(|(x, y)| self.map.at(x, y)) {
            (low, high) = ((low.0.min(x), low.1.min(y)), (high.0.max(x), high.1.max(y)));
        }
        // One more pixel on each side for the interpolation, and one for rounding.
        let side = |low: f64, high: f64, side: u32| {
            let last = f64::from(side) - 1.0;
            let first = (low.floor() - 1.0).clamp(0.0, last);
            (first as u32, ((high.ceil() + 1.0).clamp(first, last) - first) as u32 + 1)
        };
        let ((left, width), (top, height)) = (side(low.0, high.0, size.0), side(low.1, high.1, size.1));
        Rect { left, top, width, height }
    }
}
