// As `nchw.wgsl`, but bfloat16, as in `nchw_f16.wgsl`: rounded in integers, and stored as numbers of 16 bits.
@group(0) @binding(3) var<storage, read_write> outputs: array<u16>;

fn store(image: u32, x: i32, y: i32, value: vec4<f32>) {
    let plane = u32(output_size.x * output_size.y);
    let at = target_offset + u32(y * output_size.x + x);
    outputs[at] = u16(bfloat_bits(bitcast<u32>(value.x)));
    if CHANNELS == 3u {
        outputs[at + plane] = u16(bfloat_bits(bitcast<u32>(value.y)));
        outputs[at + 2u * plane] = u16(bfloat_bits(bitcast<u32>(value.z)));
    }
}
