//! Decodes damaged or truncated scans exactly as libjpeg-turbo does: bits that begin no code count as the symbol 0;
//! after a marker within the data, zeros are read up to the end of the MCU. The MCUs from there to the next restart marker are gray;
//! in a file of several scans they keep what earlier scans gave them.
//!
//! [`Request::fill`](crate::Request::fill) uses this for files that cannot be read up to the region's end, and for those whose
//! missing coefficients are estimated. It reads every block from the start of each scan, so that a pixel does not depend on
//! the region.

use crate::Error;
use crate::band::{Band, corrected, signed_bit};
use crate::bits::{Block, NATURAL_ORDER};
use crate::coefficients::{CoefficientWindow, in_scan_order, overlay};
use crate::error::Result;
use crate::frame::{Frame, MAX_COMPONENTS, Scan};
use crate::huffman::{CanonicalCode, EOB_ADVANCE};
use crate::huffman_tables::HuffmanTables;
use crate::markers::Headers;
use crate::mcu_reader::McuRange;
use crate::mcus::block_cursors;
use crate::plane_window::{PendingBlock, inverse_dct};
use crate::scan::ScanDecoder;
use crate::several_scans::Work;
use crate::smoothing::KnownBits;
use crate::tolerant::TolerantReader;

/// Decodes the needed blocks of a single scan. Returns `None` if a block lies outside its plane window.
pub(crate) fn decode(decoder: &mut ScanDecoder<'_, '_>) -> Option<()> {
    let (_, rows) = decoder.needed_mcus();
    let scan = decoder.scan;
    let mut reader = TolerantReader::new(decoder.bytes.get(scan.data_offset..)?, scan.restart_interval);
    let mut predictors = [0_i16; MAX_COMPONENTS];
    for row in 0..rows.1 {
        let range = McuRange { row, start: 0, end: scan.mcus.0 };
        let (mut cursors, count) = block_cursors(decoder.components, decoder.windows, range)?;
        for _ in 0..scan.mcus.0 {
            if reader.begin_mcu() {
                predictors = [0; MAX_COMPONENTS];
            }
            let gray = reader.insufficient_data;
            for cursor in &mut cursors[..count] {
                let mut block = [0; 64];
                let predictor = predictors.get_mut(cursor.component)?;
                let last = if gray { 0 } else { reader.read_block(cursor, predictor, &mut block) };
                let component = cursor.component;
                if let Some(offset) = cursor.advance() {
                    let pending = PendingBlock { component, offset, last };
                    inverse_dct(&[block], &[pending], decoder.windows)?;
                }
            }
        }
    }
    Some(())
}

/// Reads all scans of a file, beginning with `first`, into `windows`, which must have all blocks. Invalid headers after a scan end
/// the reading. Returns what [`several_scans::read`](crate::several_scans::read) returns.
///
/// # Errors
/// Those of the first scan's tables, and [`Error::Unsupported`] beyond the limits of [`Work`].
pub(crate) fn read<'a>(
    bytes: &'a [u8],
    mut headers: Headers<'a>,
    first: Scan<'a>,
    tables: &mut HuffmanTables,
    windows: &mut [CoefficientWindow<'_>; MAX_COMPONENTS],
) -> Result<(Frame, KnownBits)> {
    let (mut work, mut known) = (Work::default(), KnownBits::new());
    let mut frame = headers.frame().cloned().ok_or(OUTSIDE)?;
    let mut next = Some(first);
    while let Some(scan) = next {
        work.add(&frame, &scan, bytes.len())?;
        match tables.build(&scan, false) {
            Err(error) if work.scans == 1 => return Err(error),
            Err(_) => break,
            Ok(()) => {}
        }
        known.add(&scan);
        let end = read_scan(bytes, &frame, &scan, tables, windows, &mut known).ok_or(OUTSIDE)?;
        headers.continue_at(end);
        next = headers.next_scan().unwrap_or(None);
        if let (Some(_), Some(with_tables)) = (&next, headers.frame()) {
            frame = with_tables.clone();
        }
    }
    Ok((frame, known))
}

/// The error for a block outside of the memory of coefficients.
const OUTSIDE: Error = Error::Invalid("blocks beyond the coefficients");

/// Reads a scan. Returns the offset at which to search for the next marker.
fn read_scan(
    bytes: &[u8],
    frame: &Frame,
    scan: &Scan<'_>,
    tables: &HuffmanTables,
    windows: &mut [CoefficientWindow<'_>; MAX_COMPONENTS],
    known: &mut KnownBits,
) -> Option<usize> {
    let mut reader = TolerantReader::new(bytes.get(scan.data_offset..)?, scan.restart_interval);
    in_scan_order(windows, scan, |windows| read_mcus(&mut reader, frame, scan, tables, windows, known))?;
    Some(scan.data_offset + reader.end())
}

/// Reads the MCUs of a scan.
fn read_mcus(
    reader: &mut TolerantReader<'_>,
    frame: &Frame,
    scan: &Scan<'_>,
    tables: &HuffmanTables,
    windows: &mut [CoefficientWindow<'_>],
    known: &mut KnownBits,
) -> Option<()> {
    let components = tables.component_decoders(frame, scan);
    let components = &components[..windows.len()];
    let (mut predictors, mut end_of_band) = ([0_i16; MAX_COMPONENTS], 0);
    // Rows of this scan in a row of MCUs of a scan of all components.
    let rows_together = match scan.component_indices() {
        [component] => frame.components()[*component].declared_vertical,
        _ => 1,
    };
    for row in 0..scan.mcus.1 {
        let range = McuRange { row, start: 0, end: scan.mcus.0 };
        let (mut cursors, count) = block_cursors(components, windows, range)?;
        for _ in 0..scan.mcus.0 {
            if !reader.insufficient_data {
                known.last_good_row = row / rows_together;
            }
            if reader.begin_mcu() {
                (predictors, end_of_band) = ([0; MAX_COMPONENTS], 0);
            }
            let is_behind_data = reader.insufficient_data;
            for cursor in &mut cursors[..count] {
                let (component, predictor) = (cursor.component, predictors.get_mut(cursor.component)?);
                let block = windows[component].blocks.get_mut(cursor.advance()?)?;
                let Band { first, high, low, .. } = scan.band;
                match (frame.progressive, first, high) {
                    // Behind the data only zeros are read, which change nothing.
                    (true, 0, 1..) => block[0] |= (reader.bit() << low) as i16,
                    _ if is_behind_data => {}
                    (false, ..) => {
                        let mut read = [0; 64];
                        reader.read_block(cursor, predictor, &mut read);
                        overlay(block, &read);
                    }
                    (true, 0, 0) => {
                        let (_, extra_bits) = reader.symbol(&cursor.dc.canonical);
                        *predictor = predictor.wrapping_add(reader.value(extra_bits));
                        block[0] = predictor.wrapping_shl(low);
                    }
                    (true, _, 0) => read_first(reader, &tables.band.canonical, scan.band, &mut end_of_band, block),
                    (true, ..) => read_refinement(reader, &tables.band.canonical, scan.band, &mut end_of_band, block),
                }
            }
        }
    }
    Some(())
}

/// Returns the place of a coefficient. Those beyond the end of the block are stored as the last one.
fn place(k: usize) -> usize {
    usize::from(NATURAL_ORDER[k.min(63)])
}

/// Reads the upper bits of a band.
fn read_first(
    reader: &mut TolerantReader<'_>,
    canonical: &CanonicalCode,
    band: Band,
    end_of_band: &mut u32,
    block: &mut Block,
) {
    if *end_of_band > 0 {
        *end_of_band -= 1;
        return;
    }
    let mut k = band.first - 1;
    while k < band.last {
        let (advance, extra_bits) = reader.symbol(canonical);
        if advance == EOB_ADVANCE {
            *end_of_band = (1 << extra_bits) + reader.number(extra_bits) - 1;
            return;
        }
        k += advance;
        if extra_bits > 0 {
            block[place(k)] = (i32::from(reader.value(extra_bits)) << band.low) as i16;
        }
    }
}

/// Reads one more bit of a band.
fn read_refinement(
    reader: &mut TolerantReader<'_>,
    canonical: &CanonicalCode,
    band: Band,
    end_of_band: &mut u32,
    block: &mut Block,
) {
    let mut k = band.first;
    if *end_of_band == 0 {
        while k <= band.last {
            let (advance, extra_bits) = reader.symbol(canonical);
            if advance == EOB_ADVANCE {
                *end_of_band = (1 << extra_bits) + reader.number(extra_bits);
                break;
            }
            // libjpeg reads one bit, however many the symbol says.
            let value = if extra_bits > 0 { signed_bit(reader.bit(), band.low) } else { 0 };
            let mut zeros = advance;
            while k <= band.last {
                let coefficient = &mut block[place(k)];
                if *coefficient == 0 {
                    zeros -= 1;
                    if zeros == 0 {
                        break;
                    }
                } else {
                    *coefficient = corrected(*coefficient, reader.bit(), band.low);
                }
                k += 1;
            }
            if value != 0 {
                block[place(k)] = value;
            }
            k += 1;
        }
    }
    if *end_of_band > 0 {
        for k in k..=band.last {
            let coefficient = &mut block[place(k)];
            if *coefficient != 0 {
                *coefficient = corrected(*coefficient, reader.bit(), band.low);
            }
        }
        *end_of_band -= 1;
    }
}
