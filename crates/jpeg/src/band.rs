//! The AC coefficients of progressive files: each scan has one band of them, of one component, and either their upper bits or
//! one more bit of each (ITU-T T.81 annex G.1.2).
//!
//! The decoder keeps for each block which of its coefficients are not zero, as a bit set by zigzag index. A scan that adds a bit has
//! one bit in its data for each coefficient that is not zero. So blocks outside of the region need only their bit set, and a
//! run of zeros is found in the set without a look at the coefficients.

use multiversion::multiversion;

use crate::band_table::BandTable;
use crate::bits::{BitReader, Block, BlockReader, NATURAL_ORDER};
use crate::huffman::{EOB_ADVANCE, extend};

/// The coefficients of a scan, and which of their bits it has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Band {
    /// The first and the last zigzag index (T.81's Ss and Se).
    pub(crate) first: usize,
    pub(crate) last: usize,
    /// The bit that earlier scans went down to; 0 in the first scan of a band (Ah).
    pub(crate) high: u32,
    /// The bit that this scan goes down to (Al).
    pub(crate) low: u32,
}

impl Band {
    /// The band's zigzag indices from `k` on, as a bit set.
    #[inline(always)]
    fn from(self, k: usize) -> u64 {
        (u64::MAX >> (63 - self.last)) & (u64::MAX << k)
    }
}

/// Some blocks of a component side by side.
pub(crate) struct BlockRun<'a> {
    /// For each block the zigzag indices of its coefficients that are not zero, as a bit set.
    pub(crate) nonzero: &'a mut [u64],
    /// The coefficients of the blocks; empty where the region needs none of them.
    pub(crate) blocks: &'a mut [Block],
}

/// Reads the upper bits of a band in a run of blocks. `end_of_band` is the number of blocks that the last end-of-band symbol
/// still covers. Returns `None` if the data are invalid: a code that is in no table, a run beyond the band, or a value of more than 16
/// bits. libjpeg does not notice the last two.
#[multiversion(targets("x86_64+avx2+bmi1+bmi2+popcnt"))]
pub(crate) fn read_first(
    bits: &mut BitReader<'_>,
    table: &BandTable,
    band: Band,
    end_of_band: &mut u32,
    run: &mut BlockRun<'_>,
) -> Option<()> {
    match run.blocks.is_empty() {
        true => read_first_bits::<false>(bits, table, band, end_of_band, run),
        false => read_first_bits::<true>(bits, table, band, end_of_band, run),
    }
}

#[inline(always)]
fn read_first_bits<const STORE: bool>(
    bits: &mut BitReader<'_>,
    table: &BandTable,
    band: Band,
    end_of_band: &mut u32,
    BlockRun { nonzero, blocks }: &mut BlockRun<'_>,
) -> Option<()> {
    let mut stream = *bits;
    let mut ended = *end_of_band as usize;
    let mut at = 0;
    while at < nonzero.len() {
        if ended > 0 {
            let covered = ended.min(nonzero.len() - at);
            at += covered;
            ended -= covered;
            continue;
        }
        let mut reader = stream.open()?;
        let mut set = nonzero[at];
        let mut unused = [0; 64];
        let block = if STORE { blocks.get_mut(at)? } else { &mut unused };
        let mut k = band.first - 1;
        reader.refill();
        'block: loop {
            // A refill gives 56 bits, five lookups of 11.
            for _ in 0..5 {
                let (advance, value) = table.symbol(&mut reader)?;
                if advance == EOB_ADVANCE {
                    ended = value as usize - 1;
                    break 'block;
                }
                k += advance;
                if k > band.last {
                    return None;
                }
                // A run of sixteen zeros has no value.
                if value != 0 {
                    let value = value << band.low;
                    // More than 16 bits are damage.
                    if value as i16 as i32 != value {
                        return None;
                    }
                    set |= 1 << k;
                    if STORE {
                        block[usize::from(NATURAL_ORDER[k % 64]) % 64] = value as i16;
                    }
                }
                if k == band.last {
                    break 'block;
                }
            }
            reader.refill();
        }
        nonzero[at] = set;
        stream.close(reader);
        at += 1;
    }
    *end_of_band = ended as u32;
    *bits = stream;
    Some(())
}

/// Reads one more bit of a band in a run of blocks. The parameters are those of [`read_first`].
#[multiversion(targets("x86_64+avx2+bmi1+bmi2+popcnt"))]
pub(crate) fn read_refinement(
    bits: &mut BitReader<'_>,
    table: &BandTable,
    band: Band,
    end_of_band: &mut u32,
    run: &mut BlockRun<'_>,
) -> Option<()> {
    match run.blocks.is_empty() {
        true => read_refinement_bits::<false>(bits, table, band, end_of_band, run),
        false => read_refinement_bits::<true>(bits, table, band, end_of_band, run),
    }
}

#[inline(always)]
fn read_refinement_bits<const STORE: bool>(
    bits: &mut BitReader<'_>,
    table: &BandTable,
    band: Band,
    end_of_band: &mut u32,
    BlockRun { nonzero, blocks }: &mut BlockRun<'_>,
) -> Option<()> {
    let mut stream = *bits;
    let mut ended = *end_of_band as usize;
    let whole_band = band.from(band.first);
    let mut at = 0;
    while at < nonzero.len() {
        if ended > 0 {
            // Most blocks of a run have nothing in the band, and no bit in the data.
            let covered = ended.min(nonzero.len() - at);
            let first = nonzero[at..at + covered].iter().position(|set| set & whole_band != 0).unwrap_or(covered);
            at += first;
            ended -= first;
            if first == covered {
                continue;
            }
        }
        let mut reader = stream.open()?;
        let before = nonzero[at];
        let mut set = before;
        let mut unused = [0; 64];
        let block = if STORE { blocks.get_mut(at)? } else { &mut unused };
        let mut k = band.first;
        let mut corrections = Corrections::default();
        reader.refill();
        if ended == 0 {
            while k <= band.last {
                reader.refill();
                let (advance, value) = table.symbol(&mut reader)?;
                if advance == EOB_ADVANCE {
                    ended = value as usize;
                    break;
                }
                // A coefficient that was zero has one bit, which is its sign. 0 is a run of sixteen zeros.
                if !(-1..=1).contains(&value) {
                    return None;
                }
                let rest = band.from(k);
                let mut zeros = !before & rest;
                // Most runs are short: a select costs less than a loop whose end is not predicted.
                for passed in 1..5 {
                    zeros = if advance > passed { zeros & zeros.wrapping_sub(1) } else { zeros };
                }
                for _ in 5..advance {
                    zeros &= zeros.wrapping_sub(1);
                }
                if zeros == 0 {
                    return None;
                }
                let target = zeros.trailing_zeros() as usize;
                corrections.read(&mut reader, before & rest & (zeros ^ zeros.wrapping_sub(1)));
                if value != 0 {
                    set |= 1 << target;
                    if STORE {
                        block[usize::from(NATURAL_ORDER[target % 64]) % 64] = (value << band.low) as i16;
                    }
                }
                k = target + 1;
            }
        }
        if ended > 0 {
            if k <= band.last {
                corrections.read(&mut reader, before & band.from(k));
            }
            ended -= 1;
        }
        nonzero[at] = set;
        if STORE {
            corrections.apply(before & whole_band, band.low, block);
        }
        stream.close(reader);
        at += 1;
    }
    *end_of_band = ended as u32;
    *bits = stream;
    Some(())
}

/// The bits of a block's coefficients that were not zero before the scan. They are read symbol by symbol, and applied together,
/// so that the data's next symbol need not wait for them.
#[derive(Default)]
struct Corrections {
    /// The bits in the order of the coefficients, the last one lowest.
    bits: u64,
    count: u32,
}

impl Corrections {
    /// Reads a bit of each coefficient in `passed`. After a refill and one symbol the bit buffer holds 45 bits.
    #[inline(always)]
    fn read(&mut self, reader: &mut BlockReader<'_>, passed: u64) {
        let mut left = passed.count_ones();
        self.count += left;
        if left > 40 {
            reader.refill();
            self.take(reader, 32);
            left -= 32;
            reader.refill();
        }
        self.take(reader, left);
    }

    #[inline(always)]
    fn take(&mut self, reader: &mut BlockReader<'_>, count: u32) {
        self.bits = self.bits << count | reader.bits() >> 1 >> (63 - count);
        reader.skip(count);
    }

    /// Applies the bits to the coefficients in `set`, of which it has read the first ones.
    #[inline(always)]
    fn apply(&self, mut set: u64, low: u32, block: &mut Block) {
        if self.bits == 0 {
            return;
        }
        let mut bits = self.bits << (64 - self.count);
        for _ in 0..self.count {
            let k = set.trailing_zeros() as usize;
            set &= set.wrapping_sub(1);
            let value = &mut block[usize::from(NATURAL_ORDER[k % 64]) % 64];
            *value = corrected(*value, bits >> 63, low);
            bits <<= 1;
        }
    }
}

/// A coefficient with one more bit: away from zero if `bit` is 1, unless an earlier scan has set the bit.
#[inline(always)]
pub(crate) fn corrected(value: i16, bit: u64, low: u32) -> i16 {
    let step = ((value >> 15) | 1) << low;
    let is_set = (value >> low) & 1;
    value.wrapping_add(step & -(bit as i16 & (is_set ^ 1)))
}

/// The coefficient of a first bit in a refinement, by its sign bit.
#[inline(always)]
pub(crate) fn signed_bit(bit: u64, low: u32) -> i16 {
    (extend(bit as u32, 1, bit << 63) << low) as i16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bit_moves_a_coefficient_away_from_zero_once() {
        assert_eq!([corrected(8, 1, 2), corrected(-8, 1, 2)], [12, -12]);
        assert_eq!([corrected(8, 0, 2), corrected(-8, 0, 2)], [8, -8]);
        // An earlier scan has set the bit.
        assert_eq!([corrected(12, 1, 2), corrected(-12, 1, 2)], [12, -12]);
        assert_eq!([signed_bit(1, 3), signed_bit(0, 3)], [8, -8]);
    }

    #[test]
    fn a_band_is_a_set_of_indices() {
        let band = Band { first: 3, last: 5, high: 0, low: 0 };
        assert_eq!(band.from(3), 0b11_1000);
        assert_eq!(band.from(5), 0b10_0000);
        assert_eq!(Band { first: 1, last: 63, high: 0, low: 0 }.from(1), u64::MAX - 1);
    }
}
