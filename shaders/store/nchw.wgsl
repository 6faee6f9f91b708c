@group(0) @binding(3) var<storage, read_write> outputs: array<f32>;

fn store(image: u32, x: i32, y: i32, value: vec4<f32>) {
    let plane = u32(output_size.x * output_size.y);
    let at = target_offset + u32(y * output_size.x + x);
    outputs[at] = value.x;
    if CHANNELS == 3u {
        outputs[at + plane] = value.y;
        outputs[at + 2u * plane] = value.z;
    }
}
