//! The Huffman table of a progressive scan of AC coefficients.

use crate::bits::BlockReader;
use crate::error::Result;
use crate::huffman::{AC_ENTRIES, CanonicalCode, HuffmanSpec, INCOMPLETE, Symbols, fill_single_symbols};

/// The Huffman table of a band.
///
/// An entry has, from the lowest bit: 6 bits consumed by code and extra bits, 1 unused, 1 [`INCOMPLETE`], 8 the advance, 16 the
/// value: a coefficient, or the blocks of an end-of-band run.
#[derive(Debug)]
pub(crate) struct BandTable {
    lookup: [u32; AC_ENTRIES],
    pub(crate) canonical: CanonicalCode,
}

impl Default for BandTable {
    fn default() -> Self {
        BandTable { lookup: [INCOMPLETE; AC_ENTRIES], canonical: CanonicalCode::default() }
    }
}

impl BandTable {
    /// Rebuilds the table unless it was built from `spec` already.
    pub(crate) fn build(&mut self, spec: HuffmanSpec<'_>) -> Result<()> {
        if !self.canonical.was_built_from(spec) {
            self.canonical.build(spec, Symbols::Band)?;
            fill_single_symbols(&mut self.lookup, &self.canonical);
        }
        Ok(())
    }

    /// Reads a symbol. Returns its advance and its value. The bit buffer must hold 11 bits; it is refilled where the symbol has
    /// more.
    #[inline(always)]
    pub(crate) fn symbol(&self, reader: &mut BlockReader<'_>) -> Option<(usize, i32)> {
        let entry = self.lookup[reader.peek()];
        if entry & INCOMPLETE == 0 {
            reader.skip(entry);
            return Some(((entry >> 8 & 0xFF) as usize, entry as i32 >> 16));
        }
        self.long_symbol(reader)
    }

    /// Reads a symbol whose code and extra bits have more bits than a lookup peeks at.
    #[inline(never)]
    fn long_symbol(&self, reader: &mut BlockReader<'_>) -> Option<(usize, i32)> {
        reader.refill();
        let (advance, extra_bits, length) = self.canonical.decode(reader.bits())?;
        reader.skip(length);
        let bits = reader.bits();
        let value = self.canonical.value(advance, (bits >> 1 >> (63 - extra_bits)) as u32, extra_bits, bits);
        reader.skip(extra_bits);
        reader.refill();
        Some((advance, value))
    }
}
