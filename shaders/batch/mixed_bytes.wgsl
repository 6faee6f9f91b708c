// Blends of a batch that becomes bytes: those of the bytes, rounded, halves to the even number. `exact/exact.wgsl` says why
// products and sums are kept apart.

// The number of the byte that `store/packed_u8.wgsl` makes of a float.
fn byte_of(bits: u32) -> f32 {
    return floor(clamp(bitcast<f32>(bits), 0.0, 1.0) * (256.0 - 0.001));
}

fn apart(value: f32) -> f32 {
    // No mode has this bit, which no compiler knows.
    return bitcast<f32>(bitcast<u32>(value) ^ (mix_of.mode & 0x80000000u));
}

fn mixed(own: u32, partner: u32) -> u32 {
    let sum = apart(apart(byte_of(partner) * mix_of.partner_share) + apart(byte_of(own) * mix_of.own_share));
    return select(bitcast<u32>(round(sum) * (1.0 / 255.0)), partner, mix_of.copies == 1u);
}
