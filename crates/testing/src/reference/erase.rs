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
        Erased::Noise { key } => {
            let counter = [(x - columns.start) as u64, (y - rows.start) as u64, 0, 0];
            let k = philox(counter, key.map(u64::from))[c] >> 9;
            quantile((k as f64 + 0.5) / f64::from(1 << 23))
        }
    })
}

/// Philox4x32-10 (Salmon, Moraes, Dror and Shaw, SC 2011, section 4.3): each round multiplies the even words, swaps,
/// and mixes in the key.
fn philox(counter: [u64; 4], key: [u64; 2]) -> [u64; 4] {
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
