//! The inverse DCT of one block, bit for bit libjpeg-turbo's on x86 (`islow`, and the reduced forms of scaled decoding).
//!
//! All sums are exact modulo 2³², so their order does not matter; what does is where values are cut to 16 bits. The first
//! pass ends in saturation, the sums of two coefficients wrap, and a block whose rows below the first are zero takes a
//! way of its own. Valid images never come near these limits, broken ones do, and then they equal libjpeg-turbo's too.

use multiversion::multiversion;

/// Samples on a block's side after the inverse DCT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum IdctSize {
    One = 1,
    Two = 2,
    Four = 4,
    Eight = 8,
}

impl IdctSize {
    /// 1, 2, 4 or 8.
    pub(super) fn samples(self) -> usize {
        self as usize
    }
}

/// Writes the samples of a block, `size` × `size` of them, rows `stride` apart, the first at `target[0]`.
///
/// `coefficients` are dequantised (16-bit wrapping products), row by row; `last` is the zigzag index of the last one that is
/// not zero.
#[multiversion(targets("x86_64+avx2"))]
pub(super) fn idct(size: IdctSize, coefficients: &[i16; 64], last: usize, target: &mut [u8], stride: usize) {
    match size {
        IdctSize::Eight => eight(coefficients, last, target, stride),
        IdctSize::Four => four(coefficients, target, stride),
        IdctSize::Two => two(coefficients, target, stride),
        IdctSize::One => target[0] = one(coefficients[0]),
    }
}

/// Fractional bits of the constants.
const CONSTANT_BITS: u32 = 13;
/// Fractional bits that the first pass leaves.
const FIRST_BITS: u32 = 2;

type Rows = [[i16; 8]; 8];

#[inline(always)]
pub(super) fn eight(coefficients: &[i16; 64], last: usize, target: &mut [u8], stride: usize) {
    let target = &mut target[..7 * stride + 8];
    if last == 0 {
        let sample = flat(coefficients[0]);
        for row in 0..8 {
            target[row * stride..row * stride + 8].fill(sample);
        }
        return;
    }
    let (rows, _) = coefficients.as_chunks::<8>();
    let mut block: Rows = [[0; 8]; 8];
    block.copy_from_slice(rows);
    let columns = if only_first_row(&block) {
        block[0].map(|value| [value << FIRST_BITS; 8])
    } else {
        transposed(&pass::<{ CONSTANT_BITS - FIRST_BITS }>(&block))
    };
    let samples = transposed(&pass::<{ CONSTANT_BITS + FIRST_BITS + 3 }>(&columns));
    for (row, samples) in samples.iter().enumerate() {
        target[row * stride..row * stride + 8].copy_from_slice(&samples.map(sample));
    }
}

#[inline(always)]
fn only_first_row(block: &Rows) -> bool {
    let mut any = [0; 8];
    for row in &block[1..] {
        for lane in 0..8 {
            any[lane] |= row[lane];
        }
    }
    any == [0; 8]
}

/// The sample of a block that has a DC coefficient alone.
#[inline(always)]
fn flat(dc: i16) -> u8 {
    let value = i32::from(dc << FIRST_BITS);
    sample(((value + (1 << (FIRST_BITS + 2))) >> (FIRST_BITS + 3)) as i16)
}

/// Saturated and shifted from around 0 to around 128.
#[inline(always)]
fn sample(value: i16) -> u8 {
    (value.clamp(-128, 127) + 128) as u8
}

#[inline(always)]
fn saturated(value: i32) -> i16 {
    value.clamp(i32::from(i16::MIN), i32::from(i16::MAX)) as i16
}

#[inline(always)]
fn transposed(rows: &Rows) -> Rows {
    let mut columns = [[0; 8]; 8];
    for (i, row) in rows.iter().enumerate() {
        for (column, value) in columns.iter_mut().zip(row) {
            column[i] = *value;
        }
    }
    columns
}

/// A one-dimensional inverse DCT down each of the eight columns; the results lose `SHIFT` bits, rounded.
///
/// The constants are cosines times 2¹³ in Loeffler, Ligtenberg and Moschytz's flow graph with 11 multiplications, some of
/// them added up beforehand.
#[inline(always)]
fn pass<const SHIFT: u32>(x: &Rows) -> Rows {
    let mut out = [[0; 8]; 8];
    for i in 0..8 {
        let wide = |row: usize| i32::from(x[row][i]);
        let (two, six) = (wide(2), wide(6));
        let z1 = (two + six) * 4433;
        let (even2, even3) = (z1 - six * 15137, z1 + two * 6270);
        let even0 = i32::from(x[0][i].wrapping_add(x[4][i])) << CONSTANT_BITS;
        let even1 = i32::from(x[0][i].wrapping_sub(x[4][i])) << CONSTANT_BITS;
        let even = [
            even0.wrapping_add(even3),
            even1.wrapping_add(even2),
            even1.wrapping_sub(even2),
            even0.wrapping_sub(even3),
        ];

        let (one, three, five, seven) = (wide(1), wide(3), wide(5), wide(7));
        let z3 = i32::from(x[7][i].wrapping_add(x[3][i]));
        let z4 = i32::from(x[5][i].wrapping_add(x[1][i]));
        let z5 = (z3 + z4) * 9633;
        let z3 = z5.wrapping_sub(z3 * 16069);
        let z4 = z5.wrapping_sub(z4 * 3196);
        let z1 = (seven + one) * 7373;
        let z2 = (five + three) * 20995;
        let odd = [
            (one * 12299).wrapping_sub(z1).wrapping_add(z4),
            (three * 25172).wrapping_sub(z2).wrapping_add(z3),
            (five * 16819).wrapping_sub(z2).wrapping_add(z4),
            (seven * 2446).wrapping_sub(z1).wrapping_add(z3),
        ];
        for k in 0..4 {
            let half = 1 << (SHIFT - 1);
            out[k][i] = saturated(even[k].wrapping_add(odd[k]).wrapping_add(half) >> SHIFT);
            out[7 - k][i] = saturated(even[k].wrapping_sub(odd[k]).wrapping_add(half) >> SHIFT);
        }
    }
    out
}

/// Half size: the fourth row and column of coefficients are not used.
#[inline(always)]
fn four(coefficients: &[i16; 64], target: &mut [u8], stride: usize) {
    let (rows, _) = coefficients.as_chunks::<8>();
    let unused_or_zero = |row: usize| row == 4 || rows[row] == [0; 8];
    let mut columns = [[0; 4]; 8];
    for (i, column) in columns.iter_mut().enumerate() {
        *column = if (1..8).all(unused_or_zero) {
            [rows[0][i] << FIRST_BITS; 4]
        } else {
            four_of::<{ CONSTANT_BITS - FIRST_BITS + 1 }>(|row| rows[row][i])
        };
    }
    for row in 0..4 {
        let samples = four_of::<{ CONSTANT_BITS + FIRST_BITS + 4 }>(|column| columns[column][row]);
        target[row * stride..row * stride + 4].copy_from_slice(&samples.map(sample));
    }
}

#[inline(always)]
fn four_of<const SHIFT: u32>(x: impl Fn(usize) -> i16) -> [i16; 4] {
    let wide = |index| i32::from(x(index));
    let turned = wide(2) * 15137 - wide(6) * 6270;
    let even0 = (wide(0) << (CONSTANT_BITS + 1)).wrapping_add(turned);
    let even1 = (wide(0) << (CONSTANT_BITS + 1)).wrapping_sub(turned);
    let odd0 = (wide(1) * 20995 + wide(3) * 7373).wrapping_sub(wide(5) * 4926 + wide(7) * 4176);
    let odd1 = (wide(1) * 8697 - wide(3) * 17799).wrapping_add(wide(5) * 11893 - wide(7) * 1730);
    let half = 1 << (SHIFT - 1);
    [even0.wrapping_add(odd0), even1.wrapping_add(odd1), even1.wrapping_sub(odd1), even0.wrapping_sub(odd0)]
        .map(|sum| saturated(sum.wrapping_add(half) >> SHIFT))
}

/// Quarter size: the first and the odd rows and columns are used.
#[inline(always)]
fn two(coefficients: &[i16; 64], target: &mut [u8], stride: usize) {
    let (rows, _) = coefficients.as_chunks::<8>();
    let mut columns = [[0; 2]; 8];
    for i in [0, 1, 3, 5, 7] {
        let first = i32::from(rows[0][i]) << (CONSTANT_BITS + 2);
        columns[i] = two_of::<{ CONSTANT_BITS - FIRST_BITS + 2 }>(first, |row| i32::from(rows[row][i]));
    }
    for row in 0..2 {
        let first = columns[0][row] << (CONSTANT_BITS + 2);
        let odd = |column: usize| i32::from(saturated(columns[column][row]));
        let samples = two_of::<{ CONSTANT_BITS + FIRST_BITS + 5 }>(first, odd);
        target[row * stride..row * stride + 2].copy_from_slice(&samples.map(|value| sample(saturated(value))));
    }
}

#[inline(always)]
fn two_of<const SHIFT: u32>(first: i32, x: impl Fn(usize) -> i32) -> [i32; 2] {
    let odd = (x(1) * 29692 - x(3) * 10426).wrapping_add(x(5) * 6967 - x(7) * 5906);
    let half = 1 << (SHIFT - 1);
    [first.wrapping_add(odd), first.wrapping_sub(odd)].map(|sum| sum.wrapping_add(half) >> SHIFT)
}

/// An eighth: the DC coefficient alone, its eighth rounded. libjpeg looks the sample up by the low ten bits.
#[inline(always)]
fn one(dc: i16) -> u8 {
    let value = (i32::from(dc) + 4) >> 3;
    let wrapped = (value << 22) >> 22; // the low ten bits, signed
    (wrapped.clamp(-128, 127) + 128) as u8
}
