fn mixed(own: u32, partner: u32) -> u32 {
    let value = bitcast<f32>(partner) * mix_of.partner_share + bitcast<f32>(own) * mix_of.own_share;
    return select(bitcast<u32>(value), partner, mix_of.copies == 1u);
}
