//! Decodes a scan: the blocks that the region needs are decoded, the others are skipped.

use multiversion::multiversion;

use crate::bits::{BitReader, Block, NATURAL_ORDER};
use crate::huffman::{AcTable, DcTable};
use crate::idct::{self, IdctSize};
use crate::index::{IndexEntry, MCUS_PER_ENTRY, SeekIndex};
use crate::markers::{MAX_MCU_BLOCKS, Scan};
use crate::stuffing::{UnstuffOptions, UnstuffedData};

/// The tables with which a component of the scan is decoded.
#[derive(Clone)]
pub(crate) struct ComponentDecoder<'a> {
    /// Columns and rows of the component's blocks in an MCU.
    pub(crate) mcu_width: usize,
    pub(crate) mcu_height: usize,
    pub(crate) dc: &'a DcTable,
    pub(crate) ac: &'a AcTable,
    /// Quantization table in natural order.
    pub(crate) quantization: [i16; 64],
}

/// Reorders a quantization table from zigzag to natural order.
pub(crate) fn to_natural_order(quantization: &[u16; 64]) -> [i16; 64] {
    let mut natural = [0; 64];
    NATURAL_ORDER.iter().zip(quantization).for_each(|(&to, &value)| natural[usize::from(to)] = value as i16);
    natural
}

/// The blocks of a component that the region needs, and the memory for their samples.
#[derive(Debug, Default)]
pub(crate) struct PlaneWindow<'a> {
    /// Columns and rows of the needed blocks in the component: start and exclusive end.
    pub(crate) columns: (usize, usize),
    pub(crate) rows: (usize, usize),
    /// The samples of the needed blocks, in rows without gaps.
    pub(crate) samples: &'a mut [u8],
    pub(crate) idct_size: IdctSize,
}

impl PlaneWindow<'_> {
    /// Samples in a row.
    pub(crate) fn stride(&self) -> usize {
        self.idct_size.samples() * (self.columns.1 - self.columns.0)
    }
}

/// MCUs `start..end` of a row of MCUs.
#[derive(Clone, Copy)]
pub(crate) struct McuRange {
    pub(crate) row: usize,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// Number of decoded blocks that wait for their inverse DCT. It reads a block in vectors, which would stall on
/// coefficients that were written one by one just before and have not reached the cache.
const MAX_PENDING: usize = 16;

/// A decoded block that waits for its inverse DCT.
#[derive(Clone, Copy, Default)]
pub(crate) struct PendingBlock {
    pub(crate) component: usize,
    /// Offset of the block's first sample in [`PlaneWindow::samples`].
    pub(crate) offset: usize,
    /// Zigzag index of the last coefficient.
    pub(crate) last: usize,
}

/// The position of one of an MCU's blocks, which moves along a row of MCUs.
#[derive(Clone, Copy)]
pub(crate) struct BlockCursor<'a> {
    pub(crate) component: usize,
    pub(crate) dc: &'a DcTable,
    pub(crate) ac: &'a AcTable,
    /// Column of the current block in the plane window. Blocks outside the window have a column of at least `columns`;
    /// left of the window the number wraps around.
    column: usize,
    /// Columns from one MCU to the next.
    step: usize,
    /// Columns of the plane window; 0 if the row of blocks is outside of it.
    columns: usize,
    /// Offset of the row's first sample in [`PlaneWindow::samples`].
    row_offset: usize,
    /// Samples on the side of a block.
    side: usize,
}

impl BlockCursor<'_> {
    /// Moves to the next MCU. Returns the offset of the current block's first sample if the region needs the block.
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
    components: &'a [ComponentDecoder<'a>],
    windows: &[PlaneWindow<'_>],
    range: McuRange,
) -> Option<([BlockCursor<'a>; MAX_MCU_BLOCKS], usize)> {
    let ComponentDecoder { dc, ac, .. } = components.first()?;
    let unused = BlockCursor { component: 0, dc, ac, column: 0, step: 0, columns: 0, row_offset: 0, side: 0 };
    let mut cursors = [unused; MAX_MCU_BLOCKS];
    let mut count = 0;
    for (component, (decoder, window)) in components.iter().zip(windows).enumerate() {
        for block in 0..decoder.mcu_height * decoder.mcu_width {
            let (y, x) = (block / decoder.mcu_width, block % decoder.mcu_width);
            let row = (range.row * decoder.mcu_height + y).wrapping_sub(window.rows.0);
            let needed = row < window.rows.1 - window.rows.0;
            *cursors.get_mut(count)? = BlockCursor {
                component,
                dc: decoder.dc,
                ac: decoder.ac,
                column: (range.start * decoder.mcu_width + x).wrapping_sub(window.columns.0),
                step: decoder.mcu_width,
                columns: if needed { window.columns.1 - window.columns.0 } else { 0 },
                row_offset: row.wrapping_mul(window.idct_size.samples() * window.stride()),
                side: window.idct_size.samples(),
            };
            count += 1;
        }
    }
    Some((cursors, count))
}

/// Decodes the needed blocks of a range.
#[multiversion(targets("x86_64+avx2+bmi1+bmi2"))]
fn decode_mcus(
    bits: &mut BitReader<'_>,
    predictors: &mut [i16; 3],
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
                inverse_dct(&blocks, &pending, components, windows)?;
                pending_count = 0;
            }
        }
    }
    inverse_dct(&blocks[..pending_count], &pending, components, windows)?;
    *bits = reader;
    Some(())
}

/// Dequantizes blocks and writes their samples to the plane windows. Returns `None` if a block lies outside its window.
#[multiversion(targets("x86_64+avx2"))]
pub(crate) fn inverse_dct(
    blocks: &[Block],
    pending: &[PendingBlock],
    components: &[ComponentDecoder<'_>],
    windows: &mut [PlaneWindow<'_>],
) -> Option<()> {
    if windows.iter().any(|window| window.idct_size != IdctSize::Eight) {
        return inverse_dct_scaled(blocks, pending, components, windows);
    }
    for (block, to) in blocks.iter().zip(pending) {
        let (decoder, window) = (&components[to.component], &mut windows[to.component]);
        let stride = window.stride();
        let mut coefficients = [0; 64];
        for ((coefficient, &quantized), &value) in coefficients.iter_mut().zip(block).zip(&decoder.quantization) {
            *coefficient = quantized.wrapping_mul(value);
        }
        idct::idct_8x8(&coefficients, to.last, window.samples.get_mut(to.offset..)?, stride);
    }
    Some(())
}

/// [`inverse_dct`] to blocks of any size. It is a function of its own so that decoding at full size does not choose the
/// size for each block.
#[multiversion(targets("x86_64+avx2"))]
fn inverse_dct_scaled(
    blocks: &[Block],
    pending: &[PendingBlock],
    components: &[ComponentDecoder<'_>],
    windows: &mut [PlaneWindow<'_>],
) -> Option<()> {
    for (block, to) in blocks.iter().zip(pending) {
        let (decoder, window) = (&components[to.component], &mut windows[to.component]);
        let stride = window.stride();
        let mut coefficients = [0; 64];
        for ((coefficient, &quantized), &value) in coefficients.iter_mut().zip(block).zip(&decoder.quantization) {
            *coefficient = quantized.wrapping_mul(value);
        }
        idct::idct_scaled(window.idct_size, &coefficients, to.last, window.samples.get_mut(to.offset..)?, stride);
    }
    Some(())
}

/// Skips the blocks of a range.
#[multiversion(targets("x86_64+avx2+bmi1+bmi2"))]
fn skip_mcus(
    bits: &mut BitReader<'_>,
    predictors: &mut [i16; 3],
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

/// Reads unstuffed data MCU by MCU across restart markers.
struct McuReader<'a> {
    data: &'a UnstuffedData,
    bits: BitReader<'a>,
    predictors: [i16; 3],
    /// MCUs in a restart interval; 0 if there are no restart markers.
    restart_interval: usize,
    /// MCUs before the next restart marker.
    mcus_to_restart: usize,
    /// Number of the current restart interval, counted from the start of the data, and the bit offset of its end.
    interval: usize,
    interval_end: usize,
}

impl<'a> McuReader<'a> {
    /// Starts at MCU number `mcu` of the scan, with the state of `entry`.
    fn new(data: &'a UnstuffedData, restart_interval: usize, mcu: usize, entry: IndexEntry) -> Option<Self> {
        let mut bits = BitReader::new(data.bytes(), 0);
        bits.skip_bits((entry.bit_offset % 8) as u32)?;
        let mcus_to_restart =
            if restart_interval == 0 { usize::MAX } else { restart_interval - mcu % restart_interval };
        let (_, end) = data.interval(0)?;
        let predictors = entry.predictors;
        Some(McuReader {
            data,
            bits,
            predictors,
            restart_interval,
            mcus_to_restart,
            interval: 0,
            interval_end: 8 * end,
        })
    }

    /// Moves to the next restart interval if the current one has ended.
    fn process_restart(&mut self) -> Option<()> {
        if self.mcus_to_restart == 0 {
            self.interval += 1;
            let (start, end) = self.data.interval(self.interval)?;
            self.bits = BitReader::new(self.data.bytes(), start);
            self.interval_end = 8 * end;
            self.predictors = [0; 3];
            self.mcus_to_restart = self.restart_interval;
        }
        Some(())
    }

    /// Reads a range by calling `read_part` for each part of it that lies in one restart interval.
    fn read(
        &mut self,
        mut range: McuRange,
        mut read_part: impl FnMut(&mut BitReader<'a>, &mut [i16; 3], McuRange) -> Option<()>,
    ) -> Option<()> {
        while range.start < range.end {
            self.process_restart()?;
            let end = range.end.min(range.start.saturating_add(self.mcus_to_restart));
            read_part(&mut self.bits, &mut self.predictors, McuRange { end, ..range })?;
            if self.bits.position() > self.interval_end {
                return None;
            }
            if self.restart_interval > 0 {
                self.mcus_to_restart -= end - range.start;
            }
            range.start = end;
        }
        Some(())
    }
}

/// Decodes the part of a scan that the region needs.
pub(crate) struct ScanDecoder<'a, 'b> {
    /// The whole file.
    pub(crate) bytes: &'a [u8],
    pub(crate) scan: &'a Scan,
    /// The scan's components in its order, and their plane windows.
    pub(crate) components: &'a [ComponentDecoder<'a>],
    pub(crate) windows: &'a mut [PlaneWindow<'b>],
}

impl ScanDecoder<'_, '_> {
    /// Returns columns and rows of the MCUs with needed blocks, each as start and exclusive end.
    pub(crate) fn needed_mcus(&self) -> ((usize, usize), (usize, usize)) {
        let hull = |blocks: fn(&PlaneWindow<'_>) -> (usize, usize), side: fn(&ComponentDecoder<'_>) -> usize| {
            self.components.iter().zip(&*self.windows).fold((usize::MAX, 0), |hull, (decoder, window)| {
                let (start, end) = blocks(window);
                (hull.0.min(start / side(decoder)), hull.1.max(end.div_ceil(side(decoder))))
            })
        };
        let columns = hull(|window| window.columns, |decoder| decoder.mcu_width);
        (columns, hull(|window| window.rows, |decoder| decoder.mcu_height))
    }

    /// Decodes from the scan's start to the region's end. With `build_index` it reads on to the scan's end; damage
    /// after the region then costs the index only.
    ///
    /// Returns `None` if the data are damaged or truncated before the region's end.
    pub(crate) fn decode_from_start(
        &mut self,
        data: &mut UnstuffedData,
        build_index: bool,
    ) -> Option<Option<SeekIndex>> {
        let Scan { mcus, restart_interval, data_offset, .. } = *self.scan;
        let first_interval = (restart_interval > 0).then_some(0);
        data.read(&self.bytes[data_offset..], UnstuffOptions { first_interval, record_removals: build_index });
        let data = &*data;
        let (columns, rows) = self.needed_mcus();
        let mut reader = McuReader::new(data, restart_interval, 0, IndexEntry::default())?;
        let entry_count = if build_index { mcus.1 * mcus.0.div_ceil(MCUS_PER_ENTRY) } else { 0 };
        let mut entries = build_index.then(|| Vec::with_capacity(entry_count));
        for row in 0..rows.1 {
            let needed = if (rows.0..rows.1).contains(&row) { columns } else { (0, 0) };
            let end = if row + 1 < rows.1 { mcus.0 } else { columns.1 };
            self.read_row(&mut reader, entries.as_mut(), McuRange { row, start: 0, end }, needed)?;
        }
        let Some(mut entries) = entries else { return Some(None) };
        // The pixels must not depend on whether an index is built, so damage after the region costs the index only.
        // This includes the part of the region's last row on its right.
        let rest_of_row = McuRange { row: rows.1.saturating_sub(1), start: columns.1, end: mcus.0 };
        let rows_after = (rows.1..mcus.1).map(|row| McuRange { row, start: 0, end: mcus.0 });
        for range in std::iter::once(rest_of_row).chain(rows_after) {
            if self.read_row(&mut reader, Some(&mut entries), range, (0, 0)).is_none() {
                return Some(None);
            }
        }
        let mut source_offset = data.source_offsets();
        for entry in &mut entries {
            let bytes = data_offset + source_offset((entry.bit_offset / 8) as usize);
            entry.bit_offset = (bytes * 8) as u64 + entry.bit_offset % 8;
        }
        let scan_end = data_offset + source_offset(reader.bits.position().div_ceil(8));
        Some(Some(SeekIndex::new(mcus, self.components.len(), entries, scan_end as u64)))
    }

    /// Reads a range: decodes the MCUs in columns `needed` and skips the others. Adds index entries to `entries`, with
    /// bit offsets in the unstuffed data.
    fn read_row(
        &mut self,
        reader: &mut McuReader<'_>,
        mut entries: Option<&mut Vec<IndexEntry>>,
        McuRange { row, mut start, end }: McuRange,
        needed: (usize, usize),
    ) -> Option<()> {
        while start < end {
            let decodes = (needed.0..needed.1).contains(&start);
            let border = if decodes {
                needed.1
            } else if start < needed.0 {
                needed.0
            } else {
                end
            };
            let mut next = border.min(end);
            if let Some(entries) = &mut entries {
                if start % MCUS_PER_ENTRY == 0 {
                    reader.process_restart()?;
                    let bit_offset = reader.bits.position() as u64;
                    entries.push(IndexEntry { bit_offset, predictors: reader.predictors });
                }
                next = next.min((start / MCUS_PER_ENTRY + 1) * MCUS_PER_ENTRY);
            }
            self.decode_or_skip(reader, McuRange { row, start, end: next }, decodes)?;
            start = next;
        }
        Some(())
    }

    fn decode_or_skip(&mut self, reader: &mut McuReader<'_>, range: McuRange, decodes: bool) -> Option<()> {
        #[cfg(feature = "trace")]
        crate::trace::record(crate::trace::Read {
            row: range.row,
            start: range.start,
            end: range.end,
            decoded: decodes,
        });
        let ScanDecoder { components, windows, .. } = self;
        reader.read(range, |bits, predictors, range| match decodes {
            true => decode_mcus(bits, predictors, components, windows, range),
            false => skip_mcus(bits, predictors, components, range),
        })
    }

    /// Decodes each needed row of MCUs from the nearest entry of `index`. Returns `None` if the index does not match
    /// the file.
    pub(crate) fn decode_by_index(&mut self, data: &mut UnstuffedData, index: &SeekIndex) -> Option<()> {
        let (columns, rows) = self.needed_mcus();
        let Scan { mcus, data_offset, .. } = *self.scan;
        if !index.matches(mcus, self.components.len(), data_offset) {
            return None;
        }
        for row in rows.0..rows.1 {
            self.decode_row_by_index(data, index, row, columns)?;
        }
        Some(())
    }

    fn decode_row_by_index(
        &mut self,
        data: &mut UnstuffedData,
        index: &SeekIndex,
        row: usize,
        columns: (usize, usize),
    ) -> Option<()> {
        let Scan { mcus, restart_interval, .. } = *self.scan;
        let (entry, start, data_end) = index.seek(row, columns.0, columns.1)?;
        let source = self.bytes.get(usize::try_from(entry.bit_offset / 8).ok()?..data_end.min(self.bytes.len()))?;
        let mcu = row * mcus.0 + start;
        let first_interval = (restart_interval > 0).then(|| mcu / restart_interval);
        if restart_interval > 0 && mcu.is_multiple_of(restart_interval) && entry.predictors != [0; 3] {
            return None;
        }
        data.read(source, UnstuffOptions { first_interval, record_removals: true });
        let data = &*data;
        let mut source_offset = data.source_offsets();
        let mut reader = McuReader::new(data, restart_interval, mcu, entry)?;
        // The index is verified at the last entry on the way; if there is none, at the entry after it. Only entries in
        // the first restart interval verify the predictors at the start, because a restart resets the predictors.
        let reached = columns.1.min(start.saturating_add(reader.mcus_to_restart - 1));
        // The position after the scan's last MCU has no entry.
        let last = match index.entry(row, reached) {
            Some(_) => reached,
            None => reached.min(mcus.0 - 1) / MCUS_PER_ENTRY * MCUS_PER_ENTRY,
        };
        let verified = if last > start { last } else { mcus.0.min(start + MCUS_PER_ENTRY) };
        let before = verified.min(columns.1);
        self.decode_or_skip(&mut reader, McuRange { row, start, end: columns.0 }, false)?;
        self.decode_or_skip(&mut reader, McuRange { row, start: columns.0, end: before }, true)?;
        self.decode_or_skip(&mut reader, McuRange { row, start: before, end: verified }, false)?;
        if let Some(expected) = index.entry(row, verified) {
            reader.process_restart()?;
            let bits = reader.bits.position();
            let bit_offset = (entry.bit_offset / 8 + source_offset(bits / 8) as u64) * 8 + bits as u64 % 8;
            if *expected != (IndexEntry { bit_offset, predictors: reader.predictors }) {
                return None;
            }
        }
        self.decode_or_skip(&mut reader, McuRange { row, start: before, end: columns.1 }, true)
    }
}
