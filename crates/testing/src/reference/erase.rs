//! Reference of erasing, with a number per channel or with noise. The noise follows the definitions: Philox4x32-10 in
//! 64-bit numbers, and the normal quantile by bisection with the error function.

use super::Image;
use gpufeed::transforms::Erased;

/// Replaces the values in a rectangle, which is given as `top`, `left`, `height`, `width`.
pub(super) fn erase(image: &Image, [top, left, height, width]: [u32; 4], value: Erased) -> Image {
    let (rows, columns) = (top as usize..(top + height) as usize, left as usize..(left + width) as usize);
    Image::build(image.shape(), |c, y, x| match value {
        _ if !rows.contains(&y) || !columns.contains(&x) => image.at(c, y, x),
        Erased::Color(color) => color[c].into(),
        Erased::Noise { key } => normal(key, c, y - rows.start, x - columns.start),
    })
}

/// The standard normal number of channel `c` at row `y`, column `x`.
fn normal(key: [u32; 2], c: usize, y: usize, x: usize) -> f64 {
    let k = philox([x as u64, y as u64, 0, 0], key.map(u64::from))[c] >> 9;
    quantile((k as f64 + 0.5) / f64::from(1 << 23))
}

/// The standard normal numbers of an image of channels, rows and columns, plane by plane.
pub fn normals(key: [u32; 2], shape: (usize, usize, usize)) -> Vec<f64> {
    Image::build(shape, |c, y, x| normal(key, c, y, x)).planes
}

/// Philox4x32-10 (Salmon, Moraes, Dror and Shaw, SC 2011, section 4.3): each round multiplies the even words, swaps,
/// and mixes in the key.
pub(super) fn philox(counter: [u64; 4], key: [u64; 2]) -> [u64; 4] {
    const WORD: u64 = 1 << 32;
    (0..10).fold(counter, |[a, b, c, d], round| {
        let bumped = |key: u64, constant: u64| (key + round * constant) % WORD;
        let (first, second) = (0xD2511F53 * a, 0xCD9E8D57 * c);
        let high = (second / WORD) ^ b ^ bumped(key[0], 0x9E3779B9);
        let other = (first / WORD) ^ d ^ bumped(key[1], 0xBB67AE85);
        [high, second % WORD, other, first % WORD]
    })
}

/// Returns the number below which a standard normal variable lies with probability `p`.
fn quantile(p: f64) -> f64 {
    if p > 0.5 {
        return -quantile(1.0 - p);
    }
    let (mut low, mut high) = (-6.0, 0.0);
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        let below = 0.5 * libm::erfc(-middle / std::f64::consts::SQRT_2);
        if below < p { low = middle } else { high = middle }
    }
    (low + high) / 2.0
}
