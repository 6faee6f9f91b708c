// What the next stage reads: RGBA8, the image's own size.
@group(0) @binding(3) var<storage, read_write> outputs: array<u32>;

fn store(image: u32, x: i32, y: i32, value: vec4<f32>) {
    let k = vec4<u32>(value * 255.0 + 0.5);
    outputs[target_offset + u32(y * output_size.x + x)] = k.x | (k.y << 8u) | (k.z << 16u) | 0xff000000u;
}
