//! The inverse DCT of one block, bit for bit equal to libjpeg-turbo's on x86 (`islow` and its reduced sizes).
//!
//! All sums are exact modulo 2³², so their order does not matter. The places where values are cut to 16 bits do matter:
//! the first pass saturates its results, the sum of two coefficients wraps, and blocks with coefficients in the first
//! row only have a special case that wraps. Valid images stay far below these limits. Damaged images reach them, and
//! their pixels equal libjpeg-turbo's, too.

/// The number of samples on the side of a block after the inverse DCT.
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

/// Writes the `size` × `size` samples of a block to `target`, in rows `stride` apart.
///
/// `coefficients` are dequantized (products wrapped to 16 bits) and in natural order; `last` is the zigzag index of the
/// last one that is not zero. For 8 × 8 samples `stride` is a multiple of 8.
///
/// The function is always inlined, so that it is compiled with the target features of its caller.
#[inline(always)]
pub fn idct_scaled(size: IdctSize, coefficients: &[i16; 64], last: usize, target: &mut [u8], stride: usize) {
    match size {
        IdctSize::Eight => idct_8x8(coefficients, last, target, stride),
        IdctSize::Four => idct_4x4(coefficients, last, target, stride),
        IdctSize::Two => idct_2x2(coefficients, target, stride),
        IdctSize::One => target[0] = idct_1x1(coefficients[0]),
    }
}

/// Fractional bits of the constants (libjpeg's name).
const CONST_BITS: u32 = 13;
/// Fractional bits of the first pass's results (libjpeg's name).
const PASS1_BITS: u32 = 2;

/// Writes the 8 × 8 samples of a block. The parameters are those of [`idct_scaled`].
#[inline(always)]
pub fn idct_8x8(coefficients: &[i16; 64], last: usize, target: &mut [u8], stride: usize) {
    let rows = if last == 0 {
        [[dc_only(coefficients[0]); 8]; 8]
    } else if FIRST_ROW_INDICES >> last & 1 == 1 && coefficients[8..].iter().all(|value| *value == 0) {
        // libjpeg-turbo multiplies by four here and wraps; its general case saturates.
        let (first, _) = coefficients.as_chunks::<8>();
        row_pass(&first[0].map(|value| [pack_pair(value << PASS1_BITS, value << PASS1_BITS); 4]))
    } else {
        row_pass(&column_pass(coefficients))
    };
    // Chunks of a block's width need one bounds check per row.
    let (target, _) = target.as_chunks_mut::<8>();
    for (i, row) in rows.into_iter().enumerate() {
        target[i * (stride / 8)] = row;
    }
}

/// The first pass: a one-dimensional inverse DCT of each column. It packs a column's eight values into four words.
///
/// The compiler makes vectors of eight of this single loop, including the transposition in its last step.
#[inline(always)]
fn column_pass(coefficients: &[i16; 64]) -> [[u32; 4]; 8] {
    let (x, _) = coefficients.as_chunks::<8>();
    let mut columns = [[0; 4]; 8];
    for i in 0..8 {
        let y = idct_1d_8::<{ CONST_BITS - PASS1_BITS }>(std::array::from_fn(|row| x[row][i]));
        for (k, pairs) in columns[i].iter_mut().enumerate() {
            *pairs = pack_pair(saturate(y[2 * k]), saturate(y[2 * k + 1]));
        }
    }
    columns
}

/// A bit set of the zigzag indices of the first row.
const FIRST_ROW_INDICES: u64 = 1 | 1 << 1 | 1 << 5 | 1 << 6 | 1 << 14 | 1 << 15 | 1 << 27 | 1 << 28;

/// The second pass: a one-dimensional inverse DCT of each row.
#[inline(always)]
fn row_pass(columns: &[[u32; 4]; 8]) -> [[u8; 8]; 8] {
    let mut x = [[0; 8]; 8];
    for (x, pairs) in x.iter_mut().zip(columns) {
        for (k, pair) in pairs.iter().enumerate() {
            (x[2 * k], x[2 * k + 1]) = (*pair as i16, (*pair >> 16) as i16);
        }
    }
    let mut rows = [[0; 2]; 8];
    for i in 0..8 {
        let y = idct_1d_8::<{ CONST_BITS + PASS1_BITS + 3 }>(std::array::from_fn(|column| x[column][i]));
        for (k, half) in rows[i].iter_mut().enumerate() {
            *half = pack_samples([y[4 * k], y[4 * k + 1], y[4 * k + 2], y[4 * k + 3]]);
        }
    }
    rows.map(|[left, right]| (u64::from(left) | u64::from(right) << 32).to_le_bytes())
}

/// Clamps four values to -128..=127, adds 128 and packs the samples into a word, the first into the lowest byte.
///
/// Signed values are summed and 128 is added to all four at once: this corrects the borrows between the bytes.
#[inline(always)]
fn pack_samples(values: [i32; 4]) -> u32 {
    let byte = |i: usize| (values[i].clamp(-128, 127) as u32) << (8 * i);
    byte(0).wrapping_add(byte(1)).wrapping_add(byte(2)).wrapping_add(byte(3)).wrapping_add(0x8080_8080)
}

#[inline(always)]
fn pack_pair(low: i16, high: i16) -> u32 {
    u32::from(low as u16) | u32::from(high as u16) << 16
}

/// The sample value of a block without AC coefficients.
#[inline(always)]
fn dc_only(dc: i16) -> u8 {
    let value = i32::from(dc << PASS1_BITS);
    range_limit(((value + (1 << (PASS1_BITS + 2))) >> (PASS1_BITS + 3)) as i16)
}

/// Clamps a value to -128..=127 and adds 128.
#[inline(always)]
fn range_limit(value: i16) -> u8 {
    (value.clamp(-128, 127) + 128) as u8
}

#[inline(always)]
fn saturate(value: i32) -> i16 {
    value.clamp(i32::from(i16::MIN), i32::from(i16::MAX)) as i16
}

/// A one-dimensional inverse DCT of eight values. The results are shifted right by `SHIFT` bits and rounded.
///
/// The constants are cosines times 2¹³ from Loeffler, Ligtenberg and Moschytz's flow graph. Sums of constants are
/// multiplied out so that both factors of every product fit into 16 bits: vector units compute such products several
/// times as fast, which outweighs the larger number of products.
#[inline(always)]
fn idct_1d_8<const SHIFT: u32>(x: [i16; 8]) -> [i32; 8] {
    let wide = x.map(i32::from);
    let half = 1 << (SHIFT - 1);
    let (even2, even3) = (wide[2] * 4433 - wide[6] * 10704, wide[2] * 10703 + wide[6] * 4433);
    let even0 = (i32::from(x[0].wrapping_add(x[4])) << CONST_BITS) + half;
    let even1 = (i32::from(x[0].wrapping_sub(x[4])) << CONST_BITS) + half;
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

/// Half size. Row and column 4 of the coefficients are not used.
#[inline(always)]
fn idct_4x4(coefficients: &[i16; 64], last: usize, target: &mut [u8], stride: usize) {
    let (x, _) = coefficients.as_chunks::<8>();
    let mut columns = [[0; 2]; 8];
    // The special case that multiplies by four ignores row 4, as libjpeg-turbo's does.
    if last == 0 || [1, 2, 3, 5, 6, 7].iter().all(|row| x[*row] == [0; 8]) {
        columns = x[0].map(|value| [pack_pair(value << PASS1_BITS, value << PASS1_BITS); 2]);
    } else {
        for i in 0..8 {
            let y = idct_1d_4::<{ CONST_BITS - PASS1_BITS + 1 }>(std::array::from_fn(|row| x[row][i]));
            columns[i] = [pack_pair(saturate(y[0]), saturate(y[1])), pack_pair(saturate(y[2]), saturate(y[3]))];
        }
    }
    // The compiler makes vectors of eight of the loop; four would be enough.
    let mut x = [[0; 8]; 8];
    for (x, pairs) in x.iter_mut().zip(columns) {
        for (k, pair) in pairs.iter().enumerate() {
            (x[2 * k], x[2 * k + 1]) = (*pair as i16, (*pair >> 16) as i16);
        }
    }
    let mut rows = [0; 8];
    for i in 0..8 {
        let y = idct_1d_4::<{ CONST_BITS + PASS1_BITS + 4 }>(std::array::from_fn(|column| x[column][i]));
        rows[i] = pack_samples(y);
    }
    for (i, row) in rows.into_iter().take(4).enumerate() {
        target[i * stride..][..4].copy_from_slice(&row.to_le_bytes());
    }
}

#[inline(always)]
fn idct_1d_4<const SHIFT: u32>(x: [i16; 8]) -> [i32; 4] {
    let wide = x.map(i32::from);
    let half = 1 << (SHIFT - 1);
    let turned = wide[2] * 15137 - wide[6] * 6270;
    let even = (wide[0] << (CONST_BITS + 1)) + half;
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

/// Quarter size. Row and column 0 and the odd ones of the coefficients are used.
#[inline(always)]
fn idct_2x2(coefficients: &[i16; 64], target: &mut [u8], stride: usize) {
    let (x, _) = coefficients.as_chunks::<8>();
    let mut columns = [[0; 2]; 8];
    for i in [0, 1, 3, 5, 7] {
        let first = i32::from(x[0][i]) << (CONST_BITS + 2);
        columns[i] = idct_1d_2::<{ CONST_BITS - PASS1_BITS + 2 }>(first, |row| i32::from(x[row][i]));
    }
    for row in 0..2 {
        // libjpeg-turbo saturates the odd columns only.
        let first = columns[0][row] << (CONST_BITS + 2);
        let odd = |column: usize| i32::from(saturate(columns[column][row]));
        let samples = idct_1d_2::<{ CONST_BITS + PASS1_BITS + 5 }>(first, odd);
        target[row * stride..][..2].copy_from_slice(&samples.map(|value| range_limit(saturate(value))));
    }
}

#[inline(always)]
fn idct_1d_2<const SHIFT: u32>(first: i32, x: impl Fn(usize) -> i32) -> [i32; 2] {
    let odd = (x(1) * 29692 - x(3) * 10426).wrapping_add(x(5) * 6967 - x(7) * 5906);
    let half = 1 << (SHIFT - 1);
    [first.wrapping_add(odd), first.wrapping_sub(odd)].map(|sum| sum.wrapping_add(half) >> SHIFT)
}

/// An eighth of the size: the DC coefficient divided by 8 and rounded. libjpeg uses the low ten bits of the result as
/// the index into its range-limit table.
#[inline(always)]
fn idct_1x1(dc: i16) -> u8 {
    let value = (i32::from(dc) + 4) >> 3;
    let wrapped = (value << 22) >> 22; // the low ten bits, signed
    (wrapped.clamp(-128, 127) + 128) as u8
}
