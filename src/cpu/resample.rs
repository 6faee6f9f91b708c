//! Turns source rows into output rows: first vertically, because rows are contiguous and vectorise, then horizontally,
//! four channels at a time. Both passes read tables of weights, which cover all filters, mirrors and borders.

use super::cache_lines::CacheLines;
use crate::allocate::{AUGMENTING, product, reserve_like};
use crate::error::Result;
use crate::pixels::PixelsRef;
use crate::plan::cpu_fallback::taps as most_taps;
use crate::plan::sampling::{Axis, Sampling, Tap};
use multiversion::multiversion;
use std::ops::Range;

/// The taps of every output on one axis: `width` weights each, beginning at source pixel `first`.
///
/// Mirrored, clamped and reflected taps are close to each other, so each output's weights are spread over the pixels
/// between the first and the last tap; the weights of the border's fill colour are summed separately.
#[derive(Debug, Default)]
pub(super) struct AxisTaps {
    entries: Vec<OutputTaps>,
    weights: Vec<f32>,
    width: usize,
    /// The first source pixel that any output reads, and one past the last.
    pub(super) read_range: (usize, usize),
    taps: Vec<Tap>,
    ends: Vec<usize>,
}

/// The taps of one output, whose weights [`AxisTaps`] has.
#[derive(Clone, Copy, Debug, Default)]
struct OutputTaps {
    /// The source pixel of the first weight.
    first: usize,
    /// The weight of the source's fill colour.
    fill: f32,
    /// True if the output shows only the grid's fill colour.
    outside: bool,
}

impl AxisTaps {
    /// Makes room for the weights and taps of `other`, which grow with the source.
    pub(super) fn reserve_like(&mut self, other: &AxisTaps) {
        reserve_like(&mut self.weights, &other.weights);
        reserve_like(&mut self.taps, &other.taps);
    }

    /// Bytes of the weights and taps.
    pub(super) fn bytes(&self) -> usize {
        size_of_val(&*self.weights) + size_of_val(&*self.taps)
    }

    /// # Errors
    /// Those of [`Use::reserve`](crate::allocate::Use::reserve).
    pub(super) fn build(&mut self, axis: &Axis, sampling: &Sampling) -> Result<()> {
        let AxisTaps { entries, weights, taps, ends, .. } = self;
        taps.clear();
        ends.clear();
        entries.clear();
        let (len, most) = (axis.len.max(0) as usize, most_taps(axis, sampling.filter) as usize);
        // The taps of a small table are too few to be asked for.
        let large = product(len, most) > 1 << 16;
        AUGMENTING.reserve(entries, len)?;
        AUGMENTING.reserve(ends, len)?;
        let (mut low_all, mut high_all, mut width) = (i32::MAX, 0, 1);
        for i in 0..axis.len {
            let begin = taps.len();
            let grid = axis.grid(i, sampling.grid_border);
            if let Some(grid) = grid {
                if large {
                    AUGMENTING.reserve_more(taps, most)?;
                }
                axis.taps(grid, sampling.filter, sampling.source_border, taps);
            }
            ends.push(taps.len());
            let indices = || taps[begin..].iter().filter_map(|tap| tap.index);
            let fill = taps[begin..].iter().filter(|tap| tap.index.is_none()).map(|tap| tap.weight).sum();
            let (low, high) = indices().fold((i32::MAX, -1), |(low, high), index| (low.min(index), high.max(index)));
            if high >= low {
                (low_all, high_all) = (low_all.min(low), high_all.max(high));
                width = width.max((high - low + 1) as usize);
            }
            let first = if high >= low { low as usize } else { usize::MAX };
            entries.push(OutputTaps { first, fill, outside: grid.is_none() });
        }
        let low_all = if low_all == i32::MAX { 0 } else { low_all as usize };
        self.read_range = (low_all, high_all as usize + 1);
        self.width = width;
        weights.clear();
        AUGMENTING.resize(weights, product(width, entries.len()), 0.0)?;
        let mut begin = 0;
        for ((entry, end), weights) in entries.iter_mut().zip(ends).zip(weights.chunks_exact_mut(width)) {
            // Outputs that read nothing point at a pixel that is there.
            entry.first = if entry.first == usize::MAX { low_all } else { entry.first };
            for tap in &taps[begin..*end] {
                if let Some(index) = tap.index {
                    weights[index as usize - entry.first] += tap.weight;
                }
            }
            begin = *end;
        }
        Ok(())
    }

    /// The floats of a source row, filtered vertically, with the pixels after it that the widest entry may read.
    pub(super) fn row_len(&self) -> usize {
        4 * (self.read_range.1 - self.read_range.0 + self.width)
    }

    fn weights(&self, i: usize) -> &[f32] {
        &self.weights[i * self.width..][..self.width]
    }
}

/// Writes output row `i` to `planes`: all reds, all greens, all blues. `filtered` has [`AxisTaps::row_len`] floats.
pub(super) fn row(
    sampling: &Sampling,
    x: &AxisTaps,
    y: &AxisTaps,
    i: usize,
    source: PixelsRef<'_>,
    filtered: &mut [f32],
    planes: &mut [f32],
) {
    let width = x.entries.len();
    let grid_fill = sampling.grid_border.map_or([0.0; 3], |border| border.fill);
    let entry = y.entries[i];
    if entry.outside {
        for (plane, fill) in planes.chunks_exact_mut(width).zip(grid_fill) {
            plane.fill(fill);
        }
        return;
    }
    let source_fill = sampling.source_border.map_or([0.0; 3], |border| border.fill);
    let (left, right) = x.read_range;
    // Adds zeros after the last pixel, so that the weights of the widest entry do not reach beyond the row.
    let len = 4 * (right - left);
    filtered[len..].fill(0.0);
    let pixels = &mut filtered[..len];
    let [r, g, b] = source_fill;
    let weights = y.weights(i);
    match source {
        PixelsRef::Bytes { size: 3, .. } => {
            vertical(source, entry.first, y.read_range.1, weights, left, right, &mut pixels[..3 * (right - left)]);
            widen(pixels);
        }
        _ => vertical(source, entry.first, y.read_range.1, weights, left, right, pixels),
    }
    if entry.fill != 0.0 {
        for pixel in pixels.chunks_exact_mut(4) {
            for (value, fill) in pixel.iter_mut().zip([r, g, b, 1.0]) {
                *value += entry.fill * fill;
            }
        }
    }
    horizontal(x, left, filtered, planes);
    if sampling.source_border.is_some() || sampling.grid_border.is_some() {
        for (i, entry) in x.entries.iter().enumerate() {
            for (plane, (source_fill, grid_fill)) in
                planes.chunks_exact_mut(width).zip(source_fill.into_iter().zip(grid_fill))
            {
                plane[i] = if entry.outside { grid_fill } else { plane[i] + entry.fill * source_fill };
            }
        }
    }
}

/// Widens three floats a pixel to four, in place: starts at the last pixel, so that none is overwritten before it is
/// read.
fn widen(pixels: &mut [f32]) {
    for i in (0..pixels.len() / 4).rev() {
        let [r, g, b] = [0, 1, 2].map(|c| pixels[3 * i + c]);
        pixels[4 * i..][..4].copy_from_slice(&[r, g, b, 1.0]);
    }
}

/// Weighted sum of source rows from `first` on, columns `left .. right`, with as many floats a pixel as the source has.
fn vertical(
    source: PixelsRef<'_>,
    first: usize,
    end: usize,
    weights: &[f32],
    left: usize,
    right: usize,
    out: &mut [f32],
) {
    let count = weights.len().min(end - first);
    let mut at = 0;
    // Up to four rows at a time, which stay in registers.
    while at < count {
        let group = &weights[at..count.min(at + 4)];
        match source {
            PixelsRef::Bytes { data, stride, size } => {
                let row = |k: usize| &data[(first + at + k.min(group.len() - 1)) * stride..][size * left..size * right];
                // Bytes become floats by a factor of 1/255, which the weights include here.
                let weight = |k: usize| group.get(k).map_or(0.0, |w| w * (1.0 / 255.0));
                add_bytes(
                    [row(0), row(1), row(2), row(3)],
                    [weight(0), weight(1), weight(2), weight(3)],
                    group.len(),
                    at == 0,
                    out,
                );
            }
            PixelsRef::Floats { data, stride } => {
                for (k, &weight) in group.iter().enumerate() {
                    let row = &data[(first + at + k) * stride..][4 * left..4 * right];
                    add_floats(row, weight, at + k == 0, out);
                }
            }
        }
        at += group.len();
    }
}

#[multiversion(targets("x86_64+avx2"))]
fn add_bytes([a, b, c, d]: [&[u8]; 4], weights: [f32; 4], count: usize, begin: bool, out: &mut [f32]) {
    let n = out.len();
    let (a, b, c, d) = (&a[..n], &b[..n], &c[..n], &d[..n]);
    let [wa, wb, wc, wd] = weights;
    let old = |out: f32| if begin { 0.0 } else { out };
    match count {
        1 => (0..n).for_each(|i| out[i] = old(out[i]) + wa * f32::from(a[i])),
        2 => (0..n).for_each(|i| out[i] = old(out[i]) + wa * f32::from(a[i]) + wb * f32::from(b[i])),
        3 => (0..n)
            .for_each(|i| out[i] = old(out[i]) + wa * f32::from(a[i]) + wb * f32::from(b[i]) + wc * f32::from(c[i])),
        _ => (0..n).for_each(|i| {
            out[i] =
                old(out[i]) + wa * f32::from(a[i]) + wb * f32::from(b[i]) + wc * f32::from(c[i]) + wd * f32::from(d[i]);
        }),
    }
}

#[multiversion(targets("x86_64+avx2"))]
fn add_floats(row: &[f32], weight: f32, begin: bool, out: &mut [f32]) {
    if begin {
        out.iter_mut().zip(row).for_each(|(out, value)| *out = weight * value);
    } else {
        out.iter_mut().zip(row).for_each(|(out, value)| *out += weight * value);
    }
}

/// The number of outputs whose four channels are interleaved before they are written to planes. If sums are written to
/// planes directly, the compiler computes each channel separately, which takes twice as long.
const TOGETHER: usize = 64;

fn horizontal(table: &AxisTaps, left: usize, filtered: &[f32], planes: &mut [f32]) {
    let width = table.entries.len();
    let mut mixed = CacheLines([[0.0; 4]; TOGETHER]);
    for first in (0..width).step_by(TOGETHER) {
        let outputs = first..width.min(first + TOGETHER);
        let mixed = &mut mixed.0[..outputs.len()];
        match table.width {
            1 => taps::<1>(table, left, filtered, outputs, mixed),
            2 => taps::<2>(table, left, filtered, outputs, mixed),
            3 => taps::<3>(table, left, filtered, outputs, mixed),
            4 => taps::<4>(table, left, filtered, outputs, mixed),
            5 => taps::<5>(table, left, filtered, outputs, mixed),
            6 => taps::<6>(table, left, filtered, outputs, mixed),
            _ => any_taps(table, left, filtered, outputs, mixed),
        }
        deal(mixed, first, planes);
    }
}

/// Writes channels to their planes, from output `first` on.
#[multiversion(targets("x86_64+avx2"))]
fn deal(mixed: &[[f32; 4]], first: usize, planes: &mut [f32]) {
    let width = planes.len() / 3;
    let n = mixed.len();
    let (red, rest) = planes.split_at_mut(width);
    let (green, blue) = rest.split_at_mut(width);
    let seen = first..first + n;
    let (red, green, blue) = (&mut red[seen.clone()], &mut green[seen.clone()], &mut blue[seen]);
    for i in 0..n {
        [red[i], green[i], blue[i], _] = mixed[i];
    }
}

/// Sums taps whose number the compiler knows.
fn taps<const N: usize>(
    table: &AxisTaps,
    left: usize,
    filtered: &[f32],
    outputs: Range<usize>,
    mixed: &mut [[f32; 4]],
) {
    let weights = &table.weights.as_chunks::<N>().0[outputs.clone()];
    for ((entry, weights), mixed) in table.entries[outputs].iter().zip(weights).zip(mixed) {
        let pixels = filtered[4 * (entry.first - left)..][..4 * N].as_chunks::<4>().0;
        let mut sum = [0.0f32; 4];
        for k in 0..N {
            for c in 0..4 {
                sum[c] += weights[k] * pixels[k][c];
            }
        }
        *mixed = sum;
    }
}

fn any_taps(table: &AxisTaps, left: usize, filtered: &[f32], outputs: Range<usize>, mixed: &mut [[f32; 4]]) {
    for (i, mixed) in outputs.zip(mixed) {
        let pixels = filtered[4 * (table.entries[i].first - left)..].as_chunks::<4>().0;
        let mut sum = [0.0f32; 4];
        for (pixel, weight) in pixels.iter().zip(table.weights(i)) {
            for c in 0..4 {
                sum[c] += weight * pixel[c];
            }
        }
        *mixed = sum;
    }
}
