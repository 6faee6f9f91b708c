//! The two transforms of 8 × 8 samples that libjpeg calls `islow`, in whole numbers: Loeffler, Ligtenberg and
//! Moschytz's flow graph with constants of 13 bits (`jfdctint.c` and `jidctint.c` of libjpeg-turbo).

/// Samples, or coefficients in rows of rising vertical frequency.
pub(super) type Block = [i64; 64];

/// The cosine products of the flow graph, times 2^13 (`FIX_0_298631336` and so on).
const C0_298: i64 = 2446;
const C0_390: i64 = 3196;
const C0_541: i64 = 4433;
const C0_765: i64 = 6270;
const C0_899: i64 = 7373;
const C1_175: i64 = 9633;
const C1_501: i64 = 12299;
const C1_847: i64 = 15137;
const C1_961: i64 = 16069;
const C2_053: i64 = 16819;
const C2_562: i64 = 20995;
const C3_072: i64 = 25172;

/// Divides by 2^bits, rounding half up (`DESCALE`).
fn descale(value: i64, bits: u32) -> i64 {
    (value + (1 << (bits - 1))) >> bits
}

/// Applies `pass` to the eight values that start at `start(i)` and lie `step` apart, for each i below 8.
fn each_line(block: &mut Block, start: impl Fn(usize) -> usize, step: usize, pass: impl Fn([i64; 8]) -> [i64; 8]) {
    for i in 0..8 {
        let result = pass(std::array::from_fn(|k| block[start(i) + k * step]));
        result.into_iter().enumerate().for_each(|(k, value)| block[start(i) + k * step] = value);
    }
}

/// Returns the coefficients of samples minus 128, eight times as large as the DCT's (`jpeg_fdct_islow`).
pub(super) fn forward(mut block: Block) -> Block {
    // The rows' results keep two bits of fraction; the columns' pass takes them away.
    each_line(&mut block, |y| 8 * y, 1, |line| forward_line(line, |even| even << 2, 11));
    each_line(&mut block, |x| x, 8, |line| forward_line(line, |even| descale(even, 2), 15));
    block
}

/// One dimension of `forward`. `plain` scales the two results without a constant, the others lose `bits` bits.
fn forward_line(line: [i64; 8], plain: impl Fn(i64) -> i64, bits: u32) -> [i64; 8] {
    let [t0, t1, t2, t3] = [0, 1, 2, 3].map(|k| line[k] + line[7 - k]);
    let [t7, t6, t5, t4] = [0, 1, 2, 3].map(|k| line[k] - line[7 - k]);
    let (t10, t13, t11, t12) = (t0 + t3, t0 - t3, t1 + t2, t1 - t2);
    let z1 = (t12 + t13) * C0_541;
    let (second, sixth) = (z1 + t13 * C0_765, z1 - t12 * C1_847);
    let z5 = (t4 + t6 + t5 + t7) * C1_175;
    let (z1, z2) = (-(t4 + t7) * C0_899, -(t5 + t6) * C2_562);
    let (z3, z4) = (-(t4 + t6) * C1_961 + z5, -(t5 + t7) * C0_390 + z5);
    let seventh = t4 * C0_298 + z1 + z3;
    let fifth = t5 * C2_053 + z2 + z4;
    let third = t6 * C3_072 + z2 + z3;
    let first = t7 * C1_501 + z1 + z4;
    let [first, second, third, fifth, sixth, seventh] =
        [first, second, third, fifth, sixth, seventh].map(|value| descale(value, bits));
    [plain(t10 + t11), first, second, third, plain(t10 - t11), fifth, sixth, seventh]
}

/// Returns the samples of coefficients: bytes, so clamped, with 128 added (`jpeg_idct_islow`).
pub(super) fn inverse(mut block: Block) -> Block {
    each_line(&mut block, |x| x, 8, |line| inverse_line(line, 11));
    each_line(&mut block, |y| 8 * y, 1, |line| inverse_line(line, 18));
    block.map(|value| (value + 128).clamp(0, 255))
}

/// One dimension of `inverse`; the results lose `bits` bits.
fn inverse_line(line: [i64; 8], bits: u32) -> [i64; 8] {
    let z1 = (line[2] + line[6]) * C0_541;
    let (t2, t3) = (z1 - line[6] * C1_847, z1 + line[2] * C0_765);
    let (t0, t1) = ((line[0] + line[4]) << 13, (line[0] - line[4]) << 13);
    let even = [t0 + t3, t1 + t2, t1 - t2, t0 - t3];
    let [t3, t2, t1, t0] = [line[1], line[3], line[5], line[7]];
    let z5 = (t0 + t2 + t1 + t3) * C1_175;
    let (z1, z2) = (-(t0 + t3) * C0_899, -(t1 + t2) * C2_562);
    let (z3, z4) = (-(t0 + t2) * C1_961 + z5, -(t1 + t3) * C0_390 + z5);
    let odd = [t3 * C1_501 + z1 + z4, t2 * C3_072 + z2 + z3, t1 * C2_053 + z2 + z4, t0 * C0_298 + z1 + z3];
    std::array::from_fn(|k| match k {
        0..4 => descale(even[k] + odd[k], bits),
        _ => descale(even[7 - k] - odd[7 - k], bits),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dice::Dice;

    /// The DCT by its definition (ITU T.81, A.3.3).
    fn by_definition(samples: &Block, v: usize, u: usize) -> f64 {
        let cosine = |x: usize, u: usize| ((2 * x + 1) as f64 * u as f64 * std::f64::consts::PI / 16.0).cos();
        let norm = |u: usize| if u == 0 { 0.5f64.sqrt() } else { 1.0 };
        let sum: f64 = (0..64).map(|i| samples[i] as f64 * cosine(i % 8, u) * cosine(i / 8, v)).sum();
        sum * norm(u) * norm(v) / 4.0
    }

    #[test]
    fn the_transforms_are_the_definitions_up_to_rounding() {
        let mut dice = Dice(7);
        for _ in 0..20 {
            let samples: Block = std::array::from_fn(|_| i64::from(dice.byte()) - 128);
            let coefficients = forward(samples);
            for (i, coefficient) in coefficients.iter().enumerate() {
                let exact = 8.0 * by_definition(&samples, i / 8, i % 8);
                assert!((*coefficient as f64 - exact).abs() < 3.0, "{i}: {coefficient} {exact}");
            }
            let restored = inverse(coefficients.map(|coefficient| descale(coefficient, 3)));
            let near = restored.iter().zip(samples).all(|(restored, sample)| (restored - sample - 128).abs() <= 2);
            assert!(near, "{restored:?} {samples:?}");
        }
    }
}
