//! A damaged or cut scan, read as libjpeg-turbo reads it, to the bit: bits that begin no code count as the symbol 0, a
//! marker within the data as zeros up to the end of the MCU, and the MCUs after it are gray up to the next restart
//! marker.
//!
//! This is for [`Request::fill`](crate::Request::fill) alone, and only for scans that `scan.rs` cannot read
//! to the region's end. Every block is read from the scan's start on, so a pixel does not depend on the region.

use crate::bits::{Block, NATURAL};
use crate::huffman::{Canonical, END, extend};
use crate::scan::{Job, Place, Run, Unit, transform, units};

/// Bits that libjpeg takes for a code that there is not.
const NO_CODE: u32 = 17;

/// Decodes the wanted blocks. `None` if they do not lie within their planes.
pub(crate) fn read(job: &mut Job<'_, '_>) -> Option<()> {
    let (_, rows) = job.wanted();
    let scan = job.scan;
    let mut source = Source { bytes: job.bytes.get(scan.at..)?, at: 0, window: 0, held: 0, marker: None, short: false };
    let mut predictors = [0_i16; 3];
    let (mut left, mut interval) = (scan.restart, 0);
    for row in 0..rows.1 {
        let (mut units, count) = units(job.coders, job.parts, Run { row, from: 0, end: scan.mcus.0 })?;
        for _ in 0..scan.mcus.0 {
            if scan.restart > 0 {
                if left == 0 {
                    source.restart(interval);
                    predictors = [0; 3];
                    (left, interval) = (scan.restart, (interval + 1) % 8);
                }
                left -= 1;
            }
            let gray = source.short;
            for unit in &mut units[..count] {
                let mut block = [0; 64];
                let predictor = predictors.get_mut(unit.component)?;
                let last = if gray { 0 } else { source.block(unit, predictor, &mut block) };
                let component = unit.component;
                if let Some(at) = unit.advance() {
                    transform(&[block], &[Place { component, at, last }], job.coders, job.parts)?;
                }
            }
        }
    }
    Some(())
}

/// A scan's bits, as far as there are any, and zeros after them.
struct Source<'a> {
    bytes: &'a [u8],
    at: usize,
    /// The next bits, highest first, zeros below.
    window: u64,
    held: u32,
    /// The marker that has ended the data.
    marker: Option<u8>,
    /// More bits were asked for than the data have.
    short: bool,
}

impl Source<'_> {
    /// Returns the next byte; after the last, the marker of the image's end again and again.
    fn byte(&mut self) -> u8 {
        let byte = match self.bytes.get(self.at) {
            Some(&byte) => byte,
            None => [0xFF, crate::Segments::EOI][(self.at - self.bytes.len()) % 2],
        };
        self.at += 1;
        byte
    }

    /// Returns the byte that follows one or more 0xFF: a marker, or 0 for a stuffed byte.
    fn behind_full(&mut self) -> u8 {
        loop {
            let byte = self.byte();
            if byte != 0xFF {
                return byte;
            }
        }
    }

    /// Leaves 49 bits in the window, or all that there are.
    fn fill(&mut self) {
        while self.held <= 48 && self.marker.is_none() {
            let mut byte = self.byte();
            if byte == 0xFF {
                match self.behind_full() {
                    0 => byte = 0xFF,
                    marker => {
                        self.marker = Some(marker);
                        return;
                    }
                }
            }
            self.window |= u64::from(byte) << (56 - self.held);
            self.held += 8;
        }
    }

    fn skip(&mut self, bits: u32) {
        if bits > self.held {
            // Zeros from here on.
            (self.window, self.held, self.short) = (0, 0, true);
        } else {
            self.window <<= bits;
            self.held -= bits;
        }
    }

    /// A symbol: how far it goes in zigzag order, and how many bits its value has.
    fn symbol(&mut self, canonical: &Canonical) -> (usize, u32) {
        self.fill();
        let (advance, bits, length) = canonical.read(self.window).unwrap_or((END, 0, NO_CODE));
        self.skip(length);
        (advance, bits)
    }

    fn value(&mut self, bits: u32) -> i16 {
        self.fill();
        let raw = (self.window >> 1 >> (63 - bits)) as u32;
        let value = extend(raw, bits, self.window);
        self.skip(bits);
        value as i16
    }

    /// Reads a block; the zigzag index of its last coefficient.
    fn block(&mut self, unit: &Unit<'_>, predictor: &mut i16, block: &mut Block) -> usize {
        let (_, bits) = self.symbol(&unit.dc.canonical);
        *predictor = predictor.wrapping_add(self.value(bits));
        block[0] = *predictor;
        let (mut at, mut last) = (0, 0);
        while at < 63 {
            let (advance, bits) = self.symbol(&unit.ac.canonical);
            if advance == END {
                break;
            }
            at += advance;
            if bits > 0 {
                // A coefficient beyond the end of the block counts as its last one.
                last = at.min(63);
                block[usize::from(NATURAL[last])] = self.value(bits);
            }
        }
        last
    }

    /// Goes on after the restart marker of the number `due`, modulo 8. Another one in its place may have to wait for
    /// its turn, which makes this interval empty, or is late and passed over.
    fn restart(&mut self, due: u8) {
        (self.window, self.held) = (0, 0);
        loop {
            let marker = self.marker.take().unwrap_or_else(|| self.next_marker());
            let early = match marker {
                0xD0..=0xD7 => match (marker - 0xD0).wrapping_sub(due) % 8 {
                    1 | 2 => true,
                    6 | 7 => continue,
                    _ => false,
                },
                0xC0..=0xFF => true,
                _ => continue,
            };
            if early {
                self.marker = Some(marker);
            } else {
                self.short = false;
            }
            return;
        }
    }

    fn next_marker(&mut self) -> u8 {
        loop {
            while self.byte() != 0xFF {}
            match self.behind_full() {
                0 => {}
                marker => return marker,
            }
        }
    }
}
