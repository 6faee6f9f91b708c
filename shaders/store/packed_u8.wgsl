fn pack(word: u32) -> u32 {
    let i = 4u * word;
    return byte(i) | (byte(i + 1u) << 8u) | (byte(i + 2u) << 16u) | (byte(i + 3u) << 24u);
}
