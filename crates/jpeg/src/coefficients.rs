//! The coefficients of files with several scans: those of the blocks that are needed, and for every block which of them are not
//! zero.

use crate::Error;
use crate::band::BlockRun;
use crate::bits::{Block, NATURAL_ORDER};
use crate::frame::{Frame, MAX_COMPONENTS, Scan};
use crate::mcu_reader::McuRange;
use crate::memory::try_grow;
use crate::plane_window::{BlockWindow, MAX_PENDING, PendingBlock, PlaneWindow, inverse_dct};
use crate::smoothing::Smoothing;

/// The memory of the coefficients. It grows with the largest image.
#[derive(Debug, Default)]
pub(crate) struct Coefficients {
    blocks: Vec<Block>,
    nonzero: Vec<u64>,
}

/// A start and an exclusive end, in blocks.
type Span = (usize, usize);

/// The coefficients of a component.
#[derive(Debug, Default)]
pub(crate) struct CoefficientWindow<'a> {
    /// Columns and rows of the stored blocks: start and exclusive end.
    pub(crate) columns: Span,
    pub(crate) rows: Span,
    /// The quantized coefficients of the stored blocks, in rows without gaps.
    pub(crate) blocks: &'a mut [Block],
    /// For each block of the component, stored or not, the zigzag indices of the AC coefficients that are not zero. Progressive
    /// scans keep it; in other files it is not used.
    nonzero: &'a mut [u64],
    /// Blocks of the component in a row.
    across: usize,
}

impl Coefficients {
    /// The blocks that fit into the memory.
    pub(crate) fn blocks(&self) -> usize {
        self.blocks.len()
    }

    /// Grows the memory to `blocks` blocks.
    pub(crate) fn try_reserve(&mut self, blocks: usize) -> Result<(), Error> {
        try_grow(&mut self.blocks, blocks)?;
        try_grow(&mut self.nonzero, blocks)
    }

    /// Divides the memory among the components of `frame`, with zeros in it. `areas` has columns and rows of the blocks that
    /// are to be stored.
    pub(crate) fn windows(
        &mut self,
        frame: &Frame,
        areas: [(Span, Span); MAX_COMPONENTS],
    ) -> Result<[CoefficientWindow<'_>; MAX_COMPONENTS], Error> {
        const OUTSIDE: Error = Error::Invalid("a region beyond its coefficients");
        let (mut blocks, mut nonzero) = (&mut self.blocks[..], &mut self.nonzero[..]);
        let mut windows: [CoefficientWindow<'_>; MAX_COMPONENTS] = Default::default();
        for (component, (window, (columns, rows))) in windows.iter_mut().zip(areas).enumerate() {
            if component >= frame.components().len() {
                break;
            }
            let (across, down) = frame.grid(component);
            let count = (columns.1 - columns.0) * (rows.1 - rows.0);
            (window.blocks, blocks) = blocks.split_at_mut_checked(count).ok_or(OUTSIDE)?;
            window.blocks.fill([0; 64]);
            (window.nonzero, nonzero) = nonzero.split_at_mut_checked(across * down).ok_or(OUTSIDE)?;
            if frame.progressive {
                window.nonzero[..across * rows.1.min(down)].fill(0);
            }
            (window.columns, window.rows, window.across) = (columns, rows, across);
        }
        Ok(windows)
    }
}

/// Calls `work` with the windows of a scan's components, in the order of the scan.
pub(crate) fn in_scan_order<'a, T>(
    windows: &mut [CoefficientWindow<'a>; MAX_COMPONENTS],
    scan: &Scan<'_>,
    work: impl FnOnce(&mut [CoefficientWindow<'a>]) -> T,
) -> T {
    let indices = scan.component_indices();
    let mut ordered: [CoefficientWindow<'a>; MAX_COMPONENTS] = Default::default();
    for (window, &i) in ordered.iter_mut().zip(indices) {
        *window = std::mem::take(&mut windows[i]);
    }
    let result = work(&mut ordered[..indices.len()]);
    for (window, &i) in ordered.into_iter().zip(indices) {
        windows[i] = window;
    }
    result
}

/// Writes the coefficients of a sequential scan into a block. A second scan of a component changes what is not zero in it, and the
/// DC coefficient, as in libjpeg.
#[inline]
pub(crate) fn overlay(stored: &mut Block, read: &Block) {
    stored[0] = read[0];
    for (stored, value) in stored[1..].iter_mut().zip(&read[1..]) {
        *stored = if *value != 0 { *value } else { *stored };
    }
}

impl BlockWindow for CoefficientWindow<'_> {
    fn area(&self) -> (Span, Span) {
        (self.columns, self.rows)
    }

    fn steps(&self) -> (usize, usize) {
        (1, self.columns.1 - self.columns.0)
    }
}

impl CoefficientWindow<'_> {
    /// The blocks of a range in a row, which are either all stored or not at all; `None` beyond the component's blocks.
    #[inline]
    pub(crate) fn run(&mut self, McuRange { row, start, end }: McuRange) -> Option<BlockRun<'_>> {
        let is_stored = (self.rows.0..self.rows.1).contains(&row) && (self.columns.0..self.columns.1).contains(&start);
        let blocks = match self.offset(row, start) {
            Some(offset) if is_stored => self.blocks.get_mut(offset..offset + (end - start))?,
            _ => &mut [],
        };
        let first = row * self.across;
        Some(BlockRun { nonzero: self.nonzero.get_mut(first + start..first + end)?, blocks })
    }

    /// The offset of a block in `blocks`.
    #[inline]
    fn offset(&self, row: usize, column: usize) -> Option<usize> {
        let (row, column) = (row.checked_sub(self.rows.0)?, column.checked_sub(self.columns.0)?);
        Some(row * (self.columns.1 - self.columns.0) + column)
    }

    /// The stored block at a row and a column.
    fn block(&self, row: usize, column: usize) -> Option<&Block> {
        self.blocks.get(self.offset(row, column)?)
    }

    /// Writes the samples of the blocks in `plane`, which must all be stored. Returns `None` if one is not.
    ///
    /// `in_bands` says that progressive scans have kept `nonzero`. `smoothing` estimates coefficients that the file lacks.
    pub(crate) fn write_samples(
        &self,
        plane: &mut PlaneWindow<'_>,
        in_bands: bool,
        smoothing: Option<&Smoothing>,
    ) -> Option<()> {
        let (side, row_step) = plane.steps();
        let dc = |row, column| self.block(row, column).map_or(0, |block| block[0]);
        let mut smooth = [[0; 64]; MAX_PENDING];
        for row in plane.rows.0..plane.rows.1 {
            for start in (plane.columns.0..plane.columns.1).step_by(MAX_PENDING) {
                let count = MAX_PENDING.min(plane.columns.1 - start);
                let offset = self.offset(row, start)?;
                let mut blocks = self.blocks.get(offset..offset + count)?;
                if let Some(smoothing) = smoothing {
                    for (i, (smooth, block)) in smooth.iter_mut().zip(blocks).enumerate() {
                        *smooth = *block;
                        smoothing.estimate(dc, (row, start + i), smooth);
                    }
                    blocks = &smooth[..count];
                }
                let nonzero = match smoothing.is_none() && in_bands {
                    true => self.nonzero.get(row * self.across + start..)?,
                    false => &[],
                };
                let mut pending = [PendingBlock::default(); MAX_PENDING];
                for (i, (pending, block)) in pending.iter_mut().zip(blocks).enumerate() {
                    pending.offset = (row - plane.rows.0) * row_step + (start - plane.columns.0 + i) * side;
                    pending.last = match nonzero.get(i) {
                        Some(set) => 63 - (set | 1).leading_zeros() as usize,
                        None => last_index(block),
                    };
                }
                inverse_dct(blocks, &pending, std::slice::from_mut(plane))?;
            }
        }
        Some(())
    }
}

/// The zigzag index of a block's last coefficient that is not zero.
fn last_index(block: &Block) -> usize {
    NATURAL_ORDER.iter().rposition(|&at| block[usize::from(at)] != 0).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_scan_keeps_what_it_has_zeros_for_but_the_dc_coefficient() {
        let (mut stored, mut read) = ([0; 64], [0; 64]);
        (stored[0], stored[1], stored[2]) = (5, 6, 7);
        (read[2], read[3]) = (-1, 4);
        overlay(&mut stored, &read);
        assert_eq!(stored[..4], [0, 6, -1, 4]);
        assert_eq!(last_index(&stored), 6);
    }
}
