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

// A row's part in the strip kernel: view pixels `first .. end`, of which `pixel + step * v` is the place of the v-th, weighted.
// Bytes only (floats take the direct kernel): a software GPU executes both sides of a branch, at every pixel.
fn weighted_row(pixel: i32, step: i32, first: i32, end: i32, centre: f32, inverse: f32) -> vec3<f32> {
    var sum = vec3<f32>(0.0);
    for (var v = first; v < end; v++) {
        let word = source[source_offset + u32(pixel + step * v)];
        sum += triangle(v, centre, inverse) * vec3<f32>(vec3(word & 255u, (word >> 8u) & 255u, (word >> 16u) & 255u));
    }
    return sum * (1.0 / 255.0);
}
