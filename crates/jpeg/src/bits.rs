//! Entropy decoding of single blocks.
//!
//! The bit buffer has 64 bits and is refilled without a branch, each time after as many lookups as 56 bits surely hold.
//! The reader does not check for the end of the data: zeros follow the data, and the caller compares positions.

use crate::huffman::{AC_PEEK_BITS, AcTable, CanonicalCode, DC_PEEK_BITS, DcTable, EOB_ADVANCE, INCOMPLETE, extend};

/// Bytes from which a block is read: 64 symbols of at most 16 + 15 bits, and eight bytes for the last refill.
const BLOCK_BYTES: usize = 512 + 8;
/// Bytes that must follow the data: those of a block, and those that the bit buffer has read ahead.
pub(crate) const DATA_PADDING: usize = BLOCK_BYTES + 8;

/// Natural (row-major) position of each zigzag index, as libjpeg's `jpeg_natural_order`.
#[rustfmt::skip]
pub(crate) const NATURAL_ORDER: [u8; 64] = [
     0,  1,  8, 16,  9,  2,  3, 10, 17, 24, 32, 25, 18, 11,  4,  5,
    12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13,  6,  7, 14, 21, 28,
    35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51,
    58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63,
];

/// The position that the coefficient of a zigzag index is stored at. Indices from 64 on map to the DC coefficient,
/// which is written later.
const STORE_POSITION: [u8; 256] = {
    let mut position = [0; 256];
    let mut k = 0;
    while k < 64 {
        position[k] = NATURAL_ORDER[k];
        k += 1;
    }
    position
};

/// The quantized coefficients of a block in natural order.
pub(crate) type Block = [i16; 64];

/// Reads the blocks of entropy-coded data from which the stuffed bytes were removed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BitReader<'a> {
    /// Ends with at least [`DATA_PADDING`] bytes after the data.
    bytes: &'a [u8],
    /// Offset of the next byte to enter the bit buffer.
    next_byte: usize,
    /// The next bits, highest first. The bits below the first `bits_left` ones, where set, are the data's following
    /// bits.
    bit_buffer: u64,
    /// Number of valid bits in the bit buffer, modulo 64.
    bits_left: u32,
}

/// The state of a [`BitReader`] while it reads one block. Its array of fixed length spares bounds checks.
pub(crate) struct BlockReader<'a> {
    bytes: &'a [u8; BLOCK_BYTES],
    /// Offset of `bytes` in the data.
    base: usize,
    next_byte: usize,
    bit_buffer: u64,
    bits_left: u32,
}

/// Returns the zigzag index of a block's last coefficient if an advance to index `k` ends the block correctly.
#[inline(always)]
fn last_index(k: usize) -> Option<usize> {
    match k {
        63 => Some(63),
        _ if k.wrapping_sub(EOB_ADVANCE) < 63 => Some(k - EOB_ADVANCE),
        _ => None,
    }
}

impl BlockReader<'_> {
    /// Refills the bit buffer to at least 56 bits.
    #[inline(always)]
    pub(crate) fn refill(&mut self) {
        let bits_left = self.bits_left & 63;
        let next_byte = self.next_byte % 512; // always below 512; the remainder proves it to the compiler
        let mut next = [0; 8];
        next.copy_from_slice(&self.bytes[next_byte..next_byte + 8]);
        self.bit_buffer |= u64::from_be_bytes(next) >> bits_left;
        self.next_byte += ((bits_left ^ 63) >> 3) as usize;
        self.bits_left = bits_left | 56;
    }

    /// Skips the number of bits in the lowest 6 bits of `entry`.
    #[inline(always)]
    pub(crate) fn skip(&mut self, entry: u32) {
        self.bit_buffer <<= entry & 63;
        self.bits_left = self.bits_left.wrapping_sub(entry); // `refill` masks the effect of the higher bits away
    }

    #[inline(always)]
    pub(crate) fn peek(&self) -> usize {
        (self.bit_buffer >> (64 - AC_PEEK_BITS)) as usize
    }

    /// The next bits, highest first.
    #[inline(always)]
    pub(crate) fn bits(&self) -> u64 {
        self.bit_buffer
    }

    /// Decodes one symbol of any length. Returns its advance and its value. Refills the bit buffer before and after.
    #[inline(always)]
    fn canonical_symbol(&mut self, canonical: &CanonicalCode) -> Option<(usize, i32)> {
        self.refill();
        let (advance, extra_bits, length) = canonical.decode(self.bit_buffer)?;
        let value = self.value(extra_bits, length);
        self.refill();
        Some((advance, value))
    }

    /// Skips a code of `length` bits and reads the value after it.
    #[inline(always)]
    fn value(&mut self, extra_bits: u32, length: u32) -> i32 {
        self.skip(length);
        let raw = (self.bit_buffer >> 1 >> (63 - extra_bits)) as u32;
        let value = extend(raw, extra_bits, self.bit_buffer);
        self.skip(extra_bits);
        value
    }

    /// Decodes the symbol of an [`INCOMPLETE`] entry. Returns its advance and its value.
    #[inline(always)]
    fn incomplete_symbol(&mut self, entry: u32, canonical: &CanonicalCode) -> Option<(usize, i32)> {
        match entry & 63 {
            0 => self.canonical_symbol(canonical),
            length => {
                self.refill();
                let value = self.value(entry >> 16 & 15, length);
                self.refill();
                Some(((entry >> 8 & 0xFF) as usize, value))
            }
        }
    }

    #[inline(always)]
    pub(crate) fn dc_difference(&mut self, dc: &DcTable) -> Option<i32> {
        let entry = u32::from(dc.lookup[(self.bit_buffer >> (64 - DC_PEEK_BITS)) as usize]);
        if entry == 0 {
            return self.canonical_symbol(&dc.canonical).map(|(_, value)| value);
        }
        Some(self.value(entry >> 8 & 15, entry & 31))
    }

    /// Reads the AC coefficients of a block. Returns the zigzag index of the last one; `None` if the data are invalid.
    #[inline(always)]
    fn ac_coefficients(&mut self, ac: &AcTable, block: &mut Block) -> Option<usize> {
        let mut k = 0;
        let mut store = |k: usize, value: i16| block[usize::from(STORE_POSITION[k % 256]) % 64] = value;
        loop {
            macro_rules! decode_symbols {
                () => {
                    let entry = ac.lookup[self.peek()];
                    if entry & INCOMPLETE == 0 {
                        self.skip(entry);
                        let first = k + 1 + (entry >> 16 & 15) as usize;
                        k += (entry >> 8 & 0xFF) as usize;
                        // With one symbol `first` equals `k`, and the first value replaces the second.
                        store(k, ((entry << 8) as i32 >> 28) as i16);
                        store(first, (entry as i32 >> 24) as i16);
                        if k >= 63 {
                            let last = last_index(k);
                            if last.is_none() && first == 63 {
                                // The first symbol ended the block; the second one belongs to the next block.
                                self.rewind(entry as usize & 63);
                                self.canonical_symbol(&ac.canonical)?;
                                return Some(63);
                            }
                            return last;
                        }
                    } else {
                        let (advance, value) = self.incomplete_symbol(entry, &ac.canonical)?;
                        k += advance;
                        store(k, value as i16);
                        if k >= 63 {
                            return last_index(k);
                        }
                    }
                };
            }
            // The DC difference took at most 23 of 56 bits, which leaves enough for three lookups of 11 bits.
            decode_symbols!();
            decode_symbols!();
            decode_symbols!();
            self.refill();
            decode_symbols!();
            decode_symbols!();
            decode_symbols!();
            decode_symbols!();
            decode_symbols!();
            self.refill();
        }
    }

    /// Skips the AC coefficients of a block, as many symbols a lookup as its bits determine. Returns the zigzag index
    /// of the last coefficient.
    #[inline(always)]
    fn skip_ac_coefficients(&mut self, ac: &AcTable) -> Option<usize> {
        let mut k = 0;
        loop {
            macro_rules! skip_symbols {
                () => {
                    let entry = u32::from(ac.skip_lookup[self.peek()]);
                    if entry & INCOMPLETE == 0 {
                        self.skip(entry);
                        let before = k;
                        k += (entry >> 8) as usize;
                        if k >= 63 {
                            if let Some(last) = last_index(k) {
                                return Some(last);
                            }
                            // Either coefficient 63 ended the block and the lookup went on into the next block, or the
                            // data are invalid. Single symbols from here on tell which.
                            self.rewind(entry as usize & 63);
                            k = before;
                            break;
                        }
                    } else {
                        k += self.canonical_symbol(&ac.canonical)?.0;
                        if k >= 63 {
                            return last_index(k);
                        }
                    }
                };
            }
            skip_symbols!();
            self.refill();
            skip_symbols!();
            skip_symbols!();
            self.refill();
        }
        while k < 63 {
            k += self.canonical_symbol(&ac.canonical)?.0;
        }
        last_index(k)
    }

    /// Moves back by `bits` and refills the bit buffer.
    #[inline(always)]
    fn rewind(&mut self, bits: usize) {
        let position = (8 * self.next_byte).wrapping_sub((self.bits_left & 63) as usize + bits);
        (self.next_byte, self.bit_buffer, self.bits_left) = (position / 8, 0, 0);
        self.refill();
        self.skip((position % 8) as u32);
        self.refill();
    }
}

impl<'a> BitReader<'a> {
    /// Starts at byte `offset` of `bytes`. At least [`DATA_PADDING`] bytes must follow the data.
    pub(crate) fn new(bytes: &'a [u8], offset: usize) -> Self {
        BitReader { bytes, next_byte: offset, bit_buffer: 0, bits_left: 0 }
    }

    /// Number of bits from the start of the bytes to the next bit.
    pub(crate) fn position(&self) -> usize {
        (self.next_byte * 8).wrapping_sub(self.bits_left as usize & 63)
    }

    /// Reads a block's AC coefficients into `block`. Returns the DC difference and the zigzag index of the last
    /// coefficient; `None` if the data are invalid.
    #[inline(always)]
    pub(crate) fn read_block(&mut self, dc: &DcTable, ac: &AcTable, block: &mut Block) -> Option<(i32, usize)> {
        self.read_or_skip_block::<false>(dc, ac, block)
    }

    /// Skips a block. Returns its DC difference. `unused` may be overwritten.
    #[inline(always)]
    pub(crate) fn skip_block(&mut self, dc: &DcTable, ac: &AcTable, unused: &mut Block) -> Option<i32> {
        let (difference, _) = if ac.has_skip_lookup {
            self.read_or_skip_block::<true>(dc, ac, unused)
        } else {
            self.read_or_skip_block::<false>(dc, ac, unused)
        }?;
        Some(difference)
    }

    #[inline(always)]
    fn read_or_skip_block<const SKIP: bool>(
        &mut self,
        dc: &DcTable,
        ac: &AcTable,
        block: &mut Block,
    ) -> Option<(i32, usize)> {
        let mut reader = self.open()?;
        reader.refill();
        let difference = reader.dc_difference(dc)?;
        // A closure in place of this `if` would be compiled without the caller's target features.
        let last = if SKIP { reader.skip_ac_coefficients(ac) } else { reader.ac_coefficients(ac, block) }?;
        self.close(reader);
        Some((difference, last))
    }

    /// Skips at most 7 bits: those of the first byte that precede an entry of a seek index.
    pub(crate) fn skip_bits(&mut self, bits: u32) -> Option<()> {
        let mut reader = self.open()?;
        reader.refill();
        reader.skip(bits);
        self.close(reader);
        Some(())
    }

    /// Begins a block, or an MCU without AC coefficients. Returns `None` beyond the end of the data.
    #[inline(always)]
    pub(crate) fn open(&self) -> Option<BlockReader<'a>> {
        // The bit buffer holds bits of the last eight bytes, and `rewind` may go back to them.
        let base = self.next_byte.saturating_sub(8);
        let bytes = self.bytes.get(base..)?.first_chunk()?;
        let next_byte = self.next_byte - base;
        Some(BlockReader { bytes, base, next_byte, bit_buffer: self.bit_buffer, bits_left: self.bits_left })
    }

    /// Continues where `reader` has ended.
    #[inline(always)]
    pub(crate) fn close(&mut self, reader: BlockReader<'a>) {
        (self.bit_buffer, self.bits_left) = (reader.bit_buffer, reader.bits_left);
        self.next_byte = reader.base + reader.next_byte;
    }
}

#[cfg(test)]
mod tests;
