//! Operators that begin a stage: a file each. They read whole pixels, RGBA8 or four floats, and write the same.

mod autocontrast;
mod blur;
pub(crate) mod elastic;
mod equalize;
mod jpeg;
mod sharpen;
mod warp;

use crate::geometry::Rect;
use crate::pixels::PixelsRef;
use crate::plan::gather::{Gather, GatherKind};
use elastic::ElasticScratch;
use jpeg::JpegScratch;

/// A part of an image: its pixels, and the part's rectangle.
#[derive(Clone, Copy, Debug)]
struct Part<'a, T> {
    pixels: &'a [[T; 4]],
    rect: Rect,
}

impl<T: Copy> Part<'_, T> {
    /// The pixel at column `x` and row `y` of the image.
    #[inline(always)]
    fn at(&self, x: u32, y: u32) -> [T; 4] {
        self.pixels[(y - self.rect.top) as usize * self.rect.width as usize + (x - self.rect.left) as usize]
    }
}

/// The memory of these operators; it grows to the largest image and is reused.
#[derive(Debug, Default)]
pub(super) struct GatherScratch {
    bytes: Vec<[u8; 4]>,
    floats: Vec<[f32; 4]>,
    result_bytes: Vec<[u8; 4]>,
    result_floats: Vec<[f32; 4]>,
    /// Rows that are blurred across.
    across: Vec<[f32; 4]>,
    jpeg: JpegScratch,
    elastic: ElasticScratch,
}

impl GatherScratch {
    /// Makes room for an image of `pixels`, in bytes or in floats.
    pub(super) fn reserve(&mut self, is_uint8: bool, pixels: usize) {
        if is_uint8 {
            for vec in [&mut self.bytes, &mut self.result_bytes] {
                vec.reserve_exact(pixels.saturating_sub(vec.len()));
            }
        } else {
            for vec in [&mut self.floats, &mut self.result_floats] {
                vec.reserve_exact(pixels.saturating_sub(vec.len()));
            }
        }
    }

    /// Makes room for as much as `other` has room for.
    pub(super) fn reserve_like(&mut self, other: &GatherScratch) {
        for (vec, other) in [(&mut self.bytes, &other.bytes), (&mut self.result_bytes, &other.result_bytes)] {
            vec.reserve_exact(other.capacity().saturating_sub(vec.len()));
        }
        for (vec, other) in [
            (&mut self.floats, &other.floats),
            (&mut self.result_floats, &other.result_floats),
            (&mut self.across, &other.across),
        ] {
            vec.reserve_exact(other.capacity().saturating_sub(vec.len()));
        }
        self.jpeg.reserve_like(&other.jpeg);
        self.elastic.reserve_like(&other.elastic);
    }

    /// Allocated bytes.
    pub(super) fn bytes(&self) -> usize {
        let floats = self.floats.capacity() + self.result_floats.capacity() + self.across.capacity();
        4 * (self.bytes.capacity() + self.result_bytes.capacity())
            + 16 * floats
            + self.jpeg.bytes()
            + self.elastic.bytes()
    }
}

/// Runs an operator on the pixels of `region`, and returns those of `window` of its result.
pub(super) fn run<'a>(
    gather: &Gather,
    source: PixelsRef<'_>,
    region: Rect,
    window: Rect,
    scratch: &'a mut GatherScratch,
) -> PixelsRef<'a> {
    if matches!(gather.kind, GatherKind::Blur { .. }) {
        // A blur of bytes computes in floats.
        let pixels = gather.source.0 as usize * gather.source.1 as usize;
        scratch.reserve(false, pixels);
        scratch.across.reserve_exact(pixels.saturating_sub(scratch.across.len()));
    }
    let GatherScratch { bytes, floats, result_bytes, result_floats, across, jpeg, elastic } = scratch;
    let stride = 4 * window.width as usize;
    if gather.is_uint8 {
        read_bytes(source, region, bytes);
        let part = Part { pixels: bytes, rect: region };
        result_bytes.clear();
        match &gather.kind {
            GatherKind::Warp(warp) => warp::bytes(warp, part, gather.source, window, result_bytes),
            GatherKind::Blur { kernel_size, sigma } => {
                read_floats(source, region, floats);
                let part = Part { pixels: &*floats, rect: region };
                blur::run((*kernel_size, *sigma), part, gather.source, window, (across, result_floats));
                result_bytes.extend(result_floats.iter().map(|pixel| pixel.map(byte)));
            }
            GatherKind::Sharpen { ratio } => sharpen::bytes(*ratio, part, gather.source, window, result_bytes),
            GatherKind::Elastic(field) => elastic::bytes(field, part, gather.source, window, (elastic, result_bytes)),
            GatherKind::Jpeg { quality } => jpeg::run(*quality, part, gather.source, window, jpeg, result_bytes),
            GatherKind::Autocontrast => autocontrast::bytes(part, window, result_bytes),
            GatherKind::Equalize => equalize::bytes(part, window, result_bytes),
        }
        return PixelsRef::Bytes { data: result_bytes.as_flattened(), stride, size: 4 };
    }
    read_floats(source, region, floats);
    let part = Part { pixels: &*floats, rect: region };
    result_floats.clear();
    match &gather.kind {
        GatherKind::Warp(warp) => warp::floats(warp, part, gather.source, window, result_floats),
        GatherKind::Blur { kernel_size, sigma } => {
            blur::run((*kernel_size, *sigma), part, gather.source, window, (across, result_floats));
        }
        GatherKind::Sharpen { ratio } => sharpen::floats(*ratio, part, gather.source, window, result_floats),
        GatherKind::Elastic(field) => elastic::floats(field, part, gather.source, window, (elastic, result_floats)),
        GatherKind::Jpeg { .. } => unreachable!("a plan gives it 8-bit numbers"),
        GatherKind::Autocontrast => autocontrast::floats(part, window, result_floats),
        GatherKind::Equalize => equalize::floats(part, window, result_floats),
    }
    PixelsRef::Floats { data: result_floats.as_flattened(), stride }
}

/// The byte of a value in units of 1/255, ties to even.
#[inline(always)]
fn byte(value: f32) -> u8 {
    (value * 255.0).round_ties_even() as u8
}

fn read_bytes(source: PixelsRef<'_>, region: Rect, out: &mut Vec<[u8; 4]>) {
    let (width, height) = (region.width as usize, region.height as usize);
    out.clear();
    match source {
        PixelsRef::Bytes { data, stride, size: 4 } => {
            data.chunks(stride).take(height).for_each(|row| out.extend_from_slice(&row.as_chunks::<4>().0[..width]));
        }
        PixelsRef::Bytes { data, stride, size } => data.chunks(stride).take(height).for_each(|row| {
            let pixels = row[..size * width].chunks_exact(size);
            out.extend(pixels.map(|pixel| [pixel[0], pixel[size / 2], pixel[size - 1], 255]));
        }),
        PixelsRef::Floats { data, stride } => data.chunks(stride).take(height).for_each(|row| {
            out.extend(row.as_chunks::<4>().0[..width].iter().map(|pixel| pixel.map(byte)));
        }),
    }
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
