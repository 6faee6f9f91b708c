// The number of 8 bits of a value, by which tables are read: in floats torchvision's ToDtype(uint8, scale=True).
fn number_of_table(value: vec4<f32>) -> vec4<u32> {
    if UINT8 {
        return vec4<u32>(value * 255.0 + 0.5);
    }
    return vec4<u32>(clamp(value, vec4(0.0), vec4(1.0)) * (256.0 - 0.001));
}
