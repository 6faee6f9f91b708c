//! Computes ChaCha8's first integers of one stream under many keys at once, by vector instructions across the keys. A
//! stream belongs to an operator and a key to an image, so these are an operator's random numbers for the images of a
//! batch.
//!
//! `rand_chacha` makes four blocks at a time of *one* key, although most operators need a few integers. Here each key
//! gets one block: 17 ns a key instead of 105 (`benches/LOG.md`). The algorithm is that of D. J. Bernstein, "ChaCha, a
//! variant of Salsa20" (2008), with 8 rounds, and with a block counter and a stream number of 64 bits each, as in
//! `rand_chacha`. A test compares the integers with those of `rand_chacha`.

use multiversion::multiversion;

/// The number of keys that are computed at once. With 8, the compiler unrolls the loops over keys before it vectorises,
/// and a block takes 1.7 times as long.
pub(crate) const KEYS: usize = 16;

/// The first eight integers of a stream, which are one block of ChaCha.
pub(crate) type Block = [u64; 8];

/// One of the 16 words of ChaCha's state, for each key.
type Words = [u32; KEYS];

/// Returns the first integers of stream `stream` under each key.
#[multiversion(targets("x86_64+avx2"))]
pub(crate) fn first_blocks(keys: &[[u8; 32]; KEYS], stream: u64) -> [Block; KEYS] {
    let mut start = [[0; KEYS]; 16];
    // Words 0 to 3 are the ASCII text "expand 32-byte k".
    for (word, constant) in start.iter_mut().zip([0x6170_7865, 0x3320_646e, 0x7962_2d32, 0x6b20_6574]) {
        *word = [constant; KEYS];
    }
    for (number, key) in keys.iter().enumerate() {
        for (word, bytes) in start[4..12].iter_mut().zip(key.as_chunks::<4>().0) {
            word[number] = u32::from_le_bytes(*bytes);
        }
    }
    // Words 12 and 13 are the block counter, which is 0 here.
    start[14] = [stream as u32; KEYS];
    start[15] = [(stream >> 32) as u32; KEYS];
    let mut state = start;
    for _ in 0..4 {
        for column in 0..4 {
            quarter(&mut state, [column, 4 + column, 8 + column, 12 + column]);
        }
        for diagonal in 0..4 {
            let word = |row: usize| 4 * row + (diagonal + row) % 4;
            quarter(&mut state, [word(0), word(1), word(2), word(3)]);
        }
    }
    let mut blocks = [Block::default(); KEYS];
    for (integer, (words, starts)) in state.as_chunks::<2>().0.iter().zip(start.as_chunks::<2>().0).enumerate() {
        for (key, block) in blocks.iter_mut().enumerate() {
            let [low, high] = [0, 1].map(|half| words[half][key].wrapping_add(starts[half][key]));
            block[integer] = u64::from(low) | u64::from(high) << 32;
        }
    }
    blocks
}

// `key` indexes four arrays at once, so an iterator over one array would not do.
#[allow(clippy::needless_range_loop)]
#[inline(always)]
fn quarter(state: &mut [Words; 16], [a, b, c, d]: [usize; 4]) {
    for key in 0..KEYS {
        let (mut x, mut y, mut z, mut w) = (state[a][key], state[b][key], state[c][key], state[d][key]);
        x = x.wrapping_add(y);
        w = (w ^ x).rotate_left(16);
        z = z.wrapping_add(w);
        y = (y ^ z).rotate_left(12);
        x = x.wrapping_add(y);
        w = (w ^ x).rotate_left(8);
        z = z.wrapping_add(w);
        y = (y ^ z).rotate_left(7);
        (state[a][key], state[b][key], state[c][key], state[d][key]) = (x, y, z, w);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_chacha::ChaCha8Rng;
    use rand_chacha::rand_core::{Rng, SeedableRng};

    #[test]
    fn every_keys_block_is_the_generators_first_block() {
        let mut random = ChaCha8Rng::seed_from_u64(7);
        for stream in [0, 1, 0x1_0203_0405, u64::MAX] {
            let keys: [[u8; 32]; KEYS] = std::array::from_fn(|_| {
                let mut key = [0; 32];
                random.fill_bytes(&mut key);
                key
            });
            for (key, block) in keys.iter().zip(first_blocks(&keys, stream)) {
                let mut generator = ChaCha8Rng::from_seed(*key);
                generator.set_stream(stream);
                assert_eq!(block, std::array::from_fn(|_| generator.next_u64()), "stream {stream}");
            }
        }
    }
}
