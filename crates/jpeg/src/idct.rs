//! The inverse DCT of one block, bit for bit libjpeg-turbo's on x86 (`islow`, and the reduced forms of scaled decoding).
//!
//! All sums are exact modulo 2³², so their order does not matter; what does is where values are cut to 16 bits. The first
//! pass ends in saturation, the sums of two coefficients wrap, and a block whose rows below the first are zero takes a
//! way of its own. Valid images never come near these limits, broken ones do, and then they equal libjpeg-turbo's too.

/// Samples on a block's side after the inverse DCT.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IdctSize {
    One = 1,
    Two = 2,
    Four = 4,
    #[default]
    Eight = 8,
}

impl IdctSize {
    /// 1, 2, 4 or 8.
    pub fn samples(self) -> usize {
        self as usize
    }
}

/// Writes the samples of a block, `size` × `size` of them, rows `stride` apart, the first at `target[0]`.
///
/// `coefficients` are dequantised (16-bit wrapping products), row by row; `last` is the zigzag index of the last one that is
/// not zero. With blocks of 8, `stride` is a multiple of 8.
///
/// It takes the vectors of the function that it becomes a part of.
#[inline(always)]
pub fn sized(size: IdctSize, coefficients: &[i16; 64], last: usize, target: &mut [u8], stride: usize) {
    match size {
        IdctSize::Eight => eight(coefficients, last, target, stride),
        IdctSize::Four => four(coefficients, last, target, stride),
        IdctSize::Two => two(coefficients, target, stride),
        IdctSize::One => target[0] = one(coefficients[0]),
    }
}

/// Fractional bits of the constants.
const CONSTANT_BITS: u32 = 13;
/// Fractional bits that the first pass leaves.
const FIRST_BITS: u32 = 2;

#[inline(always)]
pub fn eight(coefficients: &[i16; 64], last: usize, target: &mut [u8], stride: usize) {
    let rows = if last == 0 {
        [[flat(coefficients[0]); 8]; 8]
    } else if FIRST_ROW >> last & 1 == 1 && coefficients[8..].iter().all(|value| *value == 0) {
        // libjpeg-turbo multiplies by four here, and wraps where the full way saturates.
        let (first, _) = coefficients.as_chunks::<8>();
        rows(&first[0].map(|value| [pair(value << FIRST_BITS, value << FIRST_BITS); 4]))
    } else {
        rows(&columns(coefficients))
    };
    // In steps of a block's width, one comparison a row keeps the bounds.
    let (target, _) = target.as_chunks_mut::<8>();
    for (i, row) in rows.into_iter().enumerate() {
        target[i * (stride / 8)] = row;
    }
}

/// The first pass, down each column. A column's eight values are packed in four words.
///
/// One loop over eight lanes, which the compiler turns into vectors: its last step, the transposition, too.
#[inline(always)]
fn columns(coefficients: &[i16; 64]) -> [[u32; 4]; 8] {
    let (x, _) = coefficients.as_chunks::<8>();
    let mut columns = [[0; 4]; 8];
    for i in 0..8 {
        let y = butterfly::<{ CONSTANT_BITS - FIRST_BITS }>(std::array::from_fn(|row| x[row][i]));
        for (k, pairs) in columns[i].iter_mut().enumerate() {
            *pairs = pair(saturated(y[2 * k]), saturated(y[2 * k + 1]));
        }
    }
    columns
}

/// The zigzag indices of the first row, as bits.
const FIRST_ROW: u64 = 1 | 1 << 1 | 1 << 5 | 1 << 6 | 1 << 14 | 1 << 15 | 1 << 27 | 1 << 28;

/// The second pass, along each row.
#[inline(always)]
fn rows(columns: &[[u32; 4]; 8]) -> [[u8; 8]; 8] {
    let mut x = [[0; 8]; 8];
    for (x, pairs) in x.iter_mut().zip(columns) {
        for (k, pair) in pairs.iter().enumerate() {
            (x[2 * k], x[2 * k + 1]) = (*pair as i16, (*pair >> 16) as i16);
        }
    }
    let mut rows = [[0; 2]; 8];
    for i in 0..8 {
        let y = butterfly::<{ CONSTANT_BITS + FIRST_BITS + 3 }>(std::array::from_fn(|column| x[column][i]));
        for (k, half) in rows[i].iter_mut().enumerate() {
            *half = joined([y[4 * k], y[4 * k + 1], y[4 * k + 2], y[4 * k + 3]]);
        }
    }
    rows.map(|[left, right]| (u64::from(left) | u64::from(right) << 32).to_le_bytes())
}

/// Four samples, the first in the lowest byte, saturated and shifted from around 0 to around 128.
///
/// Signed bytes add up where unsigned ones would be joined; 128 each, added at once, makes all carries right.
#[inline(always)]
fn joined(values: [i32; 4]) -> u32 {
    let byte = |i: usize| (values[i].clamp(-128, 127) as u32) << (8 * i);
    byte(0).wrapping_add(byte(1)).wrapping_add(byte(2)).wrapping_add(byte(3)).wrapping_add(0x8080_8080)
}

#[inline(always)]
fn pair(low: i16, high: i16) -> u32 {
    u32::from(low as u16) | u32::from(high as u16) << 16
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

/// A one-dimensional inverse DCT; the results lose `SHIFT` bits, rounded.
///
/// The constants are cosines times 2¹³ from Loeffler, Ligtenberg and Moschytz's flow graph, added up so that every factor
/// fits 16 bits: vector units multiply those several times as fast, which the graph's fewer products do not make up for.
#[inline(always)]
fn butterfly<const SHIFT: u32>(x: [i16; 8]) -> [i32; 8] {
    let wide = x.map(i32::from);
    let half = 1 << (SHIFT - 1);
    let (even2, even3) = (wide[2] * 4433 - wide[6] * 10704, wide[2] * 10703 + wide[6] * 4433);
    let even0 = (i32::from(x[0].wrapping_add(x[4])) << CONSTANT_BITS) + half;
    let even1 = (i32::from(x[0].wrapping_sub(x[4])) << CONSTANT_BITS) + half;
    let even = [even0 + even3, even1 + even2, even1 - even2, even0 - even3];

    let z3 = i32::from(x[7].wrapping_add(x[3]));
    let z4 = i32::from(x[5].wrapping_add(x[1]));
    let (z3, z4) = (z4 * 9633 - z3 * 6436, z3 * 9633 + z4 * 6437);
    let odd = [
        (wide[1] * 4926 - wide[7] * 7373).wrapping_add(z4),
        (wide[3] * 4177 - wide[5] * 20995).wrapping_add(z3),
        z4.wrapping_sub(wide[5] * 4176 + wide[3] * 20995),
        z3.wrapping_sub(wide[7] * 4927 + wide[1] * 7373),
    ];
    std::array::from_fn(|k| {
        let sum = if k < 4 { even[k].wrapping_add(odd[k]) } else { even[7 - k].wrapping_sub(odd[7 - k]) };
        sum >> SHIFT
    })
}

/// Half size: the fourth row and column of coefficients are not used.
#[inline(always)]
fn four(coefficients: &[i16; 64], last: usize, target: &mut [u8], stride: usize) {
    let (x, _) = coefficients.as_chunks::<8>();
    let mut columns = [[0; 2]; 8];
    // The fourth row may hold something in the way that multiplies by four: it is not looked at.
    if last == 0 || [1, 2, 3, 5, 6, 7].iter().all(|row| x[*row] == [0; 8]) {
        columns = x[0].map(|value| [pair(value << FIRST_BITS, value << FIRST_BITS); 2]);
    } else {
        for i in 0..8 {
            let y = four_of::<{ CONSTANT_BITS - FIRST_BITS + 1 }>(std::array::from_fn(|row| x[row][i]));
            columns[i] = [pair(saturated(y[0]), saturated(y[1])), pair(saturated(y[2]), saturated(y[3]))];
        }
    }
    // Four lanes would do; with eight the compiler sees a loop worth vectors.
    let mut x = [[0; 8]; 8];
    for (x, pairs) in x.iter_mut().zip(columns) {
        for (k, pair) in pairs.iter().enumerate() {
            (x[2 * k], x[2 * k + 1]) = (*pair as i16, (*pair >> 16) as i16);
        }
    }
    let mut rows = [0; 8];
    for i in 0..8 {
        let y = four_of::<{ CONSTANT_BITS + FIRST_BITS + 4 }>(std::array::from_fn(|column| x[column][i]));
        rows[i] = joined(y);
    }
    for (i, row) in rows.into_iter().take(4).enumerate() {
        target[i * stride..][..4].copy_from_slice(&row.to_le_bytes());
    }
}

#[inline(always)]
fn four_of<const SHIFT: u32>(x: [i16; 8]) -> [i32; 4] {
    let wide = x.map(i32::from);
    let half = 1 << (SHIFT - 1);
    let turned = wide[2] * 15137 - wide[6] * 6270;
    let even = (wide[0] << (CONSTANT_BITS + 1)) + half;
    let (even0, even1) = (even.wrapping_add(turned), even.wrapping_sub(turned));
    let odd0 = (wide[1] * 20995 + wide[3] * 7373).wrapping_sub(wide[5] * 4926 + wide[7] * 4176);
    let odd1 = (wide[1] * 8697 - wide[3] * 17799).wrapping_add(wide[5] * 11893 - wide[7] * 1730);
    [
        even0.wrapping_add(odd0) >> SHIFT,
        even1.wrapping_add(odd1) >> SHIFT,
        even1.wrapping_sub(odd1) >> SHIFT,
        even0.wrapping_sub(odd0) >> SHIFT,
    ]
}

/// Quarter size: the first and the odd rows and columns are used.
#[inline(always)]
fn two(coefficients: &[i16; 64], target: &mut [u8], stride: usize) {
    let (x, _) = coefficients.as_chunks::<8>();
    let mut columns = [[0; 2]; 8];
    for i in [0, 1, 3, 5, 7] {
        let first = i32::from(x[0][i]) << (CONSTANT_BITS + 2);
        columns[i] = two_of::<{ CONSTANT_BITS - FIRST_BITS + 2 }>(first, |row| i32::from(x[row][i]));
    }
    for row in 0..2 {
        // Of these, only the odd columns are cut to 16 bits.
        let first = columns[0][row] << (CONSTANT_BITS + 2);
        let odd = |column: usize| i32::from(saturated(columns[column][row]));
        let samples = two_of::<{ CONSTANT_BITS + FIRST_BITS + 5 }>(first, odd);
        target[row * stride..][..2].copy_from_slice(&samples.map(|value| sample(saturated(value))));
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
