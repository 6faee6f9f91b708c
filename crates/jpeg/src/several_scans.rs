//! Decodes files of several scans into coefficients: progressive ones, and sequential ones whose components come apart.
//!
//! A scan is read up to the last block that the region needs; damage after that block is not noticed. Files that lack scans are
//! read whole (`decode.rs`).

use multiversion::multiversion;

use crate::Error;
use crate::band;
use crate::bits::BitReader;
use crate::coefficients::{CoefficientWindow, in_scan_order, overlay};
use crate::error::Result;
use crate::frame::{Frame, MAX_COMPONENTS, Scan};
use crate::huffman_tables::HuffmanTables;
use crate::index::IndexEntry;
use crate::markers::Headers;
use crate::mcu_reader::{Carried, McuRange, McuReader};
use crate::mcus::{ComponentDecoder, block_cursors};
use crate::smoothing::KnownBits;
use crate::stuffing::{UnstuffOptions, UnstuffedData};

/// The error for a scan that cannot be read up to the region's end.
pub(crate) const DAMAGED_SCAN: Error = Error::Damaged("a scan is damaged or cut");

/// The work that a file's scans ask for. A few bytes a scan can cover a large image hundreds of times, so both numbers are
/// limited before a scan is decoded.
#[derive(Debug, Default)]
pub(crate) struct Work {
    pub(crate) scans: usize,
    blocks: u64,
}

impl Work {
    /// Most scans of a file. libjpeg's script for progressive files has ten; libjpeg-turbo's fuzzers stop at 500, too.
    const MAX_SCANS: usize = 500;
    /// Most blocks of 8×8 samples per byte of the file, counting a block once for each scan that covers it. A white picture
    /// has 21 with libjpeg's script, a photograph fewer than 2.
    const BLOCKS_PER_BYTE: u64 = 256;

    /// Adds a scan of a file of `length` bytes.
    pub(crate) fn add(&mut self, frame: &Frame, scan: &Scan<'_>, length: usize) -> Result<()> {
        let in_mcu = |&component: &usize| frame.mcu_blocks(component, scan);
        let blocks: usize = scan.component_indices().iter().map(in_mcu).map(|(columns, rows)| columns * rows).sum();
        self.scans += 1;
        self.blocks += scan.mcus.0 as u64 * scan.mcus.1 as u64 * blocks as u64;
        if self.scans > Self::MAX_SCANS {
            return Err(Error::Unsupported("it has more than 500 scans"));
        }
        if self.blocks > Self::BLOCKS_PER_BYTE * length as u64 {
            return Err(Error::Unsupported(
                "its scans cover more than 256 blocks of 8x8 samples for each of its bytes",
            ));
        }
        Ok(())
    }
}

/// Reads all scans from `first` on into `windows`, each up to the end of its window. Returns the frame with the quantization
/// tables of all components, and which bits the scans had.
///
/// # Errors
/// [`Error::Damaged`] for a scan or a header that cannot be read; [`Error::Unsupported`] beyond the limits of [`Work`].
pub(crate) fn read<'a>(
    bytes: &'a [u8],
    mut headers: Headers<'a>,
    first: Scan<'a>,
    tables: &mut HuffmanTables,
    data: &mut UnstuffedData,
    windows: &mut [CoefficientWindow<'_>; MAX_COMPONENTS],
) -> Result<(Frame, KnownBits)> {
    let (mut work, mut known) = (Work::default(), KnownBits::new());
    let mut next = Some(first);
    while let (Some(scan), Some(frame)) = (next, headers.frame()) {
        work.add(frame, &scan, bytes.len())?;
        tables.build(&scan, false).map_err(|error| if work.scans > 1 { error.as_damage() } else { error })?;
        let end = read_scan(bytes, frame, &scan, tables, data, windows).ok_or(DAMAGED_SCAN)?;
        known.add(&scan);
        headers.continue_at(end);
        next = headers.next_scan().map_err(Error::as_damage)?;
    }
    // The samples of a component without a scan are 128, as libjpeg's.
    Ok((headers.frame().cloned().ok_or(DAMAGED_SCAN)?, known))
}

/// Reads a scan up to the end of its windows. Returns the offset at which to search for the next marker; `None` if the data
/// are damaged or cut.
fn read_scan(
    bytes: &[u8],
    frame: &Frame,
    scan: &Scan<'_>,
    tables: &HuffmanTables,
    data: &mut UnstuffedData,
    windows: &mut [CoefficientWindow<'_>; MAX_COMPONENTS],
) -> Option<usize> {
    let first_interval = (scan.restart_interval > 0).then_some(0);
    let fill_before_zero = frame.progressive || scan.restart_interval > 0;
    let intervals = scan.intervals();
    let options = UnstuffOptions { first_interval, intervals, record_removals: false, fill_before_zero };
    let end = scan.data_offset + data.read(&bytes[scan.data_offset..], options);
    let mut reader = McuReader::new(data, scan.restart_interval, 0, IndexEntry::default())?;
    if frame.progressive && scan.band.first > 0 {
        let window = &mut windows[*scan.component_indices().first()?];
        read_band(&mut reader, scan, tables, window)?;
    } else {
        let components = tables.component_decoders(frame, scan);
        let count = scan.component_indices().len();
        in_scan_order(windows, scan, |windows| read_mcus(&mut reader, frame, scan, &components[..count], windows))?;
    }
    Some(end)
}

/// Reads a progressive scan of AC coefficients, in which each MCU is a block.
fn read_band(
    reader: &mut McuReader<'_>,
    scan: &Scan<'_>,
    tables: &HuffmanTables,
    window: &mut CoefficientWindow<'_>,
) -> Option<()> {
    let (across, down) = scan.mcus;
    let (rows, columns) = (window.rows, (window.columns.0.min(across), window.columns.1.min(across)));
    let end = rows.1.min(down);
    for row in 0..end {
        let until = if row + 1 < end { across } else { columns.1 };
        // The runs of blocks left of the window, in it, and on its right.
        let (left, right) = if row >= rows.0 { columns } else { (until, until) };
        for (start, end) in [(0, left), (left, right), (right, until)] {
            reader.read(McuRange { row, start, end }, |bits, carried, range| {
                let (band, run, rest) = (scan.band, &mut window.run(range)?, &mut carried.end_of_band);
                match band.high {
                    0 => band::read_first(bits, &tables.band, band, rest, run),
                    _ => band::read_refinement(bits, &tables.band, band, rest, run),
                }
            })?;
        }
    }
    Some(())
}

/// Reads a scan of DC coefficients, or of all coefficients of a sequential frame.
fn read_mcus(
    reader: &mut McuReader<'_>,
    frame: &Frame,
    scan: &Scan<'_>,
    components: &[ComponentDecoder<'_>],
    windows: &mut [CoefficientWindow<'_>],
) -> Option<()> {
    let in_mcus = |end: fn(&CoefficientWindow<'_>) -> usize, side: fn(&ComponentDecoder<'_>) -> usize| {
        let ends = components.iter().zip(&*windows).map(|(decoder, window)| end(window).div_ceil(side(decoder)));
        ends.max().unwrap_or(0)
    };
    let columns = in_mcus(|window| window.columns.1, |decoder| decoder.mcu_width).min(scan.mcus.0);
    let rows = in_mcus(|window| window.rows.1, |decoder| decoder.mcu_height).min(scan.mcus.1);
    for row in 0..rows {
        let end = if row + 1 < rows { scan.mcus.0 } else { columns };
        reader.read(McuRange { row, start: 0, end }, |bits, carried, range| {
            match (frame.progressive, scan.band.high) {
                (false, _) => read_blocks(bits, carried, components, windows, range),
                (true, 0) => read_dc(bits, carried, components, windows, range, scan.band.low),
                (true, _) => refine_dc(bits, components, windows, range, scan.band.low),
            }
        })?;
    }
    Some(())
}

/// Reads the upper bits of DC coefficients.
#[multiversion(targets("x86_64+avx2+bmi1+bmi2"))]
fn read_dc(
    bits: &mut BitReader<'_>,
    carried: &mut Carried,
    components: &[ComponentDecoder<'_>],
    windows: &mut [CoefficientWindow<'_>],
    range: McuRange,
    low: u32,
) -> Option<()> {
    let (mut cursors, count) = block_cursors(components, windows, range)?;
    for _ in range.start..range.end {
        let mut reader = bits.open()?;
        for cursor in &mut cursors[..count] {
            reader.refill();
            let difference = reader.dc_difference(cursor.dc)?;
            let predictor = carried.predictors.get_mut(cursor.component)?;
            *predictor = predictor.wrapping_add(difference as i16);
            let value = predictor.wrapping_shl(low);
            if let Some(offset) = cursor.advance() {
                windows[cursor.component].blocks.get_mut(offset)?[0] = value;
            }
        }
        bits.close(reader);
    }
    Some(())
}

/// Reads one more bit of DC coefficients.
#[multiversion(targets("x86_64+avx2+bmi1+bmi2"))]
fn refine_dc(
    bits: &mut BitReader<'_>,
    components: &[ComponentDecoder<'_>],
    windows: &mut [CoefficientWindow<'_>],
    range: McuRange,
    low: u32,
) -> Option<()> {
    let (mut cursors, count) = block_cursors(components, windows, range)?;
    for _ in range.start..range.end {
        let mut reader = bits.open()?;
        // An MCU has ten blocks at most.
        reader.refill();
        for cursor in &mut cursors[..count] {
            let bit = (reader.bits() >> 63) as i16;
            reader.skip(1);
            if let Some(offset) = cursor.advance() {
                windows[cursor.component].blocks.get_mut(offset)?[0] |= bit << low;
            }
        }
        bits.close(reader);
    }
    Some(())
}

/// Reads all coefficients of blocks.
fn read_blocks(
    bits: &mut BitReader<'_>,
    carried: &mut Carried,
    components: &[ComponentDecoder<'_>],
    windows: &mut [CoefficientWindow<'_>],
    range: McuRange,
) -> Option<()> {
    let (mut cursors, count) = block_cursors(components, windows, range)?;
    for _ in range.start..range.end {
        for cursor in &mut cursors[..count] {
            let mut block = [0; 64];
            let (difference, _) = bits.read_block(cursor.dc, cursor.ac, &mut block)?;
            let predictor = carried.predictors.get_mut(cursor.component)?;
            *predictor = predictor.wrapping_add(difference as i16);
            block[0] = *predictor;
            if let Some(offset) = cursor.advance() {
                overlay(windows[cursor.component].blocks.get_mut(offset)?, &block);
            }
        }
    }
    Some(())
}
