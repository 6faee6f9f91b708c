//! Images computed from formulas, above all those of the kind `procedural` in `tests/golden/README.md`: smooth waves
//! with noise, which reach black and white.

use crate::images::Source;

/// Returns the image whose value in column `x`, row `y`, channel `c` is `value(x, y, c)`.
pub fn build((width, height, channels): (u32, u32, u32), value: impl Fn(u32, u32, u32) -> u8 + Copy) -> Source {
    let row = move |y| (0..width).flat_map(move |x| (0..channels).map(move |c| value(x, y, c)));
    Source { width, height, channels, bytes: (0..height).flat_map(row).collect() }
}

/// Returns the value of the procedural image of `seed` in column `x`, row `y`, channel `c`.
pub fn value(seed: u32, x: u32, y: u32, c: u32) -> u8 {
    let channel = c as usize;
    let mut hash = x
        .wrapping_mul(0x9E37_79B1)
        .wrapping_add(y.wrapping_mul(0x85EB_CA77))
        .wrapping_add(c.wrapping_mul(0xC2B2_AE3D))
        .wrapping_add(seed.wrapping_mul(0x27D4_EB2F));
    hash ^= hash >> 15;
    hash = hash.wrapping_mul(0x2C1B_3C6D);
    hash ^= hash >> 12;
    hash = hash.wrapping_mul(0x297A_2D39);
    hash ^= hash >> 15;
    let phase = x
        .wrapping_mul([53, 31, 17][channel])
        .wrapping_add(y.wrapping_mul([19, 47, 71][channel]))
        .wrapping_add(c.wrapping_mul(1365))
        .wrapping_add(seed.wrapping_mul(977));
    let folded = (phase >> 4) & 511;
    let wave = if folded < 256 { folded } else { 511 - folded };
    (wave + (hash & 31)).saturating_sub(16).min(255) as u8
}
