fn pack(word: u32) -> u32 {
    return bfloat_bits(element(2u * word)) | (bfloat_bits(element(2u * word + 1u)) << 16u);
}
