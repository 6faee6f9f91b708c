//! A hash of numbers, for orders and pictures without a pattern that are the same on every machine.

/// Mixes `value` and `salt` well.
pub(crate) fn hash(value: u64, salt: u64) -> u64 {
    // SplitMix64's finaliser.
    let mut bits = value.wrapping_add(salt.wrapping_mul(0x9E37_79B9_7F4A_7C15)).wrapping_add(0x9E37_79B9_7F4A_7C15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ (bits >> 31)
}
