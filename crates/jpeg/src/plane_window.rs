//! The blocks of a component that a region needs, and their samples.

use multiversion::multiversion;

use crate::bits::{Block, NATURAL_ORDER};
use crate::error::Result;
use crate::frame::MAX_COMPONENTS;
use crate::idct::{self, IdctSize};
use crate::layout::Layout;
use crate::{Error, Rect};

/// The error for plane windows outside the memory for the planes.
pub(crate) const OUTSIDE_PLANES: Error = Error::Invalid("a region beyond its planes");

/// The blocks of a component that the region needs, and the memory for their samples.
#[derive(Debug, Default)]
pub(crate) struct PlaneWindow<'a> {
    /// Columns and rows of the needed blocks in the component: start and exclusive end.
    pub(crate) columns: (usize, usize),
    pub(crate) rows: (usize, usize),
    /// The samples of the needed blocks, in rows without gaps.
    pub(crate) samples: &'a mut [u8],
    pub(crate) idct_size: IdctSize,
    /// The component's quantization table in natural order.
    pub(crate) quantization: NaturalOrder,
}

/// A quantization table in natural order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NaturalOrder(pub(crate) [i16; 64]);

impl NaturalOrder {
    /// Reorders a table in zigzag order.
    pub(crate) fn new(quantization: &[u16; 64]) -> Self {
        let mut natural = [0; 64];
        NATURAL_ORDER.iter().zip(quantization).for_each(|(&to, &value)| natural[usize::from(to)] = value as i16);
        NaturalOrder(natural)
    }
}

impl Default for NaturalOrder {
    fn default() -> Self {
        NaturalOrder([0; 64])
    }
}

impl PlaneWindow<'_> {
    /// Samples in a row.
    pub(crate) fn stride(&self) -> usize {
        self.idct_size.samples() * (self.columns.1 - self.columns.0)
    }
}

/// A rectangle of a component's blocks, and how they lie in memory.
pub(crate) trait BlockWindow {
    /// Columns and rows: start and exclusive end.
    fn area(&self) -> ((usize, usize), (usize, usize));
    /// Elements from a block to the next one, and from a row of blocks to the next one.
    fn steps(&self) -> (usize, usize);
}

impl BlockWindow for PlaneWindow<'_> {
    #[inline(always)]
    fn area(&self) -> ((usize, usize), (usize, usize)) {
        (self.columns, self.rows)
    }

    #[inline(always)]
    fn steps(&self) -> (usize, usize) {
        (self.idct_size.samples(), self.idct_size.samples() * self.stride())
    }
}

/// Number of decoded blocks that wait for their inverse DCT. It reads a block in vectors, which would stall on
/// coefficients that were written one by one just before and have not reached the cache.
pub(crate) const MAX_PENDING: usize = 16;

/// A decoded block that waits for its inverse DCT.
#[derive(Clone, Copy, Default)]
pub(crate) struct PendingBlock {
    pub(crate) component: usize,
    /// Offset of the block's first sample in [`PlaneWindow::samples`].
    pub(crate) offset: usize,
    /// Zigzag index of the last coefficient.
    pub(crate) last: usize,
}

/// Splits `planes` into the plane windows of the components for a region.
pub(crate) fn plane_windows<'a>(
    planes: &'a mut [u8],
    layout: &Layout,
    region: Rect,
) -> Result<[PlaneWindow<'a>; MAX_COMPONENTS]> {
    let mut rest = planes;
    let mut windows: [PlaneWindow<'_>; MAX_COMPONENTS] = Default::default();
    for (window, component) in windows.iter_mut().zip(&layout.components) {
        let samples = component.window(region);
        let side = component.idct_size.samples();
        window.idct_size = component.idct_size;
        window.columns = (samples.left / side, (samples.left + samples.width).div_ceil(side));
        window.rows = (samples.top / side, (samples.top + samples.height).div_ceil(side));
        let length = window.stride() * side * (window.rows.1 - window.rows.0);
        (window.samples, rest) = rest.split_at_mut_checked(length).ok_or(OUTSIDE_PLANES)?;
    }
    Ok(windows)
}

/// Dequantizes blocks and writes their samples to the plane windows. Returns `None` if a block lies outside its window.
#[multiversion(targets("x86_64+avx2"))]
pub(crate) fn inverse_dct(blocks: &[Block], pending: &[PendingBlock], windows: &mut [PlaneWindow<'_>]) -> Option<()> {
    if windows.iter().any(|window| window.idct_size != IdctSize::Eight) {
        return inverse_dct_scaled(blocks, pending, windows);
    }
    for (block, to) in blocks.iter().zip(pending) {
        let window = &mut windows[to.component];
        let stride = window.stride();
        let mut coefficients = [0; 64];
        for ((coefficient, &quantized), &value) in coefficients.iter_mut().zip(block).zip(&window.quantization.0) {
            *coefficient = quantized.wrapping_mul(value);
        }
        idct::idct_8x8(&coefficients, to.last, window.samples.get_mut(to.offset..)?, stride);
    }
    Some(())
}

/// [`inverse_dct`] to blocks of any size. It is a function of its own so that decoding at full size does not choose the
/// size for each block.
#[multiversion(targets("x86_64+avx2"))]
fn inverse_dct_scaled(blocks: &[Block], pending: &[PendingBlock], windows: &mut [PlaneWindow<'_>]) -> Option<()> {
    for (block, to) in blocks.iter().zip(pending) {
        let window = &mut windows[to.component];
        let stride = window.stride();
        let mut coefficients = [0; 64];
        for ((coefficient, &quantized), &value) in coefficients.iter_mut().zip(block).zip(&window.quantization.0) {
            *coefficient = quantized.wrapping_mul(value);
        }
        idct::idct_scaled(window.idct_size, &coefficients, to.last, window.samples.get_mut(to.offset..)?, stride);
    }
    Some(())
}
