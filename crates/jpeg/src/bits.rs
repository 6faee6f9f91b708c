//! A scan's bits, block by block.
//!
//! A window of 64 bits is refilled without a branch, after as many looks as surely fit into 56 bits. The end is not
//! looked for: behind the data lie zeros, and whoever reads compares positions.

use crate::huffman::{Ac, Canonical, DC_LOOK, Dc, END, LOOK, MORE, extend};

/// Bytes of a stream that a block is read from: 64 symbols of at most 16 + 15 bits, and eight bytes for the last look.
const VIEW: usize = 512 + 8;
/// Bytes that must lie behind a stream: those of a block, and what the window is ahead.
pub(crate) const PADDING: usize = VIEW + 8;

/// Natural (row-major) place of each zigzag index.
#[rustfmt::skip]
pub(crate) const NATURAL: [u8; 64] = [
     0,  1,  8, 16,  9,  2,  3, 10, 17, 24, 32, 25, 18, 11,  4,  5,
    12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13,  6,  7, 14, 21, 28,
    35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51,
    58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63,
];

/// Where the coefficient of a zigzag index goes in a block; those beyond the 64th go where DC will be written.
const PLACE: [u8; 256] = {
    let mut place = [0; 256];
    let mut at = 0;
    while at < 64 {
        place[at] = NATURAL[at];
        at += 1;
    }
    place
};

/// A block of coefficients, row by row, not yet multiplied by their steps.
pub(crate) type Block = [i16; 64];

/// Reads a destuffed stretch of a scan from its highest bits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bits<'a> {
    /// Ends with at least [`PADDING`] bytes behind the data.
    bytes: &'a [u8],
    /// Of the next byte to enter the window.
    at: usize,
    /// The next bits, highest first. Below the `held` ones lie more of the same stream, never anything else.
    window: u64,
    /// How many of the window's bits count, modulo 64.
    held: u32,
}

/// [`Bits`] while it reads one block: the bytes are cut once.
struct View<'a> {
    bytes: &'a [u8; VIEW],
    at: usize,
    window: u64,
    held: u32,
}

/// The zigzag index of a block's last coefficient, if the block can end after an advance to `at`.
#[inline(always)]
fn ended(at: usize) -> Option<usize> {
    match at {
        63 => Some(63),
        _ if at.wrapping_sub(END) < 63 => Some(at - END),
        _ => None,
    }
}

impl View<'_> {
    /// Leaves at least 56 bits in the window.
    #[inline(always)]
    fn refill(&mut self) {
        let held = self.held & 63;
        let at = self.at % 512; // never beyond; tells the compiler
        let mut next = [0; 8];
        next.copy_from_slice(&self.bytes[at..at + 8]);
        self.window |= u64::from_be_bytes(next) >> held;
        self.at += ((held ^ 63) >> 3) as usize;
        self.held = held | 56;
    }

    /// Steps over as many bits as the lowest 6 of `entry` say.
    #[inline(always)]
    fn skip(&mut self, entry: u32) {
        self.window <<= entry & 63;
        self.held = self.held.wrapping_sub(entry); // what lies above 6 bits is masked away by `refill`
    }

    /// The first bits.
    #[inline(always)]
    fn head(&self) -> usize {
        (self.window >> (64 - LOOK)) as usize
    }

    /// One symbol by the canonical way; the window is full before and after.
    #[inline(always)]
    fn one(&mut self, canonical: &Canonical) -> Option<(usize, i32)> {
        self.refill();
        let (advance, bits, length) = canonical.read(self.window)?;
        let value = self.value(bits, length);
        self.refill();
        Some((advance, value))
    }

    /// Steps over a code, reads the value behind it.
    #[inline(always)]
    fn value(&mut self, bits: u32, length: u32) -> i32 {
        self.skip(length);
        let raw = (self.window >> 1 >> (63 - bits)) as u32;
        let value = extend(raw, bits, self.window);
        self.skip(bits);
        value
    }

    #[inline(always)]
    fn more(&mut self, entry: u32, canonical: &Canonical) -> Option<(usize, i32)> {
        match entry & 63 {
            0 => self.one(canonical),
            length => {
                self.refill();
                let value = self.value(entry >> 16 & 15, length);
                self.refill();
                Some(((entry >> 8 & 0xFF) as usize, value))
            }
        }
    }

    #[inline(always)]
    fn difference(&mut self, dc: &Dc) -> Option<i32> {
        let entry = u32::from(dc.fast[(self.window >> (64 - DC_LOOK)) as usize]);
        if entry == 0 {
            return self.one(&dc.canonical).map(|(_, value)| value);
        }
        Some(self.value(entry >> 8 & 15, entry & 31))
    }

    /// The AC coefficients of a block; the zigzag index of the last one. `None` if it is no block.
    #[inline(always)]
    fn coefficients(&mut self, ac: &Ac, block: &mut Block) -> Option<usize> {
        let mut at = 0;
        let mut put = |at: usize, value: i16| block[usize::from(PLACE[at % 256]) % 64] = value;
        loop {
            macro_rules! look {
                () => {
                    let entry = ac.fast[self.head()];
                    if entry & MORE == 0 {
                        self.skip(entry);
                        let first = at + 1 + (entry >> 16 & 15) as usize;
                        at += (entry >> 8 & 0xFF) as usize;
                        // With one symbol both places are the same, and its value comes last.
                        put(at, ((entry << 8) as i32 >> 28) as i16);
                        put(first, (entry as i32 >> 24) as i16);
                        if at >= 63 {
                            let last = ended(at);
                            if last.is_none() && first == 63 {
                                // The second symbol is not this block's.
                                self.rewind(entry as usize & 63);
                                self.one(&ac.canonical)?;
                                return Some(63);
                            }
                            return last;
                        }
                    } else {
                        let (advance, value) = self.more(entry, &ac.canonical)?;
                        at += advance;
                        put(at, value as i16);
                        if at >= 63 {
                            return ended(at);
                        }
                    }
                };
            }
            // The difference has taken at most 23 of 56 bits.
            look!();
            look!();
            look!();
            self.refill();
            look!();
            look!();
            look!();
            look!();
            look!();
            self.refill();
        }
    }

    /// As [`coefficients`](Self::coefficients) without the coefficients, from looks that give as many symbols as they
    /// can tell apart.
    #[inline(always)]
    fn skip_coefficients(&mut self, ac: &Ac) -> Option<usize> {
        let mut at = 0;
        loop {
            macro_rules! look {
                () => {
                    let entry = u32::from(ac.skip[self.head()]);
                    if entry & MORE == 0 {
                        self.skip(entry);
                        let before = at;
                        at += (entry >> 8) as usize;
                        if at >= 63 {
                            if let Some(last) = ended(at) {
                                return Some(last);
                            }
                            // The block's last coefficient ended it, and the look went on; or this is no block.
                            self.rewind(entry as usize & 63);
                            at = before;
                            break;
                        }
                    } else {
                        at += self.one(&ac.canonical)?.0;
                        if at >= 63 {
                            return ended(at);
                        }
                    }
                };
            }
            look!();
            self.refill();
            look!();
            look!();
            self.refill();
        }
        while at < 63 {
            at += self.one(&ac.canonical)?.0;
        }
        ended(at)
    }

    /// Steps back.
    #[inline(always)]
    fn rewind(&mut self, bits: usize) {
        let position = (8 * self.at).wrapping_sub((self.held & 63) as usize + bits);
        (self.at, self.window, self.held) = (position / 8, 0, 0);
        self.refill();
        self.skip((position % 8) as u32);
        self.refill();
    }
}

impl<'a> Bits<'a> {
    /// Starts at byte `at` of `bytes`, which end with at least [`PADDING`] bytes that are no data.
    pub(crate) fn new(bytes: &'a [u8], at: usize) -> Self {
        Bits { bytes, at, window: 0, held: 0 }
    }

    /// Bits read so far, from the start of the bytes.
    pub(crate) fn position(&self) -> usize {
        (self.at * 8).wrapping_sub(self.held as usize & 63)
    }

    /// Reads a block's coefficients, all but DC, into `block`; the result is DC's difference and the zigzag index of
    /// the last coefficient. `None` for what no encoder writes.
    #[inline(always)]
    pub(crate) fn block(&mut self, dc: &Dc, ac: &Ac, block: &mut Block) -> Option<(i32, usize)> {
        self.read::<false>(dc, ac, block)
    }

    /// Steps over a block; DC's difference.
    #[inline(always)]
    pub(crate) fn skip_block(&mut self, dc: &Dc, ac: &Ac, unused: &mut Block) -> Option<i32> {
        let (difference, _) =
            if ac.skips { self.read::<true>(dc, ac, unused) } else { self.read::<false>(dc, ac, unused) }?;
        Some(difference)
    }

    #[inline(always)]
    fn read<const SKIP: bool>(&mut self, dc: &Dc, ac: &Ac, block: &mut Block) -> Option<(i32, usize)> {
        // What the window holds comes from the last eight bytes: `rewind` may need them.
        let base = self.at.saturating_sub(8);
        let bytes = self.bytes.get(base..)?.first_chunk()?;
        let mut view = View { bytes, at: self.at - base, window: self.window, held: self.held };
        view.refill();
        let difference = view.difference(dc)?;
        // No closure: it would be compiled for the baseline.
        let last = if SKIP { view.skip_coefficients(ac) } else { view.coefficients(ac, block) }?;
        (self.window, self.held) = (view.window, view.held);
        self.at = base + view.at;
        Some((difference, last))
    }

    /// Steps over the first bits of a byte, at most 7.
    pub(crate) fn skip_bits(&mut self, bits: u32) -> Option<()> {
        // What the window holds comes from the last eight bytes: `rewind` may need them.
        let base = self.at.saturating_sub(8);
        let bytes = self.bytes.get(base..)?.first_chunk()?;
        let mut view = View { bytes, at: self.at - base, window: self.window, held: self.held };
        view.refill();
        view.skip(bits);
        (self.window, self.held) = (view.window, view.held);
        self.at = base + view.at;
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::huffman::Code;

    /// Codes 00, 01, 100, 1010, 10110 of the AC symbols; 00, 01, 10 for differences of no, one and two bits.
    fn tables(symbols: &[u8]) -> (Dc, Ac) {
        let mut counts = [0; 16];
        counts[1] = 2;
        counts[2..symbols.len()].fill(1);
        let (mut dc, mut ac) = (Dc::default(), Ac::default());
        let code = Code { counts: &[0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], symbols: &[0, 1, 2] };
        dc.build(code).unwrap();
        ac.build(Code { counts: &counts, symbols }, true).unwrap();
        (dc, ac)
    }

    fn stream(bits: &str) -> Vec<u8> {
        let bits: Vec<u8> = bits.bytes().filter(|bit| *bit != b' ').map(|bit| bit - b'0').collect();
        let mut bytes: Vec<u8> =
            bits.chunks(8).map(|byte| byte.iter().enumerate().fold(0, |all, (i, bit)| all | bit << (7 - i))).collect();
        bytes.resize(bytes.len() + PADDING, 0);
        bytes
    }

    /// Decoded and stepped over, blocks end at the same bit.
    fn read(tables: &(Dc, Ac), text: &str) -> Option<(i32, usize, Block, usize)> {
        let bytes = stream(text);
        let (mut one, mut other) = (Bits::new(&bytes, 0), Bits::new(&bytes, 0));
        let mut block = [0; 64];
        let read = one.block(&tables.0, &tables.1, &mut block);
        let skipped = other.skip_block(&tables.0, &tables.1, &mut [0; 64]);
        assert_eq!(read.map(|(difference, _)| difference), skipped);
        let (difference, last) = read?;
        assert_eq!(one.position(), other.position());
        Some((difference, last, block, one.position()))
    }

    #[test]
    fn values_go_to_their_places() {
        // End, one bit at once, sixteen zeros, two bits after two zeros, ten bits at once.
        let tables = tables(&[0x00, 0x01, 0xF0, 0x22, 0x0A]);
        // DC's -2, then 1, 3 behind two zeros, -1023, the end.
        let (difference, last, block, bits) = read(&tables, "10 01 011 1010 11 10110 0000000000 00").unwrap();
        assert_eq!((difference, last, bits), (-2, 5, 30));
        assert_eq!(block[NATURAL[1] as usize], 1);
        assert_eq!(block[NATURAL[4] as usize], 3);
        assert_eq!(block[NATURAL[5] as usize], -1023);
        assert_eq!(block.iter().filter(|value| **value != 0).count(), 3);
        // DC alone.
        assert_eq!(read(&tables, "00 00").map(|(difference, last, _, bits)| (difference, last, bits)), Some((0, 0, 4)));
    }

    #[test]
    fn the_last_coefficient_ends_a_block() {
        let tables = tables(&[0x00, 0x01, 0xF0, 0xE1, 0xE2]);
        // Three times sixteen zeros and one behind fourteen: the 63rd. What follows is the next block's.
        for next in ["00", "01", "1001", "10100000"] {
            let text = format!("00 100 100 100 1010 1 {next}");
            let (_, last, block, bits) = read(&tables, &text).unwrap();
            assert_eq!((last, bits, block[63]), (63, 16, 1), "{next}");
        }
        // All 63, one after the other.
        let (_, last, block, bits) = read(&tables, &format!("00 {} 01", "01 1 ".repeat(63))).unwrap();
        assert_eq!((last, bits), (63, 2 + 3 * 63));
        assert!(block[1..].iter().all(|value| *value == 1));
        // One behind fifteen zeros more is the 64th.
        assert!(read(&tables, "00 100 100 100 01 1 1010 1 00").is_none());
    }

    #[test]
    fn codes_of_nothing_are_refused() {
        let tables = tables(&[0x00, 0x01, 0xF0]);
        assert!(read(&tables, "00 1111111111111111111111").is_none());
        assert!(read(&tables, "11 00").is_none());
        let full = Code { counts: &[2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], symbols: &[0, 1] };
        assert!(Dc::default().build(full).is_err());
    }
}
