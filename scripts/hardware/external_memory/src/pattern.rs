//! The words that the producer writes, and their comparison.

/// Bytes of the buffer that is handed over.
pub const BYTES: u64 = 64 << 20;
/// Words of the buffer.
pub const WORDS: usize = BYTES as usize / 4;

/// The word at an index in a round; the shader in `producer.rs` computes the same.
pub fn word(index: usize, round: u32) -> u32 {
    (index as u32).wrapping_mul(2_654_435_761) ^ round
}

/// Counts the words that are not those of this round.
pub fn wrong(words: &[u32], round: u32) -> u64 {
    words.iter().enumerate().filter(|&(index, &seen)| seen != word(index, round)).count() as u64
}
