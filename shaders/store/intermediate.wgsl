// What the next stage reads: four f32 a pixel, the image's own size.
@group(0) @binding(3) var<storage, read_write> outputs: array<vec4<f32>>;

fn store(image: u32, x: i32, y: i32, value: vec4<f32>) {
    outputs[target_offset + u32(y * output_size.x + x)] = value;
}
