fn byte(i: u32) -> u32 {
    // torchvision's ToDtype(uint8, scale=True).
    return u32(clamp(bitcast<f32>(element(i)), 0.0, 1.0) * (256.0 - 0.001));
}

fn pack(word: u32) -> u32 {
    let i = 4u * word;
    return byte(i) | (byte(i + 1u) << 8u) | (byte(i + 2u) << 16u) | (byte(i + 3u) << 24u);
}
