//! Mixtures, as AugMix makes them: the image and the results of its chains, each times its weight, added in f32 in the
//! order of the parts. Eight-bit numbers are added as 0 to 255, and their sum is truncated. timm's are blended by Pillow's
//! arithmetic.

use super::{CpuScratch, run_stages};
use crate::allocate::{AUGMENTING, product, reserve_like};
use crate::error::Result;
use crate::geometry::Rect;
use crate::pixels::PixelsRef;
use crate::plan::Plan;
use crate::plan::program::{Mixing, Mixture};
use crate::plan::timm::blend;
use multiversion::multiversion;

/// The memory of mixtures; it grows to the largest image and is reused.
#[derive(Debug, Default)]
pub(super) struct MixtureScratch {
    chain: CpuScratch,
    /// Three planes of the whole image.
    sums: Vec<f32>,
    bytes: Vec<[u8; 4]>,
    floats: Vec<[f32; 4]>,
}

impl MixtureScratch {
    /// Makes room for as much as `other` has room for.
    pub(super) fn reserve_like(&mut self, other: &MixtureScratch) {
        let MixtureScratch { chain, sums, bytes, floats } = self;
        chain.reserve_like(&other.chain);
        reserve_like(sums, &other.sums);
        reserve_like(bytes, &other.bytes);
        reserve_like(floats, &other.floats);
    }

    /// Allocated bytes.
    pub(super) fn bytes(&self) -> usize {
        self.chain.bytes() + 4 * (self.sums.capacity() + self.bytes.capacity()) + 16 * self.floats.capacity()
    }
}

/// Makes a mixture of an image, all of which is in `source`, and returns the pixels of `window`.
pub(super) fn run<'a>(
    plan: &Plan,
    mixture: &Mixture,
    source: PixelsRef<'_>,
    region: Rect,
    window: Rect,
    scratch: &'a mut MixtureScratch,
) -> Result<PixelsRef<'a>> {
    let MixtureScratch { chain, sums, bytes, floats } = scratch;
    let (width, pixels) = (mixture.size.0 as usize, mixture.size.0 as usize * mixture.size.1 as usize);
    sums.clear();
    AUGMENTING.resize(sums, product(3, pixels), 0.0)?;
    let shown = product(window.width as usize, window.height as usize);
    if mixture.is_uint8 {
        AUGMENTING.reserve(bytes, shown)?;
    } else {
        AUGMENTING.reserve(floats, shown)?;
    }
    for (mixing, weight, program) in &mixture.parts {
        run_stages(plan, program, source, region, chain, &mut |y: usize, planes: &[f32]| {
            let count = planes.len() / 3;
            for (sums, plane) in sums.chunks_exact_mut(pixels).zip(planes.chunks_exact(count)) {
                let sums = &mut sums[width * y..][..count];
                match mixing {
                    Mixing::Add if mixture.is_uint8 => add_levels(plane, *weight, sums),
                    Mixing::Add => add(plane, *weight, sums),
                    Mixing::BlendOnto => blend_onto(plane, *weight, sums),
                    Mixing::BlendUnder => blend_under(plane, *weight, sums),
                }
            }
        })?;
    }
    let (red, rest) = sums.split_at(pixels);
    let (green, blue) = rest.split_at(pixels);
    let stride = 4 * window.width as usize;
    let rows = (window.top..window.top + window.height).map(|y| y as usize * width + window.left as usize);
    let colors = rows.flat_map(|first| {
        let row = first..first + window.width as usize;
        red[row.clone()].iter().zip(&green[row.clone()]).zip(&blue[row])
    });
    if mixture.is_uint8 {
        bytes.clear();
        // The cast truncates, and a sum that rounding has brought above 255 stays 255.
        bytes.extend(colors.map(|((r, g), b)| [*r as u8, *g as u8, *b as u8, 255]));
        return Ok(PixelsRef::Bytes { data: bytes.as_flattened(), stride, size: 4 });
    }
    floats.clear();
    floats.extend(colors.map(|((r, g), b)| [*r, *g, *b, 1.0]));
    Ok(PixelsRef::Floats { data: floats.as_flattened(), stride })
}

#[multiversion(targets("x86_64+avx2"))]
fn add(plane: &[f32], weight: f32, sums: &mut [f32]) {
    sums.iter_mut().zip(plane).for_each(|(sum, value)| *sum += weight * value);
}

/// Adds the 8-bit numbers that the floats of a plane stand for.
#[multiversion(targets("x86_64+avx2"))]
fn add_levels(plane: &[f32], weight: f32, sums: &mut [f32]) {
    sums.iter_mut().zip(plane).for_each(|(sum, value)| *sum += weight * (value * 255.0).round_ties_even());
}

/// Blends the whole numbers that are there with the 8-bit numbers of a plane, whose share is `weight`.
#[multiversion(targets("x86_64+avx2"))]
fn blend_onto(plane: &[f32], weight: f32, sums: &mut [f32]) {
    sums.iter_mut().zip(plane).for_each(|(sum, value)| *sum = blend(*sum, (value * 255.0).round_ties_even(), weight));
}

/// Blends the 8-bit numbers of a plane with what is there, cut to whole numbers, whose share is `weight`.
#[multiversion(targets("x86_64+avx2"))]
fn blend_under(plane: &[f32], weight: f32, sums: &mut [f32]) {
    let whole = |sum: f32| sum.clamp(0.0, 255.0).trunc();
    sums.iter_mut()
        .zip(plane)
        .for_each(|(sum, value)| *sum = blend((value * 255.0).round_ties_even(), whole(*sum), weight));
}
