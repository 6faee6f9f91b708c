//! What a JPEG makes of an image: libjpeg-turbo's encoder without entropy coding, which loses nothing, and the decoder of
//! `crates/jpeg`. Colours are halved along both sides (4:2:0).
//!
//! A gray image gets the pixels of a gray JPEG: its colour planes are 128, which every table leaves as they are.

use super::Part;
use crate::allocate::{AUGMENTING, product, reserve_like};
use crate::error::Result;
use crate::geometry::Rect;
use gpufeed_jpeg::idct::{IdctSize, idct_8x8};
use gpufeed_jpeg::internals::{ColorTransform, ComponentLayout, Upsampling};
use gpufeed_jpeg::upsample::{Plane, RowBuffers, planes_to_rgba};
use multiversion::multiversion;

/// The planes of the blocks that an image shows.
#[derive(Debug, Default)]
pub(super) struct JpegScratch {
    planes: [Vec<u8>; 3],
    /// Two rows of each of the two colour planes, before they are halved.
    rows: [Vec<u8>; 4],
    upsampled: RowBuffers,
}

impl JpegScratch {
    pub(super) fn reserve_like(&mut self, other: &JpegScratch) {
        let pairs = self.planes.iter_mut().zip(&other.planes).chain(self.rows.iter_mut().zip(&other.rows));
        pairs.for_each(|(vec, other)| reserve_like(vec, other));
        // An image that finds no room here fails by itself later, with a reason.
        let _ = self.upsampled.try_reserve(other.upsampled.columns());
    }

    /// Allocated bytes.
    pub(super) fn bytes(&self) -> usize {
        let vecs: usize = self.planes.iter().chain(&self.rows).map(Vec::capacity).sum();
        // Three rows of bytes, and one of sums.
        vecs + 5 * self.upsampled.columns()
    }
}

/// Writes `window` of the image of `size`, of which `part` has whole blocks of 16 x 16 pixels, up to the edges.
pub(super) fn run(
    quality: u32,
    part: Part<'_, u8>,
    (width, height): (u32, u32),
    window: Rect,
    scratch: &mut JpegScratch,
    out: &mut Vec<[u8; 4]>,
) -> Result<()> {
    let Rect { left, top, width: columns, height: rows } = part.rect;
    let (columns, rows) = (columns as usize, rows as usize);
    let (stride, padded) = (columns.next_multiple_of(16), rows.next_multiple_of(16));
    let JpegScratch { planes, rows: row_buffers, upsampled } = scratch;
    let [luma, blue, red] = planes;
    AUGMENTING.resize(luma, product(stride, padded), 0)?;
    [&mut *blue, &mut *red].into_iter().try_for_each(|plane| AUGMENTING.resize(plane, stride * padded / 4, 0))?;
    row_buffers.iter_mut().try_for_each(|row| AUGMENTING.resize(row, stride, 0))?;
    let half = stride / 2;
    for y in (0..rows).step_by(2) {
        let [blue_0, red_0, blue_1, red_1] = &mut *row_buffers;
        let row = |y: usize| &part.pixels[y.min(rows - 1) * columns..][..columns];
        let (luma_0, luma_1) = luma[y * stride..][..2 * stride].split_at_mut(stride);
        convert(row(y), [luma_0, blue_0, red_0]);
        convert(row(y + 1), [luma_1, blue_1, red_1]);
        halve([blue_0, blue_1], &mut blue[y / 2 * half..][..half]);
        halve([red_0, red_1], &mut red[y / 2 * half..][..half]);
    }
    let no_memory = |_| AUGMENTING.refused(window.width as usize, 5);
    upsampled.try_reserve(window.width as usize).map_err(no_memory)?;
    let (done, half_rows) = (rows.next_multiple_of(2), rows.div_ceil(2));
    repeat_last_row(luma, stride, done, padded);
    [&mut *blue, &mut *red].into_iter().for_each(|plane| repeat_last_row(plane, half, half_rows, padded / 2));
    code(luma, stride, &table(&LUMINANCE, quality));
    [&mut *blue, &mut *red].into_iter().for_each(|plane| code(plane, half, &table(&CHROMINANCE, quality)));
    let plane = |samples, stride: usize, by: usize| {
        let (width, height) = ((width as usize).div_ceil(by), (height as usize).div_ceil(by));
        // libjpeg interpolates colours from three columns on.
        let upsampling = Upsampling { horizontal: by, vertical: by, interpolated: by == 2 && width > 2 };
        let component = ComponentLayout { idct_size: IdctSize::Eight, width, height, upsampling };
        Plane { component, samples, stride, left: left as usize / by, top: top as usize / by }
    };
    let planes = [plane(luma, stride, 1), plane(blue, half, 2), plane(red, half, 2)];
    out.resize(window.width as usize * window.height as usize, [0; 4]);
    let window = gpufeed_jpeg::Rect { left: window.left, top: window.top, width: window.width, height: window.height };
    planes_to_rgba(&planes, ColorTransform::YCbCr, window, upsampled, out.as_flattened_mut());
    Ok(())
}

/// Copies the last one of `done` rows below it, up to `all` rows.
fn repeat_last_row(plane: &mut [u8], stride: usize, done: usize, all: usize) {
    (done..all).for_each(|row| plane.copy_within((done - 1) * stride..done * stride, row * stride));
}

/// A row in YCbCr (`rgb_ycc_convert` in `jccolor.c`), filled up with its last pixel.
#[multiversion(targets("x86_64+avx2"))]
fn convert(pixels: &[[u8; 4]], [luma, blue, red]: [&mut [u8]; 3]) {
    for (((pixel, luma), blue), red) in pixels.iter().zip(&mut *luma).zip(&mut *blue).zip(&mut *red) {
        let [r, g, b] = [i32::from(pixel[0]), i32::from(pixel[1]), i32::from(pixel[2])];
        // Half is one less for colours: the largest must not become 256.
        *luma = ((19595 * r + 38470 * g + 7471 * b + (1 << 15)) >> 16) as u8;
        *blue = ((-11059 * r - 21709 * g + 32768 * b + (128 << 16) + (1 << 15) - 1) >> 16) as u8;
        *red = ((32768 * r - 27439 * g - 5329 * b + (128 << 16) + (1 << 15) - 1) >> 16) as u8;
    }
    let last = pixels.len() - 1;
    for row in [luma, blue, red] {
        let value = row[last];
        row[last + 1..].fill(value);
    }
}

/// Means of 2 x 2 samples, rounded down and up in turns (`h2v2_downsample` in `jcsample.c`).
#[multiversion(targets("x86_64+avx2"))]
fn halve([first, second]: [&[u8]; 2], out: &mut [u8]) {
    let pairs = first.as_chunks::<4>().0.iter().zip(second.as_chunks::<4>().0);
    for (out, (a, b)) in out.as_chunks_mut::<2>().0.iter_mut().zip(pairs) {
        let sum = |i: usize| u16::from(a[i]) + u16::from(a[i + 1]) + u16::from(b[i]) + u16::from(b[i + 1]);
        *out = [((sum(0) + 1) >> 2) as u8, ((sum(2) + 2) >> 2) as u8];
    }
}

/// Quantises and restores a plane of whole blocks.
#[multiversion(targets("x86_64+avx2"))]
fn code(plane: &mut [u8], stride: usize, table: &[i32; 64]) {
    let divisors = table.map(|step| (8 * step) as f32);
    for rows in plane.chunks_exact_mut(8 * stride) {
        for left in (0..stride).step_by(8) {
            let mut block = [[0; 8]; 8];
            for (y, row) in block.iter_mut().enumerate() {
                let samples: &[u8] = &rows[y * stride + left..][..8];
                (0..8).for_each(|x| row[x] = i32::from(samples[x]) - 128);
            }
            let coefficients = forward(block);
            let (mut restored, mut others) = ([0; 64], 0);
            for (k, &value) in coefficients.as_flattened().iter().enumerate() {
                // Rounds half away from zero (`quantize` in `jcdctmgr.c`). Floats divide these numbers exactly enough:
                // a quotient that is no whole number is further from one than floats round.
                let quotient = ((value.abs() + 4 * table[k]) as f32 / divisors[k]) as i32;
                let quantized = if value < 0 { -quotient } else { quotient };
                restored[k] = (quantized * table[k]) as i16;
                others |= if k > 0 { quantized } else { 0 };
            }
            // The decoder has a faster way for blocks of one value.
            idct_8x8(&restored, if others == 0 { 0 } else { 63 }, &mut rows[left..], stride);
        }
    }
}

/// The coefficients of samples minus 128, eight times as large as the DCT's (`jpeg_fdct_islow` in `jfdctint.c`).
#[inline(always)]
fn forward(block: [[i32; 8]; 8]) -> [[i32; 8]; 8] {
    // Rows keep two bits of fraction, which the columns take away.
    let rows = transposed(line_of_lanes(transposed(block), |even| even << 2, 11));
    line_of_lanes(rows, |even| (even + 2) >> 2, 15)
}

#[inline(always)]
fn transposed(block: [[i32; 8]; 8]) -> [[i32; 8]; 8] {
    std::array::from_fn(|y| std::array::from_fn(|x| block[x][y]))
}

/// One dimension of the DCT, of eight columns at once: Loeffler, Ligtenberg and Moschytz's flow graph with constants
/// times 2^13. `plain` scales the two results without a constant; the others lose `bits` bits.
#[inline(always)]
fn line_of_lanes(x: [[i32; 8]; 8], plain: impl Fn(i32) -> i32, bits: u32) -> [[i32; 8]; 8] {
    let mut out = [[0; 8]; 8];
    for i in 0..8 {
        let sum = |k: usize| x[k][i] + x[7 - k][i];
        let difference = |k: usize| x[k][i] - x[7 - k][i];
        let (even_0, even_3, even_1, even_2) = (sum(0) + sum(3), sum(0) - sum(3), sum(1) + sum(2), sum(1) - sum(2));
        let descale = |value: i32| (value + (1 << (bits - 1))) >> bits;
        out[0][i] = plain(even_0 + even_1);
        out[4][i] = plain(even_0 - even_1);
        let turned = (even_2 + even_3) * 4433;
        out[2][i] = descale(turned + even_3 * 6270);
        out[6][i] = descale(turned - even_2 * 15137);
        let (odd_7, odd_6, odd_5, odd_4) = (difference(0), difference(1), difference(2), difference(3));
        let all = (odd_4 + odd_5 + odd_6 + odd_7) * 9633;
        let (outer, inner) = ((odd_4 + odd_7) * -7373, (odd_5 + odd_6) * -20995);
        let (first, second) = ((odd_4 + odd_6) * -16069 + all, (odd_5 + odd_7) * -3196 + all);
        out[7][i] = descale(odd_4 * 2446 + outer + first);
        out[5][i] = descale(odd_5 * 16819 + inner + second);
        out[3][i] = descale(odd_6 * 25172 + inner + first);
        out[1][i] = descale(odd_7 * 12299 + outer + second);
    }
    out
}

/// Scales a standard table to a quality of 1 to 100 (`jpeg_quality_scaling` and `jpeg_add_quant_table` in `jcparam.c`).
fn table(standard: &[u8; 64], quality: u32) -> [i32; 64] {
    let quality = quality as i32;
    let scale = if quality < 50 { 5000 / quality } else { 200 - 2 * quality };
    standard.map(|step| ((i32::from(step) * scale + 50) / 100).clamp(1, 255))
}

/// ITU T.81, table K.1.
#[rustfmt::skip]
const LUMINANCE: [u8; 64] = [
    16, 11, 10, 16, 24, 40, 51, 61,
    12, 12, 14, 19, 26, 58, 60, 55,
    14, 13, 16, 24, 40, 57, 69, 56,
    14, 17, 22, 29, 51, 87, 80, 62,
    18, 22, 37, 56, 68, 109, 103, 77,
    24, 35, 55, 64, 81, 104, 113, 92,
    49, 64, 78, 87, 103, 121, 120, 101,
    72, 92, 95, 98, 112, 100, 103, 99,
];

/// ITU T.81, table K.2.
const CHROMINANCE: [u8; 64] = {
    let corner = [[17, 18, 24, 47], [18, 21, 26, 66], [24, 26, 56, 99], [47, 66, 99, 99]];
    let mut table = [99; 64];
    let mut i = 0;
    while i < 16 {
        table[i / 4 * 8 + i % 4] = corner[i / 4][i % 4];
        i += 1;
    }
    table
};
