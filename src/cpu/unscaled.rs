//! Turns source rows into output rows if nothing is resized: crops, flips and padding of bytes, without tables.
//!
//! The results are those of `resample`, bit for bit: one tap of weight 1.

use super::bytes::widen_row;
use super::cache_lines::CacheLines;
use super::store::byte;
use crate::pixels::PixelsRef;
use crate::plan::Layout;
use crate::plan::sampling::{Axis, Border, Filter, Sampling};
use crate::transforms::PaddingMode;
use multiversion::multiversion;
use std::ops::Range;

/// The part of the output to which the source is copied, and its surroundings.
pub(super) struct Unscaled<'a> {
    data: &'a [u8],
    stride: usize,
    /// Bytes of a pixel: 1, 3 or 4.
    size: usize,
    x: Span,
    y: Span,
    /// The colours around the source, and around the grid.
    fills: [[f32; 3]; 2],
}

/// One axis of the output.
struct Span {
    /// Number of outputs.
    len: usize,
    /// Outputs that show the source. Around them is the source's fill colour, and outside the grid the grid's.
    inner: Range<usize>,
    grid: Range<usize>,
    /// The source pixels that these outputs show; `mirror` is true if the last pixel comes first.
    source: Range<usize>,
    mirror: bool,
}

/// The part of `0..len` in which a window of that length, which begins at `window`, shows a rectangle of `inside`
/// pixels at 0; mirrored, its last pixel comes first.
fn visible(len: i32, window: i32, inside: i32, mirror: bool) -> Range<i32> {
    let start = (-window).clamp(0, len);
    let end = (inside - window).clamp(start, len);
    if mirror { len - end..len - start } else { start..end }
}

/// True if a border shows only its colour.
fn is_plain(border: Option<Border>) -> bool {
    border.is_some_and(|border| border.mode == PaddingMode::Constant)
}

impl Span {
    /// Makes the span of one axis; `None` if a border repeats pixels of the source.
    fn new(axis: &Axis, sampling: &Sampling) -> Option<Span> {
        let Axis { len, grid_window, grid_start, grid_len, view_len, source_window, source_len, .. } = *axis;
        let (grid_mirror, view_mirror) = (axis.grid_mirror == 1, axis.view_mirror == 1);
        let grid = visible(len, grid_window, grid_len, grid_mirror);
        let view = visible(view_len, source_window, source_len, view_mirror);
        if (grid != (0..len) && !is_plain(sampling.grid_border))
            || (view != (0..view_len) && !is_plain(sampling.source_border))
        {
            return None;
        }
        // The outputs that show the source, inside the grid.
        let seen = visible(len, grid_window - (view.start - grid_start), view.len() as i32, grid_mirror);
        let start = seen.start.max(grid.start);
        let inner = start..seen.end.min(grid.end).max(start);
        let mut source = 0..0;
        if !inner.is_empty() {
            let at = |i: i32| {
                let i = if grid_mirror { len - 1 - i } else { i };
                let view = i + grid_window + grid_start;
                let view = if view_mirror { view_len - 1 - view } else { view };
                view + source_window + axis.source_start
            };
            let (first, last) = (at(inner.start), at(inner.end - 1));
            source = first.min(last) as usize..first.max(last) as usize + 1;
        }
        let range = |range: Range<i32>| range.start as usize..range.end as usize;
        let mirror = grid_mirror != view_mirror;
        Some(Span { len: len as usize, inner: range(inner), grid: range(grid), source, mirror })
    }

    /// The source pixel that output `i` shows.
    fn source(&self, i: usize) -> Option<usize> {
        let offset = self.inner.contains(&i).then(|| i - self.inner.start)?;
        Some(if self.mirror { self.source.end - 1 - offset } else { self.source.start + offset })
    }
}

impl<'a> Unscaled<'a> {
    /// `None` if `resample` is needed, because pixels are mixed, or repeated by a border.
    pub(super) fn new(sampling: &Sampling, source: PixelsRef<'a>) -> Option<Self> {
        let PixelsRef::Bytes { data, stride, size } = source else { return None };
        if sampling.filter != Filter::Nearest || (sampling.x.scale, sampling.y.scale) != (1.0, 1.0) {
            return None;
        }
        let (x, y) = (Span::new(&sampling.x, sampling)?, Span::new(&sampling.y, sampling)?);
        let fill = |border: Option<Border>| border.map_or([0.0; 3], |border| border.fill);
        Some(Unscaled { data, stride, size, x, y, fills: [sampling.source_border, sampling.grid_border].map(fill) })
    }

    /// The source's pixels that output row `i` shows.
    fn source(&self, i: usize) -> Option<&'a [u8]> {
        let (columns, start) = (&self.x.source, self.y.source(i)? * self.stride);
        Some(&self.data[start + self.size * columns.start..start + self.size * columns.end])
    }

    /// The columns around the source's pixels in row `i`, with their colours; together the whole row if it has no
    /// source pixels.
    fn surroundings(&self, i: usize) -> [(Range<usize>, [f32; 3]); 4] {
        let Span { len, inner, grid, .. } = &self.x;
        let [source, outside] = self.fills;
        let (start, end) = if self.y.grid.contains(&i) { (grid.start, grid.end) } else { (*len, *len) };
        let inner = if self.y.inner.contains(&i) && !inner.is_empty() { inner.clone() } else { end..end };
        [(0..start, outside), (start..inner.start, source), (inner.end..end, source), (end..*len, outside)]
    }

    /// Writes output rows from `first` on to `planes`, as many as there is room for: all their reds, all greens, all
    /// blues.
    pub(super) fn rows(&self, first: usize, planes: &mut [f32]) {
        let width = self.x.len;
        let (red, rest) = planes.split_at_mut(planes.len() / 3);
        let (green, blue) = rest.split_at_mut(red.len());
        let rows = red.chunks_exact_mut(width).zip(green.chunks_exact_mut(width)).zip(blue.chunks_exact_mut(width));
        for (i, ((red, green), blue)) in (first..).zip(rows) {
            let mut planes = [red, green, blue];
            self.surround(i, &mut planes);
            let Some(pixels) = self.source(i) else { continue };
            let [red, green, blue] = planes.map(|plane| &mut plane[self.x.inner.clone()]);
            match self.size {
                1 => {
                    convert(pixels, self.x.mirror, red);
                    green.copy_from_slice(red);
                    blue.copy_from_slice(red);
                }
                3 => split(pixels.as_chunks::<3>().0, self.x.mirror, [red, green, blue]),
                _ => split(pixels.as_chunks::<4>().0, self.x.mirror, [red, green, blue]),
            }
        }
    }

    /// Writes output rows of gray pixels from `first` on to `plane`, as `rows` does.
    pub(super) fn gray_rows(&self, first: usize, plane: &mut [f32]) {
        for (i, row) in (first..).zip(plane.chunks_exact_mut(self.x.len)) {
            self.surround(i, &mut [&mut *row]);
            if let Some(pixels) = self.source(i) {
                convert(pixels, self.x.mirror, &mut row[self.x.inner.clone()]);
            }
        }
    }

    /// True if the source is gray.
    pub(super) fn is_gray(&self) -> bool {
        self.size == 1
    }

    /// Writes the surroundings of the source's pixels in row `i`.
    fn surround(&self, i: usize, planes: &mut [&mut [f32]]) {
        for (columns, fill) in self.surroundings(i).into_iter().filter(|(columns, _)| !columns.is_empty()) {
            for (plane, fill) in planes.iter_mut().zip(fill) {
                plane[columns.clone()].fill(fill);
            }
        }
    }

    /// Writes the whole output as RGBA8, colours of borders rounded to nearest.
    pub(super) fn pixels(&self, out: &mut [[u8; 4]]) {
        for (i, out) in out.chunks_exact_mut(self.x.len.max(1)).enumerate() {
            for (columns, fill) in self.surroundings(i) {
                let [r, g, b] = fill.map(|value| (value * 255.0 + 0.5) as u8);
                out[columns].fill([r, g, b, 255]);
            }
            let Some(pixels) = self.source(i) else { continue };
            let out = &mut out[self.x.inner.clone()];
            match self.size {
                1 => out.iter_mut().zip(pixels).for_each(|(out, &gray)| *out = [gray, gray, gray, 255]),
                3 => widen_row(pixels.as_chunks().0, out),
                _ => out.copy_from_slice(pixels.as_chunks().0),
            }
            if self.x.mirror {
                out.reverse();
            }
        }
    }

    /// Writes the whole output as bytes, from pixels of 3 or 4 bytes: the result of `rows` and `store`, without floats
    /// in between.
    pub(super) fn copy(&self, layout: Layout, out: &mut [u8]) {
        let (width, height) = (self.x.len, self.y.len);
        for i in 0..height {
            let row = self.source(i);
            let surroundings = self.surroundings(i);
            match layout {
                Layout::Nhwc => {
                    let out = &mut out[3 * width * i..][..3 * width];
                    for (columns, fill) in surroundings {
                        out[3 * columns.start..3 * columns.end].as_chunks_mut::<3>().0.fill(fill.map(byte));
                    }
                    let Some(pixels) = row else { continue };
                    let inner = &mut out[3 * self.x.inner.start..3 * self.x.inner.end];
                    match (self.size, self.x.mirror) {
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
                        let Some(pixels) = row else { continue };
                        let inner = &mut plane[self.x.inner.clone()];
                        let channel = pixels.chunks_exact(self.size).map(|pixel| pixel[c]);
                        if self.x.mirror {
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

/// Copies the first three bytes of each pixel.
fn narrow<'a, const N: usize>(pixels: impl Iterator<Item = &'a [u8; N]>, out: &mut [u8]) {
    for (out, pixel) in out.as_chunks_mut::<3>().0.iter_mut().zip(pixels) {
        *out = [pixel[0], pixel[1], pixel[2]];
    }
}

/// Converts gray pixels to floats.
#[multiversion(targets("x86_64+avx2"))]
fn convert(pixels: &[u8], mirror: bool, out: &mut [f32]) {
    for (value, &byte) in out.iter_mut().zip(pixels) {
        *value = f32::from(byte) * (1.0 / 255.0);
    }
    if mirror {
        out.reverse();
    }
}

/// Splits pixels into planes of floats, through a word for each pixel: vectors split words fast, and groups of three
/// bytes slowly.
#[multiversion(targets("x86_64+avx2"))]
fn split<const N: usize>(pixels: &[[u8; N]], mirror: bool, [red, green, blue]: [&mut [f32]; 3]) {
    const PIXELS: usize = 64;
    let n = pixels.len();
    let (red, green, blue) = (&mut red[..n], &mut green[..n], &mut blue[..n]);
    let mut words = CacheLines([0u32; PIXELS]);
    for (block, first) in pixels.chunks(PIXELS).zip((0..).step_by(PIXELS)) {
        let words = &mut words.0[..block.len()];
        // Four pixels of three bytes are three words.
        let (fours, rest) = if N == 3 { block.as_chunks::<4>() } else { (&[][..], block) };
        let (to, to_rest) = words.split_at_mut(4 * fours.len());
        for (to, four) in to.as_chunks_mut::<4>().0.iter_mut().zip(fours) {
            let bytes = four.as_flattened().as_chunks::<4>().0;
            let [a, b, c] = [bytes[0], bytes[1], bytes[2]].map(u32::from_le_bytes);
            *to = [a, a >> 24 | b << 8, b >> 16 | c << 16, c >> 8];
        }
        for (to, pixel) in to_rest.iter_mut().zip(rest) {
            *to = u32::from_le_bytes([pixel[0], pixel[1], pixel[2], 0]);
        }
        for (plane, shift) in [(&mut *red, 0), (&mut *green, 8), (&mut *blue, 16)] {
            for (value, word) in plane[first..][..words.len()].iter_mut().zip(&*words) {
                *value = (word >> shift & 255) as f32 * (1.0 / 255.0);
            }
        }
    }
    if mirror {
        [red, green, blue].into_iter().for_each(<[f32]>::reverse);
    }
}
