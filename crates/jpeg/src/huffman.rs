//! Huffman lookup tables. `bits.rs` peeks at the next bits and uses them as the index of a table entry, which holds one
//! or two decoded symbols with their coefficient values.
//!
//! A lookup takes a fixed number of cycles, however many symbols it decodes. In photographs a code and its extra bits
//! take six bits on average, so nearly half of the lookups decode two symbols. Entries with one and with two symbols
//! are decoded by the same instructions, without a branch.

use crate::Error;

/// Bits that one AC lookup peeks at. With fewer bits, entries with two symbols become rare; with more, the tables no
/// longer fit into the first-level cache.
pub(crate) const AC_PEEK_BITS: u32 = 11;
pub(crate) const AC_ENTRIES: usize = 1 << AC_PEEK_BITS;
/// Bits that one DC lookup peeks at.
pub(crate) const DC_PEEK_BITS: u32 = 8;
const DC_ENTRIES: usize = 1 << DC_PEEK_BITS;
/// Flag of an entry that lacks the value or the whole symbol, because they take more bits than a lookup peeks at.
pub(crate) const INCOMPLETE: u32 = 0x80;
/// The advance of the end-of-block symbol (EOB). It exceeds the sum of all other advances in a block.
pub(crate) const EOB_ADVANCE: usize = 128;

/// A Huffman table as a DHT segment specifies it (T.81 B.2.4.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HuffmanSpec<'a> {
    /// Number of codes of each length 1..=16 (BITS).
    pub(crate) counts: &'a [u8; 16],
    /// The symbols in the order of their codes (HUFFVAL).
    pub(crate) symbols: &'a [u8],
}

/// The meaning of a table's symbols.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Symbols {
    /// Sizes of DC differences.
    #[default]
    Dc,
    /// Runs and sizes of AC coefficients in a sequential scan.
    Ac,
    /// Runs and sizes of AC coefficients in a progressive scan, whose end-of-band symbols may cover several blocks.
    Band,
}

/// Splits a symbol into its advance in zigzag order (the run of zeros plus 1) and the number of extra bits that follow
/// its code.
fn classify(symbols: Symbols, symbol: u8) -> (usize, u32) {
    let (run, extra_bits) = (usize::from(symbol >> 4), u32::from(symbol & 15));
    match (symbols, run, extra_bits) {
        (Symbols::Dc, _, _) => (0, extra_bits),
        (_, 15, 0) => (16, 0),
        (Symbols::Band, _, 0) => (EOB_ADVANCE, run as u32),
        // libjpeg's sequential decoder treats a progressive file's end-of-band symbols as EOB.
        (Symbols::Ac, _, 0) => (EOB_ADVANCE, 0),
        (_, _, _) => (run + 1, extra_bits),
    }
}

/// Converts extra bits into a signed value (EXTEND of T.81 F.2.2.1). `raw` has the bits as a number; `bit_buffer`
/// begins with them. The value is negative if the first of them is 0.
#[inline(always)]
pub(crate) fn extend(raw: u32, extra_bits: u32, bit_buffer: u64) -> i32 {
    let negative = !(bit_buffer as i64 >> 63) as i32;
    (raw as i32) + (negative & (1 - (1 << extra_bits)))
}

/// Decodes codes of any length by comparing them with the code ranges of each length (T.81 F.2.2.3). It serves codes
/// and values that do not fit into a lookup.
#[derive(Debug, Default)]
pub(crate) struct CanonicalCode {
    /// The exclusive end of the codes of each length from 1, left-aligned to 16 bits.
    code_ends: [u32; 16],
    /// The number to add to a code of each length from 1 to get the index of its symbol (libjpeg's `valoffset`).
    symbol_offsets: [u32; 16],
    counts: [u8; 16],
    symbols: Vec<u8>,
    meaning: Symbols,
}

impl CanonicalCode {
    pub(crate) fn build(&mut self, spec: HuffmanSpec<'_>, meaning: Symbols) -> Result<(), Error> {
        if meaning == Symbols::Dc && spec.symbols.iter().any(|&symbol| symbol > 15) {
            return Err(Error::Invalid("a DC difference of more than 15 bits"));
        }
        self.meaning = meaning;
        // Stays empty if the specification is rejected below, so that `was_built_from` returns false.
        self.counts = [0; 16];
        self.symbols.clear();
        self.symbols.extend_from_slice(spec.symbols);
        let mut next_code = 0_u32; // of `length` bits
        let mut symbol_index = 0_u32;
        let slots = self.code_ends.iter_mut().zip(&mut self.symbol_offsets);
        for ((length, &count), (code_end, symbol_offset)) in (1..).zip(spec.counts).zip(slots) {
            let count = u32::from(count);
            *symbol_offset = symbol_index.wrapping_sub(next_code);
            next_code += count;
            symbol_index += count;
            // T.81 reserves the code of all ones, and libjpeg rejects a table that uses it.
            if count > 0 && next_code >= 1 << length {
                return Err(Error::Invalid("a Huffman table with more codes than their lengths allow"));
            }
            *code_end = next_code << (16 - length);
            next_code <<= 1;
        }
        self.counts = *spec.counts;
        Ok(())
    }

    pub(crate) fn was_built_from(&self, spec: HuffmanSpec<'_>) -> bool {
        self.counts == *spec.counts && self.symbols == spec.symbols && self.counts != [0; 16]
    }

    /// Calls `visit` with length, advance and number of extra bits of each code of at most `max_length` bits, in the
    /// order of the codes.
    fn for_each_short_code(&self, max_length: u32, mut visit: impl FnMut(u32, usize, u32)) {
        let mut symbols = self.symbols.iter();
        for (length, &count) in (1..=max_length).zip(&self.counts) {
            for &symbol in symbols.by_ref().take(usize::from(count)) {
                let (advance, extra_bits) = classify(self.meaning, symbol);
                visit(length, advance, extra_bits);
            }
        }
    }

    /// Returns the value of the extra bits `raw`: a coefficient, or the blocks that an end-of-band symbol covers.
    /// `bit_buffer` begins with the extra bits.
    #[inline(always)]
    pub(crate) fn value(&self, advance: usize, raw: u32, extra_bits: u32, bit_buffer: u64) -> i32 {
        if self.meaning == Symbols::Band && advance == EOB_ADVANCE {
            return (1 << extra_bits) + raw as i32;
        }
        extend(raw, extra_bits, bit_buffer)
    }

    /// Decodes the code at the start of `bit_buffer`. Returns its advance, its number of extra bits and its length.
    #[cold]
    #[inline(never)]
    pub(crate) fn decode(&self, bit_buffer: u64) -> Option<(usize, u32, u32)> {
        let peeked = (bit_buffer >> 48) as u32;
        let slot = self.code_ends.iter().position(|&code_end| peeked < code_end)?;
        let length = 1 + slot as u32;
        let symbol_index = (peeked >> (16 - length)).wrapping_add(self.symbol_offsets[slot]);
        let (advance, extra_bits) = classify(self.meaning, *self.symbols.get(symbol_index as usize)?);
        Some((advance, extra_bits, length))
    }
}

/// The Huffman table of DC differences. Entries hold no values: half of the values would not fit into a lookup, and the
/// branch between those that fit and the others would be mispredicted.
///
/// An entry has, from the lowest bit: 8 bits for the code's length, 8 bits for the number of extra bits. It is 0 if the
/// code is longer than [`DC_PEEK_BITS`].
#[derive(Debug)]
pub(crate) struct DcTable {
    pub(crate) lookup: [u16; DC_ENTRIES],
    pub(crate) canonical: CanonicalCode,
}

/// The Huffman table of AC coefficients.
///
/// A `lookup` entry has, from the lowest bit:
///
/// | bits | content |
/// |---|---|
/// | 6 | bits consumed |
/// | 1 | unused |
/// | 1 | [`INCOMPLETE`], as in [`fill_single_symbols`] |
/// | 8 | advance of all symbols |
/// | 4 | advance of the first symbol less 1 |
/// | 4 | value of the second symbol |
/// | 8 | value of the first symbol |
///
/// In an entry with one symbol both advances lead to the same coefficient, and the first value is stored last. An entry
/// with EOB alone stores 0 to a later coefficient, which is 0 already.
#[derive(Debug)]
pub(crate) struct AcTable {
    pub(crate) lookup: [u32; AC_ENTRIES],
    /// Entries for skipping blocks, each with as many symbols as its bits determine. From the lowest bit: 6 bits
    /// consumed by codes and extra bits, 1 unused, 1 [`INCOMPLETE`], 8 the advance of all symbols.
    pub(crate) skip_lookup: [u16; AC_ENTRIES],
    /// True if `skip_lookup` was built for the current Huffman table.
    pub(crate) has_skip_lookup: bool,
    pub(crate) canonical: CanonicalCode,
}

/// Fills `lookup` with entries of one symbol. An entry has, from the lowest bit: 6 bits consumed by code and extra
/// bits, 1 unused, 1 [`INCOMPLETE`], 8 the advance, 16 the value.
///
/// If the extra bits do not fit into a lookup, `INCOMPLETE` is set, the bits consumed are the code's, and the number of
/// extra bits replaces the value. If the code does not fit either, the bits consumed are 0.
pub(crate) fn fill_single_symbols(lookup: &mut [u32; AC_ENTRIES], canonical: &CanonicalCode) {
    let mut filled = 0;
    canonical.for_each_short_code(AC_PEEK_BITS, |length, advance, extra_bits| {
        let entries = &mut lookup[filled..filled + (1 << (AC_PEEK_BITS - length))];
        filled += entries.len();
        let common = (advance as u32) << 8;
        if length + extra_bits > AC_PEEK_BITS {
            entries.fill(extra_bits << 16 | common | INCOMPLETE | length);
            return;
        }
        for (raw, entries) in (0..).zip(entries.chunks_exact_mut(1 << (AC_PEEK_BITS - length - extra_bits))) {
            let value = canonical.value(advance, raw, extra_bits, u64::from(raw) << 1 << (63 - extra_bits));
            entries.fill((value as u32) << 16 | common | (length + extra_bits));
        }
    });
    lookup[filled..].fill(INCOMPLETE);
}

impl Default for DcTable {
    fn default() -> Self {
        DcTable { lookup: [0; DC_ENTRIES], canonical: CanonicalCode::default() }
    }
}

impl DcTable {
    /// Rebuilds the table unless it was built from `spec` already.
    pub(crate) fn build(&mut self, spec: HuffmanSpec<'_>) -> Result<(), Error> {
        if !self.canonical.was_built_from(spec) {
            self.canonical.build(spec, Symbols::Dc)?;
            let mut filled = 0;
            self.canonical.for_each_short_code(DC_PEEK_BITS, |length, _, extra_bits| {
                let entries = &mut self.lookup[filled..filled + (1 << (DC_PEEK_BITS - length))];
                filled += entries.len();
                entries.fill((length | extra_bits << 8) as u16);
            });
            self.lookup[filled..].fill(0);
        }
        Ok(())
    }
}

impl Default for AcTable {
    fn default() -> Self {
        AcTable {
            lookup: [0; AC_ENTRIES],
            skip_lookup: [0; AC_ENTRIES],
            has_skip_lookup: false,
            canonical: CanonicalCode::default(),
        }
    }
}

impl AcTable {
    /// Rebuilds the table unless it was built from `spec` already. `with_skip_lookup` asks for
    /// [`skip_lookup`](Self::skip_lookup), too.
    pub(crate) fn build(&mut self, spec: HuffmanSpec<'_>, with_skip_lookup: bool) -> Result<(), Error> {
        let is_current = self.canonical.was_built_from(spec);
        if is_current && (self.has_skip_lookup || !with_skip_lookup) {
            return Ok(());
        }
        self.canonical.build(spec, Symbols::Ac)?;
        let mut single = [0; AC_ENTRIES];
        fill_single_symbols(&mut single, &self.canonical);
        if !is_current {
            self.build_lookup(&single);
        }
        self.has_skip_lookup = with_skip_lookup;
        if with_skip_lookup {
            self.build_skip_lookup(&single);
        }
        Ok(())
    }

    /// Adds a second symbol to each entry of `single` whose remaining bits hold one.
    fn build_lookup(&mut self, single: &[u32; AC_ENTRIES]) {
        for (i, (pair, &first)) in self.lookup.iter_mut().zip(single).enumerate() {
            let (used, advance, value) = (first & 63, first >> 8 & 0xFF, first as i32 >> 16);
            *pair = if first & INCOMPLETE != 0 {
                first
            } else if value as i8 as i32 != value {
                INCOMPLETE // a value beyond 8 bits is too rare to deserve a third kind of entry
            } else {
                let second = single[(i << used) % AC_ENTRIES];
                let (used_by_both, second_value) = (used + (second & 63), second as i32 >> 16);
                let is_small = (-8..8).contains(&second_value);
                let has_second = second & INCOMPLETE == 0
                    && used_by_both <= AC_PEEK_BITS
                    && is_small
                    && advance < EOB_ADVANCE as u32;
                let (bits, total_advance, second_value) = if has_second {
                    (used_by_both, advance + (second >> 8 & 0xFF), second_value)
                } else {
                    (used, advance, 0)
                };
                bits | total_advance << 8
                    | (advance.wrapping_sub(1) & 15) << 16
                    | (second_value as u32 & 15) << 20
                    | (value as u32) << 24
            };
        }
    }

    fn build_skip_lookup(&mut self, single: &[u32; AC_ENTRIES]) {
        let mut lengths = [0_u8; AC_ENTRIES];
        let mut filled = 0;
        self.canonical.for_each_short_code(AC_PEEK_BITS, |length, _, _| {
            lengths[filled..filled + (1 << (AC_PEEK_BITS - length))].fill(length as u8);
            filled += 1 << (AC_PEEK_BITS - length);
        });
        for (i, skip) in self.skip_lookup.iter_mut().enumerate() {
            let (mut bits, mut advance) = (0, 0);
            while advance < 64 {
                let index = (i << bits) % AC_ENTRIES;
                let (entry, length) = (single[index], u32::from(lengths[index]));
                // The shift fills the index with zeros, so a code counts only if all its bits were peeked at. Its extra
                // bits are skipped unseen and may lie beyond them.
                if length == 0 || bits + length > AC_PEEK_BITS {
                    break;
                }
                bits += if entry & INCOMPLETE == 0 { entry & 63 } else { length + (entry >> 16) };
                advance += entry >> 8 & 0xFF;
            }
            *skip = if bits == 0 { INCOMPLETE as u16 } else { (bits | advance << 8) as u16 };
        }
    }
}
