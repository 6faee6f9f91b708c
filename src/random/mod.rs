//! Random numbers that are the same on every platform: ChaCha8 (`rand_chacha`; `many_keys.rs` for many images at once), and
//! our own formulas from its integers to numbers.
//!
//! `key.rs` has a sample's key and an operator's path; `beta.rs` and `gamma.rs` have distributions, `ahead.rs` makes
//! the numbers of many images at once.

pub(crate) mod ahead;
pub(crate) mod beta;
pub(crate) mod gamma;
pub(crate) mod key;
pub(crate) mod many_keys;

use many_keys::Block;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// Random numbers for one operator and one image: a function of the seed, the epoch, the sample and the operator's
/// position in the list, the same on every platform.
///
/// ```
/// use gpufeed::transforms::CustomColor;
///
/// let wgsl = "fn lift(color: vec3<f32>, parameters: vec4<f32>) -> vec3<f32> { return color + parameters.x; }";
/// let lift = CustomColor::new("lift", wgsl, |color, parameters| color.map(|value| value + parameters[0]));
/// // With probability 0.8, changes by up to a tenth, up or down.
/// let lift = lift.draw(|numbers| {
///     let amount = numbers.uniform(0.0, 0.1) as f32;
///     let amount = if numbers.below(2) == 0 { amount } else { -amount };
///     numbers.chance(0.8).then_some([amount, 0.0, 0.0, 0.0])
/// });
/// ```
#[derive(Debug)]
pub struct Numbers {
    key: [u8; 32],
    stream: u64,
    /// The stream's first integers, if they are already computed.
    first: Option<Block>,
    /// Number of integers taken so far.
    taken: usize,
    /// Generator of the integers after those; created when needed.
    generator: Option<ChaCha8Rng>,
}

impl Numbers {
    /// Starts stream `stream` under `key`.
    pub(crate) fn new(key: [u8; 32], stream: u64) -> Self {
        Numbers { key, stream, first: None, taken: 0, generator: None }
    }

    /// Adds the stream's first integers, already computed.
    pub(crate) fn with_first(self, first: Block) -> Self {
        Numbers { first: Some(first), ..self }
    }

    fn next(&mut self) -> u64 {
        if let Some(&number) = self.first.as_ref().and_then(|first| first.get(self.taken)) {
            self.taken += 1;
            return number;
        }
        let generator = self.generator.get_or_insert_with(|| {
            let mut generator = ChaCha8Rng::from_seed(self.key);
            generator.set_stream(self.stream);
            // Counts words of 32 bits.
            generator.set_word_pos(2 * self.taken as u128);
            generator
        });
        generator.next_u64()
    }

    /// Returns a number uniform in \[0, 1): the top 53 bits of 64, the usual conversion to a double.
    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Returns a number uniform in \[low, high). Rounding can return `high` itself.
    pub fn uniform(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// Returns a number uniform in \[0, 1): a multiple of 2^-24, as torch's `rand` gives it in f32.
    pub(crate) fn unit_f32(&mut self) -> f32 {
        (self.next() >> 40) as f32 * (1.0 / (1u64 << 24) as f32)
    }

    /// Returns a number uniform in \[low, high), computed in f32 as torchvision does. Rounding can return `high` itself.
    pub(crate) fn uniform_f32(&mut self, low: f64, high: f64) -> f32 {
        low as f32 + self.unit_f32() * (high - low) as f32
    }

    /// Returns a whole number uniform in 0 to `bound` - 1, without bias; 0 for `bound` 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        below(bound, || self.next())
    }

    /// Returns a key for a generator that makes a number for each pixel.
    pub(crate) fn key(&mut self) -> [u32; 2] {
        [(); 2].map(|()| self.below(1 << 32) as u32)
    }

    /// Returns 0 to N - 1 in an order of which all are equally likely, by Fisher and Yates' shuffle.
    pub(crate) fn permutation<const N: usize>(&mut self) -> [usize; N] {
        let mut order = std::array::from_fn(|i| i);
        for i in (1..N).rev() {
            order.swap(i, self.below(i as u64 + 1) as usize);
        }
        order
    }

    /// Returns true with probability `p`, decided like torchvision: unless `rand() >= p`.
    pub fn chance(&mut self, p: f64) -> bool {
        self.unit() < p
    }
}

/// Returns an unbiased integer below `bound`, which is not 0, from uniform 64-bit integers.
///
/// D. Lemire, "Fast Random Integer Generation in an Interval", ACM TOMACS 29 (2019), arXiv 1805.10941: `r * bound /
/// 2^64`, rounded down. `r` is rejected while `r * bound mod 2^64` is less than `2^64 mod bound`, which leaves the same
/// number of `r` for each result.
pub(crate) fn below(bound: u64, mut draw: impl FnMut() -> u64) -> u64 {
    loop {
        let product = u128::from(draw()) * u128::from(bound);
        let low = product as u64;
        // 2^64 mod bound is less than bound: this comparison avoids nearly every division.
        if low >= bound || low >= bound.wrapping_neg() % bound {
            return (product >> 64) as u64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// ChaCha8 with a key and a nonce of zeros: J. Strömbergson, draft-strombergson-chacha-test-vectors-01 (2013), TC1.
    #[test]
    fn the_generator_gives_the_published_vector() {
        let published =
            [0xd640_5f89_2fef_003e_u64, 0xa1a5_091f_e8b8_5b7f, 0x3b7f_9ace_c30e_842c, 0x1e1a_71ef_88e1_1b18];
        let mut numbers = Numbers::new([0; 32], 0);
        assert_eq!(published, std::array::from_fn(|_| numbers.next()));
        assert_eq!(published, many_keys::first_blocks(&[[0; 32]; many_keys::KEYS], 0)[3][..4]);
    }

    /// Counts the remainders of 30,000 numbers divided by 3.
    fn rests(mut draw: impl FnMut() -> u64) -> [u32; 3] {
        let mut counts = [0; 3];
        (0..30_000).for_each(|_| counts[(draw() % 3) as usize] += 1);
        counts
    }

    #[test]
    fn integers_below_a_bound_near_2_to_the_64_are_unbiased() {
        // 3 · 2^62 of the 2^64 numbers have their own results; the others would make multiples of 3 twice as likely.
        let bound = 3 << 62;
        let mut numbers = Numbers::new([7; 32], 0);
        let near = |count: u32, expected: f64| (f64::from(count) - expected).abs() < 5.0 * expected.sqrt();
        let fair = rests(|| numbers.below(bound));
        assert!(fair.iter().all(|&count| near(count, 10_000.0)), "{fair:?}");
        // A biased generator without rejection: a half and two quarters.
        let biased = rests(|| ((u128::from(numbers.next()) * u128::from(bound)) >> 64) as u64);
        assert!(near(biased[0], 15_000.0) && !near(biased[0], 10_000.0), "{biased:?}");
    }

    #[test]
    fn a_stream_goes_on_behind_the_numbers_that_were_there() {
        let (key, stream) = ([5; 32], 11);
        let [first, ..] = many_keys::first_blocks(&[key; many_keys::KEYS], stream);
        let (mut plain, mut begun) = (Numbers::new(key, stream), Numbers::new(key, stream).with_first(first));
        for number in 0..40 {
            assert_eq!(plain.next(), begun.next(), "number {number}");
        }
    }

    #[test]
    fn the_least_and_the_greatest_integer_can_come() {
        for bound in [1, 2, 3, 255, 1 << 63, u64::MAX] {
            assert_eq!(below(bound, || u64::MAX), bound - 1);
            // 0 may be rejected; a number half a step larger is accepted.
            let mut draws = [0, 1 + u64::MAX / bound / 2].into_iter().cycle();
            assert_eq!(below(bound, || draws.next().unwrap_or_default()), 0, "{bound}");
        }
    }
}
