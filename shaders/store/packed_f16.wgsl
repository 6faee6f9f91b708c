fn pack(word: u32) -> u32 {
    return half_bits(element(2u * word)) | (half_bits(element(2u * word + 1u)) << 16u);
}
