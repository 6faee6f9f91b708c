//! Turns source rows into output rows as `resample` does, in torchvision's arithmetic on 8-bit numbers: integer sums
//! of 16-bit weights, first across, then down, rounded to 8 bits after each.

use super::bytes::widen_row;
use crate::allocate::{AUGMENTING, product, reserve_like};
use crate::error::Result;
use crate::pixels::PixelsRef;
use crate::plan::resize_u8::WeightsU8;
use crate::plan::sampling::{Axis, Sampling};
use multiversion::multiversion;
use std::ops::Range;

/// The weights of both axes, and the rows that are resized across.
#[derive(Debug, Default)]
pub(super) struct ResampleU8 {
    x: WeightsU8,
    y: WeightsU8,
    /// RGBA8 rows of the output's width, one for each row of the view from `first_row` on.
    across: Vec<[u8; 4]>,
    first_row: usize,
    /// A source row as RGBA8.
    row: Vec<[u8; 4]>,
    /// Four source rows, the pixels of a column side by side: they share a weight.
    four: Vec<[[u8; 4]; ROWS]>,
    /// These rows, resized across.
    resized: Vec<[[u8; 4]; ROWS]>,
    /// Where each output begins in `row`; outside the grid at 0.
    begins: Vec<u32>,
    /// The weights of each output; 0 outside the grid.
    weights: Vec<i16>,
}

impl ResampleU8 {
    /// Makes room for as much as `other` has room for.
    pub(super) fn reserve_like(&mut self, other: &ResampleU8) {
        self.x.reserve_like(&other.x);
        self.y.reserve_like(&other.y);
        reserve_like(&mut self.across, &other.across);
        reserve_like(&mut self.row, &other.row);
        reserve_like(&mut self.four, &other.four);
        reserve_like(&mut self.resized, &other.resized);
        reserve_like(&mut self.begins, &other.begins);
        reserve_like(&mut self.weights, &other.weights);
    }

    /// Allocated bytes.
    pub(super) fn bytes(&self) -> usize {
        let fours = ROWS * (self.four.capacity() + self.resized.capacity());
        let words = self.across.capacity() + self.row.capacity() + self.begins.capacity() + fours;
        self.x.bytes() + self.y.bytes() + 4 * words + 2 * self.weights.capacity()
    }

    /// Makes room for the rows of a crop as high as the whole source, in outputs of this width.
    ///
    /// # Errors
    /// Those of [`Use::reserve`](crate::allocate::Use::reserve).
    pub(super) fn reserve(&mut self, width: usize, source_height: usize) -> Result<()> {
        AUGMENTING.reserve(&mut self.across, product(width, source_height))
    }

    /// Computes the weights, and resizes the rows across that outputs read. `whole` is the size of the whole resize;
    /// the source has no border.
    ///
    /// # Errors
    /// Those of [`Use::reserve`](crate::allocate::Use::reserve).
    pub(super) fn begin(&mut self, sampling: &Sampling, whole: [u32; 2], source: PixelsRef<'_>) -> Result<()> {
        let (x, y) = (&sampling.x, &sampling.y);
        self.x.reserve(x.view_len as u32, whole[0], sampling.filter)?;
        self.y.reserve(y.view_len as u32, whole[1], sampling.filter)?;
        self.x.build(x.view_len as u32, whole[0], sampling.filter);
        self.y.build(y.view_len as u32, whole[1], sampling.filter);
        let read = |axis: &Axis, weights: &WeightsU8| {
            let visible = || (0..axis.len).filter_map(|i| axis.grid(i, sampling.grid_border)).map(|grid| grid as usize);
            let first = visible().map(|grid| weights.first[grid]).min().unwrap_or(0);
            let end = visible().map(|grid| weights.end[grid]).max().unwrap_or(first);
            first as usize..end as usize
        };
        let (columns, Range { start: first, end }) = (read(x, &self.x), read(y, &self.y));
        self.first_row = first;
        // The taps of the widest output do not reach beyond the row: pixels of weight 0 follow it.
        let taps = self.x.taps;
        self.begins.clear();
        self.weights.clear();
        let width = x.len as usize;
        AUGMENTING.reserve(&mut self.begins, width)?;
        AUGMENTING.reserve(&mut self.weights, product(width, taps))?;
        AUGMENTING.reserve(&mut self.row, columns.len())?;
        for i in 0..x.len {
            match x.grid(i, sampling.grid_border).map(|grid| grid as usize) {
                Some(grid) => {
                    self.begins.push(self.x.first[grid] - columns.start as u32);
                    self.weights.extend_from_slice(self.x.of(grid));
                }
                None => {
                    self.begins.push(0);
                    self.weights.extend(std::iter::repeat_n(0, taps));
                }
            }
        }
        AUGMENTING.resize(&mut self.across, product(width, end - first), [0; 4])?;
        self.four.clear();
        AUGMENTING.resize(&mut self.four, columns.len() + taps, [[0; 4]; ROWS])?;
        AUGMENTING.resize(&mut self.resized, width, [[0; 4]; ROWS])?;
        for (row, out) in (first..end).step_by(ROWS).zip(self.across.chunks_mut(ROWS * width)) {
            for (i, row) in (row..end.min(row + ROWS)).enumerate() {
                let index = y.source(row as i32, None).unwrap_or(0) as usize;
                read_row(source, index, x, &columns, &mut self.row);
                self.four.iter_mut().zip(&self.row).for_each(|(four, pixel)| four[i] = *pixel);
            }
            across(&self.four, &self.begins, &self.weights, taps, self.x.bits, &mut self.resized);
            for (i, out) in out.chunks_exact_mut(width).enumerate() {
                out.iter_mut().zip(&self.resized).for_each(|(out, resized)| *out = resized[i]);
            }
        }
        Ok(())
    }

    /// Writes output row `i` as RGBA8.
    pub(super) fn row(&self, sampling: &Sampling, i: usize, out: &mut [[u8; 4]]) {
        let width = out.len();
        // Colours of a border have whole levels.
        let fill = sampling.grid_border.map_or([0.0; 3], |border| border.fill).map(|value| (value * 255.0 + 0.5) as u8);
        let fill = [fill[0], fill[1], fill[2], 255];
        let Some(grid) = sampling.y.grid(i as i32, sampling.grid_border) else { return out.fill(fill) };
        let first = self.y.first[grid as usize] as usize - self.first_row;
        let count = (self.y.end[grid as usize] - self.y.first[grid as usize]) as usize;
        let rows = self.across[width * first..][..width * count].as_flattened();
        down(rows, &self.y.of(grid as usize)[..count], self.y.bits, out.as_flattened_mut());
        if sampling.grid_border.is_some() {
            let outside = (0..sampling.x.len).filter(|&i| sampling.x.grid(i, sampling.grid_border).is_none());
            outside.for_each(|i| out[i as usize] = fill);
        }
    }
}

/// Reads columns of the view from a source row as RGBA8, in the view's order.
fn read_row(source: PixelsRef<'_>, index: usize, axis: &Axis, columns: &Range<usize>, out: &mut Vec<[u8; 4]>) {
    out.clear();
    if columns.is_empty() {
        return;
    }
    let ends = [columns.start, columns.end - 1].map(|i| axis.source(i as i32, None).unwrap_or(0) as usize);
    let (left, right) = (ends[0].min(ends[1]), ends[0].max(ends[1]) + 1);
    match source {
        PixelsRef::Bytes { data, stride, size: 4 } => {
            out.extend_from_slice(data[index * stride..][4 * left..4 * right].as_chunks().0);
        }
        PixelsRef::Bytes { data, stride, size: 3 } => {
            out.resize(right - left, [0; 4]);
            widen_row(data[index * stride..][3 * left..3 * right].as_chunks().0, out);
        }
        PixelsRef::Bytes { data, stride, .. } => {
            out.extend(data[index * stride..][left..right].iter().map(|&gray| [gray, gray, gray, 255]));
        }
        PixelsRef::Floats { data, stride } => {
            let row = data[index * stride..][4 * left..4 * right].as_chunks::<4>().0;
            out.extend(row.iter().map(|pixel| pixel.map(|value| (value * 255.0).round_ties_even() as u8)));
        }
    }
    if axis.view_mirror == 1 {
        out.reverse();
    }
}

/// Rows that are resized across together.
const ROWS: usize = 4;

/// Writes the weighted sums of pixels of four rows; each output has as many weights, `taps`.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512vl+avx512dq", "x86_64+avx2"))]
fn across(
    rows: &[[[u8; 4]; ROWS]],
    begins: &[u32],
    weights: &[i16],
    taps: usize,
    bits: u32,
    out: &mut [[[u8; 4]; ROWS]],
) {
    match taps {
        1 => across_taps::<1>(rows, begins, weights, bits, out),
        2 => across_taps::<2>(rows, begins, weights, bits, out),
        3 => across_taps::<3>(rows, begins, weights, bits, out),
        4 => across_taps::<4>(rows, begins, weights, bits, out),
        5 => across_taps::<5>(rows, begins, weights, bits, out),
        6 => across_taps::<6>(rows, begins, weights, bits, out),
        7 => across_taps::<7>(rows, begins, weights, bits, out),
        8 => across_taps::<8>(rows, begins, weights, bits, out),
        _ => {
            for ((out, &begin), weights) in out.iter_mut().zip(begins).zip(weights.chunks_exact(taps)) {
                *out = weighted(&rows[begin as usize..][..taps], weights, bits);
            }
        }
    }
}

/// Sums taps whose number the compiler knows.
#[inline(always)]
fn across_taps<const N: usize>(
    rows: &[[[u8; 4]; ROWS]],
    begins: &[u32],
    weights: &[i16],
    bits: u32,
    out: &mut [[[u8; 4]; ROWS]],
) {
    for ((out, &begin), weights) in out.iter_mut().zip(begins).zip(weights.as_chunks::<N>().0) {
        if let Some(pixels) = rows[begin as usize..].first_chunk::<N>() {
            *out = weighted(pixels, weights, bits);
        }
    }
}

#[inline(always)]
fn weighted(pixels: &[[[u8; 4]; ROWS]], weights: &[i16], bits: u32) -> [[u8; 4]; ROWS] {
    let mut sums = [1i32 << bits >> 1; 4 * ROWS];
    for (pixels, &weight) in pixels.iter().zip(weights) {
        let bytes = pixels.as_flattened();
        for i in 0..4 * ROWS {
            sums[i] += i32::from(weight) * i32::from(bytes[i]);
        }
    }
    let mut out = [[0; 4]; ROWS];
    out.as_flattened_mut().iter_mut().zip(sums).for_each(|(out, sum)| *out = (sum >> bits).clamp(0, 255) as u8);
    out
}

/// Bytes whose sums stay in registers: eight vectors of eight.
const BLOCK: usize = 64;

/// Writes the weighted sums of rows, which lie one after the other.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512vl+avx512dq", "x86_64+avx2"))]
fn down(rows: &[u8], weights: &[i16], bits: u32, out: &mut [u8]) {
    let width = out.len();
    let byte = |sum: i32| (sum >> bits).clamp(0, 255) as u8;
    let (blocks, rest) = out.as_chunks_mut::<BLOCK>();
    let at = BLOCK * blocks.len();
    for (i, out) in blocks.iter_mut().enumerate() {
        let mut sums = [1i32 << bits >> 1; BLOCK];
        for (row, &weight) in rows.chunks_exact(width).zip(weights) {
            if let Some(bytes) = row[BLOCK * i..].first_chunk::<BLOCK>() {
                (0..BLOCK).for_each(|j| sums[j] += i32::from(weight) * i32::from(bytes[j]));
            }
        }
        (0..BLOCK).for_each(|j| out[j] = byte(sums[j]));
    }
    for (j, out) in rest.iter_mut().enumerate() {
        let sum: i32 =
            rows.chunks_exact(width).zip(weights).map(|(row, &w)| i32::from(w) * i32::from(row[at + j])).sum();
        *out = byte(sum + (1 << bits >> 1));
    }
}
