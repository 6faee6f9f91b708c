fn pack(word: u32) -> u32 {
    return pack2x16float(vec2(element(2u * word), element(2u * word + 1u)));
}
