//! Blocks written bit by bit.

use super::*;
use crate::huffman::HuffmanSpec;

/// AC symbols have the codes 00, 01, 100, 1010 and 10110; DC differences of no, one and two bits 00, 01 and 10.
fn tables(symbols: &[u8]) -> (DcTable, AcTable) {
    let mut counts = [0; 16];
    counts[1] = 2;
    counts[2..symbols.len()].fill(1);
    let (mut dc, mut ac) = (DcTable::default(), AcTable::default());
    let spec = HuffmanSpec { counts: &[0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], symbols: &[0, 1, 2] };
    dc.build(spec).unwrap();
    ac.build(HuffmanSpec { counts: &counts, symbols }, true).unwrap();
    (dc, ac)
}

fn padded_bytes(bits: &str) -> Vec<u8> {
    let bits: Vec<u8> = bits.bytes().filter(|bit| *bit != b' ').map(|bit| bit - b'0').collect();
    let mut bytes: Vec<u8> =
        bits.chunks(8).map(|byte| byte.iter().enumerate().fold(0, |all, (i, bit)| all | bit << (7 - i))).collect();
    bytes.resize(bytes.len() + DATA_PADDING, 0);
    bytes
}

/// Reads one block. Skipping it must return the same difference and end at the same bit.
fn read(tables: &(DcTable, AcTable), text: &str) -> Option<(i32, usize, Block, usize)> {
    let bytes = padded_bytes(text);
    let (mut reader, mut skipper) = (BitReader::new(&bytes, 0), BitReader::new(&bytes, 0));
    let mut block = [0; 64];
    let read = reader.read_block(&tables.0, &tables.1, &mut block);
    let skipped = skipper.skip_block(&tables.0, &tables.1, &mut [0; 64]);
    assert_eq!(read.map(|(difference, _)| difference), skipped);
    let (difference, last) = read?;
    assert_eq!(reader.position(), skipper.position());
    Some((difference, last, block, reader.position()))
}

#[test]
fn coefficients_are_stored_in_natural_order() {
    // EOB, one extra bit, a run of sixteen zeros, two extra bits after two zeros, ten extra bits.
    let tables = tables(&[0x00, 0x01, 0xF0, 0x22, 0x0A]);
    // The DC difference -2, then 1, 3 after two zeros, -1023, EOB.
    let (difference, last, block, bits) = read(&tables, "10 01 011 1010 11 10110 0000000000 00").unwrap();
    assert_eq!((difference, last, bits), (-2, 5, 30));
    assert_eq!(block[NATURAL_ORDER[1] as usize], 1);
    assert_eq!(block[NATURAL_ORDER[4] as usize], 3);
    assert_eq!(block[NATURAL_ORDER[5] as usize], -1023);
    assert_eq!(block.iter().filter(|value| **value != 0).count(), 3);
    // A block without AC coefficients.
    assert_eq!(read(&tables, "00 00").map(|(difference, last, _, bits)| (difference, last, bits)), Some((0, 0, 4)));
}

#[test]
fn the_last_coefficient_ends_a_block() {
    let tables = tables(&[0x00, 0x01, 0xF0, 0xE1, 0xE2]);
    // Three runs of sixteen zeros, then 1 after fourteen zeros: coefficient 63. The next bits are the next block's.
    for next in ["00", "01", "1001", "10100000"] {
        let text = format!("00 100 100 100 1010 1 {next}");
        let (_, last, block, bits) = read(&tables, &text).unwrap();
        assert_eq!((last, bits, block[63]), (63, 16, 1), "{next}");
    }
    // All 63 AC coefficients are 1.
    let (_, last, block, bits) = read(&tables, &format!("00 {} 01", "01 1 ".repeat(63))).unwrap();
    assert_eq!((last, bits), (63, 2 + 3 * 63));
    assert!(block[1..].iter().all(|value| *value == 1));
    // Advances of 48, 1 and 15 lead to coefficient 64, which is beyond the block.
    assert!(read(&tables, "00 100 100 100 01 1 1010 1 00").is_none());
}

#[test]
fn invalid_codes_are_rejected() {
    let tables = tables(&[0x00, 0x01, 0xF0]);
    assert!(read(&tables, "00 1111111111111111111111").is_none());
    assert!(read(&tables, "11 00").is_none());
    let full = HuffmanSpec { counts: &[2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], symbols: &[0, 1] };
    assert!(DcTable::default().build(full).is_err());
}
