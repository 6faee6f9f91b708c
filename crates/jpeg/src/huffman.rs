//! Huffman codes as tables that give, in one look at the next bits, one or two symbols and the values after them;
//! `bits.rs` looks.
//!
//! A look costs a fixed number of cycles, whatever it gives: on photographs, where a code and its value together take
//! six bits on average, nearly half of the looks give two. Whether an entry holds one symbol or two takes no branch.

use crate::error::Unsupported;

/// Bits that a look sees. With fewer, pairs become rare; with more, the tables leave the first cache.
pub(crate) const LOOK: u32 = 11;
/// Entries of a table.
const ENTRIES: usize = 1 << LOOK;
/// As `LOOK`, of DC's code.
pub(crate) const DC_LOOK: u32 = 8;
const DC_ENTRIES: usize = 1 << DC_LOOK;
/// Set in an entry that needs more than one look.
pub(crate) const MORE: u32 = 0x80;
/// The advance of "end of block": more than all others can add up to.
pub(crate) const END: usize = 128;

/// A code as a DHT segment defines it: how many codes of each length 1..=16, and what they stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Code<'a> {
    pub(crate) counts: &'a [u8; 16],
    pub(crate) symbols: &'a [u8],
}

/// The meaning of a symbol: how far it goes in zigzag order, and the number of bits of the value after its code.
fn meaning(dc: bool, symbol: u8) -> (usize, u32) {
    let (run, bits) = (usize::from(symbol >> 4), u32::from(symbol & 15));
    match (dc, run, bits) {
        (true, _, _) => (0, bits),
        (false, 15, 0) => (16, 0),
        // With another run than 0 these are progressive files' runs of blocks; libjpeg's sequential decoder takes them
        // for ends.
        (false, _, 0) => (END, 0),
        (false, _, _) => (run + 1, bits),
    }
}

/// The value that `bits` bits stand for: without their highest bit, which is the window's, they are negative.
#[inline(always)]
pub(crate) fn extend(raw: u32, bits: u32, window: u64) -> i32 {
    let negative = !(window as i64 >> 63) as i32;
    (raw as i32) + (negative & (1 - (1 << bits)))
}

/// The part of a table that any code needs: the canonical way to a symbol, for codes and values that a look cannot hold.
#[derive(Debug, Default)]
pub(crate) struct Canonical {
    /// For each length from 1: the first 16 bits that no code of that length or less begins.
    limits: [u32; 16],
    /// For each length from 1: what, added to a code, gives the place of its symbol.
    offsets: [u32; 16],
    counts: [u8; 16],
    symbols: Vec<u8>,
    /// Whether symbols are DC's: a number of bits alone.
    dc: bool,
}

impl Canonical {
    fn build(&mut self, code: Code<'_>, dc: bool) -> Result<(), Unsupported> {
        if code.symbols.len() > 256 {
            return Err("a Huffman table of more than 256 symbols");
        }
        if dc && code.symbols.iter().any(|&symbol| symbol > 15) {
            return Err("a DC difference of more than 15 bits");
        }
        self.dc = dc;
        self.counts = [0; 16]; // no code, should this one be refused
        self.symbols.clear();
        self.symbols.extend_from_slice(code.symbols);
        let mut next = 0_u32; // the next code, of `length` bits
        let mut place = 0_u32;
        let slots = self.limits.iter_mut().zip(&mut self.offsets);
        for ((length, &count), (limit, offset)) in (1..).zip(code.counts).zip(slots) {
            let count = u32::from(count);
            *offset = place.wrapping_sub(next);
            next += count;
            place += count;
            // A code of ones alone is none either, and libjpeg refuses it.
            if count > 0 && next >= 1 << length {
                return Err("a Huffman table with more codes than fit");
            }
            *limit = next << (16 - length);
            next <<= 1;
        }
        self.counts = *code.counts;
        Ok(())
    }

    /// Whether it was built from `code`.
    fn is(&self, code: Code<'_>) -> bool {
        self.counts == *code.counts && self.symbols == code.symbols && self.counts != [0; 16]
    }

    /// Calls `with` for each code of at most `look` bits in order: length, advance, bits of the value.
    fn each_short(&self, look: u32, mut with: impl FnMut(u32, usize, u32)) {
        let mut symbols = self.symbols.iter();
        for (length, &count) in (1..=look).zip(&self.counts) {
            for &symbol in symbols.by_ref().take(usize::from(count)) {
                let (advance, bits) = meaning(self.dc, symbol);
                with(length, advance, bits);
            }
        }
    }

    /// The code that begins `window`: its advance, the bits of its value, its own length.
    #[cold]
    #[inline(never)]
    pub(crate) fn read(&self, window: u64) -> Option<(usize, u32, u32)> {
        let head = (window >> 48) as u32;
        let slot = self.limits.iter().position(|&limit| head < limit)?;
        let length = 1 + slot as u32;
        let place = (head >> (16 - length)).wrapping_add(self.offsets[slot]);
        let (advance, bits) = meaning(self.dc, *self.symbols.get(place as usize)?);
        Some((advance, bits, length))
    }
}

/// The code of DC differences. The value is read apart: half of them would not fit into a look, as no branch could foresee.
///
/// An entry, from the lowest bit: 8 bits the code's length, 8 the number of the value's bits; 0 where the code is
/// longer than a look.
#[derive(Debug)]
pub(crate) struct Dc {
    pub(crate) fast: [u16; DC_ENTRIES],
    pub(crate) canonical: Canonical,
}

/// The code of AC coefficients.
///
/// An entry, from the lowest bit: 6 bits consumed, 1 free, 1 [`MORE`], 8 the advance of all symbols, 4 the first
/// symbol's less 1, 4 the second value, 8 the first. With one symbol both places are the same; that of a lone end of
/// block gets a 0 where there is one. `MORE` as in [`fill`].
#[derive(Debug)]
pub(crate) struct Ac {
    pub(crate) fast: [u32; ENTRIES],
    /// For stepping over blocks, as many symbols as a look can tell apart: 6 bits consumed, all values included, 1
    /// free, 1 [`MORE`], 8 the advance of all.
    pub(crate) skip: [u16; ENTRIES],
    /// Whether `skip` is that of this code.
    pub(crate) skips: bool,
    pub(crate) canonical: Canonical,
}

/// Fills `fast` with entries of one symbol. From the lowest bit: 6 bits consumed (code and value), 1 free, 1 [`MORE`],
/// 8 the advance, 16 the value. Where the value does not fit into a look, `MORE` is set, the bits consumed are the
/// code's alone and the value is the number of its bits; where the code does not, the bits consumed are 0.
fn fill(fast: &mut [u32; ENTRIES], canonical: &Canonical) {
    let mut filled = 0;
    canonical.each_short(LOOK, |length, advance, bits| {
        let entries = &mut fast[filled..filled + (1 << (LOOK - length))];
        filled += entries.len();
        let common = (advance as u32) << 8;
        if length + bits > LOOK {
            entries.fill(bits << 16 | common | MORE | length);
            return;
        }
        for (raw, entries) in (0..).zip(entries.chunks_exact_mut(1 << (LOOK - length - bits))) {
            let value = extend(raw, bits, u64::from(raw) << 1 << (63 - bits));
            entries.fill((value as u32) << 16 | common | (length + bits));
        }
    });
    fast[filled..].fill(MORE);
}

impl Default for Dc {
    fn default() -> Self {
        Dc { fast: [0; DC_ENTRIES], canonical: Canonical::default() }
    }
}

impl Dc {
    /// Becomes the table of `code`, if it is not.
    pub(crate) fn build(&mut self, code: Code<'_>) -> Result<(), Unsupported> {
        if !self.canonical.is(code) {
            self.canonical.build(code, true)?;
            let mut filled = 0;
            self.canonical.each_short(DC_LOOK, |length, _, bits| {
                let entries = &mut self.fast[filled..filled + (1 << (DC_LOOK - length))];
                filled += entries.len();
                entries.fill((length | bits << 8) as u16);
            });
            self.fast[filled..].fill(0);
        }
        Ok(())
    }
}

impl Default for Ac {
    fn default() -> Self {
        Ac { fast: [0; ENTRIES], skip: [0; ENTRIES], skips: false, canonical: Canonical::default() }
    }
}

impl Ac {
    /// Becomes the table of `code`, if it is not; `skips` says that blocks are to be stepped over, too.
    pub(crate) fn build(&mut self, code: Code<'_>, skips: bool) -> Result<(), Unsupported> {
        let known = self.canonical.is(code);
        if known && (self.skips || !skips) {
            return Ok(());
        }
        self.canonical.build(code, false)?;
        let mut single = [0; ENTRIES];
        fill(&mut single, &self.canonical);
        if !known {
            self.build_pairs(&single);
        }
        self.skips = skips;
        if skips {
            self.build_skips(&single);
        }
        Ok(())
    }

    fn build_pairs(&mut self, single: &[u32; ENTRIES]) {
        for (i, (pair, &first)) in self.fast.iter_mut().zip(single).enumerate() {
            let (used, advance, value) = (first & 63, first >> 8 & 0xFF, first as i32 >> 16);
            *pair = if first & MORE != 0 {
                first
            } else if value as i8 as i32 != value {
                MORE // too large a value; too rare for a way of its own
            } else {
                let second = single[(i << used) % ENTRIES];
                let (both, value_second) = (used + (second & 63), second as i32 >> 16);
                let small = (-8..8).contains(&value_second);
                let pairs = second & MORE == 0 && both <= LOOK && small && advance < END as u32;
                let (bits, advances, value_second) =
                    if pairs { (both, advance + (second >> 8 & 0xFF), value_second) } else { (used, advance, 0) };
                bits | advances << 8
                    | (advance.wrapping_sub(1) & 15) << 16
                    | (value_second as u32 & 15) << 20
                    | (value as u32) << 24
            };
        }
    }

    fn build_skips(&mut self, single: &[u32; ENTRIES]) {
        let mut lengths = [0_u8; ENTRIES];
        let mut filled = 0;
        self.canonical.each_short(LOOK, |length, _, _| {
            lengths[filled..filled + (1 << (LOOK - length))].fill(length as u8);
            filled += 1 << (LOOK - length);
        });
        for (i, skip) in self.skip.iter_mut().enumerate() {
            let (mut bits, mut advance) = (0, 0);
            while advance < 64 {
                let at = (i << bits) % ENTRIES;
                let (entry, length) = (single[at], u32::from(lengths[at]));
                // Zeros are shifted in: a code counts only if all of it was seen. The value may lie behind.
                if length == 0 || bits + length > LOOK {
                    break;
                }
                bits += if entry & MORE == 0 { entry & 63 } else { length + (entry >> 16) };
                advance += entry >> 8 & 0xFF;
            }
            *skip = if bits == 0 { MORE as u16 } else { (bits | advance << 8) as u16 };
        }
    }
}
