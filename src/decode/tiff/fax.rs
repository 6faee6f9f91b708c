//! CCITT's codes for rows of single bits: the modified Huffman code, Group 3 in one and two dimensions, Group 4. A set bit is black.

use std::convert::Infallible;

use fax::decoder::{DecodeStatus, Group4Decoder};
use fax::maps::{Mode, black, mode, white};
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
    if compression == Compression::Group4 {
        return group4(data, width, rows.chunks_exact_mut(bytes));
    }
    let mut bits = Bits { data, at: 0 };
    let (mut above, mut changes) = (Vec::new(), Vec::new());
    for (number, row) in rows.chunks_exact_mut(bytes).enumerate() {
        let alone = match compression {
            Compression::Huffman => {
                bits.at = bits.at.next_multiple_of(8);
                true
            }
            _ => {
                bits.skip_end_of_line();
                // A bit says whether the row is told by the one above it.
                compression == Compression::Group3 || bits.take(1) == 1
            }
        };
        if bits.at >= 8 * data.len() {
            return (number, None);
        }
        changes.clear();
        let read = if alone {
            runs(&mut bits, width, &mut changes)
        } else {
            by_row_above(&mut bits, width, &above, &mut changes)
        };
        if read.is_none() {
            let damaged = bits.at < 8 * data.len();
            return (number, damaged.then_some("its CCITT code is damaged"));
        }
        paint(&changes, width, row);
        std::mem::swap(&mut above, &mut changes);
    }
    (rows.len() / bytes, None)
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
                    paint(decoder.transition(), width, row);
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

/// Reads the runs of a row, white first, as the places where the colour changes.
fn runs(bits: &mut Bits<'_>, width: u16, changes: &mut Vec<u16>) -> Option<()> {
    let (mut at, mut color) = (0_u16, Color::White);
    while at < width {
        at = at.saturating_add(run(bits, color)?);
        changes.push(at);
        color = !color;
    }
    Some(())
}

/// Reads the length of a run.
fn run(bits: &mut Bits<'_>, color: Color) -> Option<u16> {
    let mut sum = 0_u16;
    loop {
        let length = match color {
            Color::White => white::decode(bits)?,
            Color::Black => black::decode(bits)?,
        };
        sum = sum.saturating_add(length);
        // Lengths of 64 and more are parts of a run.
        if length < 64 {
            return Some(sum);
        }
    }
}

/// Reads a row whose changes are told by those of the row above (T.4, 4.2).
fn by_row_above(bits: &mut Bits<'_>, width: u16, above: &[u16], changes: &mut Vec<u16>) -> Option<()> {
    let (mut at, mut color) = (0_u16, Color::White);
    // Changes above that lie behind.
    let mut passed = 0;
    while at < width {
        // The next change above to the other colour; at the start of the row also one in its first column.
        let starts = at == 0 && changes.is_empty();
        while above.get(passed).is_some_and(|&change| change <= at && !starts) {
            passed += 1;
        }
        let index = passed + usize::from((passed % 2 == 1) != (color == Color::Black));
        let next = above.get(index).copied().unwrap_or(width);
        let next = next.min(width);
        match mode::decode(bits)? {
            Mode::Pass => at = above.get(index + 1).map_or(width, |&change| change.min(width)),
            Mode::Vertical(shift) => {
                at = u16::try_from(i32::from(next) + i32::from(shift)).ok().filter(|&to| to >= at)?;
                changes.push(at);
                color = !color;
            }
            Mode::Horizontal => {
                for color in [color, !color] {
                    at = at.saturating_add(run(bits, color)?);
                    changes.push(at);
                }
            }
            Mode::Extension | Mode::EOF => return None,
        }
    }
    Some(())
}

/// Blackens every second run of a row between the places where the colour changes.
fn paint(changes: &[u16], width: u16, row: &mut [u8]) {
    for pair in changes.chunks(2) {
        let to = pair.get(1).copied().unwrap_or(width).min(width);
        (pair[0]..to).for_each(|x| row[usize::from(x / 8)] |= 128 >> (x % 8));
    }
}

/// The bits of the data, the highest of a byte first, then zeros.
struct Bits<'a> {
    data: &'a [u8],
    at: usize,
}

impl Bits<'_> {
    fn take(&mut self, bits: u8) -> u16 {
        let value = self.peek(bits).unwrap_or(0);
        self.at += usize::from(bits);
        value
    }

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
