// bfloat16, ties to even, in integers: the upper half of a float's bits, rounded by the lower half. A carry goes on into the
// exponent, and from the largest number to infinity. A NaN keeps its sign and its upper half, made quiet: its lower half may
// be all that tells it from infinity, and a carry would run into its sign.
fn bfloat_bits(bits: u32) -> u32 {
    let rounded = (bits + 0x7fffu + ((bits >> 16u) & 1u)) >> 16u;
    let nan = (bits >> 16u) | 0x40u;
    return select(rounded, nan, (bits & 0x7fffffffu) > 0x7f800000u);
}
