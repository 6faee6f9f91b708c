//! Operators that begin a stage: a file each. They read whole pixels, RGBA8 or four floats, and write the same.
//! `nearest.rs` and `positions.rs` belong to `warp.rs`.

mod autocontrast;
mod blur;
pub(crate) mod elastic;
mod equalize;
mod jpeg;
mod nearest;
mod pillow_affine;
mod pillow_blur;
mod pillow_enhance;
mod positions;
mod sharpen;
mod warp;

use super::bytes::{self, ByteTable};
use crate::allocate::{AUGMENTING, product, reserve_like};
use crate::error::Result;
use crate::geometry::Rect;
use crate::pixels::PixelsRef;
use crate::plan::gather::{Enhance, Gather, GatherKind};
use blur::Blur;
use elastic::ElasticScratch;
use jpeg::JpegScratch;
use pillow_blur::PillowBlurScratch;
use std::ops::Range;

/// A part of an image: its pixels, the number of pixels from one row to the next, and the part's rectangle.
#[derive(Clone, Copy, Debug)]
struct Part<'a, T> {
    pixels: &'a [[T; 4]],
    stride: usize,
    rect: Rect,
}

impl<T: Copy> Part<'_, T> {
    /// The pixel at column `x` and row `y` of the image.
    #[inline(always)]
    fn at(&self, x: u32, y: u32) -> [T; 4] {
        self.pixels[(y - self.rect.top) as usize * self.stride + (x - self.rect.left) as usize]
    }

    /// The part's pixels in row `y` of the image.
    fn row(&self, y: u32) -> &[[T; 4]] {
        &self.pixels[(y - self.rect.top) as usize * self.stride..][..self.rect.width as usize]
    }

    /// The part's rows.
    fn rows(&self) -> impl Iterator<Item = &[[T; 4]]> {
        self.pixels.chunks(self.stride).take(self.rect.height as usize).map(|row| &row[..self.rect.width as usize])
    }

    /// The part's pixels: all at once if its rows follow each other, else row by row.
    fn runs(&self) -> impl Iterator<Item = &[[T; 4]]> {
        let (width, height) = (self.rect.width as usize, self.rect.height as usize);
        let (len, count) = if self.stride == width { (width * height, 1) } else { (width, height) };
        self.pixels.chunks(self.stride.max(len)).take(count).map(move |run| &run[..len])
    }

    /// The rows of a window of the part.
    fn rows_of(&self, window: Rect) -> impl Iterator<Item = &[[T; 4]]> {
        let (columns, skipped) = (self.columns(window), (window.top - self.rect.top) as usize);
        self.rows().skip(skipped).take(window.height as usize).map(move |row| &row[columns.clone()])
    }

    /// The columns of a window in a row of the part.
    fn columns(&self, window: Rect) -> Range<usize> {
        let first = (window.left - self.rect.left) as usize;
        first..first + window.width as usize
    }
}

/// The memory of these operators; it grows to the largest image and is reused.
#[derive(Debug, Default)]
pub(super) struct GatherScratch {
    bytes: Vec<[u8; 4]>,
    floats: Vec<[f32; 4]>,
    result: Vec<[f32; 4]>,
    /// Rows that are blurred across.
    across: Vec<f32>,
    /// A row with its reflections.
    row: Vec<f32>,
    jpeg: JpegScratch,
    elastic: ElasticScratch,
    pillow_blur: PillowBlurScratch,
}

impl GatherScratch {
    /// Makes room for an image of `pixels`, in bytes or in floats.
    ///
    /// # Errors
    /// Those of [`Use::reserve`](crate::allocate::Use::reserve).
    pub(super) fn reserve(&mut self, is_uint8: bool, pixels: usize) -> Result<()> {
        if is_uint8 {
            return AUGMENTING.reserve(&mut self.bytes, pixels);
        }
        AUGMENTING.reserve(&mut self.floats, pixels)?;
        AUGMENTING.reserve(&mut self.result, pixels)
    }

    /// Makes room for the rows of a blur, of `channels` floats a pixel: those that are blurred across, and one with its
    /// reflections. `window` is what the result shows.
    fn reserve_rows(&mut self, gather: &Gather, window: Rect, channels: usize) -> Result<()> {
        let GatherKind::Blur { kernel_size, .. } = gather.kind else { return Ok(()) };
        let (width, height) = gather.source;
        AUGMENTING.reserve(&mut self.across, product(channels * width as usize, height as usize))?;
        AUGMENTING.reserve(&mut self.row, channels * (window.width as usize + kernel_size[0] as usize))
    }

    /// Makes room for as much as `other` has room for.
    pub(super) fn reserve_like(&mut self, other: &GatherScratch) {
        let GatherScratch { bytes, floats, result, across, row, jpeg, elastic, pillow_blur } = self;
        reserve_like(bytes, &other.bytes);
        for (vec, other) in [(floats, &other.floats), (result, &other.result)] {
            reserve_like(vec, other);
        }
        for (vec, other) in [(across, &other.across), (row, &other.row)] {
            reserve_like(vec, other);
        }
        jpeg.reserve_like(&other.jpeg);
        elastic.reserve_like(&other.elastic);
        pillow_blur.reserve_like(&other.pillow_blur);
    }

    /// Allocated bytes.
    pub(super) fn bytes(&self) -> usize {
        let pixels = 4 * (self.floats.capacity() + self.result.capacity());
        4 * (self.bytes.capacity() + pixels + self.across.capacity() + self.row.capacity())
            + self.jpeg.bytes()
            + self.elastic.bytes()
            + self.pillow_blur.bytes()
    }
}

/// Runs an operator on the pixels of `region` in 8-bit numbers, and writes the pixels of `window` of its result to
/// `out`. All memory is asked for here: the operators find it in their buffers.
///
/// # Errors
/// Those of [`Use::reserve`](crate::allocate::Use::reserve).
pub(super) fn bytes(
    gather: &Gather,
    source: PixelsRef<'_>,
    region: Rect,
    window: Rect,
    scratch: &mut GatherScratch,
    out: &mut Vec<[u8; 4]>,
) -> Result<()> {
    scratch.reserve_rows(gather, window, 3)?;
    AUGMENTING.reserve(out, product(window.width as usize, window.height as usize))?;
    let GatherScratch { bytes, across, row, jpeg, elastic, pillow_blur, .. } = scratch;
    let part = match source {
        PixelsRef::Bytes { data, stride, size: 4 } if stride % 4 == 0 => {
            Part { pixels: data.as_chunks().0, stride: stride / 4, rect: region }
        }
        _ => {
            AUGMENTING.reserve(bytes, product(region.width as usize, region.height as usize))?;
            bytes::widen(source, (region.width as usize, region.height as usize), bytes);
            Part { pixels: &*bytes, stride: region.width as usize, rect: region }
        }
    };
    match &gather.kind {
        GatherKind::Warp(warp) => warp::bytes(warp, part, gather.source, window, out),
        &GatherKind::Blur { kernel_size, sigma } => {
            Blur { kernel_size, sigma, part, size: gather.source, window }.bytes(across, row, out);
        }
        GatherKind::Sharpen { ratio } => sharpen::bytes(*ratio, part, gather.source, window, out),
        GatherKind::Elastic(field) => {
            out.clear();
            elastic::bytes(field, part, gather.source, window, elastic, out)?;
        }
        GatherKind::Jpeg { quality } => {
            out.clear();
            jpeg::run(*quality, part, gather.source, window, jpeg, out)?;
        }
        GatherKind::PillowAffine(affine) => {
            out.clear();
            pillow_affine::bytes(affine, part, gather.source, window, out);
        }
        GatherKind::PillowBlur(boxes) => {
            out.clear();
            pillow_blur::run(*boxes, part, window, pillow_blur, out)?;
        }
        GatherKind::Autocontrast => autocontrast::bytes(part, window, out),
        GatherKind::Equalize => equalize::bytes(part, window, out),
        GatherKind::Table(numbers) => {
            let table = ByteTable::new(|k| numbers[usize::from(k)]);
            out.clear();
            ByteTable::look_up_rows([&table; 3], part.rows_of(window), out);
        }
        GatherKind::PillowAutocontrast => autocontrast::pillow_bytes(part, window, out),
        GatherKind::Enhance(Enhance::Color, factor) => pillow_enhance::color(*factor, part, window, out),
        GatherKind::Enhance(Enhance::Contrast, factor) => pillow_enhance::contrast(*factor, part, window, out),
        GatherKind::Enhance(Enhance::Sharpness, factor) => {
            pillow_enhance::sharpness(*factor, part, gather.source, window, out);
        }
    }
    Ok(())
}

/// Runs an operator on the pixels of `region` in floats, and returns those of `window` of its result.
///
/// # Errors
/// Those of [`Use::reserve`](crate::allocate::Use::reserve).
pub(super) fn floats<'a>(
    gather: &Gather,
    source: PixelsRef<'_>,
    region: Rect,
    window: Rect,
    scratch: &'a mut GatherScratch,
) -> Result<PixelsRef<'a>> {
    scratch.reserve_rows(gather, window, 4)?;
    let GatherScratch { floats, result, across, row, elastic, .. } = scratch;
    AUGMENTING.reserve(floats, product(region.width as usize, region.height as usize))?;
    AUGMENTING.reserve(result, product(window.width as usize, window.height as usize))?;
    read_floats(source, region, floats);
    let part = Part { pixels: &*floats, stride: region.width as usize, rect: region };
    result.clear();
    match &gather.kind {
        GatherKind::Warp(warp) => warp::floats(warp, part, gather.source, window, result),
        &GatherKind::Blur { kernel_size, sigma } => {
            Blur { kernel_size, sigma, part, size: gather.source, window }.floats(across, row, result);
        }
        GatherKind::Sharpen { ratio } => sharpen::floats(*ratio, part, gather.source, window, result),
        GatherKind::Elastic(field) => elastic::floats(field, part, gather.source, window, elastic, result)?,
        GatherKind::Jpeg { .. }
        | GatherKind::PillowAffine(_)
        | GatherKind::PillowBlur(_)
        | GatherKind::Table(_)
        | GatherKind::PillowAutocontrast
        | GatherKind::Enhance(..) => {
            unreachable!("a plan gives it 8-bit numbers")
        }
        GatherKind::Autocontrast => autocontrast::floats(part, window, result),
        GatherKind::Equalize => equalize::floats(part, window, result),
    }
    Ok(PixelsRef::Floats { data: result.as_flattened(), stride: 4 * window.width as usize })
}

fn read_floats(source: PixelsRef<'_>, region: Rect, out: &mut Vec<[f32; 4]>) {
    let (width, height) = (region.width as usize, region.height as usize);
    let float = |byte: u8| f32::from(byte) * (1.0 / 255.0);
    out.clear();
    match source {
        PixelsRef::Bytes { data, stride, size } => data.chunks(stride).take(height).for_each(|row| {
            let pixels = row[..size * width].chunks_exact(size);
            let last = if size == 1 { 0 } else { 2 };
            out.extend(pixels.map(|pixel| [float(pixel[0]), float(pixel[last / 2]), float(pixel[last]), 1.0]));
        }),
        PixelsRef::Floats { data, stride } => {
            data.chunks(stride).take(height).for_each(|row| out.extend_from_slice(&row.as_chunks::<4>().0[..width]));
        }
    }
}

#[cfg(test)]
mod tests;
