//! Turns source rows into output rows as `resample` does, in torchvision's arithmetic on 8-bit numbers: integer sums
//! of 16-bit weights, first across, then down, rounded to 8 bits after each.

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
    across: Vec<u8>,
    first_row: usize,
    /// A source row as RGBA8.
    row: Vec<u8>,
    /// The sums of an output row.
    sums: Vec<i32>,
}

impl ResampleU8 {
    /// Makes room for as much as `other` has room for.
    pub(super) fn reserve_like(&mut self, other: &ResampleU8) {
        self.x.reserve_like(&other.x);
        self.y.reserve_like(&other.y);
        self.across.reserve_exact(other.across.capacity().saturating_sub(self.across.len()));
        self.row.reserve_exact(other.row.capacity().saturating_sub(self.row.len()));
        self.sums.reserve_exact(other.sums.capacity().saturating_sub(self.sums.len()));
    }

    /// Allocated bytes.
    pub(super) fn bytes(&self) -> usize {
        self.x.bytes() + self.y.bytes() + self.across.capacity() + self.row.capacity() + 4 * self.sums.capacity()
    }

    /// Makes room for the rows of a crop as high as the whole source, in outputs of this width.
    pub(super) fn reserve(&mut self, width: usize, source_height: usize) {
        self.across.reserve_exact((4 * width * source_height).saturating_sub(self.across.len()));
    }

    /// Computes the weights, and resizes the rows across that outputs read. `whole` is the size of the whole resize;
    /// the source has no border.
    pub(super) fn begin(&mut self, sampling: &Sampling, whole: [u32; 2], source: PixelsRef<'_>) {
        let (x, y) = (&sampling.x, &sampling.y);
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
        let stride = 4 * x.len as usize;
        self.across.clear();
        self.across.resize(stride * (end - first), 0);
        for (row, out) in (first..end).zip(self.across.chunks_exact_mut(stride)) {
            let index = y.source(row as i32, None).unwrap_or(0) as usize;
            read_row(source, index, (x, &columns), &mut self.row);
            for (i, out) in (0..x.len).zip(out.as_chunks_mut::<4>().0) {
                let Some(grid) = x.grid(i, sampling.grid_border) else { continue };
                let first = self.x.first[grid as usize] as usize - columns.start;
                *out = weighted(&self.row, first, self.x.of(grid as usize), self.x.bits);
            }
        }
    }

    /// Writes output row `i` to `planes`: all reds, all greens, all blues.
    pub(super) fn row(&mut self, sampling: &Sampling, i: usize, planes: &mut [f32]) {
        let width = sampling.x.len as usize;
        let fill = sampling.grid_border.map_or([0.0; 3], |border| border.fill);
        let Some(grid) = sampling.y.grid(i as i32, sampling.grid_border) else {
            planes.chunks_exact_mut(width).zip(fill).for_each(|(plane, fill)| plane.fill(fill));
            return;
        };
        let first = self.y.first[grid as usize] as usize - self.first_row;
        self.sums.clear();
        self.sums.resize(4 * width, 1 << self.y.bits >> 1);
        let rows = self.across[4 * width * first..].chunks_exact(4 * width);
        for (row, &weight) in rows.zip(self.y.of(grid as usize)) {
            add_row(row, weight.into(), &mut self.sums);
        }
        split(&self.sums, self.y.bits, planes);
        if sampling.grid_border.is_some() {
            let outside = (0..sampling.x.len).filter(|&i| sampling.x.grid(i, sampling.grid_border).is_none());
            for i in outside {
                planes.chunks_exact_mut(width).zip(fill).for_each(|(plane, fill)| plane[i as usize] = fill);
            }
        }
    }
}

/// Reads columns of the view from a source row as RGBA8, in the view's order.
fn read_row(source: PixelsRef<'_>, index: usize, (axis, columns): (&Axis, &Range<usize>), out: &mut Vec<u8>) {
    out.clear();
    if columns.is_empty() {
        return;
    }
    let ends = [columns.start, columns.end - 1].map(|i| axis.source(i as i32, None).unwrap_or(0) as usize);
    let (left, right) = (ends[0].min(ends[1]), ends[0].max(ends[1]) + 1);
    match source {
        PixelsRef::Bytes { data, stride, size: 4 } => {
            out.extend_from_slice(&data[index * stride..][4 * left..4 * right])
        }
        PixelsRef::Bytes { data, stride, size } => {
            let row = &data[index * stride..][size * left..size * right];
            out.extend(row.chunks_exact(size).flat_map(|pixel| [pixel[0], pixel[size / 2], pixel[size - 1], 255]));
        }
        PixelsRef::Floats { data, stride } => {
            let row = &data[index * stride..][4 * left..4 * right];
            out.extend(row.iter().map(|value| (value * 255.0).round_ties_even() as u8));
        }
    }
    if axis.view_mirror == 1 {
        out.as_chunks_mut::<4>().0.reverse();
    }
}

#[inline(always)]
fn weighted(row: &[u8], first: usize, weights: &[i16], bits: u32) -> [u8; 4] {
    let mut sums = [1i32 << bits >> 1; 4];
    for (pixel, &weight) in row[4 * first..].as_chunks::<4>().0.iter().zip(weights) {
        for c in 0..4 {
            sums[c] += i32::from(weight) * i32::from(pixel[c]);
        }
    }
    sums.map(|sum| (sum >> bits).clamp(0, 255) as u8)
}

#[multiversion(targets("x86_64+avx2"))]
fn add_row(row: &[u8], weight: i32, sums: &mut [i32]) {
    sums.iter_mut().zip(row).for_each(|(sum, &byte)| *sum += weight * i32::from(byte));
}

/// Rounds the sums to 8 bits, and writes them to planes as floats.
#[multiversion(targets("x86_64+avx2"))]
fn split(sums: &[i32], bits: u32, planes: &mut [f32]) {
    let width = planes.len() / 3;
    let (red, rest) = planes.split_at_mut(width);
    let (green, blue) = rest.split_at_mut(width);
    let level = |sum: i32| (sum >> bits).clamp(0, 255) as f32 * (1.0 / 255.0);
    for (i, sums) in sums.as_chunks::<4>().0.iter().enumerate().take(width) {
        (red[i], green[i], blue[i]) = (level(sums[0]), level(sums[1]), level(sums[2]));
    }
}
