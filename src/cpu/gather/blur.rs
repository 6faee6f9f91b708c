//! Gaussian blur: torchvision's `gaussian_blur_image`, a row of weights across, then down. torch multiplies the two
//! rows to one kernel; the sums are the same up to rounding.

use super::Part;
use crate::geometry::Rect;
use crate::plan::gather::{blur_weights, negligible_weights};
use multiversion::multiversion;

/// The pixel that coordinate `i` shows of `len`: reflected about the edge pixels, which are not repeated.
pub(super) fn reflect(i: i64, len: u32) -> u32 {
    let period = (2 * (i64::from(len) - 1)).max(1);
    let i = i.rem_euclid(period);
    if i < i64::from(len) { i as u32 } else { (period - i) as u32 }
}

/// A blur of an image: the pixels of `window` of its result are wanted.
pub(super) struct Blur<'a, T> {
    /// Weights across and down.
    pub(super) kernel_size: [u32; 2],
    /// Standard deviations across and down, in pixels.
    pub(super) sigma: [f64; 2],
    /// The pixels that are present.
    pub(super) part: Part<'a, T>,
    /// Width and height of the whole image.
    pub(super) size: (u32, u32),
    pub(super) window: Rect,
}

impl Blur<'_, f32> {
    /// Writes the result in floats. `across` and `row` are memory to work in.
    pub(super) fn floats(&self, across: &mut Vec<f32>, row: &mut Vec<f32>, out: &mut Vec<[f32; 4]>) {
        out.clear();
        out.resize(self.window.width as usize * self.window.height as usize, [0.0; 4]);
        let mut rest = out.as_flattened_mut();
        let write = |sums: &[f32]| {
            let (row, after) = std::mem::take(&mut rest).split_at_mut(sums.len());
            row.copy_from_slice(sums);
            rest = after;
        };
        self.run::<4>(|_| 0, |pixel| pixel, across, row, write);
    }
}

impl Blur<'_, u8> {
    /// Writes the result in 8-bit numbers, rounded to nearest, ties to even: sums of f32 in units of 255. `across` and
    /// `row` are memory to work in.
    pub(super) fn bytes(&self, across: &mut Vec<f32>, row: &mut Vec<f32>, out: &mut Vec<[u8; 4]>) {
        out.clear();
        let float = |[r, g, b, _]: [u8; 4]| [r, g, b].map(|byte| f32::from(byte) * (1.0 / 255.0));
        self.run::<3>(negligible_weights, float, across, row, |sums| append(sums, out));
    }
}

/// Appends pixels of three floats, rounded.
fn append(sums: &[f32], out: &mut Vec<[u8; 4]>) {
    let begin = out.len();
    out.resize(begin + sums.len() / 3, [0; 4]);
    round(sums, &mut out[begin..]);
}

#[multiversion(targets("x86_64+avx2"))]
fn round(sums: &[f32], out: &mut [[u8; 4]]) {
    // To add this number rounds to nearest, ties to even, and leaves the result in the lower bits.
    const INTEGERS: f32 = 8_388_608.0;
    let byte = |value: f32| (value.clamp(0.0, 1.0) * 255.0 + INTEGERS).to_bits() & 255;
    for (out, &[r, g, b]) in out.iter_mut().zip(sums.as_chunks::<3>().0) {
        *out = (byte(r) | byte(g) << 8 | byte(b) << 16 | 0xff00_0000).to_le_bytes();
    }
}

impl<T: Copy> Blur<'_, T> {
    /// Blurs pixels of `N` floats, and calls `write` for each row of `window`. As many weights at either end as `negligible`
    /// counts are left out.
    fn run<const N: usize>(
        &self,
        negligible: impl Fn(&[f32]) -> usize,
        read: impl Fn([T; 4]) -> [f32; N],
        across: &mut Vec<f32>,
        row: &mut Vec<f32>,
        mut write: impl FnMut(&[f32]),
    ) {
        let Blur { kernel_size, sigma, part, size: (width, height), window } = *self;
        let [x, y] = [0, 1].map(|axis| blur_weights(kernel_size[axis], sigma[axis]));
        let [x, y] = [&x, &y].map(|weights| &weights[negligible(weights)..weights.len() - negligible(weights)]);
        let len = N * window.width as usize;
        across.resize(part.rect.height as usize * len, 0.0);
        let first = i64::from(window.left) - (x.len() / 2) as i64;
        let end = first + (window.width as usize + x.len() - 1) as i64;
        // The columns that need no reflection.
        let inner = first.clamp(0, end)..end.min(i64::from(width)).max(first.clamp(0, end));
        for (pixels, out) in part.rows().zip(across.chunks_exact_mut(len)) {
            let reflected = |i: i64| read(pixels[(reflect(i, width) - part.rect.left) as usize]);
            row.clear();
            row.extend((first..inner.start).flat_map(reflected));
            let [left, right] = [inner.start, inner.end].map(|i| (i - i64::from(part.rect.left)) as usize);
            row.extend(pixels[left..right].iter().flat_map(|&pixel| read(pixel)));
            row.extend((inner.end..end).flat_map(reflected));
            sums::<N>(row, x, out);
        }
        row.resize(len, 0.0);
        let mut rows: Vec<&[f32]> = Vec::with_capacity(y.len());
        for i in 0..window.height {
            let first = i64::from(window.top + i) - (y.len() / 2) as i64;
            let from = |i: i64| (reflect(i, height) - part.rect.top) as usize * len;
            rows.clear();
            rows.extend((first..).take(y.len()).map(|i| &across[from(i)..][..len]));
            down(&rows, y, row);
            write(row);
        }
    }
}

/// Floats whose sums stay in registers: eight vectors of eight.
const BLOCK: usize = 64;

/// The weighted sums of neighbours in a row; those of one output lie `N` floats apart.
#[multiversion(targets("x86_64+avx512f+avx512vl", "x86_64+avx2"))]
fn sums<const N: usize>(row: &[f32], weights: &[f32], out: &mut [f32]) {
    let (blocks, rest) = out.as_chunks_mut::<BLOCK>();
    let at = BLOCK * blocks.len();
    for (i, out) in blocks.iter_mut().enumerate() {
        let mut sums = [0.0f32; BLOCK];
        for (k, &weight) in weights.iter().enumerate() {
            if let Some(values) = row[BLOCK * i + N * k..].first_chunk::<BLOCK>() {
                (0..BLOCK).for_each(|j| sums[j] += weight * values[j]);
            }
        }
        *out = sums;
    }
    rest.fill(0.0);
    for (k, &weight) in weights.iter().enumerate() {
        rest.iter_mut().zip(&row[at + N * k..]).for_each(|(out, value)| *out += weight * value);
    }
}

/// The weighted sums of rows.
#[multiversion(targets("x86_64+avx512f+avx512vl", "x86_64+avx2"))]
fn down(rows: &[&[f32]], weights: &[f32], out: &mut [f32]) {
    let (blocks, rest) = out.as_chunks_mut::<BLOCK>();
    let at = BLOCK * blocks.len();
    for (i, out) in blocks.iter_mut().enumerate() {
        let mut sums = [0.0f32; BLOCK];
        for (row, &weight) in rows.iter().zip(weights) {
            if let Some(values) = row[BLOCK * i..].first_chunk::<BLOCK>() {
                (0..BLOCK).for_each(|j| sums[j] += weight * values[j]);
            }
        }
        *out = sums;
    }
    rest.fill(0.0);
    for (row, &weight) in rows.iter().zip(weights) {
        rest.iter_mut().zip(&row[at..]).for_each(|(out, value)| *out += weight * value);
    }
}
