//! CCITT's codes for rows of single bits: the modified Huffman code, Group 3 in one dimension, Group 4. A set bit is black.

use std::convert::Infallible;

use fax::decoder::{DecodeStatus, Group4Decoder};
use fax::maps::{black, white};
use fax::{BitReader, Color};

use super::layout::Compression;

/// Unpacks `rows` rows of `width` bits. Returns the rows that there are, and why no more, if the data are damaged.
pub(super) fn unpack(
    compression: Compression,
    data: &[u8],
    width: u16,
    rows: &mut [u8],
) -> (usize, Option<&'static str>) {
    let bytes = usize::from(width).div_ceil(8);
    rows.fill(0);
    match compression {
        Compression::Group4 => group4(data, width, rows.chunks_exact_mut(bytes)),
        _ => {
            let mut bits = Bits { data, at: 0 };
            for (number, row) in rows.chunks_exact_mut(bytes).enumerate() {
                match compression {
                    Compression::Huffman => bits.at = bits.at.next_multiple_of(8),
                    _ => bits.skip_end_of_line(),
                }
                if bits.at >= 8 * data.len() {
                    return (number, None);
                }
                if !runs(&mut bits, width, row) {
                    let damaged = bits.at < 8 * data.len();
                    return (number, damaged.then_some("a run of its CCITT code is damaged"));
                }
            }
            (rows.len() / bytes, None)
        }
    }
}

fn group4<'a>(data: &[u8], width: u16, rows: impl Iterator<Item = &'a mut [u8]>) -> (usize, Option<&'static str>) {
    // The reader looks ahead.
    let ahead = data.iter().copied().chain([0; 4]).map(Ok::<u8, Infallible>);
    let Ok(mut decoder) = Group4Decoder::new(ahead, width);
    let mut number = 0;
    let mut at_end = false;
    for row in rows {
        // Some writers leave out white rows at the end.
        if !at_end {
            match decoder.advance() {
                Ok(DecodeStatus::Incomplete) => {
                    let changes = decoder.transition().iter().copied();
                    let mut edges = changes.chain([width]);
                    let mut start = 0;
                    let mut color = Color::White;
                    for edge in edges.by_ref() {
                        if color == Color::Black {
                            blacken(row, start, edge.min(width));
                        }
                        start = edge;
                        color = !color;
                    }
                }
                Ok(DecodeStatus::End) if number > 0 => at_end = true,
                Ok(DecodeStatus::End) => return (number, None),
                Err(_) => return (number, Some("its CCITT code is damaged or cut")),
            }
        }
        number += 1;
    }
    (number, None)
}

/// Reads the runs of a row, white first.
fn runs(bits: &mut Bits<'_>, width: u16, row: &mut [u8]) -> bool {
    let (mut at, mut color) = (0_u16, Color::White);
    while at < width {
        let mut end = at;
        loop {
            let length = match color {
                Color::White => white::decode(bits),
                Color::Black => black::decode(bits),
            };
            let Some(length) = length else { return false };
            end = end.saturating_add(length);
            // Lengths of 64 and more are parts of a run.
            if length < 64 {
                break;
            }
        }
        if color == Color::Black {
            blacken(row, at, end.min(width));
        }
        at = end;
        color = !color;
    }
    true
}

fn blacken(row: &mut [u8], from: u16, to: u16) {
    (from..to).for_each(|x| row[usize::from(x / 8)] |= 128 >> (x % 8));
}

/// The bits of the data, the highest of a byte first, then zeros.
struct Bits<'a> {
    data: &'a [u8],
    at: usize,
}

impl Bits<'_> {
    /// Passes over the code for the end of a line, eleven zeros and a one, and zeros before it.
    fn skip_end_of_line(&mut self) {
        while self.peek(11) == Some(0) && self.at < 8 * self.data.len() {
            while self.at < 8 * self.data.len() && self.peek(1) == Some(0) {
                self.at += 1;
            }
            self.at += 1;
        }
    }
}

impl BitReader for Bits<'_> {
    type Error = Infallible;

    fn peek(&self, bits: u8) -> Option<u16> {
        if self.at > 8 * self.data.len() {
            return None;
        }
        let three =
            (0..3).fold(0, |value, n| value << 8 | self.data.get(self.at / 8 + n).copied().map_or(0, u32::from));
        Some((three >> (24 - self.at % 8 - usize::from(bits)) & ((1 << bits) - 1)) as u16)
    }

    fn consume(&mut self, bits: u8) -> Result<(), Infallible> {
        self.at += usize::from(bits);
        Ok(())
    }

    fn bits_to_byte_boundary(&self) -> u8 {
        (self.at.next_multiple_of(8) - self.at) as u8
    }
}
