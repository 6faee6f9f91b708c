//! The positions of warps on 8-bit numbers. A rounding makes a pixel of them, so all executors must have the same ones to
//! the last bit: they are whole multiples of a small part of a pixel. The coefficients are rounded here, once; then the
//! sums are exact in f64, which the CPU computes in, and in the 64-bit integers of `shaders/gather/warp_u8.wgsl`.

use super::Map;

/// Words of the coefficients in a shader's parameters: six vectors of four.
pub(crate) const WORDS: usize = 24;

/// A perspective in whole numbers.
///
/// With X = 2x + 1 and Y = 2y + 1 for pixel (x, y), `above = (A X + B Y + C) 2^-shift` for the column, the same with D, E, F
/// for the row, and `below = (G X + H Y + I) 2^-shift`, each rounded to a whole number. A position is
/// `above / below - 1/2`, cut to `bits` bits of its fraction.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct WholePerspective {
    /// A to I. C, F and I are odd and the others even, so no sum lies halfway between two multiples of 2^shift.
    coefficients: [f64; 9],
    shift: i32,
    bits: i32,
    /// 2^-shift, 2^bits and 2^-bits.
    powers: [f64; 3],
}

/// The least power of two above `number`, as an exponent; `number` is positive and finite.
fn exponent_above(number: f64) -> i32 {
    ((number.to_bits() >> 52) & 0x7ff) as i32 - 1022
}

fn power_of_2(exponent: i32) -> f64 {
    f64::from_bits(((1023 + exponent) as u64) << 52)
}

impl Map {
    /// The map with the nearest positions that all executors can compute exactly, for an image of `source` pixels across
    /// and down and a result of `size`.
    ///
    /// An affine map is exact to 2^-32 in each entry, or, where positions exceed 2^20 pixels, to 2^-52 of the greatest
    /// position. Of a perspective the three sums have 23 bits, as many as torch's f32, and fractions 16 bits, in
    /// images of more than 2,045 pixels a side fewer.
    ///
    /// # Errors
    /// The reason, if positions of an affine map reach beyond 2^30 pixels, or if a sum of a perspective has more than 49
    /// bits where its divisor has 23.
    pub(crate) fn on_grid(self, source: (u32, u32), size: (u32, u32)) -> Result<Map, String> {
        match self {
            Map::Affine([a, b, c, d, e, f]) => {
                let ([a, b, c], [d, e, f]) = (affine_row([a, b, c], size)?, affine_row([d, e, f], size)?);
                Ok(Map::Affine([a, b, c, d, e, f]))
            }
            Map::Perspective(coefficients) => {
                WholePerspective::new(coefficients, source, size).map(Map::WholePerspective)
            }
            Map::WholePerspective(_) => Ok(self),
        }
    }

    /// The coefficients as shaders read them: each an upper and a lower half, of an affine map as multiples of 2^-32;
    /// last the shift and the bits of a perspective. Zeros for a map that is on no grid.
    pub(crate) fn words(&self) -> [u32; WORDS] {
        let mut words = [0; WORDS];
        let mut write = |numbers: &[f64], scale: f64| {
            for (pair, number) in words.as_chunks_mut::<2>().0.iter_mut().zip(numbers) {
                let whole = (number * scale) as i64;
                *pair = [(whole >> 32) as u32, whole as u32];
            }
        };
        match self {
            Map::Affine(entries) => write(entries, power_of_2(32)),
            Map::Perspective(_) => {}
            Map::WholePerspective(perspective) => {
                write(&perspective.coefficients, 1.0);
                words[20..22].copy_from_slice(&[perspective.shift as u32, perspective.bits as u32]);
            }
        }
        words
    }
}

/// A row of an affine map, `m0 x + m1 y + m2`, whose sums for a result of this size have at most 52 bits.
fn affine_row(row: [f64; 3], (width, height): (u32, u32)) -> Result<[f64; 3], String> {
    let reach = row[0].abs() * f64::from(width) + row[1].abs() * f64::from(height) + row[2].abs();
    let limit = power_of_2(30);
    if reach.is_nan() || reach >= limit {
        return Err(format!("it reads pixels {reach:.0} away; on 8-bit numbers {limit} is the limit"));
    }
    let step = power_of_2((exponent_above(reach.max(1.0)) - 52).max(-32));
    Ok(row.map(|entry| (entry / step).round_ties_even() * step))
}

impl WholePerspective {
    fn new(coefficients: [f64; 8], source: (u32, u32), (width, height): (u32, u32)) -> Result<Self, String> {
        let [a, b, c, d, e, f, g, h] = coefficients;
        let (right, bottom) = (f64::from(width) - 0.5, f64::from(height) - 0.5);
        let corners = [(0.5, 0.5), (right, 0.5), (0.5, bottom), (right, bottom)];
        let greatest = corners.map(|(x, y)| (g * x + h * y + 1.0).abs()).into_iter().fold(0.0, f64::max);
        let reach =
            [[a, b, c], [d, e, f], [g, h, 1.0]].map(|[x, y, one]| x.abs() * right + y.abs() * bottom + one.abs());
        let reach = reach.into_iter().fold(0.0, f64::max);
        let scale = 23 - exponent_above(greatest.max(1e-9));
        let shift = (51 - scale - exponent_above(reach)).min(16);
        if shift < 2 || scale.abs() > 60 {
            return Err("its points are too far apart, or too close to a line, for 8-bit numbers".to_owned());
        }
        let unit = power_of_2(scale + shift);
        // X and Y are twice the coordinates.
        let even = |number: f64| 2.0 * (number * unit / 4.0).round_ties_even();
        let odd = |number: f64| 2.0 * (number * unit / 2.0).floor() + 1.0;
        let side = f64::from(source.0.max(source.1)) + 2.0;
        let bits = (27 - exponent_above(side)).min(16);
        Ok(WholePerspective {
            coefficients: [even(a), even(b), odd(c), even(d), even(e), odd(f), even(g), even(h), odd(1.0)],
            shift,
            bits,
            powers: [power_of_2(-shift), power_of_2(bits), power_of_2(-bits)],
        })
    }

    /// The three sums for the pixel (x, y), rounded by `round`: above for the column, above for the row, and below.
    #[inline(always)]
    fn sums(&self, x: f64, y: f64, round: impl Fn(f64) -> f64) -> [f64; 3] {
        let [a, b, c, d, e, f, g, h, i] = self.coefficients;
        let (x, y) = (2.0 * x + 1.0, 2.0 * y + 1.0);
        [a * x + (b * y + c), d * x + (e * y + f), g * x + (h * y + i)].map(|sum| round(sum * self.powers[0]))
    }

    /// The position in the source of the pixel (x, y). `round` gives the nearest whole number below 2^50.
    #[inline(always)]
    pub(crate) fn at(&self, x: f64, y: f64, round: impl Fn(f64) -> f64) -> (f64, f64) {
        let [column, row, below] = self.sums(x, y, round);
        // Dividend and divisor are exact. A quotient below a multiple of 2^-bits is so by 2^-(bits + 24) or more, and f64
        // rounds one in an image by 2^-(bits + 27) at most: it does not become the multiple.
        let position = |above: f64| ((above + 0.5 * below) / below * self.powers[1]).floor() * self.powers[2] - 1.0;
        (position(column), position(row))
    }

    /// The divisor of the pixel (x, y); not positive behind the horizon. Sums are rounded by up to a half, so a position
    /// in an image of `side` pixels is off by up to `(side + 1) / 2 / divisor` pixels.
    pub(super) fn divisor(&self, x: f64, y: f64) -> f64 {
        self.sums(x, y, f64::round_ties_even)[2]
    }

    /// True if positions between those of the pixels `first` and `last` of row `y` lie between them, up to an eighth
    /// of a pixel: the divisors have 18 bits, and the image has at most 8,189 pixels a side.
    pub(crate) fn is_even_between(&self, first: f64, last: f64, y: f64) -> bool {
        self.bits >= 14 && self.divisor(first, y).min(self.divisor(last, y)) >= power_of_2(17)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::Rect;
    use crate::warp::Warp;

    /// A number of 64 bits, the fraction of which has 32, for each word pair.
    fn wide(words: &[u32], index: usize) -> i128 {
        i128::from((u64::from(words[2 * index]) << 32 | u64::from(words[2 * index + 1])) as i64)
    }

    #[test]
    fn affine_positions_are_exact() {
        for (angle, size) in [(17.3, (224, 160)), (-91.0, (31, 5000)), (0.01, (60_000, 3))] {
            for scale in [0.3, 1.0, 1e-3] {
                let map = Map::affine((size, size), angle, [3.7, -1.1], scale, [4.0, 9.0], [0.0; 2]);
                let on_grid = map.clone().on_grid(size, size).unwrap();
                let words = on_grid.words();
                for (x, y) in [(0, 0), (size.0 - 1, size.1 - 1), (size.0 / 3, size.1 / 2)] {
                    let (sx, sy) = on_grid.at(x.into(), y.into());
                    for (position, first) in [(sx, 0), (sy, 3)] {
                        let [m0, m1, m2] = [0, 1, 2].map(|i| wide(&words, first + i));
                        let exact = m0 * i128::from(x) + m1 * i128::from(y) + m2;
                        assert_eq!((position * power_of_2(32)) as i128, exact);
                        assert_eq!(exact as f64 * power_of_2(-32), position);
                    }
                    let (rx, ry) = map.at(x.into(), y.into());
                    let bar = 1e-9 * (1.0 + rx.abs().max(ry.abs())) + 1e-4 * f64::from(size.0.max(size.1)) * 1e-4;
                    assert!((sx - rx).abs() < bar && (sy - ry).abs() < bar, "{sx} {rx} {sy} {ry}");
                }
            }
        }
        let far = Map::Affine([1e9, 0.0, 0.0, 0.0, 1.0, 0.0]).on_grid((8, 8), (8, 8)).unwrap_err();
        assert!(far.contains("8000000000"), "{far}");
    }

    #[test]
    fn perspective_positions_are_those_of_integers() {
        let sizes = [(224, 224), (31, 400), (2000, 1500), (4090, 7), (60_000, 20)];
        for (width, height) in sizes {
            let (right, bottom) = (width as i32 - 1, height as i32 - 1);
            let start = [[0, 0], [right, 0], [right, bottom], [0, bottom]];
            let end = [
                [right / 5, bottom / 9],
                [right - 3, bottom / 4],
                [right - right / 6, bottom],
                [1, bottom - bottom / 3],
            ];
            let map = Map::perspective(start, end).unwrap();
            let on_grid = map.clone().on_grid((width, height), (width, height)).unwrap();
            let words = on_grid.words();
            let [shift, bits] = [words[20], words[21]];
            for i in 0..500_u32 {
                let (x, y) = (i * 7919 % width, i * 104_729 % height);
                let sum = |first: usize| {
                    let [m0, m1, m2] = [0, 1, 2].map(|k| wide(&words, first + k));
                    let sum = m0 * i128::from(2 * x + 1) + m1 * i128::from(2 * y + 1) + m2;
                    (sum + (1 << (shift - 1))) >> shift
                };
                let below = sum(6);
                assert!(below.abs() <= 1 << 23);
                let position = |above: i128| {
                    let (above, below) = if below < 0 { (-above, -below) } else { (above, below) };
                    ((2 * above + below) << bits).div_euclid(2 * below)
                };
                let (sx, sy) = on_grid.at(x.into(), y.into());
                for (actual, expected, side) in [(sx, position(sum(0)), width), (sy, position(sum(3)), height)] {
                    if (0..i128::from(side + 1) << bits).contains(&expected) {
                        assert_eq!((actual + 1.0) * power_of_2(bits as i32), expected as f64, "{width} {x} {y}");
                    } else {
                        assert!(!(-1.0..f64::from(side)).contains(&actual), "{width} {x} {y} {actual}");
                    }
                }
                let (rx, ry) = map.at(x.into(), y.into());
                let bar = 4e-7 * f64::from(width.max(height)).powf(1.3) + 2e-5;
                assert!((sx - rx).abs() < bar && (sy - ry).abs() < bar, "{width}: {sx} {rx} {sy} {ry}, {bar}");
            }
        }
    }

    /// Next to the horizon the rounding of a divisor moves positions by many pixels, so that corners bound none.
    #[test]
    fn a_region_has_the_pixels_of_positions_next_to_the_horizon() {
        let (width, height) = (7, 65_535);
        let start = [[0, 0], [6, 0], [6, 65_534], [0, 65_534]];
        let map = Map::perspective(start, [[54, -58], [77, -55], [2, -22], [-29, -70]]).unwrap();
        let map = map.on_grid((width, height), (width, height)).unwrap();
        let warp = Warp { map, size: (width, height), nearest: false, fill: None };
        let region = warp.read_region(Rect { left: 0, top: 0, width, height }, (width, height));
        let is_read = |at: f64, first: u32, len: u32, side: u32| {
            let mut taps = [at.floor(), at.ceil()].into_iter().filter(|tap| (0.0..f64::from(side)).contains(tap));
            taps.all(|tap| (first..first + len).contains(&(tap as u32)))
        };
        let mut shown = 0;
        for (x, y) in (0..width).flat_map(|x| (0..height).step_by(5).map(move |y| (x, y))) {
            let (sx, sy) = warp.map.at(x.into(), y.into());
            if sx > -1.0 && sx < f64::from(width) && sy > -1.0 && sy < f64::from(height) {
                assert!(is_read(sx, region.left, region.width, width), "{x} {y}: {sx}, {region:?}");
                assert!(is_read(sy, region.top, region.height, height), "{x} {y}: {sy}, {region:?}");
                shown += 1;
            }
        }
        assert!(shown > 0);
    }
}
