//! The quantization tables (DQT) and Huffman tables (DHT) that a file has defined so far (ITU-T T.81 B.2.4).

use crate::Error;
use crate::error::Result;
use crate::huffman::HuffmanSpec;

/// The tables by their number, 0..=3. A later definition replaces an earlier one.
#[derive(Clone, Debug, Default)]
pub(crate) struct TableSlots<'a> {
    quantization: [Option<[u16; 64]>; 4],
    dc: [Option<HuffmanSpec<'a>>; 4],
    ac: [Option<HuffmanSpec<'a>>; 4],
}

impl<'a> TableSlots<'a> {
    pub(crate) fn quantization(&self, slot: usize) -> Result<[u16; 64]> {
        let table = self.quantization.get(slot).copied().flatten();
        table.ok_or(Error::Invalid("a quantization table of the scan is missing"))
    }

    pub(crate) fn dc(&self, slot: u8) -> Result<HuffmanSpec<'a>> {
        of(&self.dc, slot)
    }

    pub(crate) fn ac(&self, slot: u8) -> Result<HuffmanSpec<'a>> {
        of(&self.ac, slot)
    }

    /// Defines the tables of T.81 annex K.3 where there are none, as libjpeg-turbo does for the frames of motion JPEG, which
    /// come without tables.
    pub(crate) fn add_standard(&mut self) {
        for (slot, table) in self.dc.iter_mut().zip(STANDARD_DC) {
            slot.get_or_insert(table);
        }
        for (slot, table) in self.ac.iter_mut().zip(STANDARD_AC) {
            slot.get_or_insert(table);
        }
    }

    pub(crate) fn read_dqt(&mut self, mut payload: &[u8]) -> Result<()> {
        const LENGTH: Error = Error::Invalid("a DQT segment of the wrong length");
        while let Some((&precision_and_slot, rest)) = payload.split_first() {
            let slot = self.quantization.get_mut(usize::from(precision_and_slot & 15));
            let slot = slot.ok_or(Error::Invalid("a quantization table number above 3"))?;
            let mut table = [0; 64];
            // libjpeg takes every precision but 0 for 16 bits.
            payload = if precision_and_slot >> 4 == 0 {
                let (values, rest) = rest.split_first_chunk::<64>().ok_or(LENGTH)?;
                table.iter_mut().zip(values).for_each(|(entry, &value)| *entry = u16::from(value));
                rest
            } else {
                let (values, rest) = rest.split_first_chunk::<128>().ok_or(LENGTH)?;
                let (values, _) = values.as_chunks::<2>();
                table.iter_mut().zip(values).for_each(|(entry, &value)| *entry = u16::from_be_bytes(value));
                rest
            };
            *slot = Some(table);
        }
        Ok(())
    }

    pub(crate) fn read_dht(&mut self, mut payload: &'a [u8]) -> Result<()> {
        const LENGTH: Error = Error::Invalid("a DHT segment of the wrong length");
        while let Some((&class_and_slot, rest)) = payload.split_first() {
            let (counts, rest) = rest.split_first_chunk::<16>().ok_or(LENGTH)?;
            let count = counts.iter().map(|&count| usize::from(count)).sum();
            if count > 256 {
                return Err(Error::Invalid("a Huffman table of more than 256 symbols"));
            }
            let (symbols, rest) = rest.split_at_checked(count).ok_or(LENGTH)?;
            let slots = match class_and_slot >> 4 {
                0 => &mut self.dc,
                1 => &mut self.ac,
                _ => return Err(Error::Invalid("a Huffman table of an unknown class")),
            };
            let slot = slots.get_mut(usize::from(class_and_slot & 15));
            *slot.ok_or(Error::Invalid("a Huffman table number above 3"))? = Some(HuffmanSpec { counts, symbols });
            payload = rest;
        }
        Ok(())
    }
}

fn of<'a>(slots: &[Option<HuffmanSpec<'a>>; 4], slot: u8) -> Result<HuffmanSpec<'a>> {
    let table = slots.get(usize::from(slot)).copied().flatten();
    table.ok_or(Error::Invalid("a Huffman table of the scan is missing"))
}

/// Checks the conditioning of arithmetic coding (DAC), which Huffman-coded files do not use, by libjpeg's rules.
pub(crate) fn check_dac(payload: &[u8]) -> Result<()> {
    let (pairs, rest) = payload.as_chunks::<2>();
    let is_valid = |&[slot, value]: &[u8; 2]| slot < 32 && (slot >= 16 || value & 15 <= value >> 4);
    match rest.is_empty() && pairs.iter().all(is_valid) {
        true => Ok(()),
        false => Err(Error::Invalid("a DAC segment with invalid content")),
    }
}

/// Tables K.3 and K.4: DC differences of luminance and of chrominance.
const STANDARD_DC: [HuffmanSpec<'static>; 2] = [
    HuffmanSpec { counts: &[0, 1, 5, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0], symbols: &DC_SIZES },
    HuffmanSpec { counts: &[0, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0], symbols: &DC_SIZES },
];
const DC_SIZES: [u8; 12] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11];

/// Tables K.5 and K.6: AC coefficients of luminance and of chrominance.
const STANDARD_AC: [HuffmanSpec<'static>; 2] = [
    HuffmanSpec { counts: &[0, 2, 1, 3, 3, 2, 4, 3, 5, 5, 4, 4, 0, 0, 1, 125], symbols: &AC_LUMINANCE },
    HuffmanSpec { counts: &[0, 2, 1, 2, 4, 4, 3, 4, 7, 5, 4, 4, 0, 1, 2, 119], symbols: &AC_CHROMINANCE },
];
#[rustfmt::skip]
const AC_LUMINANCE: [u8; 162] = [
    0x01, 0x02, 0x03, 0x00, 0x04, 0x11, 0x05, 0x12, 0x21, 0x31, 0x41, 0x06, 0x13, 0x51, 0x61, 0x07,
    0x22, 0x71, 0x14, 0x32, 0x81, 0x91, 0xA1, 0x08, 0x23, 0x42, 0xB1, 0xC1, 0x15, 0x52, 0xD1, 0xF0,
    0x24, 0x33, 0x62, 0x72, 0x82, 0x09, 0x0A, 0x16, 0x17, 0x18, 0x19, 0x1A, 0x25, 0x26, 0x27, 0x28,
    0x29, 0x2A, 0x34, 0x35, 0x36, 0x37, 0x38, 0x39, 0x3A, 0x43, 0x44, 0x45, 0x46, 0x47, 0x48, 0x49,
    0x4A, 0x53, 0x54, 0x55, 0x56, 0x57, 0x58, 0x59, 0x5A, 0x63, 0x64, 0x65, 0x66, 0x67, 0x68, 0x69,
    0x6A, 0x73, 0x74, 0x75, 0x76, 0x77, 0x78, 0x79, 0x7A, 0x83, 0x84, 0x85, 0x86, 0x87, 0x88, 0x89,
    0x8A, 0x92, 0x93, 0x94, 0x95, 0x96, 0x97, 0x98, 0x99, 0x9A, 0xA2, 0xA3, 0xA4, 0xA5, 0xA6, 0xA7,
    0xA8, 0xA9, 0xAA, 0xB2, 0xB3, 0xB4, 0xB5, 0xB6, 0xB7, 0xB8, 0xB9, 0xBA, 0xC2, 0xC3, 0xC4, 0xC5,
    0xC6, 0xC7, 0xC8, 0xC9, 0xCA, 0xD2, 0xD3, 0xD4, 0xD5, 0xD6, 0xD7, 0xD8, 0xD9, 0xDA, 0xE1, 0xE2,
    0xE3, 0xE4, 0xE5, 0xE6, 0xE7, 0xE8, 0xE9, 0xEA, 0xF1, 0xF2, 0xF3, 0xF4, 0xF5, 0xF6, 0xF7, 0xF8,
    0xF9, 0xFA,
];
#[rustfmt::skip]
const AC_CHROMINANCE: [u8; 162] = [
    0x00, 0x01, 0x02, 0x03, 0x11, 0x04, 0x05, 0x21, 0x31, 0x06, 0x12, 0x41, 0x51, 0x07, 0x61, 0x71,
    0x13, 0x22, 0x32, 0x81, 0x08, 0x14, 0x42, 0x91, 0xA1, 0xB1, 0xC1, 0x09, 0x23, 0x33, 0x52, 0xF0,
    0x15, 0x62, 0x72, 0xD1, 0x0A, 0x16, 0x24, 0x34, 0xE1, 0x25, 0xF1, 0x17, 0x18, 0x19, 0x1A, 0x26,
    0x27, 0x28, 0x29, 0x2A, 0x35, 0x36, 0x37, 0x38, 0x39, 0x3A, 0x43, 0x44, 0x45, 0x46, 0x47, 0x48,
    0x49, 0x4A, 0x53, 0x54, 0x55, 0x56, 0x57, 0x58, 0x59, 0x5A, 0x63, 0x64, 0x65, 0x66, 0x67, 0x68,
    0x69, 0x6A, 0x73, 0x74, 0x75, 0x76, 0x77, 0x78, 0x79, 0x7A, 0x82, 0x83, 0x84, 0x85, 0x86, 0x87,
    0x88, 0x89, 0x8A, 0x92, 0x93, 0x94, 0x95, 0x96, 0x97, 0x98, 0x99, 0x9A, 0xA2, 0xA3, 0xA4, 0xA5,
    0xA6, 0xA7, 0xA8, 0xA9, 0xAA, 0xB2, 0xB3, 0xB4, 0xB5, 0xB6, 0xB7, 0xB8, 0xB9, 0xBA, 0xC2, 0xC3,
    0xC4, 0xC5, 0xC6, 0xC7, 0xC8, 0xC9, 0xCA, 0xD2, 0xD3, 0xD4, 0xD5, 0xD6, 0xD7, 0xD8, 0xD9, 0xDA,
    0xE2, 0xE3, 0xE4, 0xE5, 0xE6, 0xE7, 0xE8, 0xE9, 0xEA, 0xF2, 0xF3, 0xF4, 0xF5, 0xF6, 0xF7, 0xF8,
    0xF9, 0xFA,
];
