@group(0) @binding(3) var<storage, read_write> outputs: array<f32>;

fn store(image: u32, x: i32, y: i32, value: vec4<f32>) {
    let at = target_offset + u32(y * output_size.x + x) * CHANNELS;
    outputs[at] = value.x;
    if CHANNELS == 3u {
        outputs[at + 1u] = value.y;
        outputs[at + 2u] = value.z;
    }
}
