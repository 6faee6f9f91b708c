//! Source rows to output rows where nothing is resized: crops, flips and padding of bytes, without tables.
//!
//! The numbers are those of `resample`, bit for bit: one tap of weight 1.

use super::Pixels;
use super::store::byte;
use crate::plan::Layout;
use crate::plan::sampling::{Axis, Filter, Sampling};
use multiversion::multiversion;
use std::ops::Range;

/// The part of the output that the source is copied to, and what surrounds it.
pub(super) struct Unscaled<'a> {
    data: &'a [u8],
    stride: usize,
    /// Bytes of a pixel: 3 or 4.
    size: usize,
    /// Columns of the source.
    columns: Range<usize>,
    /// Whether the last column comes first.
    mirror: bool,
    /// Where they go.
    inner: Range<usize>,
    /// What lies inside the grid; around `inner` it shows the source's fill colour, outside the grid's own.
    grid: Range<usize>,
    sampling: &'a Sampling,
}

/// What an output shows on one axis.
#[derive(PartialEq)]
enum Shown {
    Source(usize),
    SourceFill,
    GridFill,
}

fn shown(axis: &Axis, sampling: &Sampling, i: usize) -> Shown {
    let Some(grid) = axis.grid(i as i32, sampling.grid_border) else { return Shown::GridFill };
    match axis.source(grid.clamp(0, axis.view_len - 1), sampling.source_border) {
        Some(source) => Shown::Source(source as usize),
        None => Shown::SourceFill,
    }
}

impl<'a> Unscaled<'a> {
    /// `None` where `resample` is needed: pixels that are mixed, or repeated by a border.
    pub(super) fn new(sampling: &'a Sampling, source: Pixels<'a>) -> Option<Self> {
        let Pixels::Bytes { data, stride, size } = source else { return None };
        if sampling.filter != Filter::Nearest || (sampling.x.scale, sampling.y.scale) != (1.0, 1.0) {
            return None;
        }
        let axis = &sampling.x;
        let (mut inner, mut grid) = (0..0, 0..0);
        let (mut first, mut last) = (0, 0);
        for i in 0..axis.len as usize {
            let shown = shown(axis, sampling, i);
            if shown != Shown::GridFill {
                grid = if grid.is_empty() { i..i + 1 } else { grid.start..i + 1 };
            }
            if let Shown::Source(source) = shown {
                let neighbour = match inner.len() {
                    0 => true,
                    1 => inner.end == i && source.abs_diff(last) == 1,
                    _ => inner.end == i && source.abs_diff(last) == 1 && (source > last) == (last > first),
                };
                if !neighbour {
                    return None;
                }
                if inner.is_empty() {
                    (inner, first) = (i..i, source);
                }
                (inner.end, last) = (i + 1, source);
            }
        }
        let columns = if inner.is_empty() { 0..0 } else { first.min(last)..first.max(last) + 1 };
        Some(Unscaled { data, stride, size, columns, mirror: first > last, inner, grid, sampling })
    }

    /// The source's pixels that output row `i` shows, or what fills it.
    fn source(&self, i: usize) -> Result<&'a [u8], Shown> {
        match shown(&self.sampling.y, self.sampling, i) {
            Shown::Source(y) => {
                Ok(&self.data[y * self.stride..][self.size * self.columns.start..self.size * self.columns.end])
            }
            fill => Err(fill),
        }
    }

    fn fills(&self) -> [[f32; 3]; 2] {
        [self.sampling.source_border, self.sampling.grid_border].map(|border| border.map_or([0.0; 3], |b| b.fill))
    }

    /// What surrounds the source's pixels in a row: columns, and the colour; all of the row without them.
    fn surroundings(&self, row: &Result<&[u8], Shown>) -> [(Range<usize>, [f32; 3]); 4] {
        let (Range { start, end }, len) = (self.grid.clone(), self.sampling.x.len as usize);
        let [source, grid] = self.fills();
        match row {
            Ok(_) if self.inner.is_empty() => {
                [(0..start, grid), (start..end, source), (end..len, grid), (len..len, grid)]
            }
            Ok(_) => {
                [(0..start, grid), (start..self.inner.start, source), (self.inner.end..end, source), (end..len, grid)]
            }
            Err(Shown::GridFill) => [(0..len, grid), (len..len, grid), (len..len, grid), (len..len, grid)],
            Err(_) => [(0..start, grid), (start..end, source), (end..len, grid), (len..len, grid)],
        }
    }

    /// Writes output row `i` to `planes`: all reds, all greens, all blues.
    pub(super) fn row(&self, i: usize, planes: &mut [f32]) {
        let row = self.source(i);
        let width = planes.len() / 3;
        let (red, rest) = planes.split_at_mut(width);
        let (green, blue) = rest.split_at_mut(width);
        for (columns, fill) in self.surroundings(&row) {
            for (plane, fill) in [&mut *red, &mut *green, &mut *blue].into_iter().zip(fill) {
                plane[columns.clone()].fill(fill);
            }
        }
        let Ok(pixels) = row else { return };
        let inner = [red, green, blue].map(|plane| &mut plane[self.inner.clone()]);
        match self.size {
            3 => split(pixels.as_chunks::<3>().0, self.mirror, inner),
            _ => split(pixels.as_chunks::<4>().0, self.mirror, inner),
        }
    }

    /// Writes the whole output as bytes: what `row` and `store` give, without floats between.
    pub(super) fn copy(&self, layout: Layout, out: &mut [u8]) {
        let (width, height) = (self.sampling.x.len as usize, self.sampling.y.len as usize);
        for i in 0..height {
            let row = self.source(i);
            let surroundings = self.surroundings(&row);
            match layout {
                Layout::Nhwc => {
                    let out = &mut out[3 * width * i..][..3 * width];
                    for (columns, fill) in surroundings {
                        out[3 * columns.start..3 * columns.end].as_chunks_mut::<3>().0.fill(fill.map(byte));
                    }
                    let Ok(pixels) = row else { continue };
                    let inner = &mut out[3 * self.inner.start..3 * self.inner.end];
                    match (self.size, self.mirror) {
                        (3, false) => inner.copy_from_slice(pixels),
                        (3, true) => narrow(pixels.as_chunks::<3>().0.iter().rev(), inner),
                        (_, false) => narrow(pixels.as_chunks::<4>().0.iter(), inner),
                        (_, true) => narrow(pixels.as_chunks::<4>().0.iter().rev(), inner),
                    }
                }
                Layout::Nchw => {
                    for c in 0..3 {
                        let plane = &mut out[(c * height + i) * width..][..width];
                        for (columns, fill) in &surroundings {
                            plane[columns.clone()].fill(byte(fill[c]));
                        }
                        let Ok(pixels) = row else { continue };
                        let inner = &mut plane[self.inner.clone()];
                        let channel = pixels.chunks_exact(self.size).map(|pixel| pixel[c]);
                        if self.mirror {
                            inner.iter_mut().rev().zip(channel).for_each(|(out, value)| *out = value);
                        } else {
                            inner.iter_mut().zip(channel).for_each(|(out, value)| *out = value);
                        }
                    }
                }
            }
        }
    }
}

/// Pixels to three bytes each.
fn narrow<'a, const N: usize>(pixels: impl Iterator<Item = &'a [u8; N]>, out: &mut [u8]) {
    for (out, pixel) in out.as_chunks_mut::<3>().0.iter_mut().zip(pixels) {
        *out = [pixel[0], pixel[1], pixel[2]];
    }
}

#[multiversion(targets("x86_64+avx2"))]
fn split<const N: usize>(pixels: &[[u8; N]], mirror: bool, planes: [&mut [f32]; 3]) {
    let n = pixels.len();
    let [red, green, blue] = planes.map(|plane| &mut plane[..n]);
    for i in 0..n {
        let [r, g, b] = [0, 1, 2].map(|c| f32::from(pixels[i][c]) * (1.0 / 255.0));
        (red[i], green[i], blue[i]) = (r, g, b);
    }
    if mirror {
        [red, green, blue].into_iter().for_each(<[f32]>::reverse);
    }
}
