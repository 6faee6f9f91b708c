// As `nhwc.wgsl`, but bfloat16, as in `nchw_bf16.wgsl`.
@group(0) @binding(3) var<storage, read_write> outputs: array<u16>;

fn store(image: u32, x: i32, y: i32, value: vec4<f32>) {
    let at = target_offset + u32(y * output_size.x + x) * CHANNELS;
    outputs[at] = u16(bfloat_bits(bitcast<u32>(value.x)));
    if CHANNELS == 3u {
        outputs[at + 1u] = u16(bfloat_bits(bitcast<u32>(value.y)));
        outputs[at + 2u] = u16(bfloat_bits(bitcast<u32>(value.z)));
    }
}
