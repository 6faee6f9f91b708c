//! Huffman codes as tables that give, in one look at the next bits, one or two symbols and the values behind them.
//!
//! A look costs a fixed number of cycles, whatever it gives: on photographs, where a code and its value together take six bits on
//! average, two thirds of the looks give two. Whether an entry holds one symbol or two takes no branch.

use super::markers::Declined;

/// Bits that a look sees. With fewer, pairs become rare; with more, the tables leave the first cache.
const LOOK: u32 = 11;
/// Entries of a table.
const ENTRIES: usize = 1 << LOOK;
/// As `LOOK`, of DC's code.
const DC_LOOK: u32 = 8;
const DC_ENTRIES: usize = 1 << DC_LOOK;
/// Set in an entry that needs more than one look.
const MORE: u32 = 0x80;
/// The advance of "end of block": more than all others can add up to.
const END: usize = 128;
/// Bytes of a stream that a block is read from: 64 symbols of at most 16 + 15 bits, and eight bytes for the last look.
const VIEW: usize = 512 + 8;
/// Bytes that must lie behind a stream: those of a block, and what the window is ahead.
pub(super) const PADDING: usize = VIEW + 8;

/// A code as a DHT segment defines it: how many codes of each length 1..=16, and what they stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Code<'a> {
    pub(super) counts: &'a [u8; 16],
    pub(super) symbols: &'a [u8],
}

/// What a symbol stands for: how far it goes in zigzag order, and the number of bits that its value has behind the code.
fn meaning(dc: bool, symbol: u8) -> (usize, u32) {
    let (run, bits) = (usize::from(symbol >> 4), u32::from(symbol & 15));
    match (dc, run, bits) {
        (true, _, _) => (0, bits),
        (false, 15, 0) => (16, 0),
        // With another run than 0 these are progressive files' runs of blocks; libjpeg's sequential decoder takes them for ends.
        (false, _, 0) => (END, 0),
        (false, _, _) => (run + 1, bits),
    }
}

/// The value that `bits` bits stand for: without their highest bit, which is the window's, they are negative.
#[inline(always)]
fn extend(raw: u32, bits: u32, window: u64) -> i32 {
    let negative = !(window as i64 >> 63) as i32;
    (raw as i32) + (negative & (1 - (1 << bits)))
}

/// The part of a table that any code needs: the canonical way to a symbol, for codes and values that a look cannot hold.
#[derive(Debug, Default)]
struct Canonical {
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
    fn build(&mut self, code: Code<'_>, dc: bool) -> Result<(), Declined> {
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
            if next > 1 << length {
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
    fn read(&self, window: u64) -> Option<(usize, u32, u32)> {
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
/// An entry, from the lowest bit: 8 bits the code's length, 8 the number of the value's bits; 0 where the code is longer than a look.
#[derive(Debug)]
pub(super) struct Dc {
    fast: [u16; DC_ENTRIES],
    canonical: Canonical,
}

/// The code of AC coefficients.
///
/// An entry, from the lowest bit: 6 bits consumed, 1 free, 1 [`MORE`], 8 the advance of all symbols, 4 the first symbol's less 1, 4 the second value, 8 the first.
/// With one symbol both places are the same; that of a lone end of block gets a 0 where there is one. `MORE` as in [`fill`].
#[derive(Debug)]
pub(super) struct Ac {
    fast: [u32; ENTRIES],
    /// For stepping over blocks, as many symbols as a look can tell apart: 6 bits consumed, all values included, 1 free, 1 [`MORE`], 8 the advance of all.
    skip: [u16; ENTRIES],
    /// Whether `skip` is that of this code.
    skips: bool,
    canonical: Canonical,
}

/// Fills `fast` with entries of one symbol. From the lowest bit: 6 bits consumed (code and value), 1 free, 1 [`MORE`], 8 the advance, 16 the value.
/// Where the value does not fit into a look, `MORE` is set, the bits consumed are the code's alone and the value is the number of its bits;
/// where the code does not, the bits consumed are 0.
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
    pub(super) fn build(&mut self, code: Code<'_>) -> Result<(), Declined> {
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
    pub(super) fn build(&mut self, code: Code<'_>, skips: bool) -> Result<(), Declined> {
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

/// Reads a destuffed stretch of a scan from its highest bits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bits<'a> {
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

    /// As [`coefficients`](Self::coefficients) without the coefficients, from looks that give as many symbols as they can tell apart.
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
    pub(super) fn new(bytes: &'a [u8], at: usize) -> Self {
        Bits { bytes, at, window: 0, held: 0 }
    }

    /// Bits read so far, from the start of the bytes.
    pub(super) fn position(&self) -> usize {
        (self.at * 8).wrapping_sub(self.held as usize & 63)
    }

    /// Reads a block's coefficients, all but DC, into `block`; the result is DC's difference and the zigzag index of the last
    /// coefficient. `None` for what no encoder writes.
    #[inline(always)]
    pub(super) fn block(&mut self, dc: &Dc, ac: &Ac, block: &mut Block) -> Option<(i32, usize)> {
        self.read::<false>(dc, ac, block)
    }

    /// Steps over a block; DC's difference.
    #[inline(always)]
    pub(super) fn skip_block(&mut self, dc: &Dc, ac: &Ac, unused: &mut Block) -> Option<i32> {
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
    pub(super) fn skip_bits(&mut self, bits: u32) -> Option<()> {
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

/// Natural (row-major) place of each zigzag index.
#[rustfmt::skip]
pub(super) const NATURAL: [u8; 64] = [
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
pub(super) type Block = [i16; 64];
