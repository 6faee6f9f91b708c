//! Decodes a scan: the blocks that the region needs are decoded, the others are skipped.

use crate::frame::{MAX_COMPONENTS, Scan};
use crate::index::{IndexEntry, MCUS_PER_ENTRY, SeekIndex};
use crate::mcu_reader::{McuRange, McuReader};
use crate::mcus::{ComponentDecoder, decode_mcus, skip_mcus};
use crate::plane_window::PlaneWindow;
use crate::stuffing::{UnstuffOptions, UnstuffedData};

/// Decodes the part of a scan that the region needs.
pub(crate) struct ScanDecoder<'a, 'b> {
    /// The whole file.
    pub(crate) bytes: &'a [u8],
    pub(crate) scan: &'a Scan<'a>,
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
        let fill_before_zero = restart_interval > 0;
        let intervals = self.scan.intervals();
        let options = UnstuffOptions { first_interval, intervals, record_removals: build_index, fill_before_zero };
        data.read(&self.bytes[data_offset..], options);
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
                    entries.push(IndexEntry { bit_offset, predictors: reader.carried.predictors });
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
        reader.read(range, |bits, carried, range| match decodes {
            true => decode_mcus(bits, &mut carried.predictors, components, windows, range),
            false => skip_mcus(bits, &mut carried.predictors, components, range),
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
        if restart_interval > 0 && mcu.is_multiple_of(restart_interval) && entry.predictors != [0; MAX_COMPONENTS] {
            return None;
        }
        let fill_before_zero = restart_interval > 0;
        let intervals = self.scan.intervals();
        data.read(source, UnstuffOptions { first_interval, intervals, record_removals: true, fill_before_zero });
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
            if *expected != (IndexEntry { bit_offset, predictors: reader.carried.predictors }) {
                return None;
            }
        }
        self.decode_or_skip(&mut reader, McuRange { row, start: before, end: columns.1 }, true)
    }
}
