//! Decodes a damaged or truncated scan exactly as libjpeg-turbo does: bits that begin no code count as the symbol 0;
//! after a marker within the data, zeros are read up to the end of the MCU, and the MCUs from there to the next restart
//! marker are gray.
//!
//! [`Request::fill`](crate::Request::fill) uses this for scans that `scan.rs` cannot read up to the region's end. It
//! reads every block from the scan's start, so that a pixel does not depend on the region.

use crate::bits::{Block, NATURAL_ORDER};
use crate::huffman::{CanonicalCode, EOB_ADVANCE, extend};
use crate::scan::{BlockCursor, McuRange, PendingBlock, ScanDecoder, block_cursors, inverse_dct};

/// Bits that libjpeg consumes for bits that begin no code.
const INVALID_CODE_BITS: u32 = 17;

/// Decodes the needed blocks. Returns `None` if a block lies outside its plane window.
pub(crate) fn decode(decoder: &mut ScanDecoder<'_, '_>) -> Option<()> {
    let (_, rows) = decoder.needed_mcus();
    let scan = decoder.scan;
    let mut reader = TolerantReader {
        bytes: decoder.bytes.get(scan.data_offset..)?,
        next_byte: 0,
        bit_buffer: 0,
        bits_left: 0,
        unread_marker: None,
        insufficient_data: false,
    };
    let mut predictors = [0_i16; 3];
    let (mut mcus_to_restart, mut next_restart) = (scan.restart_interval, 0);
    for row in 0..rows.1 {
        let range = McuRange { row, start: 0, end: scan.mcus.0 };
        let (mut cursors, count) = block_cursors(decoder.components, decoder.windows, range)?;
        for _ in 0..scan.mcus.0 {
            if scan.restart_interval > 0 {
                if mcus_to_restart == 0 {
                    reader.resync_to_restart(next_restart);
                    predictors = [0; 3];
                    (mcus_to_restart, next_restart) = (scan.restart_interval, (next_restart + 1) % 8);
                }
                mcus_to_restart -= 1;
            }
            let gray = reader.insufficient_data;
            for cursor in &mut cursors[..count] {
                let mut block = [0; 64];
                let predictor = predictors.get_mut(cursor.component)?;
                let last = if gray { 0 } else { reader.read_block(cursor, predictor, &mut block) };
                let component = cursor.component;
                if let Some(offset) = cursor.advance() {
                    let pending = PendingBlock { component, offset, last };
                    inverse_dct(&[block], &[pending], decoder.components, decoder.windows)?;
                }
            }
        }
    }
    Some(())
}

/// Reads the bits of a scan and zeros after its end.
struct TolerantReader<'a> {
    bytes: &'a [u8],
    next_byte: usize,
    /// The next bits, highest first, then zeros.
    bit_buffer: u64,
    bits_left: u32,
    /// The marker that ended the data (libjpeg's name).
    unread_marker: Option<u8>,
    /// True after more bits were read than the data have (libjpeg's name).
    insufficient_data: bool,
}

impl TolerantReader<'_> {
    /// Returns the next byte. After the last one it returns end-of-image markers (EOI) endlessly.
    fn byte(&mut self) -> u8 {
        let byte = match self.bytes.get(self.next_byte) {
            Some(&byte) => byte,
            None => [0xFF, crate::Segments::EOI][(self.next_byte - self.bytes.len()) % 2],
        };
        self.next_byte += 1;
        byte
    }

    /// Returns the byte after one or more 0xFF: a marker, or 0 for a stuffed byte.
    fn byte_after_ff(&mut self) -> u8 {
        loop {
            let byte = self.byte();
            if byte != 0xFF {
                return byte;
            }
        }
    }

    /// Refills the bit buffer to at least 49 bits, or with all bits up to the next marker.
    fn refill(&mut self) {
        while self.bits_left <= 48 && self.unread_marker.is_none() {
            let mut byte = self.byte();
            if byte == 0xFF {
                match self.byte_after_ff() {
                    0 => byte = 0xFF,
                    marker => {
                        self.unread_marker = Some(marker);
                        return;
                    }
                }
            }
            self.bit_buffer |= u64::from(byte) << (56 - self.bits_left);
            self.bits_left += 8;
        }
    }

    fn skip(&mut self, bits: u32) {
        if bits > self.bits_left {
            // All further bits are zeros.
            (self.bit_buffer, self.bits_left, self.insufficient_data) = (0, 0, true);
        } else {
            self.bit_buffer <<= bits;
            self.bits_left -= bits;
        }
    }

    /// Decodes a symbol. Returns its advance in zigzag order and its number of extra bits.
    fn symbol(&mut self, canonical: &CanonicalCode) -> (usize, u32) {
        self.refill();
        let (advance, extra_bits, length) =
            canonical.decode(self.bit_buffer).unwrap_or((EOB_ADVANCE, 0, INVALID_CODE_BITS));
        self.skip(length);
        (advance, extra_bits)
    }

    fn value(&mut self, extra_bits: u32) -> i16 {
        self.refill();
        let raw = (self.bit_buffer >> 1 >> (63 - extra_bits)) as u32;
        let value = extend(raw, extra_bits, self.bit_buffer);
        self.skip(extra_bits);
        value as i16
    }

    /// Reads a block. Returns the zigzag index of its last coefficient.
    fn read_block(&mut self, cursor: &BlockCursor<'_>, predictor: &mut i16, block: &mut Block) -> usize {
        let (_, extra_bits) = self.symbol(&cursor.dc.canonical);
        *predictor = predictor.wrapping_add(self.value(extra_bits));
        block[0] = *predictor;
        let (mut k, mut last) = (0, 0);
        while k < 63 {
            let (advance, extra_bits) = self.symbol(&cursor.ac.canonical);
            if advance == EOB_ADVANCE {
                break;
            }
            k += advance;
            if extra_bits > 0 {
                // A coefficient beyond the end of the block is stored as the last one.
                last = k.min(63);
                block[usize::from(NATURAL_ORDER[last])] = self.value(extra_bits);
            }
        }
        last
    }

    /// Continues after the restart marker with the number `desired` (modulo 8), by the rules of libjpeg's
    /// `jpeg_resync_to_restart`. If another marker comes instead, it is either kept for a later interval, which leaves
    /// this interval empty, or skipped because it comes too late.
    fn resync_to_restart(&mut self, desired: u8) {
        (self.bit_buffer, self.bits_left) = (0, 0);
        loop {
            let marker = self.unread_marker.take().unwrap_or_else(|| self.next_marker());
            let is_early = match marker {
                0xD0..=0xD7 => match (marker - 0xD0).wrapping_sub(desired) % 8 {
                    1 | 2 => true,
                    6 | 7 => continue,
                    _ => false,
                },
                0xC0..=0xFF => true,
                _ => continue,
            };
            if is_early {
                self.unread_marker = Some(marker);
            } else {
                self.insufficient_data = false;
            }
            return;
        }
    }

    fn next_marker(&mut self) -> u8 {
        loop {
            while self.byte() != 0xFF {}
            match self.byte_after_ff() {
                0 => {}
                marker => return marker,
            }
        }
    }
}
