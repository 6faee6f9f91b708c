// The source of the first stage: RGBA8 pixels as the workers put them, or four f32 a pixel (tensors, and images that
// the CPU executor has reduced).
@group(0) @binding(0) var<storage, read> source: array<u32>;

fn load(x: i32, y: i32) -> vec4<f32> {
    let pixel = u32(y) * source_stride + u32(x);
    if source_float {
        let word = source_offset + 4u * pixel;
        return vec4(bitcast<f32>(source[word]), bitcast<f32>(source[word + 1u]), bitcast<f32>(source[word + 2u]), 1.0);
    }
    let word = source[source_offset + pixel];
    let bytes = vec4<u32>(word & 255u, (word >> 8u) & 255u, (word >> 16u) & 255u, 255u);
    // The product that torchvision's ToDtype computes; unpack4x8unorm may divide instead.
    return vec4<f32>(bytes) * (1.0 / 255.0);
}
