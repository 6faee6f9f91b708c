// IEEE binary16, ties to even, in integers: WGSL leaves open which neighbour pack2x16float rounds to (Direct3D truncates)
// and what it gives beyond 65504 (gpuweb/gpuweb#1201).
fn half_bits(bits: u32) -> u32 {
    let magnitude = bits & 0x7fffffffu;
    let exponent = magnitude >> 23u;
    // Below 2^-14 the unit is 2^-24: the significand, with its leading one, moves right; by 25 nothing is left of it.
    let small = exponent < 113u;
    let value = select(magnitude - (112u << 23u), (magnitude & 0x7fffffu) | 0x800000u, small);
    let shift = select(13u, min(126u - exponent, 25u), small);
    // A carry goes on into the exponent, and from 65504 to infinity.
    let rounded = (value + (1u << (shift - 1u)) - 1u + ((value >> shift) & 1u)) >> shift;
    let number = min(rounded, 0x7c00u);
    let nan = 0x7e00u | ((magnitude >> 13u) & 0x1ffu);
    return ((bits >> 16u) & 0x8000u) | select(number, nan, magnitude > 0x7f800000u);
}
