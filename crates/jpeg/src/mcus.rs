//! Decodes and skips the MCUs of a scan that has all coefficients of its blocks.

use multiversion::multiversion;

use crate::bits::BitReader;
use crate::frame::{MAX_COMPONENTS, MAX_MCU_BLOCKS};
use crate::huffman::{AcTable, DcTable};
use crate::mcu_reader::McuRange;
use crate::plane_window::{BlockWindow, MAX_PENDING, PendingBlock, PlaneWindow, inverse_dct};

/// The tables with which a component of the scan is decoded.
#[derive(Clone)]
pub(crate) struct ComponentDecoder<'a> {
    /// Columns and rows of the component's blocks in an MCU.
    pub(crate) mcu_width: usize,
    pub(crate) mcu_height: usize,
    pub(crate) dc: &'a DcTable,
    pub(crate) ac: &'a AcTable,
}

/// The position of one of an MCU's blocks, which moves along a row of MCUs.
#[derive(Clone, Copy)]
pub(crate) struct BlockCursor<'a> {
    pub(crate) component: usize,
    pub(crate) dc: &'a DcTable,
    pub(crate) ac: &'a AcTable,
    /// Column of the current block in the window. Blocks outside the window have a column of at least `columns`;
    /// left of the window the number wraps around.
    column: usize,
    /// Columns from one MCU to the next.
    step: usize,
    /// Columns of the window; 0 if the row of blocks is outside of it.
    columns: usize,
    /// Offset of the row's first block in the window's memory.
    row_offset: usize,
    /// Elements from a block to the next one.
    side: usize,
}

impl BlockCursor<'_> {
    /// Moves to the next MCU. Returns the offset of the current block in the window's memory if the region needs the block.
    #[inline(always)]
    pub(crate) fn advance(&mut self) -> Option<usize> {
        let needed = self.column < self.columns;
        let offset = self.row_offset.wrapping_add(self.column.wrapping_mul(self.side));
        self.column = self.column.wrapping_add(self.step);
        needed.then_some(offset)
    }
}

/// Returns a cursor for each block of an MCU, in the order of the data, at the start of `range`, and their number.
/// Returns `None` if the MCU has more than [`MAX_MCU_BLOCKS`] blocks.
#[inline(always)]
pub(crate) fn block_cursors<'a>(
    components: &[ComponentDecoder<'a>],
    windows: &[impl BlockWindow],
    range: McuRange,
) -> Option<([BlockCursor<'a>; MAX_MCU_BLOCKS], usize)> {
    let ComponentDecoder { dc, ac, .. } = components.first()?;
    let unused = BlockCursor { component: 0, dc, ac, column: 0, step: 0, columns: 0, row_offset: 0, side: 0 };
    let mut cursors = [unused; MAX_MCU_BLOCKS];
    let mut count = 0;
    for (component, (decoder, window)) in components.iter().zip(windows).enumerate() {
        let ((columns, rows), (side, row_step)) = (window.area(), window.steps());
        for block in 0..decoder.mcu_height * decoder.mcu_width {
            let (y, x) = (block / decoder.mcu_width, block % decoder.mcu_width);
            let row = (range.row * decoder.mcu_height + y).wrapping_sub(rows.0);
            let needed = row < rows.1 - rows.0;
            *cursors.get_mut(count)? = BlockCursor {
                component,
                dc: decoder.dc,
                ac: decoder.ac,
                column: (range.start * decoder.mcu_width + x).wrapping_sub(columns.0),
                step: decoder.mcu_width,
                columns: if needed { columns.1 - columns.0 } else { 0 },
                row_offset: row.wrapping_mul(row_step),
                side,
            };
            count += 1;
        }
    }
    Some((cursors, count))
}

/// Decodes the needed blocks of a range.
#[multiversion(targets("x86_64+avx2+bmi1+bmi2"))]
pub(crate) fn decode_mcus(
    bits: &mut BitReader<'_>,
    predictors: &mut [i16; MAX_COMPONENTS],
    components: &[ComponentDecoder<'_>],
    windows: &mut [PlaneWindow<'_>],
    range: McuRange,
) -> Option<()> {
    let mut reader = *bits;
    let mut blocks = [[0; 64]; MAX_PENDING];
    let mut pending = [PendingBlock::default(); MAX_PENDING];
    let mut pending_count = 0;
    let (mut cursors, count) = block_cursors(components, windows, range)?;
    for _ in range.start..range.end {
        for cursor in &mut cursors[..count] {
            let block = &mut blocks[pending_count % MAX_PENDING];
            *block = [0; 64];
            let (difference, last) = reader.read_block(cursor.dc, cursor.ac, block)?;
            let predictor = &mut predictors[cursor.component];
            *predictor = predictor.wrapping_add(difference as i16);
            block[0] = *predictor;
            // `BlockCursor::advance` without its branch: the next block overwrites one that is not needed.
            let offset = cursor.row_offset.wrapping_add(cursor.column.wrapping_mul(cursor.side));
            pending[pending_count % MAX_PENDING] = PendingBlock { component: cursor.component, offset, last };
            pending_count += usize::from(cursor.column < cursor.columns);
            cursor.column = cursor.column.wrapping_add(cursor.step);
            if pending_count == MAX_PENDING {
                inverse_dct(&blocks, &pending, windows)?;
                pending_count = 0;
            }
        }
    }
    inverse_dct(&blocks[..pending_count], &pending, windows)?;
    *bits = reader;
    Some(())
}

/// Skips the blocks of a range.
#[multiversion(targets("x86_64+avx2+bmi1+bmi2"))]
pub(crate) fn skip_mcus(
    bits: &mut BitReader<'_>,
    predictors: &mut [i16; MAX_COMPONENTS],
    components: &[ComponentDecoder<'_>],
    range: McuRange,
) -> Option<()> {
    let mut reader = *bits;
    let mut unused = [0; 64];
    for _ in range.start..range.end {
        for (decoder, predictor) in components.iter().zip(&mut *predictors) {
            for _ in 0..decoder.mcu_width * decoder.mcu_height {
                let difference = reader.skip_block(decoder.dc, decoder.ac, &mut unused)?;
                *predictor = predictor.wrapping_add(difference as i16);
            }
        }
    }
    *bits = reader;
    Some(())
}
