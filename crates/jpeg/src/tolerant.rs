//! Reads the bits of damaged data as libjpeg does: bits that begin no code count as the symbol 0, zeros follow the data, and
//! restart markers are looked for.

use crate::bits::{Block, NATURAL_ORDER};
use crate::huffman::{CanonicalCode, EOB_ADVANCE, extend};
use crate::mcus::BlockCursor;

/// Bits that libjpeg consumes for bits that begin no code.
const INVALID_CODE_BITS: u32 = 17;

/// Reads the bits of a scan and zeros after its end.
pub(crate) struct TolerantReader<'a> {
    bytes: &'a [u8],
    next_byte: usize,
    /// The next bits, highest first, then zeros.
    bit_buffer: u64,
    bits_left: u32,
    /// The marker that ended the data (libjpeg's name).
    unread_marker: Option<u8>,
    /// True after more bits were read than the data have (libjpeg's name).
    pub(crate) insufficient_data: bool,
    restart_interval: usize,
    mcus_to_restart: usize,
    /// Number of the next restart marker.
    next_restart: u8,
}

impl<'a> TolerantReader<'a> {
    /// Starts at the start of a scan's data.
    pub(crate) fn new(bytes: &'a [u8], restart_interval: usize) -> Self {
        TolerantReader {
            bytes,
            next_byte: 0,
            bit_buffer: 0,
            bits_left: 0,
            unread_marker: None,
            insufficient_data: false,
            restart_interval,
            mcus_to_restart: restart_interval,
            next_restart: 0,
        }
    }

    /// Begins an MCU. Returns true if a restart marker precedes it, at which predictors begin anew.
    pub(crate) fn begin_mcu(&mut self) -> bool {
        if self.restart_interval == 0 {
            return false;
        }
        let restarts = self.mcus_to_restart == 0;
        if restarts {
            self.resync_to_restart(self.next_restart);
            (self.mcus_to_restart, self.next_restart) = (self.restart_interval, (self.next_restart + 1) % 8);
        }
        self.mcus_to_restart -= 1;
        restarts
    }

    /// The offset at which to search for the marker behind the scan.
    pub(crate) fn end(&self) -> usize {
        // The marker has been read, or bytes that hold none.
        let read = if self.unread_marker.is_some() { 2 } else { 0 };
        self.next_byte.saturating_sub(read).min(self.bytes.len())
    }

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
    pub(crate) fn symbol(&mut self, canonical: &CanonicalCode) -> (usize, u32) {
        self.refill();
        let (advance, extra_bits, length) =
            canonical.decode(self.bit_buffer).unwrap_or((EOB_ADVANCE, 0, INVALID_CODE_BITS));
        self.skip(length);
        (advance, extra_bits)
    }

    /// Reads extra bits as a signed value.
    pub(crate) fn value(&mut self, extra_bits: u32) -> i16 {
        self.refill();
        let raw = (self.bit_buffer >> 1 >> (63 - extra_bits)) as u32;
        let value = extend(raw, extra_bits, self.bit_buffer);
        self.skip(extra_bits);
        value as i16
    }

    /// Reads at most 16 bits as a number.
    pub(crate) fn number(&mut self, bits: u32) -> u32 {
        self.refill();
        let number = (self.bit_buffer >> 1 >> (63 - bits)) as u32;
        self.skip(bits);
        number
    }

    /// Reads a bit.
    pub(crate) fn bit(&mut self) -> u64 {
        u64::from(self.number(1))
    }

    /// Reads a block. Returns the zigzag index of its last coefficient.
    pub(crate) fn read_block(&mut self, cursor: &BlockCursor<'_>, predictor: &mut i16, block: &mut Block) -> usize {
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
